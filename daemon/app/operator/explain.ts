/** "Why isn't this paid?": one verdict from the stored rows. */
import { assetOf, CHAINS, NETWORKS } from '../../domain/assets.ts';
import { chainKey } from '../../domain/chain.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById } from '../../store/queries/invoices.ts';
import { inboxOfCredit } from '../../store/queries/operator.ts';
import type { App } from '../app.ts';
import { isEnough } from '../invoices/settle.ts';
import type { PaymentView } from '../invoices/views.ts';
import { findAnyInvoice } from './find.ts';
import { type InvoiceDetails, showInvoice } from './invoices.ts';
import { addressIn, creditsOf, findInvoices, targetsOfText } from './search.ts';

type VerdictWord =
  | ('paid' | 'marked_paid' | 'canceled' | 'not_chosen' | 'waiting' | 'expired')
  | ('unconfirmed' | 'short' | 'late' | 'gone' | 'other_coin' | 'inbox')
  | ('unknown_transaction' | 'unknown_address' | 'other_network' | 'no_invoice' | 'chain_behind');

export type Verdict = {
  verdict: VerdictWord;
  details: InvoiceDetails | null;
  payment: PaymentView | null;
  credit: CreditRow | null;
  inbox: number | null;
  network: string | null;
};

const NOTHING = { details: null, payment: null, credit: null, inbox: null, network: null };
const HASH = /^(?:0x)?[0-9a-fA-F]{64}$/;

/** `ref`: the invoice's id. `text`: what a customer has sent. Throws `Rejected('invoice.not_found')`. */
export async function explain(app: App, ref: string | null, text: string | null): Promise<Verdict> {
  const invoice = ref === null ? null : findAnyInvoice(app.store, ref);
  if (text === null) return invoice ? ofInvoice(app, invoice) : { verdict: 'no_invoice', ...NOTHING };
  return ofText(app, text.trim(), invoice);
}

async function ofText(app: App, text: string, invoice: InvoiceRow | null): Promise<Verdict> {
  const credits = creditsOf(app, text);
  if (credits.length > 0) return ofCredit(app, credits.find((one) => one.invoice_id === invoice?.id) ?? credits[0]!);
  const [target] = targetsOfText(app, text);
  if (target?.invoice_id) return ofInvoice(app, app.store.get(invoiceById, { id: target.invoice_id })!);
  const [line] = (await findInvoices(app, text, 1)).lines;
  if (line) return ofInvoice(app, line.invoice);
  if (HASH.test(text)) return { verdict: 'unknown_transaction', ...NOTHING };
  return { verdict: 'unknown_address', ...NOTHING, ...networkOf(app, text, invoice) };
}

/** The network of an address, if the business does not use it. */
function networkOf(app: App, text: string, invoice: InvoiceRow | null): Partial<Verdict> {
  const own = invoice && app.directory.business(invoice.business_id).network;
  const keys = NETWORKS.flatMap((network) => CHAINS.map((chain) => ({ network, key: chainKey(network, chain) })));
  const found = keys.find(({ key }) =>
    addressIn(text).some((address) => app.chains.find(key)?.adapter.isValidAddress(address)),
  );
  if (!found) return {};
  return own !== null && own !== found.network
    ? { verdict: 'other_network', network: found.network }
    : { network: found.network };
}

function ofCredit(app: App, credit: CreditRow): Verdict {
  const item = app.store.get(inboxOfCredit, { credit_id: credit.id });
  const invoice = credit.invoice_id === null ? undefined : app.store.get(invoiceById, { id: credit.invoice_id });
  if (!invoice) return { verdict: 'no_invoice', ...NOTHING, credit, inbox: item?.id ?? null };
  const found = { ...ofInvoice(app, invoice), credit };
  if (credit.gone) return { ...found, verdict: 'gone' };
  if (credit.claim !== 'invoice' && item) return { ...found, verdict: 'inbox', inbox: item.id };
  return found;
}

function ofInvoice(app: App, invoice: InvoiceRow): Verdict {
  const details = showInvoice(app, invoice.slug);
  const { payment } = details;
  const credit = details.credits.at(-1) ?? null;
  const item = credit && app.store.get(inboxOfCredit, { credit_id: credit.id });
  const found = { ...NOTHING, details, payment, credit, inbox: item?.state === 'open' ? item.id : null };
  return { ...found, verdict: judge(app, details, found.inbox) };
}

function judge(app: App, { invoice, payment, credits }: InvoiceDetails, inbox: number | null): VerdictWord {
  if (payment?.undone) return isEnough(invoice, payment.row) ? 'unconfirmed' : 'gone';
  if (invoice.status === 'paid') return payment && payment.row.confirmed > 0n ? 'paid' : 'marked_paid';
  if (inbox !== null) return payment?.late ? 'late' : 'inbox';
  if (invoice.status === 'canceled') return 'canceled';
  if (!payment) return 'not_chosen';
  const there = credits.filter(({ gone }) => !gone);
  if (there.length === 0 && credits.length > 0) return 'gone';
  if (there.length > 0) {
    if (there.every(({ asset }) => asset !== payment.row.asset)) return 'other_coin';
    if (payment.late) return 'late';
    return payment.remaining > 0n ? 'short' : 'unconfirmed';
  }
  const chain = app.chains.find(payment.row.chain_key);
  if (chain?.withheld(app.now()) != null) return 'chain_behind';
  return payment.row.status === 'overdue' ? 'expired' : 'waiting';
}

/** The asset of a verdict's money. */
export const assetOfVerdict = ({ credit, payment }: Verdict) =>
  credit ? assetOf(credit.asset) : (payment?.asset ?? null);
