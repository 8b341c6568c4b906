/** Statements about the transactions that paid us, kept for the day when what they paid is spent. */
import { columnsBut, insert, sqlite, statement } from '../statement.ts';

/** Keeps a transaction, once. */
export const keepPrevious = insert('previous_tx', columnsBut('previous_tx'), 'ignore');

export const previousTx = statement((p: { txid: string; chain_key: string }) =>
  sqlite.selectFrom('previous_tx').select('base').where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);
