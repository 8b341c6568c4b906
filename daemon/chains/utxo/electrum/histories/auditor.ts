/**
 * Compares a second server with the primary. A proof shows that a server's statement is true, but not that it is complete.
 * So watched scripts are subscribed on a second server too (`watching.ts`). When both differ about blocks for a while, the
 * server that omits a proven transaction is dropped. The second server can also replace the primary at once.
 *
 * Differences about unconfirmed transactions prove nothing, because mempools differ.
 */
import { repeatedly } from '../../../../kit/async.ts';
import type { HeaderSync } from '../headers/sync.ts';
import type { HistoryEntry } from '../servers/answers.ts';
import { ServerRefusal, unlessOfServer } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import type { HistoryReader } from './reader.ts';
import type { Script, Scripts } from './scripts.ts';

const LOOK_MS = 1_000;
/** How long two servers may differ about a script, because news takes time from one to the other. */
const DIFFER_MS = 3_000;
const COMPARED_PER_LOOK_MAX = 20;

export class Auditor {
  readonly #set: ServerSet;
  readonly #scripts: Scripts;
  readonly #headerSync: HeaderSync;
  readonly #reader: HistoryReader;
  readonly #wake: () => void;
  /** Since when the two have differed, by script hash, and in which statuses. Only of scripts that are watched. */
  readonly #differing = new Map<string, { sinceMs: number; statuses: string; settled: boolean }>();
  readonly close: () => void;

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
    this.close = repeatedly(LOOK_MS, () => this.#look(), unlessOfServer(parts.bug));
  }

  async #look(): Promise<void> {
    const { primary } = this.#set;
    const other = primary && this.#set.others(primary).find((server) => this.#headerSync.behind(server) === 0);
    if (!primary || !other) return;
    // Servers at different tips may differ.
    if (!primary.tip || primary.tip.hash !== other.tip?.hash) return;
    const due = this.#differences(primary, other);
    for (const script of due) {
      try {
        await this.#compare(primary, other, script);
      } catch (error) {
        // A refused history does not stop the comparison of the others. It is compared again when either server has news.
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

  /** Finds out which of the two omits a transaction. */
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
    // Neither server omits anything, but one may have dropped its subscription without notice.
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
