/**
 * Reads the blocks and transactions of Bitcoin, Litecoin and Bitcoin Cash from their bytes, only as far as finding
 * money needs. Every length is checked against the bytes that are left before anything is made of that length, so that
 * hostile bytes end in a `ParseError` and never in a long loop or a large allocation.
 *
 * Sources: BIP-144 (witness serialisation); Litecoin's LIP-0002 and LIP-0003 (MWEB: flag 0x08, and the "HogEx"
 * transaction that ends a block and pays peg-outs); CHIP-2022-02-CashTokens (the token prefix of an output).
 */
import { reversedHex, sha256d } from '../../kit/bytes.ts';
import { atOnce, inTurns, type Pause, type Steps } from '../slices.ts';
import type { UtxoChain } from './params.ts';

export class ParseError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ParseError';
  }
}

export type ParsedInput = { txid: string; vout: number; sequence: number };

type ParsedOutput = {
  units: bigint;
  /** Without the token prefix. A view of the parsed bytes, not a copy. */
  script: Buffer;
  /** A CashToken output. It must not be spent as plain money. */
  token: boolean;
};

export type ParsedTransaction = {
  inputs: ParsedInput[];
  outputs: ParsedOutput[];
  coinbase: boolean;
  /** Litecoin's last transaction of a block, which moves money to and from its extension block. */
  hogEx: boolean;
  lockTime: number;
  /** A copy of the bytes without witnesses and extension parts, of which the id is the hash. */
  base: () => Buffer;
  /** The transaction's id, computed on the first call, because most transactions are not ours. */
  txid: () => string;
};

export type BlockHeader = { hash: string; previous: string; timeSeconds: number };

const HEADER_BYTES = 80;
/** The minimum sizes of an input, an output and a transaction. */
const INPUT_BYTES_MIN = 41;
const OUTPUT_BYTES_MIN = 9;
const TRANSACTION_BYTES_MIN = 10;

const FLAG_WITNESS = 0x01;
const FLAG_MWEB = 0x08;
/** LIP-0002: a witness program of version 8 and 32 bytes. */
const EXTENSION_BLOCK = 0x5820;

/** A cursor that cannot leave its bytes. */
export class Reader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Skips `length` bytes and returns where they began. */
  skip(length: number): number {
    const from = this.at;
    if (length > this.bytes.length - from) throw new ParseError(`bytes end at ${this.bytes.length}, in a field`);
    this.at = from + length;
    return from;
  }

  u8(): number {
    const from = this.skip(1);
    return this.bytes[from] as number;
  }

  u32(): number {
    return this.bytes.readUInt32LE(this.skip(4));
  }

  u64(): bigint {
    return this.bytes.readBigUInt64LE(this.skip(8));
  }

  /** A compact size, limited by the remaining bytes: `unitBytesMin` is the minimum size of each counted item. */
  count(unitBytesMin: number): number {
    const first = this.u8();
    if (first < 0xfd) return this.#bounded(first, unitBytesMin);
    if (first === 0xfd) return this.#bounded(this.bytes.readUInt16LE(this.skip(2)), unitBytesMin);
    if (first === 0xfe) return this.#bounded(this.u32(), unitBytesMin);
    const wide = this.u64();
    return this.#bounded(wide > 0xffff_ffffn ? Number.POSITIVE_INFINITY : Number(wide), unitBytesMin);
  }

  #bounded(count: number, unitBytesMin: number): number {
    if (count * unitBytesMin > this.bytes.length - this.at) throw new ParseError('a count exceeds the bytes left');
    return count;
  }

  /** A hash of 32 bytes as displayed. */
  hash(): string {
    const from = this.skip(32);
    return reversedHex(this.bytes.subarray(from, from + 32));
  }
}

function readInput(reader: Reader): ParsedInput {
  const txid = reader.hash();
  const vout = reader.u32();
  reader.skip(reader.count(1));
  return { txid, vout, sequence: reader.u32() };
}

/**
 * Where the script begins after a CashToken prefix; 0 if the field has no valid prefix, in which case the whole field
 * is the script, as before the upgrade.
 */
function afterTokenPrefix(field: Buffer): number {
  const CATEGORY_BYTES = 32;
  if (field[0] !== 0xef || field.length < 2 + CATEGORY_BYTES) return 0;
  const reader = new Reader(field, 1 + CATEGORY_BYTES);
  const bits = reader.u8();
  const [reserved, hasCommitment, hasNft, hasAmount] = [0x80, 0x40, 0x20, 0x10].map((bit) => (bits & bit) !== 0);
  const capability = bits & 0x0f;
  if (reserved || capability > 2 || (capability > 0 && !hasNft)) return 0;
  if ((!hasNft && !hasAmount) || (hasCommitment && !hasNft)) return 0;
  try {
    if (hasCommitment) {
      const length = reader.count(1);
      if (length === 0) return 0;
      reader.skip(length);
    }
    // the amount is a compact size of up to 2^63 - 1 and counts no bytes
    if (hasAmount) reader.skip([1, 3, 5, 9][Math.max(0, reader.u8() - 0xfc)]! - 1);
    return reader.at;
  } catch (error) {
    if (error instanceof ParseError) return 0;
    throw error;
  }
}

function readOutput(reader: Reader, chain: UtxoChain): ParsedOutput {
  const units = reader.u64();
  const length = reader.count(1);
  const from = reader.skip(length);
  const field = reader.bytes.subarray(from, from + length);
  const prefix = chain === 'BCH' ? afterTokenPrefix(field) : 0;
  return { units, script: prefix > 0 ? field.subarray(prefix) : field, token: prefix > 0 };
}

const ITEMS_PER_STEP = 256;

function* many<T>(count: number, read: () => T): Steps<T[]> {
  const list: T[] = [];
  while (list.length < count) {
    const upTo = Math.min(count, list.length + ITEMS_PER_STEP);
    while (list.length < upTo) list.push(read());
    if (list.length < count) yield null;
  }
  return list;
}

function* skipWitnesses(reader: Reader, inputs: number): Steps<void> {
  let left = ITEMS_PER_STEP;
  for (let i = 0; i < inputs; i++) {
    for (let items = reader.count(1) + 1; items > 0; items--) {
      // the count of the items is one, too
      if (items > 1) reader.skip(reader.count(1));
      if (--left > 0) continue;
      left = ITEMS_PER_STEP;
      yield null;
    }
  }
}

/**
 * Skips the data after the witnesses under the MWEB flag: a zero byte in a HogEx, else an extension part. Its inner
 * lengths are not needed: an extension part occurs only outside blocks, and only the lock time follows it.
 */
function skipMweb(reader: Reader, alone: boolean): boolean {
  if (reader.u8() === 0) return true;
  if (!alone) throw new ParseError('an extension part inside a block');
  const left = reader.bytes.length - reader.at;
  if (left < 4) throw new ParseError('bytes end in an extension part');
  reader.skip(left - 4);
  return false;
}

/** One transaction at the cursor; `alone` if the bytes contain nothing else. */
function* readTransaction(reader: Reader, chain: UtxoChain, alone: boolean): Steps<ParsedTransaction> {
  const { bytes } = reader;
  const start = reader.skip(4);
  let flags = 0;
  if (chain !== 'BCH' && bytes[reader.at] === 0 && reader.at + 1 < bytes.length && bytes[reader.at + 1] !== 0) {
    reader.skip(1);
    flags = reader.u8();
    const known = chain === 'LTC' ? FLAG_WITNESS | FLAG_MWEB : FLAG_WITNESS;
    if ((flags & ~known) !== 0) throw new ParseError(`unknown transaction flags ${flags}`);
  }
  const body = reader.at;
  const inputs = yield* many(reader.count(INPUT_BYTES_MIN), () => readInput(reader));
  const outputs = yield* many(reader.count(OUTPUT_BYTES_MIN), () => readOutput(reader, chain));
  const bodyEnd = reader.at;
  if (flags & FLAG_WITNESS) yield* skipWitnesses(reader, inputs.length);
  const hogEx = (flags & FLAG_MWEB) !== 0 && skipMweb(reader, alone);
  const lock = reader.skip(4);
  const first = inputs[0];
  // the id does not cover witnesses and extension parts
  const base = (): Buffer =>
    Buffer.concat([bytes.subarray(start, start + 4), bytes.subarray(body, bodyEnd), bytes.subarray(lock, lock + 4)]);
  let id: string | undefined;
  return {
    inputs,
    outputs,
    coinbase: inputs.length === 1 && first?.vout === 0xffff_ffff && /^0{64}$/.test(first.txid),
    hogEx,
    lockTime: bytes.readUInt32LE(lock),
    base,
    txid: () => {
      id ??= reversedHex(sha256d(base()));
      return id;
    },
  };
}

function* readAlone(bytes: Buffer, chain: UtxoChain): Steps<ParsedTransaction> {
  const reader = new Reader(bytes);
  const transaction = yield* readTransaction(reader, chain, true);
  if (reader.at !== bytes.length) throw new ParseError(`${bytes.length - reader.at} bytes after a transaction`);
  return transaction;
}

/** A transaction of our own, which is small. Throws `ParseError`, also when bytes are left over. */
export function parseTransaction(bytes: Buffer, chain: UtxoChain): ParsedTransaction {
  return atOnce(readAlone(bytes, chain));
}

/** The same of anybody's transaction, up to 4 MB. Throws `ParseError`. */
export function parseAnyTransaction(bytes: Buffer, chain: UtxoChain, pause: Pause): Promise<ParsedTransaction> {
  return inTurns(readAlone(bytes, chain), pause);
}

/**
 * Whether a transaction pays peg-outs: by its first output, which names the extension block. No id covers the flag of a HogEx: a server may
 * leave it out or add one, and a node that was started with -rpcserialversion=1 leaves it out.
 */
export function pegsOut({ outputs: [first] }: ParsedTransaction, chain: UtxoChain): boolean {
  return chain === 'LTC' && first?.script.length === 34 && first.script.readUInt16BE() === EXTENSION_BLOCK;
}

/** The header of a block. Litecoin's id is this double SHA-256 too; only its proof of work is scrypt. */
export function parseHeader(bytes: Buffer): BlockHeader {
  if (bytes.length < HEADER_BYTES) throw new ParseError('bytes end in a block header');
  const header = bytes.subarray(0, HEADER_BYTES);
  return {
    hash: reversedHex(sha256d(header)),
    previous: reversedHex(header.subarray(4, 36)),
    timeSeconds: header.readUInt32LE(68),
  };
}

/**
 * The transactions of a block, one after the other, so that the caller can pause between them; `null`: within one, too.
 * Throws `ParseError` at the first that is broken, and at the end when bytes are left that are no extension block.
 */
export function* transactionsOf(bytes: Buffer, chain: UtxoChain): Generator<ParsedTransaction | null, void, undefined> {
  const reader = new Reader(bytes);
  reader.skip(HEADER_BYTES);
  const count = reader.count(TRANSACTION_BYTES_MIN);
  let extended = false;
  for (let i = 0; i < count; i++) {
    const transaction = yield* readTransaction(reader, chain, false);
    if (extended) throw new ParseError('a HogEx that is not the last transaction');
    extended = transaction.hogEx;
    yield transaction;
  }
  // the extension block hides its outputs, none of which can be ours
  const rest = bytes.length - reader.at;
  if (extended ? rest < 1 : rest > 0) throw new ParseError(`${rest} bytes after the last transaction`);
}
