/** The coin that stays in the tank when a forwarding plan sends the rest of it on, so that tokens can still be moved. */
import { assetOf } from '../../domain/assets.ts';
import { maxOf } from '../../domain/money.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { gasPlanOf } from '../../store/queries/gas.ts';
import type { App } from '../app.ts';
import { fundsOf } from '../withdrawals/address-funds.ts';
import type { Holder } from '../withdrawals/plan.ts';
import { isTank, type TankReserve } from '../withdrawals/tank-keeps.ts';
import { assetsOf, type Desk, findsOf } from './finds.ts';
import { FEE_MAX_FACTOR, leftOf } from './plans.ts';

/**
 * The coin that the tank must keep at a fee rate: what an open gas plan may still spend, or the gas for all tokens of the account, with room for a
 * price that doubles, whichever is more. Null: the asset is not the coin that gas is paid in, or the tank is empty.
 */
export function tankReserve(app: App, holder: Holder, feeRate: bigint): TankReserve | null {
  const { business, chain, account, asset } = holder;
  const { feeAsset } = chain.spending;
  const row = app.store.get(accountById, { id: account.id });
  if (!chain.adapter.accountBased || asset !== feeAsset || !row) return null;
  const index = row.tank;
  const tank = fundsOf(app.store, { chain, account, asset }, {})
    .balances()
    .find((one) => isTank(one, index));
  if (!tank) return null;
  const gasOf = (of: typeof asset): bigint => chain.spending.usualFee?.(of, feeRate) ?? 0n;
  const desk: Desk = { business, account, chain, feeAsset: assetOf(feeAsset), tank };
  const toFund = findsOf(app, desk, feeRate)
    .filter(({ fund }) => fund > 0n)
    .reduce((sum, { fund }) => sum + fund + gasOf(feeAsset), 0n);
  const ofTank = assetsOf(desk)
    .filter(({ symbol }) => symbol !== feeAsset && tokenAt(app, holder, symbol, index) > 0n)
    .reduce((sum, { symbol }) => sum + gasOf(symbol), 0n);
  const plan = app.store.get(gasPlanOf, { account_id: account.id });
  const open = plan?.state === 'open' && plan.ends_at > app.now() ? leftOf(plan) : 0n;
  return { index, units: maxOf(open, (toFund + ofTank) * FEE_MAX_FACTOR) };
}

function tokenAt(app: App, { chain, account }: Holder, asset: Holder['asset'], tank: number): bigint {
  const at = fundsOf(app.store, { chain, account, asset }, {})
    .balances()
    .find((one) => isTank(one, tank));
  return at?.units[asset] ?? 0n;
}
