/**
 * Decides whether a move between our own addresses may be signed under a grant of gas. Its highest fee counts. Into the tank
 * any amount may go. Deposit addresses get gas only, and only so far out that somebody who knows the number finds them with the words.
 *
 * Invariants. The highest fees of all moves under a grant together are at most what was granted, and the gas of deposit
 * addresses is at most FUNDED_PER_FEE times that. Of several versions of one move at most one confirms, so only the highest fee
 * and the highest amount count, once.
 */
import { Rejected } from '../../domain/errors.ts';
import { FUNDED_PER_FEE } from '../../domain/forwarding.ts';
import { EARLIER_RESTORES_MAX, GAP, jumpAfter } from '../../domain/indices.ts';
import { identityText } from './approval.ts';
import {
  type Funded,
  type Moved,
  needConflict,
  needSameAccount,
  overLimit,
  type Verdict,
  type Witness,
} from './permission.ts';
import { ADDRESS_SELF, type GasGrant, type Intent, type SignPurpose } from './port.ts';

/** The subject of a grant of gas in the journal. */
export const gasSubjectOf = ({
  network,
  accountNo,
  chain,
}: Pick<GasGrant, 'network' | 'accountNo' | 'chain'>): string => `gas/${network}/${accountNo}/${chain}`;

/** `funded`: the gas that a deposit address gets. */
export type OwnMove = {
  purpose: SignPurpose;
  toSelf: boolean;
  moved: Moved;
  funded: Funded | null;
};

/** The addresses that were given out since the last grant of gas. */
const GIVEN_OUT_MAX = 100_000;
/** Gas may go this far in any case: what was given out before the first grant is not known here. */
const FIRST_INDEX_MAX = 1_000_000;

/**
 * Throws `Rejected('signer.differs')` for a deposit address far above all that got gas before the grant in force. Gas
 * under that grant itself does not count, so that small steps lead no further. Only a restore goes further, and begins an epoch.
 *
 * Change goes at most GAP further than the last one. Gas cannot be bound so tightly: the journal knows the addresses that got gas, not
 * those that were given out. Of a shop that has given 200,000 addresses out before its first grant, the journal knows none; and between
 * two that get gas may be tens of thousands that nobody paid, or that were paid in the coin itself. So FUNDED_PER_FEE alone bounds the sum
 * that a thief moves, and it may lie where no search of this program looks.
 */
export function needWithinReach(
  account: Pick<GasGrant, 'network' | 'accountNo' | 'chain'>,
  index: number,
  { memory }: Pick<Witness, 'memory'>,
): void {
  const before = memory.fundedBefore.get(gasSubjectOf(account));
  const restores = before ? memory.epochs.length - before.epochs : 0;
  const farthest = (before?.index ?? 0) + GIVEN_OUT_MAX + restores * (jumpAfter(EARLIER_RESTORES_MAX) + GAP);
  if (index <= Math.max(farthest, FIRST_INDEX_MAX)) return;
  throw refused(`the gas goes to address ${index}, further than any that this wallet may give gas to now`);
}

/** Whether an intent is of a move between our own addresses on an account chain. */
export const isOwnMove = ({ address, units, sweep, coins }: Intent): boolean =>
  address === ADDRESS_SELF && units === '0' && !sweep && coins === null;

/** Throws `Rejected`: `signer.differs`, `signer.conflict`, `signer.limit`. */
export function judgeGas(
  intent: Intent,
  { purpose, toSelf, moved, funded }: OwnMove,
  { memory, now }: Witness,
): Verdict {
  needSameAccount(intent, moved);
  const { uuid } = intent;
  if (!toSelf || !isOwnMove(intent)) throw refused('a grant of gas pays nobody but ourselves');
  const identity = identityText(intent);
  const known = memory.signed.get(uuid);
  if (known) {
    needConflict(intent, known, new Set(moved.conflictKeys));
    if (known.identity !== identity || known.policyFee === null) throw refused(`${uuid} was signed as another payment`);
  } else if (purpose === 'cancel') throw refused('a move that was never signed needs no cancellation');
  const subject = gasSubjectOf({ ...moved, chain: moved.chain as GasGrant['chain'] });
  const grant = memory.gasGrants.get(subject);
  if (!grant) throw overLimit('no gas was granted for this account and chain');
  if (now >= grant.until) throw overLimit('the grant of gas is over');
  const rise = riseOf(moved.fee, known?.policyFee ?? 0n);
  if ((memory.gasUsed.get(subject) ?? 0n) + rise > BigInt(grant.feeMax)) {
    throw overLimit('it is above what is left of the grant of gas');
  }
  const given = riseOf(funded?.units ?? 0n, known?.funded ?? 0n);
  if (given > 0n && (memory.gasFunded.get(subject) ?? 0n) + given > FUNDED_PER_FEE * BigInt(grant.feeMax)) {
    throw overLimit('the deposit addresses got as much gas as the grant may use');
  }
  const entry = { intent, identity, feeMax: 0n, policyUnits: 0n };
  const spentGas = { subject, units: rise, ...(funded && { funded: { index: funded.index, units: given } }) };
  return { entries: [entry], feeMax: moved.fee, spent: null, spentFee: null, spentGas };
}

export const riseOf = (units: bigint, before: bigint): bigint => (units > before ? units - before : 0n);

const refused = (why: string): Rejected => new Rejected('signer.differs', `Refused to sign: ${why}`);
