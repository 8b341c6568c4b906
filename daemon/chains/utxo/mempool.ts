/**
 * Our transactions in a node's mempool, kept up to date at little cost for the node. The ids are listed only when something
 * changed, at intervals of at least ten times the duration of the last listing. Only unknown transactions are fetched, a
 * bounded number each time. Of transactions that are not ours a short key is remembered.
 *
 * Invariant: a view is complete only when every transaction of one listing was read, and the tip that it is reported for
 * was the same before and after the listing.
 */
import type { Credit } from '../../domain/chain.ts';
import type { WatchList } from '../adapter.ts';
import { slices } from '../slices.ts';
import { ParseError, parseAnyTransaction } from './block.ts';
import { type Finder, findInTransaction, type MatchResult } from './match.ts';
import type { CoreNode, MempoolEntry, NodeState } from './node.ts';
import type { UtxoChain } from './params.ts';

export type MempoolLimits = {
  /** Remembered transactions, about 32 bytes each. */
  keysMax: number;
  /** Transactions waiting to be fetched. */
  waitingMax: number;
  fetchedPerLookMax: number;
  /** Transactions of ours. */
  matchedMax: number;
};

const LIMITS: MempoolLimits = { keysMax: 500_000, waitingMax: 20_000, fetchedPerLookMax: 2_000, matchedMax: 50_000 };

/** One request: an answer with the largest standard transactions (400,000 bytes) is parsed within 50 ms. */
const FETCH_BATCH = 25;
/**
 * A listing is repeated even without a sign of change, because a fee bump may not change the node's sums: after a
 * hundred times its cost, within these bounds.
 */
const LISTING_AGE_MS_MIN = 500;
const LISTING_AGE_MS_MAX = 10_000;
const LISTING_AGE_FACTOR = 100;
const LISTING_COST_FACTOR = 10;

/** `null` if nothing is known of the mempool at this tip. */
type MempoolView = { complete: boolean; found: MatchResult } | null;

type Listing = { hash: string; mark: string; atMs: number; holdsMs: number; truncated: boolean };

/**
 * 52 bits of the id. A collision (1 in 10^9 per payment) delays a payment's notice until it is mined. Anybody can make two transactions of
 * his own with the same, so that one of ours is told by its whole id.
 */
const keyOf = (txid: string): number => Number.parseInt(txid.slice(0, 13), 16);

export class Mempool {
  readonly #node: CoreNode;
  readonly #chain: UtxoChain;
  readonly #watch: WatchList;
  readonly #limits: MempoolLimits;
  readonly #warn: (message: string) => void;
  /** Those of the last listing that were looked at and are not ours. */
  #seen = new Set<number>();
  #matched = new Map<string, MatchResult>();
  /** Those of the last listing that were not looked at yet, in its order: parents before children. */
  #waiting: string[] = [];
  #listing: Listing | null = null;
  #dueAtMs = 0;

  constructor(options: {
    node: CoreNode;
    chain: UtxoChain;
    watch: WatchList;
    warn: (message: string) => void;
    limits?: Partial<MempoolLimits>;
  }) {
    this.#node = options.node;
    this.#chain = options.chain;
    this.#watch = options.watch;
    this.#warn = options.warn;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  /** Whether another look could find more than the last one, by the state of the node. */
  worthALook(state: NodeState): boolean {
    if (this.#listing?.hash === state.hash && this.#waiting.length > 0) return true;
    return !this.#isCurrent(state) && performance.now() >= this.#dueAtMs;
  }

  /** Whether transactions of the last listing are still to be fetched. */
  get isBehind(): boolean {
    return this.#waiting.length > 0;
  }

  /** Forgets everything, because the node or the watched scripts may have changed. */
  forget(): void {
    this.#seen.clear();
    this.#matched.clear();
    this.#waiting = [];
    this.#listing = null;
  }

  /** The unconfirmed credits and spends at a tip. `fresh`: outpoints just credited by blocks. Throws `Unavailable`. */
  async look(state: NodeState, fresh: ReadonlySet<string>, signal: AbortSignal): Promise<MempoolView> {
    const waits = this.#waiting.length > 0 && this.#listing?.hash === state.hash;
    if (!waits && !this.#isCurrent(state)) {
      if (performance.now() < this.#dueAtMs) return null;
      await this.#list(state, signal);
    }
    if (this.#waiting.length > 0) await this.#fetch(fresh, signal);
    if ((await this.#node.bestHash(signal)) !== state.hash) return null;
    const found: MatchResult = { credits: [], spends: [] };
    for (const { credits, spends } of this.#matched.values()) {
      for (const credit of credits) found.credits.push(credit);
      for (const spend of spends) found.spends.push(spend);
    }
    return { complete: state.mempoolLoaded && this.#waiting.length === 0 && !this.#listing?.truncated, found };
  }

  #isCurrent(state: NodeState): boolean {
    const listing = this.#listing;
    if (listing === null || listing.truncated || this.#waiting.length > 0) return false;
    if (listing.hash !== state.hash || listing.mark !== state.mempoolMark) return false;
    return performance.now() - listing.atMs < listing.holdsMs;
  }

  async #list(state: NodeState, signal: AbortSignal): Promise<void> {
    const { waitingMax, keysMax } = this.#limits;
    const began = performance.now();
    const seen = new Set<number>();
    const waiting: string[] = [];
    let truncated = false;
    const ours = new Set<string>();
    const take = (txid: string): void => {
      const key = keyOf(txid);
      if (this.#matched.has(txid)) ours.add(txid);
      else if (this.#seen.has(key)) seen.add(key);
      else if (waiting.length < waitingMax && seen.size + ours.size + waiting.length < keysMax) waiting.push(txid);
      else truncated = true;
    };
    await this.#node.eachMempoolTxid(take, signal);
    this.#seen = seen;
    this.#waiting = waiting;
    for (const txid of this.#matched.keys()) if (!ours.has(txid)) this.#matched.delete(txid);
    const now = performance.now();
    const holdsMs = Math.min(LISTING_AGE_MS_MAX, Math.max(LISTING_AGE_MS_MIN, (now - began) * LISTING_AGE_FACTOR));
    this.#listing = { hash: state.hash, mark: state.mempoolMark, atMs: began, holdsMs, truncated };
    this.#dueAtMs = now + (now - began) * LISTING_COST_FACTOR;
  }

  async #fetch(fresh: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const finder: Finder = {
      chain: this.#chain,
      watch: this.#watch,
      fresh: new Set(fresh),
      pause: slices(),
    };
    for (const { credits } of this.#matched.values()) for (const credit of credits) finder.fresh.add(credit.id);
    for (
      let fetched = 0;
      fetched < this.#limits.fetchedPerLookMax && this.#waiting.length > 0;
      fetched += FETCH_BATCH
    ) {
      const txids = this.#waiting.slice(0, FETCH_BATCH);
      const transactions = await this.#node.transactions(txids, signal);
      const ours: string[] = [];
      for (const [i, txid] of txids.entries()) {
        const bytes = transactions[i];
        // a transaction that vanished since the listing is no longer in the mempool
        if (bytes && (await this.#examine(finder, txid, bytes))) ours.push(txid);
      }
      const entries = await this.#node.mempoolEntries(ours, signal);
      this.#waiting.splice(0, txids.length);
      for (const [i, txid] of ours.entries()) this.#judge(txid, entries[i] ?? null);
    }
  }

  /** Looks at one transaction; returns whether it is ours. */
  async #examine(finder: Finder, txid: string, bytes: Buffer): Promise<boolean> {
    const found: MatchResult = { credits: [], spends: [] };
    try {
      const transaction = await parseAnyTransaction(bytes, this.#chain, finder.pause);
      await findInTransaction(finder, transaction, null, found);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      // an unknown form pays none of our addresses; it must not block the others
      this.#warn(`transaction ${txid} of the mempool is left out: ${error.message}`);
    }
    const isOurs = found.credits.length > 0 || found.spends.length > 0;
    if (isOurs && this.#matched.size >= this.#limits.matchedMax) {
      if (this.#listing) this.#listing.truncated = true;
      return false;
    }
    if (isOurs) this.#matched.set(txid, found);
    else this.#seen.add(keyOf(txid));
    return isOurs;
  }

  /** Records the node's data of a transaction of ours: whether it can be replaced, and which transactions spend it. */
  #judge(txid: string, entry: MempoolEntry | null): void {
    const found = this.#matched.get(txid);
    if (!found) return;
    const replaceable = this.#chain === 'BTC' || entry === null || isReplaceable(this.#chain, entry);
    found.credits = found.credits.map((credit): Credit => ({ ...credit, replaceable }));
    // a child that was looked at before its parent's coin was known is looked at again
    for (const child of entry?.spentby ?? []) {
      if (!this.#matched.has(child) && this.#seen.delete(keyOf(child))) this.#waiting.push(child);
    }
  }
}

/**
 * Whether a transaction may be replaced. On LTC, by Litecoin Core's answer (BIP-125, ancestors included). BCH has no
 * replacement, but an unconfirmed ancestor may be of a kind that other nodes do not relay. On BTC always.
 */
function isReplaceable(chain: UtxoChain, entry: MempoolEntry): boolean {
  if (chain === 'BCH') return entry.depends.length > 0;
  return entry['bip125-replaceable'] !== false;
}
