/** Periodic jobs: deadlines of invoices, expired answers, address pools, and the nightly proof. */

import { enterGiven, isEnteringDue } from '../app/addresses/enter.ts';
import { fillPool, isLow } from '../app/addresses/pool.ts';
import { deriveSkipped } from '../app/addresses/skipped.ts';
import type { App } from '../app/app.ts';
import { rateLate } from '../app/books/rating.ts';
import { proveByClock } from '../app/books/reconcile.ts';
import { tellAway } from '../app/chains/away.ts';
import { tellUnchecked } from '../app/chains/unchecked.ts';
import { within } from '../app/deadline.ts';
import { noteGasPrices } from '../app/gas/prices.ts';
import { expireAnswers } from '../app/idempotency.ts';
import { askAbsence, tellUnvouched } from '../app/invoices/ask-absence.ts';
import { cancelForgotten } from '../app/invoices/invoices.ts';
import { isListingDue, listInvoicesMade } from '../app/invoices/listed.ts';
import { freeRows, MAINTENANCE_SCHEDULE } from '../app/maintenance.ts';
import { tellInbox } from '../app/notifications/inbox-deposits.ts';
import { dropOldEvents } from '../app/notifications/shop-events.ts';
import { PROOF_SCHEDULE, tellClock, tellLate, tellUnconfirmed, tellWaiting } from '../app/operator/watchdog.ts';
import { tellGaps } from '../app/recovery/gaps.ts';
import { prepareGiven } from '../app/refunds/answered.ts';
import { expireWithdrawals } from '../app/spends/pass.ts';
import { noteSize, tendStorage } from '../app/storage.ts';
import { assert, Unavailable } from '../domain/errors.ts';
import { MS_PER_MINUTE } from '../domain/time.ts';
import { inTurns } from '../kit/async.ts';
import { lastSlot, parseSchedule, type Schedule } from '../kit/schedule.ts';
import type { Timetable } from './timetable.ts';

function scheduled(text: string): Schedule {
  const schedule = parseSchedule(text);
  assert(schedule, `${text} is a schedule`);
  return schedule;
}

const PROOFS = scheduled(PROOF_SCHEDULE);
const MAINTENANCE = scheduled(MAINTENANCE_SCHEDULE);
const STORAGE_MS = 10_000;
const ABSENCE_MS = 2_000;
const PROOF_TIMEOUT_MS = 3_600_000;
const PROOF_RETRY_SECONDS = 900;
/** At most this often do taken addresses make the pools be checked again, while these are full enough. */
const FILL_PAUSE_MS = 100;
const ADDRESSES_AT_FIRST = 40;

export class Jobs {
  readonly #app: App;
  /** The chains already proved since the last slot, and that slot. */
  readonly #proved = new Set<string>();
  #night: number | null = null;
  /** When each chain became unavailable. */
  readonly #away = new Map<string, number>();
  readonly #refundLinks = { before: Number.MAX_SAFE_INTEGER };
  #filling: Promise<void> | null = null;
  #isFillWanted = false;
  /** Whether the last look found a pool to fill: then more may be given out than a pause allows. */
  #hasFilled = false;
  #entering: Promise<void> | null = null;
  /** The accounts that may have fewer addresses than they should; null: all of them. */
  #short: Set<number> | null = null;
  #stopped = false;
  readonly #abort = new AbortController();

  constructor(app: App) {
    this.#app = app;
  }

  /** Registers the periodic jobs and starts to derive addresses. */
  start(timetable: Timetable): void {
    timetable.every('storage', STORAGE_MS, () => tendStorage(this.#app));
    timetable.every('absence', ABSENCE_MS, () => this.absence());
    timetable.every('minute', MS_PER_MINUTE, () => this.minute());
    timetable.at('proof', PROOFS, () => this.night());
    timetable.at('maintenance', MAINTENANCE, () => this.#free());
    this.fill();
  }

  /** Runs every few seconds: asks about the invoices whose deadline waits for it. */
  absence(): Promise<void> {
    return askAbsence(this.#app);
  }

  /** Runs every minute, and at the start for deadlines that passed meanwhile. A failure of one job does not keep the others. */
  async minute(): Promise<void> {
    const app = this.#app;
    const jobs: Readonly<Record<string, () => Promise<unknown>>> = {
      invoices: () => app.store.write((tx) => cancelForgotten(app, tx)),
      withdrawals: () => app.store.write((tx) => expireWithdrawals(app, tx)),
      'refund links': () => prepareGiven(app, this.#refundLinks),
      events: () => app.store.write((tx) => dropOldEvents(app, tx)),
      answers: () => expireAnswers(app),
      'chains away': () => tellAway(app, this.#away),
      'views unchecked': () => tellUnchecked(app),
      'waiting deadlines': () => tellUnvouched(app),
      'waiting withdrawals': () => tellWaiting(app),
      'unconfirmed withdrawals': () => tellUnconfirmed(app),
      inbox: () => tellInbox(app),
      'late jobs': () => tellLate(app),
      clock: () => tellClock(app),
      gaps: () => tellGaps(app),
      'late rates': () => rateLate(app),
      'gas prices': () => noteGasPrices(app),
      'given addresses and new invoices': () => this.#enter(),
      size: () => noteSize(app),
    };
    for (const [job, run] of Object.entries(jobs)) {
      try {
        await run();
      } catch (error) {
        if (this.#stopped) return;
        app.log.error({ job, error }, 'a job of every minute failed');
      }
    }
  }

  /**
   * Compares every chain's books with the source's own. A difference is an alert. Throws if a chain could not be
   * proved; the next call of the same night proves only the remaining ones.
   */
  async night(): Promise<void> {
    const night = lastSlot(PROOFS, this.#app.now());
    if (night !== this.#night) this.#proved.clear();
    this.#night = night;
    const left: string[] = [];
    for (const chain of this.#app.chains.all()) {
      if (this.#proved.has(chain.key)) continue;
      const prove = (signal: AbortSignal) => proveByClock(this.#app, chain, signal);
      try {
        if (await within(PROOF_TIMEOUT_MS, chain.key, this.#abort.signal, prove)) this.#proved.add(chain.key);
        else left.push(chain.key);
      } catch (error) {
        if (this.#stopped) return;
        this.#app.log.error({ chain: chain.key, error }, 'the proof of a ledger was ended by a bug');
        left.push(chain.key);
      }
    }
    if (left.length > 0) throw new Unavailable(`not proved yet: ${left.join(', ')}`, PROOF_RETRY_SECONDS);
  }

  async #free(): Promise<void> {
    const freed = await freeRows(this.#app, this.#abort.signal);
    this.#app.log.info(freed, 'old rows were removed');
  }

  /**
   * Fills an account's address pool, or every account's; once more after the present time, if that is running. Only accounts that
   * gave an address away are looked at: of a hundred businesses, one has a payment.
   */
  fill(account?: number): void {
    if (account === undefined) this.#short = null;
    else this.#short?.add(account);
    this.#isFillWanted = true;
    this.#beginFill();
  }

  /** Looks at the accounts that `#short` names, unless that is under way: its end calls this again. */
  #beginFill(): void {
    if (this.#filling || this.#stopped) return;
    this.#filling = this.#fillAll()
      .catch((error: unknown) => {
        // the next time looks at those, too, that this one did not come to
        this.#short = null;
        if (!this.#stopped) this.#app.log.error({ error }, 'addresses could not be derived ahead');
      })
      .finally(() => {
        this.#filling = null;
        if (this.#isFillWanted) this.#beginFill();
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#abort.abort();
    await this.#filling;
    await this.#entering?.catch(() => {});
  }

  /** Enters the addresses that were given out into their rows, and new invoices into the lists, unless that is under way. */
  #enter(): Promise<void> {
    this.#entering ??= this.#enterAll().finally(() => {
      this.#entering = null;
    });
    return this.#entering;
  }

  async #enterAll(): Promise<void> {
    await enterGiven(this.#app, () => this.#stopped);
    await listInvoicesMade(this.#app, () => this.#stopped);
  }

  async #fillAll(): Promise<void> {
    if (!this.#hasFilled) await new Promise((resolve) => setTimeout(resolve, FILL_PAUSE_MS).unref());
    this.#hasFilled = false;
    this.#isFillWanted = false;
    if (isEnteringDue(this.#app) || isListingDue(this.#app)) {
      this.#enter().catch((error: unknown) => {
        if (!this.#stopped) this.#app.log.error({ error }, 'given addresses and new invoices could not be entered');
      });
    }
    const short = this.#short;
    this.#short = new Set();
    const accounts = this.#app.directory.accounts().filter(({ id }) => short === null || short.has(id));
    const { addressPool } = this.#app.config.payments;
    // every account gets its first addresses before any account gets all of them
    const sizes = [Math.min(ADDRESSES_AT_FIRST, addressPool), addressPool];
    for await (const [size, account] of inTurns(
      sizes.flatMap((size) => accounts.map((account) => [size, account] as const)),
    )) {
      if (this.#stopped) return;
      if (!isLow(this.#app, account, size)) continue;
      await fillPool(this.#app, account, size, () => this.#stopped);
      this.#hasFilled = true;
    }
    for await (const account of inTurns(accounts)) {
      if (this.#stopped) return;
      await deriveSkipped(this.#app, account, () => this.#stopped);
    }
  }
}
