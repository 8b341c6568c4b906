/** What happens by the clock: forgotten invoices, expired answers, and the address pools. */
import { type ScheduledTask, schedule } from 'node-cron';
import type { App } from '../app/app.ts';
import { deadline } from '../app/deadline.ts';
import { expireAnswers } from '../app/idempotency.ts';
import { cancelForgotten } from '../app/invoices.ts';
import { proveByClock } from '../app/ledger.ts';
import { fillPool, isLow } from '../app/pool.ts';
import { jumpAhead } from '../app/quarantine.ts';
import { dropOldEvents } from '../app/shop-events.ts';
import { tendStorage } from '../app/storage.ts';
import { expireWithdrawals } from '../app/withdrawals/work.ts';

const EVERY_MINUTE = '* * * * *';
const EVERY_NIGHT = '40 2 * * *';
const PROOF_TIMEOUT_MS = 3_600_000;
/** So many payments may take an address before the pools are looked at again. */
const FILL_PAUSE_MS = 250;
const ADDRESSES_AT_FIRST = 40;

export class Jobs {
  readonly #app: App;
  #tasks: ScheduledTask[] = [];
  #filling: Promise<void> | null = null;
  #stopped = false;
  readonly #abort = new AbortController();

  constructor(app: App) {
    this.#app = app;
  }

  start(): void {
    this.#tasks = [
      schedule(EVERY_MINUTE, () => this.minute(), { noOverlap: true }),
      schedule(EVERY_NIGHT, () => this.night(), { noOverlap: true }),
    ];
    this.fill();
    void this.minute();
  }

  /** What is done every minute, and at the start for what fell due meanwhile. */
  async minute(): Promise<void> {
    try {
      await tendStorage(this.#app);
      await this.#app.store.write((tx) => {
        cancelForgotten(this.#app, tx);
        expireAnswers(this.#app, tx);
        expireWithdrawals(this.#app, tx);
        dropOldEvents(this.#app, tx);
      });
    } catch (error) {
      this.#app.log.error({ error }, 'the minute’s work failed');
    }
  }

  /** The ledger of every chain against the source's own books; what differs is an alert. */
  async night(): Promise<void> {
    for (const chain of this.#app.chains.all()) {
      const signal = AbortSignal.any([this.#abort.signal, deadline(PROOF_TIMEOUT_MS, chain.key)]);
      try {
        await proveByClock(this.#app, chain, signal);
      } catch (error) {
        if (this.#stopped) return;
        this.#app.log.error({ chain: chain.key, error }, 'the proof of a ledger was ended by a bug');
      }
    }
  }

  /** Fills every account's pool, unless that is under way. */
  fill(): void {
    if (this.#filling || this.#stopped) return;
    this.#filling = this.#fillAll()
      .catch((error: unknown) => {
        if (!this.#stopped) this.#app.log.error({ error }, 'addresses could not be derived ahead');
      })
      .finally(() => {
        this.#filling = null;
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#abort.abort();
    for (const task of this.#tasks) await task.destroy();
    await this.#filling;
  }

  async #fillAll(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, FILL_PAUSE_MS).unref());
    const { addressPool } = this.#app.config.payments;
    // every account gets its first addresses before any gets all of them
    for (const size of [Math.min(ADDRESSES_AT_FIRST, addressPool), addressPool]) {
      for (const account of this.#app.directory.accounts()) {
        if (this.#stopped) return;
        await jumpAhead(this.#app, account, () => this.#stopped);
        if (isLow(this.#app, account, size)) await fillPool(this.#app, account, size, () => this.#stopped);
      }
    }
  }
}
