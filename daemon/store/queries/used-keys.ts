/** Statements about conflict keys that are no coins, and the transactions that used them. */
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, remove, sqlite, statement } from '../statement.ts';

export type UsedKeyRow = Row<'used_key'>;

export const usedKey = find('used_key', 'conflict_key', 'chain_key');

export const saveUsedKey = insert('used_key', columnsBut('used_key'), ['conflict_key', 'chain_key']);

export const dropUsedKey = remove('used_key', 'conflict_key', 'chain_key');

/** A page, by key, of the keys that a block's transactions use. */
export const usedKeysInBlock = statement((p: { block_hash: string; after: string; limit: number }) =>
  sqlite
    .selectFrom('used_key')
    .selectAll()
    .where('block_hash', 'is not', null)
    .where('block_hash', '=', p.block_hash)
    .where('conflict_key', '>', p.after)
    .orderBy('conflict_key')
    .limit(p.limit),
);

/** A page, by key, of the keys that unconfirmed transactions use. */
export const usedKeysUnconfirmed = statement((p: { chain_key: string; after: string; limit: number }) =>
  sqlite
    .selectFrom('used_key')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('block_hash', 'is', null)
    .where('conflict_key', '>', p.after)
    .orderBy('conflict_key')
    .limit(p.limit),
);
