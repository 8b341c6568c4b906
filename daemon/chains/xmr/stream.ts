/** Consecutive blocks of a node, read and scanned ahead of their use, also for the next step of the same node. */
import type { BlockId } from '../../domain/chain.ts';
import { Malformed, Unavailable } from '../../domain/errors.ts';
import { unlessAborted } from '../../kit/async.ts';
import { writeKept } from '../../monero/kept.ts';
import type { Transaction } from '../../monero/transaction.ts';
import { changed, type LinkedHeader } from '../checkpoint.ts';
import { inTurns, slices } from '../slices.ts';
import { type Odd, tooNew, wholeBlocks } from './blocks.ts';
import type { MoneroNode } from './node.ts';
import { foundIn, type ReadBlock, type TransactionParts } from './read.ts';
import type { Reading } from './reading.ts';
import type { Receiver } from './receive.ts';
import { TooLarge } from './rpc.ts';

/** Requests under way, beside answers that are not used yet; together these are no more than so many of the most blocks or bytes. */
const AHEAD_MAX = 4;
/** Blocks of the usual size of the main network have about 2 MB together. */
const FIRST_BLOCKS = 16;
/** A node in restricted mode has 1,000 at the most. Each answer is read in one thread: of larger ones a second thread would get none. */
const BLOCKS_MAX = 500;
/** A long way is gone once for each step from the first blocks to the most. Blocks of one time are of similar size. */
const GROWTH_MAX = 32;
/** The size of one answer that is aimed at, and its time beyond that of the way, so that neither memory nor a slow way is strained. */
const BYTES_AIM = 2_000_000;
const MS_AIM = 2_000;

/** `base`: its stored form; absent: none is kept. */
type StreamTransaction = Omit<TransactionParts, 'place'> & { base?: () => Uint8Array };
/** `transactions`: at least those that pay us, and those that spend something. */
export type StreamBlock = { header: LinkedHeader; transactions: StreamTransaction[]; receivers: readonly Receiver[] };

/** `firsts`: how many outputs there are before each block; null: the node did not tell. */
type Batch = { blocks: ReadBlock[]; firsts: readonly number[] | null };
/** `base`: how many outputs there are before the block at `from`; null: the node did not tell. */
type Told = { from: number; base: number; counts: readonly number[] } | null;
/** `bytes`: of its answer; null: it is under way. `failed`: there are no blocks: they are asked for again when they are needed. */
type Asked = { from: number; count: number; bytes: number | null; failed: boolean; batch: Promise<Batch[]> };
type Ahead = {
  node: MoneroNode;
  receivers: readonly Receiver[];
  /** The height of the first block in the queue, of the first that is not asked for yet, and of the last that may be asked for. */
  at: number;
  next: number;
  to: number;
  queue: Asked[];
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
            const whole = wholeOf(ahead, batch, place, block);
            // most are there, and to wait for them would take as long as to make them
            page.push(whole ?? (await this.#asked(ahead, block.header, signal)));
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
    return ahead !== null && ahead.node === node && ahead.at === at && isSame && ahead.queue[0]?.failed !== true;
  }

  /** Asks for the first blocks from one height to another, which `read` is to give next. */
  prepare(node: MoneroNode, from: number, to: number): void {
    this.#fill(node, from, to);
  }

  /** The blocks that are read ahead from a height on, with as many requests under way as there may be. */
  #fill(node: MoneroNode, at: number, to: number): Ahead {
    if (!this.#keeps(node, at)) this.drop();
    this.#ahead ??= {
      node,
      at,
      next: at,
      to,
      queue: [],
      receivers: this.#options.receivers(),
      ended: new AbortController(),
    };
    this.#ahead.to = to;
    this.#ask(this.#ahead);
    return this.#ahead;
  }

  /** Asks for further blocks, as far as there is room. The numbers of outputs come first: all of these blocks wait for them, and they are short. */
  #ask(ahead: Ahead): void {
    const from = ahead.next;
    const further: Asked[] = [];
    while (ahead.next <= ahead.to && this.#hasRoom(ahead)) {
      const count = Math.min(this.#count, this.#blocksMax, ahead.to - ahead.next + 1);
      const asked: Asked = { from: ahead.next, count, bytes: null, failed: false, batch: Promise.resolve([]) };
      ahead.queue.push(asked);
      further.push(asked);
      ahead.next += count;
    }
    if (further.length === 0) return;
    const told = toldBy(ahead.node, from, ahead.next - 1, ahead.ended.signal);
    // whoever waits for it is told
    told.catch(() => undefined);
    for (const asked of further) {
      asked.batch = this.#batches(ahead, asked, told);
      asked.batch.catch(() => {
        asked.failed = true;
      });
    }
  }

  #hasRoom({ queue }: Ahead): boolean {
    const shares = queue.map(({ bytes, count }) =>
      bytes === null ? 1 : Math.max(bytes / BYTES_AIM, count / this.#blocksMax),
    );
    return shares.reduce((sum, share) => sum + Math.min(share, 1), 0) < AHEAD_MAX;
  }

  get #blocksMax(): number {
    return this.#options.blocksMax ?? BLOCKS_MAX;
  }

  /** Blocks in as many answers as their size requires; in one that stands alone and is still too large, what is read of each is null. */
  async #batches(ahead: Ahead, asked: Pick<Asked, 'from' | 'count' | 'bytes'>, told: Promise<Told>): Promise<Batch[]> {
    const { node, ended, receivers } = ahead;
    const { from, count } = asked;
    const began = performance.now();
    try {
      const body = await node.blocks(from, count, ended.signal);
      this.#adapt(count, body.length, performance.now() - began - node.wayMs);
      asked.bytes = body.length;
      if (!ended.signal.aborted) this.#ask(ahead);
      const { blocks, refused, newer } = await this.#options.reading.read(body, from, count, receivers);
      if (refused !== null) throw new Unavailable(`${node.name} refuses the blocks from ${from} on: ${refused}`, 1);
      if (newer) throw tooNew(newer.height, newer.version);
      return [{ blocks, firsts: firstsOf(blocks, from, await told) }];
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      this.#count = Math.max(1, count >> 1);
      if (count > 1) {
        const half = count >> 1;
        const lower = await this.#batches(ahead, { from, count: half, bytes: null }, told);
        const upper = await this.#batches(ahead, { from: from + half, count: count - half, bytes: null }, told);
        return [...lower, ...upper];
      }
      const [header] = await node.headers([from], ended.signal);
      if (!header) throw changed();
      return [{ blocks: [{ header, transactions: null, outputs: 0 }], firsts: null }];
    }
  }

  /**
   * How many blocks the next request is for. `ms`: without the time of the way, which is gone once for each request,
   * however long its answer is. The few blocks below a head take nothing from what longer answers allowed.
   */
  #adapt(count: number, bytes: number, ms: number): void {
    const inTime = count * Math.min(GROWTH_MAX, MS_AIM / Math.max(ms, 1));
    const most = ms > MS_AIM ? inTime : Math.max(inTime, this.#count);
    const ofSize = (count * BYTES_AIM) / Math.max(bytes, 1);
    this.#count = Math.max(1, Math.floor(Math.min(BLOCKS_MAX, most, ofSize)));
  }

  /** A block whose transactions are asked for in pages, without signatures. */
  async #asked({ node, receivers }: Ahead, header: LinkedHeader, signal: AbortSignal): Promise<StreamBlock> {
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

/** A block of an answer; null where the answer is not enough. `place`: among its blocks. */
function wholeOf({ receivers }: Ahead, { firsts }: Batch, place: number, block: ReadBlock): StreamBlock | null {
  const { header, transactions } = block;
  const isKnown = firsts !== null || transactions?.every((one) => one.place === null);
  if (!transactions || !isKnown) return null;
  const first = firsts?.[place] ?? 0;
  const whole = transactions.map(({ place: at, ...read }): StreamTransaction => {
    if (!at) return read;
    return { ...read, base: () => writeKept(first + at.before, at.prunableHash, at.pruned) };
  });
  return { header, transactions: whole, receivers };
}

/** The numbers of outputs; null where the node does not tell them. */
async function toldBy(node: MoneroNode, from: number, to: number, signal: AbortSignal): Promise<Told> {
  try {
    return { from, ...(await node.outputCounts(from, to, signal)) };
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Malformed) return null;
    throw error;
  }
}

/** How many outputs there are before each block. Throws `Unavailable` where the blocks have other numbers than the node told. */
function firstsOf(blocks: readonly ReadBlock[], from: number, told: Told): number[] | null {
  if (!told) return null;
  const firsts: number[] = [];
  const below = from - told.from;
  let before = told.counts.slice(0, below).reduce((sum, count) => sum + count, told.base);
  for (const [at, { transactions, outputs }] of blocks.entries()) {
    const count = told.counts[below + at];
    // those of a block that cannot be read are not counted here
    if (count === undefined || (transactions && outputs !== count)) throw changed();
    firsts.push(before);
    before += count;
  }
  return firsts;
}
