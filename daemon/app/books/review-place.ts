/** How far the stored facts of an account chain were asked about again (`review.ts`): stored, so that a restart continues there. */
import { dropSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';

/** Where the next step begins. `after`: the last id, or the last conflict key. `left`: the facts that are still to be asked about. */
export type Place = { part: 'credits' | 'debits' | 'uses'; after: number | string; left: number };

export const BEGINNING = { part: 'credits', after: 0 } as const;
/** Every fact up to the last one. */
export const ALL = Number.MAX_SAFE_INTEGER;

const settingFor = (chainKey: string): string => `review.${chainKey}`;

/** Books that were never asked about are asked about from their beginning on. */
export function placeOf(app: App, chainKey: string): Place {
  const value = app.store.get(settingOf, { key: settingFor(chainKey) })?.value;
  return value === undefined ? { ...BEGINNING, left: ALL } : (JSON.parse(value) as Place);
}

export async function savePlace(app: App, chainKey: string, place: Place): Promise<void> {
  const row = { key: settingFor(chainKey), value: JSON.stringify(place), updated_at: app.now() };
  await app.store.write((tx) => tx.run(saveSetting, row));
}

/** Asks about everything from the beginning on. */
export function reviewAll(tx: Tx, chainKey: string): void {
  tx.run(dropSetting, { key: settingFor(chainKey) });
}
