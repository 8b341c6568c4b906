/** When each scheduled job was last done, so that a start knows which slots it missed. */
import { saveSetting, settingOf } from '../store/queries/settings.ts';
import type { App } from './app.ts';

const keyOf = (name: string): string => `job.${name}`;

/** Milliseconds since 1970; null if it was never done. */
export function jobDoneAt(app: Pick<App, 'store'>, name: string): number | null {
  const row = app.store.get(settingOf, { key: keyOf(name) });
  return row ? Number(row.value) : null;
}

export async function saveJobDone(app: Pick<App, 'store' | 'now'>, name: string, at: number): Promise<void> {
  await app.store.write((tx) => tx.run(saveSetting, { key: keyOf(name), value: `${at}`, updated_at: app.now() }));
}
