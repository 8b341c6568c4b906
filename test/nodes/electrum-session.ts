/**
 * One connection to the test Electrum server: framing, JSON-RPC (1.0 and 2.0, single and in batches), negotiation,
 * subscriptions and limits. It keeps what is awkward in real servers: requests that come together are answered in
 * another order, notifications come in between, and what exceeds a limit is refused or ends the connection.
 */
import type { Socket } from 'node:net';
import { CostAccount } from './cost-limit.ts';
import type { Json } from './electrum-chain.ts';
import { type Call, CODES, compareVersions, ElectrumError, isSorted, methodOf, versionOf } from './electrum-methods.ts';
import type { ElectrumServer } from './electrum-server.ts';

type Message = { jsonrpc?: string; id?: Json; method?: Json; params?: Json };

const errorOf = (error: unknown): ElectrumError =>
  error instanceof ElectrumError ? error : new ElectrumError(CODES.daemon, `internal server error: ${String(error)}`);

export class Session {
  readonly socket: Socket;
  /** The status last told, by script hash. */
  readonly subscriptions = new Map<string, string | null>();
  version: readonly number[] | null = null;
  client = '';
  readonly #server: ElectrumServer;
  readonly costs: CostAccount | null;
  #headers = false;
  #toldTip = '';
  #rpc2 = true;
  #received = Buffer.alloc(0);
  #waiting: Buffer[] = [];
  #scheduled = false;

  constructor(server: ElectrumServer, socket: Socket) {
    this.#server = server;
    this.socket = socket;
    this.costs = server.costs && new CostAccount(server.costs, () => this.subscriptions.size);
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
  }

  get open(): boolean {
    return this.socket.writable && !this.socket.destroyed;
  }

  #receive(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (let end = this.#received.indexOf(10); end >= 0; end = this.#received.indexOf(10)) {
      this.#waiting.push(Buffer.from(this.#received.subarray(0, end)));
      this.#received = this.#received.subarray(end + 1);
    }
    if (this.#received.length > this.#server.limits.receiveBytesMax) this.socket.destroy();
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => this.#work());
  }

  /** Serves what has come in; the last first once the version is agreed, since no order is promised. */
  async #work(): Promise<void> {
    const lines = this.#waiting.splice(0);
    this.#scheduled = false;
    while (lines.length > 0 && this.open) {
      const line = this.version ? lines.pop() : lines.shift();
      if (line === undefined) break;
      const serving = this.#serve(line);
      if (!this.version) await serving;
    }
  }

  async #serve(line: Buffer): Promise<void> {
    let message: Message | Message[];
    try {
      message = JSON.parse(line.toString('utf8')) as Message | Message[];
    } catch {
      return this.#send({ error: { code: CODES.parse, message: 'invalid JSON' }, id: null });
    }
    if (!Array.isArray(message)) {
      const answer = await this.#answer(message);
      if (answer) this.#send(answer);
      return;
    }
    if (message.length === 0 || message.length > this.#server.limits.batchMax) {
      this.#send({ error: { code: CODES.invalid, message: 'the batch is empty or too large' }, id: null });
      this.socket.end();
      return;
    }
    const answers = await Promise.all(message.map((one) => this.#answer(one)));
    this.#send(answers.filter((answer) => answer !== null).reverse());
  }

  /** The answer to a request; null to a notification. */
  async #answer(message: Message): Promise<{ [key: string]: Json } | null> {
    const id = message?.id;
    try {
      if (message === null || typeof message !== 'object' || typeof message.method !== 'string') {
        throw new ElectrumError(CODES.invalid, 'invalid request');
      }
      this.#rpc2 = message.jsonrpc === '2.0';
      const params = this.#params(message.params);
      this.#server.count(message.method);
      const result = (await this.#result(message.method, params)) as Json;
      if (id === undefined) return null;
      const sent: { [key: string]: Json } = this.#rpc2 ? { jsonrpc: '2.0', result, id } : { result, error: null, id };
      const { sendBytesMax } = this.#server.limits;
      if (JSON.stringify(sent).length <= sendBytesMax) return sent;
      throw new ElectrumError(CODES.excess, `response too large (over ${sendBytesMax} bytes)`);
    } catch (error) {
      const { code, message: text, fatal } = errorOf(error);
      if (fatal) setImmediate(() => this.socket.end());
      const said = { error: { code, message: text }, id: id ?? null };
      return this.#rpc2 ? { jsonrpc: '2.0', ...said } : { result: null, ...said };
    }
  }

  /** What a method answers, once the session may be served. */
  async #result(method: string, params: Json[]): Promise<unknown> {
    const honest = () => this.#call(method, params);
    const { answer } = this.#server.behaviour;
    const serve = async () => (answer ? answer(method, params, honest, this) : honest());
    if (!this.costs) return serve();
    let result: unknown;
    const admission = await this.costs.admit(method, async () => {
      result = await serve();
    });
    if (admission === 'excessive') throw new ElectrumError(CODES.excess, 'excessive resource usage', true);
    if (admission === 'busy') throw new ElectrumError(CODES.busy, 'server busy - request timed out');
    return result;
  }

  #params(params: Json | undefined): Json[] {
    if (params === undefined) return [];
    if (Array.isArray(params)) return params;
    throw new ElectrumError(CODES.params, 'this server takes parameters by position');
  }

  #call(name: string, params: Json[]): unknown {
    if (name === 'server.version') return this.#negotiate(params);
    if (!this.version) throw new ElectrumError(CODES.bad, 'use server.version to identify client', true);
    const method = methodOf(name, this.version);
    if (params.length > method.params) throw new ElectrumError(CODES.params, `${name} takes fewer arguments`);
    return method.call(this.#context(this.version), params);
  }

  #negotiate([client, wanted]: Json[]): Json {
    if (this.version) throw new ElectrumError(CODES.bad, 'server.version already sent');
    const [least, most] = Array.isArray(wanted) ? wanted : [wanted ?? '1.4', wanted ?? '1.4'];
    const { min, max } = this.#server.protocol;
    const both = [versionOf(least), versionOf(most)] as const;
    const version = compareVersions(both[1], versionOf(max)) < 0 ? both[1] : versionOf(max);
    if (compareVersions(version, both[0]) < 0 || compareVersions(version, versionOf(min)) < 0) {
      throw new ElectrumError(CODES.bad, `unsupported protocol version: ${JSON.stringify(wanted)}`, true);
    }
    this.client = String(client ?? '');
    this.version = version;
    return [this.#server.name, version.join('.')];
  }

  #context(version: readonly number[]): Call {
    const server = this.#server;
    const { chain, node, segwit } = server;
    return {
      chain,
      node,
      segwit,
      version,
      headersMax: server.limits.headersMax,
      historyMax: server.limits.historyMax,
      features: () => server.features(),
      subscribeHeaders: () => {
        this.#headers = true;
        this.#toldTip = chain.tip.hash;
      },
      subscribe: (scripthash) => {
        if (this.subscriptions.size >= server.limits.subscriptionsMax) {
          throw new ElectrumError(CODES.excess, 'excessive resource usage', true);
        }
        const status = chain.statusOf(scripthash, isSorted(version));
        this.subscriptions.set(scripthash, status);
        return status;
      },
      unsubscribe: (scripthash) => this.subscriptions.delete(scripthash),
    };
  }

  /** Tells of a new tip (only the newest, also after a reorganisation) and of what has changed. */
  tellNews(): void {
    const { chain } = this.#server;
    if (this.#headers && this.#toldTip !== chain.tip.hash) {
      this.#toldTip = chain.tip.hash;
      const tip = { hex: chain.tip.header.toString('hex'), height: chain.height };
      this.notify('blockchain.headers.subscribe', [tip]);
    }
    for (const [scripthash, told] of this.subscriptions) {
      const status = chain.statusOf(scripthash, isSorted(this.version ?? []));
      if (status === told) continue;
      this.subscriptions.set(scripthash, status);
      this.notify('blockchain.scripthash.subscribe', [scripthash, status]);
    }
  }

  notify(method: string, params: Json[]): void {
    const { notify } = this.#server.behaviour;
    const told = notify ? notify(method, params, this) : params;
    if (told) this.#send(this.#rpc2 ? { jsonrpc: '2.0', method, params: told } : { id: null, method, params: told });
  }

  #send(message: Json): void {
    const line = `${JSON.stringify(message)}\n`;
    const { write } = this.#server.behaviour;
    if (write) write(line, this);
    else this.write(line);
  }

  /** Writes bytes as they are. A client that does not read them is cut off. */
  write(bytes: string | Uint8Array): void {
    if (!this.open) return;
    this.socket.write(bytes);
    if (this.socket.writableLength > this.#server.limits.unreadBytesMax) this.socket.destroy();
  }
}
