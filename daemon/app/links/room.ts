/**
 * Makes room for a buyer where all of an item is held by sales that nobody pays. Such stock counts as there, and the sales stay until a
 * buyer takes it.
 */
import { abandonedLines, itemsOf, type LinkItemRow } from '../../store/queries/links.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { settleInvoice } from '../invoices/settle.ts';

/** The items of a link, without what sales hold that have no funds and whose price has run out. */
export function itemsWithRoom(app: App, reader: Reader, linkId: number): LinkItemRow[] {
  const freed = new Map<number, number>();
  for (const { item_id, quantity } of reader.all(abandonedLines, { link_id: linkId, now: app.now() })) {
    freed.set(item_id, (freed.get(item_id) ?? 0) + quantity);
  }
  return reader.all(itemsOf, { link_id: linkId }).map((item) => {
    return { ...item, taken: item.taken - (freed.get(item.id) ?? 0) };
  });
}

/** Cancels such sales, the oldest first, until so many of an item are there, or none of them is left. */
export function makeRoom(app: App, tx: Tx, { link_id, stock, taken, id }: LinkItemRow, quantity: number): void {
  let missing = taken + quantity - (stock ?? Number.POSITIVE_INFINITY);
  for (const line of tx.all(abandonedLines, { link_id, now: app.now() })) {
    if (missing <= 0) return;
    if (line.item_id !== id) continue;
    settleInvoice(app, tx, line.invoice_id, { decision: 'cancel' });
    missing -= line.quantity;
  }
}
