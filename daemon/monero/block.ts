/** Parses Monero's blocks. */

import { bytesToHex } from '@noble/hashes/utils.js';
import { Malformed } from '../domain/errors.ts';
import { keccak256, keccak256Hex } from './keccak.ts';
import { Reader } from './reader.ts';
import { readTransaction, type Transaction } from './transaction.ts';
import { varint } from './varint.ts';

/** `version`: of the rules that it was made by. `height`: as its coinbase says. */
export type Block = {
  version: number;
  height: number;
  hash: string;
  previous: string;
  timeMs: number;
  coinbase: Transaction;
  txids: string[];
};

const KEY_BYTES = 32;
/** Consensus allows no block to be two hours ahead. Later times are no dates, and no whole numbers that can be stored. */
const TIME_SECONDS_MAX = 1e11;
/**
 * Block 202612 of mainnet has 514 transactions, and the tree over them was computed wrongly when it was mined. Every
 * node calls it by the hash of then (`calculate_block_hash`).
 */
const MISHASHED = {
  is: '426d16cff04c71f8b16340b722dc4010a2dd3831c22041431f772547ba6e331a',
  called: 'bbd604d2ba11ba27935e006ed39c9bfdd99b76bf4a50654bc1e1e61217962698',
};

/** The rules of 2022 (view tags, Bulletproofs+). Later ones may have blocks and transactions of another form. */
export const RULES_KNOWN = 16;

/** A block that cannot be read, by rules that are newer than this program. */
export class NewerBlock extends Malformed {
  readonly version: number;

  constructor(version: number) {
    super(`a block of rules ${version}`);
    this.version = version;
  }
}

/**
 * A block from its bytes: header, coinbase and the ids of its transactions. Its hash proves all of them, and the block
 * before. Throws `Malformed`, and `NewerBlock` where newer rules may be the reason.
 */
export function parseBlock(bytes: Uint8Array): Block {
  const reader = new Reader(bytes);
  const version = Number(reader.varint());
  try {
    return readBlock(reader, version);
  } catch (error) {
    if (!(error instanceof Malformed) || version <= RULES_KNOWN) throw error;
    throw new NewerBlock(version);
  }
}

function readBlock(reader: Reader, version: number): Block {
  const { bytes } = reader;
  reader.varint();
  const seconds = reader.varint();
  if (seconds > TIME_SECONDS_MAX) throw new Malformed(`a block time of ${seconds}`);
  const previous = bytesToHex(reader.take(KEY_BYTES));
  reader.take(4);
  const headerEnd = reader.at;
  const coinbase = readTransaction(reader);
  const txids: string[] = [];
  for (let left = reader.count(); left > 0; left--) txids.push(bytesToHex(reader.take(KEY_BYTES)));
  if (coinbase.height === null) throw new Malformed('a block without a coinbase');
  if (reader.at !== bytes.length) throw new Malformed('bytes after a block');
  const leaves = [coinbase.id, ...txids].map((id) => Buffer.from(id, 'hex'));
  const count = varint(leaves.length);
  const length = varint(headerEnd + KEY_BYTES + count.length);
  const hash = keccak256Hex(Buffer.concat([length, bytes.subarray(0, headerEnd), treeHash(leaves), count]));
  return {
    version,
    height: coinbase.height,
    hash: hash === MISHASHED.is ? MISHASHED.called : hash,
    previous,
    timeMs: Number(seconds) * 1_000,
    coinbase,
    txids,
  };
}

/** The root of the tree over a block's transactions (`crypto/tree-hash.c`). */
function treeHash(leaves: readonly Uint8Array[]): Uint8Array {
  const pair = (a: Uint8Array, b: Uint8Array): Uint8Array => keccak256(Buffer.concat([a, b]));
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
