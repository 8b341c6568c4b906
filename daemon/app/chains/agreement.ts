/**
 * Decides for which payments two servers of a light client, or two endpoints of an account chain, must agree: those above a
 * configured amount. A payment without a known value counts as large. Quotients are rounded down.
 */
import { type AssetId, assetOf, type ChainId, type Network } from '../../domain/assets.ts';
import { isEvm } from '../../domain/evm.ts';
import { FIAT_DECIMALS, fiatFor } from '../../domain/money.ts';
import { targetById } from '../../store/queries/credits.ts';
import { invoiceById } from '../../store/queries/invoices.ts';
import type { App } from '../app.ts';

const SCALE = 10n ** BigInt(FIAT_DECIMALS);

/** Whether one of these credits belongs to an invoice of at least the configured amount, or has that value itself. */
export function needsAgreement(
  app: App,
  network: Network,
  chain: ChainId,
  credits: readonly { targetId: number; units: bigint; asset: AssetId }[],
): boolean {
  const settings = app.config.networks[network][chain];
  const agreeUsd = isEvm(chain)
    ? settings.rpcAgreeUsd
    : settings[chain === 'XMR' ? 'monerodAgreeUsd' : 'electrumAgreeUsd'];
  const from = BigInt(agreeUsd) * SCALE;
  return credits.some(({ targetId, units, ...credit }) => {
    const asset = assetOf(credit.asset);
    const rate = app.rates.rate(network, asset.symbol, 'USD', app.now());
    if (rate === null || fiatFor(units, asset, rate.scaled) >= from) return true;
    const invoiceId = app.store.get(targetById, { id: targetId })?.invoice_id;
    const invoice = invoiceId ? app.store.get(invoiceById, { id: invoiceId }) : undefined;
    if (!invoice) return false;
    const perDollar = app.rates.perDollar(network, invoice.currency, app.now());
    return perDollar === null || (invoice.amount * SCALE) / perDollar >= from;
  });
}
