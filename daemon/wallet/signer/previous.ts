/**
 * Reads the outputs of a previous transaction, and proves by its id that they are its outputs. The amount of an input
 * must be proved, because a wrong amount makes a wallet pay the difference as fee (CVE-2020-14199).
 *
 * Reads only the parts that the id covers: version, inputs, outputs and lock time. Witnesses and LTC's MWEB part lie
 * between them. If they were mistaken for outputs, the id would differ.
 */
import { createHash, hash } from 'node:crypto';
import { Rejected } from '../../domain/errors.ts';

/** `script` is in hex. */
export type PreviousOutput = { units: bigint; script: string };

const SEGWIT_MARKER = 0x00;
const INPUT_BYTES_MIN = 41;
const OUTPUT_BYTES_MIN = 9;
const TX_BYTES_MAX = 4_000_000;
/** The minimum size without witnesses: a transaction of 64 bytes could be an inner node of a merkle tree. */
const TX_BYTES_MIN = 10 + INPUT_BYTES_MIN;

/** Reads from the front. Reading beyond the end throws `RangeError`. */
class Reader {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  skip(length: number): void {
    if (this.at + length > this.bytes.length) throw new RangeError('beyond the end');
    this.at += length;
  }

  count(bytesEach: number): number {
    const value = this.compactSize();
    if (value * bytesEach > this.bytes.length) throw new RangeError('beyond the end');
    return value;
  }

  compactSize(): number {
    const first = this.bytes.readUInt8(this.at);
    this.at += 1;
    if (first < 0xfd) return first;
    const length = first === 0xfd ? 2 : first === 0xfe ? 4 : 8;
    const value = length === 8 ? Number(this.bytes.readBigUInt64LE(this.at)) : this.bytes.readUIntLE(this.at, length);
    this.at += length;
    return value;
  }
}

/** The outputs of the transaction `txid`. Throws `Rejected('signer.input')` if the bytes are not that transaction. */
export function previousOutputs(txid: string, raw: string): PreviousOutput[] {
  const bytes = Buffer.from(raw, 'hex');
  try {
    if (bytes.length * 2 !== raw.length || bytes.length < TX_BYTES_MIN || bytes.length > TX_BYTES_MAX) {
      throw new RangeError('not of the size of a transaction');
    }
    return read(bytes, txid);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Rejected('signer.input', `The previous transaction ${txid} is not what was given for it`);
  }
}

function read(bytes: Buffer, txid: string): PreviousOutput[] {
  const reader = new Reader(bytes);
  reader.skip(4);
  // a transaction has at least one input, so a zero count marks the extended form (BIP-144)
  if (bytes[reader.at] === SEGWIT_MARKER) reader.skip(2);
  const start = reader.at;
  for (let left = reader.count(INPUT_BYTES_MIN); left > 0; left--) {
    reader.skip(36);
    reader.skip(reader.compactSize());
    reader.skip(4);
  }
  const outputs: PreviousOutput[] = [];
  for (let left = reader.count(OUTPUT_BYTES_MIN); left > 0; left--) {
    const units = bytes.readBigUInt64LE(reader.at);
    reader.skip(8);
    const length = reader.compactSize();
    const from = reader.at;
    reader.skip(length);
    outputs.push({ units, script: bytes.toString('hex', from, reader.at) });
  }
  const body = bytes.subarray(start, reader.at);
  const digest = createHash('sha256').update(bytes.subarray(0, 4)).update(body).update(bytes.subarray(-4)).digest();
  const id = hash('sha256', digest, 'buffer').reverse().toString('hex');
  if (id !== txid) throw new RangeError('another transaction');
  return outputs;
}
