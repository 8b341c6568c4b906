/**
 * Decides for which payments two servers of a light client, or two endpoints of an account chain, must agree: those
 * above a configured amount. A payment without a known value counts as large. Quotients are rounded down.
 */
import { type AssetId, assetOf, type ChainId, type Network } from '../../domain/assets.ts';
import { isEvm } from '../../domain/evm.ts';
import { dollarsFor, FIAT_DECIMALS, fiatFor } from '../../domain/money.ts';
import { targetById } from '../../store/queries/credits.ts';
import { invoiceById } from '../../store/queries/invoices.ts';
import type { App } from '../app.ts';

const SCALE = 10n ** BigInt(FIAT_DECIMALS);
/**
 * A smaller part of its invoice needs no agreement, so that anybody's flood of such costs no second question. An invoice counts
 * a hundred of them at most (`app/invoices/settle.ts`): a hundredth of it.
 */
const PARTS = 10_000n;

/** Whether one of these credits is worth the configured value, or more than a tiny part of an invoice that is. */
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
    if (rate === null) return true;
    const worth = fiatFor(units, asset, rate.scaled);
    if (worth >= from) return true;
    const invoiceId = app.store.get(targetById, { id: targetId })?.invoice_id;
    const invoice = invoiceId ? app.store.get(invoiceById, { id: invoiceId }) : undefined;
    if (!invoice) return false;
    const perDollar = app.rates.perDollar(network, invoice.currency, app.now());
    if (perDollar === null) return true;
    const wanted = dollarsFor(invoice.amount, perDollar);
    return wanted >= from && worth * PARTS >= wanted;
  });
}
