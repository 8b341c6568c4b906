/** Notifies the operator's stream, and shops that asked for events, of changed invoices and withdrawals. */
import { assetOf } from '../../domain/assets.ts';
import { shownRequired } from '../../domain/finality.ts';
import type { InvoiceNews } from '../../domain/merchant.ts';
import { formatUnits } from '../../domain/money.ts';
import { apiStatus, type WithdrawalState } from '../../domain/withdrawal.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { setRefundTold, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { queueInvoiceEvent, queueRefundEvent, queueWithdrawalEvent } from './shop-events.ts';

/**
 * To be called inside the transaction after the rows were written. `invoice`: the written row. `payment`: its payment,
 * where the caller has it.
 */
export function tellInvoice(app: App, tx: Tx, invoice: InvoiceRow, type: InvoiceNews, payment?: PaymentRow): void {
  if (invoice.deleted_at !== null) return;
  queueInvoiceEvent(app, tx, invoice, type);
  // a new invoice has no payment yet
  const known = payment ?? (type === 'invoice.created' ? undefined : tx.get(paymentOf, { invoice_id: invoice.id }));
  const what = inWords(type, invoice, known);
  tx.afterCommit(() => app.operatorEvents.tell('invoice', invoice.slug, what));
}

/** Sends a deposit's confirmations to the operator's stream; shops hear only when it counts (`tellInvoice`). */
export function tellDepth(app: App, tx: Tx, credit: CreditRow, confirmations: number): void {
  const invoice = credit.invoice_id === null ? undefined : tx.get(invoiceById, { id: credit.invoice_id });
  if (invoice?.status !== 'unpaid' || invoice.deleted_at !== null || credit.block_height === null) return;
  const amount = `${formatUnits(credit.units, assetOf(credit.asset))} ${credit.asset}`;
  const what = `${confirmations} of ${shownRequired(credit, confirmations)} confirmations of ${amount}, ${invoice.status}`;
  tx.afterCommit(() => app.operatorEvents.tell('invoice', invoice.slug, what));
}

/** The same of a withdrawal. `was`: the state before, null for a new one. */
export function tellWithdrawal(app: App, tx: Tx, row: WithdrawalRow, was: WithdrawalState | null): void {
  queueWithdrawalEvent(app, tx, row, was);
  const status = apiStatus(row.state);
  const what = row.state === status ? status : `${row.state} (${status})`;
  if (row.state !== was) tx.afterCommit(() => app.operatorEvents.tell('withdrawal', `${row.id}`, what));
  if (row.state === 'completed' && was !== 'completed') tellRefund(app, tx, row);
}

/** Tells of a refund whose transaction has its first confirmation; nothing the second time, after a reorganisation. */
function tellRefund(app: App, tx: Tx, row: WithdrawalRow): void {
  const invoice = row.invoice_id === null ? undefined : tx.get(invoiceById, { id: row.invoice_id });
  if (!invoice) return;
  tx.afterCommit(() => app.invoiceSubscribers.changed(invoice.id));
  if (tx.run(setRefundTold, { id: row.id }).changes === 0) return;
  queueRefundEvent(app, tx, invoice, row);
  const what = `refunded ${formatUnits(row.units, assetOf(row.asset))} ${row.asset}, ${invoice.status}`;
  tx.afterCommit(() => app.operatorEvents.tell('invoice', invoice.slug, what));
}

function inWords(type: InvoiceNews, invoice: InvoiceRow, payment: PaymentRow | undefined): string {
  const [, what = ''] = type.split('.');
  if (!payment) return `${what}, ${invoice.status}`;
  const asset = assetOf(payment.asset);
  const amount = (units: bigint): string => formatUnits(units, asset);
  const of = `of ${amount(payment.quote_amount)} ${payment.asset}`;
  const detail: Partial<Record<InvoiceNews, string>> = {
    'invoice.requested': ` ${amount(payment.quote_amount)} ${payment.asset}`,
    'invoice.seen': ` ${amount(payment.received)} ${of}`,
    'invoice.confirmed': ` ${amount(payment.confirmed)} ${of}`,
  };
  return `${what}${detail[type] ?? ''}, ${invoice.status}`;
}
