/** Sends the e-mails about closed days, one after the other, over the server that alerts use. */
import type { App } from '../app/app.ts';
import {
  type ClosingMail,
  type MailEnd,
  recordClosingMail,
  takeClosingMail,
} from '../app/notifications/closing-mail.ts';
import { messageOf } from '../domain/messages.ts';
import { email, NotTaken } from './alerts/email.ts';
import type { Timetable } from './timetable.ts';

const EVERY_MS = 5_000;
const SEND_MS_MAX = 30_000;

export class ClosingMailWorker {
  readonly #app: App;
  readonly #abort = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(app: App) {
    this.#app = app;
  }

  /** Also where no server is set any more: what waits is then given up. */
  start(timetable: Timetable): void {
    timetable.every('closing-mail', EVERY_MS, () => this.work());
  }

  work(): Promise<void> {
    this.#working = this.#working.catch(() => undefined).then(() => this.#work());
    return this.#working;
  }

  async #work(): Promise<void> {
    const { store, config } = this.#app;
    const { smtp, emailFrom } = config.alerts;
    const canSend = smtp !== null && emailFrom !== null;
    while (!this.#abort.signal.aborted) {
      const mail = await store.write((tx) => takeClosingMail(this.#app, tx, canSend));
      if (mail === null) return;
      const ended = await this.#send(mail, `${smtp}`, `${emailFrom}`);
      await store.write((tx) => recordClosingMail(this.#app, tx, mail, ended));
    }
  }

  async #send(mail: ClosingMail, server: string, from: string): Promise<MailEnd> {
    const channel = email({ server, from, to: mail.recipients });
    const file = { name: 'closing.csv', type: 'text/csv; charset=utf-8', text: `${mail.file}` };
    const letter = { title: `${mail.subject}`, text: `${mail.body}`, urgent: false, file };
    try {
      await channel.send(letter, AbortSignal.any([this.#abort.signal, AbortSignal.timeout(SEND_MS_MAX)]));
      return { problem: null, maybe: false, again: false };
    } catch (error) {
      const { message: why } = error as Error;
      this.#app.log.warn({ closing: mail.closing_id, why }, 'a closing could not be sent by e-mail');
      const isKnown = error instanceof NotTaken;
      const problem = isKnown ? error.why : messageOf(why);
      return { problem, maybe: !isKnown || error.isMaybe, again: isKnown && !error.isFinal };
    }
  }

  /** Ends what is being sent, and returns once its end is stored. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#working.catch(() => undefined);
  }
}
