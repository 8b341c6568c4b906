/**
 * Keeps a book of rates fresh: asks the sources on a schedule and once at the start.
 *
 * Invariant: sources fail alone; one round runs at a time, at most FETCHES_MAX requests of it at once; a failure is
 * logged when it begins and when it ends, not each time. After `stop` nothing of it runs.
 */
import { schedule as cron } from 'node-cron';
import type { RateBook } from './book.ts';
import { REQUEST_TIMEOUT_MS } from './http.ts';
import { fetchQuotes, type Source } from './source.ts';

export const REFRESH_SCHEDULE = '*/5 * * * *';
/** So that not every installation asks in the same second. */
const JITTER_MAX_MS = 20_000;
const FETCHES_MAX = 4;
/** A fiat source publishes daily and asks not to be asked more than hourly; a minute less, so no round is missed. */
const FIAT_EVERY_MS = 59 * 60_000;
const FIAT_RETRY_MS = 14 * 60_000;

/** The part of a pino logger that is used. */
export type RatesLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
};

export type SourceStatus = {
  name: string;
  kind: Source['kind'];
  /** When it last gave prices, milliseconds since 1970. */
  lastGoodAt: number | null;
  /** What is wrong with it now, null while nothing is. */
  problem: string | null;
};

export type RatesService = {
  /** Asks every source that is due, or joins the round that is under way. Never rejects. */
  refresh(): Promise<void>;
  status(): SourceStatus[];
  /** Ends the schedule, aborts requests and waits for them. */
  stop(): Promise<void>;
};

export type RefresherOptions = {
  book: RateBook;
  sources: readonly Source[];
  log: RatesLog;
  /** Milliseconds since 1970. */
  clock?: () => number;
  /** A node-cron expression. */
  schedule?: string;
  jitterMaxMs?: number;
  requestTimeoutMs?: number;
};

type State = SourceStatus & { source: Source; dueAt: number };

class Refresher implements RatesService {
  readonly #options: RefresherOptions;
  readonly #clock: () => number;
  readonly #abort = new AbortController();
  readonly #states: State[];
  readonly #task: { destroy(): void | Promise<void> } | null;
  #round: Promise<void> | null = null;
  #historyProblem: string | null = null;

  constructor(options: RefresherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#states = options.sources.map((source) => {
      return { name: source.name, kind: source.kind, lastGoodAt: null, problem: null, source, dueAt: 0 };
    });
    const quiet = { info: () => {}, warn: () => {}, debug: () => {}, error: () => {} };
    this.#task =
      this.#states.length === 0
        ? null
        : cron(options.schedule ?? REFRESH_SCHEDULE, () => this.refresh(), {
            name: 'rates',
            noOverlap: true,
            unref: true,
            maxRandomDelay: options.jitterMaxMs ?? JITTER_MAX_MS,
            // A late or skipped round is no news: the next one is five minutes away.
            logger: quiet,
          });
  }

  refresh(): Promise<void> {
    if (this.#abort.signal.aborted) return Promise.resolve();
    this.#round ??= this.#run().finally(() => {
      this.#round = null;
    });
    return this.#round;
  }

  status(): SourceStatus[] {
    return this.#states.map(({ name, kind, lastGoodAt, problem }) => ({ name, kind, lastGoodAt, problem }));
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#task?.destroy();
    await this.#round;
  }

  async #run(): Promise<void> {
    const due = this.#states.filter((state) => state.dueAt <= this.#clock());
    const worker = async (): Promise<void> => {
      for (let state = due.shift(); state && !this.#abort.signal.aborted; state = due.shift()) await this.#ask(state);
    };
    await Promise.all(Array.from({ length: FETCHES_MAX }, worker));
    if (!this.#abort.signal.aborted) this.#keep();
  }

  async #ask(state: State): Promise<void> {
    const timeoutMs = this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    let problem: string | null = null;
    try {
      const reading = await fetchQuotes(state.source, { signal: this.#abort.signal, timeoutMs });
      if (this.#abort.signal.aborted) return;
      this.#options.book.record(state.source, reading.quotes, this.#clock());
      state.lastGoodAt = this.#clock();
      if (reading.refused.length > 0) problem = `unusable prices: ${reading.refused.join(', ')}`;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      problem = error instanceof Error ? error.message : String(error);
    }
    if (state.kind === 'fiat') state.dueAt = this.#clock() + (problem === null ? FIAT_EVERY_MS : FIAT_RETRY_MS);
    this.#tell({ source: state.name }, 'rate source', state.problem, problem);
    state.problem = problem;
  }

  #keep(): void {
    let problem: string | null = null;
    try {
      this.#options.book.snapshot(this.#clock());
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    this.#tell({}, 'history of rates', this.#historyProblem, problem);
    this.#historyProblem = problem;
  }

  #tell(fields: object, what: string, before: string | null, now: string | null): void {
    if (before === null && now !== null) this.#options.log.warn({ ...fields, problem: now }, `${what} fails`);
    if (before !== null && now === null) this.#options.log.info(fields, `${what} works again`);
  }
}

/**
 * Starts the schedule and, without waiting for it, the first round. No sources: nothing is ever asked. Throws when
 * `schedule` is no cron expression.
 */
export function startRates(options: RefresherOptions): RatesService {
  const refresher = new Refresher(options);
  void refresher.refresh();
  return refresher;
}
