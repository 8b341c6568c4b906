/**
 * Statements about transactions that paid us. They are kept because signing needs them when their outputs are spent.
 */
import { columnsBut, insert, sqlite, statement } from '../statement.ts';

/** Stores a transaction if it is not stored yet. */
export const keepPrevious = insert('previous_tx', columnsBut('previous_tx'), 'ignore');

export const previousTx = statement((p: { txid: string; chain_key: string }) =>
  sqlite.selectFrom('previous_tx').select('base').where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);
