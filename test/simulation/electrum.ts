/**
 * Electrum servers in front of simulated nodes: the test's own server (`test/nodes/electrum-server.ts`) over connections
 * without sockets, whose bytes take their time.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { Duplex } from 'node:stream';
import type { Json, NodeRpc } from '../nodes/electrum-chain.ts';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import type { Network } from './network.ts';
import type { Random } from './random.ts';
import { call } from './rpc.ts';
import type { Time } from './time.ts';

/** Milliseconds that bytes are under way, one way; as much again by chance. */
const LATENCIES_MS = [0, 20, 75, 300] as const;
/** The server is told of changes; this is for what nobody tells. */
const POLL_MS = 600_000;

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

/** Connections to `NAME.simulated` lead to the server of that network, for the rest of the process. */
export function serveConnections(serverOf: (name: string) => Served | undefined, time: Time): void {
  const { connect } = net;
  const createServer = (take: (socket: net.Socket) => void): Listener => {
    const listener = new Listener(take, listeners.size + 1);
    listeners.set(listeners.size + 1, listener);
    return listener;
  };
  const replaced = (options: net.TcpNetConnectOpts): net.Socket => {
    const [name = '', domain] = String(options.host).split('.');
    const served = domain === 'simulated' ? serverOf(name.toUpperCase()) : undefined;
    return served ? served.connect(time) : connect(options);
  };
  Object.assign(net, { connect: replaced, createServer });
  syncBuiltinESMExports();
}

export class Served {
  readonly #network: Network;
  readonly #server: ElectrumServer;
  readonly #random: Random;
  readonly #ends = new Set<End>();

  private constructor(network: Network, server: ElectrumServer, random: Random) {
    this.#network = network;
    this.#server = server;
    this.#random = random;
  }

  static async start(network: Network, random: Random): Promise<Served> {
    const node: NodeRpc = {
      rpc: async <T = Json>(method: string, params: Json[]): Promise<T> => call(network, method, params) as T,
    };
    const followed = await FollowedChain.start(node, { segwit: network.name !== 'BCH', pollMs: POLL_MS });
    const server = await ElectrumServer.start(followed, { line: null });
    const served = new Served(network, server, random);
    network.onChange = () => served.#changed();
    return served;
  }

  #changed(): void {
    const { health } = this.#network;
    if (health === 'down' || health === 'starting') this.cut();
    this.#server.behaviour = health === 'silent' ? { write: () => undefined } : {};
    if (health !== 'down') void this.#server.followed.update().catch(() => undefined);
  }

  /** Every connection ends. */
  cut(): void {
    for (const end of this.#ends) end.destroy();
    this.#ends.clear();
  }

  connect(time: Time): net.Socket {
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
      listeners.get(this.#server.port)?.accept(theirs as unknown as net.Socket);
      ours.emit('connect');
    });
    return ours as unknown as net.Socket;
  }
}
