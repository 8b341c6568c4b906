/** How far the stored facts of an account chain were asked about again (`review.ts`): stored, so that a restart continues there. */
import { isDeepStrictEqual } from 'node:util';
import { dropSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';

/**
 * Where the next step begins. `after`: the last id, or the last conflict key. `left`: the facts that are still to be asked about.
 * `waitsFrom`: when nobody answered there first, or when that was told last; milliseconds since 1970.
 */
export type Place = { part: 'credits' | 'debits' | 'uses'; after: number | string; left: number; waitsFrom?: number };

export const BEGINNING = { part: 'credits', after: 0 } as const;
/** Every fact up to the last one. */
export const ALL = Number.MAX_SAFE_INTEGER;

const settingFor = (chainKey: string): string => `review.${chainKey}`;

/** Books that were never asked about are asked about from their beginning on. */
export function placeOf(reader: Reader, chainKey: string): Place {
  const value = reader.get(settingOf, { key: settingFor(chainKey) })?.value;
  return value === undefined ? { ...BEGINNING, left: ALL } : (JSON.parse(value) as Place);
}

/** Stores the place after a step from `from`, unless `reviewAll` came while operators were asked. */
export async function savePlace(app: App, chainKey: string, from: Place, to: Place): Promise<void> {
  const row = { key: settingFor(chainKey), value: JSON.stringify(to), updated_at: app.now() };
  await app.store.write((tx) => {
    if (isDeepStrictEqual(placeOf(tx, chainKey), from)) tx.run(saveSetting, row);
  });
}

/** Asks about everything from the beginning on. */
export function reviewAll(tx: Tx, chainKey: string): void {
  tx.run(dropSetting, { key: settingFor(chainKey) });
}
