/** Statements about the addresses that were given out, in the order in which they were. */
import { sql } from 'kysely';
import { insert, sqlite, statement } from '../statement.ts';

export const insertGiven = insert('given', ['target_id']);

export const lastGiven = statement(() =>
  sqlite.selectFrom('given').select('no').orderBy('no', 'desc').limit(sql.lit(1)),
);

export const givenFrom = statement((p: { from: number; limit: number }) =>
  sqlite
    .selectFrom('given')
    .innerJoin('target', 'target.id', 'given.target_id')
    .innerJoin('account', 'account.id', 'target.account_id')
    .select([
      'given.no',
      'target.id',
      'target.account_id',
      'target.chain_key',
      'target.idx',
      'target.address',
      'target.invoice_id',
      'account.business_id',
    ])
    .where('given.no', '>=', p.from)
    .orderBy('given.no')
    .limit(p.limit),
);
