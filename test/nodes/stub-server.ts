/**
 * The least that can pass for an Electrum server, without a node behind it: it has the headers and histories that a test
 * gives it, and answers what the test says otherwise. For what concerns servers, not money.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { hashOf, REGTEST_GENESIS } from '../unit/chains/headers-kit.ts';
import { type HistoryItem, type Json, sha256 } from './electrum-chain.ts';
import { listening } from './listening.ts';

/** In the place of a result: no answer ever comes. */
export const SILENCE = Symbol('no answer');
const HEADERS_MAX = 2016;

/** A result in the very bytes that are to be sent. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a method answers instead: undefined leaves it as it is; an error is a refusal. */
export type Answer = (method: string, params: Json[]) => unknown;

type StubOptions = { headers?: readonly Buffer[]; answer?: Answer; host?: string };

export class StubServer {
  /** As the address has it; it must lead to this machine. */
  readonly host: string;
  /** From the chain's first block on. */
  headers: Buffer[];
  readonly histories = new Map<string, HistoryItem[]>();
  /** By script hash: what `listunspent` answers. */
  readonly coins = new Map<string, Json[]>();
  /** How often each method was asked for. */
  readonly calls = new Map<string, number>();
  answer: Answer;
  port = 0;
  connections = 0;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;

  private constructor(headers: readonly Buffer[], answer: Answer, host: string) {
    this.host = host;
    this.headers = [REGTEST_GENESIS, ...headers];
    this.answer = answer;
  }

  static async start(options: StubOptions = {}): Promise<StubServer> {
    const { headers = [], answer = () => undefined, host = '127.0.0.1' } = options;
    const server = new StubServer(headers, answer, host);
    await server.listen();
    return server;
  }

  get url(): string {
    return `tcp://${this.host}:${this.port}`;
  }

  get tip(): { height: number; hash: string } {
    return { height: this.headers.length - 1, hash: hashOf(this.headers.at(-1) as Buffer) };
  }

  /** Takes connections, on the port that it had before if it had one. */
  async listen(): Promise<void> {
    const server = createServer((socket) => this.#serve(socket));
    this.port = await listening(server, this.port, this.host);
    this.#server = server;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Adds a block and tells every connection. */
  mined(header: Buffer): void {
    this.headers.push(header);
    this.tell('blockchain.headers.subscribe', [this.#tipNews()]);
  }

  /** Gives a script a history and tells every connection. */
  pay(scriptHash: string, history: HistoryItem[]): void {
    this.histories.set(scriptHash, history);
    this.tell('blockchain.scripthash.subscribe', [scriptHash, this.#statusOf(scriptHash)]);
  }

  tell(method: string, params: unknown[]): void {
    for (const socket of this.#sockets) socket.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
  }

  #serve(socket: Socket): void {
    let rest = '';
    this.connections++;
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) void this.#take(socket, line);
    });
  }

  async #take(socket: Socket, line: string): Promise<void> {
    const { id, method, params } = JSON.parse(line) as { id: number; method: string; params: Json[] };
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    let said: Record<string, unknown>;
    try {
      const own = await this.answer(method, params);
      said = { result: own === undefined ? this.#honest(method, params) : own };
    } catch (error) {
      const { code = 1, message } = error as { code?: number; message: string };
      said = { error: { code, message } };
    }
    const { result } = said;
    if (result === SILENCE || socket.destroyed) return;
    if (result instanceof RawJson) socket.write(`{"id":${id},"jsonrpc":"2.0","result":${result.text}}\n`);
    else socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...said, id })}\n`);
  }

  #honest(method: string, params: Json[]): unknown {
    const [first] = params as [string];
    switch (method) {
      case 'server.version':
        return ['Stub 1.0', '1.4.3'];
      case 'server.ping':
        return null;
      case 'blockchain.block.header':
        return this.headers[Number(first)]?.toString('hex');
      case 'blockchain.headers.subscribe':
        return this.#tipNews();
      case 'blockchain.block.headers': {
        const run = this.headers.slice(Number(first), Number(first) + Math.min(Number(params[1]), HEADERS_MAX));
        return { count: run.length, hex: Buffer.concat(run).toString('hex'), max: HEADERS_MAX };
      }
      case 'blockchain.scripthash.subscribe':
        return this.#statusOf(first);
      case 'blockchain.scripthash.unsubscribe':
        return true;
      case 'blockchain.scripthash.get_history':
        return this.histories.get(first) ?? [];
      case 'blockchain.scripthash.listunspent':
        return this.coins.get(first) ?? [];
      default:
        throw new Error(`unknown method ${method}`);
    }
  }

  #tipNews(): { height: number; hex: string } {
    return { height: this.tip.height, hex: (this.headers.at(-1) as Buffer).toString('hex') };
  }

  #statusOf(scriptHash: string): string | null {
    const history = this.histories.get(scriptHash) ?? [];
    const text = history.map(({ tx_hash, height }) => `${tx_hash}:${height}:`).join('');
    return text === '' ? null : sha256(text).toString('hex');
  }
}
