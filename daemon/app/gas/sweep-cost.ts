/** The cost of moving a payment's money on, beside its worth: a warning for the operator of a payment that is hardly worth it. */
import { fundingFee, usualFee } from '../../chains/accounts.ts';
import { assetOf } from '../../domain/assets.ts';
import { fiatFor } from '../../domain/money.ts';
import { addressBalance } from '../../store/queries/address-balances.ts';
import type { PaymentRow } from '../../store/queries/invoices.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { feeRateKnown } from '../spends/fees.ts';

/** Of the highest fees at the present price: funding the address with gas included. `usd`: 1e-8 US dollars. */
type SweepCost = { usd: bigint; percent: number; isDear: boolean };

const PERCENT_MAX = 999n;

/**
 * The cost of collecting what is at a payment's address, or what is asked for while nothing came. Null: nothing is there any
 * more, its chain needs no collecting, or no price is known yet.
 */
export function sweepCostOf(app: App, business: Business, payment: PaymentRow): SweepCost | null {
  const chain = app.chains.find(payment.chain_key);
  if (!chain?.adapter.accountBased || !chain.adapter.spending) return null;
  const rate = feeRateKnown(chain);
  const units = unitsOf(app, payment);
  if (rate === null || units === 0n) return null;
  const spending = chain.spending;
  const [asset, coin] = [assetOf(payment.asset), assetOf(spending.feeAsset)];
  const own = usualFee(spending, asset.symbol, rate);
  const fee = own + (asset === coin ? 0n : fundingFee(spending, rate));
  const worthOf = (of: typeof asset, amount: bigint): bigint | null => {
    const known = app.rates.rate(business.network, of.symbol, 'USD', app.now());
    return known ? fiatFor(amount, of, known.scaled) : null;
  };
  const [usd, worth] = [worthOf(coin, fee), worthOf(asset, units)];
  if (usd === null || worth === null || worth === 0n) return null;
  const percent = (usd * 100n) / worth;
  return {
    usd,
    percent: Number(percent < PERCENT_MAX ? percent : PERCENT_MAX),
    isDear: usd * 100n > worth * BigInt(app.config.evm.dearPercent),
  };
}

function unitsOf(app: App, { target_id, asset, status, quote_amount, received, confirmed }: PaymentRow): bigint {
  if (received === 0n) return status === 'pending' ? quote_amount : 0n;
  return confirmed === 0n ? received : (app.store.get(addressBalance, { target_id, asset })?.units ?? 0n);
}
