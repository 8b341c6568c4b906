/** A simulated chain behind the interface of the real ones. It reports facts from its database. */
import type { ChainAdapter, WatchList } from '../chains/adapter.ts';
import type { Spending } from '../chains/spending.ts';
import type { ChainId } from '../domain/assets.ts';
import type { AccountKey, Branch, ChainUpdate, Checkpoint, DerivedAddress, SourceHealth } from '../domain/chain.ts';
import { Unavailable } from '../domain/errors.ts';
import { deriveAddress, scriptAt } from './addresses.ts';
import { ensureChain, tipOfChain } from './consensus.ts';
import type { SandboxStore } from './rows.ts';
import { isAccountChain } from './simulated-accounts.ts';
import { checkpointAt, updateSince } from './updates.ts';

const DOWN_RETRY_SECONDS = 5;

/** The error of a source that was switched off. */
export const sourceDown = (): Unavailable =>
  new Unavailable("The sandbox's source for this chain is switched off", DOWN_RETRY_SECONDS);

export class SandboxAdapter implements ChainAdapter {
  readonly network = 'sandbox';
  readonly chain: ChainId;
  readonly spending: Spending;
  readonly accountBased: boolean;
  readonly #store: SandboxStore;
  readonly #watch: WatchList;
  readonly #now: () => number;
  readonly #wakers: Set<() => void>;
  readonly #own = new Set<() => void>();
  #behind = false;

  constructor(options: {
    chain: ChainId;
    store: SandboxStore;
    watch: WatchList;
    now: () => number;
    /** Functions that are called after each change of the chain. */
    wakers: Set<() => void>;
    spending: Spending;
  }) {
    this.chain = options.chain;
    this.spending = options.spending;
    this.accountBased = isAccountChain(options.chain);
    this.#store = options.store;
    this.#watch = options.watch;
    this.#now = options.now;
    this.#wakers = options.wakers;
  }

  async deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress> {
    return deriveAddress(this.chain, account, branch, index);
  }

  isValidAddress(text: string): boolean {
    return scriptAt(this.chain, text) !== null;
  }

  /**
   * See the interface. A birthday before the first stored block begins at that block. Coins that were spent more than a
   * thousand blocks deep are not found again.
   */
  async begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint> {
    await this.#answering(signal);
    const tip = tipOfChain(this.#store, this.chain);
    if (birthday === null) return checkpointAt(this.#store, this.chain, tip.height);
    const before =
      this.#store.blockBefore(this.chain, birthday) ?? this.#store.blocksAbove(this.chain, -1, 1)[0] ?? tip;
    return checkpointAt(this.#store, this.chain, before.height);
  }

  async sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null> {
    await this.#answering(signal);
    const update = updateSince(this.#store, this.chain, since, this.#watch);
    this.#behind = update === null;
    return update;
  }

  onHint(wake: () => void): void {
    this.#wakers.add(wake);
    this.#own.add(wake);
  }

  health(): SourceHealth {
    const tip = this.#store.tip(this.chain);
    return {
      source: 'sandbox',
      tip: tip ? { height: tip.height, hash: tip.hash } : null,
      tipAgeMs: tip ? Math.max(0, this.#now() - tip.time) : null,
      lagging: this.#behind,
      error: this.#store.chain(this.chain)?.down ? sourceDown().message : null,
    };
  }

  async close(): Promise<void> {
    for (const wake of this.#own) this.#wakers.delete(wake);
    this.#own.clear();
  }

  /** Makes the chain on its first use. Throws `Unavailable` while its source is down. */
  async #answering(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let row = this.#store.chain(this.chain);
    row ??= await this.#store.write((tx) => ensureChain(tx, this.chain, this.#now()));
    if (row.down) throw sourceDown();
  }
}
