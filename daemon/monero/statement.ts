/** A Monero transaction before it is signed, as text; the signer signs no other. Its bytes exist only signed. */
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import type { MoneroPlan } from '../domain/spend.ts';

const Units = z.string().regex(/^(?:0|[1-9]\d{0,29})$/);
const Statement = z.strictObject({
  spends: z.array(z.string().regex(/^[0-9a-f]{64}:(?:0|[1-9]\d{0,9})$/)).min(1),
  pays: z.array(z.strictObject({ to: z.string().regex(/^(?:[0-9a-f]{2})+$/), units: Units })).min(1),
  fee: Units,
});
type Statement = z.infer<typeof Statement>;

export function writeStatement({ inputs, outputs, fee }: MoneroPlan): string {
  const statement: Statement = {
    spends: inputs.map(({ outpoint }) => outpoint),
    pays: outputs.map(({ script, units }) => ({ to: bytesToHex(script), units: units.toString() })),
    fee: fee.toString(),
  };
  return bytesToHex(utf8ToBytes(JSON.stringify(statement)));
}

/** Null for another text. */
export function readStatement(raw: string): Statement | null {
  try {
    return Statement.parse(JSON.parse(new TextDecoder().decode(hexToBytes(raw))));
  } catch {
    return null;
  }
}
