/** Statements about what the appliance itself remembers: one value a key. */
import { sqlite, statement } from '../statement.ts';

export const settingOf = statement((p: { key: string }) =>
  sqlite.selectFrom('setting').select('value').where('key', '=', p.key),
);

export const saveSetting = statement((p: { key: string; value: string; updated_at: number }) =>
  sqlite
    .insertInto('setting')
    .values({ key: p.key, value: p.value, updated_at: p.updated_at })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: p.value, updated_at: p.updated_at })),
);

export const dropSetting = statement((p: { key: string }) => sqlite.deleteFrom('setting').where('key', '=', p.key));
