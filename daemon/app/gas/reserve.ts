/** The coin that stays where it is when a forwarding plan sends the rest of it on, so that tokens can still be moved. */
import { fundingFee, usualFee } from '../../chains/accounts.ts';
import { assetOf, isToken } from '../../domain/assets.ts';
import { maxOf } from '../../domain/money.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { forwardPlansOf } from '../../store/queries/forwarding.ts';
import { gasPlanOf } from '../../store/queries/gas.ts';
import type { App } from '../app.ts';
import { type CoinReserve, fundsOf, isTank } from '../spends/address-funds.ts';
import type { Holder } from '../spends/plan.ts';
import { assetsOf, type Desk, findsOf, inTank, isLoss, isLossOf, withReserve } from './finds.ts';
import { FEE_MAX_FACTOR, leftOf } from './plans.ts';

/**
 * The coin that addresses must keep at a fee rate. The tank keeps what an open gas plan may still spend, or the gas for the tokens of the account
 * that are worth it, with room for a price that doubles, whichever is more. An address with a token that a plan forwards keeps the gas for that. Null: the
 * asset is not the coin that gas is paid in.
 */
export function coinReserve(app: App, holder: Holder, feeRate: bigint): CoinReserve | null {
  const { business, chain, account, asset } = holder;
  const { feeAsset } = chain.spending;
  const row = app.store.get(accountById, { id: account.id });
  if (!chain.adapter.accountBased || asset !== feeAsset || !row) return null;
  const reserve = gasOfForwarded(app, holder, feeRate);
  const tank = fundsOf(app.store, { chain, account, asset }, {})
    .balances()
    .find((one) => isTank(one, row.tank));
  if (!tank) return reserve;
  const gasOf = (of: typeof asset): bigint => usualFee(chain.spending, of, feeRate);
  const desk: Desk = { business, account, chain, feeAsset: assetOf(feeAsset), tank };
  const toFund = findsOf(app, desk, feeRate)
    // whoever likes sends tokens that are worth less than their gas
    .filter((find) => find.fund > 0n && !isLoss(find))
    .reduce((sum, { fund }) => sum + fund + fundingFee(chain.spending, feeRate), 0n);
  const ofTank = assetsOf(desk)
    .filter(({ symbol }) => symbol !== feeAsset && inTank(app, desk, symbol) > 0n)
    .reduce((sum, { symbol }) => sum + gasOf(symbol), 0n);
  const plan = app.store.get(gasPlanOf, { account_id: account.id });
  const open = plan?.state === 'open' && plan.ends_at > app.now() ? leftOf(plan) : 0n;
  return reserve.set(tank.address, maxOf(open, (toFund + ofTank) * FEE_MAX_FACTOR));
}

/** By address: the gas for the tokens there that plans of the account forward, and that are worth it. It may have been sent there for that. */
function gasOfForwarded(app: App, { business, chain, account }: Holder, feeRate: bigint): Map<string, bigint> {
  const gas = new Map<string, bigint>();
  const plans = app.store.all(forwardPlansOf, { business_id: business.id });
  for (const { asset } of plans.filter(({ chain_key, asset }) => chain_key === chain.key && isToken(asset))) {
    const fee = usualFee(chain.spending, asset, feeRate);
    for (const { address, units } of fundsOf(app.store, { chain, account, asset }, {}).balances()) {
      const moved = [assetOf(asset), units[asset] ?? 0n] as const;
      if (isLossOf(app, business, moved, [assetOf(chain.spending.feeAsset), fee])) continue;
      gas.set(address, (gas.get(address) ?? 0n) + withReserve(fee));
    }
  }
  return gas;
}
