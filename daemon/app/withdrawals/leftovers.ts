/** The money that stays in a wallet, because to move it would cost more than it is. */
import { usualFee } from '../../chains/accounts.ts';
import type { Asset, AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import type { App } from '../app.ts';
import { balances, formerBalances } from '../books/balance.ts';
import { type Desk, deskOf, findsOf, isLossOf, isWorth } from '../gas/finds.ts';
import type { Business } from '../shops/directory.ts';
import { fundsOf } from '../spends/address-funds.ts';
import { nextChange } from '../spends/change-address.ts';
import { availableUnits } from '../spends/coins.ts';
import { feeRateNow } from '../spends/fees.ts';
import { type Holder, holderOf, isSignable } from '../spends/plan.ts';
import { estimatedFee, estimateHighestFee, type NewWithdrawal } from './request.ts';

/**
 * The assets of which a withdrawal of everything would move nothing now: it is refused, or no address of an account chain has what is
 * worth its gas. Of an asset of unknown worth none is told.
 */
export async function leftoversOf(app: App, business: Business): Promise<AssetId[]> {
  const found: AssetId[] = [];
  for (const { asset, units } of [...balances(app, business), ...formerBalances(app, business)]) {
    if (units > 0n && (await isLeftover(app, business, asset))) found.push(asset.symbol);
  }
  return found;
}

async function isLeftover(app: App, business: Business, asset: Asset): Promise<boolean> {
  try {
    const holder = holderOf(app, { business_id: business.id, asset: asset.symbol });
    const { account, chain } = holder;
    if (!chain.adapter.spending || !isSignable(app, account)) return false;
    if (await isRefused(app, holder, asset)) return true;
    return (
      chain.adapter.accountBased === true && (await isScattered(app, await deskOf(app, business, asset.chain), asset))
    );
  } catch (error) {
    if (error instanceof Rejected) return false;
    throw error;
  }
}

/** Whether all together is no more than the highest fee in the same asset. */
async function isRefused(app: App, holder: Holder, asset: Asset): Promise<boolean> {
  const { business, account, chain } = holder;
  if (chain.spending.feeAsset !== asset.symbol) return false;
  // the size does not depend on whom it pays
  const { address } = await nextChange(app, holder);
  const wanted: NewWithdrawal = { asset, units: null, address, origin: 'operator' };
  const feeRate = await estimateHighestFee(app, business, () => wanted);
  const fee = estimatedFee(app.store, { business, account, chain, wanted, feeRate });
  return availableUnits(app.store, account.id, asset.symbol) <= fee;
}

/** Whether nothing at any address is worth its gas. */
async function isScattered(app: App, desk: Desk, asset: Asset): Promise<boolean> {
  const { business, account, chain, feeAsset, tank } = desk;
  const funds = fundsOf(app.store, { chain, account, asset: asset.symbol }, { settledOnly: true });
  if (funds.balances().some(({ unconfirmed }) => (unconfirmed?.[asset.symbol] ?? 0n) > 0n)) return false;
  const rate = await feeRateNow(chain);
  const finds = findsOf(app, desk, rate).filter((find) => find.asset === asset);
  if (finds.some((find) => find.isBusy || find.usd === null || isWorth(find, 0n, feeAsset))) return false;
  const inTank = funds.balance(tank).units[asset.symbol] ?? 0n;
  const fee = usualFee(chain.spending, asset.symbol, rate);
  return asset === feeAsset
    ? inTank <= fee
    : inTank === 0n || isLossOf(app, business, [asset, inTank], [feeAsset, fee]);
}
