/**
 * Who allowed a payment, and whether it may be signed (again): by the operator's MAC, within what a grant leaves to the
 * policy, or because it was signed before and this is another version of it.
 *
 * Invariant: any two transactions that were signed for one withdrawal spend at least one coin both, so that at most one
 * of them can confirm; what the policy let go in 24 hours is counted once for each withdrawal, and before a signature
 * leaves.
 */
import { Rejected } from '../../domain/errors.ts';
import type { UtxoPlan } from '../../domain/spend.ts';
import { identityText } from './approval.ts';
import { ADDRESS_SELF, type Approval, type Intent, type PolicyGrant, type SignOrder, UNITS_ALL } from './port.ts';

export const DAY_MS = 24 * 3_600_000;

/** One transaction that was signed for a withdrawal: to pay it, or to cancel it. */
export type SignedVersion = {
  txid: string;
  /** The outpoints that it spends. Of a journal line that names only an anchor, that one. */
  inputs: readonly string[];
};

/** What is remembered of a withdrawal that was signed. */
export type Signed = {
  /** `identityText` of its intent. */
  identity: string;
  /** Each transaction once, oldest first. */
  versions: readonly SignedVersion[];
  /** The highest fee that was approved for it. */
  feeMax: bigint;
};

/** What the policy let go: when (milliseconds since 1970), of which grant's subject, and how much. */
export type PolicySpend = { at: number; subject: string; units: bigint };

/** The signer's memory, as its journal tells it. */
export type Memory = {
  signed: ReadonlyMap<string, Signed>;
  /** By subject. */
  grants: ReadonlyMap<string, PolicyGrant>;
  /** At least those of the last 24 hours. */
  policySpends: readonly PolicySpend[];
};

/** What approvals are judged with. */
export type Witness = {
  memory: Memory;
  /** Milliseconds since 1970. */
  now: number;
  /** Whether the operator's MAC on this intent is right. */
  isApproved(intent: Intent, approval: Extract<Approval, { by: 'operator' }>): boolean;
};

/** What is to be remembered of one withdrawal of an order, and what of it counts against a grant. */
export type Entry = { intent: Intent; feeMax: bigint; policyUnits: bigint | null };

/** `feeMax`: the most that this transaction may pay as fee. */
export type Verdict = { entries: Entry[]; feeMax: bigint };

const noApproval = (why: string): Rejected => new Rejected('signer.approval', `Refused to sign: ${why}`);
const overLimit = (why: string): Rejected => new Rejected('signer.limit', `It needs the operator: ${why}`);

export const subjectOf = ({ network, accountNo, asset }: Pick<Intent, 'network' | 'accountNo' | 'asset'>): string =>
  `${network}/${accountNo}/${asset}`;

/** Judges every withdrawal of an order: what it may cost, and whether it may be paid. Throws `Rejected`. */
export function judgeWithdrawals(order: SignOrder, plan: UtxoPlan, witness: Witness): Verdict {
  const { withdrawals } = order;
  const uuids = new Set(withdrawals.map(({ intent }) => intent.uuid));
  if (withdrawals.length === 0 || uuids.size !== withdrawals.length) {
    throw new Rejected('signer.differs', 'Refused to sign: it is not said, once each, what is paid');
  }
  const inputs = new Set(plan.inputs.map(({ outpoint }) => outpoint));
  const entries = withdrawals.map(({ intent, approval }) => {
    const { network, chain, accountNo, asset } = intent;
    if (network !== plan.network || chain !== plan.chain || accountNo !== plan.accountNo || asset !== plan.chain) {
      throw new Rejected('signer.differs', 'Refused to sign: what was approved is of another account, chain or asset');
    }
    const known = witness.memory.signed.get(intent.uuid);
    if (known) {
      needConflict(intent, known, inputs);
      return again(intent, approval, known, witness);
    }
    if (order.purpose === 'cancel') {
      throw new Rejected('signer.differs', 'Refused to sign: what was never signed needs no cancelling');
    }
    return first(intent, approval, witness);
  });
  judgePolicyTotal(entries, plan.fee, witness);
  return { entries, feeMax: entries.reduce((total, { feeMax }) => total + feeMax, 0n) };
}

/**
 * Pairwise conflict: a transaction that has no coin in common with one of the earlier versions could confirm beside it.
 * A coin that no longer exists in common is enough: what spends it cannot confirm.
 */
function needConflict({ uuid }: Intent, { versions }: Signed, inputs: ReadonlySet<string>): void {
  const apart = versions.find((version) => !version.inputs.some((outpoint) => inputs.has(outpoint)));
  if (!apart) return;
  throw new Rejected(
    'signer.conflict',
    `Refused to sign: it spends no coin of ${apart.txid}, which was signed for ${uuid} before`,
  );
}

function first(intent: Intent, approval: Approval, witness: Witness): Entry {
  const entry = { intent, feeMax: BigInt(intent.feeMax), policyUnits: null };
  if (approval.by === 'operator') {
    checkMac(intent, approval, witness);
    return entry;
  }
  return { ...entry, policyUnits: unitsWithinGrant(intent, witness) };
}

/** Another version of what was signed: the same payment; a higher fee is approved anew. */
function again(intent: Intent, approval: Approval, known: Signed, witness: Witness): Entry {
  if (known.identity !== identityText(intent)) {
    throw new Rejected('signer.differs', `Refused to sign: ${intent.uuid} was signed as another payment`);
  }
  const feeMax = BigInt(intent.feeMax);
  if (feeMax > known.feeMax) {
    if (approval.by !== 'operator') throw noApproval('a higher fee needs the operator');
    checkMac(intent, approval, witness);
  }
  return { intent, feeMax, policyUnits: null };
}

function checkMac(intent: Intent, approval: Extract<Approval, { by: 'operator' }>, witness: Witness): void {
  if (!witness.isApproved(intent, approval))
    throw noApproval("the operator's approval does not belong to this payment");
  if (approval.until <= witness.now) throw noApproval("the operator's approval has expired");
}

function unitsWithinGrant(intent: Intent, { memory }: Witness): bigint {
  const grant = memory.grants.get(subjectOf(intent));
  if (!grant) throw overLimit('nothing was granted for this account and asset');
  if (intent.units === UNITS_ALL || intent.address === ADDRESS_SELF)
    throw overLimit('a policy approves plain payments');
  if (grant.addresses && !grant.addresses.includes(intent.address)) throw overLimit('the address is not among those');
  const units = BigInt(intent.units);
  if (units > BigInt(grant.perWithdrawal)) throw overLimit('it is above the limit for one withdrawal');
  return units;
}

/** The fee counts too, whole: it is spent, and on these chains in the same asset. */
function judgePolicyTotal(entries: Entry[], fee: bigint, { memory, now }: Witness): void {
  const byPolicy = entries.filter((entry) => entry.policyUnits !== null);
  const [one] = byPolicy;
  if (!one) return;
  one.policyUnits = (one.policyUnits ?? 0n) + fee;
  const subject = subjectOf(one.intent);
  const spent = memory.policySpends
    .filter((spend) => spend.subject === subject && spend.at > now - DAY_MS)
    .reduce((total, { units }) => total + units, 0n);
  const total = byPolicy.reduce((units, { policyUnits }) => units + (policyUnits ?? 0n), spent);
  const perDay = BigInt(memory.grants.get(subject)?.perDay ?? 0);
  if (total > perDay) throw overLimit('it is above what is left of the limit for 24 hours');
}
