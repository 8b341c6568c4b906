/** The stored form of plans: JSON, with amounts as decimals and bytes in hex. No other file reads or writes it. */
import type { SpendPlan } from '../../domain/spend.ts';

type Tagged = { $units: string } | { $hex: string };

export function writePlan(plan: SpendPlan): string {
  return JSON.stringify(plan, (_key, value: unknown) => {
    if (typeof value === 'bigint') return { $units: value.toString() } satisfies Tagged;
    // JSON.stringify converts a Buffer to an object before it calls the replacer
    const bytes = bytesOf(value);
    return bytes ? ({ $hex: Buffer.from(bytes).toString('hex') } satisfies Tagged) : value;
  });
}

function bytesOf(value: unknown): Uint8Array | null {
  if (value instanceof Uint8Array) return value;
  const made = value as { type?: unknown; data?: unknown } | null;
  const isBuffer = typeof made === 'object' && made?.type === 'Buffer' && Array.isArray(made.data);
  return isBuffer ? Uint8Array.from(made.data as number[]) : null;
}

/** The inverse of `writePlan`. */
export function readPlan(text: string): SpendPlan {
  return JSON.parse(text, (_key, value: unknown) => {
    const tagged = value as { $units?: unknown; $hex?: unknown } | null;
    if (typeof tagged !== 'object' || tagged === null) return value;
    if (typeof tagged.$units === 'string') return BigInt(tagged.$units);
    return typeof tagged.$hex === 'string' ? Uint8Array.from(Buffer.from(tagged.$hex, 'hex')) : value;
  }) as SpendPlan;
}
