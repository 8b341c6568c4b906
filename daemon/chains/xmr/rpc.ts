/** The requests to one monerod over HTTP: its login, its time limits, and what its failures are called. */
import type http from 'node:http';
import type { z } from 'zod';
import { ChainAlert, Malformed, Rejected, Unavailable } from '../../domain/errors.ts';
import { loginOf } from '../../kit/login.ts';
import { answerTo, type Challenge, challengeOf } from '../digest.ts';
import { type Answer, codeOf, post } from '../http.ts';
import { ConnectionLost, Misbehaved } from '../utxo/electrum/servers/faults.ts';
import { Envelope } from './answers.ts';
import { agentOf, type Reach } from './reach.ts';
import { PASSED_ON } from './read.ts';

/** A page of the largest transactions, without their signatures, has 2 MB. Parsing 4 MB takes about 25 ms. */
const RESPONSE_BYTES_MAX = 4_000_000;
/** Of an answer with blocks. A block has at most 15 MB as long as blocks have been of the usual size for months (weights of consensus). */
const BLOCKS_BYTES_MAX = 16_000_000;
const REQUEST_TIMEOUT_MS = 20_000;
/**
 * How long the answer to `get_info` may take to begin where another node can be asked instead. A node that runs answers
 * within milliseconds, so that this is mostly the time of the way, twice.
 */
const INFO_BEGINS_MS = 5_000;
/** The same for requests that a node works on. */
const BEGINS_MS = 10_000;
const CONNECTIONS_MAX = 3;
const RETRY_SECONDS = 5;
const REASON_CHARS_MAX = 200;
export type RpcOptions = {
  /** http(s)://[user:password@]host:port. */
  url: string;
  /** How messages name the setting. */
  label: string;
  reach: Reach;
  /** The time limit of one request. */
  timeoutMs?: number | undefined;
  /** Whether another node can be asked, so that a frozen one is given up early. */
  hasOthers?: boolean;
  /** How long the answer to `get_info` may take to begin if there are others. */
  infoBeginsMs?: number | undefined;
};

/** An answer is longer than its limit: less is to be asked for at a time. */
export class TooLarge extends Unavailable {}

export class MoneroRpc {
  /** Its host and port. */
  readonly name: string;
  readonly #options: RpcOptions;
  readonly #url: URL;
  readonly #agent: http.Agent;
  readonly #timeoutMs: number;
  #connections = 0;
  #wayMs = Number.POSITIVE_INFINITY;
  #challenge: Challenge | null = null;
  #queue: Promise<unknown> = Promise.resolve();

  /** Throws `Rejected` when the URL is malformed. */
  constructor(options: RpcOptions) {
    this.#options = options;
    const url = URL.canParse(options.url) ? new URL(options.url) : null;
    if (!url) throw new Rejected('config.rpc', `${options.label} must have the form http://user:password@host:port`);
    this.#url = url;
    this.#timeoutMs = options.timeoutMs ?? REQUEST_TIMEOUT_MS;
    // monerod's challenges belong to a connection.
    this.#agent = agentOf(url, options.reach, url.username === '' ? CONNECTIONS_MAX : 1, this.#timeoutMs);
    this.name = url.host;
  }

  /** How many connections were opened until now. */
  get connections(): number {
    return this.#connections;
  }

  /** The least time that an answer took; 0 before the first. */
  get wayMs(): number {
    return Number.isFinite(this.#wayMs) ? this.#wayMs : 0;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** A method of /json_rpc. */
  async json<T>(method: string, params: object, shape: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    const envelope = { jsonrpc: '2.0', id: '0', method, params };
    const beginMs = method === 'get_info' ? (this.#options.infoBeginsMs ?? INFO_BEGINS_MS) : BEGINS_MS;
    const { result, error } = await this.post('/json_rpc', envelope, Envelope, signal, beginMs);
    if (error) throw this.#refused(method, error.message);
    return this.#checked(method, shape, result);
  }

  /** A method with its own path. */
  async post<T>(path: string, body: object, shape: z.ZodType<T>, signal: AbortSignal, beginMs = BEGINS_MS): Promise<T> {
    const answer = await this.#answered(
      { path, body: JSON.stringify(body), beginMs, bytesMax: RESPONSE_BYTES_MAX },
      signal,
    );
    let value: unknown;
    try {
      value = JSON.parse(answer.body.toString('utf8'));
    } catch {
      throw this.#unavailable(`no monerod answers at ${this.name}`);
    }
    return this.#checked(path, shape, value);
  }

  /** A method of Monero's binary form (`epee.ts`). Throws `TooLarge`. */
  async binary(path: string, body: Uint8Array, signal: AbortSignal): Promise<Buffer> {
    const asked = { path, body, beginMs: BEGINS_MS, bytesMax: BLOCKS_BYTES_MAX };
    return (await this.#answered(asked, signal)).body;
  }

  async #answered(asked: RpcRequest, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#exchange(asked, signal);
    if (answer.status !== 200) throw this.#unavailable(`${this.name} answers with HTTP ${answer.status}`);
    return answer;
  }

  /** A node with a login gets one request after the other, because each refusal voids its earlier challenges. */
  #exchange(asked: RpcRequest, signal: AbortSignal): Promise<Answer> {
    if (this.#url.username === '') return this.#exchangeNow(asked, signal);
    const answer = this.#queue.then(() => this.#exchangeNow(asked, signal));
    this.#queue = answer.catch(() => undefined);
    return answer;
  }

  async #exchangeNow(asked: RpcRequest, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const began = performance.now();
    try {
      const answer = await this.#send(asked, signal);
      this.#wayMs = Math.min(this.#wayMs, performance.now() - began);
      const challenge = answer.status === 401 ? challengeOf(answer.headers['www-authenticate']) : null;
      if (!challenge || this.#url.username === '') {
        if (answer.status === 401) throw this.#unavailable(`${this.name} refuses the user name or password`);
        return answer;
      }
      this.#challenge = challenge;
      const again = await this.#send(asked, signal);
      if (again.status === 401) throw this.#unavailable(`${this.name} refuses the user name or password`);
      return again;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Unavailable) throw error;
      if (error instanceof Misbehaved) throw this.wrong(`is not used: ${error.message}`);
      if (error instanceof ConnectionLost) throw this.#unavailable(`${this.name}: ${error.message}`);
      const code = codeOf(error);
      if (code === 'TOO_LARGE') {
        throw new TooLarge(`${this.#options.label}: an answer of ${this.name} is too large`, RETRY_SECONDS);
      }
      if (code === 'ETIMEDOUT') throw this.#unavailable(`${this.name} does not answer in time`);
      throw this.#unavailable(`${this.name} cannot be reached (${code}); is the node running?`);
    }
  }

  #send({ path, body, beginMs, bytesMax }: RpcRequest, signal: AbortSignal): Promise<Answer> {
    const url = new URL(path, this.#url);
    const authorization = this.#challenge && answerTo(this.#challenge, loginOf(this.#url), 'POST', url.pathname);
    return post({
      url,
      agent: this.#agent,
      headers: {
        'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream',
        ...(authorization !== null && { authorization }),
      },
      body,
      timeoutMs: this.#timeoutMs,
      ...(this.#options.hasOthers && { beginMs }),
      responseBytesMax: bytesMax,
      signal,
      onNewConnection: () => {
        this.#connections++;
      },
    });
  }

  /**
   * An answer of a form. `asked`: the method. Throws `Malformed`, and `Unavailable` where its status tells a refusal, or where it is not the
   * node's own: a monerod up to 0.18 without all blocks lets a stranger's node answer, if it was started with a bootstrap daemon.
   */
  #checked<T>(asked: string, shape: z.ZodType<T>, value: unknown): T {
    const { status, untrusted } = (value ?? {}) as { status?: unknown; untrusted?: unknown };
    if (status === 'BUSY') throw this.#unavailable(`${this.name} is busy`);
    if (untrusted === true) throw this.#unavailable(`${this.name} ${PASSED_ON}`);
    const result = shape.safeParse(value);
    if (result.success) return result.data;
    if (typeof status === 'string' && status !== 'OK') throw this.#refused(asked, status);
    throw new Malformed(`an answer of another form (${result.error.issues[0]?.path.join('.')})`);
  }

  #refused(asked: string, why: string): Unavailable {
    return this.#unavailable(`${this.name} refuses ${asked}: ${why.slice(0, REASON_CHARS_MAX)}`);
  }

  #unavailable(what: string): Unavailable {
    return new Unavailable(`${this.#options.label}: ${what}`, RETRY_SECONDS);
  }

  /** The node cannot be used until its operator mends something. */
  wrong(what: string): ChainAlert {
    return new ChainAlert(`${this.#options.label}: ${this.name} ${what}`);
  }
}

/** `beginMs`: how long its answer may take to begin if there are other nodes. `bytesMax`: of its answer. */
type RpcRequest = { path: string; body: string | Uint8Array; beginMs: number; bytesMax: number };
