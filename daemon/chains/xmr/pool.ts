/** The unconfirmed transactions of a node, each fetched and scanned once, and reported while in the pool. */
import type { Credit, SpendSeen } from '../../domain/chain.ts';
import type { Transaction } from '../../monero/transaction.ts';
import { slices } from '../slices.ts';
import { TRANSACTIONS_PER_REQUEST } from './answers.ts';
import type { MoneroNode } from './node.ts';
import type { Scanner } from './scan.ts';

/** The transactions that one look fetches. The next looks fetch the others. */
const FETCHED_PER_LOOK_MAX = 500;
type Inputs = Pick<Transaction, 'id' | 'keyImages' | 'fee'>;

type PoolView = {
  credits: Credit[];
  spends: SpendSeen[];
  /** Whether all transactions were scanned that the node shows. */
  isWhole: boolean;
  /** The number of those that it named and did not show when this look asked for them. */
  unshown: number;
};

export class Pool {
  readonly #scanner: Scanner;
  /** The credits of each transaction, mostly none, and its key images, which may become known as ours later. */
  readonly #known = new Map<string, { credits: readonly Credit[]; inputs: Inputs }>();
  /** Those that were named and not shown. They are asked for again where there is room, so that they keep no others waiting. */
  readonly #absent = new Set<string>();
  /** The node that named them. Another one may show them. */
  #node: MoneroNode | null = null;

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  /** `hashes`: what the node tells its pool to be. */
  async look(node: MoneroNode, hashes: string[], signal: AbortSignal): Promise<PoolView> {
    if (this.#node !== node) this.#absent.clear();
    this.#node = node;
    const present = new Set(hashes);
    for (const known of [this.#known, this.#absent])
      for (const txid of known.keys()) if (!present.has(txid)) known.delete(txid);
    const fresh = hashes.filter((txid) => !this.#known.has(txid) && !this.#absent.has(txid));
    const page = [...fresh, ...this.#absent].slice(0, FETCHED_PER_LOOK_MAX);
    const pause = slices();
    const shown = await node.transactions(page, signal);
    for (const [txid, { transaction, height }] of shown) {
      // It was mined meanwhile: the next step reports it with its block.
      if (height !== null) continue;
      const credits = await this.#scanner.find(transaction, null, pause);
      const { id, keyImages, fee } = transaction;
      this.#known.set(txid, { credits, inputs: { id, keyImages, fee } });
    }
    for (const txid of page) {
      this.#absent.delete(txid);
      // behind those that were asked for longer ago
      if (!this.#known.has(txid)) this.#absent.add(txid);
    }
    const paying = hashes.filter((txid) => (this.#known.get(txid)?.credits.length ?? 0) > 0);
    const now = await node.transactions(amongOthers(paying, hashes), signal);
    const credits = paying.flatMap((txid) => {
      const there = now.get(txid);
      if (!there || there.height !== null) return [];
      // The node saw another transaction that spends the same output, so only one of them can be mined.
      const replaceable = there.doubleSpendSeen;
      return (this.#known.get(txid)?.credits ?? []).map((credit) => ({ ...credit, replaceable }));
    });
    const spends = hashes.flatMap((txid) => {
      const known = this.#known.get(txid);
      return known ? this.#scanner.spends(known.inputs, null) : [];
    });
    return { credits, spends, isWhole: fresh.length <= FETCHED_PER_LOOK_MAX, unshown: page.length - shown.size };
  }
}

/** The pages of the pool with these transactions, so that the node does not learn which of a page pay us. */
function amongOthers(paying: readonly string[], hashes: readonly string[]): string[] {
  const wanted = new Set(paying);
  const sorted = hashes.toSorted();
  const asked: string[] = [];
  for (let at = 0; at < sorted.length; at += TRANSACTIONS_PER_REQUEST) {
    const page = sorted.slice(at, at + TRANSACTIONS_PER_REQUEST);
    if (page.some((txid) => wanted.has(txid))) asked.push(...page);
  }
  return asked;
}
