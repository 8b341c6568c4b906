/** Statements about approval policies, the address book, and decisions about deposits in the inbox. */
import { sql } from 'kysely';
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, NO, remove, sqlite, statement, upTo } from '../statement.ts';

export type AddressBookRow = Row<'address_book'>;

export type InboxRow = {
  id: number;
  credit_id: number;
  business_id: number;
  invoice_id: number | null;
  reason: Row<'inbox'>['reason'];
  state: Row<'inbox'>['state'];
  withdrawal_id: number | null;
  /** The part of the deposit that it is about; null: all of it. */
  units: bigint | null;
  created_at: number;
  updated_at: number;
};

export const policyOf = find('policy', 'business_id');

export const setPolicy = insert('policy', columnsBut('policy'), ['business_id']);

export const insertAddress = insert('address_book', columnsBut('address_book', 'id'), 'ignore');

export const addressesOf = statement((p: { business_id: number; limit: number }) =>
  sqlite
    .selectFrom('address_book')
    .selectAll()
    .where('business_id', '=', p.business_id)
    .orderBy('chain')
    .orderBy('address')
    .limit(p.limit),
);

export const addressInBook = find('address_book', 'business_id', 'chain', 'address');

export const addressesByLookalikeKey = upTo('address_book', ['business_id', 'lookalike_key'], {}, ['address', 'label']);

/** Entries of the address book of a business, up to a limit. */
export const bookEntries = upTo('address_book', ['business_id'], {}, ['address', 'label', 'lookalike_key']);

export const addressById = find('address_book', 'id');

export const dropAddress = remove('address_book', 'id');

export const inboxById = find('inbox', 'id');

export const inboxOfCredit = find('inbox', 'credit_id');

/** The part that an invoice got beyond its amount, unless its deposit left the chain. */
export const overpaidOf = statement((p: { invoice_id: number }) =>
  sqlite
    .selectFrom('inbox')
    .innerJoin('credit', 'credit.id', 'inbox.credit_id')
    .select(['inbox.id', 'inbox.state', 'inbox.units', 'credit.asset'])
    .where('inbox.invoice_id', '=', p.invoice_id)
    .where('inbox.reason', '=', sql.lit('overpaid'))
    .where('credit.gone', '=', NO)
    .orderBy('inbox.id', 'desc')
    .limit(sql.lit(1)),
);

/** Changes the state of a deposit if it is still the expected one. */
export const stepInbox = statement(
  (p: {
    id: number;
    from: InboxRow['state'];
    to: InboxRow['state'];
    withdrawal_id: number | null;
    updated_at: number;
  }) =>
    sqlite
      .updateTable('inbox')
      .set({ state: p.to, withdrawal_id: p.withdrawal_id, told: NO, updated_at: p.updated_at })
      .where('id', '=', p.id)
      .where('state', '=', p.from),
);
