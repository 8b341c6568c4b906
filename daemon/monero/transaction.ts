/**
 * Parses Monero's transactions: the fields that a receiver needs, and the id, which is checked against the one that was
 * asked for. Format: `cryptonote_basic` and `ringct` of the Monero project.
 */

import { bytesToHex } from '@noble/hashes/utils.js';
import { Malformed } from '../domain/errors.ts';
import { type Extra, readExtra } from './extra.ts';
import { keccak256, keccak256Hex } from './keccak.ts';
import { Reader } from './reader.ts';

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
  /** 1: the amounts are in the open. Since 2017 only outputs of an amount that hardly any other has are spent by such a one. */
  version: 1 | 2;
  unlockTime: bigint;
  isCoinbase: boolean;
  keyImages: string[];
  outputs: Output[];
  /** The numbers of the outputs in each input's ring, ascending. */
  rings: bigint[][];
  /** The network fee, piconero; 0 for a coinbase, and for transactions before 2017, which do not state it. */
  fee: bigint;
} & Extra;

const KEY_BYTES = 32;
/** Of version 1: two scalars for each member of a ring. */
const SIGNATURE_BYTES = 2 * KEY_BYTES;
const INPUT_COINBASE = 0xff;
const INPUT_KEY = 0x02;
const OUTPUT_KEY = 0x02;
const OUTPUT_TAGGED_KEY = 0x03;
/** `rct::RCTType`. From Bulletproof2 on amounts take 8 bytes. */
const RCT_NONE = 0;
const RCT_SIMPLE = 2;
const RCT_COMPACT_FROM = 4;
const RCT_MAX = 6;
const SEALED_BYTES = 8;
const SEALED_BYTES_BEFORE = 64;
/** The hash of all that a coinbase has there. */
const HASH_OF_NONE = keccak256(Uint8Array.of(RCT_NONE));
/** In place of the hash of the signatures: the signatures follow, and are parsed. */
const PARSED = 'parsed';
/** Bulletproofs+: A, A1, B, r1, s1, d1. */
const PROOF_KEYS = 6;
/** Amounts have 64 bits. */
const RANGE_BITS_LOG = 6;

/**
 * A transaction from all its bytes, or from those without its signatures and their hash (hex). One of version 1 needs all, because its
 * id is the hash of all. Throws `Malformed`.
 */
export function parseTransaction(bytes: Uint8Array, prunableHash?: string): Transaction {
  const reader = new Reader(bytes);
  const transaction = readTransaction(reader, prunableHash);
  if (reader.at !== bytes.length) throw new Malformed('bytes after a transaction');
  return transaction;
}

/** Everything before the signatures' part. `height`: of the block that a coinbase was made for. */
type Prefix = Omit<Transaction, 'id' | 'fee'> & { height: number | null };

function readPrefix(reader: Reader): Prefix {
  const version = reader.varint();
  if (version !== 1n && version !== 2n) throw new Malformed(`a transaction of version ${version}`);
  const unlockTime = reader.varint();
  const inputs = readInputs(reader);
  const outputs = readOutputs(reader);
  const extra = readExtra(reader.take(reader.count()));
  return {
    version: version === 1n ? 1 : 2,
    unlockTime,
    ...inputs,
    isCoinbase: inputs.height !== null,
    outputs,
    ...extra,
  };
}

/** The length of the prefix at the beginning of a transaction's bytes. Throws `Malformed`. */
export function prefixLength(bytes: Uint8Array): number {
  const reader = new Reader(bytes);
  readPrefix(reader);
  return reader.at;
}

/** Whether bytes are of a transaction whose id is the hash of all of them. */
export const isWhollyHashed = (bytes: Uint8Array): boolean => bytes[0] === 1;

/** The bytes of a transaction of version 2 without its signatures, and their hash (hex). Throws `Malformed`. */
export function prunedOf(bytes: Uint8Array): { pruned: Uint8Array; prunableHash: string } {
  const reader = new Reader(bytes);
  const { outputs, keyImages } = readPrefix(reader);
  const hasProof = bytes[reader.at] !== RCT_NONE;
  readRingBase(reader, outputs, keyImages.length);
  const hash = hasProof ? keccak256(bytes.subarray(reader.at)) : new Uint8Array(KEY_BYTES);
  return { pruned: Uint8Array.from(bytes.subarray(0, reader.at)), prunableHash: bytesToHex(hash) };
}

/**
 * `prunableHash`: undefined: the signatures are the rest of the bytes; 'parsed': they follow, and are parsed. `height`:
 * see `Prefix`.
 */
export function readTransaction(reader: Reader, prunableHash?: string): Transaction & { height: number | null } {
  const start = reader.at;
  const prefix = readPrefix(reader);
  const prefixEnd = reader.at;
  if (prefix.version === 1) {
    for (const ring of prefix.rings) reader.take(ring.length * SIGNATURE_BYTES);
    return { id: keccak256Hex(reader.bytes.subarray(start, reader.at)), ...prefix, fee: 0n };
  }
  const prefixHash = keccak256(reader.bytes.subarray(start, prefixEnd));
  const fee = readRingBase(reader, prefix.outputs, prefix.keyImages.length);
  const hasProof = reader.bytes[prefixEnd] !== RCT_NONE;
  const baseHash = hasProof ? keccak256(reader.bytes.subarray(prefixEnd, reader.at)) : HASH_OF_NONE;
  const restHash = hasProof
    ? hashOfProofs(reader, prefix.rings, prefix.outputs.length, prunableHash)
    : new Uint8Array(KEY_BYTES);
  return { id: keccak256Hex(Buffer.concat([prefixHash, baseHash, restHash])), ...prefix, fee };
}

/** The hash of the signatures: of their bytes, or the given one where those are not there. */
function hashOfProofs(reader: Reader, rings: bigint[][], outputs: number, prunableHash?: string): Uint8Array {
  if (prunableHash === undefined) return keccak256(reader.take(reader.bytes.length - reader.at));
  if (prunableHash !== PARSED) return Buffer.from(prunableHash, 'hex');
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
  return keccak256(reader.bytes.subarray(start, reader.at));
}

function readInputs(reader: Reader): Pick<Prefix, 'height' | 'keyImages' | 'rings'> {
  const keyImages: string[] = [];
  const rings: bigint[][] = [];
  let height: number | null = null;
  for (let left = reader.count(); left > 0; left--) {
    const type = reader.byte();
    if (type === INPUT_COINBASE) {
      height = Number(reader.varint());
    } else if (type === INPUT_KEY) {
      reader.varint();
      const ring: bigint[] = [];
      // each number is the difference from the one before
      for (let members = reader.count(); members > 0; members--) ring.push((ring.at(-1) ?? 0n) + reader.varint());
      rings.push(ring);
      keyImages.push(bytesToHex(reader.take(KEY_BYTES)));
    } else throw new Malformed(`an input of type ${type}`);
  }
  return { height, keyImages, rings };
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
