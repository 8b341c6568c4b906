/**
 * Compares the other connected servers with the primary. A proof shows that a server's statement is true, but not that it is
 * complete. So watched scripts are subscribed on other servers too (`watching.ts`). When two have not agreed about the blocks of a
 * script for a while, whatever they announced meanwhile, their histories are compared. The server that omits a transaction that
 * the other proves is dropped, and so is one that goes on naming a transaction that has nothing to do with the script. Another
 * server can also replace the primary at once.
 *
 * Differences about unconfirmed transactions prove nothing, because mempools differ.
 */
import { inParallel, repeatedly } from '../../../../kit/async.ts';
import type { HeaderSync } from '../headers/sync.ts';
import type { Listener } from '../listener.ts';
import type { HistoryEntry } from '../servers/answers.ts';
import { isOfServer, isPassing, ServerRefusal, unlessOfServer } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import { type HistoryReader, WITHHELD } from './reader.ts';
import type { Script, Scripts } from './scripts.ts';
import { statusOf } from './status.ts';

const LOOK_MS = 1_000;
/** How long two servers may differ about a script, because news takes time from one to the other. */
const DIFFER_MS = 3_000;
/** Scripts that are compared in one look, those of the longest difference first. */
const COMPARED_PER_LOOK_MAX = 60;
const COMPARED_AT_ONCE = 6;
/** Entries of one history that are checked in one comparison: the first true one decides. */
const CHECKED_PER_HISTORY_MAX = 50;
/** How long a server may name a transaction where it does not belong, for example during a reorganisation. */
const STRAY_MS_MAX = 10_000;

/**
 * Two different announcements about a script. `sinceMs`: of their last agreement. `compared`: the statuses
 * with which a comparison of their histories found no difference in blocks; null: none. `straySinceMs`: 0, or since when each
 * comparison found a transaction that does not belong there.
 */
type Difference = { sinceMs: number; statuses: string; compared: string | null; straySinceMs: number };

/** By script hash, only of watched scripts. */
type Differences = Map<string, Difference>;

export class Auditor {
  readonly #set: ServerSet;
  readonly #scripts: Scripts;
  readonly #headerSync: HeaderSync;
  readonly #reader: HistoryReader;
  readonly #listener: Listener;
  /** By the other server, in comparison with one primary. */
  readonly #differing = new WeakMap<Server, WeakMap<Server, Differences>>();
  readonly close: () => void;

  constructor(parts: {
    set: ServerSet;
    scripts: Scripts;
    headerSync: HeaderSync;
    reader: HistoryReader;
    listener: Listener;
  }) {
    this.#set = parts.set;
    this.#scripts = parts.scripts;
    this.#headerSync = parts.headerSync;
    this.#reader = parts.reader;
    this.#listener = parts.listener;
    this.close = repeatedly(LOOK_MS, () => this.#look(), unlessOfServer(parts.listener));
  }

  async #look(): Promise<void> {
    const { primary } = this.#set;
    if (!primary) return;
    // a server that ends meanwhile does not end the comparison with the others
    const looks = this.#set.others(primary).map((other) => this.#lookAt(primary, other));
    const ends = await Promise.allSettled(looks);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #lookAt(primary: Server, other: Server): Promise<void> {
    // servers at different tips may differ
    if (!primary.tip || primary.tip.hash !== other.tip?.hash || this.#headerSync.behind(other) !== 0) return;
    const due = this.#due(primary, other);
    await inParallel(due, COMPARED_AT_ONCE, async ([script, difference]) => {
      try {
        await this.#compare(primary, other, script, difference);
      } catch (error) {
        // A refused history does not stop the comparison of the others. It is compared again when either server has news.
        if (!(error instanceof ServerRefusal)) throw error;
        if (isPassing(error)) return;
        difference.compared = difference.statuses;
      }
    });
  }

  /** Compares the histories of one script at once. */
  async compare(script: Script): Promise<void> {
    const { primary } = this.#set;
    if (!primary) return;
    for (const other of this.#set.others(primary)) {
      if (!primary.tip || primary.tip.hash !== other.tip?.hash) continue;
      const difference = { sinceMs: performance.now(), statuses: '', compared: null, straySinceMs: 0 };
      try {
        await this.#compare(primary, other, script, difference);
      } catch (error) {
        if (!isOfServer(error)) throw error;
      }
    }
  }

  #differencesOf(primary: Server, other: Server): Differences {
    const known = this.#differing.get(other) ?? new WeakMap<Server, Differences>();
    this.#differing.set(other, known);
    const differences = known.get(primary) ?? new Map<string, Difference>();
    known.set(primary, differences);
    if (differences.size > this.#scripts.size) differences.clear();
    return differences;
  }

  /** Scripts about which two servers have not agreed for a while. */
  #due(primary: Server, other: Server): [Script, Difference][] {
    const now = performance.now();
    const differences = this.#differencesOf(primary, other);
    const due: [Script, Difference][] = [];
    for (const script of this.#scripts.all()) {
      const [one, two] = [primary.statuses.get(script.hash), other.statuses.get(script.hash)];
      if (one === two || one === undefined || two === undefined) {
        differences.delete(script.hash);
        continue;
      }
      const statuses = `${one} ${two}`;
      const known = differences.get(script.hash);
      if (!known) {
        differences.set(script.hash, { sinceMs: now, statuses, compared: null, straySinceMs: 0 });
        continue;
      }
      known.statuses = statuses;
      // they have agreed up to now, about all blocks
      if (known.compared === statuses) known.sinceMs = now;
      else if (now - known.sinceMs > DIFFER_MS) due.push([script, known]);
    }
    return due.sort(([, a], [, b]) => a.sinceMs - b.sinceMs).slice(0, COMPARED_PER_LOOK_MAX);
  }

  /** Finds out which of two servers omits a transaction. */
  async #compare(primary: Server, other: Server, script: Script, difference: Difference): Promise<void> {
    const { statuses } = difference;
    const { tip } = primary;
    const [one, two] = await Promise.all([primary.history(script.hash), other.history(script.hash)]);
    // one may have answered before the newest block, and the other after it
    if (!tip || primary.tip?.hash !== tip.hash || other.tip?.hash !== tip.hash) return;
    if (this.#reader.hasHistory(script, tip)) {
      if (one.length === 0) await this.#needAnnounced(primary, script);
      if (two.length === 0) await this.#needAnnounced(other, script);
    }
    const strays = [
      await this.#judge(script, tip.height, { told: two, by: other, silent: primary, lacking: one }),
      await this.#judge(script, tip.height, { told: one, by: primary, silent: other, lacking: two }),
    ].flatMap((stray) => stray ?? []);
    if (strays.length > 0) return this.#strayed(difference, strays);
    difference.straySinceMs = 0;
    // Neither server omits anything, but one may have dropped its subscription without notice.
    const [status] = await Promise.all([primary.subscribe(script.hash), other.subscribe(script.hash)]);
    const mined = one.find(({ height }) => height > 0 && height <= tip.height);
    if (status === null && mined && primary.tip?.hash === tip.hash)
      throw primary.caught(`it announces no history of an address, and names transaction ${mined.txid} in it`);
    difference.sinceMs = performance.now();
    difference.compared = statuses;
    // what was announced falsely has to be read as well
    if (status === script.status && status === (await statusOf(one))) return;
    this.#scripts.dirty.add(script);
    this.#listener.wake();
  }

  /** Throws `ServerRefusal` where a server announces no history either: it refuses it, and another one is asked (`reader.ts`). */
  async #needAnnounced(server: Server, { hash }: Script): Promise<void> {
    if ((await server.subscribe(hash)) === null) throw new ServerRefusal(0, WITHHELD);
  }

  /** Drops the silent server if the other one proves what it lacks. Returns what does not belong there, if anything. */
  async #judge(script: Script, height: number, { told, by, silent, lacking }: Statement): Promise<Stray | null> {
    const heights = new Map(lacking.map((entry) => [entry.txid, entry.height]));
    const alone = told.filter(
      (entry) => entry.height > 0 && entry.height <= height && heights.get(entry.txid) !== entry.height,
    );
    let stray: Stray | null = null;
    for (const entry of alone.slice(0, CHECKED_PER_HISTORY_MAX)) {
      const shown = await this.#reader.shows(by, script, entry, told);
      if (shown === 'stray') stray = { by, entry };
      if (shown === 'shown')
        throw silent.caught(`it keeps back that transaction ${entry.txid} is in block ${entry.height}`);
    }
    return stray;
  }

  #strayed(difference: Difference, strays: readonly Stray[]): void {
    const now = performance.now();
    difference.straySinceMs ||= now;
    if (now - difference.straySinceMs < STRAY_MS_MAX) return;
    difference.straySinceMs = 0;
    for (const { by, entry } of strays) {
      by.caught(
        `it names transaction ${entry.txid} (height ${entry.height}), which has nothing to do with the address`,
      );
    }
  }
}

type Stray = { by: Server; entry: HistoryEntry };

/** The histories of one script by two servers, of which `silent` may lack something. */
type Statement = { told: readonly HistoryEntry[]; by: Server; silent: Server; lacking: readonly HistoryEntry[] };
