/**
 * Decides whether a payment may be signed, or signed again. It is allowed by the operator's MAC, by a policy within the
 * rest of a grant, or as another version of a payment that was signed before.
 *
 * Invariants. Any two transactions that were signed for one withdrawal share at least one conflict key, so that at most
 * one of them can confirm. Each withdrawal that a policy approved counts once against its limit for 24 hours, and each
 * transaction that could confirm beside the others with its whole fee, before a signature leaves.
 */

import type { AssetId, ChainId, Network } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { maxOf } from '../../domain/money.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { type Epoch, identityText, openIdentityText } from './approval.ts';
import type { FeeCover } from './fee-cover.ts';
import type { ForwardIndices, IndexUse } from './forward-index.ts';
import { needTimely } from './limits.ts';
import {
  ADDRESS_SELF,
  type Approval,
  type ApprovalPurpose,
  type ForwardGrant,
  type GasGrant,
  type Intent,
  type PolicyGrant,
  type SignOrder,
  type SignPurpose,
} from './port.ts';
import type { SignedChange, SignedChanges } from './signed-changes.ts';

/** One transaction that was signed for a withdrawal: to pay it, or to cancel it. */
type SignedVersion = {
  txid: string;
  /** Its conflict keys. A journal line of release 0.1.0 names only the one that all versions share. */
  keys: readonly string[];
  /** The epoch in which it was signed. */
  epoch: Epoch;
};

/** The record of a withdrawal that was signed. */
export type SignatureRecord = {
  /** `identityText` of its intent. */
  identity: string;
  /** Each transaction once, oldest first. */
  versions: readonly SignedVersion[];
  /** The highest fee that the operator approved for it; 0 if a policy approved it. */
  feeMax: bigint;
  /** The highest fee that was counted against a grant for it; null if the operator approved it. */
  policyFee: bigint | null;
  /** The highest share of a fee that limits let go for it: as much for each payment of its transaction. Absent: none did. */
  feeShare?: bigint;
  /** The most that a deposit address got by it for gas; absent: nothing. */
  funded?: bigint;
  /** The subject of the limit of forwarding that it counted against; absent: no grant of forwarding approved it. */
  forwarded?: string;
};

/** One use of a grant by a policy: when (milliseconds since 1970), the grant's subject, and the amount. */
export type PolicySpend = { at: number; subject: string; units: bigint };

/** The content of the signer's journal. */
export type Memory = {
  /** By account (`accountOf`). */
  changes: Pick<SignedChanges, 'furthest'>;
  /** Whether the journal is as old as the words, so that no other wallet of these words signed before. */
  isFresh: boolean;
  signed: ReadonlyMap<string, SignatureRecord>;
  /** By subject. */
  grants: ReadonlyMap<string, PolicyGrant>;
  gasGrants: ReadonlyMap<string, GasGrant>;
  /** By subject of a grant of forwarding. */
  forwardGrants: ReadonlyMap<string, ForwardGrant>;
  /** The addresses of extended public keys that were forwarded to. */
  forwardIndices: Pick<ForwardIndices, 'next'>;
  /** By subject of a grant of gas: the index of the tank that the operator named last. None: 0. It outlives grants and epochs. */
  tanks: ReadonlyMap<string, number>;
  /** The highest fees that count against each grant of gas, wei. */
  gasUsed: ReadonlyMap<string, bigint>;
  /** The gas that deposit addresses got under each grant, wei. */
  gasFunded: ReadonlyMap<string, bigint>;
  /**
   * By subject of a grant of gas: the highest index that got gas before it, or before the newest grant of forwarding of its account and
   * chain, and how many epochs there were then.
   */
  fundedBefore: ReadonlyMap<string, SignedChange>;
  /** The fees of all transactions that a policy let go, by the subject of the fee's asset, and of those that were forwarded, by theirs. */
  policyFees: Pick<FeeCover, 'riseOf'>;
  /** Includes at least those of the last 24 hours. */
  policySpends: readonly PolicySpend[];
  /**
   * Oldest first; the last one is the current one. Unknown signatures may have been made before the beginning of each.
   */
  epochs: readonly Epoch[];
};

/** The inputs for judging approvals. */
export type Witness = {
  memory: Memory;
  /** Milliseconds since 1970. */
  now: number;
  /** Whether the operator's MAC on this intent is valid for this purpose and epoch. */
  isApproved(epoch: Epoch, purpose: ApprovalPurpose, intent: Intent, approval: ByOperator): boolean;
};

type ByOperator = Extract<Approval, { by: 'operator' }>;

/**
 * The journal's entry for one withdrawal of an order. `feeMax`: the fee that the operator approved. `policyUnits`: null
 * unless a policy approves it; else the units that count against the grant besides the fee, 0 for another version.
 */
type Entry = { intent: Intent; identity: string; feeMax: bigint; policyUnits: bigint | null };

/** The use of a grant, by its subject. */
type PolicyUse = { subject: string; units: bigint };
/** The gas that a deposit address gets. Of a use it is the part beyond what earlier versions of the same move gave it. */
export type Funded = { index: number; units: bigint };
type GasUse = PolicyUse & { funded?: Funded };
/** `to`: the address of an extended public key. `gas`: `account` is the subject of the account's grant of gas. */
type ForwardUse = PolicyUse & { to?: IndexUse; gas?: Funded & { account: string } };

/**
 * `feeMax`: the highest fee of this transaction. `spent`: the use of the grant of the paid asset; null if no policy was
 * asked. `spentFee`: the fee, counted against the grant of its own asset; null if it is part of `spent`. `spentGas`: the
 * use of a grant of gas. `spentForward`: the fee, counted against a grant of forwarding.
 */
export type Verdict = {
  entries: Entry[];
  feeMax: bigint;
  spent: PolicyUse | null;
  spentFee: PolicyUse | null;
  spentGas?: GasUse;
  spentForward?: ForwardUse;
};

/** The effect of a transaction, derived by the judge of its family. */
export type Moved = {
  network: Network;
  chain: ChainId;
  accountNo: number;
  /** The asset that it pays. */
  asset: AssetId;
  fee: bigint;
  feeAsset: AssetId;
  /** The keys that no other transaction can use after this one confirms. */
  conflictKeys: readonly string[];
};

export const noApproval = (why: string): Rejected => new Rejected('signer.approval', `Refused to sign: ${why}`);
export const overLimit = (why: string): Rejected => new Rejected('signer.limit', `It needs the operator: ${why}`);

export const subjectOf = ({ network, accountNo, asset }: Pick<Intent, 'network' | 'accountNo' | 'asset'>): string =>
  `${network}/${accountNo}/${asset}`;

/** Judges every withdrawal of an order: whether it may be paid, and its highest fee. Throws `Rejected`. */
export function judgeWithdrawals({ withdrawals, purpose }: SignOrder, moved: Moved, witness: Witness): Verdict {
  const uuids = new Set(withdrawals.map(({ intent }) => intent.uuid));
  if (withdrawals.length === 0 || uuids.size !== withdrawals.length) {
    throw new Rejected('signer.differs', 'Refused to sign: an order names at least one withdrawal, and each once');
  }
  const keys = new Set(moved.conflictKeys);
  const entries = withdrawals.map(({ intent, approval }) => {
    needSameAccount(intent, moved);
    needBound(intent);
    const known = witness.memory.signed.get(intent.uuid);
    if (known) {
      needConflict(intent, known, keys);
      const isUnsure = purpose === 'pay' && mayMissOne(known, keys, witness.memory);
      return again(purpose, intent, approval, { ...known, isUnsure }, witness);
    }
    if (purpose === 'cancel') {
      throw new Rejected('signer.differs', 'Refused to sign: a payment that was never signed needs no cancellation');
    }
    return first(intent, approval, witness);
  });
  const used = judgePolicyTotal(entries, moved, witness);
  // a policy's payment is limited by the grant, against which the whole fee counts
  const feeMax = used.spent === null ? entries.reduce((total, one) => total + one.feeMax, 0n) : moved.fee;
  return { entries, feeMax, ...used };
}

/** Throws `Rejected('signer.differs')` for an intent of another account, chain, asset, or asset of the fee. */
export function needSameAccount(intent: Intent, moved: Omit<Moved, 'conflictKeys' | 'fee'>): void {
  const { network, chain, accountNo, asset, feeAsset = asset } = intent;
  const isSame = network === moved.network && chain === moved.chain && accountNo === moved.accountNo;
  if (isSame && asset === moved.asset && feeAsset === moved.feeAsset) return;
  throw new Rejected('signer.differs', 'Refused to sign: what was approved is of another account, chain or asset');
}

/** Every intent must have a maximum amount. A payment to ourselves must name its coins instead. */
function needBound({ address, coins, sweep, units }: Intent): void {
  if (address !== ADDRESS_SELF) return;
  if (coins !== null && !sweep && units === '0') return;
  throw new Rejected('signer.differs', 'Refused to sign: a payment to ourselves names the coins that it spends');
}

/**
 * Checks pairwise conflict: without a shared conflict key, this transaction and an earlier version could both confirm.
 * A shared coin that no longer exists is enough, because a transaction that spends it cannot confirm.
 */
export function needConflict({ uuid }: Intent, { versions }: SignatureRecord, keys: ReadonlySet<string>): void {
  const apart = versions.find((version) => !version.keys.some((key) => keys.has(key)));
  if (!apart) return;
  throw new Rejected(
    'signer.conflict',
    `Refused to sign: it spends no coin of ${apart.txid}, which was signed for ${uuid} before`,
  );
}

/**
 * Whether an unknown version from before this epoch could confirm beside this one. An unknown version shares a coin
 * with each version known before it. So it cannot confirm if this transaction spends all coins of one of those.
 */
export function mayMissOne({ versions }: SignatureRecord, keys: ReadonlySet<string>, { epochs }: Memory): boolean {
  const before = versions.filter(({ epoch }) => epoch !== epochs.at(-1));
  const isCovered = before.some((version) => version.keys.every((key) => keys.has(key)));
  return before.length > 0 && !isCovered;
}

function first(intent: Intent, approval: Approval, witness: Witness): Entry {
  if (approval.by === 'gas') throw noApproval('a grant of gas pays nobody');
  if (approval.by === 'forward') throw noApproval('a grant of forwarding is judged alone');
  const entry = { intent, identity: identityText(intent) };
  if (approval.by === 'policy') return { ...entry, feeMax: 0n, policyUnits: unitsWithinGrant(intent, witness) };
  const newest = witness.memory.epochs.at(-1) ?? null;
  const isApproved = (purpose: ApprovalPurpose): boolean => witness.isApproved(newest, purpose, intent, approval);
  if (isApproved('raise') && !isApproved('pay')) {
    throw noApproval('this wallet does not know that it signed the payment before, so that it has to be approved anew');
  }
  checkMac(['pay'], intent, approval, witness);
  return { ...entry, feeMax: BigInt(intent.feeMax), policyUnits: null };
}

/**
 * Judges another version of a signed payment. A fee above the approved one needs a new approval. For a payment by a
 * policy, the increase counts against the grant.
 */
function again(
  purpose: SignPurpose,
  intent: Intent,
  approval: Approval,
  known: SignatureRecord & { isUnsure: boolean },
  witness: Witness,
): Entry {
  const identity = identityText(intent);
  // only the operator can set a maximum for a sweep that was approved without one
  const endsNow = identity !== known.identity && intent.sweep && known.identity === openIdentityText(intent);
  if (identity !== known.identity && !endsNow) {
    throw new Rejected('signer.differs', `Refused to sign: ${intent.uuid} was signed as another payment`);
  }
  const entry = { intent, identity: purpose === 'cancel' ? known.identity : identity, policyUnits: null };
  const feeMax = BigInt(intent.feeMax);
  if (feeMax <= known.feeMax && (purpose === 'cancel' || !endsNow) && !known.isUnsure) return { ...entry, feeMax };
  if (approval.by === 'operator') {
    checkMac(purpose === 'cancel' ? ['cancel'] : ['raise', 'pay'], intent, approval, witness);
    return { ...entry, feeMax };
  }
  if (known.isUnsure) throw noApproval('it may have been paid by what was signed after the backup');
  if (known.policyFee === null) throw noApproval('a higher fee needs the operator');
  return { ...entry, feeMax: known.feeMax, policyUnits: 0n };
}

/** `purposes`: the accepted ones. */
function checkMac(purposes: readonly ApprovalPurpose[], intent: Intent, approval: ByOperator, witness: Witness): void {
  const of = witness.memory.epochs.findLast((epoch) =>
    purposes.some((purpose) => witness.isApproved(epoch, purpose, intent, approval)),
  );
  if (of === undefined) throw noApproval("the operator's approval does not belong to this payment");
  if (of !== witness.memory.epochs.at(-1)) {
    throw noApproval('it was approved before the wallet was restored, or its approvals were revoked: approve it anew');
  }
  needTimely(approval.until, witness.now);
}

function unitsWithinGrant(intent: Intent, { memory }: Witness): bigint {
  const grant = memory.grants.get(subjectOf(intent));
  if (!grant) throw overLimit('nothing was granted for this account and asset');
  if (intent.sweep || intent.coins !== null || intent.address === ADDRESS_SELF)
    throw overLimit('a policy approves plain payments');
  if (grant.addresses && !grant.addresses.includes(intent.address)) throw overLimit('the address is not among those');
  const units = BigInt(intent.units);
  if (units > BigInt(grant.perWithdrawal)) throw overLimit('it is above the limit for one withdrawal');
  return units;
}

/**
 * The amounts of an order that count against the limits for 24 hours. The whole fee counts against the grant of its own
 * asset. Of transactions of which at most one confirms only the highest fee counts, once. No address book binds a fee,
 * which a thief pays to a block of his own: so it is within the limit for one withdrawal, too, of each that is paid.
 */
function judgePolicyTotal(
  entries: Entry[],
  moved: Moved,
  { memory, now }: Witness,
): Pick<Verdict, 'spent' | 'spentFee'> {
  const byPolicy = entries.flatMap(({ policyUnits }) => policyUnits ?? []);
  if (byPolicy.length === 0) return { spent: null, spentFee: null };
  const feeSubject = subjectOf({ ...moved, asset: moved.feeAsset });
  const rise = memory.policyFees.riseOf(feeSubject, moved.conflictKeys, moved.fee);
  const limit = BigInt(memory.grants.get(feeSubject)?.perWithdrawal ?? 0);
  // what was let go is signed again, also where the limit is lower now
  const shareOf = ({ intent }: Entry): bigint => maxOf(limit, memory.signed.get(intent.uuid)?.feeShare ?? 0n);
  const feeMax = entries.reduce((sum, one) => sum + one.feeMax + (one.policyUnits === null ? 0n : shareOf(one)), 0n);
  if (moved.fee > feeMax) throw overLimit(`the fee is above the limit of ${moved.feeAsset} for one withdrawal`);
  const paid = byPolicy.reduce((total, units) => total + units, 0n);
  const within = (asset: AssetId, units: bigint): PolicyUse => {
    const subject = subjectOf({ ...moved, asset });
    const spent = spentInDay(memory.policySpends, subject, now);
    const perDay = BigInt(memory.grants.get(subject)?.perDay ?? 0);
    if (units > 0n && spent + units > perDay) throw overLimit('it is above what is left of the limit for 24 hours');
    return { subject, units };
  };
  if (moved.feeAsset === moved.asset) return { spent: within(moved.asset, paid + rise), spentFee: null };
  return { spent: within(moved.asset, paid), spentFee: within(moved.feeAsset, rise) };
}

/** The use of a grant in the last 24 hours. */
export const spentInDay = (spends: readonly PolicySpend[], of: string, now: number): bigint =>
  spends
    .filter(({ subject, at }) => subject === of && at > now - MS_PER_DAY)
    .reduce((total, { units }) => total + units, 0n);
