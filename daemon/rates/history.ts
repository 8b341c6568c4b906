/**
 * What the rates were: a snapshot about every five minutes of the rates newly agreed on since the one before, for
 * credits that were first seen in the past and for a restart.
 *
 * Invariant: ascending in time, never more than SNAPSHOTS_MAX, nothing older than HISTORY_KEPT_MS before the newest. A
 * rate stands in the snapshot of the round that found it and in no later one, so a snapshot's time is its age.
 */

/** `at`: milliseconds since 1970. `usd`: 1e-8 dollars per coin by price symbol. `fiat`: 1e-8 units per dollar by code. */
export type Snapshot = { at: number; usd: Record<string, bigint>; fiat: Record<string, bigint> };

/**
 * Where snapshots outlive the process. Both calls are synchronous and may throw; `load` gives them in any order. The
 * implementation may drop what is older than HISTORY_KEPT_MS.
 */
export interface RateHistory {
  load(): Snapshot[];
  append(snapshot: Snapshot): void;
}

export type RateTable = 'usd' | 'fiat';

/** As long as a fiat rate holds, which covers the 15 minutes of a coin's many times. */
export const HISTORY_KEPT_MS = 72 * 3_600_000;
export const SNAPSHOTS_MAX = 1_000;

export class RateTimeline {
  #snapshots: Snapshot[];

  constructor(snapshots: readonly Snapshot[]) {
    this.#snapshots = snapshots.toSorted((a, b) => a.at - b.at);
    this.#trim();
  }

  /** The time of the newest snapshot, null when there is none. */
  get newestAt(): number | null {
    return this.#snapshots.at(-1)?.at ?? null;
  }

  /** Appends one; an older time than the newest's (a clock set back) begins anew from there. */
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

  #trim(): void {
    const oldest = (this.newestAt ?? 0) - HISTORY_KEPT_MS;
    this.#snapshots = this.#snapshots.filter((kept) => kept.at >= oldest).slice(-SNAPSHOTS_MAX);
  }
}
