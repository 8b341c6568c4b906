/** Statements about debits: amounts that left accounts. */
import { sql } from 'kysely';
import type { AssetId } from '../../domain/assets.ts';
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, matching, NO, page, remove, SOME, sqlite, statement, update } from '../statement.ts';

export type DebitRow = Row<'debit'>;

/** The debits of a transaction: `from` is "txid:" and `to` "txid;". */
export const debitsOfTransaction = statement((p: { from: string; to: string; chain_key: string }) =>
  sqlite
    .selectFrom('debit')
    .selectAll()
    .where('ref', '>=', p.from)
    .where('ref', '<', p.to)
    .where('chain_key', '=', p.chain_key)
    .orderBy('ref'),
);

export const debitByRef = find('debit', 'ref', 'chain_key');

/** Debits of every chain that are in blocks, in the order of their times, above a time and an id of that time. */
export const debitsByTime = statement((p: { at: number; id: number; limit: number }) =>
  sqlite
    .selectFrom('debit')
    .selectAll()
    .where('block_hash', 'is not', null)
    .where(sql<boolean>`(at, id) > (${p.at}, ${p.id})`)
    .orderBy('at')
    .orderBy('id')
    .limit(p.limit),
);

export const insertDebit = insert('debit', columnsBut('debit', 'id'));

/** Updates all columns of a debit that can change. */
export const updateDebit = update(
  'debit',
  ['units', 'block_height', 'block_hash', 'at', 'usd_rate', 'book_currency', 'book_rate', 'book_rate_at'],
  'id',
);

export const deleteDebit = remove('debit', 'id');

/** A page, by id, of the reported debits in a block. */
export const reportedDebitsInBlock = page('debit', ['block_hash'], { target_id: SOME });

/** The debits that an account chain reports, in the order in which they were stored. */
export const reportedDebitsAbove = statement((p: { chain_key: string; id: number; limit: number }) =>
  sqlite
    .selectFrom('debit')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('target_id', 'is not', null)
    .where('id', '>', p.id)
    .orderBy('id')
    .limit(p.limit),
);

/** A page, by id, of the reported debits that are in no block. */
export const reportedDebitsUnconfirmed = page('debit', ['chain_key'], { target_id: SOME, block_hash: null });

/** The amount that left an address of an account chain in blocks. */
export const debitsOfTarget = matching('debit', ['target_id', 'asset'], { target_id: SOME, block_hash: SOME });

/** The adopted balance of an address that the first block from a height on has; undefined: none from there on was adopted. */
export const adoptedFrom = statement((p: { target_id: number; asset: AssetId; height: number }) =>
  sqlite
    .selectFrom('debit')
    .selectAll()
    .where('target_id', '=', p.target_id)
    .where('asset', '=', p.asset)
    .where('kind', '=', sql.lit('adopted'))
    .where('block_height', '>=', p.height)
    .orderBy('block_height')
    .limit(sql.lit(1)),
);

export const coinsSpentBy = statement((p: { txid: string; chain_key: string }) =>
  sqlite
    .selectFrom('credit')
    .select(['account_id', 'asset', 'units', 'spent_block_height', 'spent_block_hash'])
    .where('spent_txid', '=', p.txid)
    .where('chain_key', '=', p.chain_key)
    .where('gone', '=', NO),
);

/** The outputs of a transaction to change addresses of ours: `from` is "txid:" and `to` "txid;". */
export const changeOf = statement((p: { from: string; to: string; chain_key: string }) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .select(['credit.account_id', 'credit.asset', 'credit.units'])
    .where('credit.outpoint', '>=', p.from)
    .where('credit.outpoint', '<', p.to)
    .where('credit.chain_key', '=', p.chain_key)
    .where('credit.gone', '=', NO)
    .where('target.branch', '=', sql.lit(1)),
);
