/**
 * The servers of one chain. Three are connected at a time: the primary, one that checks it and can replace it, and one for
 * a third opinion. The choice depends on failures, latency and chance, so that installations use different servers.
 *
 * Invariant: the number of connections is bounded, whatever servers do; a dropped one gets none.
 */
import { MS_PER_HOUR } from '../../../../domain/time.ts';
import type { Endpoint } from './endpoint.ts';
import { Server, type ServerEvents, type ServerOptions } from './server.ts';

/** The primary, the one that checks it, and a third; of as many operators as possible. */
const CONNECTIONS_MAX = 3;
const TEND_MS = 250;
/** While none is connected, payments are not seen, and each is tried again within this time. */
const NONE_MS_MAX = 20_000;
/** The penalty of a failure in the choice of a server, in milliseconds of latency. */
const FAILURE_MS = 2_000;
/** The assumed latency of a server that was never asked. A random part of `SPREAD_MS` is applied to it once. */
const LATENCY_MS_UNKNOWN = 300;
const SPREAD_MS = 400;
/** A block takes seconds from one server to the next. */
const BEHIND_MS_MAX = 8_000;
/** The primary is changed after a random time between this and three times this. */
const TURN_MS_MIN = 2 * MS_PER_HOUR;
/** For so long the views of the primary may be incomplete, whatever the reason, before its turn is over. */
const INCOMPLETE_MS_MAX = 120_000;
/** While servers are still told of scripts, so many more must be watched within that time. ElectrumX serves a dozen a second at its limits. */
const WATCHED_MORE_MIN = 1_000;
/** The next primary watches at least this part of what the present one does. */
const TURN_PART_MIN = 0.9;

type SetEvents = ServerEvents & {
  /** Another server became the primary; null: none is connected. */
  onPrimary(server: Server | null): void;
};

/**
 * The part that a view of the primary lacks. `watching`: the primary is still told of its scripts. `rest`: the others are of the rest.
 * `reading`: any other.
 */
export type Lack = 'nothing' | 'watching' | 'rest' | 'reading';

/** Since when the views of the primary are incomplete, and how many scripts it and all servers together watched then. */
type Incomplete = { sinceMs: number } & Record<Exclude<Lack, 'nothing'>, number>;

type ServerSetOptions = Omit<ServerOptions, 'endpoint' | 'events'> & {
  events: SetEvents;
  endpoints: readonly Endpoint[];
  /** Blocks that a connected server is behind the best chain known; infinite on another branch or while not known. */
  behind: (server: Server) => number;
};

export class ServerSet {
  readonly servers: readonly Server[];
  readonly #options: ServerSetOptions;
  readonly #luck = new Map<Server, number>();
  #primary: Server | null = null;
  #timer: NodeJS.Timeout | null = null;
  #behindSinceMs = 0;
  /** When the primary may be changed although nothing is wrong with it. */
  #turnAtMs = 0;
  /** Null: they are complete. */
  #incomplete: Incomplete | null = null;
  #closed = false;

  constructor(options: ServerSetOptions) {
    this.#options = options;
    const { events } = options;
    const tend = () => this.#tend();
    const own = {
      ...events,
      onReady: (server: Server) => {
        events.onReady(server);
        this.#endOutage();
        tend();
      },
      onGone: (server: Server) => {
        if (this.#primary === server) this.#primary = null;
        events.onGone(server);
        tend();
      },
    };
    this.servers = options.endpoints.map((endpoint) => new Server({ ...options, endpoint, events: own }));
    for (const server of this.servers) this.#luck.set(server, Math.random() * SPREAD_MS);
  }

  /** Begins to connect, once. */
  start(): void {
    if (this.#timer || this.#closed) return;
    this.#timer = setInterval(() => this.#tend(), TEND_MS);
    this.#timer.unref();
    this.#tend();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearInterval(this.#timer);
    for (const server of this.servers) server.disconnect(null);
  }

  /** The primary, or null while no server is connected. */
  get primary(): Server | null {
    return this.#primary;
  }

  /** Connected servers, best first. */
  ready(): Server[] {
    const ready = this.servers.filter(({ state }) => state === 'ready');
    return ready.sort((a, b) => this.#cost(a) - this.#cost(b));
  }

  /** How many operators the servers are of, connected or not. */
  get operators(): number {
    return new Set(this.servers.map(({ operator }) => operator)).size;
  }

  /**
   * Connected servers except one, for work that should not burden it. Those of other operators come first, because they
   * are independent, and the primary last.
   */
  others(server: Server): Server[] {
    const others = this.ready().filter((other) => other !== server);
    const rank = (other: Server) => 2 * Number(other === this.#primary) + Number(other.operator === server.operator);
    return others.sort((a, b) => rank(a) - rank(b));
  }

  /**
   * Makes the server that is least behind the primary; among equals, the best. The present primary stays while it is on
   * the best chain and behind the others for at most `BEHIND_MS_MAX`.
   */
  elect(): void {
    const { behind } = this.#options;
    const ready = this.ready();
    const least = Math.min(...ready.map(behind));
    const present = this.#primary?.state === 'ready' ? this.#primary : null;
    const isDue = performance.now() > this.#turnAtMs || this.#isStuck();
    if (present && isDue && this.#turn(present, ready)) return;
    if (present && (behind(present) <= least || !Number.isFinite(least))) {
      this.#behindSinceMs = 0;
      return;
    }
    if (present && Number.isFinite(behind(present))) {
      this.#behindSinceMs ||= performance.now();
      if (performance.now() - this.#behindSinceMs < BEHIND_MS_MAX) return;
    }
    this.#behindSinceMs = 0;
    const next = ready.find((server) => behind(server) === least) ?? null;
    if (next !== this.#primary) this.#set(next);
  }

  /**
   * Makes another server the primary after some hours, so that none decides for long what is seen first, and once the views of the
   * present one have been incomplete for long. One that does not watch nearly as much would have to be told all of it first.
   */
  #turn(present: Server, ready: readonly Server[]): boolean {
    const watchedMin = present.statuses.size * TURN_PART_MIN;
    const able = ready.filter(
      (server) =>
        server.operator !== present.operator &&
        this.#options.behind(server) === 0 &&
        server.statuses.size >= watchedMin &&
        (this.#isStuck() || (!server.pace.isSlowed && server.retries.leaves === 0)),
    );
    const next = able[Math.floor(Math.random() * able.length)];
    if (!next) return false;
    this.#set(next);
    return true;
  }

  /**
   * Makes another server that may give more the primary: the one that watches most of those at the tip, one of another operator first.
   * False where there is none: the present one stays. `fault`: what the present one did, if that counts against it.
   */
  giveWay(present: Server, mayGive: (server: Server) => boolean, fault: string | null): boolean {
    if (present !== this.#primary) return true;
    const able = this.others(present).filter((server) => this.#options.behind(server) === 0 && mayGive(server));
    const isOther = ({ operator }: Server): boolean => operator !== present.operator;
    const order = (a: Server, b: Server): number =>
      Number(isOther(b)) - Number(isOther(a)) || b.statuses.size - a.statuses.size;
    const [next] = able.sort(order);
    if (!next) return false;
    if (fault !== null) present.passedOver(fault);
    this.#set(next);
    return true;
  }

  /**
   * Notes what a view of a server lacks. A liar may keep all of them from being complete, though each history can be read: by announcing
   * another status of one address after the other, or by showing slowly what it invents. An honest one may have much to tell.
   * Servers that limit their clients are told of thousands of scripts within minutes, and the next primary would be told of its own ones.
   */
  viewed(server: Server, lack: Lack): void {
    if (server !== this.#primary) return;
    const watching = server.statuses.size;
    const rest = this.servers.reduce((sum, { statuses }) => sum + statuses.size, 0);
    const now = { sinceMs: performance.now(), watching, rest, reading: 0 };
    const before = this.#incomplete;
    if (lack === 'nothing') this.#incomplete = null;
    else if (!before || now[lack] - before[lack] >= WATCHED_MORE_MIN) this.#incomplete = now;
    if (this.#isStuck()) this.elect();
  }

  #isStuck(): boolean {
    return this.#incomplete !== null && performance.now() - this.#incomplete.sinceMs >= INCOMPLETE_MS_MAX;
  }

  #set(next: Server | null): void {
    this.#behindSinceMs = 0;
    this.#incomplete = null;
    this.#primary = next;
    this.#turnAtMs = performance.now() + TURN_MS_MIN * (1 + 2 * Math.random());
    this.#options.events.onPrimary(next);
  }

  #cost(server: Server): number {
    return (
      (server.latencyMs ?? LATENCY_MS_UNKNOWN) + server.retries.failures * FAILURE_MS + (this.#luck.get(server) ?? 0)
    );
  }

  /**
   * Tries the others again when one is connected after an outage of all, which may have been our own network's. A
   * server that comes and goes alone causes no more than this, because its own wait grows.
   */
  #endOutage(): void {
    if (this.ready().length > 1) return;
    for (const server of this.servers) server.retries.within(0);
  }

  /** Keeps as many servers connected as there should be. */
  #tend(): void {
    if (this.#closed) return;
    const busy = this.servers.filter(({ state }) => state === 'ready' || state === 'connecting');
    if (busy.length === 0) for (const server of this.servers) server.retries.within(NONE_MS_MAX);
    const idle = this.servers.filter(({ state }) => state === 'idle').sort((a, b) => this.#cost(a) - this.#cost(b));
    while (busy.length < CONNECTIONS_MAX && idle.length > 0) {
      const ofOthers = idle.findIndex(({ operator }) => busy.every((one) => one.operator !== operator));
      const [next] = idle.splice(Math.max(0, ofOthers), 1);
      if (!next) break;
      busy.push(next);
      void next.connect();
    }
    this.elect();
  }
}
