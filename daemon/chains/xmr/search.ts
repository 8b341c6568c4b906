/**
 * Searches blocks that were read already for spends of our coins: a key image can become known after its block was read, when the
 * wallet is unlocked, or after a restore. Blocks are read in order, so that the node does not learn which key images are ours.
 *
 * Where another operator's node is configured, it must have the same blocks. Otherwise a single node could hide a spend by blocks
 * of its own, because nothing else compares them. A search that finds no agreement is not counted, and is made again.
 */
import type { Searched, SpendSeen } from '../../domain/chain.ts';
import { changed, idOf, type LinkedHeader } from '../checkpoint.ts';
import type { Endpoints } from '../endpoints.ts';
import { type Odd, wholeBlocks } from './blocks.ts';
import type { MoneroNode } from './node.ts';
import type { Scanner } from './scan.ts';

/** Blocks read by one step. */
const BLOCKS_PER_STEP = 100;
/** After a step without agreement. */
const AGAIN_MS = 30_000;

/** `from`: the first block. `newest`: when the newest key image was learned that is searched for. `tip`: the last block. */
type Wanted = { from: number; newest: number; tip: number };
type Found = { spends: SpendSeen[]; searched: Searched };
type Nodes = Pick<Endpoints<MoneroNode>, 'other' | 'operators'>;

export class Search {
  readonly #scanner: Scanner;
  readonly #nodes: Nodes;
  readonly #alert: (server: string, message: string) => void;
  readonly #onOdd: (odd: Odd) => void;
  #notBefore = 0;

  /** `alert`: called when two nodes have different blocks. `onOdd`: see `wholeBlocks`. */
  constructor(
    scanner: Scanner,
    nodes: Nodes,
    alert: (server: string, message: string) => void,
    onOdd: (odd: Odd) => void,
  ) {
    this.#scanner = scanner;
    this.#nodes = nodes;
    this.#alert = alert;
    this.#onOdd = onOdd;
  }

  /** Whether a step may be made now. */
  isDue(): boolean {
    return performance.now() >= this.#notBefore;
  }

  /**
   * One step; null if no other node vouches for its blocks. The store notes the step's end together with the spends, so that a step
   * that was not stored is made again.
   */
  async step(node: MoneroNode, { from, newest, tip }: Wanted, signal: AbortSignal): Promise<Found | null> {
    const to = Math.min(tip, from + BLOCKS_PER_STEP - 1);
    const heights = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
    const headers = await node.headers(heights, signal);
    if (!(await this.#areAgreed(node, headers, heights, signal))) {
      this.#notBefore = performance.now() + AGAIN_MS;
      return null;
    }
    const spends: SpendSeen[] = [];
    const there = headers.filter((header) => header !== null);
    if (there.length < headers.length) throw changed();
    for await (const { header, transactions } of wholeBlocks(node, there, signal, this.#onOdd)) {
      const where = { block: idOf(header), blockTime: header.timeMs };
      for (const { transaction } of transactions) spends.push(...this.#scanner.spends(transaction, where));
    }
    return { spends, searched: { to, newest, isWhole: to >= tip } };
  }

  async #areAgreed(
    node: MoneroNode,
    headers: readonly (LinkedHeader | null)[],
    heights: readonly number[],
    signal: AbortSignal,
  ): Promise<boolean> {
    if (this.#nodes.operators < 2 || heights.length === 0) return true;
    const isSame = async (other: MoneroNode): Promise<boolean> => {
      const theirs = await other.headers(heights, signal);
      return theirs.every((header, at) => header !== null && header.hash === headers[at]?.hash);
    };
    const said = await this.#nodes.other(node, isSame, signal);
    if (said === false) this.#alert(node.name, `it has other blocks than another node, from height ${heights[0]} on`);
    return said === true;
  }
}
