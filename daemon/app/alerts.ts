/**
 * What the operator must know: one open alert a kind and subject, until it is marked as seen. One that cannot be stored,
 * because the disk is full or locked, is kept in memory until it can.
 */
import type { Network } from '../domain/assets.ts';
import { openAlertOf } from '../store/queries/alert-notices.ts';
import { closeAlertsOf, insertAlert } from '../store/queries/effects.ts';
import type { Tx } from '../store/store.ts';
import type { App } from './app.ts';

const UNSTORED_MAX = 100;

export type UnstoredAlert = {
  kind: string;
  subject: string;
  message: string;
  created_at: number;
  network: Network | null;
};

/** The alerts that wait for the disk, oldest first. Of a kind and subject the first counts, as it does in the store. */
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
 * Raises an alert; a second one of the same kind and subject changes nothing. `network`: null where it is about the
 * appliance itself. Never throws: it is often about a fault.
 */
export async function raise(
  app: App,
  kind: string,
  subject: string,
  message: string,
  network: Network | null = null,
): Promise<void> {
  const alert = { kind, subject, message, created_at: app.now(), network };
  try {
    await app.store.write((tx) => tx.run(insertAlert, alert));
  } catch (error) {
    app.log.error({ kind, subject, message, error }, 'an alert could not be stored');
    app.unstored.add(alert);
    app.operatorEvents.tell('alert', '0');
  }
}

/**
 * The same inside a transaction, about something that happened on a network. What happens in the sandbox is play: it raises
 * none, unless the program itself is at fault (`raise`).
 */
export function raiseIn(app: App, tx: Tx, network: Network, kind: string, subject: string, message: string): void {
  if (network !== 'sandbox') tx.run(insertAlert, { kind, subject, message, created_at: app.now(), network });
}

/** Closes what is said of a subject: it is over. Reads first, so that it may be called for nothing. Never throws. */
export async function end(app: App, kind: string, subject: string): Promise<void> {
  try {
    if (!app.store.get(openAlertOf, { kind, subject })) return;
    await app.store.write((tx) => tx.run(closeAlertsOf, { kind, subject, seen_at: app.now() }));
  } catch (error) {
    app.log.warn({ kind, subject, error }, 'an alert could not be closed');
  }
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
