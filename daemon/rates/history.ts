/**
 * Past rates, for credits first seen in the past and for a restart. About every five minutes a snapshot records the
 * rates that were agreed on since the one before.
 *
 * Invariant: times ascend; there are at most SNAPSHOTS_MAX snapshots, none more than HISTORY_KEPT_MS older than the
 * newest. A rate is only in the snapshot of the round that found it, so that a snapshot's time is the rate's age.
 */
import { MS_PER_HOUR } from '../domain/time.ts';

/** `at`: milliseconds since 1970. `usd`: 1e-8 dollars per coin by price symbol. `fiat`: 1e-8 units per dollar by code. */
export type Snapshot = { at: number; usd: Record<string, bigint>; fiat: Record<string, bigint> };

/**
 * Stores snapshots beyond the life of the process. Both calls are synchronous and may throw; `load` may return any
 * order. An implementation may drop snapshots older than HISTORY_KEPT_MS.
 */
export interface RateHistory {
  load(): Snapshot[];
  append(snapshot: Snapshot): void;
}

export type RateTable = 'usd' | 'fiat';

/** As long as a fiat rate is valid; a coin's rate is valid for 15 minutes. */
export const HISTORY_KEPT_MS = 72 * MS_PER_HOUR;
const SNAPSHOTS_MAX = 1_000;

export class RateTimeline {
  #snapshots: Snapshot[];

  constructor(snapshots: readonly Snapshot[]) {
    this.#snapshots = snapshots.toSorted((a, b) => a.at - b.at);
    this.#trim();
  }

  /** The time of the newest snapshot; null if there is none. */
  get newestAt(): number | null {
    return this.#snapshots.at(-1)?.at ?? null;
  }

  /** Appends a snapshot. If it is older than the newest (the clock was set back), the later ones are dropped. */
  add(snapshot: Snapshot): void {
    this.#snapshots = this.#snapshots.filter((kept) => kept.at <= snapshot.at);
    this.#snapshots.push(snapshot);
    this.#trim();
  }

  /** The newest rate found at or before `time` and at most `ageMs` before it, or null. */
  find(table: RateTable, code: string, time: number, ageMs: number): { scaled: bigint; at: number } | null {
    for (let i = this.#snapshots.length - 1; i >= 0; i--) {
      const snapshot = this.#snapshots[i] as Snapshot;
      if (snapshot.at > time) continue;
      if (time - snapshot.at > ageMs) return null;
      const scaled = snapshot[table][code];
      if (scaled !== undefined) return { scaled, at: snapshot.at };
    }
    return null;
  }

  /** The rate found nearest to `time`, at most `withinMs` away from it on either side, or null. Of two, the earlier. */
  nearest(table: RateTable, code: string, time: number, withinMs: number): { scaled: bigint; at: number } | null {
    let best: { scaled: bigint; at: number } | null = null;
    for (const { at, [table]: rates } of this.#snapshots) {
      const scaled = rates[code];
      const isNear = Math.abs(at - time) <= withinMs;
      if (scaled === undefined || !isNear) continue;
      if (best === null || Math.abs(at - time) < Math.abs(best.at - time)) best = { scaled, at };
    }
    return best;
  }

  #trim(): void {
    const oldest = (this.newestAt ?? 0) - HISTORY_KEPT_MS;
    this.#snapshots = this.#snapshots.filter((kept) => kept.at >= oldest).slice(-SNAPSHOTS_MAX);
  }
}
