/** Statements about tokens that this program does not know. */
import { sql } from 'kysely';
import { beyond, columnsBut, find, insert, sqlite, statement, update } from '../statement.ts';
import { invoiceOfTarget } from './ready.ts';

export const unknownToken = find('unknown_token', 'target_id', 'contract');

export const insertUnknownToken = insert('unknown_token', columnsBut('unknown_token', 'id'));

export const addToUnknownToken = update(
  'unknown_token',
  ['units', 'transfers', 'txid', 'block_height', 'last_seen_at'],
  'id',
);

/** A token of an address if it has more than `above`. */
export const unknownTokenAfter = beyond('unknown_token', ['target_id'], {}, ['id']);

/** The newest row that is older than `kept` others. */
export const unknownTokenBefore = statement((p: { kept: number }) =>
  sqlite.selectFrom('unknown_token').select('id').orderBy('id', 'desc').limit(sql.lit(1)).offset(p.kept),
);

export const dropUnknownTokens = statement((p: { id: number }) =>
  sqlite.deleteFrom('unknown_token').where('id', '<=', p.id),
);

/** The newest ones below an id, with the address that they came to. */
export const unknownTokensBelow = statement((p: { id: number; limit: number }) =>
  sqlite
    .selectFrom('unknown_token')
    .innerJoin('target', 'target.id', 'unknown_token.target_id')
    .leftJoin('invoice', (join) => join.on('invoice.id', '=', invoiceOfTarget))
    .selectAll('unknown_token')
    .select(['target.address', 'target.account_id', 'invoice.slug as invoice_slug'])
    .where('unknown_token.id', '<', p.id)
    .orderBy('unknown_token.id', 'desc')
    .limit(p.limit),
);
