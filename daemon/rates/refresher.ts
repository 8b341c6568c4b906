/**
 * Asks the rate sources at the start and then on a schedule, and records their answers in the book.
 *
 * Invariant: a failing source affects no other. One round runs at a time, with at most FETCHES_MAX requests at once. A
 * failure is logged when it begins and when it ends. After `stop` nothing runs.
 */
import { Asking } from './asking.ts';
import type { RateBook } from './book.ts';
import { REQUEST_TIMEOUT_MS } from './http.ts';
import type { Source } from './source.ts';

/** All intervals use the monotonic clock. */
const REFRESH_MS = 5 * 60_000;
/** Spreads the requests of different installations. */
const JITTER_MAX_MS = 20_000;
const FETCHES_MAX = 4;
/** Fiat sources publish daily and ask for at most one request an hour. One minute less, so that no round is missed. */
const FIAT_EVERY_MS = 59 * 60_000;
const FIAT_RETRY_MS = 14 * 60_000;

/** The part of pino's interface that is used. */
type RatesLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
};

type SourceStatus = {
  name: string;
  kind: Source['kind'];
  /** When the source last gave prices, milliseconds since 1970. */
  lastGoodAt: number | null;
  /** The current problem; null if there is none. */
  problem: string | null;
};

export type RatesService = {
  /** Asks every source that is due, or joins the round under way. Never rejects. */
  refresh(): Promise<void>;
  /**
   * To be called when the clock was set: rates found under the old clock no longer count, so every source is asked at
   * once, or after the round under way.
   */
  clockSet(): void;
  status(): SourceStatus[];
  /** Ends the schedule, aborts requests and waits for them to end. */
  stop(): Promise<void>;
};

type RefresherOptions = {
  book: RateBook;
  sources: readonly Source[];
  log: RatesLog;
  /** Milliseconds since 1970. */
  clock?: () => number;
  /** Milliseconds of a monotonic clock. */
  passed?: () => number;
  /** Between two rounds. */
  refreshMs?: number;
  jitterMaxMs?: number;
  requestTimeoutMs?: number;
};

/** `dueAt`: by the monotonic clock. */
type State = SourceStatus & { source: Source; asking: Asking; dueAt: number };

class Refresher implements RatesService {
  readonly #options: RefresherOptions;
  readonly #clock: () => number;
  readonly #passed: () => number;
  readonly #abort = new AbortController();
  readonly #states: State[];
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  #historyProblem: string | null = null;

  constructor(options: RefresherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#passed = options.passed ?? (() => performance.now());
    this.#states = options.sources.map((source) => {
      const status = { name: source.name, kind: source.kind, lastGoodAt: null, problem: null };
      return { ...status, source, asking: new Asking(source), dueAt: 0 };
    });
    if (this.#states.length > 0) this.#again();
  }

  clockSet(): void {
    if (this.#round) {
      void this.#round.then(() => this.clockSet());
      return;
    }
    this.#options.book.otherClocks.clear();
    for (const state of this.#states) state.dueAt = 0;
    void this.refresh();
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
    if (this.#timer) clearTimeout(this.#timer);
    await this.#round;
  }

  #again(): void {
    const { refreshMs = REFRESH_MS, jitterMaxMs = JITTER_MAX_MS } = this.#options;
    this.#timer = setTimeout(
      () => {
        void this.refresh();
        this.#again();
      },
      refreshMs + Math.random() * jitterMaxMs,
    );
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const due = this.#states.filter((state) => state.dueAt <= this.#passed());
    const worker = async (): Promise<void> => {
      for (let state = due.shift(); state && !this.#abort.signal.aborted; state = due.shift()) await this.#ask(state);
    };
    await Promise.all(Array.from({ length: FETCHES_MAX }, worker));
    if (!this.#abort.signal.aborted) this.#keep();
  }

  async #ask(state: State): Promise<void> {
    const timeoutMs = this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    let problem: string | null = null;
    let pauseMs = FIAT_EVERY_MS;
    try {
      const { otherClocks } = this.#options.book;
      const onDate = (date: string | null) => otherClocks.note(state.name, date, this.#clock());
      const reading = await state.asking.ask(this.#passed(), { signal: this.#abort.signal, timeoutMs, onDate });
      if (this.#abort.signal.aborted) return;
      this.#options.book.record(state.source, reading.quotes, this.#clock());
      state.lastGoodAt = this.#clock();
      if (reading.refused.length > 0) problem = `unusable prices: ${reading.refused.join(', ')}`;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      problem = error instanceof Error ? error.message : String(error);
      pauseMs = FIAT_RETRY_MS;
    }
    if (state.kind === 'fiat') state.dueAt = this.#passed() + pauseMs;
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

/** Starts the schedule and the first round, without waiting for it. Without sources nothing is ever asked. */
export function startRates(options: RefresherOptions): RatesService {
  const refresher = new Refresher(options);
  void refresher.refresh();
  return refresher;
}
