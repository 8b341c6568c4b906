/**
 * Claiming: from here on a withdrawal's transaction exists, as a plan whose coins are reserved. One caller gets it, by
 * compare-and-set, and everything that the plan was made from is checked again inside the transaction.
 *
 * Invariant. A spend is given its anchor with its first plan and keeps it; every plan of it names that outpoint. Change
 * is watched before anything is signed that pays it.
 */
import { Rejected } from '../../domain/errors.ts';
import { insertTarget } from '../../store/queries/credits.ts';
import {
  dropInputs,
  dropPayouts,
  dropSpend,
  dropVersion,
  insertInput,
  insertPayout,
  insertSpend,
  insertVersion,
  type SpendRow,
  spendById,
  takeChangeIndex,
  type VersionRow,
  versionsOf,
  type WithdrawalRow,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { coinAt, hasDescendant, isSoleChange, reservedBy } from './coins.ts';
import { anchorOf, type Place, type Planned, payoutsIn } from './plan.ts';
import { saveWithdrawal, withdrawalOf } from './rows.ts';
import { writePlan } from './stored-plan.ts';

/** Somebody was faster, or the chain moved on: plan anew. */
export class Overtaken extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'Overtaken';
  }
}

/** Claims approved withdrawals for their first transaction. Throws `Overtaken`. */
export function claim(app: App, tx: Tx, place: Place, planned: Planned, rows: readonly WithdrawalRow[]): number {
  const anchor = anchorOf(planned.plan);
  const spendId = tx.run(insertSpend, {
    account_id: place.account.id,
    chain_key: place.chain.key,
    asset: place.asset,
    purpose: 'pay',
    anchor,
    created_at: app.now(),
  }).id;
  for (const { id } of rows) {
    const now = withdrawalOf(tx, id);
    if (now.state !== 'approved' || now.spend_id !== null) throw new Overtaken(`withdrawal ${id} is ${now.state}`);
    saveWithdrawal(app, tx, { ...now, spend_id: spendId, problem: null }, now.state);
  }
  addVersion(app, tx, place, { spendId, kind: 'pay', approval: null, planned, pays: rows });
  return spendId;
}

/** Claims a stranger's unconfirmed deposit, to pay it on to ourselves with a higher fee. Throws `Overtaken`. */
export function claimBump(app: App, tx: Tx, place: Place, planned: Planned, anchor: string, approval: string): number {
  const spendId = tx.run(insertSpend, {
    account_id: place.account.id,
    chain_key: place.chain.key,
    asset: place.asset,
    purpose: 'bump',
    anchor,
    created_at: app.now(),
  }).id;
  addVersion(app, tx, place, { spendId, kind: 'pay', approval, planned, pays: [] });
  return spendId;
}

type Version = {
  spendId: number;
  kind: 'pay' | 'cancel';
  /** What the signer is shown beside the withdrawals' own approvals. */
  approval: string | null;
  planned: Planned;
  pays: readonly WithdrawalRow[];
};

/** Adds another version to a spend, or its first. Throws `Overtaken`. */
export function addVersion(app: App, tx: Tx, place: Place, version: Version): number {
  const { spendId, kind, approval, planned, pays } = version;
  const { plan } = planned;
  const { chain, account } = place;
  for (const { outpoint } of plan.inputs) needFree(tx, place, outpoint, spendId);
  if (tx.all(versionsOf, { spend_id: spendId }).some(({ txid }) => txid === null)) {
    throw new Overtaken('another version is being signed');
  }
  if (planned.usesChange) {
    const taken = tx.run(takeChangeIndex, { id: account.id, next_change: planned.changeIndex });
    if (taken.changes !== 1) throw new Overtaken('the change address was taken');
    for (const output of plan.outputs) {
      if (output.kind !== 'change') continue;
      const { script, address, index } = output;
      const target = { account_id: account.id, chain_key: chain.key, branch: 1, idx: index, script, address };
      tx.run(insertTarget, { ...target, invoice_id: null });
    }
  }
  const vsize = plan.kind === 'utxo' ? plan.vsize : 0;
  const { id } = tx.run(insertVersion, {
    spend_id: spendId,
    chain_key: chain.key,
    kind,
    plan: writePlan(plan),
    approval,
    fee: plan.fee.toString(),
    vsize,
    created_at: app.now(),
  });
  for (const { outpoint } of plan.inputs) tx.run(insertInput, { outpoint, chain_key: chain.key, version_id: id });
  const outputs = payoutsIn(plan);
  for (const row of pays) {
    const at = outputs.findIndex(
      ({ address, units }) => address === row.address && (row.sweep === 1 || units === BigInt(row.units)),
    );
    const [paid] = at < 0 ? [] : outputs.splice(at, 1);
    if (!paid) throw new Error(`assertion failed: the plan pays withdrawal ${row.id}`);
    tx.run(insertPayout, { version_id: id, withdrawal_id: row.id, units: paid.units.toString() });
  }
  return id;
}

/** A coin may be spent by this spend: it is here, unspent but for our own versions, and nobody else has reserved it. */
function needFree(tx: Tx, { chain }: Place, outpoint: string, spendId: number): void {
  const coin = coinAt(tx, chain, outpoint);
  if (!coin) throw new Overtaken(`${outpoint} is not known`);
  if (coin.gone === 1) throw new Overtaken(`${outpoint} has gone`);
  const spender = coin.spent_txid;
  if (spender !== null && !tx.all(versionsOf, { spend_id: spendId }).some(({ txid }) => txid === spender)) {
    throw new Overtaken(`${outpoint} is spent`);
  }
  if (reservedBy(tx, chain, outpoint, spendId) !== null) throw new Overtaken(`${outpoint} is reserved`);
  if (coin.own_change === 1 && coin.block_height === null && !isSoleChange(tx, chain, coin.txid)) {
    throw new Overtaken(`${outpoint} is change of what is being replaced`);
  }
}

/** Throws `Rejected` when what is to be replaced has a descendant of ours, which would fall with it. */
export function needReplaceable(reader: Reader, place: Place, versions: readonly VersionRow[]): void {
  for (const { txid } of versions) {
    if (txid !== null && hasDescendant(reader, place.chain, txid)) {
      throw new Rejected(
        'withdrawal.descendant',
        'A later transaction of ours spends its change: it can be replaced once that one is confirmed',
      );
    }
  }
}

/**
 * Forgets a version that was never signed, and with it the spend when there is no other: nothing was ever sent, so the
 * withdrawals are planned anew.
 */
export function dropPlan(app: App, tx: Tx, version: VersionRow): void {
  tx.run(dropInputs, { version_id: version.id });
  tx.run(dropPayouts, { version_id: version.id });
  if (tx.run(dropVersion, { id: version.id }).changes !== 1) {
    throw new Error(`assertion failed: version ${version.id} was not signed`);
  }
  if (tx.all(versionsOf, { spend_id: version.spend_id }).length > 0) return;
  for (const row of tx.all(withdrawalsOfSpend, { spend_id: version.spend_id })) {
    saveWithdrawal(app, tx, { ...row, spend_id: null }, row.state);
  }
  tx.run(dropSpend, { id: version.spend_id });
}

/** A spend that is known to exist. */
export function spendOf(reader: Reader, id: number): SpendRow {
  const row = reader.get(spendById, { id });
  if (!row) throw new Error(`assertion failed: no spend ${id}`);
  return row;
}
