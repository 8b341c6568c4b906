/**
 * Polls the scripts that no server watches, so that late money is found at every address ever used. All scripts are
 * polled at least once a week; listed scripts beyond the watched ones continuously; a rescan polls all of them at once.
 * A script with news is watched from then on.
 *
 * Invariant: the position in the round is on disk, so that a restart continues it.
 */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { MS_PER_DAY } from '../../../../domain/time.ts';
import { highestId, type ListedScript, type ScriptList } from '../../../adapter.ts';
import type { Listener } from '../listener.ts';
import type { HistoryEntry } from '../servers/answers.ts';
import { isOfServer, ServerRefusal, unlessOfServer } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import { spread } from '../servers/spread.ts';
import { Progress } from './progress.ts';
import { type Scripts, scriptHashOf } from './scripts.ts';

/** The maximum duration of a round. There are at least `SCRIPT_MS` between two scripts. */
const ROUND_MS_MAX = 6 * MS_PER_DAY;
const SCRIPT_MS = 1_000;
const PAGE = 10;
const PAGE_RESCAN = 1_000;
/** A slow server does less of a page; the position is kept after each. */
const PAGE_MS_MAX = 10_000;
/** The pause between two rounds. */
const REST_MS = 30 * 60 * 1000;
const AWAY_MS = 2_000;
/** The pause after an error that is no server's. */
const FAULT_MS = 10_000;
const KEPT_EVERY_MS = 30_000;
/** The interval of progress messages about a rescan in the log. */
const TOLD_EVERY_MS = 10_000;
/** Listed scripts beyond the watched ones that are polled per second. */
const EXCESS_PER_SECOND = 100;
const EXCESS_PAGE = 500;
const EXCESS_REST_MS = 10_000;

type RotationParts = {
  set: ServerSet;
  scripts: Scripts;
  list: ScriptList;
  /** The file with the position in the round. */
  path: string;
  /** Whether a server announces news of this script. */
  isWatched: (id: number) => boolean;
  /** Whether more scripts are listed than servers watch. */
  hasExcess: () => boolean;
  /** Whether the store has every transaction of a script's history in its block. */
  isKnown: (listed: ListedScript, history: readonly HistoryEntry[]) => boolean;
  listener: Listener;
};

export class Rotation {
  readonly #parts: RotationParts;
  readonly #stop = new AbortController();
  #hurry: AbortController = new AbortController();
  #rescanning = false;
  /** Whether the watched scripts are still to be read again for it. */
  #isTouchDue = false;
  /** Counts rescans. */
  #round = 0;
  /** The last script polled in this round. */
  #cursor = 0;
  #kept = 0;
  #keptAtMs = Number.NEGATIVE_INFINITY;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  readonly #progress = new Progress();
  #running: Promise<unknown> | null = null;

  constructor(parts: RotationParts) {
    this.#parts = parts;
  }

  /** Begins with the rounds, once. A client that only looks addresses up has none. */
  start(): void {
    if (this.#stop.signal.aborted) return;
    const { listener } = this.#parts;
    this.#running ??= Promise.all([this.#run(), this.#pollExcess()]).catch((error: unknown) => listener.bug(error));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#hurry.abort();
    await this.#running;
  }

  /** Starts to poll every script from the first on, and has those read again that are watched, and so never polled. */
  rescan(): void {
    this.#round++;
    this.#cursor = 0;
    this.#rescanning = true;
    this.#isTouchDue = true;
    this.#hurry.abort();
  }

  get rescanning(): boolean {
    return this.#rescanning;
  }

  /** The part of a rescan that is done, from 0 to 1. */
  get rescanned(): number {
    return this.#cursor / Math.max(1, highestId(this.#parts.list));
  }

  /**
   * Polls a page of the scripts above an id on every connected server, until `deadlineMs` (by `performance.now()`). Returns the
   * last id up to which all were polled, or null if there is none above. Throws `ConnectionLost`.
   */
  async look(above: number, limit: number, deadlineMs?: number): Promise<number | null> {
    const page = this.#parts.list.page(above, limit);
    const left = await this.#lookAt(
      page.filter(({ id }) => !this.#parts.isWatched(id)),
      deadlineMs,
    );
    if (left.length > 0) return Math.min(...left.map(({ id }) => id)) - 1;
    return page.at(-1)?.id ?? null;
  }

  /** Returns the scripts that were not polled in time. */
  async #lookAt(listed: readonly ListedScript[], deadlineMs?: number): Promise<ListedScript[]> {
    if (listed.length === 0) return [];
    // what was found is read first
    if (!this.#parts.scripts.hasRoom()) return [...listed];
    const refused: ListedScript[] = [];
    const check = async (server: Server, one: ListedScript): Promise<void> => {
      if (!(await this.#check(server, one))) refused.push(one);
    };
    return [...(await spread(this.#servers(), listed, 'passing', check, deadlineMs)), ...refused];
  }

  /** Excludes the asked server if another one answers without delay. */
  #servers(): Server[] {
    const { primary } = this.#parts.set;
    if (!primary) return [];
    const others = this.#parts.set.others(primary);
    return this.#rescanning || others.every(({ pace }) => pace.isSlowed) ? [...others, primary] : others;
  }

  /** False if the server refuses because the client costs too much at present. */
  async #check(server: Server, listed: ListedScript): Promise<boolean> {
    try {
      const history = await server.history(scriptHashOf(listed.script), 'passing');
      const script = this.#parts.scripts.byId(listed.id);
      if (this.#parts.isKnown(listed, history)) {
        if (script) script.isSeen = true;
        return true;
      }
    } catch (error) {
      if (!(error instanceof ServerRefusal)) throw error;
      // watching the script reports the refused history to the operator
      if (server.pace.isSlowed) return false;
    }
    // pinned, it belongs to the asked server's share
    this.#parts.scripts.pin(listed);
    this.#parts.listener.wake();
    return true;
  }

  async #run(): Promise<void> {
    this.#cursor = await this.#read();
    while (!this.#stop.signal.aborted) {
      if (!this.#parts.set.primary) {
        await this.#pause(AWAY_MS);
        continue;
      }
      const beganAtMs = performance.now();
      const from = this.#cursor;
      const hurried = this.#rescanning;
      const round = this.#round;
      this.#touchWatched();
      try {
        const last = await this.look(from, hurried ? PAGE_RESCAN : PAGE, beganAtMs + PAGE_MS_MAX);
        // a rescan may have started meanwhile
        if (round === this.#round) {
          this.#cursor = last ?? 0;
          if (last === null) this.#rescanning = false;
          if (hurried) this.#tellProgress();
          await this.#keep(last === null || this.#stop.signal.aborted);
          // the look is a part of the time that a page may take
          await this.#pause(Math.max(0, beganAtMs + this.#pauseAfter(from, last, hurried) - performance.now()));
        }
      } catch (error) {
        this.#tell(error);
        await this.#pause(isOfServer(error) ? AWAY_MS : FAULT_MS);
      }
    }
    await this.#keep(true);
  }

  /** A script without news would not be read before the next start, though the store lacks what it has. */
  #touchWatched(): void {
    const { set, scripts, listener } = this.#parts;
    if (!this.#isTouchDue || !set.primary) return;
    this.#isTouchDue = false;
    for (const script of scripts.all()) if (set.primary.statuses.has(script.hash)) scripts.touch(script);
    listener.wake();
  }

  /** An error that is no server's, such as one of the disk, ends no round either. */
  #tell(error: unknown): void {
    unlessOfServer(this.#parts.listener)(error);
  }

  #tellProgress(): void {
    const now = performance.now();
    if (this.#rescanning && now - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = now;
    const total = highestId(this.#parts.list);
    const isSlowed = this.#parts.set.ready().some(({ pace }) => pace.isSlowed);
    const left = this.#progress.text(this.#cursor, total, isSlowed);
    const far = this.#rescanning ? `up to number ${this.#cursor} of ${total}${left}` : 'to the end';
    this.#parts.listener.log(`every address is being looked at anew: ${far}`);
  }

  #pauseAfter(from: number, last: number | null, hurried: boolean): number {
    if (last === null) return REST_MS;
    // refused for now
    if (last <= from) return PAGE * SCRIPT_MS;
    return hurried ? 0 : this.#restAfter(from, last);
  }

  /**
   * The pause with which all ids up to the highest take one round: as long as it may, where the only servers delay
   * their answers, because each question makes news wait.
   */
  #restAfter(from: number, last: number): number {
    const part = (last - from) / Math.max(last, highestId(this.#parts.list));
    const isDelayed = this.#servers().some(({ pace }) => pace.isDelayed);
    return Math.min(isDelayed ? ROUND_MS_MAX : PAGE * SCRIPT_MS, part * ROUND_MS_MAX);
  }

  async #pollExcess(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let looked = 0;
      try {
        for await (const page of this.#excess()) {
          const beganAtMs = performance.now();
          await this.#lookAt(page);
          looked += page.length;
          const dueMs = (page.length / EXCESS_PER_SECOND) * 1_000;
          await this.#pause(Math.max(0, dueMs - (performance.now() - beganAtMs)));
          if (this.#stop.signal.aborted) return;
        }
      } catch (error) {
        this.#tell(error);
      }
      await this.#pause(looked > 0 ? AWAY_MS : EXCESS_REST_MS);
    }
  }

  /** Pages of the listed scripts that no server watches. */
  async *#excess(): AsyncGenerator<ListedScript[]> {
    if (!this.#parts.hasExcess()) return;
    let page: ListedScript[] = [];
    for (const listed of this.#parts.list.active()) {
      await nextTurn();
      page.push(...listed.filter(({ id }) => !this.#parts.isWatched(id)));
      if (page.length < EXCESS_PAGE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  async #read(): Promise<number> {
    try {
      const { cursor } = JSON.parse(await readFile(this.#parts.path, 'utf8')) as { cursor?: unknown };
      return this.#rescanning || !Number.isSafeInteger(cursor) ? 0 : Math.max(0, cursor as number);
    } catch {
      // missing or damaged: a new round starts
      return 0;
    }
  }

  async #keep(now: boolean): Promise<void> {
    const atMs = performance.now();
    if (this.#cursor === this.#kept || (!now && atMs - this.#keptAtMs < KEPT_EVERY_MS)) return;
    this.#keptAtMs = atMs;
    this.#kept = this.#cursor;
    const { path } = this.#parts;
    try {
      await writeFile(`${path}.new`, `${JSON.stringify({ cursor: this.#cursor })}\n`, { mode: 0o600 });
      await rename(`${path}.new`, path);
    } catch {
      // a full disk is reported elsewhere; here it only costs a new round
    }
  }

  async #pause(ms: number): Promise<void> {
    if (this.#hurry.signal.aborted) this.#hurry = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, this.#hurry.signal]);
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
  }
}
