/**
 * The value of a deposit and its required confirmations. A credit first seen within a quote counts at that quote's
 * rate, any other at the rate when it was first seen. A transaction that takes longer than a day to confirm loses its
 * quote, so that a low fee is no free option on the rate.
 */

import { type Asset, type AssetId, assetOf, confirmationsFor, type Network } from '../../domain/assets.ts';
import { partsOf } from '../../domain/inheritance.ts';
import { dollarsFor, fiatFor } from '../../domain/money.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { invoiceById, type PaymentRow, pastQuoteAt, paymentOf } from '../../store/queries/invoices.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';

const QUOTE_HOLDS_UNCONFIRMED_MS = MS_PER_DAY;

/** The rate (1e-8) of the quote in an asset that was open at a time, and when it was made; null: none was. */
export function quoteAt(
  reader: Reader,
  payment: PaymentRow,
  asset: AssetId,
  at: number,
): { rate: bigint; issuedAt: number } | null {
  const { invoice_id, quote_issued_at, quote_ends_at } = payment;
  const current = payment.asset === asset && at >= quote_issued_at && at <= quote_ends_at;
  if (current) return { rate: payment.quote_rate, issuedAt: quote_issued_at };
  const past = reader.get(pastQuoteAt, { invoice_id, asset, at });
  return past ? { rate: past.rate, issuedAt: past.issued_at } : null;
}

/** The rate when the deposit was seen; else the current one, which is the first known since. */
function marketRate(app: App, network: Network, asset: AssetId, fiat: string, at: number): bigint | null {
  const rate = app.rates.quoteRateAt(network, asset, fiat, at) ?? app.rates.quoteRate(network, asset, fiat, app.now());
  return rate?.scaled ?? null;
}

/** When the parts of a deposit were first seen. */
type SightColumns = Pick<CreditRow, 'units' | 'first_seen_at' | 'inherited' | 'block_time'>;

/** A credit's value in its invoice's fiat (1e-8, each part rounded down); null without an invoice or a rate. */
export function fiatValue(
  app: App,
  reader: Reader,
  network: Network,
  credit: SightColumns & Pick<CreditRow, 'invoice_id' | 'asset'>,
): bigint | null {
  if (credit.invoice_id === null) return null;
  const invoice = reader.get(invoiceById, { id: credit.invoice_id });
  const payment = reader.get(paymentOf, { invoice_id: credit.invoice_id });
  if (!invoice || !payment) return null;
  const asset = assetOf(credit.asset);
  let value = 0n;
  for (const [seenAt, units] of partsOf(credit)) {
    const starved = isStarved(credit.block_time, seenAt);
    const rate =
      (starved ? null : quoteAt(reader, payment, asset.symbol, seenAt))?.rate ??
      marketRate(app, network, asset.symbol, invoice.currency, starved ? credit.block_time! : seenAt);
    if (rate === null) return null;
    value += fiatFor(units, asset, rate);
  }
  return value;
}

/** Whether a transaction took too long to keep the rate of when it was first seen. */
const isStarved = (blockTime: number | null, seenAt: number): boolean =>
  blockTime !== null && blockTime - seenAt > QUOTE_HOLDS_UNCONFIRMED_MS;

/** Whether its block changed a credit's value, because a part of it took too long. */
export function losesQuote(credit: SightColumns): boolean {
  return partsOf(credit).some(([seenAt]) => isStarved(credit.block_time, seenAt));
}

/** A credit's value in dollars (1e-8, rounded down), for limits; null without a rate. */
export function dollarValue(
  app: App,
  network: Network,
  credit: Pick<CreditRow, 'asset' | 'units' | 'first_seen_at'>,
): bigint | null {
  const asset = assetOf(credit.asset);
  const rate = marketRate(app, network, asset.symbol, 'USD', credit.first_seen_at);
  return rate === null ? null : fiatFor(credit.units, asset, rate);
}

/**
 * Whether no part of a deposit's invoice counts unconfirmed, because the invoice is worth the limit of that: many small payments would be as
 * much as a large one. Without a rate it is.
 */
export function needsBlocks(
  app: App,
  reader: Reader,
  network: Network,
  { invoice_id, asset }: Pick<CreditRow, 'invoice_id' | 'asset'>,
): boolean {
  const limit = zeroConfLimit(app, network, assetOf(asset));
  const invoice = limit === 0n || invoice_id === null ? undefined : reader.get(invoiceById, { id: invoice_id });
  if (!invoice) return false;
  const perDollar = app.rates.perDollar(network, invoice.currency, app.now());
  return perDollar === null || dollarsFor(invoice.amount, perDollar) >= limit;
}

/** The worth from which nothing counts unconfirmed, 1e-8 US dollars. */
const zeroConfLimit = (app: App, network: Network, { chain }: Asset): bigint =>
  BigInt(app.config.networks[network][chain].zeroConfUsd) * 100_000_000n;

/**
 * The confirmations that a transaction needs, by all that it pays to us. 0 only where the operator allowed it, below
 * that limit, and when the source proved that nothing can replace it. `replaceable`: also true of a deposit that `needsBlocks`.
 */
export function requiredConfirmations(
  app: App,
  network: Network,
  asset: Asset,
  dollars: bigint | null,
  replaceable: boolean,
): number {
  if (!replaceable && dollars !== null && dollars < zeroConfLimit(app, network, asset)) return 0;
  return confirmationsFor(app.config.networks[network][asset.symbol].confirmations, dollars);
}
