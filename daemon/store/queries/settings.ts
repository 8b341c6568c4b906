/** Statements about the appliance's own state: one value per key. */
import { columnsBut, insert, remove, sqlite, statement } from '../statement.ts';

export const settingOf = statement((p: { key: string }) =>
  sqlite.selectFrom('setting').select('value').where('key', '=', p.key),
);

export const saveSetting = insert('setting', columnsBut('setting'), ['key']);

export const dropSetting = remove('setting', 'key');
