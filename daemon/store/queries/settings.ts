/** Statements about what the appliance itself remembers: one value a key. */
import { columnsBut, insert, remove, sqlite, statement } from '../statement.ts';

export const settingOf = statement((p: { key: string }) =>
  sqlite.selectFrom('setting').select('value').where('key', '=', p.key),
);

export const saveSetting = insert('setting', columnsBut('setting'), ['key']);

export const dropSetting = remove('setting', 'key');
