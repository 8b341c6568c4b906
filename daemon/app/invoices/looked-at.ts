/**
 * The memory of the limits of client IDs: which invoices somebody looks at, and how many addresses were given beyond each caller's
 * first.
 *
 * Invariant: it is lost with a restart, after which every invoice counts as looked at just now.
 */

import { LRUCache } from 'lru-cache';
import { MS_PER_MINUTE } from '../../domain/time.ts';

const INVOICES_MAX = 50_000;
const CLIENTS_MAX = 1_000;
/** For a page in the background of a telephone: pages that nobody sees do not ask. */
const UNSEEN_MS = 15 * MS_PER_MINUTE;

export class HoldsMemory {
  readonly #now: () => number;
  readonly #startedAt: number;
  // by size, which takes room as it is needed: with `max` it takes that of all at once
  readonly #seen = new LRUCache<number, number>({ maxSize: INVOICES_MAX, sizeCalculation: () => 1 });
  readonly #further = new LRUCache<number, { minute: number; count: number }>({ max: CLIENTS_MAX });

  /** `now`: ms since 1970. */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** Somebody reads this invoice. */
  look(invoiceId: number): void {
    this.#seen.set(invoiceId, this.#now());
  }

  isLookedAt(invoiceId: number): boolean {
    return this.#now() - (this.#seen.get(invoiceId) ?? this.#startedAt) < UNSEEN_MS;
  }

  /** Before which an invoice must have been requested that nobody needs to look at any more, ms since 1970. */
  unseenSince(): number {
    return this.#now() - UNSEEN_MS;
  }

  /** How many addresses a client ID gave out in this minute to callers that held one already. */
  further(clientId: number): number {
    const minute = Math.floor(this.#now() / MS_PER_MINUTE);
    const counted = this.#further.get(clientId);
    return counted?.minute === minute ? counted.count : 0;
  }

  countFurther(clientId: number): void {
    const count = this.further(clientId) + 1;
    this.#further.set(clientId, { minute: Math.floor(this.#now() / MS_PER_MINUTE), count });
  }
}
