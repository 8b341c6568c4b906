/** When a server may be tried again: the pause grows with its failures, and with how often it was left of late. */
import { MS_PER_HOUR } from '../../../../domain/time.ts';

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 60_000;
const DOUBLINGS_MAX = 10;
const JITTER = 0.3;
/** A connection of this duration clears earlier failures. */
const STABLE_MS = 30_000;
/** How long a public server that misbehaved is not used. */
const DROPPED_MS = MS_PER_HOUR;
/** As many failures as one leave of the last hour counts for: the pause is 8 s after the first, and the longest after the second. */
const FAILURES_OF_LEAVE = 4;

export class Retries {
  failures = 0;
  /** The longest pause of a server of the operator; null: it is a stranger's. */
  readonly #ownMsMax: number | null;
  /** When it was left, within the last hour. */
  #leftAtMs: number[] = [];
  #readyAtMs = 0;
  #failedAtMs = 0;
  #retryAtMs = 0;
  #droppedUntilMs = 0;

  constructor(ownMsMax: number | null) {
    this.#ownMsMax = ownMsMax;
  }

  get state(): 'idle' | 'waiting' | 'dropped' {
    const now = performance.now();
    if (now < this.#droppedUntilMs) return 'dropped';
    return now < this.#retryAtMs ? 'waiting' : 'idle';
  }

  /** How often it was left within the last hour. */
  get leaves(): number {
    const since = performance.now() - MS_PER_HOUR;
    this.#leftAtMs = this.#leftAtMs.filter((at) => at > since);
    return this.#leftAtMs.length;
  }

  ready(): void {
    this.#readyAtMs = performance.now();
  }

  /** To be noted before the failure. However long it was connected, that does not clear it. */
  left(): void {
    this.#leftAtMs.push(performance.now());
  }

  failed(isLie: boolean): void {
    const now = performance.now();
    if (this.#readyAtMs > 0 && now - this.#readyAtMs > STABLE_MS) this.failures = 0;
    this.failures = Math.max(this.failures, this.leaves * FAILURES_OF_LEAVE);
    this.#readyAtMs = 0;
    const delayMs = RETRY_MS_MIN * 2 ** Math.min(this.failures, DOUBLINGS_MAX);
    this.failures++;
    this.#failedAtMs = now;
    this.#retryAtMs = now + Math.min(this.#ownMsMax ?? RETRY_MS_MAX, delayMs) * (1 + JITTER * (2 * Math.random() - 1));
    if (isLie) this.#droppedUntilMs = now + (this.#ownMsMax ?? DROPPED_MS);
  }

  /** Shortens the wait after failures to so long after the last one, unless it misbehaved. */
  within(ms: number): void {
    this.#retryAtMs = Math.min(this.#retryAtMs, this.#failedAtMs + ms);
  }
}
