/**
 * The scripts that are watched, and how far each one's history was taken in. About 300 bytes each.
 *
 * Invariant: a script whose history may have changed is among `dirty` until it was taken in whole.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { reversedHex, sha256 } from '../../../../kit/bytes.ts';
import type { ListedScript, ScriptList } from '../../../adapter.ts';
import type { Server } from '../servers/server.ts';

/** Scripts that are watched; what is listed beyond them is looked at by turns. */
export const SCRIPTS_MAX = 100_000;
/** Scripts that are watched beyond the listed ones, because of what was found at them or what was sent. */
const PINNED_MAX = 5_000;

export type Script = {
  readonly id: number;
  /** SHA-256 of the script in hex, in the byte order of the protocol. */
  readonly hash: string;
  /** The status that belongs to the history that was taken in; undefined before the first time and once touched. */
  status: string | null | undefined;
  /** Its place in the list, the most urgent first: who cannot watch all watches those of low rank. */
  rank: number;
  /** How often a server told that its status changed. */
  news: number;
  /** Since when a server lists another history than the one whose status it tells, or 0. */
  contradictedSinceMs: number;
  /** How often it was touched: a history that was asked for before is not the last word. */
  touches: number;
  /** The highest block of its history. */
  top: number;
  /** Its transactions that are in the ledger. */
  txids: readonly string[];
  /** The refresh in which it was listed last. */
  listed: number;
  /** Since when its history cannot be proved, or 0. */
  doubtfulSinceMs: number;
};

/** A script as servers are asked for it: SHA-256 in hex, the last byte first. */
export const scriptHashOf = (script: Uint8Array): string => reversedHex(sha256(script));

export class Scripts {
  readonly dirty = new Set<Script>();
  readonly #list: ScriptList;
  readonly #byId = new Map<number, Script>();
  readonly #byHash = new Map<string, Script>();
  /** By id, the oldest first. */
  readonly #pinned = new Map<number, ListedScript>();
  #stamp: string | null = null;
  readonly #max: number;
  #refreshes = 0;
  #nextRank = 0;
  /** More are listed than are watched. */
  overflown = false;

  constructor(list: ScriptList, max = SCRIPTS_MAX) {
    this.#list = list;
    this.#max = max;
  }

  get size(): number {
    return this.#byHash.size;
  }

  byId(id: number): Script | undefined {
    return this.#byId.get(id);
  }

  get(scriptHash: string): Script | undefined {
    return this.#byHash.get(scriptHash);
  }

  all(): IterableIterator<Script> {
    return this.#byHash.values();
  }

  /** Whether the list may have something new. */
  isOutdated(): boolean {
    return this.#list.stamp() !== this.#stamp;
  }

  /** Watches a script whether it is listed or not. */
  pin(script: ListedScript): void {
    this.#pinned.delete(script.id);
    this.#pinned.set(script.id, script);
    const oldest = this.#pinned.keys().next().value;
    if (this.#pinned.size > PINNED_MAX && oldest !== undefined) this.#pinned.delete(oldest);
    this.#add(script, 0);
  }

  /**
   * Takes the list over, up to as many as are watched, the first ones being the most urgent. Returns the scripts that are
   * watched no longer.
   */
  async refresh(): Promise<Script[]> {
    this.#stamp = this.#list.stamp();
    this.#refreshes++;
    this.#nextRank = 0;
    this.overflown = false;
    for (const script of this.#pinned.values()) this.#enlist(script);
    for (const page of this.#list.active()) {
      for (const script of page) this.#enlist(script);
      if (this.overflown) break;
      await nextTurn();
    }
    const gone: Script[] = [];
    for (const script of this.#byHash.values()) {
      // What was found at it is still on its way into the store.
      if (script.listed === this.#refreshes || script.txids.length > 0) continue;
      this.#byHash.delete(script.hash);
      this.#byId.delete(script.id);
      this.dirty.delete(script);
      gone.push(script);
    }
    return gone;
  }

  /** Marks the scripts whose history reaches above a height. */
  markAbove(height: number): void {
    for (const script of this.#byHash.values()) if (script.top > height) this.touch(script);
  }

  /** Marks a script, so that its history is taken in anew whatever its status. */
  touch(script: Script): void {
    script.status = undefined;
    script.touches++;
    this.dirty.add(script);
  }

  /**
   * A history was taken in to which `status` belongs. It is to be looked at again when the asked server tells of another
   * one by now, or when it was touched since `touches`.
   */
  settle(script: Script, server: Server, status: string | null | undefined, touches: number): void {
    script.status = script.touches === touches ? status : undefined;
    if (script.status !== undefined && script.status === server.statuses.get(script.hash)) this.dirty.delete(script);
    else this.dirty.add(script);
  }

  /** Compares what a server told of each script with what was taken in. */
  compare(server: Server): void {
    for (const [scriptHash, status] of server.statuses) {
      const script = this.#byHash.get(scriptHash);
      if (script && script.status !== status) this.dirty.add(script);
    }
  }

  /** Gives a listed script the next place. */
  #enlist(listed: ListedScript): void {
    if (this.#byId.get(listed.id)?.listed === this.#refreshes) return;
    if (this.#nextRank >= this.#max) this.overflown = true;
    else this.#add(listed, this.#nextRank++);
  }

  #add({ id, script }: ListedScript, rank: number): void {
    const known = this.#byId.get(id);
    if (known) {
      known.listed = this.#refreshes;
      known.rank = rank;
      return;
    }
    const added: Script = {
      id,
      hash: scriptHashOf(script),
      status: undefined,
      rank,
      news: 0,
      contradictedSinceMs: 0,
      touches: 0,
      top: 0,
      txids: [],
      listed: this.#refreshes,
      doubtfulSinceMs: 0,
    };
    this.#byId.set(id, added);
    this.#byHash.set(added.hash, added);
  }
}
