/** Makes room for a buyer where all of an item is held by sales that nobody pays. */
import { abandonedSales } from '../../store/queries/links.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { settleInvoice } from '../invoices/settle.ts';

const CANCELED_AT_ONCE_MAX = 10;

/** Cancels the oldest sales of a link that have no funds and whose price has run out. */
export function cancelAbandonedSales(app: App, tx: Tx, linkId: number): void {
  const rows = tx.all(abandonedSales, { link_id: linkId, now: app.now(), limit: CANCELED_AT_ONCE_MAX });
  for (const { invoice_id } of rows) settleInvoice(app, tx, invoice_id, { decision: 'cancel' });
}
