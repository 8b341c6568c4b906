/**
 * The unconfirmed transactions of a node: each is fetched and tried once, and what concerns us is told as long as it is
 * there.
 */
import type { Credit } from '../../domain/chain.ts';
import { slices } from '../slices.ts';
import type { MoneroNode } from './node.ts';
import type { Scanner } from './scan.ts';

/** Transactions fetched at one look; the others have their turn at the next. */
const FETCHED_PER_LOOK_MAX = 500;
/** Beyond these the oldest are forgotten, and read anew if they are still there. */
const KNOWN_MAX = 50_000;

export type PoolView = {
  /** What was in the pool, ascending. */
  hashes: string[];
  credits: Credit[];
  /** Whether all of it was tried. */
  isWhole: boolean;
};

export class Pool {
  readonly #scanner: Scanner;
  /** What each transaction pays us: nothing, mostly. */
  readonly #known = new Map<string, readonly Credit[]>();

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  async look(node: MoneroNode, signal: AbortSignal): Promise<PoolView> {
    const hashes = await node.pool(signal);
    const present = new Set(hashes);
    for (const txid of this.#known.keys()) if (!present.has(txid)) this.#known.delete(txid);
    const fresh = hashes.filter((txid) => !this.#known.has(txid));
    const page = fresh.slice(0, FETCHED_PER_LOOK_MAX);
    const pause = slices();
    for (const [txid, { transaction, height }] of await node.transactions(page, signal)) {
      // It was mined just now: the next step tells it with its block.
      if (height !== null || this.#known.size >= KNOWN_MAX) continue;
      this.#known.set(txid, await this.#scanner.find(transaction, null, pause));
    }
    const paying = hashes.filter((txid) => (this.#known.get(txid)?.length ?? 0) > 0);
    const now = await node.transactions(paying, signal);
    const credits = paying.flatMap((txid) => {
      const there = now.get(txid);
      if (!there || there.height !== null) return [];
      // Another transaction that spends the same was seen: whichever is mined, the other never is.
      const replaceable = there.doubleSpendSeen;
      return (this.#known.get(txid) ?? []).map((credit) => ({ ...credit, replaceable }));
    });
    return { hashes, credits, isWhole: fresh.length <= page.length };
  }
}
