/** Statements about conflict keys that are no coins, and the transactions that used them. */
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, pageByKey, remove, SOME } from '../statement.ts';

export type UsedKeyRow = Row<'used_key'>;

export const usedKey = find('used_key', 'conflict_key', 'chain_key');

export const saveUsedKey = insert('used_key', columnsBut('used_key'), ['conflict_key', 'chain_key']);

export const dropUsedKey = remove('used_key', 'conflict_key', 'chain_key');

/** A page, by key, of the keys that a block's transactions use. */
export const usedKeysInBlock = pageByKey('used_key', ['block_hash'], { block_hash: SOME });

/** A page, by key, of the keys that unconfirmed transactions use. */
export const usedKeysUnconfirmed = pageByKey('used_key', ['chain_key'], { block_hash: null });
