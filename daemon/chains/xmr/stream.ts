/**
 * Consecutive blocks of a node, read and scanned ahead of their use: while some are stored, the next ones are on their way or are being
 * read. The blocks that were read ahead stay for the next step of the same node.
 */
import type { BlockId } from '../../domain/chain.ts';
import { Malformed, Unavailable } from '../../domain/errors.ts';
import { unlessAborted } from '../../kit/async.ts';
import { writeKept } from '../../monero/kept.ts';
import type { Transaction } from '../../monero/transaction.ts';
import { changed, type LinkedHeader } from '../checkpoint.ts';
import { inTurns, slices } from '../slices.ts';
import { type Odd, wholeBlocks } from './blocks.ts';
import type { MoneroNode } from './node.ts';
import { foundIn, type ReadBlock, type TransactionParts } from './read.ts';
import type { Reading } from './reading.ts';
import type { Receiver } from './receive.ts';
import { TooLarge } from './rpc.ts';

/** Requests that are under way, or answered, beside the blocks that are being used. */
const AHEAD_MAX = 3;
/** Blocks of the usual size of the main network have about 2 MB together. */
const FIRST_BLOCKS = 16;
/** A node in restricted mode has 1,000 at the most. Each answer is read in one thread: of larger ones a second thread would get none. */
const BLOCKS_MAX = 500;
/** A long way is gone once for each step from the first blocks to the most. Blocks of one time are of similar size. */
const GROWTH_MAX = 32;
/** The size and time of one request that are aimed at, so that neither memory nor a slow way is strained. */
const BYTES_AIM = 2_000_000;
const MS_AIM = 2_000;

/** `base`: its stored form; absent: none is kept. */
type StreamTransaction = Omit<TransactionParts, 'place'> & { base?: () => Uint8Array };
/** The coinbase is first, unless one of the others could not be read. */
export type StreamBlock = { header: LinkedHeader; transactions: StreamTransaction[]; receivers: readonly Receiver[] };

/** `firsts`: how many outputs there are before each block; null: the node did not tell. */
type Batch = { blocks: ReadBlock[]; firsts: readonly number[] | null };
type Ahead = {
  node: MoneroNode;
  receivers: readonly Receiver[];
  /** The height of the first block in the queue, and of the first that is not asked for yet. */
  at: number;
  next: number;
  queue: { count: number; batch: Promise<Batch[]> }[];
  ended: AbortController;
};

type BlockStreamOptions = {
  /** Whose outputs are searched for. */
  receivers: () => readonly Receiver[];
  reading: Reading;
  /** See `wholeBlocks`. */
  onOdd: (odd: Odd) => void;
  /** Blocks of one request. */
  blocksMax?: number;
};

export class BlockStream {
  readonly #options: BlockStreamOptions;
  #ahead: Ahead | null = null;
  #count = FIRST_BLOCKS;

  constructor(options: BlockStreamOptions) {
    this.#options = options;
  }

  /**
   * The blocks from one height to another, a page at a time. They link to each other, and the first one to `below`, if that is given.
   * A caller may stop after any page. Throws `Malformed`, and `Unavailable` if the node has other blocks, or fewer.
   */
  async *read(
    node: MoneroNode,
    from: number,
    to: number,
    below: BlockId | null,
    signal: AbortSignal,
  ): AsyncGenerator<StreamBlock[]> {
    let previous = below?.hash ?? null;
    let isKept = this.#keeps(node, from);
    try {
      for (let at = from; at <= to; ) {
        const ahead = this.#fill(node, at, to);
        const first = ahead.queue[0];
        if (!first) throw changed();
        const batches = await unlessAborted(first.batch, signal);
        const parent = batches[0]?.blocks[0]?.header.parent;
        if (isKept && previous !== null && parent !== previous) {
          // they were asked for before the chain changed
          isKept = false;
          this.drop();
          continue;
        }
        isKept = false;
        ahead.queue.shift();
        ahead.at += first.count;
        at += first.count;
        this.#fill(node, at, to);
        for (const batch of batches) {
          const page: StreamBlock[] = [];
          for (const [place, block] of batch.blocks.entries()) {
            if (previous !== null && block.header.parent !== previous) throw changed();
            previous = block.header.hash;
            page.push(await this.#whole(ahead, batch, place, block, signal));
          }
          yield page;
        }
      }
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  /** Forgets what was read ahead. */
  drop(): void {
    this.#ahead?.ended.abort();
    this.#ahead = null;
  }

  #keeps(node: MoneroNode, at: number): boolean {
    const ahead = this.#ahead;
    const receivers = this.#options.receivers();
    const isSame =
      ahead?.receivers.length === receivers.length && receivers.every((one) => ahead.receivers.includes(one));
    return ahead !== null && ahead.node === node && ahead.at === at && isSame;
  }

  /** The blocks that are read ahead from a height on, with as many requests under way as there may be. */
  #fill(node: MoneroNode, at: number, to: number): Ahead {
    if (!this.#keeps(node, at)) this.drop();
    this.#ahead ??= {
      node,
      at,
      next: at,
      queue: [],
      receivers: this.#options.receivers(),
      ended: new AbortController(),
    };
    const ahead = this.#ahead;
    while (ahead.queue.length <= AHEAD_MAX && ahead.next <= to) {
      const count = Math.min(this.#count, this.#options.blocksMax ?? BLOCKS_MAX, to - ahead.next + 1);
      const batch = this.#batches(ahead, ahead.next, count);
      // whoever waits for it is told
      batch.catch(() => undefined);
      ahead.queue.push({ count, batch });
      ahead.next += count;
    }
    return ahead;
  }

  /** Blocks in as many answers as their size requires; in one that stands alone and is still too large, what is read of each is null. */
  async #batches(ahead: Ahead, from: number, count: number): Promise<Batch[]> {
    const { node, ended, receivers } = ahead;
    const began = performance.now();
    // a node has few connections for one client: the longer answer is asked for first
    const answer = node.blocks(from, count, ended.signal);
    const counts = node.outputCounts(from, from + count - 1, ended.signal).catch((error: unknown) => {
      if (error instanceof Unavailable || error instanceof Malformed) return null;
      throw error;
    });
    // an end while the blocks are on their way is told by them
    counts.catch(() => undefined);
    try {
      const body = await answer;
      this.#adapt(count, body.length, performance.now() - began);
      const { blocks, refused } = await this.#options.reading.read(body, from, count, receivers);
      if (refused !== null) throw changed();
      return [{ blocks, firsts: firstsOf(blocks, await counts) }];
    } catch (error) {
      await counts;
      if (!(error instanceof TooLarge)) throw error;
      this.#count = Math.max(1, count >> 1);
      if (count > 1) {
        const lower = await this.#batches(ahead, from, count >> 1);
        return [...lower, ...(await this.#batches(ahead, from + (count >> 1), count - (count >> 1)))];
      }
      const [header] = await node.headers([from], ended.signal);
      if (!header) throw changed();
      return [{ blocks: [{ header, transactions: null, outputs: 0 }], firsts: null }];
    }
  }

  /**
   * How many blocks the next request is for. The few blocks below a head tell the size of blocks, but their time is mostly that of the
   * way: they take nothing from what longer answers allowed.
   */
  #adapt(count: number, bytes: number, ms: number): void {
    const inTime = count * Math.min(GROWTH_MAX, MS_AIM / Math.max(ms, 1));
    const most = ms > MS_AIM ? inTime : Math.max(inTime, this.#count);
    const ofSize = (count * BYTES_AIM) / Math.max(bytes, 1);
    this.#count = Math.max(1, Math.floor(Math.min(BLOCKS_MAX, most, ofSize)));
  }

  async #whole(
    { node, receivers }: Ahead,
    { firsts }: Batch,
    place: number,
    { header, transactions }: ReadBlock,
    signal: AbortSignal,
  ): Promise<StreamBlock> {
    const isKnown = transactions?.every((one) => one.place === null) || firsts !== null;
    if (!transactions || !isKnown) return this.#asked(node, header, receivers, signal);
    const first = firsts?.[place] ?? 0;
    const whole = transactions.map(({ place: at, ...read }): StreamTransaction => {
      if (!at) return read;
      return { ...read, base: () => writeKept(first + at.before, at.prunableHash, at.pruned) };
    });
    return { header, transactions: whole, receivers };
  }

  /** A block whose transactions are asked for in pages, without signatures. */
  async #asked(
    node: MoneroNode,
    header: LinkedHeader,
    receivers: readonly Receiver[],
    signal: AbortSignal,
  ): Promise<StreamBlock> {
    for await (const { coinbase, transactions } of wholeBlocks(node, [header], signal, this.#options.onOdd)) {
      const all: readonly Transaction[] = [coinbase, ...transactions.map(({ transaction }) => transaction)];
      const found = await inTurns(foundIn(all, receivers), slices());
      const kept = [null, ...transactions.map((one) => one.kept)];
      const read = all.map((transaction, at): StreamTransaction => {
        const { id, version, isCoinbase, unlockTime, keyImages, fee } = transaction;
        const base = kept[at];
        return {
          id,
          version,
          isCoinbase,
          unlockTime,
          keyImages,
          fee,
          found: found.get(transaction) ?? [],
          ...(base && { base }),
        };
      });
      return { header, transactions: read, receivers };
    }
    throw changed();
  }
}

/** How many outputs there are before each block. Throws `Unavailable` where the blocks have other numbers than the node told. */
function firstsOf(
  blocks: readonly ReadBlock[],
  told: { base: number; counts: readonly number[] } | null,
): number[] | null {
  if (!told) return null;
  const firsts: number[] = [];
  let before = told.base;
  for (const [at, { transactions, outputs }] of blocks.entries()) {
    const count = told.counts[at];
    // those of a block that cannot be read are not counted here
    if (count === undefined || (transactions && outputs !== count)) throw changed();
    firsts.push(before);
    before += count;
  }
  return firsts;
}
