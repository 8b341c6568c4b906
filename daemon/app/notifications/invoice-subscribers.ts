/**
 * Who waits for news of an invoice. A notice carries no data: whoever gets one reads the invoice again.
 *
 * Invariant: told after the commit that changed it, never before; and the number of those who wait is bounded, the rest
 * has to ask.
 */

export type InvoiceSubscriber = {
  /** Something about the invoice may be different now. */
  changed(): void;
  /** The service is stopping. */
  ended(): void;
};

export const SUBSCRIBERS_MAX = 4_000;

export class InvoiceSubscribers {
  readonly #subscribers = new Map<number, Set<InvoiceSubscriber>>();
  #count = 0;

  /** How many wait. */
  get size(): number {
    return this.#count;
  }

  /** Begins to tell; returns how to end it, or null when too many wait already. */
  watch(invoiceId: number, watcher: InvoiceSubscriber): (() => void) | null {
    if (this.#count >= SUBSCRIBERS_MAX) return null;
    const watchers = this.#subscribers.get(invoiceId) ?? new Set();
    this.#subscribers.set(invoiceId, watchers.add(watcher));
    this.#count++;
    return () => {
      if (!watchers.delete(watcher)) return;
      this.#count--;
      if (watchers.size === 0) this.#subscribers.delete(invoiceId);
    };
  }

  /** To be called after the commit. An invoice that nobody waits for costs a look into a table. */
  changed(invoiceId: number): void {
    for (const watcher of this.#subscribers.get(invoiceId) ?? []) watcher.changed();
  }

  /** Ends everybody's wait. */
  close(): void {
    for (const watcher of [...this.#subscribers.values()].flatMap((watchers) => [...watchers])) watcher.ended();
  }
}
