/** Stores the rate history, so that a restart has the last good rates and their age. */
import { dropRateSnapshots, insertRateSnapshot, rateSnapshots } from './queries/effects.ts';
import type { Store } from './store.ts';

type Table = Record<string, bigint>;
type Snapshot = { at: number; usd: Table; fiat: Table };

const toText = (table: Table): Record<string, string> =>
  Object.fromEntries(Object.entries(table).map(([code, scaled]) => [code, scaled.toString()]));
const fromText = (table: Record<string, string>): Table =>
  Object.fromEntries(Object.entries(table).map(([code, scaled]) => [code, BigInt(scaled)]));

/** A history that keeps snapshots for `keptMs`. `failed` is called if one could not be written. */
export function rateHistory(store: Store, keptMs: number, now: () => number, failed: (error: unknown) => void) {
  return {
    load(): Snapshot[] {
      return store.all(rateSnapshots, { since: now() - keptMs, until: now() }).map((row) => {
        const body = JSON.parse(row.body) as { usd: Record<string, string>; fiat: Record<string, string> };
        return { at: row.at, usd: fromText(body.usd), fiat: fromText(body.fiat) };
      });
    },
    append(snapshot: Snapshot): void {
      const body = JSON.stringify({ usd: toText(snapshot.usd), fiat: toText(snapshot.fiat) });
      store
        .write((tx) => {
          tx.run(insertRateSnapshot, { at: snapshot.at, body });
          // snapshots of a clock that was ahead would outlive correct ones
          tx.run(dropRateSnapshots, { before: snapshot.at - keptMs, after: snapshot.at });
        })
        .catch(failed);
    },
  };
}
