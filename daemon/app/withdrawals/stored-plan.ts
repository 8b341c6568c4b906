/** Plans as they are kept in a row: JSON, with amounts as decimals and bytes in hex. Written and read here alone. */
import type { SpendPlan } from '../../domain/spend.ts';

type Tagged = { $units: string } | { $hex: string };

/** The text of a plan. */
export function writePlan(plan: SpendPlan): string {
  return JSON.stringify(plan, (_key, value: unknown) => {
    if (typeof value === 'bigint') return { $units: value.toString() } satisfies Tagged;
    // a Buffer has made itself an object before it comes here
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

/** The plan of a text that `writePlan` made. */
export function readPlan(text: string): SpendPlan {
  return JSON.parse(text, (_key, value: unknown) => {
    const tagged = value as { $units?: unknown; $hex?: unknown } | null;
    if (typeof tagged !== 'object' || tagged === null) return value;
    if (typeof tagged.$units === 'string') return BigInt(tagged.$units);
    return typeof tagged.$hex === 'string' ? Uint8Array.from(Buffer.from(tagged.$hex, 'hex')) : value;
  }) as SpendPlan;
}
