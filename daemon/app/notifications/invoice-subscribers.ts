/**
 * Who waits for news of an invoice. A notice carries no data: whoever gets one reads the invoice again.
 *
 * Invariant: told after the commit that changed it, never before; and the number of those who wait is bounded, the rest
 * has to ask.
 */

export type Watcher = {
  /** Something about the invoice may be different now. */
  changed(): void;
  /** The service is stopping. */
  ended(): void;
};

export const WATCHERS_MAX = 4_000;

export class Live {
  readonly #watchers = new Map<number, Set<Watcher>>();
  #count = 0;

  /** How many wait. */
  get size(): number {
    return this.#count;
  }

  /** Begins to tell; returns how to end it, or null when too many wait already. */
  watch(invoiceId: number, watcher: Watcher): (() => void) | null {
    if (this.#count >= WATCHERS_MAX) return null;
    const watchers = this.#watchers.get(invoiceId) ?? new Set();
    this.#watchers.set(invoiceId, watchers.add(watcher));
    this.#count++;
    return () => {
      if (!watchers.delete(watcher)) return;
      this.#count--;
      if (watchers.size === 0) this.#watchers.delete(invoiceId);
    };
  }

  /** To be called after the commit. An invoice that nobody waits for costs a look into a table. */
  changed(invoiceId: number): void {
    for (const watcher of this.#watchers.get(invoiceId) ?? []) watcher.changed();
  }

  /** Ends everybody's wait. */
  close(): void {
    for (const watcher of [...this.#watchers.values()].flatMap((watchers) => [...watchers])) watcher.ended();
  }
}
