/** Statements about the counter: items, sales and their lines, closings. */
import type { InvoiceStatus } from '../../domain/payment.ts';
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, oldest, sqlite, statement, update } from '../statement.ts';

export type ItemRow = Row<'item'>;
export type SaleLineRow = Row<'sale_line'>;

export const itemsOf = oldest('item', ['business_id'], { removed_at: null });
export const itemCount = statement((p: { business_id: number }) =>
  sqlite
    .selectFrom('item')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('business_id', '=', p.business_id)
    .where('removed_at', 'is', null),
);
export const itemById = find('item', 'id');
export const insertItem = insert('item', columnsBut('item', 'id'));
export const updateItem = update('item', ['name', 'category', 'price', 'vat', 'sold_out', 'removed_at'], 'id');

export const insertSale = insert('sale', columnsBut('sale'));
export const insertSaleLine = insert('sale_line', columnsBut('sale_line', 'id'));
export const saleByRequest = find('sale', 'business_id', 'request');
export const saleOfInvoice = find('sale', 'invoice_id');
export const linesOfInvoice = find('sale_line', 'invoice_id');
export const setSaleClosed = update('sale', ['closing_id'], 'invoice_id');

/** Sales of a status that are in no closing, the oldest first, with their invoices and payments. */
export const openSales = statement((p: { business_id: number; status: InvoiceStatus; limit: number }) =>
  sqlite
    .selectFrom('sale')
    .innerJoin('invoice', 'invoice.id', 'sale.invoice_id')
    .leftJoin('payment', 'payment.invoice_id', 'sale.invoice_id')
    .select(['sale.invoice_id', 'sale.tip'])
    .select(['invoice.slug', 'invoice.amount', 'invoice.currency', 'invoice.status', 'invoice.created_at'])
    .select(['payment.asset', 'payment.seen_value', 'payment.confirmed_value', 'payment.confirmed', 'payment.flags'])
    .where('sale.business_id', '=', p.business_id)
    .where('sale.closing_id', 'is', null)
    .where('invoice.deleted_at', 'is', null)
    .where('invoice.status', '=', p.status)
    .orderBy('sale.invoice_id')
    .limit(p.limit),
);
export type OpenSaleRow = NonNullable<(typeof openSales)['row']>;

/** Completed refunds of the counter's sales that are in no closing. */
export const openRefunds = statement((p: { business_id: number; limit: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .innerJoin('sale', 'sale.invoice_id', 'withdrawal.invoice_id')
    .leftJoin('closed_refund', 'closed_refund.withdrawal_id', 'withdrawal.id')
    .select(['withdrawal.id', 'withdrawal.asset', 'withdrawal.units', 'withdrawal.fee', 'withdrawal.fee_asset'])
    .select(['sale.invoice_id'])
    .where('withdrawal.business_id', '=', p.business_id)
    .where('withdrawal.invoice_id', 'is not', null)
    .where('withdrawal.state', '=', 'completed')
    .where('closed_refund.withdrawal_id', 'is', null)
    .orderBy('withdrawal.id')
    .limit(p.limit),
);
export const insertClosedRefund = insert('closed_refund', columnsBut('closed_refund'));

export const insertClosing = insert('closing', columnsBut('closing', 'id'));
export const closingById = find('closing', 'id');
export const closingsOf = statement((p: { business_id: number; below: number; limit: number }) =>
  sqlite
    .selectFrom('closing')
    .selectAll()
    .where('business_id', '=', p.business_id)
    .where('number', '<', p.below)
    .orderBy('number', 'desc')
    .limit(p.limit),
);
