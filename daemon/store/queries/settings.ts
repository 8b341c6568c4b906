/** Statements about the appliance's own state: one value per key. */
import { columnsBut, insert, matching, remove } from '../statement.ts';

export const settingOf = matching('setting', ['key'], {}, ['value']);

export const hasSetting = matching('setting', ['key'], {}, ['key']);

export const saveSetting = insert('setting', columnsBut('setting'), ['key']);

export const dropSetting = remove('setting', 'key');
