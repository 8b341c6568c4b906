/** `countinghouse forward`: plans that send the takings on to one address. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { Weekday } from '../contract/forwarding.ts';
import type { Params, Result } from '../contract/operator.ts';
import { findAsset } from '../domain/assets.ts';
import { FORWARD_TIMES } from '../domain/forwarding.ts';
import type { ForwardGrant } from '../wallet/signer/port.ts';
import { confirmedGrant } from './approvals.ts';
import { action, BUSINESS } from './commands.ts';
import { EXIT, Failure, type Io, usage } from './io.ts';
import { endLimits, heldLimits, nextDate, notingLimits } from './limits.ts';
import { symbol } from './parse.ts';
import { confirm } from './prompt.ts';
import { textIn } from './said.ts';
import { type PassphraseOption, withPassphrase } from './secrets.ts';
import type { Session } from './session.ts';
import { pairs, table, when } from './table.ts';

type Plan = Result<'forwarding.list'>['plans'][number];
type Terms = Params<'forwarding.set'>['terms'];
type SetOptions = PassphraseOption & {
  every: Terms['every'];
  at?: string;
  weekday?: NonNullable<Terms['weekday']>;
  keep: string;
  least: string;
  feeShare?: string;
  feeMax?: string;
  feeDay: string;
  from: number;
  cheap?: boolean;
};
type Ref = { business: string; crypto: string };
type SignedGrant = { grant: ForwardGrant; mac: string };

export function forwardCommands(root: Command, io: Io): void {
  const forward = root
    .command('forward')
    .description('send the takings on to an address of your own, by plans that the wallet keeps to');
  const ofCrypto = (name: string): Command =>
    forward
      .command(name)
      .argument(...BUSINESS)
      .argument('<crypto>', 'such as LTC', symbol);
  withPassphrase(ofCrypto('set'))
    .argument(
      '<address>',
      'where to: an address of the address book, or an extended public key or output descriptor of another wallet',
    )
    .addOption(
      new Option('--every <time>', 'when: as soon as the sum is reached, each day or each week')
        .choices(FORWARD_TIMES)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--from <index>', 'of an extended public key: the first address that is paid')
        .default(0)
        .argParser(indexOf),
    )
    .option('--at <time>', "the time of day in the business's time zone, such as 03:30 (default: 03:00)")
    .addOption(new Option('--weekday <day>', 'the day of each week').choices(Weekday.options))
    .option('--cheap', 'of Ethereum and BNB Smart Chain: wait for an hour in which gas is cheap, a day at most')
    .option('--keep <amount>', 'leave so much', '0')
    .option('--least <amount>', 'only from this sum on', '0')
    .option('--fee-share <share>', 'the highest fee of a payment, as a share of its amount: 0.01 is 1 %')
    .option('--fee-max <amount>', 'the highest fee of a payment, in the coin that fees are paid in')
    .requiredOption('--fee-day <amount>', 'the highest fees of 24 hours together, in that coin')
    .description('set the plan of a coin, in place of an earlier one; the wallet has to be unlocked for it')
    .action(action(io, setPlan));
  forward
    .command('list')
    .description('list the plans of a business')
    .argument(...BUSINESS)
    .action(action(io, listPlans));
  ofCrypto('preview').description('show what would be sent now').action(action(io, showPreview));
  ofCrypto('send').description('send now what is free, whatever the time and the sum').action(action(io, sendNow));
  ofCrypto('skip').description('leave out the next time').action(action(io, skipNext));
  withPassphrase(ofCrypto('end'))
    .description('end a plan, and take its grant back from the wallet')
    .action(action(io, endPlan));
}

function indexOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('the index of an address is a whole number such as 0');
}

const refOf = (given: readonly unknown[]): Ref => ({ business: String(given[0]), crypto: String(given[1]) });

async function setPlan(session: Session, options: SetOptions, ...given: unknown[]): Promise<void> {
  const ref = refOf(given);
  const {
    every,
    at,
    weekday = null,
    keep,
    least,
    feeShare = null,
    feeMax = null,
    feeDay,
    from,
    cheap = false,
  } = options;
  const limits = { address: String(given[2]), from, feeShare, feeMax, feeDay };
  const terms: Terms = {
    address: limits.address,
    from,
    every,
    ...(at === undefined ? {} : { at }),
    weekday,
    cheap,
    keep,
    least,
    fee_share: feeShare,
    fee_max: feeMax,
    fee_day: feeDay,
  };
  const preview = await session.call('forwarding.preview', { ...ref, terms });
  if (!session.json) session.note(previewText(preview).trimEnd());
  const { plans } = await session.call('forwarding.list', { business: ref.business });
  const before = plans.find(({ crypto }) => crypto === ref.crypto)?.address ?? null;
  const signed = await signedGrant(session, options, ref, { limits, before });
  const done = await notingLimits(session, session.call('forwarding.set', { ...ref, terms, signed }));
  session.print(done, () => planText(done.plan));
}

async function endPlan(session: Session, options: PassphraseOption, ...given: unknown[]): Promise<void> {
  const ref = refOf(given);
  const isSeparate = session.signerSocket !== null;
  const told = isSeparate && !(await isSandbox(session, ref));
  // before the service is asked to end it, since it may answer so that nothing is taken back
  if (told) await endLimits(session, options, 'forwards', (grant) => 'asset' in grant && grant.asset === ref.crypto);
  else if (isSeparate) session.note(`${ref.business} is of the sandbox, says the service: the wallet ends nothing.`);
  const signed = told ? null : await signedEnd(session, options, ref);
  const done = await notingLimits(session, session.call('forwarding.end', { ...ref, signed, told }));
  session.print(done, () => `${ref.crypto} is not forwarded any more.\n`);
}

/** Whether the service says that a business is of the sandbox, which has no grants. One that does not answer keeps nothing from its end. */
async function isSandbox(session: Session, { business }: Ref): Promise<boolean> {
  const answer = await session.call('business.list', {}).catch(() => null);
  return ownerIn(answer?.businesses ?? [], business)?.network === 'sandbox';
}

const ownerIn = <B extends { id: number; name: string }>(businesses: readonly B[], named: string): B | undefined =>
  businesses.find(({ id, name }) => `${id}` === named || name === named);

/** A grant of nothing: of the plan's address, or of the one that the wallet still holds. Null if there is neither. */
async function signedEnd(session: Session, options: PassphraseOption, ref: Ref): Promise<SignedGrant | null> {
  const { plans } = await session.call('forwarding.list', { business: ref.business });
  const planned = plans.find(({ crypto }) => crypto === ref.crypto)?.address;
  const held = planned === undefined ? (await heldLimits(session)).forwards : [];
  const address = planned ?? held.find(({ grant }) => grant.asset === ref.crypto)?.grant.address;
  if (address === undefined) return null;
  const limits = { address, feeShare: null, feeMax: null, feeDay: '0' };
  return signedGrant(session, options, ref, { limits, before: null });
}

type PlanOptions = {
  limits: { address: string; from?: number; feeShare: string | null; feeMax: string | null; feeDay: string };
  before: string | null;
};

/** Shows a grant, asks for confirmation, and signs it with the passphrase. Null on the sandbox. */
async function signedGrant(
  session: Session,
  options: PassphraseOption,
  { business, crypto }: Ref,
  { limits, before }: PlanOptions,
): Promise<SignedGrant | null> {
  const asset = findAsset(crypto);
  if (!asset) throw usage(`${crypto} is no cryptocurrency of this program`);
  const { businesses } = await session.call('business.list', {});
  const owner = ownerIn(businesses, business);
  if (!owner) throw new Failure(`there is no business ${business}`, EXIT.failed, 'business.not_found');
  if (owner.network === 'sandbox') return null;
  const { forwardGrantOf, forwardGrantText } = await import('../operator/forwarding.ts');
  const account = { network: owner.network, accountNo: owner.account_no, asset };
  const grant = forwardGrantOf(account, limits, await nextDate(session));
  if (!session.json) session.note(forwardGrantText(grant, asset, before));
  return confirmedGrant(session, options, grant, limits.feeDay === '0' ? 'End it?' : undefined);
}

async function listPlans(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const found = await session.call('forwarding.list', { business: String(given[0]) });
  session.print(found, () =>
    found.plans.length === 0 ? 'Nothing is forwarded.\n' : found.plans.map(planText).join('\n'),
  );
}

const timesText = ({ every, at, weekday, cheap }: Plan): string => {
  const times = every === 'day' ? `each day at ${at}` : `each ${weekday} at ${at}`;
  const text = every === 'reached' ? 'as soon as the sum is there' : times;
  return cheap ? `${text}, in a cheap hour` : text;
};

function planText(plan: Plan): string {
  const { crypto, fee_share, fee_max, fee_day, fee_crypto } = plan;
  const most = [
    fee_share === null ? null : `a share of ${fee_share}`,
    fee_max === null ? null : `${fee_max} ${fee_crypto}`,
  ];
  return pairs([
    ['Crypto', `${crypto} of ${plan.business} (${plan.network})`],
    ['To', `${plan.address}${plan.label === null ? '' : ` (${plan.label})`}`],
    ['Pays next', plan.next_address === null ? null : `${plan.next_address} (number ${plan.next_index})`],
    ['When', timesText(plan)],
    ['Keeps', `${plan.keep} ${crypto}, and sends from ${plan.least} ${crypto} on`],
    ['Fees', `at most ${most.filter((one) => one !== null).join(' and ')}, ${fee_day} ${fee_crypto} in 24 hours`],
    ['Next', plan.next_at === null ? null : when(plan.next_at)],
    ['Under way', plan.withdrawal === null ? null : `withdrawal ${plan.withdrawal}`],
    ['Waits', textIn(plan.problem)],
  ]);
}

async function showPreview(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const found = await session.call('forwarding.preview', refOf(given));
  session.print(found, () => previewText(found));
}

function previewText(found: Result<'forwarding.preview'>): string {
  const { crypto, amount, usd_value, payments, fee, fee_crypto, fee_share, gas, kept, free, next_at, problem } = found;
  const rows = [
    [
      crypto,
      amount ?? 'nothing',
      usd_value ?? '-',
      fee === null ? '-' : `${fee} ${fee_crypto}`,
      fee_share ?? '-',
      kept,
      free,
    ],
  ];
  const list = table(['CRYPTO', '>SENT NOW', '>USD', '>FEE UP TO', '>SHARE', '>KEPT', '>FREE'], rows, '');
  return `${list}${pairs([
    ['To', found.address],
    ['Next ones', found.addresses.length === 0 ? null : found.addresses.join(' ')],
    ['Payments', payments > 1 ? `${payments}, one of each address` : null],
    ['Gas first', gas && gasText(gas, fee_crypto)],
    ['Next', next_at === null ? null : when(next_at)],
    ['Waits', textIn(problem)],
  ])}`;
}

type Gas = NonNullable<Result<'forwarding.preview'>['gas']>;

const gasText = ({ addresses, amount, fee }: Gas, coin: string): string =>
  `${amount} ${coin} from the tank to ${addresses === 1 ? '1 address' : `${addresses} addresses`}, for up to ${fee} ${coin}`;

async function sendNow(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const ref = refOf(given);
  const preview = await session.call('forwarding.preview', ref);
  if (!session.json) session.note(previewText(preview).trimEnd());
  await confirm(session.io, session.yes, 'Send it now?');
  const done = await session.call('forwarding.send', ref);
  const { withdrawal } = done;
  session.print(done, () =>
    withdrawal === null
      ? `Its addresses get gas first. Each sends its ${ref.crypto} once it has that.\n`
      : `Withdrawal ${withdrawal.id} sends ${withdrawal.amount} ${withdrawal.crypto}.\n`,
  );
}

async function skipNext(session: Session, _: object, ...given: unknown[]): Promise<void> {
  const done = await session.call('forwarding.skip', refOf(given));
  session.print(done, () => `The next time is ${when(done.plan.next_at ?? '')}.\n`);
}
