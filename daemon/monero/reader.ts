/** Reads the bytes of Monero's formats in order. */
import { Malformed } from '../domain/errors.ts';

/** Inputs, outputs, ring members or hashes: more than any block holds. */
const COUNT_MAX = 1_000_000;
const VARINT_BYTES_MAX = 10;

/** Reads bytes in order; throws `Malformed` past their end. */
export class Reader {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  take(count: number): Uint8Array {
    const end = this.at + count;
    if (end > this.bytes.length) throw new Malformed('bytes that end too early');
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }

  byte(): number {
    return this.take(1)[0]!;
  }

  varint(): bigint {
    let value = 0n;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return value;
    }
    throw new Malformed('a number that is too long');
  }

  count(): number {
    const value = this.varint();
    if (value > BigInt(COUNT_MAX)) throw new Malformed(`a list of ${value}`);
    return Number(value);
  }
}
