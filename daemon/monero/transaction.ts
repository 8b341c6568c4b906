/**
 * Parses Monero's transactions and blocks: the fields that a receiver needs, and their ids, which are checked against the
 * hash that was asked for. Format: `cryptonote_basic` and `ringct` of the Monero project.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { Malformed } from '../domain/errors.ts';
import { varint } from './varint.ts';

export type Output = {
  /** The one-time public key, 32 bytes. */
  key: Uint8Array;
  /** One byte with which a receiver skips most outputs of others; null in transactions before August 2022. */
  viewTag: number | null;
  /** The amount in clear: of a coinbase, and of transactions before 2017. */
  clearUnits: bigint;
  /** Encrypted for the receiver: 8 bytes since 2018, 64 before; null where the amount is in the open. */
  sealedUnits: Uint8Array | null;
  /** The commitment to the amount, 32 bytes; null where the amount is in the open. */
  commitment: Uint8Array | null;
};

export type Transaction = {
  id: string;
  unlockTime: bigint;
  isCoinbase: boolean;
  keyImages: string[];
  outputs: Output[];
  /** The numbers of the outputs in each input's ring, ascending. */
  rings: bigint[][];
  /** The network fee, piconero; 0 for a coinbase, and for transactions before 2017, which do not state it. */
  fee: bigint;
} & Extra;

type Extra = {
  /** The public keys for the shared secrets: one for all outputs, and one for each output if there are several. */
  publicKeys: Uint8Array[];
  outputKeys: Uint8Array[];
  /** Data for the receiver: an encrypted payment id. */
  nonces: Uint8Array[];
  /** Whether there is any other data, readable or not. */
  hasMore: boolean;
};

export type Block = { hash: string; previous: string; timeMs: number; coinbase: Transaction; txids: string[] };

const KEY_BYTES = 32;
const INPUT_COINBASE = 0xff;
const INPUT_KEY = 0x02;
const OUTPUT_KEY = 0x02;
const OUTPUT_TAGGED_KEY = 0x03;
const EXTRA_PADDING = 0x00;
const EXTRA_PUBLIC_KEY = 0x01;
const EXTRA_NONCE = 0x02;
const EXTRA_MERGE_MINING = 0x03;
const EXTRA_OUTPUT_KEYS = 0x04;
const EXTRA_MINERGATE = 0xde;
/** `rct::RCTType`. From Bulletproof2 on amounts take 8 bytes. */
const RCT_NONE = 0;
const RCT_SIMPLE = 2;
const RCT_COMPACT_FROM = 4;
const RCT_MAX = 6;
const SEALED_BYTES = 8;
const SEALED_BYTES_BEFORE = 64;
/** Inputs, outputs, ring members or hashes: more than any block holds. */
const COUNT_MAX = 1_000_000;
const VARINT_BYTES_MAX = 10;
/** In place of the hash of the signatures: the signatures follow, and are parsed. */
const PARSED = 'parsed';
/** Bulletproofs+: A, A1, B, r1, s1, d1. */
const PROOF_KEYS = 6;
/** Amounts have 64 bits. */
const RANGE_BITS_LOG = 6;

/** Reads bytes in order; throws `Malformed` past their end. */
class Reader {
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
    return this.take(1)[0] ?? 0;
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

/**
 * A transaction from all its bytes, or from those without its signatures and their hash (hex). Throws `Malformed`.
 */
export function parseTransaction(bytes: Uint8Array, prunableHash?: string): Transaction {
  const reader = new Reader(bytes);
  const transaction = readTransaction(reader, prunableHash);
  if (prunableHash !== undefined && reader.at !== bytes.length) throw new Malformed('bytes after a transaction');
  return transaction;
}

/** `prunableHash`: undefined: the signatures are the rest of the bytes; 'parsed': they follow, and are parsed. */
function readTransaction(reader: Reader, prunableHash?: string): Transaction {
  const start = reader.at;
  const version = reader.varint();
  if (version !== 1n && version !== 2n) throw new Malformed(`a transaction of version ${version}`);
  const unlockTime = reader.varint();
  const { isCoinbase, keyImages, rings } = readInputs(reader);
  const outputs = readOutputs(reader);
  const extra = reader.take(reader.count());
  const prefixEnd = reader.at;
  const prefixHash = keccak_256(reader.bytes.subarray(start, prefixEnd));
  const keys = readExtra(extra);
  const common = { unlockTime, isCoinbase, keyImages, rings, fee: 0n, outputs, ...keys };
  if (version === 1n) {
    // The signatures have no length before them. A transaction of version 1 is always the end of the bytes.
    if (!isCoinbase) reader.at = reader.bytes.length;
    return { id: bytesToHex(keccak_256(reader.bytes.subarray(start, reader.at))), ...common };
  }
  common.fee = readRingBase(reader, outputs, keyImages.length);
  const baseHash = keccak_256(reader.bytes.subarray(prefixEnd, reader.at));
  const hasProof = reader.bytes[prefixEnd] !== RCT_NONE;
  const rest = hasProof ? readProofs(reader, rings, outputs.length, prunableHash) : null;
  const restHash = rest
    ? keccak_256(rest)
    : hasProof
      ? Buffer.from(prunableHash ?? '', 'hex')
      : new Uint8Array(KEY_BYTES);
  return { id: bytesToHex(keccak_256(Buffer.concat([prefixHash, baseHash, restHash]))), ...common };
}

/** The bytes of the signatures; null where only their hash is known. */
function readProofs(reader: Reader, rings: bigint[][], outputs: number, prunableHash?: string): Uint8Array | null {
  if (prunableHash === undefined) return reader.take(reader.bytes.length - reader.at);
  if (prunableHash !== PARSED) return null;
  const start = reader.at;
  // one range proof for all outputs: six scalars and points, and two lists whose length follows from the outputs
  if (reader.count() !== 1) throw new Malformed('several range proofs');
  reader.take(PROOF_KEYS * KEY_BYTES);
  const halvings = RANGE_BITS_LOG + Math.ceil(Math.log2(outputs));
  for (let lists = 2; lists > 0; lists--) {
    if (reader.count() !== halvings) throw new Malformed('a range proof of another length');
    reader.take(halvings * KEY_BYTES);
  }
  // a signature of each input: a scalar for each member of the ring, and two more; then a commitment of each input
  for (const ring of rings) reader.take((ring.length + 2) * KEY_BYTES);
  reader.take(rings.length * KEY_BYTES);
  return reader.bytes.subarray(start, reader.at);
}

function readInputs(reader: Reader): { isCoinbase: boolean; keyImages: string[]; rings: bigint[][] } {
  const keyImages: string[] = [];
  const rings: bigint[][] = [];
  let isCoinbase = false;
  for (let left = reader.count(); left > 0; left--) {
    const type = reader.byte();
    if (type === INPUT_COINBASE) {
      isCoinbase = true;
      reader.varint();
    } else if (type === INPUT_KEY) {
      reader.varint();
      const ring: bigint[] = [];
      // each number is the difference from the one before
      for (let members = reader.count(); members > 0; members--) ring.push((ring.at(-1) ?? 0n) + reader.varint());
      rings.push(ring);
      keyImages.push(bytesToHex(reader.take(KEY_BYTES)));
    } else throw new Malformed(`an input of type ${type}`);
  }
  return { isCoinbase, keyImages, rings };
}

function readOutputs(reader: Reader): Output[] {
  const outputs: Output[] = [];
  for (let left = reader.count(); left > 0; left--) {
    const clearUnits = reader.varint();
    const type = reader.byte();
    if (type !== OUTPUT_KEY && type !== OUTPUT_TAGGED_KEY) throw new Malformed(`an output of type ${type}`);
    const key = reader.take(KEY_BYTES);
    const viewTag = type === OUTPUT_TAGGED_KEY ? reader.byte() : null;
    outputs.push({ key, viewTag, clearUnits, sealedUnits: null, commitment: null });
  }
  return outputs;
}

/**
 * The keys in `extra`, which the sender may fill with anything. The first unreadable field ends it, as in Monero's own
 * wallet.
 */
function readExtra(extra: Uint8Array): Extra {
  const publicKeys: Uint8Array[] = [];
  const outputKeys: Uint8Array[] = [];
  const nonces: Uint8Array[] = [];
  let hasMore = false;
  const reader = new Reader(extra);
  try {
    while (reader.at < extra.length) {
      const tag = reader.byte();
      if (tag === EXTRA_PUBLIC_KEY) publicKeys.push(reader.take(KEY_BYTES));
      else if (tag === EXTRA_OUTPUT_KEYS) {
        for (let left = reader.count(); left > 0; left--) outputKeys.push(reader.take(KEY_BYTES));
      } else if (tag === EXTRA_NONCE) nonces.push(reader.take(reader.count()));
      else {
        hasMore = true;
        if (tag === EXTRA_MERGE_MINING || tag === EXTRA_MINERGATE) reader.take(reader.count());
        else if (tag !== EXTRA_PADDING) break;
      }
    }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    hasMore = true;
  }
  return { publicKeys, outputKeys, nonces, hasMore };
}

/** Returns the fee. */
function readRingBase(reader: Reader, outputs: Output[], inputs: number): bigint {
  const type = reader.byte();
  if (type === RCT_NONE) return 0n;
  if (type > RCT_MAX) throw new Malformed(`a ring signature of type ${type}`);
  const fee = reader.varint();
  if (type === RCT_SIMPLE) reader.take(KEY_BYTES * inputs);
  for (const output of outputs)
    output.sealedUnits = reader.take(type >= RCT_COMPACT_FROM ? SEALED_BYTES : SEALED_BYTES_BEFORE);
  for (const output of outputs) output.commitment = reader.take(KEY_BYTES);
  return fee;
}

/**
 * A transaction with all its signatures, of the kind that is made since 2022 (CLSAG and Bulletproofs+), at the beginning of some
 * bytes; `bytes`: those of the transaction. Throws `Malformed`.
 */
export function parseSigned(data: Uint8Array): { transaction: Transaction; bytes: Uint8Array } {
  const reader = new Reader(data);
  const transaction = readTransaction(reader, PARSED);
  const bytes = data.subarray(0, reader.at);
  return { transaction, bytes };
}

/** A block from its bytes: header, coinbase and the ids of its transactions. Throws `Malformed`. */
export function parseBlock(bytes: Uint8Array): Block {
  const reader = new Reader(bytes);
  reader.varint();
  reader.varint();
  const seconds = Number(reader.varint());
  const previous = bytesToHex(reader.take(KEY_BYTES));
  reader.take(4);
  const headerEnd = reader.at;
  const coinbase = readTransaction(reader);
  const txids: string[] = [];
  for (let left = reader.count(); left > 0; left--) txids.push(bytesToHex(reader.take(KEY_BYTES)));
  const leaves = [coinbase.id, ...txids].map((id) => Buffer.from(id, 'hex'));
  const hashed = Buffer.concat([bytes.subarray(0, headerEnd), treeHash(leaves), varint(leaves.length)]);
  const hash = bytesToHex(keccak_256(Buffer.concat([varint(hashed.length), hashed])));
  return { hash, previous, timeMs: seconds * 1_000, coinbase, txids };
}

/** The root of the tree over a block's transactions (`crypto/tree-hash.c`). */
function treeHash(leaves: readonly Uint8Array[]): Uint8Array {
  const pair = (a: Uint8Array, b: Uint8Array): Uint8Array => keccak_256(Buffer.concat([a, b]));
  const [first, second] = leaves;
  if (!first) throw new Malformed('a block without a coinbase');
  if (!second) return first;
  if (leaves.length === 2) return pair(first, second);
  // The largest power of two below the number of leaves; the leaves beyond it are paired first.
  const width = 2 ** Math.floor(Math.log2(leaves.length - 1));
  const alone = 2 * width - leaves.length;
  let row: Uint8Array[] = leaves.slice(0, alone);
  for (let i = alone; i < leaves.length; i += 2) row.push(pair(leaves[i] as Uint8Array, leaves[i + 1] as Uint8Array));
  while (row.length > 1) {
    const next: Uint8Array[] = [];
    for (let i = 0; i < row.length; i += 2) next.push(pair(row[i] as Uint8Array, row[i + 1] as Uint8Array));
    row = next;
  }
  return row[0] as Uint8Array;
}
