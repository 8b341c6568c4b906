/** Statements about payment links, their items and their sales. */
import { sql } from 'kysely';
import type { Row } from '../schema.ts';
import { below, beyond, columnsBut, find, insert, matching, NO, sqlite, statement, update, YES } from '../statement.ts';

export type LinkRow = Row<'link'>;
export type LinkItemRow = Row<'link_item'>;

export const insertLink = insert('link', columnsBut('link', 'id'));

export const linkBySlug = find('link', 'slug');

export const linkById = find('link', 'id');

export const setLink = update('link', ['name', 'about', 'least', 'suggested', 'ends_at', 'updated_at'], 'id');

/** The running totals of its paid sales. */
export const setLinkPaid = update('link', ['paid', 'paid_amount'], 'id');

export const endLinkRow = update('link', ['ended_at', 'updated_at'], 'id');

/** The newest first. */
export const linksBefore = below('link');

export const linksOfBusiness = below('link', ['business_id']);

/** Returns a row if there are more than `above` links. */
export const linksAbove = beyond('link', [], {}, ['id']);

export const insertItem = insert('link_item', ['link_id', 'place', 'name', 'price', 'stock', 'listed']);

export const setItem = update('link_item', ['place', 'name', 'price', 'stock', 'listed'], 'id');

export const itemById = find('link_item', 'id');

/** In their order. */
export const itemsOf = statement((p: { link_id: number }) =>
  sqlite
    .selectFrom('link_item')
    .selectAll()
    .where('link_id', '=', p.link_id)
    .where('listed', '=', YES)
    .orderBy('place')
    .orderBy('id'),
);

/** Takes so many of an item if they are there: changes nothing otherwise. */
export const takeItem = statement((p: { id: number; quantity: number }) =>
  sqlite
    .updateTable('link_item')
    .set({ taken: sql`taken + ${p.quantity}` })
    .where('id', '=', p.id)
    .where((eb) => eb.or([eb('stock', 'is', null), eb('stock', '>=', sql<number>`taken + ${p.quantity}`)])),
);

/** Adds to what is taken, or takes from it, whatever the stock is. */
export const moveItem = statement((p: { id: number; quantity: number }) =>
  sqlite
    .updateTable('link_item')
    .set({ taken: sql`taken + ${p.quantity}` })
    .where('id', '=', p.id),
);

export const insertSale = insert('link_sale', columnsBut('link_sale'));

export const saleOfInvoice = find('link_sale', 'invoice_id');

export const setSale = update('link_sale', ['holds', 'paid'], 'invoice_id');

export const insertLine = insert('link_line', columnsBut('link_line'));

export const linesOf = find('link_line', 'invoice_id');

/** The unpaid sales of a link that hold something and got their address by a time; the oldest first. */
export const heldSales = statement((p: { link_id: number; until: number }) =>
  sqlite
    .selectFrom('link_sale')
    .innerJoin('payment', 'payment.invoice_id', 'link_sale.invoice_id')
    .innerJoin('invoice', 'invoice.id', 'link_sale.invoice_id')
    .select(['link_sale.invoice_id', 'payment.received', 'payment.seen_value', 'invoice.amount'])
    .select(['payment.created_at', 'payment.quote_issued_at', 'payment.quote_ends_at'])
    .where('link_sale.link_id', '=', p.link_id)
    .where('link_sale.holds', '=', YES)
    .where('link_sale.paid', '=', NO)
    .where('payment.created_at', '<=', p.until)
    .orderBy('link_sale.invoice_id'),
);

/** The quantity of an item in sales. `invoice_ids`: theirs, in JSON. */
export const quantityIn = statement((p: { item_id: number; invoice_ids: string }) =>
  sqlite
    .selectFrom('link_line')
    .select((eb) => sql<number>`coalesce(${eb.fn.sum('quantity')}, 0)`.as('quantity'))
    .where('item_id', '=', p.item_id)
    .where('invoice_id', 'in', sql<number>`(select value from json_each(${p.invoice_ids}))`),
);

export const lineOf = matching('link_line', ['invoice_id', 'item_id']);
