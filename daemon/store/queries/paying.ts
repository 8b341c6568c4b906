/** Statements about the transactions that pay us: what all credits of one share is stored once. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

export type PayingRow = Selectable<Schema['paying_tx']>;

export const payingTx = statement((p: { txid: string; chain_key: string }) =>
  sqlite.selectFrom('paying_tx').selectAll().where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);

export const savePayingTx = statement((p: PayingRow) =>
  sqlite
    .insertInto('paying_tx')
    .values({
      txid: p.txid,
      chain_key: p.chain_key,
      usd_value: p.usd_value,
      outputs: p.outputs,
      unvalued: p.unvalued,
      unread: p.unread,
      stale: p.stale,
    })
    .onConflict((conflict) =>
      conflict.columns(['txid', 'chain_key']).doUpdateSet({
        usd_value: p.usd_value,
        outputs: p.outputs,
        unvalued: p.unvalued,
        unread: p.unread,
        stale: p.stale,
      }),
    ),
);

/** A transaction whose worth changed after some of its credits were written. */
export const stalePayingTx = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('paying_tx')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('stale', '=', sql.lit(1))
    .limit(sql.lit(1)),
);

export const deletePayingTx = statement((p: { txid: string; chain_key: string }) =>
  sqlite.deleteFrom('paying_tx').where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);

export const insertPayingInput = statement((p: { outpoint: string; chain_key: string; txid: string }) =>
  sqlite
    .insertInto('paying_input')
    .values({ outpoint: p.outpoint, chain_key: p.chain_key, txid: p.txid })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Others than `txid` that pay us and spend an outpoint. */
export const payingTxsWithInput = statement((p: { outpoint: string; chain_key: string; txid: string; limit: number }) =>
  sqlite
    .selectFrom('paying_input')
    .select('txid')
    .where('outpoint', '=', p.outpoint)
    .where('chain_key', '=', p.chain_key)
    .where('txid', '<>', p.txid)
    .limit(p.limit),
);

export const deletePayingInputs = statement((p: { txid: string; chain_key: string }) =>
  sqlite.deleteFrom('paying_input').where('txid', '=', p.txid).where('chain_key', '=', p.chain_key),
);
