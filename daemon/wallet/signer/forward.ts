/**
 * Decides whether a payment may be signed under a grant of forwarding: it pays the granted address and our own change, its fee is
 * within the limit of one payment, and with those of the last 24 hours within the limit of a day.
 *
 * Invariants. A grant lets nothing go but to its address. Each transaction that could confirm beside the others counts with its
 * whole fee before a signature leaves, so that many small payments burn no more than the limit of a day.
 */
import { Rejected } from '../../domain/errors.ts';
import { isWithinShare } from '../../domain/forwarding.ts';
import { type ForwardKey, forwardKeyOf, isForwardKey } from '../forward-key.ts';
import { identityText } from './approval.ts';
import type { IndexUse } from './forward-index.ts';
import {
  judgeWithdrawals,
  type Moved,
  mayMissOne,
  needConflict,
  needSameAccount,
  noApproval,
  overLimit,
  type SignatureRecord,
  spentInDay,
  subjectOf,
  type Verdict,
  type Witness,
} from './permission.ts';
import type { ForwardGrant, Intent, SignOrder } from './port.ts';

/** The subject of a grant of forwarding in the journal. */
export const forwardSubjectOf = (of: Pick<ForwardGrant, 'network' | 'accountNo' | 'asset'>): string =>
  `forward/${subjectOf(of)}`;

/** The subject of the gas that deposit addresses get, beside that of the fees under the same grant. */
export const forwardGasOf = (forwardSubject: string): string => `${forwardSubject}/gas`;

/** Whether a grant lets anything go. */
export const isForwarding = ({ feeDay }: ForwardGrant): boolean => feeDay !== '0';

/** Judges the payments of an order, whoever approves them. Throws `Rejected`. */
export function judgePayments(order: SignOrder, moved: Moved, witness: Witness): Verdict {
  const isForwarded = order.withdrawals.some(({ approval }) => approval.by === 'forward');
  return isForwarded ? judgeForward(order, moved, witness) : judgeWithdrawals(order, moved, witness);
}

function judgeForward({ withdrawals, purpose }: SignOrder, moved: Moved, { memory, now }: Witness): Verdict {
  const [only, ...others] = withdrawals;
  if (!only || others.length > 0) throw refused('what is forwarded stands alone');
  if (only.approval.by === 'forward' && only.approval.asset) throw refused('nothing needs gas on this chain');
  if (purpose !== 'pay') throw noApproval('a grant of forwarding cancels nothing');
  const { intent } = only;
  needSameAccount(intent, moved);
  if (intent.sweep || intent.coins !== null) throw refused('what is forwarded is a plain payment');
  const identity = identityText(intent);
  const subject = forwardSubjectOf(moved);
  const known = memory.signed.get(intent.uuid);
  if (known) {
    const keys = new Set(moved.conflictKeys);
    needConflict(intent, known, keys);
    if (known.identity !== identity || known.forwarded !== subject)
      throw refused(`${intent.uuid} was signed as another payment`);
    if (mayMissOne(known, keys, memory)) throw noApproval('it may have been paid by what was signed after the backup');
  }
  const rise = memory.policyFees.riseOf(subject, moved.conflictKeys, moved.fee);
  // what was signed before is signed again, also after the grant ended: its fee was counted
  const grant = memory.forwardGrants.get(subject);
  const to = rise > 0n || isDearer(moved.fee, known) ? needGranted(grant, intent, moved, { memory, now }) : undefined;
  const used = spentInDay(memory.policySpends, subject, now);
  const perDay = BigInt(grant?.feeDay ?? 0);
  if (rise > 0n && used + rise > perDay) throw overLimit('the fees of 24 hours would be above their limit');
  const entry = { intent, identity, feeMax: 0n, policyUnits: null };
  const spentForward = { subject, units: rise, ...(to && { to }) };
  return { entries: [entry], feeMax: moved.fee, spent: null, spentFee: null, spentForward };
}

/** Whether a fee is above those that a grant let go for this payment before: what counted already may be that of another one. */
export const isDearer = (fee: bigint, known: SignatureRecord | undefined): boolean =>
  known?.feeShare === undefined || fee > known.feeShare;

/** Returns the address of an extended public key that it pays; undefined where the grant is for an address. */
function needGranted(
  grant: ForwardGrant | undefined,
  intent: Intent,
  { fee, conflictKeys }: Moved,
  of: Pick<Witness, 'memory' | 'now'>,
): IndexUse | undefined {
  if (!grant || !isForwarding(grant)) throw overLimit('nothing is forwarded from this account in this coin');
  needFee(grant, intent, fee);
  if (grant.from !== undefined) return needNext({ ...grant, from: grant.from }, intent, conflictKeys, of);
  if (grant.address !== intent.address) throw overLimit(`what is forwarded goes to ${grant.address} only`);
  return undefined;
}

/** Throws `Rejected('signer.index')` with the index that is next in its field, for another address than that one. */
function needNext(
  { address: text, asset, network, from }: ForwardGrant & { from: number },
  { address }: Intent,
  coins: Iterable<string>,
  { memory, now }: Pick<Witness, 'memory' | 'now'>,
): IndexUse {
  const key = `${network}/${asset}/${text}`;
  const index = memory.forwardIndices.next(key, from, coins, now);
  if (forwardKeyOf(text, asset, network).at(index) === address) return { key, index };
  const why = `Refused to sign: what is forwarded goes to the next address of the extended public key, number ${index}`;
  throw new Rejected('signer.index', why, `${index}`);
}

/** Checks the destination of a grant. Throws `Rejected`: `account.*`, and `signer.approval` for another spelling. */
export function needDestination({ address, asset, network, from, feeDay }: ForwardGrant): void {
  if (feeDay === '0') return;
  const isKey = isForwardKey(address);
  const key: ForwardKey | null = isKey ? forwardKeyOf(address, asset, network) : null;
  if ((from !== undefined) === isKey && (key?.text ?? address) === address) return;
  throw new Rejected('signer.approval', 'The grant is of another destination than it says');
}

function needFee(grant: ForwardGrant, { units, asset, feeAsset }: Intent, fee: bigint): void {
  const { feeSharePpm, feeMax } = grant;
  if (feeSharePpm === null && feeMax === null) throw overLimit('the grant limits no fee');
  if (feeMax !== null && fee > BigInt(feeMax)) throw overLimit('the fee is above the limit of one payment');
  if (feeSharePpm === null) return;
  // a share of an amount in another coin would mean nothing
  if ((feeAsset ?? asset) !== asset) throw overLimit('a share limits no fee in another coin');
  if (!isWithinShare(fee, BigInt(units), BigInt(feeSharePpm))) throw overLimit('the fee is too large a share');
}

const refused = (why: string): Rejected => new Rejected('signer.differs', `Refused to sign: ${why}`);
