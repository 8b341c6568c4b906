/**
 * The payments of a plan, which are withdrawals like any other.
 *
 * Invariant: a plan has one payment under way. It is stored in the transaction that begins the payment, so that a crash begins none
 * twice.
 */
import { isDeepStrictEqual } from 'node:util';
import { assetOf } from '../../domain/assets.ts';
import { networkOf } from '../../domain/chain.ts';
import { nextDue, nextTry, type Run } from '../../domain/forwarding.ts';
import { type Message, message, messageOf } from '../../domain/messages.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../domain/time.ts';
import { isOpen } from '../../domain/withdrawal.ts';
import { type ForwardPlanRow, forwardPlanById, forwardPlanOf, noteForward } from '../../store/queries/forwarding.ts';
import { type WithdrawalRow, withdrawalById } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseOn } from '../alerts.ts';
import type { App } from '../app.ts';
import { allows, applyEvent } from '../spends/rows.ts';
import { requestWithdrawal } from '../withdrawals/request.ts';
import { indexAfter, payeeOf } from './payee.ts';

const WAITS = 'forward.waits';

/** The payment that a plan began last, unless it has seen its end. */
export const paymentOf = (reader: Reader, { withdrawal_id }: ForwardPlanRow): WithdrawalRow | null =>
  withdrawal_id === null ? null : (reader.get(withdrawalById, { id: withdrawal_id }) ?? null);

/**
 * Whether a run has begun that goes on with the next address, whatever is left. One that goes on for a day ends, and one that a clock
 * which was ahead began.
 */
export const isRunning = ({ run_at }: ForwardPlanRow, now: number): boolean =>
  run_at !== null && Math.abs(now - run_at) < MS_PER_DAY;

/** The schedule of a plan, and the time zone that it goes by. */
export const timesOf = (app: App, { business_id, every, minute, weekday }: ForwardPlanRow) => ({
  schedule: { every, minute, weekday },
  timeZone: app.directory.business(business_id).timeZone,
});

/** A plan as it is stored, unless something was written about it since it was read; else null. */
export function unchanged(tx: Tx, read: ForwardPlanRow): ForwardPlanRow | null {
  const { id, updated_at, withdrawal_id, next_at, run_at } = read;
  const now = tx.get(forwardPlanById, { id });
  if (!now || now.updated_at !== updated_at || now.run_at !== run_at) return null;
  return now.withdrawal_id === withdrawal_id && now.next_at === next_at ? now : null;
}

/** Stores what changed about a plan, and keeps the rest of its row as it was read. */
export function note(
  tx: Tx,
  { id, next_at, withdrawal_id, problem, run_at, left_out, key_index, cheap_since }: ForwardPlanRow,
  change: Partial<
    Pick<ForwardPlanRow, 'next_at' | 'withdrawal_id' | 'problem' | 'run_at' | 'left_out' | 'key_index' | 'cheap_since'>
  >,
): void {
  tx.run(noteForward, { id, next_at, withdrawal_id, problem, run_at, left_out, key_index, cheap_since, ...change });
}

/** Begins a payment, unless the plan has changed or has another one under way. */
export function beginPayment(
  app: App,
  tx: Tx,
  plan: ForwardPlanRow,
  { units, feeMax }: Extract<Run, { kind: 'send' }>,
): WithdrawalRow | null {
  const now = unchanged(tx, plan);
  if (!now || now.withdrawal_id !== null) return null;
  const { business_id, asset } = plan;
  const address = payeeOf(now, networkOf(plan.chain_key));
  const wanted = { asset: assetOf(asset), units, address, origin: 'forward' as const, feeMax };
  const row = requestWithdrawal(app, tx, app.directory.business(business_id), wanted, 0n);
  const { schedule, timeZone } = timesOf(app, plan);
  // on an account chain the next address follows, until nothing is left to send
  const goesOn = app.chains.find(plan.chain_key)?.adapter.accountBased === true;
  const begun = isRunning(now, app.now()) ? now.run_at : app.now();
  const run_at = goesOn ? begun : null;
  const next_at = nextDue(schedule, app.now(), timeZone);
  note(tx, now, { next_at, withdrawal_id: row.id, problem: null, run_at, left_out: 0, cheap_since: null });
  endIn(app, tx, WAITS, `${plan.id}`);
  return row;
}

/** Takes note of a payment that ended. After one that did not come about the plan tries again at its next time. */
export function closePayment(app: App, tx: Tx, id: number): void {
  const plan = tx.get(forwardPlanById, { id });
  const row = plan && paymentOf(tx, plan);
  if (!plan || !row || isOpen(row.state)) return;
  const key_index = indexAfter(plan, row, networkOf(plan.chain_key));
  if (row.state === 'completed') {
    note(tx, plan, { withdrawal_id: null, problem: null, key_index });
    endIn(app, tx, WAITS, `${id}`);
    return;
  }
  const { schedule, timeZone } = timesOf(app, plan);
  const next_at = nextTry(schedule, app.now(), timeZone);
  note(tx, plan, { next_at, withdrawal_id: null, problem: null, run_at: null, key_index });
  noteWaiting(app, tx, id, row.reason ?? row.problem ?? messageOf('failed'));
}

/** Ends a run whose gas the signer refuses, so that the plan tries again at its next time. */
export function stopRun(app: App, tx: Tx, of: Pick<ForwardPlanRow, 'account_id' | 'asset'>, why: Message): void {
  const business_id = app.directory.businessOfAccount(of.account_id);
  const plan = tx.get(forwardPlanOf, { business_id, asset: of.asset });
  if (plan) endRun(app, tx, plan, why);
}

/** Ends a run of which nothing else is left: the plan tries again at its next time, or in an hour where it goes by its sum. */
export function tryLater(app: App, tx: Tx, plan: ForwardPlanRow, why: Message): void {
  const soon = plan.every === 'reached' ? app.now() + MS_PER_HOUR : undefined;
  if (unchanged(tx, plan)) endRun(app, tx, plan, why, soon);
}

/** `soon`: when the plan tries again; absent: at its next time. */
function endRun(app: App, tx: Tx, plan: ForwardPlanRow, why: Message, soon?: number): void {
  const { schedule, timeZone } = timesOf(app, plan);
  note(tx, plan, { next_at: soon ?? nextTry(schedule, app.now(), timeZone), run_at: null });
  noteWaiting(app, tx, plan.id, why);
}

/** Whether a plan says this already. */
export const says = ({ problem }: ForwardPlanRow, why: Message | null): boolean => isDeepStrictEqual(problem, why);

/** Stores why a plan waits, and tells the operator once of each reason; null: it does not wait. Writes only what is new. */
export function noteWaiting(app: App, tx: Tx, id: number, problem: Message | null, isAlert = true): void {
  const plan = tx.get(forwardPlanById, { id });
  if (!plan || says(plan, problem)) return;
  note(tx, plan, { problem });
  if (problem === null) endIn(app, tx, WAITS, `${id}`);
  // a fee in the reason changes with each block
  else if (isAlert && plan.problem?.code !== problem.code) {
    const { name: business } = app.directory.business(plan.business_id);
    raiseOn(app, tx, plan.chain_key, `${id}`, WAITS, { business, asset: plan.asset, reason: problem });
  }
}

/** Rejects a payment that could not be planned, so that the plan looks at once what is possible now. */
export function retryPayment(app: App, tx: Tx, plan: ForwardPlanRow): void {
  const now = unchanged(tx, plan);
  const row = now && paymentOf(tx, now);
  if (!now || row?.state !== 'approved' || row.spend_id !== null) return;
  const reason = row.problem ?? messageOf('failed');
  applyEvent(app, tx, row, 'reject', { reason, deadline_at: null, problem: null });
  note(tx, now, { next_at: app.now(), withdrawal_id: null });
  noteWaiting(app, tx, now.id, reason);
}

/** Rejects the payment of a plan that ends or changes, unless it is signed, and closes its alert. */
export function dropPayment(app: App, tx: Tx, plan: ForwardPlanRow): void {
  const row = paymentOf(tx, plan);
  if (row && allows(row, 'reject')) {
    applyEvent(app, tx, row, 'reject', { reason: message('ended.forward'), deadline_at: null, problem: null });
  }
  endIn(app, tx, WAITS, `${plan.id}`);
}
