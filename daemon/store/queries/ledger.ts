/** Statements that read all there is, in pages: for proofs and exports. */
import { columnsBut, find, insert, sqlite, statement } from '../statement.ts';

/** Credits of every chain in the order in which they were stored. */
export const creditsAbove = statement((p: { id: number; limit: number }) =>
  sqlite.selectFrom('credit').selectAll().where('id', '>', p.id).orderBy('id').limit(p.limit),
);

/** Coins that a transaction spends, the oldest row first. */
export const creditsSpentBy = statement((p: { txid: string; chain_key: string }) =>
  sqlite
    .selectFrom('credit')
    .selectAll()
    .where('spent_txid', '=', p.txid)
    .where('chain_key', '=', p.chain_key)
    .orderBy('id'),
);

export const bookSpend = insert('booked_spend', columnsBut('booked_spend'), 'ignore');

export const bookedSpend = find('booked_spend', 'txid', 'chain_key');
