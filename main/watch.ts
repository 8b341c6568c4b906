/** Whether this computer compares the addresses that a server gives to payers, as far as it can tell. */
import type { ServerState } from '../daemon/operator/desktop.ts';

/** A look comes every 10 minutes or so. */
const LATE_MS = 2 * 3_600_000;
const HELD_MS = 30 * 60_000;
/** The process that signs is started again within a minute. */
const ENDED_MS = 5 * 60_000;
/** A longer time between two ticks is sleep, in which nobody could look. */
const TICK_MS_MAX = 15_000;

type Seen = {
  /** By a clock that only goes forward, and by that of the day; milliseconds. */
  ticks: number;
  now: number;
  isConnected: boolean;
  hasWallet: boolean;
  signs: boolean;
  /** Of the memory of the looks, ISO 8601. */
  at: string | null;
  heldSince: string | null;
};

export class Watch {
  #ticks: number | null = null;
  #at: string | null = null;
  #unlookedMs = 0;
  #endedMs = 0;
  #held: string | null = null;

  /** To be called every few seconds. */
  see({ ticks, now, isConnected, hasWallet, signs, at, heldSince }: Seen): void {
    const passed = Math.min(ticks - (this.#ticks ?? ticks), TICK_MS_MAX);
    this.#ticks = ticks;
    // a server that is away is told as that; one that ends each connection soon is connected for long all the same
    if (!hasWallet || at !== this.#at) this.#unlookedMs = 0;
    else if (isConnected) this.#unlookedMs += passed;
    this.#at = at;
    this.#endedMs = hasWallet && !signs ? this.#endedMs + passed : 0;
    this.#held = heldSince !== null && now - Date.parse(heldSince) >= HELD_MS ? heldSince : null;
  }

  /** Null: it does. */
  get unwatched(): ServerState['unwatched'] {
    if (this.#held !== null) return { why: 'held', since: this.#held };
    if (this.#endedMs >= ENDED_MS) return { why: 'ended', since: this.#at };
    return this.#unlookedMs >= LATE_MS ? { why: 'late', since: this.#at } : null;
  }
}
