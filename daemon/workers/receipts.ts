/** Sends the receipts that payers asked for, one after the other, over the server that alerts use. */
import type { App } from '../app/app.ts';
import {
  forgetOldReceipts,
  isOutdated,
  nextReceipts,
  recordReceipt,
  sendsReceipts,
} from '../app/notifications/receipts.ts';
import { email, NotTaken } from './alerts/email.ts';
import type { Timetable } from './timetable.ts';

const EVERY_MS = 5_000;
const FORGET_MS = 3_600_000;
const SEND_MS_MAX = 30_000;

export class ReceiptWorker {
  readonly #app: App;
  readonly #abort = new AbortController();

  constructor(app: App) {
    this.#app = app;
  }

  /** Forgets at the start and then every hour, also where no receipts are sent. */
  start(timetable: Timetable): void {
    timetable.every('receipts.forget', FORGET_MS, () =>
      this.#app.store.write((tx) => forgetOldReceipts(this.#app, tx)),
    );
    if (sendsReceipts(this.#app)) timetable.every('receipts', EVERY_MS, () => this.work());
  }

  async work(): Promise<void> {
    const { store, config, log } = this.#app;
    const { smtp: server, emailFrom: from } = config.alerts;
    for (const receipt of server === null || from === null ? [] : nextReceipts(this.#app)) {
      if (this.#abort.signal.aborted) return;
      if (isOutdated(this.#app, receipt)) {
        await store.write((tx) => recordReceipt(this.#app, tx, receipt, 'refused'));
        continue;
      }
      const channel = email({ server: server!, from: from!, to: [receipt.email!] });
      const message = { title: receipt.subject!, text: receipt.body!, urgent: false };
      let end: 'taken' | 'refused' | 'failed' = 'taken';
      try {
        await channel.send(message, AbortSignal.any([this.#abort.signal, AbortSignal.timeout(SEND_MS_MAX)]));
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        end = error instanceof NotTaken && error.isFinal ? 'refused' : 'failed';
        log.warn({ invoice: receipt.invoice_id, why: (error as Error).message }, 'a receipt could not be sent');
      }
      await store.write((tx) => recordReceipt(this.#app, tx, receipt, end));
    }
  }

  stop(): void {
    this.#abort.abort();
  }
}
