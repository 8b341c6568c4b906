/**
 * Collections that were signed and lack gas since: a transaction of another machine had brought it, and the chain lost that one. Nobody here
 * has its bytes, and no other payment is begun for the address while the collection is open.
 */
import { scriptOf } from '../../chains/derive.ts';
import { networkOf } from '../../domain/chain.ts';
import { maxOf } from '../../domain/money.ts';
import { addressBalance } from '../../store/queries/address-balances.ts';
import { versionsOf } from '../../store/queries/withdrawals.ts';
import { type OwnAddressRow, ownTarget } from '../addresses/watch.ts';
import type { App } from '../app.ts';
import { isRefused, versionFacts } from '../spends/facts.ts';
import type { Desk } from './finds.ts';
import { ownSpends } from './stuck.ts';

/** `units`: of the chain's coin that the address lacks. */
type Lacking = { at: OwnAddressRow; units: bigint };

/** Those that every node refuses, at addresses without a funding under way. */
export function collectionsWithoutGas({ store }: App, desk: Desk): Lacking[] {
  const { chain, feeAsset } = desk;
  const open = ownSpends(store, desk);
  const funded = new Set(open.filter(({ purpose }) => purpose === 'fund').map(({ subject }) => subject));
  return open.flatMap((spend): Lacking[] => {
    if (spend.purpose !== 'collect' || funded.has(spend.subject)) return [];
    if (!isRefused(chain, versionFacts(store, chain, spend.id))) return [];
    const script = scriptOf(chain.adapter.chain, networkOf(chain.key), spend.subject ?? '');
    const at = script ? ownTarget(store, chain.key, { script }) : undefined;
    if (!at) return [];
    const fee = store.all(versionsOf, { spend_id: spend.id }).reduce((most, one) => maxOf(most, one.fee), 0n);
    const units = fee - (store.get(addressBalance, { target_id: at.id, asset: feeAsset.symbol })?.units ?? 0n);
    return units > 0n ? [{ at, units }] : [];
  });
}
