/**
 * The watched scripts, and how far each history was read. About 300 bytes each.
 *
 * Invariants: a script whose history may have changed is in `dirty` until it was completely read. Until then it stays watched, listed
 * or not: nobody would look at it again for days.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { reversedHex, sha256 } from '../../../../kit/bytes.ts';
import type { ListedScript, ScriptList } from '../../../adapter.ts';
import type { Server } from '../servers/server.ts';

/** The maximum number of watched scripts; other listed ones are polled. */
const SCRIPTS_MAX = 100_000;
/**
 * Watched scripts that are not listed, because of money found at them or a transaction sent. Beyond this number those
 * that were read are given up, and no others are looked for while there are none.
 */
const PINNED_MAX = 5_000;

export type Script = {
  readonly id: number;
  /** SHA-256 of the script in hex, in the protocol's byte order. */
  readonly hash: string;
  /** The status of the history that was read; undefined before the first time and after `touch`. */
  status: string | null | undefined;
  /** Its position in the list, the most urgent first: a server that cannot watch all watches the lowest ranks. */
  rank: number;
  /** Whether any server told its state since it was listed. */
  isSeen: boolean;
  /** How often a server announced a changed status. */
  news: number;
  /** Since when a server's listed history contradicts its announced status, or 0. */
  contradictedSinceMs: number;
  /** Its history is not asked for before. */
  askAgainAtMs: number;
  /** How often it was touched. A history requested before the last touch is not final. */
  touches: number;
  /** The highest block in its history. */
  top: number;
  /** Its transactions among the unstored ones. */
  txids: readonly string[];
  /** The last refresh in which it was listed. */
  listed: number;
};

/** The script's name in the protocol: SHA-256 in hex, in reversed byte order. */
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
  /** Whether more scripts are listed than watched. */
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

  /** Whether the list may have changed. */
  isOutdated(): boolean {
    return this.#list.stamp() !== this.#stamp;
  }

  /** Watches a script, listed or not, at least until its history was read. */
  pin(script: ListedScript): void {
    this.#pinned.delete(script.id);
    this.#pinned.set(script.id, script);
    this.#add(script, 0);
  }

  /** Whether further scripts may be pinned, or too many of them are still to be read. */
  hasRoom(): boolean {
    this.#unpin();
    return this.#pinned.size < PINNED_MAX;
  }

  /**
   * Reads the list up to the maximum number of watched scripts, the most urgent first. Returns the scripts that are no
   * longer watched.
   */
  async refresh(): Promise<Script[]> {
    this.#stamp = this.#list.stamp();
    this.#refreshes++;
    this.#nextRank = 0;
    this.overflown = false;
    this.#unpin();
    for (const script of this.#pinned.values()) this.#enlist(script);
    for (const page of this.#list.active()) {
      for (const script of page) this.#enlist(script);
      if (this.overflown) break;
      await nextTurn();
    }
    const gone: Script[] = [];
    for (const script of this.#byHash.values()) {
      // its transactions are still on their way into the store
      if (script.listed === this.#refreshes || script.txids.length > 0 || this.dirty.has(script)) continue;
      this.#byHash.delete(script.hash);
      this.#byId.delete(script.id);
      gone.push(script);
    }
    return gone;
  }

  /**
   * Marks the scripts whose history reaches above a height. One that is to be read may be read at this moment, and is
   * compared with blocks that are no longer on the chain: it is read again.
   */
  markAbove(height: number): void {
    for (const script of this.#byHash.values()) if (script.top > height || this.dirty.has(script)) this.touch(script);
  }

  /** Marks a script whose history must be read again whatever its status. */
  touch(script: Script): void {
    script.status = undefined;
    script.touches++;
    this.dirty.add(script);
  }

  /**
   * Records that a history with `status` was read. The script stays dirty if the asked server announced another status,
   * or if it was touched since `touches`.
   */
  settle(script: Script, server: Server, status: string | null | undefined, touches: number): void {
    script.status = script.touches === touches ? status : undefined;
    this.dirty.delete(script);
    // behind the others: a history that takes many looks keeps none waiting
    if (script.status === undefined || script.status !== server.statuses.get(script.hash)) this.dirty.add(script);
  }

  /** Marks the scripts whose announced status differs from the one that was read. */
  compare(server: Server): void {
    for (const [scriptHash, status] of server.statuses) {
      const script = this.#byHash.get(scriptHash);
      if (script && script.status !== status) this.dirty.add(script);
    }
  }

  /** Gives the oldest pinned scripts up that were read, as far as they are too many. */
  #unpin(): void {
    for (const id of this.#pinned.keys()) {
      if (this.#pinned.size < PINNED_MAX) return;
      const script = this.#byId.get(id);
      if (!script || (script.status !== undefined && !this.dirty.has(script))) this.#pinned.delete(id);
    }
  }

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
      isSeen: false,
      news: 0,
      contradictedSinceMs: 0,
      askAgainAtMs: 0,
      touches: 0,
      top: 0,
      txids: [],
      listed: this.#refreshes,
    };
    this.#byId.set(id, added);
    this.#byHash.set(added.hash, added);
  }
}
