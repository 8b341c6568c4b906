/**
 * Decides which scripts are subscribed on which server. The primary watches as many as it accepts, the most urgent first.
 * The other connected servers watch the rest; scripts beyond that are polled (`rotation.ts`). The first of the other
 * servers also watches the primary's scripts, so that the two check each other, and all of them watch the most urgent ones.
 *
 * Invariant: another server's announcement is only a reason to watch the script on the primary.
 */
import { MS_PER_HOUR } from '../../../../domain/time.ts';
import { repeatedly } from '../../../../kit/async.ts';
import type { Listener } from '../listener.ts';
import { ServerRefusal, unlessOfServer } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import { spread } from '../servers/spread.ts';
import { Progress } from './progress.ts';
import type { Script, Scripts } from './scripts.ts';

/** The duration of one step. The next one continues. */
const STEP_MS = 2_000;
/** At each end of a step a server that delays its answers is idle for about one of these delays. */
const STEP_DELAYED_MS = 5_000;
const STEP_SCRIPTS_MAX = 5_000;
/** The time for background work in one tick. */
const TICK_MS = 500;
const HELPED_PER_TICK_MAX = 500;
const ENDED_PER_TICK_MAX = 200;
/** A server that accepts fewer scripts is not used. */
const BORNE_MIN = 100;
/** The scripts that a slow server is given, besides those that it watches already, while there are other servers. */
const SLOWED_SCRIPTS_MIN = 2_000;
/** The most urgent scripts, which every connected server watches. */
const COMPARED_BY_ALL = 2_000;
/** After this time a server's accepted number is raised by half. */
const GROW_MS = MS_PER_HOUR;
const GROW_FACTOR = 1.5;
/** The interval of progress messages in the log. */
const TOLD_EVERY_MS = 10_000;
/** The part of the refused number that is used; the rest is for urgent scripts. */
const BORNE_PART = 0.9;

export class Watching {
  readonly #set: ServerSet;
  readonly #scripts: Scripts;
  readonly #listener: Listener;
  /** How many scripts a server accepts, if known. */
  readonly #borne = new Map<Server, { max: number; sinceMs: number }>();
  /** Servers that refused a script and have more than their share. */
  readonly #crowded = new Set<Server>();
  /** Scripts announced by another server, to be watched on the asked one whatever their rank. */
  readonly #urgent = new Set<Script>();
  /** Hashes of scripts that are no longer watched, until every server was told. */
  readonly #ended = new Set<string>();
  #toldAtMs = Number.NEGATIVE_INFINITY;
  readonly #progress = new Progress();
  readonly close: () => void;

  constructor(parts: {
    set: ServerSet;
    scripts: Scripts;
    listener: Listener;
  }) {
    this.#set = parts.set;
    this.#scripts = parts.scripts;
    this.#listener = parts.listener;
    this.close = repeatedly(TICK_MS, () => this.#tick(), unlessOfServer(parts.listener));
  }

  /** How many scripts a server watches when it is the asked one. */
  shareOf(server: Server): number {
    return Math.min(this.#borne.get(server)?.max ?? Number.POSITIVE_INFINITY, this.#scripts.size);
  }

  /** Whether a server announces news of a script. */
  isWatched(script: Script): boolean {
    return this.#set.servers.some((server) => server.statuses.has(script.hash));
  }

  /** Whether every script beyond a server's share was seen on some server since it was listed. */
  hasSeenRest(server: Server): boolean {
    const share = this.shareOf(server);
    for (const { rank, isSeen } of this.#scripts.all()) if (rank >= share && !isSeen) return false;
    return true;
  }

  /** Watches a script on the asked server, because another one announced news. */
  promote(script: Script): void {
    if (this.#set.primary?.statuses.has(script.hash)) this.#scripts.dirty.add(script);
    else this.#urgent.add(script);
    this.#listener.wake();
  }

  /** Ends subscriptions, a limited number per step. */
  end(scripts: readonly Script[]): void {
    for (const script of scripts) {
      this.#urgent.delete(script);
      this.#ended.add(script.hash);
    }
  }

  /** Subscribes the asked server's share, as far as one step allows. True at its end. Throws `ConnectionLost`. */
  async advance(server: Server): Promise<boolean> {
    this.#adapt(server);
    await this.#makeRoom(server);
    const missing = this.#missing(server);
    let refusal: string | null = null;
    const join = async (_: Server, script: Script): Promise<void> => {
      if (refusal === null) refusal = (await this.#join(server, script)) ?? refusal;
    };
    const left = await spread([server], missing, 'news', join, this.#deadline(server));
    if (left.length > 0) this.#tellProgress(server);
    // Only now is it known how many the server accepts: requests were under way when it refused the first one.
    if (refusal !== null) this.#refused(server, refusal);
    return refusal === null && left.length === 0 && missing.length < STEP_SCRIPTS_MAX && this.#urgent.size === 0;
  }

  #tellProgress(server: Server): void {
    const now = performance.now();
    if (now - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = now;
    const [done, total] = [server.statuses.size, this.shareOf(server)];
    const left = this.#progress.text(done, total, server.pace.isSlowed);
    this.#listener.log(`${server.name} watches ${done} of ${total} addresses so far${left}`);
  }

  #deadline({ pace }: Server): number {
    return performance.now() + (pace.isDelayed ? STEP_DELAYED_MS : STEP_MS);
  }

  /** The missing subscriptions of the asked server: the most urgent first, at most one step's. */
  #missing(server: Server): Script[] {
    const share = this.shareOf(server);
    const missing: Script[] = [];
    for (const script of this.#urgent) {
      if (this.#scripts.get(script.hash) === script && !server.statuses.has(script.hash)) missing.push(script);
      else this.#urgent.delete(script);
    }
    const rest: Script[] = [];
    for (const script of this.#scripts.all()) {
      if (script.rank >= share || server.statuses.has(script.hash) || this.#urgent.has(script)) continue;
      if (script.rank < SLOWED_SCRIPTS_MIN) missing.push(script);
      else if (rest.length < STEP_SCRIPTS_MAX) rest.push(script);
    }
    return [...missing, ...rest].slice(0, STEP_SCRIPTS_MAX);
  }

  /** Subscribes one script. Returns the server's reason if it refuses, or null. */
  async #join(server: Server, script: Script): Promise<string | null> {
    try {
      if ((await server.subscribe(script.hash)) !== script.status) this.#scripts.dirty.add(script);
      script.isSeen = true;
      this.#urgent.delete(script);
      return null;
    } catch (error) {
      if (!(error instanceof ServerRefusal)) throw error;
      return error.message;
    }
  }

  /** Limits a server to a part of the scripts that it watches, because it refuses more. */
  #refused(server: Server, reason: string): void {
    const { size } = server.statuses;
    const known = this.#borne.get(server)?.max ?? Number.POSITIVE_INFINITY;
    const max = Math.min(known, Math.floor(size * BORNE_PART));
    const message = `it refuses to watch more than ${size} addresses: ${reason}`;
    if (max < Math.min(BORNE_MIN, this.#scripts.size)) {
      server.disconnect(message);
      return;
    }
    this.#crowded.add(server);
    if (max === known) return;
    this.#borne.set(server, { max, sinceMs: performance.now() });
    this.#listener.log(`${server.name}: ${message}; the others are watched elsewhere or looked at by turns`);
  }

  /** Ends subscriptions beyond the share of a server that refused more, except of scripts whose history is to be read. */
  async #makeRoom(server: Server): Promise<void> {
    if (!this.#crowded.delete(server)) return;
    const share = this.shareOf(server);
    const least = [...this.#scripts.all()].filter(
      (script) => script.rank >= share && server.statuses.has(script.hash) && !this.#scripts.dirty.has(script),
    );
    await Promise.all(least.slice(0, ENDED_PER_TICK_MAX).map(({ hash }) => server.unsubscribe(hash).catch(() => {})));
  }

  /** Limits a slow server to its current scripts while there are others, and raises the limit again later. */
  #adapt(server: Server): void {
    const now = performance.now();
    const borne = this.#borne.get(server);
    if (borne && now - borne.sinceMs > GROW_MS) {
      const max = Math.floor(borne.max * GROW_FACTOR);
      if (max >= this.#scripts.size) this.#borne.delete(server);
      else this.#borne.set(server, { max, sinceMs: now });
    }
    if (borne || !server.pace.isSlowed || this.#set.others(server).length === 0) return;
    const max = Math.max(SLOWED_SCRIPTS_MIN, server.statuses.size);
    if (max < this.#scripts.size) this.#borne.set(server, { max, sinceMs: now });
  }

  async #tick(): Promise<void> {
    const { primary } = this.#set;
    if (this.#ended.size > 0) await this.#endSome();
    const others = primary ? this.#set.others(primary) : [];
    if (!primary) return;
    await Promise.all(others.map((other, i) => this.#help(primary, other, i, others.length)));
  }

  /** Subscribes scripts beyond the asked server's share on another one: a part each, the first one also all others. */
  async #help(primary: Server, other: Server, part: number, parts: number): Promise<void> {
    const share = this.shareOf(primary);
    const room = (this.#borne.get(other)?.max ?? Number.POSITIVE_INFINITY) - other.statuses.size;
    if (room <= 0 || (other.pace.isSlowed && other.statuses.size >= SLOWED_SCRIPTS_MIN)) return;
    const cold: Script[] = [];
    const rest: Script[] = [];
    for (const script of this.#scripts.all()) {
      if (other.statuses.has(script.hash)) continue;
      if (script.rank >= share && script.rank % parts === part) cold.push(script);
      else if (part === 0 || script.rank < COMPARED_BY_ALL) rest.push(script);
      if (cold.length >= HELPED_PER_TICK_MAX) break;
    }
    const wanted = [...cold, ...rest].slice(0, Math.min(HELPED_PER_TICK_MAX, room));
    await spread([other], wanted, 'passing', (_, script) => this.#subscribeAlso(other, script), this.#deadline(other));
  }

  async #subscribeAlso(other: Server, script: Script): Promise<void> {
    try {
      const status = await other.subscribe(script.hash, 'passing');
      if (status !== (script.status ?? null) && !this.#set.primary?.statuses.has(script.hash)) this.promote(script);
      script.isSeen = true;
    } catch (error) {
      if (!(error instanceof ServerRefusal)) throw error;
      // it accepts no more than it has
      const max = Math.floor(other.statuses.size * BORNE_PART);
      this.#borne.set(other, { max, sinceMs: performance.now() });
    }
  }

  async #endSome(): Promise<void> {
    const hashes: string[] = [];
    for (const hash of this.#ended) {
      if (hashes.length >= ENDED_PER_TICK_MAX) break;
      this.#ended.delete(hash);
      // it may be watched again by now
      if (!this.#scripts.get(hash)) hashes.push(hash);
    }
    const servers = this.#set.ready();
    const all = servers.flatMap((server) =>
      hashes.filter((hash) => server.statuses.has(hash)).map((hash) => [server, hash] as const),
    );
    // the result does not matter: announcements about unwatched scripts are ignored
    await Promise.all(all.map(([server, hash]) => server.unsubscribe(hash).catch(() => {})));
  }
}
