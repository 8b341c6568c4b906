/**
 * One loop per chain: asks the adapter for facts and applies them. Hints start a pass early, failures delay the next
 * one, and a bug halts only this chain, with an alert.
 */
import { end, raise } from '../app/alerts.ts';
import type { App } from '../app/app.ts';
import { reviewStep } from '../app/books/review.ts';
import type { ChainRuntime } from '../app/chains/chains.ts';
import { checkpointOf } from '../app/chains/checkpoint.ts';
import { beginChain, hasMore, ingest } from '../app/chains/ingest.ts';
import { openBalances } from '../app/recovery/opening.ts';
import {
  beginRescan,
  birthdayOf,
  endRescan,
  isJumpWatched,
  nextRescan,
  prepareRescan,
  type Rescan,
  stepThroughPast,
  watchAhead,
  watchSkipped,
} from '../app/recovery/rescan.ts';
import { ChainAlert, Rejected, Unavailable } from '../domain/errors.ts';
import { type AlertKind, type Message, message, reasonOf } from '../domain/messages.ts';
import { WakeablePause } from '../kit/async.ts';

/** The interval between two passes without a hint. */
const POLL_MS = 10_000;
/** The interval if the source could not tell everything and has nothing new. */
const INCOMPLETE_RETRY_MS = 200;
const FAILED_RETRY_MS = 1_000;
const FAILED_RETRY_MAX_MS = 30_000;
const ALERT = 'chain.alert';

export class SyncLoop {
  readonly #app: App;
  readonly #chain: ChainRuntime;
  readonly #abort = new AbortController();
  readonly #pause = new WakeablePause();
  #failures = 0;
  /** Whether an alert of this loop may be open, perhaps from before the start. */
  #isAlerted = true;
  /** Accounts whose past this source does not have. Tried again after a restart. */
  readonly #unreadable = new Set<number>();
  #running: Promise<void> | null = null;
  #firstPass: (() => void)[] = [];

  constructor(app: App, chain: ChainRuntime) {
    this.#app = app;
    this.#chain = chain;
  }

  /** Starts the loop; resolves after the first pass, successful or not. */
  start(): Promise<void> {
    this.#chain.adapter.onHint(() => this.wake());
    const first = new Promise<void>((resolve) => this.#firstPass.push(resolve));
    this.#running = this.#run();
    return first;
  }

  /** Starts the next pass at once. */
  wake(): void {
    this.#pause.wake();
  }

  /** Ends the loop and closes the adapter. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.wake();
    await this.#running;
    await this.#chain.adapter.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      let pauseMs = POLL_MS;
      this.#pause.begin();
      try {
        pauseMs = await this.#pass();
        this.#failures = 0;
        await this.#followed();
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof Unavailable || error instanceof Rejected)) {
          await this.#halt(error);
          break;
        }
        pauseMs = await this.#failed(error);
      }
      this.#noteLagging();
      this.#announce();
      if (pauseMs > 0) if (!signal.aborted) await this.#pause.wait(pauseMs);
    }
    this.#announce();
  }

  /** One pass. Returns the milliseconds until the next one; 0 if there is more to fetch. */
  async #pass(): Promise<number> {
    const { adapter } = this.#chain;
    const { signal } = this.#abort;
    // deriving skipped addresses may take long; the first pass counts as done before
    await watchSkipped(
      this.#app,
      this.#chain,
      () => this.#announce(),
      () => signal.aborted,
    );
    if (signal.aborted) return POLL_MS;
    const since = checkpointOf(this.#app.store, this.#chain);
    if (!since) {
      const birthday = birthdayOf(this.#app, this.#chain);
      if (birthday !== null) await watchAhead(this.#app, this.#chain, birthday, () => signal.aborted);
      await beginChain(this.#app, this.#chain, await adapter.begin(birthday, signal));
      return 0;
    }
    this.#chain.startedFrom ??= this.#chain.syncs === 0 ? since : null;
    const beganAt = this.#app.now();
    const update = await adapter.sync(since, signal);
    if (update === null) {
      this.#chain.away = true;
      return POLL_MS;
    }
    const applied = await ingest(this.#app, this.#chain, update, beganAt);
    if (!applied) return 0;
    if (update.mempool !== 'complete') return hasMore(update) ? 0 : INCOMPLETE_RETRY_MS;
    if ((await this.#rescan()) || update.more === true) return 0;
    return (await reviewStep(this.#app, this.#chain, signal)) ? 0 : POLL_MS;
  }

  /** Reads one step of a wallet's past, between two passes over the present. */
  async #rescan(): Promise<boolean> {
    const rescan = nextRescan(this.#app, this.#chain, this.#unreadable);
    if (!rescan) return false;
    const { signal } = this.#abort;
    // this pass has begun a quarantine, or had it jump once more: the next pass watches what is skipped, and what is behind it
    if (!isJumpWatched(this.#app, this.#chain)) return true;
    if (rescan.checkpoint === null) return this.#beginRescan(rescan);
    if (rescan.isThrough) {
      await openBalances(this.#app, this.#chain, rescan.account, signal);
      await endRescan(this.#app, this.#chain, rescan);
      return true;
    }
    const update = await this.#chain.adapter.sync(rescan.checkpoint, signal);
    if (update) await stepThroughPast(this.#app, this.#chain, rescan, update);
    return true;
  }

  /** A past that this source does not have is left for another source, and does not block the present. */
  async #beginRescan(rescan: Rescan): Promise<boolean> {
    const { signal } = this.#abort;
    const ready = await prepareRescan(this.#app, rescan);
    if (!ready) return false;
    try {
      await beginRescan(this.#app, rescan, ready, await this.#chain.adapter.begin(rescan.account.birthday, signal));
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.#unreadable.add(rescan.account.id);
      const { key, adapter } = this.#chain;
      const text = message('chain.past', { reason: reasonOf(error) });
      await raise(this.#app, adapter.network, 'chain.past', `${key} account ${rescan.account.id}`, text);
    }
    return true;
  }

  async #failed(error: Unavailable | Rejected): Promise<number> {
    this.#failures++;
    this.#chain.away = true;
    if (error instanceof ChainAlert) {
      this.#isAlerted = true;
      await this.#alert(ALERT, message(ALERT, { reason: error.message }));
    }
    if (this.#failures === 1) this.#app.log.warn({ chain: this.#chain.key, reason: error.message }, 'chain is away');
    return Math.min(FAILED_RETRY_MS * 2 ** Math.min(this.#failures - 1, 10), FAILED_RETRY_MAX_MS);
  }

  async #followed(): Promise<void> {
    if (!this.#isAlerted || this.#chain.away) return;
    this.#isAlerted = false;
    await end(this.#app, ALERT, this.#chain.key);
  }

  #alert(kind: AlertKind, text: Message): Promise<void> {
    return raise(this.#app, this.#chain.adapter.network, kind, this.#chain.key, text);
  }

  /** The sandbox's source is in the database, which may not be readable for a moment: then it is as it was. */
  #noteLagging(): void {
    try {
      this.#chain.lagging = this.#chain.adapter.health().lagging;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  }

  async #halt(error: unknown): Promise<void> {
    this.#app.log.fatal({ chain: this.#chain.key, error }, 'the chain was halted by a bug');
    this.#chain.syncedAt = 0;
    await this.#alert('chain.halted', message('chain.halted', { chain: this.#chain.key, reason: String(error) }));
  }

  #announce(): void {
    for (const resolve of this.#firstPass.splice(0)) resolve();
  }
}
