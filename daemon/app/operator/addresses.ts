/** The addresses that were given to payers: listed with their invoices, newest first, and found by address or invoice. */
import type { ChainId } from '../../domain/assets.ts';
import { chainKey } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import { type TargetRow, targetById } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { newestInvoiceId, paymentsBetween } from '../../store/queries/operator.ts';
import type { App } from '../app.ts';
import { targetsOf } from '../invoices/payment-targets.ts';
import type { Business } from '../shops/directory.ts';
import { INVOICES_SCANNED_MAX } from './invoices.ts';
import { findInvoices, targetsOfText } from './search.ts';

const PER_SLICE = 2_000;
const FOUND_MAX = 50;

/** `payment`: null for an address that its invoice does not use any more. */
export type GivenAddress = { target: TargetRow; invoice: InvoiceRow; payment: PaymentRow | null };

type Filter = { business: Business; chain: ChainId | null; limit: number; before: number | null };

/** `next`: the beginning of the next page or null. A page may be short, even empty, and still have a next one. */
export async function listAddresses(
  app: App,
  { business, chain, limit, before }: Filter,
): Promise<{ addresses: GivenAddress[]; next: number | null }> {
  const { store } = app;
  let below = Math.min(before ?? Number.MAX_SAFE_INTEGER, (store.get(newestInvoiceId, {})?.id ?? 0) + 1);
  const last = Math.max(1, below - INVOICES_SCANNED_MAX);
  const rows: PaymentRow[] = [];
  const chain_key = chain === null ? null : chainKey(business.network, chain);
  while (below > last && rows.length < limit) {
    const from = Math.max(last, below - PER_SLICE);
    const left = limit - rows.length;
    rows.push(...store.all(paymentsBetween, { from, below, business_id: business.id, chain_key, limit: left }));
    below = rows.length === limit ? (rows.at(-1)?.invoice_id ?? from) : from;
    await new Promise(setImmediate);
  }
  return { addresses: rows.flatMap((row) => given(app, row.target_id)), next: below > 1 ? below : null };
}

/** Those of a business that a text names: an address, or an invoice with its former addresses. */
export async function findAddresses(app: App, business: Business, text: string): Promise<GivenAddress[]> {
  const byAddress = targetsOfText(app, text.trim()).map(({ id }) => id);
  const { lines } = await findInvoices(app, text, FOUND_MAX);
  const byInvoice = lines.flatMap(({ payment }) =>
    payment ? targetsOf(app.store, payment).map(({ target_id }) => target_id) : [],
  );
  return [...new Set([...byAddress, ...byInvoice])]
    .flatMap((id) => given(app, id))
    .filter(({ invoice }) => invoice.business_id === business.id)
    .slice(0, FOUND_MAX);
}

function given({ store }: App, id: number): GivenAddress[] {
  const target = store.get(targetById, { id });
  if (!target || target.invoice_id === null) return [];
  const invoice = store.get(invoiceById, { id: target.invoice_id });
  if (!invoice) throw new Rejected('invoice.not_found', 'Invoice not found');
  const payment = store.get(paymentOf, { invoice_id: invoice.id });
  return [{ target, invoice, payment: payment?.target_id === id ? payment : null }];
}
