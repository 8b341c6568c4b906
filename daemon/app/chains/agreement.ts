/**
 * Whose word is enough for a payment: from a configured amount on, an invoice counts as paid only when two servers of a
 * light client agree. What cannot be valued is treated as large; quotients are rounded down.
 */
import { type ChainId, findAsset, type Network } from '../../domain/assets.ts';
import { assert } from '../../domain/errors.ts';
import { FIAT_DECIMALS, fiatFor } from '../../domain/money.ts';
import { targetById } from '../../store/queries/credits.ts';
import { invoiceById } from '../../store/queries/invoices.ts';
import type { App } from '../app.ts';

const SCALE = 10n ** BigInt(FIAT_DECIMALS);

/** Whether one of these credits belongs to an invoice of the configured amount or more, or is worth as much itself. */
export function needsAgreement(
  app: App,
  network: Network,
  chain: ChainId,
  credits: readonly { targetId: number; units: bigint }[],
): boolean {
  const from = BigInt(app.config.networks[network][chain].electrumAgreeUsd) * SCALE;
  const asset = findAsset(chain);
  assert(asset, `${chain} carries its own coin`);
  return credits.some(({ targetId, units }) => {
    const rate = app.rates.rate(network, asset.symbol, 'USD', app.now());
    if (rate === null || fiatFor(units, asset, rate.scaled) >= from) return true;
    const invoiceId = app.store.get(targetById, { id: targetId })?.invoice_id;
    const invoice = invoiceId ? app.store.get(invoiceById, { id: invoiceId }) : undefined;
    if (!invoice) return false;
    const perDollar = app.rates.perDollar(network, invoice.currency, app.now());
    return perDollar === null || (BigInt(invoice.amount) * SCALE) / perDollar >= from;
  });
}
