/**
 * Reads the bytes of consecutive blocks with all their transactions, and finds what pays some accounts: pure, for this thread or for
 * another one. A block's hash proves the block before, its height, its time and the list of its transactions; each id proves the bytes
 * of one. So whoever checks that blocks link to each other has left out nothing.
 */
import { Malformed } from '../../domain/errors.ts';
import { type Block, NewerBlock, parseBlock } from '../../monero/block.ts';
import { parseTransaction, prunedOf, type Transaction } from '../../monero/transaction.ts';
import type { LinkedHeader } from '../checkpoint.ts';
import type { Steps } from '../slices.ts';
import { readSection, type Value } from './epee.ts';
import type { Received, Receiver } from './receive.ts';

/** The fault of a node that marks an answer as not its own (`untrusted`). */
export const PASSED_ON = 'passes on what its bootstrap daemon says, until it has all blocks itself';
/** Consensus (`CRYPTONOTE_MAX_TX_SIZE`). */
const TRANSACTION_BYTES_MAX = 1_000_000;

/** An output of ours, perhaps. `account`: its place in the list of receivers. */
export type OutputMatch = Received & {
  account: number;
  /** The one-time key, 32 bytes. */
  key: Uint8Array;
  /** Whether a commitment shows that it was made for this account. */
  isProved: boolean;
};

/** The parts of a transaction that concern us. */
export type TransactionParts = Pick<
  Transaction,
  'id' | 'version' | 'isCoinbase' | 'unlockTime' | 'keyImages' | 'fee'
> & {
  found: OutputMatch[];
  /** Its place on the chain, and its bytes, for its stored form. Null: nothing in it is ours, or it is a coinbase. */
  place: Place | null;
};

/** `before`: outputs of the block before its own that a ring may have. */
export type Place = { before: number; pruned: Uint8Array; prunableHash: string };

export type ReadBlock = {
  header: LinkedHeader;
  /** Those that pay us, and those that spend something, which may be ours. Null: one of all cannot be read from these bytes. */
  transactions: TransactionParts[] | null;
  /** The outputs that rings may have. */
  outputs: number;
};

/**
 * An answer to a request for blocks by their heights. `refused`: why the node has no such blocks. `newer`: the first
 * block that cannot be read because its rules are newer than this program.
 */
export type ReadBlocks = {
  blocks: ReadBlock[];
  refused: string | null;
  newer: { height: number; version: number } | null;
};

/** `transactions`: the coinbase is first. `blobs`: the bytes of the others. */
type ParsedBlock = { block: Block; transactions: Transaction[] | null; blobs: readonly Uint8Array[] };

const isText = (value: Value | undefined, text: string): boolean =>
  value instanceof Uint8Array && Buffer.from(value).toString('latin1') === text;

/** The blocks from a height on. Throws `Malformed` for others, and for bytes that are not those of their ids. */
export function* readBlocks(
  body: Uint8Array,
  from: number,
  count: number,
  receivers: readonly Receiver[],
): Steps<ReadBlocks> {
  const answer = readSection(body);
  if (!isText(answer.get('status'), 'OK')) return { blocks: [], refused: refusalOf(answer.get('status')), newer: null };
  if (answer.get('untrusted') === true) return { blocks: [], refused: `it ${PASSED_ON}`, newer: null };
  const entries = listOf(answer.get('blocks'));
  if (entries.length !== count) throw new Malformed('another number of blocks than was asked for');
  const parsed: ParsedBlock[] = [];
  for (const [at, entry] of entries.entries()) {
    try {
      parsed.push(yield* parsedBlock(entry, from + at));
    } catch (error) {
      if (!(error instanceof NewerBlock)) throw error;
      return { blocks: [], refused: null, newer: { height: from + at, version: error.version } };
    }
  }
  const all = parsed.flatMap(({ transactions }) => transactions ?? []);
  const found = yield* foundIn(all, receivers);
  return { blocks: parsed.map((one) => readOf(one, found)), refused: null, newer: null };
}

const STATUS_CHARS_MAX = 200;
const refusalOf = (status: Value | undefined): string =>
  status instanceof Uint8Array ? Buffer.from(status).toString('latin1').slice(0, STATUS_CHARS_MAX) : 'no status';

function listOf(value: Value | undefined): readonly Value[] {
  // monerod leaves out an empty list
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Malformed('what is no list');
  return value;
}

function* parsedBlock(entry: Value, height: number): Steps<ParsedBlock> {
  if (!(entry instanceof Map)) throw new Malformed('a block of another form');
  const blob = entry.get('block');
  if (!(blob instanceof Uint8Array) || entry.get('pruned') === true) throw new Malformed('a block of another form');
  const block = parseBlock(blob);
  if (block.height !== height) throw new Malformed('another block than was asked for');
  yield null;
  const sent = listOf(entry.get('txs'));
  if (sent.length > block.txids.length) throw new Malformed('a block with more transactions than it has');
  // a pruned node leaves out those whose signatures it has lost
  if (sent.length < block.txids.length) return { block, transactions: null, blobs: [] };
  const transactions: Transaction[] = [block.coinbase];
  const blobs: Uint8Array[] = [];
  for (const [at, bytes] of sent.entries()) {
    if (!(bytes instanceof Uint8Array) || bytes.length > TRANSACTION_BYTES_MAX) {
      throw new Malformed('a transaction of another form');
    }
    const transaction = readable(bytes);
    yield null;
    // whether these are its bytes is found out where it can be asked for in parts
    if (!transaction) return { block, transactions: null, blobs };
    if (transaction.id !== block.txids[at]) throw new Malformed('another transaction than was asked for');
    transactions.push(transaction);
    blobs.push(bytes);
  }
  return { block, transactions, blobs };
}

function readable(bytes: Uint8Array): Transaction | null {
  try {
    return parseTransaction(bytes);
  } catch (error) {
    if (error instanceof Malformed) return null;
    throw error;
  }
}

/** The outputs that pay one of the receivers' accounts, by transaction. */
export function* foundIn(
  transactions: readonly Transaction[],
  receivers: readonly Receiver[],
): Steps<Map<Transaction, OutputMatch[]>> {
  const found = new Map<Transaction, OutputMatch[]>();
  for (const [account, receiver] of receivers.entries()) {
    const received = yield* receiver.received(transactions);
    for (const [at, transaction] of transactions.entries()) {
      const paid = received[at] ?? [];
      if (paid.length === 0) continue;
      const own = paid.map((one): OutputMatch => {
        const output = transaction.outputs[one.n];
        return {
          ...one,
          account,
          key: Uint8Array.from(output?.key ?? []),
          isProved: output?.commitment !== null,
        };
      });
      found.set(transaction, [...(found.get(transaction) ?? []), ...own]);
    }
  }
  return found;
}

function readOf(parsed: ParsedBlock, foundOf: ReadonlyMap<Transaction, OutputMatch[]>): ReadBlock {
  const { hash, height, previous: parent, timeMs } = parsed.block;
  const header = { hash, height, parent, timeMs };
  if (!parsed.transactions) return { header, transactions: null, outputs: 0 };
  const transactions: TransactionParts[] = [];
  let outputs = 0;
  for (const [at, transaction] of parsed.transactions.entries()) {
    const { id, version, isCoinbase, unlockTime, keyImages, fee } = transaction;
    const found = foundOf.get(transaction) ?? [];
    const bytes = found.length > 0 ? parsed.blobs[at - 1] : undefined;
    // no ring that is made here has an output of version 1: its place is among those of exactly its amount
    const place = bytes && version === 2 ? { before: outputs, ...prunedOf(bytes) } : null;
    if (version === 2) outputs += transaction.outputs.length;
    // nothing is copied to the other thread that it does not need
    if (found.length === 0 && keyImages.length === 0) continue;
    transactions.push({ id, version, isCoinbase, unlockTime, keyImages, fee, found, place });
  }
  return { header, transactions, outputs };
}
