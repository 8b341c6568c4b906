/**
 * The operator's approvals on the command line. The request is shown as this process read it, confirmed, and then
 * signed with the wallet's passphrase in this short-lived process.
 *
 * Invariant: only the MACs leave this process. The sandbox's wallet has no passphrase and needs no approval of this
 * kind.
 */
import type { Result } from '../contract/operator.ts';
import type { AskedPolicy } from '../operator/grants.ts';
import type { Approval, Asked } from '../operator/review.ts';
import { clean } from './io.ts';
import { confirm } from './prompt.ts';
import { secretFile } from './secrets.ts';
import type { Session } from './session.ts';
import { askSecret } from './wallet.ts';
import { previewText } from './withdrawal-text.ts';

export type PassphraseOption = { passphraseFile?: string };

type Preview = NonNullable<Result<'withdrawal.propose'>['preview']>;
type Grants = Result<'policy.grants'>['grants'];

/** Shows the request, asks for confirmation and makes the approvals. Throws `Failure` and `Rejected`. */
export async function approved(
  session: Session,
  options: PassphraseOption,
  preview: Preview,
  asked: Asked,
  question: string,
): Promise<Approval[]> {
  // loaded on demand, because loading cryptography takes time
  const [{ Review }, { reviewText }] = await Promise.all([
    import('../operator/review.ts'),
    import('../operator/text.ts'),
  ]);
  const review = Review.of(preview, asked, Date.now());
  const { fee, usd_rate: usdRate } = preview;
  const said = { fee, usdRate, warnings: preview.warnings.map(({ text }) => text) };
  if (!session.json) session.note((review ? reviewText(review, said) : previewText(preview)).trimEnd());
  if (!session.json) for (const note of preview.notes) session.note(`${clean(note)}, by the service's word.`);
  await confirm(session.io, session.yes, question);
  if (review) return review.approvals(session.walletFolder, await passphraseOf(session, options));
  const { until } = preview;
  return preview.intents.map(({ uuid, feeMax, units, sweep }) => ({
    ...{ uuid, fee_max: feeMax, until, mac: null },
    ...(sweep ? { units } : {}),
  }));
}

/** The same for the limits that a policy grants. */
export async function granted(session: Session, options: PassphraseOption, grants: Grants, policy: AskedPolicy) {
  if (grants.length === 0) return [];
  const [{ GrantReview }, { rates }] = await Promise.all([
    import('../operator/grants.ts'),
    session.call('rates.list', {}),
  ]);
  const review = GrantReview.of(grants, policy, rates, Date.now());
  if (!review) return [];
  if (!session.json) session.note(review.text().trimEnd());
  const question =
    policy.mode === 'manual' ? 'Sign nothing without asking any more?' : 'Let the wallet sign that without asking?';
  await confirm(session.io, session.yes, question);
  return review.signed(session.walletFolder, await passphraseOf(session, options));
}

export const passphraseOf = (session: Session, { passphraseFile }: PassphraseOption): Promise<string> =>
  passphraseFile === undefined
    ? askSecret(session, 'Passphrase of the wallet:', '--passphrase-file')
    : secretFile(passphraseFile, '--passphrase-file');
