/** The status of a script, by which a server tells that its history has changed. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HistoryEntry } from '../servers/answers.ts';

/** Entries of a history that are hashed in one turn of the event loop. */
const HASHED_PER_TURN_MAX = 2_000;

/** The status of a script with exactly these confirmed transactions; null if their order is unknown. */
export async function statusOfStored(heights: ReadonlyMap<string, number>): Promise<string | null> {
  const entries = [...heights].map(([txid, height]) => ({ txid, height })).sort((a, b) => a.height - b.height);
  return new Set(heights.values()).size === entries.length ? statusOf(entries) : null;
}

/** The status of a history by the protocol documents ("Status"); null for an empty history. */
export async function statusOf(entries: readonly HistoryEntry[]): Promise<string | null> {
  if (entries.length === 0) return null;
  const hash = createHash('sha256');
  for (let at = 0; at < entries.length; at += HASHED_PER_TURN_MAX) {
    if (at > 0) await nextTurn();
    const part = entries.slice(at, at + HASHED_PER_TURN_MAX);
    hash.update(part.map(({ txid, height }) => `${txid}:${height}:`).join(''));
  }
  return hash.digest('hex');
}
