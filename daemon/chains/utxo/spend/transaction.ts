/**
 * The bytes of a planned transaction before signing, and the decoding of any transaction. Operators approve what is
 * decoded from bytes, not the plan.
 *
 * On BTC and LTC the id does not cover witnesses: the unsigned transaction already has the signed one's id.
 */
import type { Network } from '../../../domain/assets.ts';
import { assert, Rejected } from '../../../domain/errors.ts';
import type { DecodedSpend, UtxoPlan } from '../../../domain/spend.ts';
import { addressOf } from '../address.ts';
import { type ParsedTransaction, ParseError, parseTransaction } from '../block.ts';
import type { UtxoChain } from '../params.ts';
import { countBytes, vsizeOf } from './sizes.ts';

/** The maximum of a block; a previous transaction may be anybody's. */
const BYTES_MAX = 4_000_000;
const HEX = /^(?:[0-9a-f]{2})+$/;

export function unsignedTransaction(plan: UtxoPlan): string {
  const inputs = plan.inputs.map(({ outpoint, sequence }) => {
    const [txid = '', n] = outpoint.split(':');
    return Buffer.concat([Buffer.from(txid, 'hex').reverse(), u32(Number(n)), count(0), u32(sequence)]);
  });
  const outputs = plan.outputs.map(({ units, script }) => Buffer.concat([u64(units), count(script.length), script]));
  return Buffer.concat([
    u32(plan.version),
    count(inputs.length),
    ...inputs,
    count(outputs.length),
    ...outputs,
    u32(plan.lockTime),
  ]).toString('hex');
}

/** Decodes a transaction (hex). Throws `Rejected('spend.malformed')`. */
export function decodeTransaction(raw: string, chain: UtxoChain, network: Network): DecodedSpend {
  const { bytes, parsed } = parsedHex(raw, chain);
  const weight = parsed.base().length * 3 + bytes.length;
  return {
    txid: parsed.txid(),
    inputs: parsed.inputs.map(({ txid, vout, sequence }) => ({ outpoint: `${txid}:${vout}`, sequence })),
    outputs: parsed.outputs.map(({ units, script }) => ({
      address: addressOf(script, chain, network),
      script: Uint8Array.from(script),
      asset: chain,
      units,
    })),
    lockTime: parsed.lockTime,
    vsize: vsizeOf(weight),
  };
}

/** A transaction (hex) without witnesses, if it has this id; else null. */
export function withoutWitnesses(raw: string, txid: string, chain: UtxoChain): string | null {
  const { parsed } = parsedHex(raw, chain);
  return parsed.txid() === txid ? parsed.base().toString('hex') : null;
}

function parsedHex(raw: string, chain: UtxoChain): { bytes: Buffer; parsed: ParsedTransaction } {
  const malformed = (why: string): Rejected => new Rejected('spend.malformed', `The transaction is malformed: ${why}`);
  if (raw.length > BYTES_MAX * 2 || !HEX.test(raw)) throw malformed('it is no hex, or too long');
  const bytes = Buffer.from(raw, 'hex');
  try {
    return { bytes, parsed: parseTransaction(bytes, chain) };
  } catch (error) {
    throw error instanceof ParseError ? malformed(error.message) : error;
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

function count(value: number): Buffer {
  const size = countBytes(value);
  if (size === 1) return Buffer.from([value]);
  assert(size === 3, 'a transaction of ours has fewer than 65,536 of anything');
  return Buffer.from([0xfd, value & 0xff, value >> 8]);
}
