/**
 * The balance of a business: running totals, updated by every commit that moves a coin, less the amounts reserved for
 * withdrawals.
 */
import type { Asset } from '../../domain/assets.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { availableUnits } from '../withdrawals/coins.ts';

/** The spendable units of every enabled asset, in the order of the asset table. */
export function balances(app: App, business: Business): { asset: Asset; units: bigint }[] {
  return business.enabled.map((asset) => {
    const account = app.directory.account(business, asset.symbol);
    return { asset, units: account ? availableUnits(app.store, account.id, asset.symbol) : 0n };
  });
}
