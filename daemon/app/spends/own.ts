/**
 * Payments to ourselves on an account chain: collecting a deposit address into the tank, and funding it with gas before.
 * Each is a separate spend, which pays no withdrawal.
 *
 * Invariant: at most one of each is open for an address, and both only where the collection lacks gas. So each can be begun again after a
 * crash, and is done once.
 */
import type { AssetId } from '../../domain/assets.ts';
import { assert, Rejected } from '../../domain/errors.ts';
import { openSpendsFor } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { ADDRESS_SELF, type Intent } from '../../wallet/signer/port.ts';
import { type OwnAddressRow, ownAddressOf } from '../addresses/watch.ts';
import type { App } from '../app.ts';
import { tankOf } from './change-address.ts';
import { claimOwn } from './claim.ts';
import { type Holder, type Planned, type PlanRequest, prepare } from './plan.ts';
import { namedFeeAsset, type StoredOwn } from './sign.ts';

/**
 * `fund`: sends `units` of the chain's coin from the tank to the address. The holder's asset is the one that is sent. `forwards`: the token
 * that the address sends on with it, under a forwarding plan; absent: a gas plan pays for it. `refills`: for a collection that is open and
 * lacks gas.
 */
export type OwnTransfer =
  | { purpose: 'collect'; at: OwnAddressRow }
  | { purpose: 'fund'; at: OwnAddressRow; units: bigint; forwards?: AssetId; refills?: true };

/**
 * Plans a payment to ourselves. Throws `Rejected` as a payment does, and `spend.open` if one is open for the address.
 */
export async function prepareOwn(
  app: App,
  holder: Holder,
  transfer: OwnTransfer,
  fees: Pick<PlanRequest, 'feeRate' | 'feeMax'>,
): Promise<Planned> {
  assert(holder.chain.adapter.accountBased, 'an account chain');
  needNoneOpen(app.store, holder, transfer);
  const own = ownAddressOf(transfer.at);
  if (transfer.purpose === 'collect') return prepare(app, holder, { ...fees, payouts: [], from: own });
  assert(holder.asset === holder.chain.spending.feeAsset, 'an address is funded with the coin that pays for fees');
  const { address, branch, index } = own;
  const payouts = [{ address, units: transfer.units, own: { branch, index } }];
  return prepare(app, holder, { ...fees, payouts, from: await tankOf(app, holder) });
}

/**
 * Stores a planned payment to ourselves. Returns the version's id. Throws `Overtaken`, and `Rejected('spend.open')`.
 */
export function claimTransfer(
  app: App,
  tx: Tx,
  holder: Holder,
  { planned, transfer, approved }: { planned: Planned; transfer: OwnTransfer; approved: StoredOwn },
): number {
  const { purpose, at } = transfer;
  needNoneOpen(tx, holder, transfer);
  const versionId = claimOwn(app, tx, holder, planned, {
    purpose,
    subject: at.address,
    forwards: transfer.purpose === 'fund' ? (transfer.forwards ?? null) : null,
    approval: JSON.stringify(approved),
  });
  tx.afterCommit(() => app.wake.withdrawals(holder.chain.key));
  return versionId;
}

/** The intent of a payment to ourselves, for its approval. `coins`: its coins on a coin chain. */
export function ownIntent(holder: Holder, { uuid, feeMax, coins }: Pick<Intent, 'uuid' | 'feeMax' | 'coins'>): Intent {
  return {
    uuid,
    network: holder.business.network,
    accountNo: holder.business.accountNo,
    chain: holder.chain.adapter.chain,
    asset: holder.asset,
    address: ADDRESS_SELF,
    units: '0',
    sweep: false,
    coins,
    feeMax,
    ...namedFeeAsset(holder.asset, holder.chain.spending.feeAsset),
  };
}

function needNoneOpen(reader: Reader, { chain }: Holder, transfer: OwnTransfer): void {
  const { address } = transfer.at;
  const refills = transfer.purpose === 'fund' && transfer.refills;
  const all = reader.all(openSpendsFor, { subject: address, chain_key: chain.key });
  const open = all.find(({ purpose }) => !refills || purpose === 'fund');
  if (open)
    throw new Rejected('spend.open', `Address ${address} has an open payment to ourselves already (${open.purpose})`);
}
