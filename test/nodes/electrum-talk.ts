/** A bare connection to an Electrum server, for tests of the server itself: lines out, lines in, no opinions. */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Json } from './electrum-chain.ts';

const ANSWER_WITHIN_MS = 10_000;

type Message = {
  id?: Json;
  method?: string;
  params?: Json[];
  result?: Json;
  error?: { code: number; message: string };
};

export class Talk {
  readonly socket: Socket;
  /** Every message that has come, in order; a batch as its own list. */
  readonly heard: (Message | Message[])[] = [];
  closed = false;
  #text = '';
  #lastId = 0;
  #waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
    socket.on('data', (text: string) => {
      const lines = (this.#text + text).split('\n');
      this.#text = lines.pop() ?? '';
      for (const line of lines) this.heard.push(JSON.parse(line) as Message | Message[]);
      this.#wake();
    });
  }

  static async open(url: string, version: Json = ['1.4', '1.6']): Promise<Talk> {
    const { protocol, hostname, port } = new URL(
      url.replace(/^(tcp|ssl):/, (scheme) => (scheme === 'ssl:' ? 'https:' : 'http:')),
    );
    const to = { host: hostname, port: Number(port) };
    const socket = protocol === 'https:' ? connectTls({ ...to, rejectUnauthorized: false }) : connectTcp(to);
    const talk = new Talk(socket);
    if (version !== null) await talk.ask('server.version', ['test', version]);
    return talk;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Waits until `found` finds something in what was heard, or the connection ends. */
  async until<T>(found: () => T | undefined): Promise<T> {
    const deadline = performance.now() + ANSWER_WITHIN_MS;
    for (;;) {
      const value = found();
      if (value !== undefined) return value;
      const left = deadline - performance.now();
      if (left <= 0) throw new Error('nothing was heard in time');
      if (this.closed) throw new Error('the server ended the connection');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  write(text: string): void {
    this.socket.write(text);
  }

  /** The whole answer to a request. */
  answer(method: string, params: Json[] = []): Promise<Message> {
    const id = ++this.#lastId;
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return this.until(() => this.heard.find((one): one is Message => !Array.isArray(one) && one.id === id));
  }

  /** The result of a request. Throws what the server refuses. */
  async ask<T = Json>(method: string, params: Json[] = []): Promise<T> {
    const { result, error } = await this.answer(method, params);
    if (error) throw new Error(`${error.code}: ${error.message}`);
    return result as T;
  }

  /** Waits for a notification that fits. */
  told(method: string, fits: (params: Json[]) => boolean = () => true): Promise<Json[]> {
    return this.until(
      () =>
        this.heard.find((one): one is Message => !Array.isArray(one) && one.method === method && fits(one.params ?? []))
          ?.params,
    );
  }

  end(): void {
    this.socket.destroy();
  }
}
