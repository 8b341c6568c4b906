/**
 * The subscribers of an invoice's changes, such as open payment pages. A notice carries no data: the subscriber reads
 * the invoice again.
 *
 * Invariant: notices come after the commit of the change. The number of subscribers is limited; others must poll.
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

  get size(): number {
    return this.#count;
  }

  /** Subscribes. Returns a function that ends the subscription, or null if there are too many. */
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

  /** To be called after the commit. Without subscribers it costs one lookup. */
  changed(invoiceId: number): void {
    for (const watcher of this.#subscribers.get(invoiceId) ?? []) watcher.changed();
  }

  close(): void {
    for (const watcher of [...this.#subscribers.values()].flatMap((watchers) => [...watchers])) watcher.ended();
  }
}
