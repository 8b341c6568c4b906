/** Statements about the addresses that were given out, in the order in which they were. */
import { sql } from 'kysely';
import { insert, sqlite, statement } from '../statement.ts';
import { invoiceOfTarget } from './ready.ts';

export const insertGiven = insert('given', ['target_id', 'invoice_id']);

/** Remembers an address whose row does not say yet to which invoice it was given. */
export const insertLately = statement(
  (p: { target_id: number; invoice_id: number }) =>
    sql`INSERT INTO given_lately (target_id, invoice_id) VALUES (${p.target_id}, ${p.invoice_id})`,
);

/** The next index of an account that may be ready. */
export const setReadyFrom = statement(
  (p: { account_id: number; idx: number }) =>
    sql`INSERT INTO ready_from (account_id, idx) VALUES (${p.account_id}, ${p.idx})
    ON CONFLICT (account_id) DO UPDATE SET idx = excluded.idx`,
);

/** Those that are to be entered into their rows, in the order of these. */
export const latelyAfter = statement(
  (p: { after: number; limit: number }) => sql<{
    target_id: number;
    invoice_id: number;
    chain_key: string;
    script: Uint8Array;
  }>`SELECT given_lately.target_id, given_lately.invoice_id, target.chain_key, target.script
      FROM given_lately CROSS JOIN target ON target.id = given_lately.target_id
      WHERE given_lately.target_id > ${p.after} ORDER BY given_lately.target_id LIMIT ${p.limit}`,
);

export const deleteLately = statement(
  (p: { after: number; last: number }) =>
    sql`DELETE FROM given_lately WHERE target_id > ${p.after} AND target_id <= ${p.last}`,
);

/** Returns a row if more than `above` are to be entered. */
export const latelyAbove = statement(
  (p: { above: number }) =>
    sql<{
      target_id: number;
    }>`SELECT target_id FROM given_lately WHERE target_id > 0 LIMIT 1 OFFSET ${p.above}`,
);

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
      invoiceOfTarget.as('invoice_id'),
      'account.business_id',
    ])
    .where('given.no', '>=', p.from)
    .orderBy('given.no')
    .limit(p.limit),
);
