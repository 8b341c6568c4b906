/**
 * JSON-RPC over HTTP to a node: authentication, batches and limits. Every refusal becomes one of two errors. `RpcError`
 * is the node's answer to one call; `Unavailable` means that no such answer came.
 *
 * Invariant: user name, password and cookie are in the Authorization header only, and never in an error.
 */
import { readFile } from 'node:fs/promises';
import type http from 'node:http';
import { assert, Rejected, Unavailable } from '../domain/errors.ts';
import { loginOf } from '../kit/login.ts';
import { type Answer, codeOf, keepAliveAgent, post } from './http.ts';
import { parsedList, parsedResult } from './json-list.ts';
import { slices } from './slices.ts';

type RpcOptions = {
  /** http(s)://user:password@host:port[/path], the credentials percent-encoded. */
  url: string;
  /** Bitcoin's `.cookie`, which changes with every start of the node; used when the URL has no credentials. */
  cookieFile?: string | undefined;
  /** How messages name this setting, such as "[networks.regtest.LTC] core_rpc". */
  label: string;
  responseBytesMax: number;
  /** Nodes of the Bitcoin family all answer version 1.0 alike; Ethereum's speak 2.0 only. */
  version: '1.0' | '2.0';
};

export type Call = readonly [method: string, ...params: readonly Parameter[]];
type Parameter = string | number | boolean | null | readonly Parameter[] | { readonly [name: string]: Parameter };
export type Reply = { result: unknown } | { error: RpcError };

/** The node's own refusal of a call. Codes: Bitcoin Core's `rpc/protocol.h`; Ethereum's EIP-1474. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

/** An answer above the limit of bytes. A smaller request may have a shorter one. */
export class TooLarge extends Unavailable {}

export const BATCH_CALLS_MAX = 200;
const REQUEST_TIMEOUT_MS = 60_000;
const CONNECTIONS_MAX = 3;
const RETRY_SECONDS = 5;
const NODE_MESSAGE_CHARS_MAX = 300;
/** Shorter answers are searched for an error, which some nodes send with HTTP 200. */
const ERROR_BODY_BYTES_MAX = 4096;
/** Bytes of an answer that are parsed in one turn of the event loop. */
const BODY_BYTES_AT_ONCE = 512 * 1024;
/** RPC_IN_WARMUP: the node runs and reads its files. */
const STARTING = -28;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export class Rpc {
  /** The node's address, without credentials. */
  readonly source: string;
  readonly #options: RpcOptions;
  readonly #url: URL;
  readonly #agent: http.Agent;
  #connections = 0;
  /** Whether the node answered this machine before. */
  #isAllowed = false;
  #cookie: string | null = null;

  /** Throws `Rejected` for an invalid URL. */
  constructor(options: RpcOptions) {
    this.#options = options;
    this.#url = parseUrl(options);
    this.#agent = keepAliveAgent(this.#url, CONNECTIONS_MAX);
    this.source = this.#url.host;
  }

  /** The number of connections opened so far. Another node may be at the other end of a new one. */
  get connections(): number {
    return this.#connections;
  }

  /** The result of a call. Throws `RpcError` or `Unavailable`. */
  async call(call: Call, signal: AbortSignal, timeoutMs = REQUEST_TIMEOUT_MS): Promise<unknown> {
    const answer = await this.#exchange(JSON.stringify(this.#envelope(call, 0)), signal, timeoutMs);
    const list = isLong(answer) && (await parsedResult(answer.body, slices()));
    if (list) return list;
    return resultOf(this.#checked(replyOf(this.#parsed(answer, [call]))));
  }

  /** The whole body of a successful answer, for results too large to parse in one go. Throws as `call` does. */
  async raw(call: Call, signal: AbortSignal): Promise<Buffer> {
    const answer = await this.#exchange(JSON.stringify(this.#envelope(call, 0)), signal);
    if (answer.status !== 200 || answer.body.length <= ERROR_BODY_BYTES_MAX) {
      resultOf(this.#checked(replyOf(this.#parsed(answer, [call]))));
    }
    return answer.body;
  }

  /** The answers in the order of the calls, at most BATCH_CALLS_MAX. Throws `Unavailable`. */
  async batch(calls: readonly Call[], signal: AbortSignal, timeoutMs = REQUEST_TIMEOUT_MS): Promise<Reply[]> {
    assert(calls.length <= BATCH_CALLS_MAX, `a batch of ${calls.length} calls`);
    if (calls.length === 0) return [];
    const said = JSON.stringify(calls.map((call, id) => this.#envelope(call, id)));
    const answered = await this.#exchange(said, signal, timeoutMs);
    const answer = (isLong(answered) && (await parsedList(answered.body, slices()))) || this.#parsed(answered, calls);
    // Go-Ethereum refuses a batch by one error in a list
    if (!Array.isArray(answer) || (answer.length === 1 && calls.length > 1)) {
      const reply = this.#checked(replyOf([answer].flat()[0]));
      throw this.#unavailable(
        `the node refuses a batch: ${'error' in reply ? reply.error.message : 'one answer only'}`,
      );
    }
    // the answers of a batch may come in any order, and some servers write ids as texts
    const byId = new Map(answer.map((item: unknown) => [isObject(item) ? `${item.id}` : '', item]));
    return calls.map((_call, id) => this.#checked(replyOf(byId.get(`${id}`))));
  }

  close(): void {
    this.#agent.destroy();
  }

  #envelope([method, ...params]: Call, id: number) {
    return { jsonrpc: this.#options.version, id, method, params };
  }

  #unavailable(what: string): Unavailable {
    return new Unavailable(`${this.#options.label}: ${what}`, RETRY_SECONDS);
  }

  async #exchange(body: string, signal: AbortSignal, timeoutMs = REQUEST_TIMEOUT_MS): Promise<Answer> {
    signal.throwIfAborted();
    try {
      const answer = await this.#send(body, await this.#login(false), signal, timeoutMs);
      if (answer.status !== 401 || !this.#usesCookie()) return answer;
      return await this.#send(body, await this.#login(true), signal, timeoutMs);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Unavailable) throw error;
      const text = failureText(codeOf(error), this.source);
      if (codeOf(error) === 'TOO_LARGE') throw new TooLarge(`${this.#options.label}: ${text}`, RETRY_SECONDS);
      throw this.#unavailable(text);
    }
  }

  #send(body: string, login: string | null, signal: AbortSignal, timeoutMs: number): Promise<Answer> {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (login !== null) headers.authorization = `Basic ${Buffer.from(login, 'utf8').toString('base64')}`;
    return post({
      url: this.#url,
      agent: this.#agent,
      headers,
      body,
      timeoutMs,
      responseBytesMax: this.#options.responseBytesMax,
      signal,
      onNewConnection: () => {
        this.#connections++;
      },
    });
  }

  #usesCookie(): boolean {
    return this.#options.cookieFile !== undefined && this.#url.username === '' && this.#url.password === '';
  }

  async #login(fresh: boolean): Promise<string | null> {
    const { user, password } = loginOf(this.#url);
    if (user !== '' || password !== '') return `${user}:${password}`;
    if (this.#options.cookieFile === undefined) return null;
    if (this.#cookie !== null && !fresh) return this.#cookie;
    try {
      this.#cookie = (await readFile(this.#options.cookieFile, 'utf8')).trim();
    } catch (error) {
      this.#cookie = null;
      throw this.#unavailable(`the cookie file cannot be read (${codeOf(error)}); is the node running?`);
    }
    return this.#cookie;
  }

  /** The parsed body, whatever the HTTP status: Bitcoin sends a call's error with status 500 or 404. */
  #parsed({ status, body }: Answer, calls: readonly Call[]): unknown {
    if (status === 401) throw this.#unavailable('the node refuses the user name or password');
    // Bitcoin Core answers both with an empty body; a node that answered calls before does not refuse our address
    if (status === 403) {
      if (this.#options.version === '2.0') throw this.#unavailable('the endpoint refuses this machine or its key');
      throw this.#unavailable(this.#isAllowed ? notWhitelisted(calls) : FORBIDDEN);
    }
    if (status === 413 || status === 429) {
      throw this.#unavailable(`${this.source} limits how much it answers (HTTP ${status})`);
    }
    this.#isAllowed = true;
    try {
      return JSON.parse(body.toString('utf8'));
    } catch {
      const busy = status === 503 || body.toString('latin1', 0, 200).includes('Work queue depth');
      throw this.#unavailable(
        busy ? 'the node is overloaded' : `no JSON-RPC is spoken at ${this.source} (HTTP ${status})`,
      );
    }
  }

  #checked(reply: Reply | null): Reply {
    if (reply === null) throw this.#unavailable(`the answer of ${this.source} is no JSON-RPC`);
    if ('error' in reply && reply.error.code === STARTING) {
      throw this.#unavailable(`the node is starting (${reply.error.message})`);
    }
    return reply;
  }
}

/** Whether an answer is too long to be parsed in one turn. */
const isLong = ({ status, body }: Answer): boolean => status === 200 && body.length > BODY_BYTES_AT_ONCE;

const FORBIDDEN =
  "the node refuses this machine's address (see its option rpcallowip), or the user's calls (see rpcwhitelist)";

function notWhitelisted(calls: readonly Call[]): string {
  const names = [...new Set(calls.map(([method]) => method))].join(', ');
  return `the node's option rpcwhitelist does not allow this user all of these calls: ${names}`;
}

function resultOf(reply: Reply): unknown {
  if ('error' in reply) throw reply.error;
  return reply.result;
}

/** The reply to one call, from the object that answers it; null when it is malformed. */
function replyOf(value: unknown): Reply | null {
  if (!isObject(value)) return null;
  const { error, result } = value;
  if (!isObject(error)) return result === undefined ? null : { result };
  const code = typeof error.code === 'number' ? error.code : 0;
  const message = typeof error.message === 'string' ? error.message : 'no reason given';
  return { error: new RpcError(code, message.slice(0, NODE_MESSAGE_CHARS_MAX)) };
}

/** Parses the address. The error does not state the reason, which would quote the address with its password. */
function parseUrl(options: RpcOptions): URL {
  const url = URL.canParse(options.url) ? new URL(options.url) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new Rejected('config.rpc', `${options.label} must have the form http://user:password@host:port`);
  }
  return url;
}

function failureText(code: string, host: string): string {
  if (code === 'ECONNREFUSED') return `nothing answers at ${host} (connection refused); is the node running?`;
  if (code === 'ETIMEDOUT') return `${host} does not answer in time`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host name of ${host} cannot be resolved`;
  if (code === 'TOO_LARGE') return `an answer of ${host} is larger than any block`;
  if (code === 'ECONNRESET') return `${host} ended the connection`;
  return `${host} cannot be reached (${code})`;
}
