/**
 * Decides whether a move between our own addresses may be signed under a grant of gas. Its amount does not matter,
 * because nobody else gets it; its highest fee counts.
 *
 * Invariant. The highest fees of all moves under a grant together are at most what was granted. Of several versions of
 * one move at most one confirms, so only the highest fee counts, once.
 */
import { Rejected } from '../../domain/errors.ts';
import { identityText } from './approval.ts';
import { type Moved, needConflict, needSameAccount, overLimit, type Verdict, type Witness } from './permission.ts';
import { ADDRESS_SELF, type GasGrant, type Intent, type SignPurpose } from './port.ts';

/** The subject of a grant of gas in the journal. */
export const gasSubjectOf = ({
  network,
  accountNo,
  chain,
}: Pick<GasGrant, 'network' | 'accountNo' | 'chain'>): string => `gas/${network}/${accountNo}/${chain}`;

type Move = { purpose: SignPurpose; toSelf: boolean; moved: Moved };

/** Throws `Rejected`: `signer.differs`, `signer.conflict`, `signer.limit`. */
export function judgeGas(intent: Intent, { purpose, toSelf, moved }: Move, { memory, now }: Witness): Verdict {
  needSameAccount(intent, moved);
  const { address, units, sweep, coins, uuid } = intent;
  const isPlain = address === ADDRESS_SELF && units === '0' && !sweep && coins === null;
  if (!toSelf || !isPlain) throw refused('a grant of gas pays nobody but ourselves');
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
  const before = known?.policyFee ?? 0n;
  const rise = moved.fee > before ? moved.fee - before : 0n;
  if ((memory.gasUsed.get(subject) ?? 0n) + rise > BigInt(grant.feeMax)) {
    throw overLimit('it is above what is left of the grant of gas');
  }
  const entry = { intent, identity, feeMax: 0n, policyUnits: 0n };
  return { entries: [entry], feeMax: moved.fee, spent: null, spentFee: null, spentGas: { subject, units: rise } };
}

const refused = (why: string): Rejected => new Rejected('signer.differs', `Refused to sign: ${why}`);
