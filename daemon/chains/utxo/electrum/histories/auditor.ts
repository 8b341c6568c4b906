/**
 * Has a second server checked against the one that is asked. A proof shows that what a server tells is true, but not that
 * it tells everything: so what is watched is subscribed on another server too (`watching.ts`), and where the two go on to
 * differ about what is in blocks, whoever keeps something back that the other can prove is caught. It also makes the other
 * one ready to be asked at once when the first one fails.
 *
 * Differences about what is unconfirmed prove nothing: mempools differ.
 */

import type { HeaderSync } from '../headers/sync.ts';
import type { HistoryEntry } from '../servers/answers.ts';
import { isOfServer, ServerRefusal } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import type { HistoryReader } from './reader.ts';
import type { Script, Scripts } from './scripts.ts';

const LOOK_MS = 1_000;
/** How long two servers may differ about a script: what one has just learned, the other soon will. */
const DIFFER_MS = 3_000;
const COMPARED_PER_LOOK_MAX = 20;

export class Auditor {
  readonly #set: ServerSet;
  readonly #scripts: Scripts;
  readonly #headerSync: HeaderSync;
  readonly #reader: HistoryReader;
  readonly #wake: () => void;
  readonly #timer: NodeJS.Timeout;
  /** Since when the two have differed, by script hash, and in which statuses. Only of scripts that are watched. */
  readonly #differing = new Map<string, { sinceMs: number; statuses: string; settled: boolean }>();
  #looking: Promise<void> | null = null;

  constructor(parts: {
    set: ServerSet;
    scripts: Scripts;
    headerSync: HeaderSync;
    reader: HistoryReader;
    wake: () => void;
    bug: (error: unknown) => void;
  }) {
    this.#set = parts.set;
    this.#scripts = parts.scripts;
    this.#headerSync = parts.headerSync;
    this.#reader = parts.reader;
    this.#wake = parts.wake;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look()
        .catch((error: unknown) => {
          if (!isOfServer(error)) parts.bug(error);
        })
        .finally(() => {
          this.#looking = null;
        });
    }, LOOK_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { primary } = this.#set;
    const other = primary && this.#set.others(primary).find((server) => this.#headerSync.behind(server) === 0);
    if (!primary || !other) return;
    // Two servers at different tips differ by right.
    if (!primary.tip || primary.tip.hash !== other.tip?.hash) return;
    const due = this.#differences(primary, other);
    for (const script of due) {
      try {
        await this.#compare(primary, other, script);
      } catch (error) {
        // One history that a server refuses keeps nobody from the others; it is looked at again once either has news.
        if (!(error instanceof ServerRefusal)) throw error;
        this.#settle(script);
      }
    }
  }

  /** Scripts about which the two have differed for a while. */
  #differences(primary: Server, other: Server): Script[] {
    const now = performance.now();
    const due: Script[] = [];
    for (const script of this.#scripts.all()) {
      const [one, two] = [primary.statuses.get(script.hash), other.statuses.get(script.hash)];
      if (one === two || one === undefined || two === undefined) {
        this.#differing.delete(script.hash);
        continue;
      }
      const statuses = `${one} ${two}`;
      const known = this.#differing.get(script.hash);
      if (known?.statuses !== statuses) this.#differing.set(script.hash, { sinceMs: now, statuses, settled: false });
      else if (!known.settled && now - known.sinceMs > DIFFER_MS && due.length < COMPARED_PER_LOOK_MAX)
        due.push(script);
    }
    if (this.#differing.size > this.#scripts.size) this.#differing.clear();
    return due;
  }

  /** Finds out which of the two keeps something back. */
  async #compare(primary: Server, other: Server, script: Script): Promise<void> {
    const tip = primary.tip;
    const [one, two] = await Promise.all([primary.history(script.hash), other.history(script.hash)]);
    if (!tip || primary.tip?.hash !== tip.hash || other.tip?.hash !== tip.hash) return;
    const isInBlock = ({ height }: HistoryEntry): boolean => height > 0 && height <= tip.height;
    for (const [told, by, silent, lacking] of [
      [two, other, primary, one],
      [one, primary, other, two],
    ] as const) {
      const heights = new Map(lacking.map(({ txid, height }) => [txid, height]));
      for (const entry of told.filter(isInBlock)) {
        if (heights.get(entry.txid) === entry.height) continue;
        if (!(await this.#reader.proves(by, entry))) continue;
        throw silent.caught(`it keeps back that transaction ${entry.txid} is in block ${entry.height}`);
      }
    }
    // Neither keeps anything back. But one may have told nothing: a server may drop a subscription without a word.
    const [status] = await Promise.all([primary.subscribe(script.hash), other.subscribe(script.hash)]);
    this.#settle(script);
    if (status === script.status) return;
    this.#scripts.dirty.add(script);
    this.#wake();
  }

  #settle({ hash }: Script): void {
    const known = this.#differing.get(hash);
    if (known) known.settled = true;
  }
}
