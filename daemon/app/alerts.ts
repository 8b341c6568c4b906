/** What the operator must know: one open alert a kind and subject, until it is marked as seen. */
import { insertAlert } from '../store/queries/effects.ts';
import type { App } from './app.ts';

/** Raises an alert; a second one of the same kind and subject changes nothing. Never throws: it is often about a fault. */
export async function raise(app: App, kind: string, subject: string, message: string): Promise<void> {
  try {
    await app.store.write((tx) => tx.run(insertAlert, { kind, subject, message, created_at: app.now() }));
  } catch (error) {
    app.log.error({ kind, subject, error }, 'an alert could not be stored');
  }
}
