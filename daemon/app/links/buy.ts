/** A payer's order on a payment link: makes the invoice. */
import { Rejected } from '../../domain/errors.ts';
import { LINK_QUANTITY_MAX, type Line, leftOf, totalOf } from '../../domain/links.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import { insertLine, insertSale, type LinkItemRow, type LinkRow } from '../../store/queries/links.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { createInvoice } from '../invoices/invoices.ts';
import { linksOfBusinessAsClient } from '../shops/clients.ts';
import { findLink, viewOf } from './links.ts';

const DESCRIPTION_CHARACTERS_MAX = 500;

/** `amount`: 1e-8, where the payer chooses it. `quantities`: by the number of the item. */
export type Order = { amount: bigint | null; quantities: ReadonlyMap<number, number> };

/**
 * Makes the invoice of an order. It holds no stock before it has an address. Throws `Rejected`: `link.not_found`, `.ended`,
 * `.sold_out`, `.order` (nothing chosen), `.least`, `.too_much`, and as `createInvoice`.
 */
export function buy(app: App, tx: Tx, slug: string, order: Order): InvoiceRow {
  const link = findLink(tx, slug);
  const { items, state } = viewOf(app, tx, link);
  if (state === 'ended') throw new Rejected('link.ended', 'This link has ended');
  const lines = link.kind === 'open' ? [] : linesFor(link, items, order);
  const amount = link.kind === 'open' ? order.amount : totalOf(lines);
  if (amount === null) {
    throw link.kind === 'open'
      ? new Rejected('link.order', 'Choose an amount', 'amount')
      : new Rejected('link.too_much', 'This is more than one invoice may be', 'amount');
  }
  if (link.least !== null && amount < link.least) throw new Rejected('link.least', 'The amount is too small', 'amount');
  if (totalOf([{ price: amount, quantity: 1 }]) === null) {
    throw new Rejected('link.too_much', 'This is more than one invoice may be', 'amount');
  }
  const business = app.directory.business(link.business_id);
  const invoice = createInvoice(
    app,
    business,
    {
      amount,
      currency: link.currency,
      crypto: 'ALL',
      dueAt: null,
      closeUrl: null,
      redirectUrl: null,
      webhookUrl: null,
      automaticRedirect: false,
      origin: 'link',
      clientId: linksOfBusinessAsClient(business.id),
      description: describe(link.name, link.kind === 'items' ? lines : []),
      metadata: { link: link.slug },
    },
    tx,
  );
  tx.run(insertSale, { invoice_id: invoice.id, link_id: link.id, holds: false, paid: false });
  for (const { item, price, quantity } of lines) {
    tx.run(insertLine, { invoice_id: invoice.id, item_id: item.id, quantity, price });
  }
  return invoice;
}

type ItemLine = Line & { item: LinkItemRow };

/** The lines of an order, of which everything is there now. */
function linesFor(link: LinkRow, items: readonly LinkItemRow[], { quantities }: Order): ItemLine[] {
  const quantityOf = ({ id }: LinkItemRow): number => (link.kind === 'fixed' ? 1 : (quantities.get(id) ?? 0));
  const lacks = items.some((item) => quantityOf(item) > (leftOf(item) ?? LINK_QUANTITY_MAX));
  if (lacks) throw new Rejected('link.sold_out', 'This is sold out, or there is not so much of it left');
  const lines = items.map((item) => ({ item, price: item.price, quantity: quantityOf(item) }));
  const chosen = lines.filter(({ quantity }) => quantity > 0);
  if (chosen.length === 0) throw new Rejected('link.order', 'Choose at least one item');
  return chosen;
}

/** The description of the invoice, shown to the payer: the link's name, and what was chosen. */
function describe(name: string, lines: readonly ItemLine[]): string {
  const chosen = lines.map(({ item, quantity }) => `${quantity} × ${item.name}`).join(', ');
  const text = [...(chosen === '' ? name : `${name}: ${chosen}`)];
  return text.length <= DESCRIPTION_CHARACTERS_MAX
    ? text.join('')
    : `${text.slice(0, DESCRIPTION_CHARACTERS_MAX - 1).join('')}…`;
}
