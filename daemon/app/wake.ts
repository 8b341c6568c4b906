/** Tells the workers of work that was made for them. */

/** The reactions of one worker, by the kind of work. */
type Listener = Partial<
  Record<'webhooks' | 'shopEvents' | 'business' | 'allWithdrawals', () => void> &
    Record<'pool', (account?: number) => void> &
    Record<'chain' | 'withdrawals', (key: string) => void>
>;

/** Called after a commit that made work for a worker. A worker's start looks for what waited until then. */
export class Wake {
  readonly #listeners: Listener[] = [];

  /** Adds a listener, which is called behind those that were added before. */
  on(listener: Listener): void {
    this.#listeners.push(listener);
  }

  webhooks(): void {
    for (const listener of this.#listeners) listener.webhooks?.();
  }

  shopEvents(): void {
    for (const listener of this.#listeners) listener.shopEvents?.();
  }

  /** An account has fewer addresses ready, or more to watch. `account`: its id; absent: it may be any. */
  pool(account?: number): void {
    for (const listener of this.#listeners) listener.pool?.(account);
  }

  /** A business was added or changed: it may need a chain, or rates, that none needed before. */
  business(): void {
    for (const listener of this.#listeners) listener.business?.();
  }

  /** A chain is to be asked without a wait. `key`: see `chainKey`. */
  chain(key: string): void {
    for (const listener of this.#listeners) listener.chain?.(key);
  }

  /** A chain's withdrawals have work. */
  withdrawals(key: string): void {
    for (const listener of this.#listeners) listener.withdrawals?.(key);
  }

  /** The withdrawals of every chain may have work. */
  allWithdrawals(): void {
    for (const listener of this.#listeners) listener.allWithdrawals?.();
  }
}
