/**
 * Decides whether a deposit address may get gas under a grant of forwarding, so that it can send its token straight to the granted address.
 *
 * Invariants. It pays nobody but a deposit address or a former tank of ours, no further out than gas may go (`needWithinReach`). The fee counts
 * with those of the payments, within the limits of one payment and of a day. All gas of any 24 hours is at most FUNDED_PER_FEE times the
 * fees of a day. Of several versions of one move at most one confirms, so only the highest fee and the highest amount count, once.
 */
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { gasOfDay } from '../../domain/forwarding.ts';
import { identityText } from './approval.ts';
import { forwardGasOf, forwardSubjectOf, isDearer, isForwarding } from './forward.ts';
import { gasSubjectOf, isOwnMove, type OwnMove, riseOf } from './gas.ts';
import {
  needConflict,
  needSameAccount,
  noApproval,
  overLimit,
  spentInDay,
  type Verdict,
  type Witness,
} from './permission.ts';
import type { ForwardGrant, GasGrant, Intent } from './port.ts';

/** `forwarded`: the token whose grant the approval names. */
type Move = OwnMove & { forwarded: AssetId };

/** Throws `Rejected`: `signer.differs`, `signer.approval`, `signer.conflict`, `signer.limit`. */
export function judgeForwardGas(
  intent: Intent,
  { purpose, toSelf, moved, funded, forwarded }: Move,
  { memory, now }: Witness,
): Verdict {
  needSameAccount(intent, moved);
  if (purpose !== 'pay') throw noApproval('a grant of forwarding cancels nothing');
  if (!toSelf || !isOwnMove(intent) || !funded) throw refused('gas goes to our own deposit addresses only');
  const { network, accountNo, chain, feeAsset, fee, conflictKeys } = moved;
  if (assetOf(forwarded).chain !== chain || forwarded === feeAsset) {
    throw refused(`no gas of ${chain} is needed to forward ${forwarded}`);
  }
  const subject = forwardSubjectOf({ network, accountNo, asset: forwarded });
  const gasSubject = forwardGasOf(subject);
  const identity = identityText(intent);
  const known = memory.signed.get(intent.uuid);
  if (known) {
    needConflict(intent, known, new Set(conflictKeys));
    const isSame = known.identity === identity && known.forwarded === gasSubject;
    if (!isSame) throw refused(`${intent.uuid} was signed as another payment`);
  }
  const rise = memory.policyFees.riseOf(subject, conflictKeys, fee);
  const given = riseOf(funded.units, known?.funded ?? 0n);
  // what was signed before is signed again, also after the grant ended: it was counted
  if (isDearer(fee, known) || rise > 0n || given > 0n) {
    const feeDay = needGranted(memory.forwardGrants.get(subject), fee);
    const spent = (of: string): bigint => spentInDay(memory.policySpends, of, now);
    if (spent(subject) + rise > feeDay) throw overLimit('the fees of 24 hours would be above their limit');
    if (spent(gasSubject) + given > gasOfDay(feeDay)) {
      throw overLimit('the gas that deposit addresses get in 24 hours would be above its limit');
    }
  }
  const account = gasSubjectOf({ network, accountNo, chain: chain as GasGrant['chain'] });
  const gas = { account, index: funded.index, units: given };
  const entry = { intent, identity, feeMax: 0n, policyUnits: null };
  return { entries: [entry], feeMax: fee, spent: null, spentFee: null, spentForward: { subject, units: rise, gas } };
}

/** Returns the highest fees of a day, smallest units. */
function needGranted(grant: ForwardGrant | undefined, fee: bigint): bigint {
  if (!grant || !isForwarding(grant)) throw overLimit('nothing is forwarded from this account in this token');
  // a share of an amount in another coin would mean nothing
  if (grant.feeMax === null) throw overLimit('the grant limits no fee');
  if (fee > BigInt(grant.feeMax)) throw overLimit('the fee is above the limit of one payment');
  return BigInt(grant.feeDay);
}

const refused = (why: string): Rejected => new Rejected('signer.differs', `Refused to sign: ${why}`);
