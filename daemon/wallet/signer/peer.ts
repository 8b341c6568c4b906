/**
 * The connection to one running signer: numbered requests, answers in the same order, and the end.
 *
 * Invariant: every request is settled once: by its answer, by its time limit, or by the end of the process, also one that comes after
 * the end. A signer that does not answer in time is ended, because its state is unknown. It does one thing after the other, so the
 * time of a request begins when the one before it was answered.
 */
import { Rejected, Unavailable } from '../../domain/errors.ts';
import type { RejectCode } from '../../domain/rejections.ts';
import type { Channel } from './channel.ts';
import { readLines } from './lines.ts';
import { walletLocked } from './port.ts';
import { Answer, LINE_BYTES_MAX, type Request } from './wire.ts';

const STOP_MS = 5_000;
const RETRY_SECONDS = 5;
const STDERR_CHARS_MAX = 2_000;
/** Those of all chains that a worker has under way, and more. */
const WAITING_MAX = 400;

/** A request without its number. */
export type Call = Request extends infer R ? (R extends unknown ? Omit<R, 'id'> : never) : never;

/** The calls that a locked wallet refuses. */
const NEEDS_UNLOCKED: ReadonlySet<Call['call']> = new Set(['sign', 'images', 'grant', 'revoke', 'end']);

type Waiting = {
  call: Call['call'];
  ms: number;
  resolve(result: unknown): void;
  reject(error: Error): void;
};

export class Peer {
  /** Settles when the process has ended. */
  readonly ended: Promise<void>;
  readonly #channel: Channel;
  readonly #log: (message: string) => void;
  /** In the order in which they are answered. */
  readonly #waiting = new Map<number, Waiting>();
  /** Of the first of them. */
  #timer: NodeJS.Timeout | undefined;
  #id = 0;
  #said = '';
  #stopping = false;
  #isOver = false;
  #hasLocked = false;

  constructor(channel: Channel, log: (message: string) => void) {
    this.#channel = channel;
    this.#log = log;
    this.ended = new Promise((resolve) => {
      channel.onEnd((code, why = '') => {
        this.#said += why;
        this.#end(code);
        resolve();
      });
    });
    channel.input?.on('error', () => {});
    channel.said?.on('data', (chunk: Buffer) => {
      // stderr is kept only before the first request: later it might contain a secret
      if (this.#id === 0) this.#said = (this.#said + chunk.toString('utf8')).slice(-STDERR_CHARS_MAX);
    });
    void this.#read();
  }

  /** `ms`: how long the signer may take for it. Throws the signer's error, or `Unavailable` if it did not answer. */
  ask(call: Call, ms: number): Promise<unknown> {
    if (this.#isOver) return Promise.reject(this.#lossOf(call.call));
    if (this.#waiting.size >= WAITING_MAX) {
      return Promise.reject(new Unavailable('The wallet has too much to do', RETRY_SECONDS));
    }
    const line = `${JSON.stringify({ id: ++this.#id, ...call })}\n`;
    if (line.length > LINE_BYTES_MAX) {
      const message = 'The previous transactions are too many and too large for one transaction: spend fewer coins';
      return Promise.reject(new Rejected('signer.unsupported', message));
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#id, { call: call.call, ms, resolve, reject });
    if (this.#waiting.size === 1) this.#timeFirst();
    this.#channel.input?.write(line);
    return promise;
  }

  /** Ends the process, and with it every secret in its memory. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#channel.input?.end();
    const timer = setTimeout(() => this.#channel.kill(), STOP_MS);
    await this.ended;
    clearTimeout(timer);
  }

  async #read(): Promise<void> {
    if (!this.#channel.output) return;
    try {
      for await (const line of readLines(this.#channel.output, LINE_BYTES_MAX)) {
        this.#settle(Answer.parse(JSON.parse(line)));
      }
    } catch {
      this.#log('the signer answered what is no answer and was ended');
      this.#channel.kill();
    }
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return;
    this.#waiting.delete(answer.id);
    this.#timeFirst();
    if (answer.end === 'ok') waiting.resolve(answer.result);
    else waiting.reject(errorOf(answer));
  }

  /** Begins the time of the request that is answered next. */
  #timeFirst(): void {
    clearTimeout(this.#timer);
    const [first] = this.#waiting.values();
    if (!first) return;
    this.#timer = setTimeout(() => {
      this.#log('the signer did not answer in time and was ended');
      this.#channel.kill();
    }, first.ms);
  }

  /** The error of a request that the end left open. */
  #lossOf(call: Call['call']): Error {
    const isLocked = this.#hasLocked && NEEDS_UNLOCKED.has(call);
    return isLocked ? walletLocked() : new Unavailable(this.#channel.lost, RETRY_SECONDS);
  }

  #end(code: number | null): void {
    const asked = this.#waiting.size > 0;
    this.#isOver = true;
    this.#hasLocked = this.#channel.locksItself && code === 0;
    clearTimeout(this.#timer);
    for (const { call, reject } of this.#waiting.values()) reject(this.#lossOf(call));
    this.#waiting.clear();
    if (!this.#stopping && (code !== 0 || asked)) {
      this.#log(`the signer ended by itself (${code}): the wallet is locked. ${this.#said}`.trim());
    }
  }
}

function errorOf(answer: Exclude<Answer, { end: 'ok' }>): Error {
  if (answer.end === 'rejected') return new Rejected(answer.code as RejectCode, answer.message, answer.field);
  if (answer.end === 'unavailable') return new Unavailable(answer.message, answer.retryAfterSeconds);
  return new Error(`the signer failed by a bug: ${answer.message}`);
}
