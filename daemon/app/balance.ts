/** What a business has: running totals, kept by every commit that moves a coin. */
import type { Asset } from '../domain/assets.ts';
import { balanceOf } from '../store/queries/credits.ts';
import type { App } from './app.ts';
import type { Business } from './directory.ts';

/** The spendable units of every enabled asset, in the order of the asset table. */
export function balances(app: App, business: Business): { asset: Asset; units: bigint }[] {
  return business.enabled.map((asset) => {
    const account = app.directory.account(business, asset.symbol);
    const row = account && app.store.get(balanceOf, { account_id: account.id, asset: asset.symbol });
    return { asset, units: BigInt(row?.units ?? '0') };
  });
}
