/**
 * The operator's approvals on the command line. The request is shown as this process read it, confirmed, and then
 * signed with the wallet's passphrase in this short-lived process.
 *
 * Invariant: only the MACs leave this process. The sandbox's wallet has no passphrase and needs no approval of this
 * kind.
 */
import type { Command } from 'commander';
import type { Result } from '../contract/operator.ts';
import { assetOf } from '../domain/assets.ts';
import { parseDecimal } from '../domain/money.ts';
import type { AskedPolicy } from '../operator/grants.ts';
import { macAt } from '../operator/keyholder.ts';
import type { Proposal } from '../operator/request.ts';
import type { OperatorRequest } from '../operator/review.ts';
import type { ReviewView } from '../operator/view.ts';
import type { ForwardGrant, GasGrant } from '../wallet/signer/port.ts';
import { EXIT, Failure, usage } from './io.ts';
import { confirm } from './prompt.ts';
import { textIn } from './said.ts';
import { type PassphraseOption, passphraseOf, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';

type Grants = Result<'policy.grants'>['grants'];

/** `feeMax`: the highest fees that are expected, a decimal of the coin that they are paid in. */
export type ApprovalOptions = PassphraseOption & { feeMax?: string };

/** For a command that shows what would be signed, and has it approved. */
export const withApproval = (command: Command): Command =>
  withPassphrase(command).option(
    '--fee-max <amount>',
    'refuse if it may cost more in fees, in their coin; needed where a script names a payment whose fees are above 5 % or are of a collection',
  );

/**
 * A script reads no warnings. Where it names its payment, a fee that a person would be warned of needs `--fee-max`, and so do the fees of a
 * collection, which nothing else limits.
 */
function needFee(session: Session, { feeMax }: ApprovalOptions, view: ReviewView, asked: OperatorRequest): void {
  const most = view.collect?.total ?? view.feeMax;
  const cost = `it may cost ${most.text} ${most.asset} in fees`;
  if (feeMax === undefined) {
    const isWarned = view.collect !== null || view.isFeeHigh;
    if (!session.yes || !isNamed(asked) || !isWarned || view.decoded === null) return;
    throw new Failure(`${cost}: with --yes, say how much with --fee-max`, EXIT.failed, 'review.unexpected');
  }
  const expected = parseDecimal(feeMax, assetOf(most.asset).decimals);
  if (expected === null) throw usage(`--fee-max ${feeMax} is no amount of ${most.asset}`);
  if (most.units > expected) {
    throw new Failure(`nothing was approved: ${cost}, and not ${feeMax}`, EXIT.failed, 'review.unexpected');
  }
}

/** Whether the operator said what it is to pay, or which deposit it moves: then nothing but the fee is the service's choice. */
function isNamed(asked: OperatorRequest): boolean {
  if (asked.kind === 'bump') return true;
  if (asked.kind === 'batch') return asked.payments !== undefined;
  return asked.kind === 'approve' && Object.values(asked.expected ?? {}).some((value) => value !== undefined);
}

/** Shows the request, asks for confirmation, makes the approvals and hands them in. Throws `Failure` and `Rejected`. */
export async function approved(
  session: Session,
  options: ApprovalOptions,
  { proposal, proposed }: { proposal: Proposal; proposed: Result<'withdrawal.propose'> },
  asked: OperatorRequest,
  question: string,
): Promise<Result<'withdrawal.approve'>> {
  // loaded on demand, because loading cryptography takes time
  const [{ ApprovalRequest }, { reviewText }] = await Promise.all([
    import('../operator/request.ts'),
    import('../operator/text.ts'),
  ]);
  const request = ApprovalRequest.of(session.call, proposal, proposed, asked, Date.now());
  if (!request) {
    throw new Failure(
      `it cannot be shown what would be signed: ${textIn(proposed.why)}`,
      EXIT.failed,
      'withdrawal.preview',
    );
  }
  if (!session.json) session.note(reviewText(request.view).trimEnd());
  needFee(session, options, request.view, asked);
  await confirm(session.io, session.yes, question);
  const passphrase = request.needsPassphrase ? await passphraseOf(session, options) : '';
  const keyholder = await session.keyholder();
  if (request.needsUnlocked) {
    const { wallet } = await session.call('wallet.status', {});
    if (wallet.state === 'locked') await keyholder.unlock(passphrase);
  }
  try {
    return await request.approve(keyholder, passphrase);
  } catch (error) {
    if (request.isGiven) noteKept(session);
    throw error;
  }
}

/** Of an approval that a server may have, whatever it says. */
export function noteKept(session: Session): void {
  const { server } = session;
  if (server === null) return;
  const text = `If you approved it, a server that somebody controls can keep the approval and still have it signed for up to seven days: \`countinghouse --server ${server} wallet revoke\` ends every approval and limit.`;
  session.note(text);
}

/** The same for the limits that a policy grants. */
export async function granted(
  session: Session,
  options: PassphraseOption,
  grants: Grants,
  policy: AskedPolicy,
  date = Date.now(),
) {
  if (grants.length === 0) return [];
  const [{ GrantReview }, { rates }] = await Promise.all([
    import('../operator/grants.ts'),
    session.call('rates.list', {}),
  ]);
  const review = GrantReview.of(grants, policy, rates, Date.now(), date);
  if (!review) return [];
  if (!session.json) session.note(review.text().trimEnd());
  const question =
    policy.mode === 'manual' ? 'Sign nothing without asking any more?' : 'Let the wallet sign that without asking?';
  await confirm(session.io, session.yes, question);
  const passphrase = await passphraseOf(session, options);
  const keyholder = await session.keyholder();
  return review.signed((wanted) => keyholder.authorize(passphrase, wanted));
}

/** Asks for confirmation of one grant that was shown, and signs it with the passphrase. */
export async function confirmedGrant<G extends GasGrant | ForwardGrant>(
  session: Session,
  options: PassphraseOption,
  grant: G,
  question = 'Let the wallet do that without asking?',
): Promise<{ grant: G; mac: string }> {
  await confirm(session.io, session.yes, question);
  const passphrase = await passphraseOf(session, options);
  const keyholder = await session.keyholder();
  const { grants } = await keyholder.authorize(passphrase, { approvals: [], change: null, grants: [grant] });
  return { grant, mac: macAt(grants, 0) };
}
