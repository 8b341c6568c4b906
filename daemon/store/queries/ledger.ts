/** Statements that read all there is, in pages: for proofs and exports. */
import { sqlite, statement } from '../statement.ts';

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

export const bookSpend = statement((p: { txid: string; chain_key: string; at: number; usd_rate: string | null }) =>
  sqlite
    .insertInto('booked_spend')
    .values({ txid: p.txid, chain_key: p.chain_key, at: p.at, usd_rate: p.usd_rate })
    .onConflict((conflict) => conflict.doNothing()),
);

export const bookedSpend = statement((p: { txid: string; chain_key: string }) =>
  sqlite.selectFrom('booked_spend').selectAll().where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);
