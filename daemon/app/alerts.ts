/**
 * Alerts for the operator: at most one open alert per kind and subject, until it is marked as seen. It always has the
 * newest text. When its cause changes (`causeOf`), channels send it again, within their limit of one message an hour. An
 * alert that cannot be stored, because the disk is full or locked, stays in memory until it can.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Network } from '../domain/assets.ts';
import { networkOf } from '../domain/chain.ts';
import {
  type AlertKind,
  causeOf,
  type Message,
  type MessageCode,
  message,
  textOf,
  type ValuesFor,
} from '../domain/messages.ts';
import { openAlertOf, tellAgain } from '../store/queries/alert-notices.ts';
import { changeAlert, closeAlertsOf, insertAlert, rewordAlert } from '../store/queries/effects.ts';
import type { Tx } from '../store/store.ts';
import type { App } from './app.ts';

const UNSTORED_MAX = 100;

type UnstoredAlert = {
  kind: AlertKind;
  subject: string;
  message: Message;
  created_at: number;
  network: Network | null;
};

/** Alerts that wait for the disk, oldest first. As in the store, one of a kind and subject has its newest text. */
export class UnstoredAlerts {
  readonly #waiting = new Map<string, UnstoredAlert>();

  add(alert: UnstoredAlert): void {
    const key = `${alert.kind} ${alert.subject}`;
    const { created_at } = this.#waiting.get(key) ?? alert;
    if (this.#waiting.has(key) || this.#waiting.size < UNSTORED_MAX) this.#waiting.set(key, { ...alert, created_at });
  }

  all(): UnstoredAlert[] {
    return [...this.#waiting.values()];
  }

  drop({ kind, subject }: UnstoredAlert): void {
    this.#waiting.delete(`${kind} ${subject}`);
  }
}

/**
 * Raises an alert, or updates the open one of the same kind and subject. `network`: null for the appliance itself.
 * Never throws, because it often reports a fault.
 */
export async function raise(
  app: App,
  network: Network | null,
  kind: AlertKind,
  subject: string,
  message: Message,
): Promise<void> {
  const alert = { kind, subject, message, created_at: app.now(), network };
  try {
    if (isDeepStrictEqual(app.store.get(openAlertOf, { kind, subject })?.message, message)) return;
    await app.store.write((tx) => put(tx, alert, app));
  } catch (error) {
    app.log.error({ kind, subject, message: textOf(message), error }, 'an alert could not be stored');
    app.unstored.add(alert);
    app.operatorEvents.tell('alert', '0');
  }
}

/** The same with a kind that is the code of its message. */
export const raiseAs = <K extends AlertKind & MessageCode>(
  app: App,
  network: Network | null,
  kind: K,
  subject: string,
  ...values: ValuesFor<K>
): Promise<void> => raise(app, network, kind, subject, message(kind, ...values));

/**
 * The same inside a transaction, for an event on a network; null: of the appliance itself. Events on the sandbox raise
 * no alert, except for faults of the program itself (`raise`).
 */
export function raiseIn(
  app: App,
  tx: Tx,
  network: Network | null,
  kind: AlertKind,
  subject: string,
  message: Message,
): void {
  if (network === 'sandbox') return;
  put(tx, { kind, subject, message, created_at: app.now(), network }, app);
}

/** The same for an event of a chain, of a kind that is the code of its message, too. */
export function raiseOn<K extends AlertKind & MessageCode>(
  app: App,
  tx: Tx,
  chainKey: string,
  subject: string,
  kind: K,
  ...values: ValuesFor<K>
): void {
  raiseIn(app, tx, networkOf(chainKey), kind, subject, message(kind, ...values));
}

/** The same where no service runs. `created_at`: milliseconds since 1970. */
export function insertIn(tx: Tx, created_at: number, kind: AlertKind, subject: string, message: Message): void {
  put(tx, { kind, subject, message, created_at, network: null }, null);
}

/** `app`: null where no service runs. */
function put(tx: Tx, alert: UnstoredAlert, app: App | null): void {
  const { kind, subject, message, created_at } = alert;
  const open = tx.get(openAlertOf, { kind, subject });
  if (!open) tx.run(insertAlert, alert);
  else if (!isDeepStrictEqual(open.message, message)) {
    if (causeOf(open.message) === causeOf(message)) tx.run(rewordAlert, { id: open.id, message });
    else {
      tx.run(changeAlert, { id: open.id, message, changed_at: created_at });
      tx.run(tellAgain, { alert_id: open.id });
      tx.afterCommit(() => app?.operatorEvents.tell('alert', `${open.id}`, textOf(message)));
    }
  }
}

/** The message of the open alert of a subject; null: none is open. */
export function openMessage({ store }: App, kind: AlertKind, subject: string): Message | null {
  return store.get(openAlertOf, { kind, subject })?.message ?? null;
}

/** Closes the alerts of a subject. Reads first, so that useless calls are cheap. Never throws. */
export async function end(app: App, kind: AlertKind, subject: string): Promise<void> {
  try {
    if (!app.store.get(openAlertOf, { kind, subject })) return;
    await app.store.write((tx) => endIn(app, tx, kind, subject));
  } catch (error) {
    app.log.warn({ kind, subject, error }, 'an alert could not be closed');
  }
}

/** The same inside a transaction. */
export function endIn(app: App, tx: Tx, kind: AlertKind, subject: string): void {
  if (tx.get(openAlertOf, { kind, subject })) tx.run(closeAlertsOf, { kind, subject, seen_at: app.now() });
}

export async function storeWaitingAlerts(app: App): Promise<void> {
  const waiting = app.unstored.all();
  if (waiting.length === 0 || app.store.health().trouble !== null) return;
  await app.store.write((tx) => {
    for (const alert of waiting) put(tx, alert, app);
  });
  for (const alert of waiting) app.unstored.drop(alert);
}
