/**
 * Electrum servers in front of simulated nodes: the test's own server (`test/nodes/electrum-server.ts`) over connections
 * without sockets, whose bytes take their time.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { Duplex } from 'node:stream';
import type { CostLimits } from '../nodes/cost-limit.ts';
import type { Json, NodeRpc } from '../nodes/electrum-chain.ts';
import { type Behaviour, ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import type { Lie } from '../nodes/lies.ts';
import type { Network } from './network.ts';
import type { Random } from './random.ts';
import { call } from './rpc.ts';
import type { Time } from './time.ts';

/** Milliseconds that bytes are under way, one way; as much again by chance. */
const LATENCIES_MS = [0, 20, 75, 300] as const;
/** The server is told of changes; this is for what nobody tells. */
const POLL_MS = 600_000;
const HISTORY_MAX = 10_000;

type Delay = () => number;

/** One end of a connection. */
class End extends Duplex {
  peer: End | null = null;
  readonly #time: Time;
  readonly #delay: Delay;
  #lastAt = 0;

  constructor(time: Time, delay: Delay) {
    super();
    this.#time = time;
    this.#delay = delay;
  }

  /** What arrives at the other end arrives in its order. */
  #later(run: () => void): void {
    const { monotonic } = this.#time;
    this.#lastAt = Math.max(this.#lastAt, monotonic + this.#delay());
    if (this.#lastAt <= monotonic) this.#time.deliver(run);
    else setTimeout(run, this.#lastAt - monotonic);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#later(() => {
      if (this.peer && !this.peer.destroyed) this.peer.push(chunk);
    });
    done();
  }

  override _final(done: () => void): void {
    this.#later(() => this.peer?.push(null));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#later(() => this.peer?.destroy());
    done(error);
  }

  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  setTimeout(): this {
    return this;
  }
}

/** Stands in for what `net.createServer` gives. */
class Listener extends EventEmitter {
  readonly #take: (socket: net.Socket) => void;
  readonly #port: number;

  constructor(take: (socket: net.Socket) => void, port: number) {
    super();
    this.#take = take;
    this.#port = port;
  }

  listen(_port: number, _host: string, done: () => void): void {
    queueMicrotask(done);
  }
  address(): { port: number } {
    return { port: this.#port };
  }
  close(done: () => void): void {
    queueMicrotask(done);
  }
  accept(socket: net.Socket): void {
    this.emit('connection', socket);
    this.#take(socket);
  }
}

const listeners = new Map<number, Listener>();

/** The host of a coin's server, each of another operator. */
export const hostOf = (coin: string, server: number): string => `${coin.toLowerCase()}-${server}.simulated`;

const SERVER = /-(\d+)\.simulated\b/;

/** Connections to `hostOf` lead to the servers of that network, for the rest of the process. */
export function serveConnections(serverOf: (name: string) => Served | undefined, time: Time): void {
  const { connect } = net;
  const createServer = (take: (socket: net.Socket) => void): Listener => {
    const listener = new Listener(take, listeners.size + 1);
    listeners.set(listeners.size + 1, listener);
    return listener;
  };
  const replaced = (options: net.TcpNetConnectOpts): net.Socket => {
    const [, name = '', server] = /^([a-z]+)-(\d+)\.simulated$/.exec(String(options.host)) ?? [];
    const served = serverOf(name.toUpperCase());
    return served ? served.connect(time, Number(server)) : connect(options);
  };
  Object.assign(net, { connect: replaced, createServer });
  syncBuiltinESMExports();
}

export class Served {
  /** What one of the servers says that is not true. */
  lie: Lie | null = null;
  readonly #network: Network;
  readonly servers: readonly ElectrumServer[];
  readonly #random: Random;
  readonly #ends = new Set<End>();
  #liar = 0;
  readonly #liars = new Set<number>();
  #lying: Behaviour;
  /** What servers do that tell the truth otherwise than most. */
  readonly #odd = new Map<number, Behaviour>();
  readonly #honest: Behaviour;

  private constructor(network: Network, servers: readonly ElectrumServer[], random: Random, honest: Behaviour) {
    this.#network = network;
    this.servers = servers;
    this.#random = random;
    this.#honest = honest;
    this.#lying = honest;
  }

  /** `count`: so many servers in front of the network's node. `options`: of each of them. */
  static async start(
    network: Network,
    random: Random,
    count: number,
    options: { costs?: CostLimits; behaviour?: Behaviour } = {},
  ): Promise<Served> {
    const node: NodeRpc = {
      rpc: async <T = Json>(method: string, params: Json[]): Promise<T> => call(network, method, params) as T,
    };
    const followed = await FollowedChain.start(node, { segwit: network.name !== 'BCH', pollMs: POLL_MS });
    const servers: ElectrumServer[] = [];
    for (let server = 0; server < count; server++) {
      servers.push(await ElectrumServer.start(followed, { ...options, line: null }));
    }
    const served = new Served(network, servers, random, options.behaviour ?? {});
    network.onChange = () => served.#changed();
    return served;
  }

  /** From now on a server tells this lie. `scripts`: those that it can pay, by script hash. */
  tell(liar: number, lie: Lie, scripts: ReadonlyMap<string, Uint8Array>): void {
    const server = this.servers[liar];
    if (!server) throw new Error(`there is no server ${liar}`);
    this.#liar = liar;
    this.#liars.add(liar);
    this.lie = lie;
    this.#lying = lie.behaviour({ server, scripts, lied: () => undefined });
    this.#changed();
  }

  /** Whether the server of an address, as the service names it, has told nothing but the truth. */
  isHonest(address: string): boolean {
    const [, server] = SERVER.exec(address) ?? [];
    return server !== undefined && !this.#liars.has(Number(server));
  }

  /** Every server tells the truth again. */
  mend(): void {
    this.lie = null;
    this.#lying = this.#honest;
    this.#changed();
  }

  /** From now on an honest server behaves so. */
  disturb(server: number, behaviour: Behaviour): void {
    this.#odd.set(server, behaviour);
    this.#changed();
  }

  /** Every honest server behaves as most do again. */
  settle(): void {
    if (this.#odd.size === 0) return;
    this.#odd.clear();
    for (const { limits } of this.servers) limits.historyMax = HISTORY_MAX;
    this.#changed();
  }

  #changed(): void {
    const { health } = this.#network;
    if (health === 'down' || health === 'starting') this.cut();
    for (const [index, server] of this.servers.entries()) {
      const odd = this.#odd.get(index) ?? this.#honest;
      const told = this.lie && index === this.#liar ? this.#lying : odd;
      server.behaviour = health === 'silent' ? { write: () => undefined } : told;
    }
    // one chain, which all of them follow
    if (health !== 'down') void this.servers[0]?.followed.update().catch(() => undefined);
  }

  /** Every connection ends. */
  cut(): void {
    for (const end of this.#ends) end.destroy();
    this.#ends.clear();
  }

  connect(time: Time, server: number): net.Socket {
    const latency = this.#random.pick(LATENCIES_MS) ?? 0;
    const delay: Delay = () => Math.round(latency * (1 + this.#random.fraction()));
    const [ours, theirs] = [new End(time, delay), new End(time, delay)];
    ours.peer = theirs;
    theirs.peer = ours;
    const { health } = this.#network;
    time.deliver(() => {
      if (health === 'down' || health === 'starting') {
        ours.destroy(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
        return;
      }
      this.#ends.add(ours);
      // a stream of bytes with an address: what is used of a socket
      listeners.get(this.servers[server]?.port ?? 0)?.accept(theirs as unknown as net.Socket);
      ours.emit('connect');
    });
    return ours as unknown as net.Socket;
  }
}
