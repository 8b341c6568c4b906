/**
 * Refunds of an invoice: withdrawals in an asset that it was paid in. Each waits for the operator.
 *
 * Invariant: when a refund is requested, the refunds of its invoice in that asset, without rejected and failed ones,
 * add up to at most the confirmed amount that the invoice counts in that asset. A deposit that no invoice counts
 * belongs to the inbox, so no deposit is refunded twice. An unpaid invoice has no refunds, because its credits may
 * still go to the inbox.
 */
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { type Message, message } from '../../domain/messages.ts';
import { exactDecimal, formatUnits } from '../../domain/money.ts';
import { type InvoiceRow, invoiceById, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { refundLinkOfWithdrawal, refundLinksWaiting } from '../../store/queries/refund-links.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { findInvoice } from '../invoices/invoices.ts';
import { creditsFor, targetsOf } from '../invoices/payment-targets.ts';
import { cryptoRejected } from '../shops/cryptos.ts';
import type { Business } from '../shops/directory.ts';
import { needSignable } from '../spends/plan.ts';
import { heldByLinks, leftUnits, sendableOverpaid, whyUncovered } from '../spends/refund-left.ts';
import {
  canSpend,
  estimateHighestFee,
  isSignableOf,
  type NewWithdrawal,
  requestOnce,
  requestWithdrawal,
} from './request.ts';

/**
 * The refundable amount of an invoice in the requested asset. Default: the payment's asset, or another one with an
 * amount left.
 */
function leftIn(
  app: App,
  reader: Reader,
  payment: PaymentRow,
  crypto: string | null,
  link: number | null,
): { symbol: AssetId; left: bigint } | undefined {
  const symbols = targetsOf(reader, payment).map(({ asset }) => asset);
  const all = symbols.map((symbol) => {
    const held = heldByLinks(app, reader, payment.invoice_id, symbol, link);
    return { symbol, left: leftUnits(reader, payment, symbol, held) };
  });
  if (crypto !== null && !all.some(({ symbol }) => symbol === crypto)) throw cryptoRejected(symbols);
  return all.find(({ symbol, left }) => left > 0n && (crypto === null || symbol === crypto));
}

/**
 * The withdrawal that refunds an invoice. `amount`: decimal, in whole coins; null: all that is left. `crypto`: the
 * asset, if the payer sent several; null: the payment's while an amount of it is left. `link`: the refund link that it carries out.
 * Throws `Rejected`: `refund.not_paid`, `.nothing`, `.link_open`, `.too_much`, `withdrawal.crypto`, `validation`.
 */
export function refundWanted(
  app: App,
  reader: Reader,
  business: Business,
  invoice: InvoiceRow,
  { address, amount, crypto }: { address: string; amount: string | null; crypto: string | null },
  link: number | null = null,
): NewWithdrawal {
  if (invoice.status !== 'paid') {
    throw new Rejected('refund.not_paid', `Only a paid invoice can be refunded: this one is ${invoice.status}.`);
  }
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  const found = payment && leftIn(app, reader, payment, crypto, link);
  const isHeld = !found && reader.get(refundLinksWaiting, { invoice_id: invoice.id, now: app.now() }) !== undefined;
  if (isHeld) {
    throw new Rejected(
      'refund.link_open',
      'A refund link holds this money: wait for the payer, or end the link first.',
    );
  }
  if (!found) throw new Rejected('refund.nothing', 'No confirmed amount of this invoice is left to refund.');
  const { left } = found;
  const asset = assetOf(found.symbol);
  const account = app.directory.account(business, asset.symbol);
  if (account) needSignable(app, account, asset.symbol);
  if (!canSpend(app, business, asset)) {
    throw new Rejected('withdrawal.crypto', `${asset.symbol} cannot be paid out here.`);
  }
  const units = amount === null ? left : exactDecimal(amount, asset.decimals);
  if (units === null) {
    throw new Rejected('validation', `The amount may have at most ${asset.decimals} decimals.`, 'amount');
  }
  if (units > left) {
    const most = `${formatUnits(left, asset)} ${asset.symbol}`;
    throw new Rejected('refund.too_much', `The amount may not be more than ${most}, what is left to refund.`, 'amount');
  }
  const over = sendableOverpaid(app, reader, invoice, link);
  const sends = over !== null && over.asset === asset.symbol && units >= over.units;
  const of = { id: invoice.id, slug: invoice.slug };
  return { asset, units, address, origin: 'refund', invoice: of, ...(sends ? { overpaidId: over.id } : {}) };
}

/**
 * Asks for a refund. `request`: the same one gets the same refund; null: each call makes one. Throws like `refundWanted`,
 * `invoice.not_found`, and `withdrawal.*`.
 */
export function requestRefund(
  app: App,
  ref: string,
  given: Parameters<typeof refundWanted>[4],
  request: string | null,
): Promise<WithdrawalRow> {
  const { business_id: businessId, slug } = findInvoice(app.store, ref);
  const business = app.directory.business(businessId);
  const repeatable = { businessId, route: `operator.refund ${slug}`, key: request, body: given };
  return requestOnce(app, business, repeatable, (reader) =>
    refundWanted(app, reader, business, findInvoice(reader, slug), given),
  );
}

/** Requests what `wanted` says, which judges it before the fee is asked for and again when it is stored. Throws as it and `withdrawal.*`. */
export async function requestWanted(
  app: App,
  wanted: (reader: Reader) => [Business, NewWithdrawal],
): Promise<WithdrawalRow> {
  const [business] = wanted(app.store);
  const fee = await estimateHighestFee(app, business, () => wanted(app.store)[1]);
  return app.store.write((tx) => requestWithdrawal(app, tx, business, wanted(tx)[1], fee));
}

/** The amounts of a paid invoice that are left to refund here, by asset; smallest units. */
export function refundable(
  app: App,
  reader: Reader,
  invoice: InvoiceRow,
  link: number | null = null,
): { asset: AssetId; units: bigint }[] {
  const payment = invoice.status === 'paid' ? reader.get(paymentOf, { invoice_id: invoice.id }) : undefined;
  if (!payment) return [];
  const all = targetsOf(reader, payment).map(({ asset }) => {
    const held = heldByLinks(app, reader, invoice.id, asset, link);
    return { asset, units: leftUnits(reader, payment, asset, held) };
  });
  const business = app.directory.business(invoice.business_id);
  return all.filter(({ asset, units }) => units > 0n && isSignableOf(app, business, assetOf(asset)));
}

/** The part of an invoice's amount that a refund of some units returned, in the invoice's currency (1e-8), rounded down. */
type Worth = (asset: AssetId, units: bigint) => bigint | null;

/** Reads the deposits of an invoice once, for all of its refunds. Null: it got nothing in that asset, or there is no value. */
export function refundWorth(reader: Reader, { id }: InvoiceRow): Worth {
  const payment = reader.get(paymentOf, { invoice_id: id });
  const sums = new Map<AssetId, { units: bigint; value: bigint | null }>();
  for (const { claim, asset, units, value } of payment ? creditsFor(reader, payment) : []) {
    if (claim !== 'invoice') continue;
    const before = sums.get(asset) ?? { units: 0n, value: 0n };
    const sum = before.value === null || value === null ? null : before.value + value;
    sums.set(asset, { units: before.units + units, value: sum });
  }
  return (asset, units) => {
    const received = sums.get(asset);
    return !received || received.units === 0n || received.value === null
      ? null
      : (received.value * units) / received.units;
  };
}

/** The invoice that a withdrawal refunds, or null. */
export function refundedInvoice(reader: Reader, { invoice_id }: Pick<WithdrawalRow, 'invoice_id'>): InvoiceRow | null {
  return invoice_id === null ? null : (reader.get(invoiceById, { id: invoice_id }) ?? null);
}

/**
 * The text for the approver of a refund: its invoice, and a warning if the invoice does not cover it. Null: it is no
 * refund.
 */
export function refundSaid(reader: Reader, row: WithdrawalRow): { note: Message; excess: Message | null } | null {
  const invoice = refundedInvoice(reader, row);
  if (!invoice) return null;
  const { slug, order_id: order } = invoice;
  const named = { id: row.id, invoice: slug };
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  const isMore = !payment || leftUnits(reader, payment, row.asset, 0n) < 0n;
  const uncovered = whyUncovered(reader, row) && message('warning.uncovered', named);
  return {
    note: order === null ? message('note.refund', named) : message('note.refund_order', { ...named, order }),
    excess: isMore ? message('warning.over_refund', { invoice: slug }) : uncovered,
  };
}

/** The text for the approver of a withdrawal whose address its payer typed on a refund link. */
export function typedSaid(reader: Reader, { id }: WithdrawalRow): Message[] {
  const at = reader.get(refundLinkOfWithdrawal, { withdrawal_id: id })?.given_at ?? null;
  return at === null ? [] : [message('note.refund_typed', { id, time: toIso(at) })];
}
