/** Where a plan's next payment goes: to its address, or to the next address of an extended public key. */
import type { Network } from '../../domain/assets.ts';
import { type ForwardPlanRow, forwardPlanOfPayment, noteForward } from '../../store/queries/forwarding.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import { forwardKeyOf, isForwardKey, nextOf } from '../../wallet/forward-key.ts';

type Destination = Pick<ForwardPlanRow, 'address' | 'asset' | 'key_index'>;

/** A destination as it was typed; `from`: the first index of an extended public key. Throws `Rejected('account.*')`. */
export function destinationOf(
  text: string,
  from: number,
  { asset, network }: { asset: Destination['asset']; network: Network },
): Pick<Destination, 'address' | 'key_index'> {
  if (!isForwardKey(text)) return { address: text, key_index: null };
  return { address: forwardKeyOf(text, asset, network).text, key_index: from };
}

/** The next addresses of an extended public key, to compare; none for an address. */
export function nextPayees({ address, asset, key_index }: Destination, network: Network): string[] {
  return key_index === null ? [] : nextOf(forwardKeyOf(address, asset, network), key_index);
}

/** The address that the next payment goes to. */
export const payeeOf = ({ address, asset, key_index }: Destination, network: Network): string =>
  key_index === null ? address : forwardKeyOf(address, asset, network).at(key_index);

/** The index behind one that a payment was signed for. A rejected one used none up. */
export function indexAfter(plan: Destination, { state, address }: WithdrawalRow, network: Network): number | null {
  const { key_index } = plan;
  const isUsed = key_index !== null && state !== 'rejected' && payeeOf(plan, network) === address;
  return isUsed ? key_index + 1 : key_index;
}

/**
 * Takes over the index that the signer names when it refuses a payment to another one, after a restore for example. The plan begins another
 * payment at once, unless it had that index already.
 */
export function takeIndex(tx: Tx, { id, chain_key }: WithdrawalRow, index: number, now: number): void {
  const plan = tx.get(forwardPlanOfPayment, { chain_key, withdrawal_id: id });
  if (!plan || plan.key_index === null || plan.key_index === index || !Number.isSafeInteger(index)) return;
  tx.run(noteForward, { ...plan, key_index: index, withdrawal_id: null, next_at: now });
}
