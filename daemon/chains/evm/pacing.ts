/** Sends calls to an endpoint in batches and at a pace that it accepts, which its refusals show. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '../../domain/errors.ts';
import { type Call, type Reply, type Rpc, RpcError, TooLarge } from '../json-rpc.ts';

type PacingOptions = {
  rpc: Pick<Rpc, 'call' | 'batch' | 'source'>;
  /** How messages name the setting. */
  label: string;
  /** Monotonic milliseconds; default: those of the machine. */
  now?: () => number;
  /** Waits for milliseconds; default: a timer. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** The longest wait for an answer. */
export const REQUEST_TIMEOUT_MS = 20_000;
/** When a caller may ask an endpoint again that refuses. */
export const RETRY_SECONDS = 5;
const BATCH_CALLS_START = 20;
const BATCH_CALLS_MAX = 100;
/** Refusals of one batch for its cost, each answered with half the calls and twice the wait, before giving up. */
const LIMITED_TRIES_MAX = 8;
const LIMITED_WAIT_MS = 100;
const LIMITED_WAIT_MS_MAX = 1_600;
/** The pause before each request to an endpoint that counts them: doubled when it refuses one, a tenth less after each answer. */
const PACE_MS_MIN = 20;
const PACE_MS_MAX = 1_000;
const REFUSED_KEPT_MS = 10 * 60_000;
/** EIP-1474: the limit of requests is exceeded. Some providers give the code of HTTP. */
const LIMIT_EXCEEDED = -32_005;
const LIMIT_CODES: ReadonlySet<number> = new Set([LIMIT_EXCEEDED, 429]);
/** `json-rpc.ts` describes an HTTP 413 and 429 with these words. */
const LIMIT_WORDS =
  /HTTP 4(?:13|29)|rate limit|(?:usage|RPS|request) limit|too many requests|limit exceeded|quota|capacity|compute units|batch/i;
/** Of these, an endpoint says that requests are too many, and nothing of what they ask for: a smaller one is refused like a large one. */
const COUNTED_WORDS =
  /^(?!.*(?:range|block|result|logs)).*(?:rate limit|request rate|per second|(?:usage|RPS|request) limit|too many requests|quota|compute units)/is;
/** geth's code of a contract that reverts. */
const REVERTED = 3;

const wait = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal });

export class Pacing {
  readonly #rpc: PacingOptions['rpc'];
  readonly #label: string;
  readonly #now: () => number;
  readonly #pause: (ms: number, signal: AbortSignal) => Promise<void>;
  #batchMax = BATCH_CALLS_START;
  #paceMs = 0;
  /** The last batch that was refused for its cost. */
  #refused = { calls: BATCH_CALLS_MAX, atMs: Number.NEGATIVE_INFINITY };

  constructor({ rpc, label, now = () => performance.now(), pause = wait }: PacingOptions) {
    this.#rpc = rpc;
    this.#label = label;
    this.#now = now;
    this.#pause = pause;
  }

  /**
   * The answers in the order of the calls, asked for in batches as large as the endpoint takes: a refusal for cost halves them,
   * each success adds one call. `pass limits on`: if a single call exceeds a limit by what it asks for, that refusal is its answer.
   * Throws `Unavailable`, also when the endpoint refuses again and again.
   */
  async many(calls: readonly Call[], signal: AbortSignal, limits?: 'pass limits on'): Promise<Reply[]> {
    const replies: Reply[] = [];
    let limited = 0;
    while (replies.length < calls.length) {
      const batch = calls.slice(replies.length, replies.length + this.#batchMax);
      if (this.#paceMs > 0) await this.#pause(this.#paceMs, signal);
      const answers = await this.#batch(batch, signal, limits !== undefined);
      if (answers) {
        replies.push(...answers);
        limited = 0;
        this.#paceMs = this.#paceMs > PACE_MS_MIN ? this.#paceMs * 0.9 : 0;
        // The success of a smaller batch says nothing about the limit.
        if (batch.length === this.#batchMax) this.#grow();
        continue;
      }
      if (++limited > LIMITED_TRIES_MAX) {
        throw new Unavailable(`${this.#label}: ${this.#rpc.source} limits how much it answers`, RETRY_SECONDS);
      }
      this.#paceMs = Math.min(Math.max(PACE_MS_MIN, this.#paceMs * 2), PACE_MS_MAX);
      this.#refused = { calls: batch.length, atMs: this.#now() };
      this.#batchMax = Math.max(1, Math.floor(batch.length / 2));
      await this.#pause(Math.min(LIMITED_WAIT_MS * 2 ** limited, LIMITED_WAIT_MS_MAX), signal);
    }
    return replies;
  }

  /** Adds one call to the next batch, but stays below the size that was refused recently. */
  #grow(): void {
    const { calls, atMs } = this.#refused;
    const isLately = this.#now() - atMs < REFUSED_KEPT_MS;
    this.#batchMax = Math.min(this.#batchMax + 1, isLately ? Math.max(1, calls - 1) : BATCH_CALLS_MAX);
  }

  /** Null if the batch was refused for its cost. Some endpoints refuse batches: a single call is sent without one. */
  async #batch(batch: readonly Call[], signal: AbortSignal, passLimitsOn: boolean): Promise<Reply[] | null> {
    const replies = await (batch.length === 1 && batch[0]
      ? this.#rpc.call(batch[0], signal, REQUEST_TIMEOUT_MS).then(
          (result): Reply[] => [{ result }],
          (error: unknown): Reply[] | null => {
            if (error instanceof RpcError) return [{ error }];
            if (isRefusedForCost(error) && !(error instanceof TooLarge)) return null;
            if (error instanceof TooLarge && passLimitsOn) return [{ error: tooMuch(error) }];
            throw error;
          },
        )
      : this.#rpc.batch(batch, signal, REQUEST_TIMEOUT_MS).catch((error: unknown) => {
          if (isRefusedForCost(error)) return null;
          throw error;
        }));
    const isRefused = (error: RpcError): boolean =>
      isLimit(error) && (!passLimitsOn || COUNTED_WORDS.test(error.message));
    return replies?.some((reply) => 'error' in reply && isRefused(reply.error)) ? null : replies;
  }
}

/** Whether a contract refused, in words of its own: anybody can make one that speaks of limits. */
export const isRevert = ({ code, message }: RpcError): boolean => code === REVERTED || /\brevert/i.test(message);

/** Whether an endpoint refused because too much was requested, so that it may answer a smaller request. */
export const isLimit = (error: RpcError): boolean =>
  !isRevert(error) && (LIMIT_CODES.has(error.code) || LIMIT_WORDS.test(error.message));

const isRefusedForCost = (error: unknown): boolean =>
  error instanceof TooLarge || (error instanceof Unavailable && LIMIT_WORDS.test(error.message));

/** Treats an answer that is too long like a refusal for cost. */
const tooMuch = ({ message }: TooLarge): RpcError => new RpcError(LIMIT_EXCEEDED, message);
