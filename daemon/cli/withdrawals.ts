/** `countinghouse withdrawal`: outgoing payments. A request is decoded from the transaction, and shown first. */

import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { Params, Result } from '../contract/operator.ts';
import { MS_PER_SECOND } from '../domain/time.ts';
import { SPEEDS, type Speed } from '../domain/withdrawal.ts';
import type { Expected, OperatorRequest } from '../operator/review.ts';
import { type ApprovalOptions, approved, noteKept, withApproval } from './approvals.ts';
import { action, BUSINESS } from './commands.ts';
import { EXIT, Failure, type Io, usage } from './io.ts';
import { type PageOptions, paged, pageOf, printPage } from './page.ts';
import { requestId, symbol, withdrawalNumber } from './parse.ts';
import { confirm } from './prompt.ts';
import { psbtCommands } from './psbt.ts';
import { textIn, textOf } from './said.ts';
import type { Session } from './session.ts';
import { table, when } from './table.ts';
import { type WaitOptions, waits } from './wait.ts';
import { withdrawalText } from './withdrawal-text.ts';

const STATES = ['requested', 'approved', 'signed', 'broadcast', 'completed', 'rejected', 'failed'] as const;
const NUMBER = ['<number>', 'number of the withdrawal', withdrawalNumber] as const;
const REQUEST = ['an id of yours for it: a repeated command asks for it once', requestId] as const;
const RATE_HELP = 'smallest units per byte (default: what the next blocks ask for)';

type ListOptions = PageOptions & { business?: string; state?: (typeof STATES)[number] };
/** `anew`: a machine that was lost had signed it. */
type ReplaceOptions = ApprovalOptions & { feeRate?: string; anew?: boolean };
type ApproveOptions = ApprovalOptions & WaitOptions & Expected & { speed?: Speed };
type BatchOptions = ApprovalOptions & { pay: string[] };
type BumpOptions = ReplaceOptions & { giveUp?: boolean };

/** How long, and how often, to check whether an approved withdrawal was sent. */
const SENT_SECONDS_MAX = 10;
const SENT_LOOK_MS = 250;

export function withdrawalCommands(root: Command, io: Io): void {
  const withdrawal = root.command('withdrawal').description('withdrawals: payments out of the wallet');
  paged(withdrawal.command('list'))
    .option('--business <business>', 'only withdrawals of this business')
    .addOption(new Option('--state <state>', 'only withdrawals in this state').choices([...STATES]))
    .description('list the withdrawals, newest first')
    .action(action(io, list));
  withdrawal
    .command('show')
    .argument(...NUMBER)
    .description('show a withdrawal: its state, fee and transactions')
    .action(action(io, show));
  withdrawal
    .command('add')
    .argument(...BUSINESS)
    .argument('<amount>', 'what the recipient gets, in the crypto; the fee comes on top')
    .argument('<crypto>', 'its symbol', symbol)
    .argument('<address>', 'the address that is paid')
    .option('--request <uuid>', ...REQUEST)
    .description('ask for a withdrawal')
    .action(action(io, add));
  withdrawal
    .command('sweep')
    .argument(...BUSINESS)
    .argument('<crypto>', 'its symbol', symbol)
    .argument('<address>', 'the address that is paid')
    .option('--request <uuid>', ...REQUEST)
    .description('ask for a withdrawal of the whole balance, less the fee')
    .action(action(io, sweep));
  waits(withApproval(withdrawal.command('approve').argument(...NUMBER)), SENT_SECONDS_MAX)
    .option('--to <address>', 'refuse if it pays another address')
    .option('--amount <amount>', 'refuse if it pays another amount, in the coin; for a sweep, if it pays more')
    .option('--crypto <crypto>', 'refuse if it pays another coin; needed with --amount on chains with tokens', symbol)
    .addOption(
      new Option('--speed <speed>', 'how soon it should be confirmed, which decides the fee').choices([...SPEEDS]),
    )
    .description(
      'show what would be signed, and approve it; with --yes a script gives --to, --amount and --crypto, too',
    )
    .action(action(io, approve));
  withdrawal
    .command('reject')
    .argument(...NUMBER)
    .option('--reason <text>', 'why')
    .description('reject a withdrawal that is not signed yet, or give one up whose PSBT nobody signed')
    .action(action(io, reject));
  replacementCommands(withdrawal, io);
  psbtCommands(withdrawal, io);
}

function replacementCommands(withdrawal: Command, io: Io): void {
  withApproval(withdrawal.command('speed-up').argument(...NUMBER))
    .option('--fee-rate <rate>', RATE_HELP)
    .option('--anew', 'approve its payments as first ones: the wallet was restored and does not know what it signed')
    .description('replace the transaction by one with a higher fee; the recipient gets the same')
    .action(action(io, speedUp));
  withApproval(withdrawal.command('cancel').argument(...NUMBER))
    .option('--fee-rate <rate>', RATE_HELP)
    .option('--anew', 'take all its coins back, by a payment to yourself: a machine that was lost had signed it')
    .description('replace the unconfirmed transaction by one that does not pay the recipient')
    .action(action(io, cancel));
  withApproval(
    withdrawal
      .command('batch')
      .argument('<numbers...>', 'numbers of the withdrawals', (text: string, before: string[] = []) => [
        ...before,
        withdrawalNumber(text),
      ]),
  )
    .option(
      '--pay <address=amount>',
      'refuse other payments than these; repeatable; --yes needs one for each withdrawal',
      (text: string, before: string[]) => [...before, text],
      [],
    )
    .description('approve several withdrawals of one coin, and pay them in one transaction')
    .action(action(io, batch));
  withApproval(
    withdrawal
      .command('bump')
      .argument(...BUSINESS)
      .argument('<crypto>', 'its symbol', symbol)
      .argument('<deposit>', 'its outpoint, txid:n'),
  )
    .option('--fee-rate <rate>', RATE_HELP)
    .option('--give-up', 'end it: no node takes the transaction')
    .description('speed up an unconfirmed deposit by a transaction of ours that spends it and pays for both (CPFP)')
    .action(action(io, bump));
}

async function list(session: Session, options: ListOptions): Promise<void> {
  const { business, state } = options;
  const found = await session.call('withdrawal.list', { business, state, ...pageOf(options) });
  printPage(session, found, () =>
    table(
      ['>NO', 'BUSINESS', 'ASKED FOR', '>AMOUNT', '>USD', 'STATE', 'ADDRESS', 'WAITS'],
      found.withdrawals.map((one) => [
        `${one.id}`,
        one.business,
        when(one.created_at),
        `${one.amount} ${one.crypto}`,
        one.usd_value ?? '-',
        one.canceling ? `${one.state}, being canceled` : one.state,
        one.address,
        textIn(one.reason ?? one.problem) ?? '',
      ]),
      found.next === null ? 'There are no such withdrawals.' : 'None among the newest.',
    ),
  );
}

async function show(session: Session, _: object, id = ''): Promise<void> {
  const found = await session.call('withdrawal.show', { id });
  session.print(found, () => withdrawalText(found.withdrawal));
}

type AddOptions = { request?: string };

function add(
  session: Session,
  options: AddOptions,
  ...[business = '', amount = '', crypto = '', address = '']: string[]
) {
  return addOnce(session, options, { business, crypto, address, amount });
}

function sweep(session: Session, options: AddOptions, ...[business = '', crypto = '', address = '']: string[]) {
  return addOnce(session, options, { business, crypto, address, amount: null });
}

/** Names the request's id where the answer is lost: a policy may have approved the withdrawal already, and a second one would pay again. */
async function addOnce(session: Session, options: AddOptions, wanted: Params<'withdrawal.add'>): Promise<void> {
  const { request = randomUUID() } = options;
  try {
    asked(session, await session.call('withdrawal.add', { ...wanted, request }));
  } catch (error) {
    const { NoDaemon, NotTheDaemon, OperatorError } = await import('../contract/client.ts');
    if ([NoDaemon, NotTheDaemon, OperatorError].some((kind) => error instanceof kind)) throw error;
    throw new Failure(
      `${(error as Error).message}. The withdrawal may have been asked for. Repeat the command with --request ${request}, and there is one`,
    );
  }
}

/** The message after a withdrawal was requested. */
export function asked(
  session: Session,
  result: { withdrawal: Result<'withdrawal.list'>['withdrawals'][number] },
): void {
  const { id, state } = result.withdrawal;
  session.print(result, () =>
    state === 'requested'
      ? `Withdrawal ${id} waits: approve it with '${session.commandText(`withdrawal approve ${id}`)}'.\n`
      : `Withdrawal ${id} is ${state}.\n`,
  );
}

async function approve(session: Session, options: ApproveOptions, id = ''): Promise<void> {
  const { to, amount, crypto, speed } = options;
  const question = `Approve withdrawal ${id}?`;
  const expected = { to, amount, crypto };
  const done = await carryOut(session, options, { kind: 'pay', id, speed }, { kind: 'approve', expected }, question);
  const outcome = session.json ? '' : await whatFollows(session, id, options.wait ?? SENT_SECONDS_MAX);
  session.print({ withdrawal: done.withdrawals[0] }, () => `Withdrawal ${id} is approved${outcome}.\n`);
}

/** Shows what a proposal would sign, has it approved, and carries it out. */
async function carryOut(
  session: Session,
  options: ApprovalOptions,
  proposal: Params<'withdrawal.propose'>,
  asked: OperatorRequest,
  question: string,
): Promise<Result<'withdrawal.approve'>> {
  const proposed = await session.call('withdrawal.propose', proposal);
  if (proposal.kind === 'pay') for (const one of proposed.withdrawals) needUndecided(one);
  return approved(session, options, { proposal, proposed }, asked, question);
}

/** Throws if the withdrawal is decided or under way. */
function needUndecided({ id, state, problem, reason }: Result<'withdrawal.list'>['withdrawals'][number]): void {
  if (state === 'requested' || (state === 'approved' && problem !== null && problem.code !== 'wait.outside')) return;
  const why = reason === null ? '' : ` (${textOf(reason)})`;
  throw new Failure(`withdrawal ${id} is ${state}${why}: there is nothing to approve`, EXIT.failed, 'withdrawal.state');
}

/** The state of an approved withdrawal after so many seconds: sent, or why it waits. */
async function whatFollows(session: Session, id: string, seconds: number): Promise<string> {
  const end = performance.now() + seconds * MS_PER_SECOND;
  for (;;) {
    const { state, tx_id, problem } = (await session.call('withdrawal.show', { id })).withdrawal;
    if (state === 'broadcast' || state === 'completed') return `, and sent: ${tx_id ?? state}`;
    if (problem !== null) return `, and waits: ${textOf(problem)}`;
    if (performance.now() >= end) return `; it was not sent within ${seconds} s`;
    await new Promise((resolve) => setTimeout(resolve, SENT_LOOK_MS));
  }
}

const GIVEN_UP =
  'A signed copy can still pay it, until a later payment from this account is confirmed, which spends a coin of it.';

async function reject(session: Session, { reason }: { reason?: string }, id = ''): Promise<void> {
  if (!session.yes) {
    const { withdrawal } = await session.call('withdrawal.show', { id });
    const text = `${withdrawal.amount} ${withdrawal.crypto} to ${withdrawal.address}, ${withdrawal.state}`;
    await confirm(session.io, false, `${text}. Reject it?`);
  }
  const done = await session.call('withdrawal.reject', { id, reason });
  const { state } = done.withdrawal;
  session.print(done, () => `Withdrawal ${id} is ${state === 'failed' ? `given up. ${GIVEN_UP}` : 'rejected.'}\n`);
  noteKept(session);
}

async function speedUp(session: Session, options: ReplaceOptions, id = ''): Promise<void> {
  const { feeRate: fee_rate, anew } = options;
  if (session.yes && anew) throw usage('--anew begins payments: compare their recipients and amounts, without --yes');
  const proposal = { kind: 'speed-up' as const, id, fee_rate, anew };
  const question = 'Replace its transaction by this one?';
  const done = await carryOut(session, options, proposal, { kind: anew ? 'anew' : 'speed-up' }, question);
  printReplaced(session, done, `Withdrawal ${id} with a higher fee`);
}

async function cancel(session: Session, options: ReplaceOptions, id = ''): Promise<void> {
  const { feeRate: fee_rate, anew } = options;
  const proposal = { kind: 'cancel' as const, id, fee_rate, anew };
  const asked = { kind: anew ? ('reclaim' as const) : ('cancel' as const) };
  const done = await carryOut(session, options, proposal, asked, `Cancel withdrawal ${id} this way?`);
  const more = done.outcome?.sent ? ' It is certain once it is deep in the chain.' : '';
  printReplaced(session, done, `The cancellation of withdrawal ${id}`, more);
}

function printReplaced(
  session: Session,
  { withdrawals, outcome }: Result<'withdrawal.approve'>,
  what: string,
  more = '',
): void {
  session.print({ withdrawal: withdrawals[0], outcome }, () => `${outcomeText(what, outcome)}${more}\n`);
}

function outcomeText(what: string, outcome: Result<'withdrawal.approve'>['outcome']): string {
  if (outcome?.sent) return `${what} is sent.`;
  return outcome?.problem ? `${what} is not sent: ${textOf(outcome.problem)}` : `${what} is not sent yet.`;
}

/** A payment as the operator names it: "address=amount". */
function named(text: string): { to: string; amount: string } {
  const [, to, amount] = /^(.+)=([\d.]+)$/.exec(text) ?? [];
  if (to === undefined || amount === undefined) throw usage(`--pay ${text}: say address=amount`);
  return { to, amount };
}

async function batch(session: Session, options: BatchOptions, ...given: unknown[]): Promise<void> {
  const ids = given.flat() as string[];
  const count = new Set(ids).size;
  if (session.yes && options.pay.length !== count) {
    throw usage(`with --yes, name each of the ${count} payments: --pay address=amount`);
  }
  const payments = options.pay.length === 0 ? {} : { payments: options.pay.map(named) };
  const question = `Approve these ${count} withdrawals, in one transaction?`;
  const { withdrawals } = await carryOut(
    session,
    options,
    { kind: 'batch', ids },
    { kind: 'batch', count, ...payments },
    question,
  );
  session.print({ withdrawals }, () => `${withdrawals.length} withdrawals are approved, in one transaction.\n`);
}

async function bump(session: Session, options: BumpOptions, business = '', crypto = '', outpoint = '') {
  if (options.giveUp) {
    const freed = await session.call('withdrawal.giveUpBump', { business, crypto, outpoint });
    session.print(freed, () => 'It is given up: the deposit can be spent again.\n');
    return;
  }
  const proposal = { kind: 'bump' as const, business, crypto, outpoint, fee_rate: options.feeRate };
  const question = 'Pay the deposit on to ourselves with this fee?';
  const { outcome } = await carryOut(session, options, proposal, { kind: 'bump', outpoint }, question);
  session.print({ outcome }, () => `${outcomeText('The transaction that pays for it', outcome)}\n`);
}
