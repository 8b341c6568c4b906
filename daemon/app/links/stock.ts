/**
 * The stock that the sales of payment links hold.
 *
 * Invariant: `link_item.taken` is the sum of the lines of the sales that hold: those that are paid, and the unpaid ones that have an
 * address. A sale begins to hold only if everything is there, by one compare-and-set; a canceled one gives back.
 */
import { Rejected } from '../../domain/errors.ts';
import type { InvoiceStatus } from '../../domain/payment.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import {
  itemById,
  type LinkItemRow,
  linesOf,
  linkById,
  moveItem,
  saleOfInvoice,
  setLinkPaid,
  setSale,
  takeItem,
} from '../../store/queries/links.ts';
import type { Tx } from '../../store/store.ts';

const soldOut = (): Rejected => new Rejected('link.sold_out', 'This is sold out, or there is not so much of it left');

type Sold = Pick<InvoiceRow, 'id' | 'origin' | 'amount'>;

/** Takes what a sale needs, once. `makeRoom`: called for what is missing, before the second try. Throws `link.sold_out`. */
export function takeStock(tx: Tx, invoice: Sold, makeRoom: (item: LinkItemRow, quantity: number) => void): void {
  const sale = invoice.origin === 'link' ? tx.get(saleOfInvoice, { invoice_id: invoice.id }) : undefined;
  if (!sale || sale.holds) return;
  for (const { item_id: id, quantity } of tx.all(linesOf, { invoice_id: invoice.id })) {
    if (tx.run(takeItem, { id, quantity }).changes === 1) continue;
    makeRoom(tx.get(itemById, { id })!, quantity);
    if (tx.run(takeItem, { id, quantity }).changes !== 1) throw soldOut();
  }
  tx.run(setSale, { invoice_id: invoice.id, holds: true, paid: sale.paid });
}

/**
 * Follows the new status of an invoice: a canceled sale gives back what it held. A paid one holds it, also where the merchant marked
 * it as paid or counted late money after it was sold out: then more is taken than there was.
 */
export function followSale(tx: Tx, invoice: Sold, status: InvoiceStatus): void {
  const sale = invoice.origin === 'link' ? tx.get(saleOfInvoice, { invoice_id: invoice.id }) : undefined;
  if (!sale) return;
  const holds = status === 'paid' || (status === 'unpaid' && sale.holds);
  if (holds !== sale.holds) {
    for (const { item_id: id, quantity } of tx.all(linesOf, { invoice_id: invoice.id })) {
      tx.run(moveItem, { id, quantity: holds ? quantity : -quantity });
    }
  }
  const paid = status === 'paid';
  if (paid !== sale.paid) {
    const link = tx.get(linkById, { id: sale.link_id })!;
    const step = paid ? 1 : -1;
    tx.run(setLinkPaid, {
      id: link.id,
      paid: link.paid + step,
      paid_amount: link.paid_amount + BigInt(step) * invoice.amount,
    });
  }
  tx.run(setSale, { invoice_id: invoice.id, holds, paid });
}
