/** The network fee that a withdrawal would reserve, before it is asked for. */
import type { Asset, AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { availableUnits } from '../spends/coins.ts';
import { chainOf, estimatedFee, estimateHighestFee, type NewWithdrawal } from './request.ts';

export type Cost = {
  /** The highest fee, in smallest units of its asset. */
  fee: bigint;
  feeAsset: AssetId;
  /** The available amount of the asset that is sent. */
  available: bigint;
  /** The units of that asset that are missing for the amount and a fee in the same asset; 0: it suffices. */
  missing: bigint;
};

/** `units`: what the recipient shall get. Null: nothing can be said, such as for an invalid address. */
export async function costOf(
  app: App,
  business: Business,
  { asset, address, units }: { asset: Asset; address: string; units: bigint },
): Promise<Cost | null> {
  const chain = chainOf(app, business, asset);
  const account = app.directory.account(business, asset.symbol);
  if (!account || !chain?.adapter.spending || !chain.adapter.isValidAddress(address)) return null;
  const wanted: NewWithdrawal = { asset, units, address, origin: 'operator' };
  const feeRate = await estimateHighestFee(app, business, () => wanted);
  const available = availableUnits(app.store, account.id, asset.symbol);
  const fee = feeOrNull(() => estimatedFee(app.store, { business, account, chain, wanted, feeRate }));
  if (fee === null) return null;
  const { feeAsset } = chain.spending;
  const needed = units + (feeAsset === asset.symbol ? fee : 0n);
  return { fee, feeAsset, available, missing: needed > available ? needed - available : 0n };
}

function feeOrNull(estimate: () => bigint): bigint | null {
  try {
    return estimate();
  } catch (error) {
    if (error instanceof Rejected) return null;
    throw error;
  }
}
