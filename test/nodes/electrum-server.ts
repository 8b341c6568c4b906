/**
 * A small Electrum server in front of a regtest node, for tests: no such server comes from npm or Debian. It follows the
 * protocol documents (1.4 to 1.6), over TCP or TLS. A `Behaviour` makes it lie; tests change it while it runs.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { type Certificate, selfSigned } from './certificate.ts';
import type { CostLimits } from './cost-limit.ts';
import { ElectrumChain, type Json, type NodeRpc } from './electrum-chain.ts';
import { Session } from './electrum-session.ts';
import { type Line, Link, lineOf } from './link.ts';
import { listening } from './listening.ts';

const POLL_MS = 100;
/** How far away servers are where a test does not say, in milliseconds each way. */
const LATENCY_MS = Number(process.env.COUNTINGHOUSE_TEST_LATENCY_MS ?? 40);

/** Departures from honesty. What is absent is done as an honest server does it. */
export type Behaviour = {
  /** A connection: true when it is not to be served at all. */
  connect?: (socket: Socket) => boolean;
  /** The result of a request; `honest` computes the true one. */
  answer?: (method: string, params: Json[], honest: () => unknown, session: Session) => unknown;
  /** What a notification says; null withholds it. */
  notify?: (method: string, params: Json[], session: Session) => Json[] | null;
  /** Sends a line, instead of `session.write(line)`. */
  write?: (line: string, session: Session) => void;
};

type Limits = {
  receiveBytesMax: number;
  sendBytesMax: number;
  unreadBytesMax: number;
  subscriptionsMax: number;
  batchMax: number;
  headersMax: number;
  historyMax: number;
};

/** Those of the servers in use, about. */
const LIMITS: Limits = {
  receiveBytesMax: 1_000_000,
  sendBytesMax: 1_000_000,
  unreadBytesMax: 64_000_000,
  subscriptionsMax: 50_000,
  batchMax: 1_000,
  headersMax: 2016,
  historyMax: 10_000,
};

/** A node's chain, kept up to date for any number of servers. */
export class FollowedChain {
  readonly node: NodeRpc;
  readonly segwit: boolean;
  readonly chain: ElectrumChain;
  readonly #listeners = new Set<() => void>();
  readonly #pollMs: number;
  #running: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #stopped = false;

  private constructor(node: NodeRpc, segwit: boolean, pollMs: number) {
    this.node = node;
    this.segwit = segwit;
    this.chain = new ElectrumChain(node, segwit);
    this.#pollMs = pollMs;
  }

  /** `segwit` is false for BCH, whose transactions have no witnesses. */
  static async start(node: NodeRpc, { segwit = true, pollMs = POLL_MS } = {}): Promise<FollowedChain> {
    const followed = new FollowedChain(node, segwit, pollMs);
    await followed.chain.update();
    followed.#running = followed.#run();
    return followed;
  }

  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await sleep(this.#pollMs);
      // A node that is away leaves the server with what it knows.
      await this.update().catch(() => undefined);
    }
  }

  /** Looks at the node, once a look that is under way has ended. Throws when the node does not answer. */
  update(): Promise<void> {
    // Whoever asks before it has begun shares it.
    this.#next ??= this.#looking.then(async () => {
      this.#next = null;
      const { any } = await this.chain.update();
      if (any) for (const listener of this.#listeners) listener();
    });
    const done = this.#next;
    this.#looking = done.catch(() => undefined);
    return done;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}

type ServerOptions = {
  /** True makes a certificate. */
  tls?: boolean | Certificate;
  protocol?: { min: string; max: string };
  limits?: Partial<Limits>;
  behaviour?: Behaviour;
  port?: number;
  /** What the address says; it must lead to this machine. Default: 127.0.0.1. */
  host?: string;
  /** Has costly sessions slowed down, as ElectrumX does. */
  costs?: CostLimits;
  /** What lies between the server and its clients; null for nothing. */
  line?: Line | null;
};

export class ElectrumServer {
  readonly name = 'TestElectrum 1.0';
  readonly followed: FollowedChain;
  readonly protocol: { min: string; max: string };
  readonly limits: Limits;
  readonly costs: CostLimits | null;
  readonly sessions = new Set<Session>();
  /** How often each method was asked for. */
  readonly calls = new Map<string, number>();
  behaviour: Behaviour;
  connections = 0;
  certificate: Certificate | null;
  /** Where clients connect to. */
  readonly host: string;
  port: number;
  /** What lies between the server and its clients; it may be changed at any time where there is one. */
  readonly line: Line | null;
  readonly #owned: boolean;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #link: Link | null = null;
  #forget: () => void = () => undefined;

  private constructor(followed: FollowedChain, owned: boolean, options: ServerOptions) {
    this.followed = followed;
    this.#owned = owned;
    this.protocol = options.protocol ?? { min: '1.4', max: '1.6' };
    this.limits = { ...LIMITS, ...options.limits };
    this.behaviour = options.behaviour ?? {};
    this.costs = options.costs ?? null;
    this.certificate = options.tls === true ? selfSigned() : options.tls || null;
    this.host = options.host ?? '127.0.0.1';
    this.port = options.port ?? 0;
    this.line = options.line === undefined ? lineOf(LATENCY_MS) : options.line;
  }

  /** Starts a server on a chain that others follow too, or on a node alone. */
  static async start(
    source: FollowedChain | { node: NodeRpc; segwit?: boolean; pollMs?: number },
    options: ServerOptions = {},
  ): Promise<ElectrumServer> {
    const shared = source instanceof FollowedChain;
    const followed = shared ? source : await FollowedChain.start(source.node, source);
    const server = new ElectrumServer(followed, !shared, options);
    await server.listen();
    return server;
  }

  get chain(): ElectrumChain {
    return this.followed.chain;
  }

  get node(): NodeRpc {
    return this.followed.node;
  }

  get segwit(): boolean {
    return this.followed.segwit;
  }

  /** As in the configuration: ssl://127.0.0.1:50002 */
  get url(): string {
    return `${this.certificate ? 'ssl' : 'tcp'}://${this.host}:${this.port}`;
  }

  count(method: string): void {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
  }

  features(): Json {
    return {
      hosts: { '127.0.0.1': { [this.certificate ? 'ssl_port' : 'tcp_port']: this.port } },
      genesis_hash: this.chain.blocks[0]?.hash ?? '',
      hash_function: 'sha256',
      server_version: this.name,
      protocol_min: this.protocol.min,
      protocol_max: this.protocol.max,
      pruning: null,
    };
  }

  /** Takes connections, on the port it had before if it had one. */
  async listen(): Promise<void> {
    const { certificate } = this;
    const server: Server = certificate
      ? createTlsServer({ key: certificate.key, cert: certificate.cert }, (socket) => this.#accept(socket))
      : createServer((socket) => this.#accept(socket));
    server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    });
    const port = await listening(server, this.line ? 0 : this.port);
    if (this.#link) this.#link.open(port);
    else if (this.line) this.#link = await Link.start(port, this.line, this.port);
    this.port = this.#link?.port ?? port;
    this.#server = server;
    this.#forget = this.followed.onNews(() => {
      for (const session of this.sessions) session.tellNews();
    });
  }

  #accept(socket: Socket): void {
    if (this.behaviour.connect?.(socket)) return;
    const session = new Session(this, socket);
    this.sessions.add(session);
    socket.on('close', () => this.sessions.delete(session));
  }

  /** Cuts all connections, and goes on taking new ones. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends connections and takes no more, until `listen`. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#forget();
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.dropConnections();
    this.#link?.cut();
    await closed;
  }

  /** Goes on taking connections and bytes but says nothing any more: frozen, not closed. Undone by another behaviour. */
  freeze(): void {
    this.behaviour = { write: () => undefined };
  }

  async stop(): Promise<void> {
    await this.close();
    await this.#link?.stop();
    this.#link = null;
    if (this.#owned) await this.followed.stop();
  }
}
