/**
 * Monero's binary form of requests and answers, "portable storage" (`contrib/epee`, docs/PORTABLE_STORAGE.md of the Monero project): a
 * head of nine bytes, then a section, which is a list of named values. Answers come from strangers: depth, values and lengths have
 * limits, and anything that no monerod writes is `Malformed`.
 */
import { Malformed } from '../../domain/errors.ts';

/** Text and other bytes are views of the answer, not copies. */
export type Value = number | bigint | boolean | Uint8Array | Section | readonly Value[];
export type Section = ReadonlyMap<string, Value>;

/** Two signatures, and version 1. */
const HEAD = Buffer.from('0111010101010201' + '01', 'hex');
/** A list of blocks with lists of transactions, which are sections with their bytes, has 3. */
const DEPTH_MAX = 4;
/** A thousand blocks have four values each; the answer's transactions are one or three more each. */
const VALUES_MAX = 50_000;

const UINT64 = 5;
const STRING = 10;
const BOOL = 11;
const SECTION = 12;
const LIST = 0x80;
/** The whole numbers: how many bytes they have, by their type. 1 to 4 are signed. */
const WIDTHS: Readonly<Record<number, number>> = { 1: 8, 2: 4, 3: 2, 4: 1, 5: 8, 6: 4, 7: 2, 8: 1 };
const SIGNED_MAX = 4;
const SMALL_BYTES_MAX = 4;

/** A section with one list of whole numbers (unsigned, 64 bits). */
export function writeNumbers(name: string, numbers: readonly number[]): Buffer {
  const values = Buffer.alloc(8 * numbers.length);
  for (const [at, value] of numbers.entries()) values.writeBigUInt64LE(BigInt(value), 8 * at);
  const named = Buffer.from(name, 'latin1');
  return Buffer.concat([
    HEAD,
    lengthOf(1),
    Uint8Array.of(named.length),
    named,
    Uint8Array.of(UINT64 | LIST),
    lengthOf(numbers.length),
    values,
  ]);
}

/** A length: the lowest two bits say how many bytes it has; two of them are enough here, or four. */
function lengthOf(count: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(count * 4 + 2);
  return bytes;
}

/** The values of an answer. Throws `Malformed`. */
export function readSection(bytes: Uint8Array): Section {
  const reader = new StorageReader(bytes);
  return reader.whole();
}

class StorageReader {
  readonly #bytes: Buffer;
  #at = 0;
  #left = VALUES_MAX;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  whole(): Section {
    if (!this.#take(HEAD.length).equals(HEAD)) throw new Malformed('no portable storage of version 1');
    const section = this.#section(DEPTH_MAX);
    if (this.#at !== this.#bytes.length) throw new Malformed('bytes after an answer');
    return section;
  }

  #section(depth: number): Section {
    if (depth === 0) throw new Malformed('values that are nested too deeply');
    const section = new Map<string, Value>();
    for (let left = this.#count(); left > 0; left--) {
      const name = this.#take(this.#byte()).toString('latin1');
      if (name === '' || section.has(name)) throw new Malformed('a value without a name of its own');
      section.set(name, this.#typed(this.#byte(), depth));
    }
    return section;
  }

  #typed(type: number, depth: number): Value {
    if (type < LIST) return this.#value(type, depth);
    const values: Value[] = [];
    for (let left = this.#count(); left > 0; left--) values.push(this.#value(type - LIST, depth));
    return values;
  }

  #value(type: number, depth: number): Value {
    if (type === STRING) return this.#take(this.#length());
    if (type === SECTION) return this.#section(depth - 1);
    if (type === BOOL) {
      const byte = this.#byte();
      if (byte > 1) throw new Malformed('what is neither true nor false');
      return byte === 1;
    }
    const width = WIDTHS[type];
    if (width === undefined) throw new Malformed(`a value of type ${type}`);
    const taken = this.#take(width);
    if (width > SMALL_BYTES_MAX) return type <= SIGNED_MAX ? taken.readBigInt64LE() : taken.readBigUInt64LE();
    return type <= SIGNED_MAX ? taken.readIntLE(0, width) : taken.readUIntLE(0, width);
  }

  /** How many values follow. */
  #count(): number {
    const count = this.#length();
    this.#left -= count;
    if (this.#left < 0) throw new Malformed(`more than ${VALUES_MAX} values`);
    return count;
  }

  #length(): number {
    const first = this.#bytes[this.#at];
    if (first === undefined) throw new Malformed('bytes that end too early');
    const width = 2 ** (first & 3);
    const taken = this.#take(width);
    const length = width <= SMALL_BYTES_MAX ? taken.readUIntLE(0, width) : Number(taken.readBigUInt64LE());
    return Math.floor(length / 4);
  }

  #byte(): number {
    return this.#take(1)[0] as number;
  }

  #take(count: number): Buffer {
    const end = this.#at + count;
    if (!(end <= this.#bytes.length)) throw new Malformed('bytes that end too early');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}
