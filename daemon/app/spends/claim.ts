/**
 * Claims withdrawals: stores a plan of their transaction and reserves its conflict keys. A compare-and-set lets only
 * one caller succeed. All facts that the plan depends on are checked again inside the transaction.
 *
 * Invariants. Every plan of a spend shares a conflict key with each version of it that was signed before. A change
 * address is watched before a transaction that pays it is signed.
 */
import type { AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import type { SpendPlan } from '../../domain/spend.ts';
import {
  insertKey,
  insertPayout,
  insertSpend,
  insertVersion,
  keysOf,
  type VersionRow,
  versionsOf,
  type WithdrawalRow,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { isGivenUp, notExcluded } from './abandoned.ts';
import { takeChange } from './change-address.ts';
import { isSoleChange, keyState, reservedBy } from './facts.ts';
import { type Holder, isOutside, type Planned, payoutsIn } from './plan.ts';
import { whyUncovered } from './refund-left.ts';
import { saveWithdrawal, spendOf, withdrawalOf } from './rows.ts';
import { writePlan } from './stored-plan.ts';

/** Claims approved withdrawals for their first transaction. Throws `Overtaken`. */
export function claim(app: App, tx: Tx, holder: Holder, planned: Planned, rows: readonly WithdrawalRow[]): void {
  const spendId = beginSpend(app, tx, holder, planned, { purpose: 'pay', subject: null });
  const approved = rows.map(({ id }) => withdrawalOf(tx, id));
  const feeMax = approved.reduce((sum, { fee_held }) => sum + fee_held, 0n);
  if (planned.plan.fee > feeMax) throw new Overtaken('a lower fee was approved');
  for (const now of approved) {
    const { id } = now;
    if (now.state !== 'approved' || now.spend_id !== null) throw new Overtaken(`withdrawal ${id} is ${now.state}`);
    const uncovered = whyUncovered(tx, now);
    if (uncovered) throw new Overtaken(uncovered.message);
    saveWithdrawal(app, tx, { ...now, spend_id: spendId, problem: null }, now.state);
  }
  addVersion(app, tx, holder, { spendId, kind: 'pay', approval: null, planned, pays: rows });
}

/**
 * `subject`: the deposit or the address that it is for; null: it pays withdrawals. `conflictKey`: left out for the plan's preferred one.
 * `forwards`: the token of the forwarding plan that it is gas for.
 */
type Begun = {
  purpose: 'pay' | 'bump' | 'collect' | 'fund';
  subject: string | null;
  conflictKey?: string;
  forwards?: AssetId | null;
};

function beginSpend(
  app: App,
  tx: Tx,
  { account, chain, asset }: Holder,
  { plan }: Planned,
  { purpose, subject, conflictKey, forwards = null }: Begun,
): number {
  const conflict_key = conflictKey ?? chain.spending.preferredKey(plan);
  const of = { account_id: account.id, chain_key: chain.key, asset };
  return tx.run(insertSpend, { ...of, purpose, subject, conflict_key, created_at: app.now(), forwards }).id;
}

type OwnClaim = Begun & { purpose: 'bump' | 'collect' | 'fund'; subject: string; approval: string };

/** Claims a payment to ourselves. Returns the version's id. Throws `Overtaken`. */
export function claimOwn(app: App, tx: Tx, holder: Holder, planned: Planned, claimed: OwnClaim): number {
  const spendId = beginSpend(app, tx, holder, planned, claimed);
  return addVersion(app, tx, holder, { spendId, kind: 'pay', approval: claimed.approval, planned, pays: [] });
}

/** Approvals of a higher fee by the withdrawal's UUID, valid for one version. */
export type Raised = { [uuid: string]: { feeMax: string; until: number; mac: string | null } };

type Version = {
  spendId: number;
  kind: 'pay' | 'cancel';
  /** Approvals for the signer besides the withdrawals' own. */
  approval: string | null;
  planned: Planned;
  pays: readonly WithdrawalRow[];
};

/** Adds a version to a spend. Throws `Overtaken`. */
export function addVersion(app: App, tx: Tx, holder: Holder, version: Version): number {
  const { spendId, kind, approval, planned, pays } = version;
  const { plan, change } = planned;
  const { chain } = holder;
  const spending = chain.spending;
  const purpose = spendOf(tx, spendId).purpose;
  const keys = spending.conflictKeys(plan);
  for (const key of keys) needFree(tx, holder, { key, spendId, purpose });
  const earlier = tx.all(versionsOf, { spend_id: spendId });
  if (earlier.some(({ txid }) => txid === null)) throw new Overtaken('another version is being signed');
  needConflict(tx, keys, earlier);
  if (isOutside(holder.account)) needExclusion(tx, holder, plan, keys);
  if (planned.usesChange && !takeChange(tx, holder, change)) throw new Overtaken('the change address was taken');
  const { id } = tx.run(insertVersion, {
    spend_id: spendId,
    chain_key: chain.key,
    kind,
    plan: writePlan(plan),
    approval,
    fee: plan.fee,
    size: spending.sizeOf(plan),
    created_at: app.now(),
  });
  for (const key of keys) tx.run(insertKey, { conflict_key: key, chain_key: chain.key, version_id: id });
  const outputs = payoutsIn(plan);
  for (const row of pays) {
    const at = outputs.findIndex(({ address, units }) => address === row.address && (row.sweep || units === row.units));
    const [paid] = at < 0 ? [] : outputs.splice(at, 1);
    if (!paid) throw new Error(`assertion failed: the plan pays withdrawal ${row.id}`);
    tx.run(insertPayout, { version_id: id, withdrawal_id: row.id, units: paid.units });
  }
  return id;
}

/** Checks that a plan excludes each payment of its account that was given up, and is not one of them. */
function needExclusion(reader: Reader, { chain, account }: Holder, plan: SpendPlan, keys: readonly string[]): void {
  if (notExcluded(reader, chain, account.id, keys).length > 0) throw new Overtaken('another payment was given up');
  if (!isGivenUp(reader, chain, account.id, plan)) return;
  throw new Overtaken('it would be the very transaction that was given up, until the next block');
}

/** Checks that each version shares a conflict key with each other one. */
function needConflict(reader: Reader, keys: readonly string[], earlier: readonly VersionRow[]): void {
  for (const { id } of earlier) {
    const isShared = reader.all(keysOf, { version_id: id }).some(({ conflict_key }) => keys.includes(conflict_key));
    if (!isShared) throw new Overtaken(`it has no conflict key in common with version ${id}`);
  }
}

/**
 * Checks that this spend may use a key: it exists, only our own versions use it, and no other spend has reserved it.
 */
function needFree(
  tx: Tx,
  { chain }: Holder,
  { key, spendId, purpose }: { key: string; spendId: number; purpose: string },
): void {
  const state = keyState(tx, chain, key);
  if (!state) throw new Overtaken(`${key} is not known`);
  if (!state.isThere) throw new Overtaken(`${key} has gone`);
  const { usedBy, changeOf } = state;
  if (usedBy !== null && !tx.all(versionsOf, { spend_id: spendId }).some(({ txid }) => txid === usedBy)) {
    throw new Overtaken(`${key} is spent`);
  }
  if (reservedBy(tx, chain, key, spendId) !== null) throw new Overtaken(`${key} is reserved`);
  // a payment to ourselves may spend change of a transaction that another version may replace
  if (changeOf !== null && purpose === 'pay' && !isSoleChange(tx, chain, changeOf)) {
    throw new Overtaken(`${key} is change of what is being replaced`);
  }
}

/** Another caller was faster, or the chain moved on: plan again. */
export class Overtaken extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'Overtaken';
  }
}

/** Stores a plan for the operator. If it is overtaken, throws `Rejected`, which asks the operator to try again. */
export function overtakenIsRejected<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error;
    throw new Rejected('withdrawal.overtaken', `The chain moved on meanwhile (${error.message}): try again`);
  }
}
