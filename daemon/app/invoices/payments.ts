/** Requests payments for invoices, changes their coin, and renews their quotes. */

import { type Asset, type AssetId, assetOf, findAsset } from '../../domain/assets.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { deadlineOf, makeQuote, type Quote } from '../../domain/quote.ts';
import { MS_PER_MINUTE } from '../../domain/time.ts';
import { firstAddressOf } from '../../store/queries/businesses.ts';
import {
  type InvoiceRow,
  insertPastQuote,
  insertPayment,
  invoiceById,
  type PaymentRow,
  paymentOf,
  updateQuote,
} from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { takeAddress } from '../addresses/pool.ts';
import { type App, graceMs } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { makeRoom } from '../links/room.ts';
import { takeStock } from '../links/stock.ts';
import { tellInvoice } from '../notifications/news.ts';
import { refuseWrongClock } from '../recovery/clock.ts';
import { refuseInQuarantine } from '../recovery/quarantine.ts';
import { abandonedAt } from '../shops/clients.ts';
import { cryptoRejected } from '../shops/cryptos.ts';
import type { Business } from '../shops/directory.ts';
import { holdAddress } from './holds.ts';
import { fixedAsset } from './invoices.ts';
import {
  creditsFor,
  isPaidInto,
  leftTargets,
  moveTo,
  type NextTarget,
  receivedAt,
  takenUp,
} from './payment-targets.ts';
import { isEnough } from './settle.ts';

const RATE_RETRY_SECONDS = 60;

/** The payer's choice, if any. Called only when needed, because its check may throw. */
type Choice = () => string | undefined;

/** The asset of a new payment. Throws `Rejected` in the contract's order. */
function chooseAsset(app: App, business: Business, invoice: InvoiceRow, symbol: string | undefined): Asset {
  const fixed = fixedAsset(invoice);
  if (symbol === undefined) {
    if (!fixed) throw cryptoMissing();
    return fixed;
  }
  const asset = symbol === 'USDT' ? onlyTether(business, fixed) : findAsset(symbol);
  if (!asset || (!fixed && !app.directory.takes(business, asset.symbol)) || (fixed && fixed !== asset)) {
    throw cryptoRejected(fixed ? [fixed.symbol] : business.enabled.map(({ symbol }) => symbol));
  }
  return asset;
}

const cryptoMissing = (): Rejected =>
  new Rejected('payment.crypto_missing', 'crypto parameter is required for this invoice');

/** `USDT` alone is unambiguous only if there is a single network. */
function onlyTether(business: Business, fixed: Asset | null): Asset | undefined {
  const networks = business.enabled.filter((asset) => asset.priceSymbol === 'USDT');
  if (fixed && networks.length === 1) return networks[0];
  if (networks.length > 1) {
    const symbols = networks.map((asset) => asset.symbol).join(' or ');
    throw new Rejected('validation', `The selected crypto is ambiguous: use ${symbols}.`, 'crypto');
  }
  return networks[0];
}

/**
 * A quote at the current rate for the rest of the debt. `seenValue`: the value of the money seen, fiat 1e-8.
 * `receivedAt`: the same in units at a rate. Throws `Unavailable` when there is no rate.
 */
function quoteFor(
  app: App,
  business: Business,
  invoice: InvoiceRow,
  asset: Asset,
  seenValue: bigint,
  receivedAt: (rate: bigint) => bigint,
): { quote: Quote; rates: string } {
  const now = app.now();
  const rate = app.rates.quoteRate(business.network, asset.symbol, invoice.currency, now);
  if (!rate) throw new Unavailable(`No exchange rate for ${asset.symbol} at the moment`, RATE_RETRY_SECONDS);
  const quote = makeQuote(
    asset,
    {
      amount: invoice.amount,
      seenValue,
      received: receivedAt(rate.scaled),
      dueAt: invoice.due_at,
      graceMs: graceMs(app),
      quoteMs: app.config.payments.quoteMinutes * MS_PER_MINUTE,
    },
    rate.scaled,
    now,
  );
  return { quote, rates: ratesJson(app, business, asset.symbol, now) };
}

/** The contract's `rates` of a payment: the value of one coin as a JSON object in text; coins without a known rate are left out. */
function ratesJson(app: App, business: Business, asset: AssetId, now: number): string {
  const known = Object.entries(app.rates.shownKnown(business.network, asset, now));
  return `{${known.map(([fiat, decimal]) => `"${fiat}":${decimal}`).join(',')}}`;
}

const quoteColumns = ({ rate, amount, issuedAt, endsAt }: Quote) => ({
  quote_rate: rate,
  quote_amount: amount,
  quote_issued_at: issuedAt,
  quote_ends_at: endsAt,
});

/** A new address for an invoice, which was never given out before. Throws `Unavailable` and `PoolEmpty`. */
function newTarget(
  app: App,
  business: Business,
  invoice: InvoiceRow,
  asset: Asset,
  waited: boolean,
  tx: Tx,
): Pick<PaymentRow, 'target_id' | 'address'> {
  const account = app.directory.account(business, asset.symbol);
  if (!account) throw new Unavailable(`${asset.symbol} has no wallet account yet`, RATE_RETRY_SECONDS);
  const { id, address } = takeAddress(app, account, invoice.id, waited, tx);
  return { target_id: id, address };
}

/** Whether an amount is so small that the coin's network does not carry it to an address of the business; smallest units. */
export function isTooSmall(app: App, business: Business, asset: Asset, units: bigint): boolean {
  const account = app.directory.account(business, asset.symbol);
  const spending = account && app.chains.find(account.chainKey)?.adapter.spending;
  const known = account && app.store.get(firstAddressOf, { account_id: account.id });
  return units <= 0n || (spending && known ? spending.sendable(known.address, units) > units : false);
}

/** Throws `Rejected('payment.too_small')` for an amount that the network does not carry to the address. */
function needSendable({ adapter }: ChainRuntime, asset: Asset, address: string, units: bigint): void {
  if ((adapter.spending?.sendable(address, units) ?? units) === units) return;
  throw new Rejected('payment.too_small', `${asset.symbol} cannot carry so little: choose another coin`, 'crypto');
}

/**
 * Gives an unpaid invoice its one payment: a new address and an amount at a rate fixed for a while. Throws `Rejected` in
 * the contract's order of checks, `Unavailable` without a rate or a synced chain, and `PoolEmpty`. `asker`: the networks
 * that a browser asks from, the narrowest first.
 */
export function requestPayment(
  app: App,
  business: Business,
  invoice: InvoiceRow,
  choice: Choice,
  tx: Tx,
  waited = false,
  asker: readonly string[] = [],
): PaymentRow {
  if (tx.get(paymentOf, { invoice_id: invoice.id })) {
    throw new Rejected('payment.requested', 'Payment already requested');
  }
  if (invoice.status !== 'unpaid') throw new Rejected('invoice.not_unpaid', 'Invoice is not unpaid');
  const asset = chooseAsset(app, business, invoice, choice());
  const now = app.now();
  refuseInQuarantine(tx, 'New payments');
  refuseWrongClock(app, tx, 'New payments');
  const chain = app.chains.open(business.network, asset, now);
  const { quote, rates } = quoteFor(app, business, invoice, asset, 0n, () => 0n);

  holdAddress(app, tx, invoice, asker);
  takeStock(tx, invoice, (item, quantity) => makeRoom(app, tx, item, quantity));
  const { target_id, address } = newTarget(app, business, invoice, asset, waited, tx);
  needSendable(chain, asset, address, quote.amount);

  const deadlineAt = deadlineOf(null, invoice.due_at, quote);
  const payment: PaymentRow = {
    invoice_id: invoice.id,
    chain_key: chain.key,
    asset: asset.symbol,
    target_id,
    address,
    status: 'pending',
    deadline_at: deadlineAt,
    check_at: Math.min(deadlineAt, abandonedAt(invoice, quote.endsAt) ?? deadlineAt),
    ...quoteColumns(quote),
    rates,
    received: 0n,
    confirmed: 0n,
    seen_value: 0n,
    confirmed_value: 0n,
    flags: 0,
    created_at: now,
    updated_at: now,
    changes: 0,
  };
  tx.run(insertPayment, payment);
  tx.afterCommit(() => app.invoiceSubscribers.changed(invoice.id));
  tellInvoice(app, tx, invoice, 'invoice.requested', payment);
  return payment;
}

/** How often the payer of an invoice may choose another coin. */
export const COIN_CHANGES_PER_INVOICE_MAX = 5;

/** Whether the payer may choose another coin: no payment was seen, and the invoice does not fix the coin. */
export function mayChangeCoin(app: App, reader: Reader, invoice: InvoiceRow, payment: PaymentRow): boolean {
  if (invoice.status !== 'unpaid' || fixedAsset(invoice) || payment.changes >= COIN_CHANGES_PER_INVOICE_MAX)
    return false;
  return app.now() < payment.deadline_at + graceMs(app) && !isPaidInto(reader, payment);
}

/**
 * Changes the coin of an invoice's payment: with a new address and quote or, for a former coin, with its former ones
 * until that quote's original end. So changing back and forth never gives a better rate than staying. Throws `Rejected`
 * (`payment.fixed` when it may not be changed any more, and as `requestPayment`), `Unavailable`, `PoolEmpty`.
 */
export function changeCoin(
  app: App,
  business: Business,
  invoice: InvoiceRow,
  symbol: string | undefined,
  tx: Tx,
  waited = false,
): PaymentRow {
  const payment = tx.get(paymentOf, { invoice_id: invoice.id });
  if (!payment || !mayChangeCoin(app, tx, invoice, payment)) {
    throw new Rejected('payment.fixed', 'The coin of this payment cannot be changed');
  }
  if (symbol === undefined) throw cryptoMissing();
  const asset = chooseAsset(app, business, invoice, symbol);
  if (asset.symbol === payment.asset) return payment;
  refuseInQuarantine(tx, 'New payments');
  refuseWrongClock(app, tx, 'New payments');
  const chain = app.chains.open(business.network, asset, app.now());
  const former = leftTargets(tx, payment).find((left) => left.asset === asset.symbol);
  const next = former?.quote_ends_at && former.quote_ends_at > app.now() ? takenUp(app, payment, former) : fresh();
  const moved = moveTo(app, tx, payment, next, payment.changes + 1);
  tx.afterCommit(() => app.invoiceSubscribers.changed(invoice.id));
  tellInvoice(app, tx, invoice, 'invoice.requested', moved);
  return moved;

  function fresh(): NextTarget {
    const { quote, rates } = quoteFor(app, business, invoice, asset, 0n, () => 0n);
    const { target_id, address } = former ?? newTarget(app, business, invoice, asset, waited, tx);
    needSendable(chain, asset, address, quote.amount);
    const deadline_at = deadlineOf(payment!.deadline_at, invoice.due_at, quote);
    return {
      asset: asset.symbol,
      chain_key: chain.key,
      target_id,
      address,
      ...quoteColumns(quote),
      rates,
      deadline_at,
    };
  }
}

/** Whether a payment needs a new quote: the last one ended, and something is left to pay. */
export function needsQuote(invoice: InvoiceRow, payment: PaymentRow, graceEndsAt: number, now: number): boolean {
  if (invoice.status !== 'unpaid' || now < payment.quote_ends_at || now >= graceEndsAt) return false;
  return !isEnough(invoice, payment);
}

/** Whether money came whose value is not known yet: a new quote would ask for it once more. */
const hasUnvalued = (reader: Reader, payment: PaymentRow): boolean =>
  payment.received > 0n && creditsFor(reader, payment).some(({ value }) => value === null);

/**
 * Makes that quote for the same address, in a separate transaction. Without a rate, or while the chain is behind, the
 * payment stays unchanged and shows its quote as ended, so that a read never fails for that reason.
 */
export function refreshQuote(app: App, business: Business, invoiceId: number, tx: Tx): void {
  const invoice = tx.get(invoiceById, { id: invoiceId });
  const payment = tx.get(paymentOf, { invoice_id: invoiceId });
  const now = app.now();
  if (!invoice || !payment || !needsQuote(invoice, payment, payment.deadline_at + graceMs(app), now)) return;
  if (hasUnvalued(tx, payment)) return;
  const asset = assetOf(payment.asset);
  try {
    refuseWrongClock(app, tx, 'New quotes');
    app.chains.open(business.network, asset, now);
    const at = (rate: bigint) => receivedAt(tx, payment, rate);
    const seenValue = payment.seen_value;
    const { quote, rates } = quoteFor(app, business, invoice, asset, seenValue, (rate) => at(rate).received);
    const { received, confirmed } = at(quote.rate);
    const deadlineAt = deadlineOf(payment.deadline_at, invoice.due_at, quote);
    tx.run(insertPastQuote, {
      invoice_id: invoiceId,
      asset: payment.asset,
      issued_at: payment.quote_issued_at,
      ends_at: payment.quote_ends_at,
      rate: payment.quote_rate,
    });
    tx.run(updateQuote, {
      invoice_id: invoiceId,
      ...quoteColumns(quote),
      rates,
      deadline_at: deadlineAt,
      check_at: payment.check_at === null ? null : deadlineAt > payment.deadline_at ? deadlineAt : payment.check_at,
      received,
      confirmed,
      updated_at: now,
    });
    tx.afterCommit(() => app.invoiceSubscribers.changed(invoiceId));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}
