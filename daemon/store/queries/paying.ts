/** Statements about transactions that pay us: the facts that their credits share are stored once. */
import { sql } from 'kysely';
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, remove, sqlite, statement, YES } from '../statement.ts';

export type PayingRow = Row<'paying_tx'>;

export const payingTx = find('paying_tx', 'txid', 'chain_key');

export const savePayingTx = insert('paying_tx', columnsBut('paying_tx'), ['txid', 'chain_key']);

/** A transaction whose value changed after some of its credits were written. */
export const stalePayingTx = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('paying_tx')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('stale', '=', YES)
    .limit(sql.lit(1)),
);

export const deletePayingTx = remove('paying_tx', 'txid', 'chain_key');

export const insertPayingInput = insert('paying_input', columnsBut('paying_input'), 'ignore');

/** Other transactions than `txid` that pay us and spend an outpoint. */
export const payingTxsWithInput = statement((p: { outpoint: string; chain_key: string; txid: string; limit: number }) =>
  sqlite
    .selectFrom('paying_input')
    .select('txid')
    .where('outpoint', '=', p.outpoint)
    .where('chain_key', '=', p.chain_key)
    .where('txid', '<>', p.txid)
    .limit(p.limit),
);

export const deletePayingInputs = remove('paying_input', 'txid', 'chain_key');
