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
const AHEAD_MAX = 2;
/** Blocks of the usual size of the main network have about 2 MB together. */
const FIRST_BLOCKS = 16;
/** A node in restricted mode has 1,000 at the most. */
const BLOCKS_MAX = 500;
const GROWTH_MAX = 8;
/** The size and time of one request that are aimed at, so that neither memory nor a slow way is strained. */
const BYTES_AIM = 2_000_000;
const MS_AIM = 2_000;

/** `base`: its stored form; absent: none is kept. */
type StreamTransaction = Omit<TransactionParts, 'place'> & { base?: () => Uint8Array };
/** The coinbase is first, unless one of the others could not be read. */
export type StreamBlock = { header: LinkedHeader; transactions: StreamTransaction[]; receivers: readonly Receiver[] };

type Batch = { blocks: ReadBlock[]; counts: { base: number; counts: number[] } | null };
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
    const counts = node.outputCounts(from, from + count - 1, ended.signal).catch((error: unknown) => {
      if (error instanceof Unavailable || error instanceof Malformed) return null;
      throw error;
    });
    // an end while the blocks are on their way is told by them
    counts.catch(() => undefined);
    try {
      const began = performance.now();
      const body = await node.blocks(from, count, ended.signal);
      this.#adapt(count, body.length, performance.now() - began);
      const { blocks, refused } = await this.#options.reading.read(body, from, count, receivers);
      if (refused !== null) throw changed();
      return [{ blocks, counts: await counts }];
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
      return [{ blocks: [{ header, transactions: null, outputs: 0 }], counts: null }];
    }
  }

  #adapt(count: number, bytes: number, ms: number): void {
    const factor = Math.min(GROWTH_MAX, BYTES_AIM / Math.max(bytes, 1), MS_AIM / Math.max(ms, 1));
    this.#count = Math.max(1, Math.min(BLOCKS_MAX, Math.floor(count * factor)));
  }

  async #whole(
    { node, receivers }: Ahead,
    { counts, blocks }: Batch,
    place: number,
    { header, transactions }: ReadBlock,
    signal: AbortSignal,
  ): Promise<StreamBlock> {
    const isKnown = transactions?.every((one) => one.place === null) || counts !== null;
    if (!transactions || !isKnown) return this.#asked(node, header, receivers, signal);
    if (counts && blocks.some(({ outputs }, at) => outputs !== counts.counts[at])) throw changed();
    const first = (counts?.counts ?? []).slice(0, place).reduce((sum, one) => sum + one, counts?.base ?? 0);
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
        const { id, version, isCoinbase, unlockTime, keyImages } = transaction;
        const base = kept[at];
        return {
          id,
          version,
          isCoinbase,
          unlockTime,
          keyImages,
          found: found.get(transaction) ?? [],
          ...(base && { base }),
        };
      });
      return { header, transactions: read, receivers };
    }
    throw changed();
  }
}
