/** Statements about refund links. */
import { sql } from 'kysely';
import type { AssetId } from '../../domain/assets.ts';
import type { Row } from '../schema.ts';
import { below, columnsBut, find, insert, newest, sqlite, statement, update } from '../statement.ts';

export type RefundLinkRow = Row<'refund_link'>;

export const insertRefundLink = insert('refund_link', columnsBut('refund_link', 'id'));

export const refundLinkById = find('refund_link', 'id');

export const refundLinkBySlug = find('refund_link', 'slug');

export const refundLinkOfWithdrawal = find('refund_link', 'withdrawal_id');

/** Takes the address that the payer typed, if nobody did before and the link has not ended. */
export const giveAddress = statement((p: { id: number; address: string; now: number }) =>
  sqlite
    .updateTable('refund_link')
    .set({ state: 'given', address: p.address, given_at: p.now, updated_at: p.now })
    .where('id', '=', p.id)
    .where('state', '=', 'open')
    .where('ends_at', '>', p.now),
);

/** Changes the state of a link if it is still the expected one. */
export const stepRefundLink = statement(
  (p: { id: number; from: RefundLinkRow['state']; to: RefundLinkRow['state']; now: number }) =>
    sqlite
      .updateTable('refund_link')
      .set({ state: p.to, updated_at: p.now })
      .where('id', '=', p.id)
      .where('state', '=', p.from)
      .where('withdrawal_id', 'is', null),
);

export const setRefundWithdrawal = update('refund_link', ['withdrawal_id', 'problem', 'updated_at'], 'id');

const waiting = (now: number) =>
  sqlite
    .selectFrom('refund_link')
    .selectAll()
    .where('withdrawal_id', 'is', null)
    .where((eb) => eb.or([eb('state', '=', 'given'), eb.and([eb('state', '=', 'open'), eb('ends_at', '>', now)])]));

/** The links of an invoice that hold money: those that wait for the payer, and those whose withdrawal is not made yet. */
export const refundLinksWaiting = statement((p: { invoice_id: number; now: number }) =>
  waiting(p.now).where('invoice_id', '=', p.invoice_id).orderBy('id'),
);

/** The same in one asset. */
export const refundLinkWaitingIn = statement((p: { invoice_id: number; asset: AssetId; now: number }) =>
  waiting(p.now).where('invoice_id', '=', p.invoice_id).where('asset', '=', p.asset).orderBy('id'),
);

/** The same for an item of the inbox. */
export const refundLinkOfDeposit = statement((p: { inbox_id: number; now: number }) =>
  waiting(p.now).where('inbox_id', '=', p.inbox_id).orderBy('id', 'desc').limit(sql.lit(1)),
);

/** The newest links of an invoice, whatever became of them. */
export const refundLinksOfInvoice = newest('refund_link', ['invoice_id']);

/** The newest links of an item of the inbox. */
export const refundLinksOfDeposit = newest('refund_link', ['inbox_id']);

export const refundLinksBefore = below('refund_link');
