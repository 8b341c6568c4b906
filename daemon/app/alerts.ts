/**
 * Alerts for the operator: at most one open alert per kind and subject, until it is marked as seen. An alert that
 * cannot be stored, because the disk is full or locked, stays in memory until it can.
 */
import type { Network } from '../domain/assets.ts';
import { type AlertKind, type Message, templateOf } from '../domain/messages.ts';
import { openAlertOf } from '../store/queries/alert-notices.ts';
import { type AlertRow, closeAlertsOf, insertAlert } from '../store/queries/effects.ts';
import type { Tx } from '../store/store.ts';
import type { App } from './app.ts';

const UNSTORED_MAX = 100;

type UnstoredAlert = {
  kind: AlertKind;
  subject: string;
  message: string;
  template: AlertRow['template'];
  created_at: number;
  network: Network | null;
};

/** Alerts that wait for the disk, oldest first. As in the store, the first of a kind and subject counts. */
export class UnstoredAlerts {
  readonly #waiting = new Map<string, UnstoredAlert>();

  add(alert: UnstoredAlert): void {
    const key = `${alert.kind} ${alert.subject}`;
    if (!this.#waiting.has(key) && this.#waiting.size < UNSTORED_MAX) this.#waiting.set(key, alert);
  }

  all(): UnstoredAlert[] {
    return [...this.#waiting.values()];
  }

  drop({ kind, subject }: UnstoredAlert): void {
    this.#waiting.delete(`${kind} ${subject}`);
  }
}

/**
 * Raises an alert; without effect if one of the same kind and subject is open. `network`: null for the appliance
 * itself. Never throws, because it often reports a fault.
 */
export async function raise(
  app: App,
  kind: AlertKind,
  subject: string,
  message: Message,
  network: Network | null = null,
): Promise<void> {
  const alert = { kind, subject, ...columnsOf(message), created_at: app.now(), network };
  try {
    await app.store.write((tx) => tx.run(insertAlert, alert));
  } catch (error) {
    app.log.error({ kind, subject, message: message.text, error }, 'an alert could not be stored');
    app.unstored.add(alert);
    app.operatorEvents.tell('alert', '0');
  }
}

/**
 * The same inside a transaction, for an event on a network. Events on the sandbox raise no alert, except for faults of
 * the program itself (`raise`).
 */
export function raiseIn(app: App, tx: Tx, network: Network, kind: AlertKind, subject: string, message: Message): void {
  if (network !== 'sandbox') insertIn(tx, app.now(), network, kind, subject, message);
}

/** The same where no service runs. `created_at`: milliseconds since 1970. */
export function insertIn(
  tx: Tx,
  created_at: number,
  network: Network | null,
  kind: AlertKind,
  subject: string,
  message: Message,
): void {
  tx.run(insertAlert, { kind, subject, ...columnsOf(message), created_at, network });
}

const columnsOf = (message: Message) => ({ message: message.text, template: templateOf(message) });

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

/** Stores the alerts that wait in memory. */
export async function storeWaitingAlerts(app: App): Promise<void> {
  const waiting = app.unstored.all();
  if (waiting.length === 0 || app.store.health().trouble !== null) return;
  await app.store.write((tx) => {
    for (const alert of waiting) tx.run(insertAlert, alert);
  });
  for (const alert of waiting) app.unstored.drop(alert);
}
