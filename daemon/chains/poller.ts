/**
 * Asks a node at intervals whether something changed, to produce an adapter's hints. While the node does not answer,
 * the interval grows to POLL_DOWN_MS_MAX, with some randomness to spread the requests of many installations.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { assert } from '../domain/errors.ts';

export const POLL_MS = 500;
const POLL_DOWN_MS_MAX = 5_000;
const JITTER = 0.2;
const DOUBLINGS_MAX = 10;

export class Poller {
  readonly #ask: (signal: AbortSignal) => Promise<boolean>;
  readonly #pollMs: number;
  readonly #quietMs: () => number;
  readonly #wakes: (() => void)[] = [];
  readonly #stopped = new AbortController();
  #pause = new AbortController();
  #loop: Promise<void> | null = null;
  #syncing = false;

  /**
   * `ask` returns whether something changed. A failure means that the node is down; `ask` reports it itself. `quietMs`:
   * the time for which nothing new is to be expected.
   */
  constructor(pollMs: number, ask: (signal: AbortSignal) => Promise<boolean>, quietMs = () => 0) {
    this.#ask = ask;
    this.#quietMs = quietMs;
    this.#pollMs = pollMs;
  }

  /** Calls `wake` when something may have changed, and begins to poll. */
  onNews(wake: () => void): void {
    this.#wakes.push(wake);
    this.start();
  }

  get isSyncing(): boolean {
    return this.#syncing;
  }

  /** Begins to poll, and runs a sync. One sync runs at a time. */
  async sync<T>(work: () => Promise<T>): Promise<T> {
    assert(!this.#syncing, 'one sync at a time');
    this.start();
    this.#syncing = true;
    try {
      return await work();
    } finally {
      this.#syncing = false;
    }
  }

  /** Begins to poll, once. */
  start(): void {
    if (!this.#stopped.signal.aborted) this.#loop ??= this.#run(this.#stopped.signal);
  }

  /** Asks at once instead of at the end of the interval, while the node answers. */
  hurry(): void {
    this.#pause.abort();
  }

  /** Ends polling and waits for the running request. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#pause.abort();
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      // before the request: a hint that arrives meanwhile is about something newer
      this.#pause = new AbortController();
      try {
        const news = await this.#ask(signal);
        failures = 0;
        if (news && !signal.aborted) for (const wake of this.#wakes) wake();
      } catch {
        failures = Math.min(failures + 1, DOUBLINGS_MAX);
      }
      const regularMs = Math.min(this.#pollMs * 2 ** failures, Math.max(POLL_DOWN_MS_MAX, this.#pollMs));
      const delayMs = failures === 0 ? Math.max(regularMs, this.#quietMs()) : regularMs;
      const jitter = failures === 0 ? 1 : 1 + JITTER * (2 * Math.random() - 1);
      // the end aborts the pause, too
      const pause = failures === 0 ? this.#pause.signal : signal;
      await sleep(delayMs * jitter, undefined, { signal: pause }).catch(() => {});
    }
  }
}
