/**
 * The operator's decisions about deposits that no invoice claims: accept, refund or keep. A compare-and-set: the later
 * decision fails.
 */
import { assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { formatUnits } from '../../domain/money.ts';
import { amountNeeded } from '../../domain/payment.ts';
import { type CreditRow, creditById, setClaim } from '../../store/queries/credits.ts';
import {
  type InvoiceRow,
  invoiceById,
  type PaymentRow,
  paymentOf,
  setInvoiceStatus,
} from '../../store/queries/invoices.ts';
import { type InboxRow, inboxById, stepInbox } from '../../store/queries/policies.ts';
import { previousTx } from '../../store/queries/previous.ts';
import { refundLinkOfDeposit } from '../../store/queries/refund-links.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { creditsFor, quotedAt } from '../invoices/payment-targets.ts';
import { settleInvoice } from '../invoices/settle.ts';
import { overpaidToRefund } from '../spends/refund-left.ts';
import { refundWanted, requestWanted } from './refund.ts';
import { estimateHighestFee, type NewWithdrawal, requestWithdrawal } from './request.ts';

type Deposit = { item: InboxRow; credit: CreditRow };

function depositOf(reader: Reader, id: number): Deposit {
  const item = reader.get(inboxById, { id });
  const credit = item && reader.get(creditById, { id: item.credit_id });
  if (!item || !credit) throw new Rejected('inbox.not_found', `There is no deposit ${id} in the inbox`, 'id');
  return { item, credit };
}

function decide(app: App, tx: Tx, item: InboxRow, to: InboxRow['state'], withdrawalId: number | null = null): void {
  const step = { id: item.id, from: 'open' as const, to, withdrawal_id: withdrawalId, updated_at: app.now() };
  if (tx.run(stepInbox, step).changes === 1) {
    tx.afterCommit(() => app.operatorEvents.tell('inbox', `${item.credit_id}`));
    return;
  }
  throw new Rejected('inbox.decided', `Deposit ${item.id} was decided about already: ${item.state}`);
}

/** Throws `Rejected('refund.link_open')` while a refund link, but for `link`, waits for the payer of a deposit. */
function needNoLink(app: App, reader: Reader, item: InboxRow, link: number | null = null): void {
  const waiting = reader.get(refundLinkOfDeposit, { inbox_id: item.id, now: app.now() });
  if (!waiting || waiting.id === link) return;
  throw new Rejected('refund.link_open', `A refund link waits for the payer of deposit ${item.id}: end the link first`);
}

/**
 * A deposit that can be sent back: nobody decided about it, and its coin is there. `link`: the refund link that it is for. Throws
 * `Rejected`: `inbox.not_found`, `.decided`, `.gone`, `.locked`, `.spent`, `refund.link_open`.
 */
export function refundableDeposit(app: App, reader: Reader, id: number, link: number | null = null): Deposit {
  const deposit = depositOf(reader, id);
  const { item, credit } = deposit;
  if (item.state !== 'open')
    throw new Rejected('inbox.decided', `Deposit ${id} was decided about already: ${item.state}`);
  needNoLink(app, reader, item, link);
  needThere(deposit);
  if (credit.locked) {
    throw new Rejected('inbox.locked', `Deposit ${id} cannot be spent. ${whyLocked(app, reader, credit)}`);
  }
  if (item.units === null && credit.spent_txid !== null) {
    throw new Rejected('inbox.spent', `Deposit ${id} was spent already`);
  }
  return deposit;
}

/** Decides that a deposit is sent back by a withdrawal. Throws `Rejected('inbox.decided')`. */
export const stepDeposit = (app: App, tx: Tx, id: number, withdrawalId: number): void =>
  decide(app, tx, depositOf(tx, id).item, 'refunded', withdrawalId);

function needThere({ credit, item }: Deposit): void {
  if (credit.gone) throw new Rejected('inbox.gone', `Deposit ${item.id} is not on the chain any more`);
}

/**
 * Counts a deposit for the invoice at whose address it came. A canceled invoice becomes paid if it suffices with what was
 * counted before, and stays canceled otherwise.
 * Throws `Rejected`: `inbox.not_found`, `.decided`, `.gone`, `.no_invoice`, `.asset`.
 */
export function acceptDeposit(app: App, tx: Tx, id: number): InvoiceRow {
  const deposit = depositOf(tx, id);
  const { item, credit } = deposit;
  const invoice = item.invoice_id === null ? undefined : tx.get(invoiceById, { id: item.invoice_id });
  const payment = invoice && tx.get(paymentOf, { invoice_id: invoice.id });
  if (!invoice || !payment || invoice.deleted_at !== null) {
    throw new Rejected('inbox.no_invoice', `Deposit ${id} belongs to no invoice that it could count for`);
  }
  if (item.units !== null) {
    throw new Rejected(
      'inbox.no_invoice',
      `Deposit ${id} counts for invoice ${invoice.slug} already: refund or keep it`,
    );
  }
  const isAsked = credit.invoice_id === invoice.id && credit.asset === quotedAt(tx, payment, credit.target_id).asset;
  if (!isAsked || credit.locked) {
    throw new Rejected('inbox.asset', `Invoice ${invoice.slug} is not paid in what deposit ${id} is`);
  }
  needThere(deposit);
  needNoLink(app, tx, item);
  decide(app, tx, item, 'accepted');
  tx.run(setClaim, { id: credit.id, claim: 'invoice' });
  if (invoice.status === 'canceled' && maySuffice(tx, invoice, payment)) {
    tx.run(setInvoiceStatus, { id: invoice.id, status: 'unpaid', updated_at: app.now() });
  }
  settleInvoice(app, tx, invoice.id, { accepted: true });
  return tx.get(invoiceById, { id: invoice.id }) ?? invoice;
}

/** Whether what was counted for an invoice pays it, confirmed or not, or may do so once it has a value. */
function maySuffice(reader: Reader, invoice: InvoiceRow, payment: PaymentRow): boolean {
  const values = creditsFor(reader, payment).flatMap(({ claim, value }) => (claim === 'invoice' ? [value] : []));
  const known = values.filter((value) => value !== null);
  return known.length < values.length || known.reduce((sum, value) => sum + value, 0n) >= amountNeeded(invoice);
}

/** Keeps a deposit without an invoice. Throws `Rejected`: `inbox.not_found`, `.decided`. */
export function keepDeposit(app: App, tx: Tx, id: number): void {
  const { item } = depositOf(tx, id);
  needNoLink(app, tx, item);
  decide(app, tx, item, 'kept');
}

function whyLocked(app: App, reader: Reader, { txid, chain_key }: CreditRow): string {
  const chain = app.chains.find(chain_key);
  const base = reader.get(previousTx, { txid, chain_key })?.base ?? null;
  return chain?.spending.whyLocked?.(base) ?? 'The chain does not let it go';
}

/** A refund of the difference, like any of an invoice: from any coin, the fee on top. It takes the item out of the inbox. */
const refundOverpaid = (app: App, id: number, address: string): Promise<WithdrawalRow> =>
  requestWanted(app, (reader) => {
    const { item, credit } = depositOf(reader, id);
    if (item.state !== 'open') throw new Rejected('inbox.decided', `Deposit ${id} was decided about already`);
    needThere({ item, credit });
    needNoLink(app, reader, item);
    const invoice = item.invoice_id === null ? undefined : reader.get(invoiceById, { id: item.invoice_id });
    const over = overpaidToRefund(app, reader, id, invoice);
    const business = app.directory.business(item.business_id);
    const amount = formatUnits(over.units, assetOf(over.asset));
    return [business, refundWanted(app, reader, business, invoice!, { address, amount, crypto: over.asset })];
  });

/**
 * Drafts a withdrawal that sends a deposit to an address, less the fee. It spends only that coin, and is signed once
 * the coin has its confirmations. Throws `Rejected`: `inbox.not_found`, `.decided`, `.gone`, `.spent`, and the errors
 * of a withdrawal.
 */
export async function refundDeposit(app: App, id: number, address: string): Promise<WithdrawalRow> {
  const { item, credit } = depositOf(app.store, id);
  if (item.units !== null) return refundOverpaid(app, id, address);
  const business = app.directory.business(item.business_id);
  const wanted: NewWithdrawal = {
    asset: assetOf(credit.asset),
    units: null,
    address,
    origin: 'inbox',
    deposit: { outpoint: credit.outpoint, inboxId: id },
  };
  const rate = await estimateHighestFee(app, business, () => wanted);
  return app.store.write((tx) => {
    const now = refundableDeposit(app, tx, id);
    const row = requestWithdrawal(app, tx, business, wanted, rate);
    decide(app, tx, now.item, 'refunded', row.id);
    return row;
  });
}
