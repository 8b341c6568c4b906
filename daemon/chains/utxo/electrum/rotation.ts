/**
 * Looks at scripts of whatever age, one after the other and at a bounded rate, so that late money is found for ever
 * without watching every address there ever was. What has something new is watched from then on. A rescan goes through
 * all of them at once, faster.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListedScript, ScriptList } from '../../adapter.ts';
import { isOfServer, ServerRefusal } from './faults.ts';
import { inParallel } from './in-parallel.ts';
import { type Scripts, scriptHashOf } from './scripts.ts';
import type { Server } from './server.ts';
import type { ServerSet } from './server-set.ts';

/** Scripts looked at per second: in passing, and in a rescan. */
const PER_SECOND = 1;
const PER_SECOND_RESCAN = 40;
const AT_ONCE = 10;
const PAGE = 40;
/** A round begins no sooner after the one before. */
const ROUND_MS = 30 * 60 * 1000;
const AWAY_MS = 2_000;

export class Rotation {
  readonly #set: ServerSet;
  readonly #scripts: Scripts;
  readonly #list: ScriptList;
  readonly #isKnown: (listed: ListedScript, txid: string, height: number) => boolean;
  readonly #wake: () => void;
  readonly #stop = new AbortController();
  #hurry: AbortController = new AbortController();
  #rescanning = false;
  /** The last script that was looked at in this round. */
  #cursor = 0;

  constructor(parts: {
    set: ServerSet;
    scripts: Scripts;
    list: ScriptList;
    /** Whether the store has a transaction of a script in the block at a height. */
    isKnown: (listed: ListedScript, txid: string, height: number) => boolean;
    wake: () => void;
    bug: (error: unknown) => void;
  }) {
    this.#set = parts.set;
    this.#scripts = parts.scripts;
    this.#list = parts.list;
    this.#isKnown = parts.isKnown;
    this.#wake = parts.wake;
    this.#run().catch(parts.bug);
  }

  close(): void {
    this.#stop.abort();
    this.#hurry.abort();
  }

  /** Goes through every script from the first on, soon. */
  rescan(): void {
    this.#cursor = 0;
    this.#rescanning = true;
    this.#hurry.abort();
  }

  get rescanning(): boolean {
    return this.#rescanning;
  }

  /**
   * Looks at the scripts above an id, a page of them; returns the last, or null when there is none above. Throws
   * `ConnectionLost`.
   */
  async look(server: Server, above: number, limit: number): Promise<number | null> {
    const page = this.#list.page(above, limit);
    const unwatched = page.filter(({ id }) => !this.#scripts.has(id));
    await inParallel(unwatched, AT_ONCE, (listed) => this.#check(server, listed));
    return page.at(-1)?.id ?? null;
  }

  async #check(server: Server, listed: ListedScript): Promise<void> {
    try {
      const history = await server.history(scriptHashOf(listed.script));
      if (history.every(({ txid, height }) => this.#isKnown(listed, txid, height))) return;
      this.#scripts.pin(listed);
      this.#wake();
    } catch (error) {
      // A history that is refused is larger than any of ours, or will be asked for in the next round.
      if (!(error instanceof ServerRefusal)) throw error;
    }
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const { primary } = this.#set;
      // Another server than the asked one, so that the load is spread.
      const server = primary && (this.#set.others(primary)[0] ?? primary);
      if (!server) {
        await this.#pause(AWAY_MS);
        continue;
      }
      try {
        const perSecond = this.#rescanning ? PER_SECOND_RESCAN : PER_SECOND;
        const last = await this.look(server, this.#cursor, this.#rescanning ? PAGE : 1);
        this.#cursor = last ?? 0;
        if (last === null) this.#rescanning = false;
        await this.#pause(last === null ? ROUND_MS : ((this.#rescanning ? PAGE : 1) / perSecond) * 1_000);
      } catch (error) {
        if (!isOfServer(error)) throw error;
        await this.#pause(AWAY_MS);
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    if (this.#hurry.signal.aborted) this.#hurry = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, this.#hurry.signal]);
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
  }
}
