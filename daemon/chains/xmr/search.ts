/**
 * Searches blocks that were read already for spends of our coins: a key image can become known after its block was read, when the
 * wallet is unlocked, or after a restore. Blocks are read in order, so that the node does not learn which key images are ours.
 */
import type { SpendSeen } from '../../domain/chain.ts';
import type { SpendSearch } from '../adapter.ts';
import { changed, idOf } from '../checkpoint.ts';
import type { MoneroNode } from './node.ts';
import type { Scanner } from './scan.ts';

/** Blocks read by one step. */
const BLOCKS_PER_STEP = 100;

export class BlockSearch implements SpendSearch {
  readonly #scanner: Scanner;
  #next: number | null = null;

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  get isRunning(): boolean {
    return this.#next !== null;
  }

  /** Searches from this height, or continues from a lower one. */
  begin(fromHeight: number): void {
    this.#next = Math.min(this.#next ?? fromHeight, Math.max(0, fromHeight));
  }

  /** The spends in the next blocks, up to the tip at `tipHeight`. */
  async step(node: MoneroNode, tipHeight: number, signal: AbortSignal): Promise<SpendSeen[]> {
    const from = this.#next;
    if (from === null) return [];
    const to = Math.min(tipHeight, from + BLOCKS_PER_STEP - 1);
    const heights = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
    const spends: SpendSeen[] = [];
    for (const header of await node.headers(heights, signal)) {
      if (!header) throw changed();
      const { txids } = await node.block(header.hash, signal);
      const where = { block: idOf(header), blockTime: header.timeMs };
      for (const { transaction } of (await node.transactions(txids, signal)).values()) {
        spends.push(...this.#scanner.spends(transaction, where));
      }
    }
    // another search may have begun at a lower height meanwhile
    if (this.#next === from) this.#next = to >= tipHeight ? null : to + 1;
    return spends;
  }
}
