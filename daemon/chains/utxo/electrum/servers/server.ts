/**
 * One server: its connection, its tip, its subscriptions, its speed, and when it may be tried again. Its methods are
 * the protocol's calls; answers are parsed before they are returned.
 *
 * Invariant: a server that misbehaved is dropped before its statements are used.
 */
import { reversedHex, sha256d } from '../../../../kit/bytes.ts';
import { HEADER_BYTES } from '../headers/header.ts';
import * as answers from './answers.ts';
import { Connection, type Timeouts } from './connection.ts';
import { Doubts } from './doubts.ts';
import type { Endpoint } from './endpoint.ts';
import { operatorOf } from './endpoint.ts';
import { Between, ConnectionLost, isCostly, Misbehaved, ServerRefusal, TooLong } from './faults.ts';
import { type Haste, Pace } from './pace.ts';
import type { Pins } from './pins.ts';
import { Retries } from './retries.ts';

/** Calls whose answers may have any length. Others cannot make an answer too long. */
const LISTS: ReadonlySet<string> = new Set(['blockchain.scripthash.get_history', 'blockchain.scripthash.listunspent']);
/** How long a history may name a transaction in a block and once more without one. */
const BETWEEN_MS_MAX = 60_000;
/** How long a server may name a transaction that it does not show, for example during a reorganisation or while its node is busy. */
const DOUBTED_MS_MAX = 10_000;
/** How long it may give no history of a script that can be read, as while it is busy or announces one status after the other. */
const UNREAD_MS_MAX = 60_000;
/** A server that was left so often within an hour is told of. */
const LEAVES_MAX = 5;
/** The weight of the newest answer in the running mean of latencies. */
const LATENCY_WEIGHT = 0.2;
/** How often a status that changes during its request is requested again; the next announcement covers the rest. */
const SUBSCRIBE_TRIES_MAX = 3;

type ServerState = 'idle' | 'connecting' | 'ready' | 'waiting' | 'dropped';
export type Tip = { height: number; hash: string; header: Buffer };

export type ServerEvents = {
  onTip(server: Server): void;
  /** Called when a script's status changed on this server. */
  onStatus(server: Server, scriptHash: string): void;
  onReady(server: Server): void;
  onGone(server: Server): void;
  /** Called when the server misbehaved, or was left again and again. `reason`: its fault. */
  onDropped(server: Server, reason: string): void;
};

export type ServerOptions = {
  endpoint: Endpoint;
  /** Whether the operator configured this server. */
  own: boolean;
  proxy: string | null;
  proxyForAll: boolean;
  pins: Pins;
  timeouts: Timeouts;
  /** The accepted first blocks of this chain. */
  genesis: readonly string[];
  events: ServerEvents;
};

export class Server {
  readonly name: string;
  /** Servers of one operator count as one opinion. */
  readonly operator: string;
  tip: Tip | null = null;
  tipAtMs = 0;
  /** By script hash (hex in the protocol's order): the last announced status. Only while connected. */
  readonly statuses = new Map<string, string | null>();
  /** Concurrent requests; outlives a connection. */
  readonly pace = new Pace();
  /** Running mean; null before the first answer. */
  latencyMs: number | null = null;
  readonly retries: Retries;
  /** Why it is not connected, for the operator. */
  error: string | null = null;
  readonly #options: ServerOptions;
  /** Subscriptions being requested: the number of requests under way, and of announcements since. */
  readonly #joining = new Map<string, { news: number; asking: number }>();
  /** Scripts of whose history a transaction is named in a block and once more without one. */
  readonly #between = new Doubts(BETWEEN_MS_MAX);
  /** Scripts of whose history this connection names transactions that it does not show. */
  readonly doubts = new Doubts(DOUBTED_MS_MAX);
  /** Scripts whose history could not be read here when this connection was asked for it last. */
  readonly unread = new Doubts(UNREAD_MS_MAX);
  /** Subscriptions being ended. */
  readonly #leaving = new Map<string, Promise<void>>();
  #connection: Connection | null = null;
  #connecting: AbortController | null = null;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.name = options.endpoint.name;
    this.operator = operatorOf(options.endpoint);
    this.retries = new Retries(options.own ? options.timeouts.ownRetryMs : null);
  }

  get state(): ServerState {
    if (this.#connection) return 'ready';
    return this.#connecting ? 'connecting' : this.retries.state;
  }

  /** Its software and protocol version; null while it is not connected. */
  get software(): string | null {
    return this.#connection && `${this.#connection.software}, protocol ${this.#connection.protocol}`;
  }

  get protocol(): string {
    return this.#connection?.protocol ?? '';
  }

  /** Whether histories list unconfirmed transactions in the order of the status hash (since protocol 1.6). */
  get isOrdered(): boolean {
    return /^1\.6/.test(this.protocol);
  }

  /** Connects and reads the server's tip. Never throws: state and events tell the result. */
  async connect(): Promise<void> {
    if (this.#connection || this.#connecting) return;
    const stop = new AbortController();
    this.#connecting = stop;
    const { endpoint, proxy, proxyForAll, pins, timeouts } = this.#options;
    let connection: Connection | null = null;
    try {
      const events = {
        onNotification: (method: string, params: readonly unknown[]) => this.#notified(method, params),
        onEnd: (error: ConnectionLost | Misbehaved) => this.#ended(error),
        subscriptions: () => this.statuses.size,
      };
      connection = await Connection.open({ endpoint, proxy, proxyForAll, pins }, events, timeouts, stop.signal);
      const hash = reversedHex(
        sha256d(await connection.request('blockchain.block.header', [0], answers.readHeaderBytes)),
      );
      if (!this.#options.genesis.includes(hash))
        throw new Misbehaved(`it serves another chain, beginning with ${hash}`);
      await connection.request('blockchain.headers.subscribe', [], (value) => this.#setTip(answers.readTip(value)));
      stop.signal.throwIfAborted();
      this.#connection = connection;
      this.#connecting = null;
      this.doubts.clear();
      this.unread.clear();
      this.retries.ready();
      this.error = null;
      this.#options.events.onReady(this);
    } catch (error) {
      connection?.close();
      this.#connecting = null;
      if (stop.signal.aborted) return;
      this.#failed(asFault(error));
    }
  }

  /** Disconnects for a while. `reason`: the server's fault, if any. */
  disconnect(reason: string | null): void {
    this.#connecting?.abort(new Error('stopped'));
    const connection = this.#connection;
    this.#connection = null;
    connection?.close();
    this.#forget();
    if (reason !== null) this.#failed(new ConnectionLost(reason));
  }

  /** Ends all doubts about a script that is not watched any more. */
  endDoubts(scriptHash: string): void {
    for (const doubts of [this.#between, this.doubts, this.unread]) doubts.end(scriptHash);
  }

  /** Drops the server for misbehaviour, and returns the error to throw. */
  caught(reason: string): Misbehaved {
    const error = new Misbehaved(reason);
    // one fault may be found in several answers at once
    if (this.state !== 'dropped') this.#ended(error);
    return error;
  }

  /**
   * Leaves the server until it is tried again, as it does not give what it names: its node may be busy. One that is left again and again
   * is told of, and not dropped: where all nodes of a chain are busy, no payment would be seen. Returns the error to throw.
   */
  leave(reason: string): ConnectionLost {
    const error = new ConnectionLost(reason);
    if (!this.#connection) return error;
    this.retries.left();
    this.#ended(error);
    this.#tellLeaves(reason);
    return error;
  }

  /** Notes that another server is asked instead of it, which stays connected. */
  passedOver(reason: string): void {
    this.retries.left();
    this.#tellLeaves(reason);
  }

  #tellLeaves(reason: string): void {
    const times = this.retries.leaves;
    if (times < LEAVES_MAX) return;
    const told = `it was left ${times} times within an hour, the last time because ${reason}`;
    this.#options.events.onDropped(this, told);
  }

  /** The server's current tip. Everything that it announced before has arrived when this returns. */
  askTip(): Promise<Tip> {
    return this.#call('blockchain.headers.subscribe', [], (value) => this.#setTip(answers.readTip(value)));
  }

  /** Headers from a height upwards; fewer at the end of the chain. */
  headers(from: number, count: number): Promise<Buffer> {
    return this.#call('blockchain.block.headers', [from, count], (value) => answers.readHeaders(value, count));
  }

  header(height: number): Promise<Buffer> {
    return this.#call('blockchain.block.header', [height], answers.readHeaderBytes);
  }

  /**
   * Subscribes to a script; `statuses` then has its status and every later one. If an announcement arrives before the
   * answer, the order is unknown and the server is asked again.
   */
  async subscribe(scriptHash: string, haste: Haste = 'news'): Promise<string | null> {
    await this.#leaving.get(scriptHash);
    let status: string | null = null;
    for (let attempt = 0; attempt < SUBSCRIBE_TRIES_MAX; attempt++) {
      const before = this.#joining.get(scriptHash) ?? { news: 0, asking: 0 };
      this.#joining.set(scriptHash, before);
      const { news } = before;
      before.asking++;
      try {
        status = await this.#paced(haste, 'blockchain.scripthash.subscribe', [scriptHash], (value) => {
          const told = answers.readStatus(value);
          this.statuses.set(scriptHash, told);
          return told;
        });
      } finally {
        if (--before.asking === 0) this.#joining.delete(scriptHash);
      }
      if (before.news === news) break;
    }
    return status;
  }

  /** Ends a subscription. Before protocol 1.4.2 the server goes on announcing, which is ignored. */
  unsubscribe(scriptHash: string): Promise<void> {
    this.statuses.delete(scriptHash);
    if (this.protocol === '1.4' || this.protocol === '1.4.1') return Promise.resolve();
    const left = this.#paced('passing', 'blockchain.scripthash.unsubscribe', [scriptHash], () => null);
    // Requests may be served in any order, so a new subscription waits for this end.
    const ended = left.then(
      () => {},
      () => {},
    );
    this.#leaving.set(scriptHash, ended);
    void ended.then(() => this.#leaving.delete(scriptHash));
    return left.then(() => {});
  }

  /** The transactions of a script. Throws `TooLong` where they are more than are read. */
  history(scriptHash: string, haste: Haste = 'news'): Promise<answers.HistoryEntry[]> {
    const asked = this.#paced(haste, 'blockchain.scripthash.get_history', [scriptHash], answers.readHistory);
    return asked.then(
      (history) => {
        this.#between.end(scriptHash);
        return history;
      },
      (error: unknown) => {
        throw error instanceof Between ? this.#isBetween(scriptHash, error) : error;
      },
    );
  }

  /** The error to throw: a server that stays between two states is as bad as one that lies. */
  #isBetween(scriptHash: string, error: Between): Between | Misbehaved {
    if (!this.#between.isLong(scriptHash)) return error;
    return this.caught(`${error.message}, and has not ended that within a minute`);
  }

  /** The coins of a script as the server has them, less those that its mempool spends. Throws `TooLong` as `history` does. */
  unspent(scriptHash: string): Promise<answers.UnspentEntry[]> {
    return this.#paced('passing', 'blockchain.scripthash.listunspent', [scriptHash], answers.readUnspent);
  }

  transaction(txid: string): Promise<Buffer> {
    return this.#paced('news', 'blockchain.transaction.get', [txid], answers.readTransaction);
  }

  merkle(txid: string, height: number): Promise<answers.MerkleProof> {
    return this.#paced('news', 'blockchain.transaction.get_merkle', [txid, height], answers.readMerkle);
  }

  /** The first transaction of the block at a height, with its merkle branch. */
  firstOf(height: number): Promise<{ txid: string; branch: string[] }> {
    return this.#call('blockchain.transaction.id_from_pos', [height, 0, true], answers.readFirst);
  }

  /** Coins per 1,000 bytes for a transaction to be mined within `blocks`; -1 when the server does not know. */
  estimateFee(blocks: number): Promise<number> {
    return this.#call('blockchain.estimatefee', [blocks], answers.readFee);
  }

  /** Coins per 1,000 bytes below which the server's node relays nothing at the moment. */
  minimumFee(): Promise<number> {
    if (!this.isOrdered) return this.#call('blockchain.relayfee', [], answers.readFee);
    return this.#call('mempool.get_info', [], (value) => {
      const { mempoolminfee, minrelaytxfee } = (value ?? {}) as Record<string, unknown>;
      return Math.max(answers.readFee(mempoolminfee), answers.readFee(minrelaytxfee));
    });
  }

  /** Hands a transaction to the server's node. Throws `ServerRefusal` with the node's reason. */
  async broadcast(raw: string): Promise<void> {
    await this.#call('blockchain.transaction.broadcast', [raw], () => null);
  }

  /** A call that may be frequent: the pace limits how many run at once. */
  #paced<T>(haste: Haste, method: string, params: readonly unknown[], read: (value: unknown) => T): Promise<T> {
    return this.pace.run(haste, isCostly, () => this.#call(method, params, read));
  }

  async #call<T>(method: string, params: readonly unknown[], read: (value: unknown) => T): Promise<T> {
    const connection = this.#connection;
    if (!connection) throw new ConnectionLost('it is not connected');
    const began = performance.now();
    try {
      return await connection.request(method, params, (value) => {
        const tookMs = performance.now() - began;
        this.latencyMs = this.latencyMs === null ? tookMs : this.latencyMs + LATENCY_WEIGHT * (tookMs - this.latencyMs);
        return read(value);
      });
    } catch (error) {
      const isFault = error instanceof Misbehaved || (error instanceof TooLong && !LISTS.has(method));
      throw isFault && connection === this.#connection ? this.caught(`${error.message} (${method})`) : error;
    }
  }

  #setTip({ height, header }: answers.TipNews): Tip {
    const hash = reversedHex(sha256d(header.subarray(0, HEADER_BYTES)));
    if (this.tip?.hash !== hash) {
      this.tip = { height, hash, header };
      this.tipAtMs = performance.now();
    }
    return this.tip;
  }

  #notified(method: string, params: readonly unknown[]): void {
    try {
      if (method === 'blockchain.headers.subscribe') {
        this.#setTip(answers.readTip(params[0]));
        this.#options.events.onTip(this);
      } else if (method === 'blockchain.scripthash.subscribe') {
        const [scriptHash, status] = [params[0], answers.readStatus(params[1])];
        if (typeof scriptHash !== 'string') return;
        const joining = this.#joining.get(scriptHash);
        if (joining) joining.news++;
        // Announcements for scripts that are not subscribed are ignored.
        if (!this.statuses.has(scriptHash)) return;
        this.statuses.set(scriptHash, status);
        this.#options.events.onStatus(this, scriptHash);
      }
    } catch (error) {
      this.#ended(asFault(error));
    }
  }

  #ended(error: ConnectionLost | Misbehaved): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.close();
    this.#forget();
    this.#failed(error);
    if (connection) this.#options.events.onGone(this);
  }

  #forget(): void {
    this.statuses.clear();
    this.#between.clear();
    this.unread.clear();
    this.tip = null;
  }

  #failed(error: ConnectionLost | Misbehaved): void {
    this.error = error.message;
    const isLie = error instanceof Misbehaved;
    this.retries.failed(isLie);
    if (isLie) this.#options.events.onDropped(this, error.message);
  }
}

/** Why a connection ended, for the operator. Errors that are no server's fault keep their message. */
function asFault(error: unknown): ConnectionLost | Misbehaved {
  if (error instanceof Misbehaved || error instanceof ConnectionLost) return error;
  if (error instanceof ServerRefusal) {
    return new ConnectionLost(`it refuses what every server must answer: ${error.message}`);
  }
  return new ConnectionLost(`not connected: ${error instanceof Error ? error.message : String(error)}`);
}
