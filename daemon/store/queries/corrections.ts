/** Statements about corrections of the books, and about the facts that are asked for again. */
import { columnsBut, insert, matching, pageByKey, SOME, sqlite, statement } from '../statement.ts';

export const insertCorrection = insert('correction', columnsBut('correction', 'id'));

/** The newest corrections of a chain, with the addresses that they are about. */
export const newestCorrections = statement((p: { chain_key: string; limit: number }) =>
  sqlite
    .selectFrom('correction')
    .innerJoin('target', 'target.id', 'correction.target_id')
    .selectAll('correction')
    .select('target.address')
    .where('correction.chain_key', '=', p.chain_key)
    .orderBy('correction.id', 'desc')
    .limit(p.limit),
);

/** A page, by key, of the conflict keys that transactions in blocks used. */
export const usedKeysAbove = pageByKey('used_key', ['chain_key'], { block_hash: SOME });

/** The amounts that left an address of an account chain in blocks, of every asset. */
export const debitsInBlocksOf = matching('debit', ['target_id'], { target_id: SOME, block_hash: SOME });
