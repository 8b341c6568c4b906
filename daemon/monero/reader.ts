/** Reads the bytes of Monero's formats in order. */
import { Malformed } from '../domain/errors.ts';

/** Inputs, outputs, ring members or hashes: more than any block holds. */
const COUNT_MAX = 1_000_000;
const VARINT_BYTES_MAX = 10;
/** So many bytes of seven bits are a number that JavaScript counts exactly. */
const SMALL_BYTES_MAX = 7;

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
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new Malformed('bytes that end too early');
    this.at++;
    return byte;
  }

  varint(): bigint {
    const small = this.#small();
    if (small !== null) return BigInt(small);
    let value = 0n;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return value;
    }
    throw new Malformed('a number that is too long');
  }

  count(): number {
    const value = this.#small() ?? this.varint();
    if (value > COUNT_MAX) throw new Malformed(`a list of ${value}`);
    return Number(value);
  }

  /** A number of few bytes; null, and nothing is read, if it has more. */
  #small(): number | null {
    const start = this.at;
    let value = 0;
    for (let i = 0, factor = 1; i < SMALL_BYTES_MAX; i++, factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    this.at = start;
    return null;
  }
}
