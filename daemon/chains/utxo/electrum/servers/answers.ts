/** Parsers of servers' answers: a wrong form throws `Misbehaved`, and a list that is too long throws `TooLong`. */
import { HEADER_BYTES } from '../headers/header.ts';
import { HEADERS_PER_REQUEST } from '../headers/types.ts';
import { Between, Misbehaved, TooLong } from './faults.ts';

/** Entries of one history. Servers have their own limits, which may be higher (Fulcrum's: 125,000). */
export const HISTORY_ENTRIES_MAX = 20_000;
const HEIGHT_MAX = 100_000_000;
/** As in a block of 2^32 transactions. */
const MERKLE_BRANCH_MAX = 32;

export type TipNews = { height: number; header: Buffer };
/** `height`: of the block; 0: unconfirmed, -1: with an unconfirmed input. */
export type HistoryEntry = { txid: string; height: number };
export type MerkleProof = { branch: string[]; position: number };

const HASH = /^[0-9a-f]{64}$/;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isHeight = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= HEIGHT_MAX;

function bytesOf(hex: unknown, what: string): Buffer {
  if (typeof hex === 'string' && hex.length % 2 === 0) {
    const bytes = Buffer.from(hex, 'hex');
    if (bytes.length * 2 === hex.length) return bytes;
  }
  throw new Misbehaved(`${what} is no hexadecimal text`);
}

/** A header with its height: the answer to `blockchain.headers.subscribe`, and its notifications. */
export function readTip(value: unknown): TipNews {
  if (!isObject(value) || !isHeight(value.height)) throw new Misbehaved('the tip has no height');
  return { height: value.height, header: readHeaderBytes(value.hex) };
}

export function readHeaderBytes(value: unknown): Buffer {
  const bytes = bytesOf(value, 'a header');
  if (bytes.length !== HEADER_BYTES) throw new Misbehaved(`a header of ${bytes.length} bytes`);
  return bytes;
}

/** Up to `count` headers: one text (before protocol 1.6) or a list. */
export function readHeaders(value: unknown, count: number): Buffer {
  if (!isObject(value)) throw new Misbehaved('the headers are no object');
  const parts = Array.isArray(value.headers) ? value.headers : [value.hex];
  if (parts.length > HEADERS_PER_REQUEST) throw new Misbehaved(`${parts.length} headers at once`);
  const bytes = Buffer.concat(parts.map((part) => bytesOf(part, 'a run of headers')));
  if (bytes.length % HEADER_BYTES !== 0 || bytes.length > count * HEADER_BYTES) {
    throw new Misbehaved(`${bytes.length} bytes of headers where ${count} were asked for`);
  }
  return bytes;
}

/** The status of a script; null without a history. */
export function readStatus(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && HASH.test(value)) return value;
  throw new Misbehaved('the status of a script is none');
}

/** Throws `Between` if a transaction is named in a block and once more without one. */
export function readHistory(value: unknown): HistoryEntry[] {
  if (!Array.isArray(value)) throw new Misbehaved('a history is no list');
  if (value.length > HISTORY_ENTRIES_MAX) throw new TooLong(`a history of ${value.length} entries`);
  const confirmed = new Map<string, boolean>();
  let twice: string | null = null;
  const entries = value.map((entry: unknown) => {
    const { tx_hash: txid, height } = isObject(entry) ? entry : {};
    if (typeof txid !== 'string' || !HASH.test(txid)) throw new Misbehaved('an entry of a history has no id');
    if (!isHeight(height) && height !== -1) throw new Misbehaved('an entry of a history has no height');
    if (height > 0 && confirmed.get(txid)) throw new Misbehaved('a history has a transaction in two blocks');
    if (confirmed.has(txid)) twice = txid;
    confirmed.set(txid, height > 0 || confirmed.get(txid) === true);
    return { txid, height };
  });
  if (twice !== null) throw new Between(twice);
  return entries;
}

/** `height`: 0 while unconfirmed. */
export type UnspentEntry = { outpoint: string; units: bigint; height: number };

export function readUnspent(value: unknown): UnspentEntry[] {
  if (!Array.isArray(value)) throw new Misbehaved('the coins of a script are no list');
  if (value.length > HISTORY_ENTRIES_MAX) throw new TooLong(`${value.length} coins of one script`);
  return value.map((entry: unknown) => {
    const { tx_hash: txid, tx_pos: vout, value: units, height } = isObject(entry) ? entry : {};
    if (typeof txid !== 'string' || !HASH.test(txid)) throw new Misbehaved('a coin has no transaction');
    if (!Number.isSafeInteger(vout) || !Number.isSafeInteger(units) || (units as number) < 0 || !isHeight(height)) {
      throw new Misbehaved('a coin of a script is none');
    }
    return { outpoint: `${txid}:${vout as number}`, units: BigInt(units as number), height };
  });
}

export function readMerkle(value: unknown): MerkleProof {
  const { merkle, pos } = isObject(value) ? value : {};
  const isBranch = Array.isArray(merkle) && merkle.every((hash) => typeof hash === 'string' && HASH.test(hash));
  if (!isBranch || merkle.length > MERKLE_BRANCH_MAX) throw new Misbehaved('a merkle branch is none');
  if (!Number.isInteger(pos) || (pos as number) < 0) throw new Misbehaved('a merkle branch has no position');
  return { branch: merkle as string[], position: pos as number };
}

/** The first transaction of a block with its branch. */
export function readFirst(value: unknown): { txid: string; branch: string[] } {
  const { tx_hash: txid, merkle } = isObject(value) ? value : {};
  if (typeof txid !== 'string' || !HASH.test(txid)) throw new Misbehaved('the first transaction of a block has no id');
  return { txid, branch: readMerkle({ merkle, pos: 0 }).branch };
}

export function readTransaction(value: unknown): Buffer {
  return bytesOf(value, 'a transaction');
}

/** Coins per 1,000 bytes; -1 if the server has no estimate. */
export function readFee(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Misbehaved('a fee is no number');
  return value;
}
