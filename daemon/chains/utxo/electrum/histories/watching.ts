/**
 * Which scripts are subscribed on which server. The asked server watches all that it bears, the most urgent first; what is
 * beyond that is watched by the others that are connected, and looked at by turns where they do not bear it either
 * (`turns.ts`). The first of the others watches everything besides, so that the two check each other.
 *
 * Invariant: what another server tells of a script is a reason to watch it on the asked one, and nothing more.
 */
import { isOfServer, ServerRefusal } from '../servers/faults.ts';
import type { Server } from '../servers/server.ts';
import type { ServerSet } from '../servers/server-set.ts';
import { spread } from '../servers/spread.ts';
import type { Script, Scripts } from './scripts.ts';

/** One step is to take seconds, not minutes; what is left is done by the next. */
const STEP_MS = 2_000;
const STEP_SCRIPTS_MAX = 5_000;
/** What is done in passing, in one tick. */
const TICK_MS = 500;
const HELPED_PER_TICK_MAX = 500;
const ENDED_PER_TICK_MAX = 200;
/** A server that bears fewer is of no use. */
const BORNE_MIN = 100;
/** A server that slows us down is given no more than this many, and what it watches already, while there are others. */
const SLOWED_SCRIPTS_MIN = 2_000;
/** What a server bore once is tried again after so long, with a half more. */
const GROW_MS = 60 * 60 * 1000;
const GROW_FACTOR = 1.5;
/** How often the operator's log is told how far the watching has come. */
const TOLD_EVERY_MS = 10_000;
/** Of what it bore when it refused, a part is left for what becomes urgent. */
const BORNE_PART = 0.9;

export class Watching {
  readonly #set: ServerSet;
  readonly #scripts: Scripts;
  readonly #wake: () => void;
  readonly #log: (message: string) => void;
  readonly #timer: NodeJS.Timeout;
  /** How many scripts a server bears, where that is known. */
  readonly #borne = new Map<Server, { max: number; sinceMs: number }>();
  /** Scripts of which another server told, to be watched on the asked one whatever their rank. */
  readonly #urgent = new Set<Script>();
  /** Hashes of scripts that are watched no longer, until every server was told. At most one for each that ever was. */
  readonly #ended = new Set<string>();
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #ticking: Promise<void> | null = null;

  constructor(parts: {
    set: ServerSet;
    scripts: Scripts;
    wake: () => void;
    log: (message: string) => void;
    bug: (error: unknown) => void;
  }) {
    this.#set = parts.set;
    this.#scripts = parts.scripts;
    this.#wake = parts.wake;
    this.#log = parts.log;
    this.#timer = setInterval(() => {
      this.#ticking ??= this.#tick()
        .catch((error: unknown) => {
          if (!isOfServer(error)) parts.bug(error);
        })
        .finally(() => {
          this.#ticking = null;
        });
    }, TICK_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** How many scripts a server is to watch when it is the asked one. */
  shareOf(server: Server): number {
    return Math.min(this.#borne.get(server)?.max ?? Number.POSITIVE_INFINITY, this.#scripts.size);
  }

  /** Whether some server tells when a script has news. */
  isWatched(script: Script): boolean {
    return this.#set.servers.some((server) => server.statuses.has(script.hash));
  }

  /** Another server has news of a script: it is watched on the asked one from now on. */
  promote(script: Script): void {
    if (this.#set.primary?.statuses.has(script.hash)) this.#scripts.dirty.add(script);
    else this.#urgent.add(script);
    this.#wake();
  }

  /** Ends subscriptions, some at a time. */
  end(scripts: readonly Script[]): void {
    for (const script of scripts) {
      this.#urgent.delete(script);
      this.#ended.add(script.hash);
    }
  }

  /**
   * Brings the asked server to where it watches its share, as far as one step goes. True when it does. Throws
   * `ConnectionLost`.
   */
  async advance(server: Server): Promise<boolean> {
    this.#adapt(server);
    const missing = this.#missing(server);
    const left = await spread([server], missing, 'news', (_, script) => this.#join(server, script), this.#deadline());
    if (left.length > 0) this.#tellProgress(server);
    return left.length === 0 && missing.length < STEP_SCRIPTS_MAX && this.#urgent.size === 0;
  }

  #tellProgress(server: Server): void {
    const now = performance.now();
    if (now - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = now;
    this.#log(`${server.name} watches ${server.statuses.size} of ${this.shareOf(server)} addresses so far`);
  }

  #deadline(): number {
    return performance.now() + STEP_MS;
  }

  /** What the asked server is to watch and does not yet: the most urgent first, and no more than one step takes. */
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

  async #join(server: Server, script: Script): Promise<void> {
    // It may have become too many for the server meanwhile.
    if (script.rank >= this.shareOf(server) && !this.#urgent.has(script)) return;
    try {
      if ((await server.subscribe(script.hash)) !== script.status) this.#scripts.dirty.add(script);
      this.#urgent.delete(script);
    } catch (error) {
      if (!(error instanceof ServerRefusal)) throw error;
      this.#refused(server, error.message);
    }
  }

  #refused(server: Server, reason: string): void {
    const { size } = server.statuses;
    const max = Math.floor(size * BORNE_PART);
    if (max >= (this.#borne.get(server)?.max ?? Number.POSITIVE_INFINITY)) return;
    const message = `it refuses to watch more than ${size} addresses: ${reason}`;
    if (max < Math.min(BORNE_MIN, this.#scripts.size)) {
      server.disconnect(message);
      return;
    }
    this.#borne.set(server, { max, sinceMs: performance.now() });
    this.#log(`${server.name}: ${message}; the others are watched elsewhere or looked at by turns`);
    // Room for what is urgent.
    const least = [...this.#scripts.all()].filter(({ rank, hash }) => rank >= max && server.statuses.has(hash));
    for (const { hash } of least.slice(0, ENDED_PER_TICK_MAX)) server.unsubscribe(hash).catch(() => {});
  }

  /** Has a server that slows us down watch no more than it does, while there are others; and more again in time. */
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

  /** Subscribes on another server what the asked one does not bear: each takes a part, and the first one all else. */
  async #help(primary: Server, other: Server, part: number, parts: number): Promise<void> {
    const share = this.shareOf(primary);
    const room = (this.#borne.get(other)?.max ?? Number.POSITIVE_INFINITY) - other.statuses.size;
    if (room <= 0 || (other.pace.isSlowed && other.statuses.size >= SLOWED_SCRIPTS_MIN)) return;
    const cold: Script[] = [];
    const rest: Script[] = [];
    for (const script of this.#scripts.all()) {
      if (other.statuses.has(script.hash)) continue;
      if (script.rank >= share && script.rank % parts === part) cold.push(script);
      else if (part === 0) rest.push(script);
      if (cold.length >= HELPED_PER_TICK_MAX) break;
    }
    const wanted = [...cold, ...rest].slice(0, Math.min(HELPED_PER_TICK_MAX, room));
    await spread([other], wanted, 'passing', (_, script) => this.#subscribeAlso(other, script), this.#deadline());
  }

  async #subscribeAlso(other: Server, script: Script): Promise<void> {
    try {
      const status = await other.subscribe(script.hash, 'passing');
      if (status !== (script.status ?? null) && !this.#set.primary?.statuses.has(script.hash)) this.promote(script);
    } catch (error) {
      if (!(error instanceof ServerRefusal)) throw error;
      // It watches no more than it has: then it helps with those.
      const max = Math.floor(other.statuses.size * BORNE_PART);
      this.#borne.set(other, { max, sinceMs: performance.now() });
    }
  }

  async #endSome(): Promise<void> {
    const hashes: string[] = [];
    for (const hash of this.#ended) {
      if (hashes.length >= ENDED_PER_TICK_MAX) break;
      this.#ended.delete(hash);
      // It may be watched again by now.
      if (!this.#scripts.get(hash)) hashes.push(hash);
    }
    const servers = this.#set.ready();
    const all = servers.flatMap((server) =>
      hashes.filter((hash) => server.statuses.has(hash)).map((hash) => [server, hash] as const),
    );
    // Whether a server takes it is of no consequence: what it tells of a script that is not watched is not heard.
    await Promise.all(all.map(([server, hash]) => server.unsubscribe(hash).catch(() => {})));
  }
}
