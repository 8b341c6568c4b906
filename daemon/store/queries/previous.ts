/** Statements about the transactions that paid us, kept for the day when what they paid is spent. */
import { sqlite, statement } from '../statement.ts';

/** Keeps a transaction, once. */
export const keepPrevious = statement((p: { txid: string; chain_key: string; base: Uint8Array }) =>
  sqlite
    .insertInto('previous_tx')
    .values({ txid: p.txid, chain_key: p.chain_key, base: p.base })
    .onConflict((conflict) => conflict.doNothing()),
);

export const previousTx = statement((p: { txid: string; chain_key: string }) =>
  sqlite.selectFrom('previous_tx').select('base').where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);
