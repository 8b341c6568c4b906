/**
 * Changes the rows of withdrawals and drops those of their transactions. The domain's table decides about transitions. A
 * compare-and-set on the state that was read prevents conflicting decisions. The reserved amount follows from the state.
 */
import { isDeepStrictEqual } from 'node:util';
import { assert, Rejected } from '../../domain/errors.ts';
import { message, messageOf, type Value } from '../../domain/messages.ts';
import { UNKNOWN } from '../../domain/spend-state.ts';
import { isOpen, stepWithdrawal, type WithdrawalEvent, type WithdrawalState } from '../../domain/withdrawal.ts';
import { dropMatched } from '../../store/queries/match.ts';
import { stepInbox } from '../../store/queries/policies.ts';
import {
  dropKeys,
  dropPayouts,
  dropSpend,
  dropVersion,
  payoutsOf,
  type SpendRow,
  setVersionProblem,
  spendById,
  updateWithdrawal,
  type VersionRow,
  versionByTxid,
  versionsOf,
  type WithdrawalRow,
  withdrawalById,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseOn } from '../alerts.ts';
import type { App } from '../app.ts';
import { tellWithdrawal } from '../notifications/news.ts';
import type { Business } from '../shops/directory.ts';
import { returnChange } from './change-address.ts';
import { readPlan } from './stored-plan.ts';

/** A withdrawal that is known to exist. */
export function withdrawalOf(reader: Reader, id: number): WithdrawalRow {
  const row = reader.get(withdrawalById, { id });
  assert(row, `no withdrawal ${id}`);
  return row;
}

/** A withdrawal of a business by its id, a decimal. Throws `Rejected('withdrawal.not_found')`. */
export function findWithdrawalOf(reader: Reader, business: Business, name: string): WithdrawalRow {
  const row = findWithdrawal(reader, name);
  if (row.business_id !== business.id) throw withdrawalNotFound();
  return row;
}

/** A withdrawal of any business by its id, for the operator. Throws `Rejected('withdrawal.not_found')`. */
export function findWithdrawal(reader: Reader, name: string): WithdrawalRow {
  const row = /^[1-9]\d{0,14}$/.test(name) ? reader.get(withdrawalById, { id: Number(name) }) : undefined;
  if (!row) throw withdrawalNotFound();
  return row;
}

export const withdrawalNotFound = (): Rejected => new Rejected('withdrawal.not_found', 'Withdrawal not found');

/** A spend that is known to exist. */
export function spendOf(reader: Reader, id: number): SpendRow {
  const row = reader.get(spendById, { id });
  assert(row, `no spend ${id}`);
  return row;
}

/** Writes a changed row. Throws if the stored state is not `was`, which is a bug inside a transaction. */
export function saveWithdrawal(app: App, tx: Tx, row: WithdrawalRow, was: WithdrawalState): void {
  const saved = tx.run(updateWithdrawal, { ...row, updated_at: app.now(), was });
  assert(saved.changes === 1, `withdrawal ${row.id} is ${was}`);
  tellWithdrawal(app, tx, row, was);
}

/** Notes whether a withdrawal is being canceled. A cancellation ends what was said about it before. */
export function setCancel(app: App, tx: Tx, id: number, cancel: boolean): void {
  const row = withdrawalOf(tx, id);
  if (cancel) saveWithdrawal(app, tx, { ...row, cancel, problem: null }, row.state);
  else if (row.cancel) saveWithdrawal(app, tx, { ...row, cancel }, row.state);
}

/** Whether an event may happen to a withdrawal in its state. */
export const allows = (row: WithdrawalRow, event: WithdrawalEvent): boolean =>
  stepWithdrawal(row.state, event) !== null;

/** The row after an allowed event, with its consequences. Unchanged fields stay. */
export function applyEvent(
  app: App,
  tx: Tx,
  row: WithdrawalRow,
  event: WithdrawalEvent,
  change: Partial<WithdrawalRow> = {},
): WithdrawalRow {
  const step = stepWithdrawal(row.state, event);
  if (!step) throw new Rejected('withdrawal.state', `Withdrawal ${row.id} is ${row.state}: ${REFUSED[event]}`);
  const next: WithdrawalRow = { ...row, held: isOpen(step.state) && row.held, ...change, state: step.state };
  if (sameRow(row, next)) return row;
  saveWithdrawal(app, tx, next, row.state);
  if (step.state !== row.state && (step.state === 'rejected' || step.state === 'failed')) reopenDeposit(app, tx, next);
  const subject = `${row.id}`;
  if (step.alert !== null) raiseOn(app, tx, row.chain_key, subject, `withdrawal.${step.alert}`, { id: row.id });
  if (step.state === 'rejected') endIn(app, tx, 'withdrawal.refused', subject);
  if (!isOpen(step.state)) {
    for (const kind of ['withdrawal.undone', 'withdrawal.unconfirmed'] as const) endIn(app, tx, kind, subject);
  }
  return next;
}

const REFUSED: Record<WithdrawalEvent, string> = {
  approve: 'it cannot be approved any more',
  reject: 'it cannot be rejected any more',
  return: 'its approval was used',
  expire: 'it cannot expire any more',
  sign: 'it is not to be signed',
  send: 'it was not signed',
  abandon: 'it cannot be given up any more',
  pay: 'it was not signed',
  unpay: 'it was not signed',
  lose: 'it was not signed',
};

function sameRow(a: WithdrawalRow, b: WithdrawalRow): boolean {
  return (Object.keys(b) as (keyof WithdrawalRow)[]).every((name) => isDeepStrictEqual(a[name], b[name]));
}

/** Reopens the decision about the deposit of a refund that will not be paid. */
function reopenDeposit(app: App, tx: Tx, row: WithdrawalRow): void {
  if (row.inbox_id === null) return;
  tx.run(stepInbox, { id: row.inbox_id, from: 'refunded', to: 'open', withdrawal_id: null, updated_at: app.now() });
}

/** Ends a withdrawal that waited too long for a decision or for the signer. */
export function expire(app: App, tx: Tx, row: WithdrawalRow): void {
  applyEvent(app, tx, row, 'expire', { reason: message('ended.expired'), deadline_at: null, problem: null });
}

/** Stores why an approved withdrawal waits. Writes only what is new. */
export function noteWaiting(app: App, tx: Tx, id: number, why: Value): void {
  const row = withdrawalOf(tx, id);
  const problem = messageOf(why);
  if (row.state !== 'approved' || isDeepStrictEqual(row.problem, problem)) return;
  saveWithdrawal(app, tx, { ...row, problem }, row.state);
}

/** Stores why a version is not signed or not sent yet. Writes only what is new. */
export function noteProblem(tx: Tx, { id, problem: was }: VersionRow, why: Value): void {
  const problem = messageOf(why);
  if (!isDeepStrictEqual(was, problem)) tx.run(setVersionProblem, { id, problem });
}

/**
 * Drops an unsigned version, and the spend if it was the only one. Nothing was sent, so the withdrawals are planned
 * again.
 */
export function dropPlan(app: App, tx: Tx, version: VersionRow): void {
  const { account_id, chain_key } = spendOf(tx, version.spend_id);
  const change = readPlan(version.plan).outputs.find(({ kind }) => kind === 'change');
  const chain = app.chains.find(chain_key);
  if (chain && change?.kind === 'change') tx.afterCommit(() => returnChange(chain, account_id, change.index));
  if (dropRows(tx, version, dropVersion) > 0) {
    takeBackCancels(app, tx, version.spend_id);
    return;
  }
  for (const row of tx.all(withdrawalsOfSpend, { spend_id: version.spend_id })) {
    saveWithdrawal(app, tx, { ...row, spend_id: null }, row.state);
  }
  tx.run(dropSpend, { id: version.spend_id });
}

/** Drops unsigned plans of a payment. */
export function dropUnsigned(app: App, tx: Tx, spendId: number): void {
  for (const version of tx.all(versionsOf, { spend_id: spendId })) {
    if (version.txid === null) dropPlan(app, tx, version);
  }
}

/**
 * Forgets the version that is the same transaction as one that is signed now: the bytes follow from plan and key (RFC 6979), so that a
 * payment that is asked for again may be the very one that another machine signed, and that the chain showed and lost. Returns whether
 * there was one.
 */
export function forgetSame(tx: Tx, { id, spend_id, chain_key }: VersionRow, txid: string): boolean {
  const same = tx.get(versionByTxid, { txid, chain_key });
  if (!same || same.id === id) return false;
  const isFree = same.spend_id === spend_id || spendOf(tx, same.spend_id).purpose === UNKNOWN;
  assert(isFree, `${txid} was signed here for another payment, whose conflict keys are reserved`);
  if (dropRows(tx, same, dropMatched) === 0) tx.run(dropSpend, { id: same.spend_id });
  return true;
}

/** Deletes a version with its keys and payouts. Returns how many its spend has left. */
export function dropRows(tx: Tx, { id, spend_id }: VersionRow, drop: typeof dropVersion): number {
  tx.run(dropKeys, { version_id: id });
  tx.run(dropPayouts, { version_id: id });
  assert(tx.run(drop, { id }).changes === 1, `version ${id} may be dropped`);
  return tx.all(versionsOf, { spend_id }).length;
}

/** Withdraws the cancellation of withdrawals that the newest version pays. */
function takeBackCancels(app: App, tx: Tx, spendId: number): void {
  const newest = tx.all(versionsOf, { spend_id: spendId }).at(-1);
  const paid = new Set(newest ? tx.all(payoutsOf, { version_id: newest.id }).map((one) => one.withdrawal_id) : []);
  for (const row of tx.all(withdrawalsOfSpend, { spend_id: spendId })) {
    if (paid.has(row.id)) setCancel(app, tx, row.id, false);
  }
}
