/**
 * Gets claimed transactions signed, and stores their bytes.
 *
 * Invariant: the signer gets the same stored plan until its bytes are stored, so that a crash in between changes
 * nothing. Bytes that could not be stored are dropped, never sent.
 */
import type { KeptTransactions } from '../../chains/spending.ts';
import type { AssetId } from '../../domain/assets.ts';
import { assert, Rejected, Unavailable } from '../../domain/errors.ts';
import { message, messageOf, reasonOf } from '../../domain/messages.ts';
import { shareOf } from '../../domain/money.ts';
import type { SignedSpend, SpendPlan } from '../../domain/spend.ts';
import { isOutdated } from '../../domain/spend-state.ts';
import { isSigned } from '../../domain/withdrawal.ts';
import { keepPrevious, previousTx } from '../../store/queries/previous.ts';
import {
  paidBy,
  payoutsOf,
  type SpendRow,
  signVersion,
  type VersionRow,
  versionById,
  versionByTxid,
  versionsOf,
  type WithdrawalRow,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { Approval, Intent, SignOrder } from '../../wallet/signer/port.ts';
import { raiseOn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { notExcluded } from './abandoned.ts';
import type { Raised } from './claim.ts';
import { coinAt } from './coins.ts';
import { isInOrder, keyState } from './facts.ts';
import { keepKeyImages } from './key-images.ts';
import { type Holder, holderOf, isOutside } from './plan.ts';
import { whyUncovered } from './refund-left.ts';
import { applyEvent, dropPlan, forgetSame, noteProblem, saveWithdrawal, spendOf, withdrawalOf } from './rows.ts';
import { settleStored } from './settle.ts';
import { readPlan } from './stored-plan.ts';

const PREVIOUS_TIMEOUT_MS = 20_000;

/** The intent of a withdrawal's payment, for the signer and the operator. */
export function intentOf(holder: Pick<Holder, 'business' | 'chain'>, row: WithdrawalRow): Intent {
  return {
    uuid: row.uuid,
    network: holder.business.network,
    accountNo: holder.business.accountNo,
    chain: holder.chain.adapter.chain,
    asset: row.asset,
    address: row.address,
    // for a sweep the approved maximum, because the row has the actual amount once it is signed
    units: approvedUnits(row) ?? row.units.toString(),
    sweep: row.sweep,
    // an account chain has no coins: a refund is paid from any address
    coins: row.outpoint === null || holder.chain.adapter.accountBased ? null : [row.outpoint],
    feeMax: row.fee_held.toString(),
    ...namedFeeAsset(row.asset, row.fee_asset),
  };
}

/**
 * An intent names its fee's asset only if that differs from the paid asset, so that earlier MACs without it stay valid.
 */
export const namedFeeAsset = (asset: string, feeAsset: AssetId): Pick<Intent, 'feeAsset'> =>
  feeAsset === asset ? {} : { feeAsset };

/** An approval as a row stores it. `units`: the maximum of a sweep, smallest units. */
export type StoredApproval = { until: number; mac: string; units?: string };

/** The maximum of an approved sweep, smallest units; null: it is no sweep, or not approved. */
export function approvedUnits({ approval, sweep }: Pick<WithdrawalRow, 'approval' | 'sweep'>): string | null {
  return sweep && approval !== null ? ((JSON.parse(approval) as StoredApproval).units ?? null) : null;
}

/** The stored approval of a payment to ourselves. It includes the intent, because there is no withdrawal. */
export type StoredOwn = { intent: Intent; approval: Approval };

function approvalOf({ approval, approved_by }: WithdrawalRow): Approval {
  // what is forwarded has an approval once the operator cancels it, or raises its fee
  if (approval === null) return { by: approved_by === 'forward' ? 'forward' : 'policy' };
  const { until, mac } = JSON.parse(approval) as StoredApproval;
  return { by: 'operator', until, mac };
}

/**
 * Signs a claimed version and stores its bytes. Throws `Unavailable`, and `Rejected('signer.locked')`: try again later.
 */
export async function signClaimed(app: App, spend: SpendRow, versionId: number): Promise<void> {
  const version = unsignedVersion(app.store, versionId);
  if (!version) return;
  const holder = holderOfSpend(app, spend);
  const plan = readPlan(version.plan);
  const isDropped = (): boolean => isObsolete(app.store, holder, { spend, version, plan });
  const write = (change: typeof dropPlan): Promise<void> =>
    app.store.write((tx) => {
      const now = unsignedVersion(tx, versionId);
      if (now) change(app, tx, now);
    });
  if (isDropped()) return write(dropPlan);
  // it waits until it is handed out to the wallet that has the keys (`outside.ts`)
  if (isOutside(holder.account)) return write((_, tx, now) => noteProblem(tx, now, message('wait.outside')));
  const unsigned = await holder.chain.spending.unsigned(plan, keptTransactions(app, holder.chain));
  // a source may have taken minutes
  if (isDropped()) return write(dropPlan);
  let signed: SignedSpend;
  try {
    signed = await app.signer.sign({ ...orderOf(app.store, holder, spend, version), ...unsigned });
  } catch (error) {
    if (!(error instanceof Rejected) || error.code === 'signer.locked') throw error;
    return write((_, tx, now) => refused(app, tx, now, error));
  }
  await app.store.write((tx) => {
    if ('previous' in unsigned) keepAll(tx, holder, unsigned.previous);
    const now = unsignedVersion(tx, versionId);
    if (now) storeSigned(app, tx, holder.chain, now, signed);
  });
}

/** A version that still waits for its signature; undefined: it was signed or dropped meanwhile. */
function unsignedVersion(reader: Reader, id: number): VersionRow | undefined {
  const version = reader.get(versionById, { id });
  return version?.txid === null ? version : undefined;
}

/** Whether an unsigned version must be planned anew, or not at all. */
export function isObsolete(
  reader: Reader,
  { chain, account }: Holder,
  { spend, version, plan }: { spend: SpendRow; version: VersionRow; plan: SpendPlan },
): boolean {
  const { spending, key: chain_key } = chain;
  const keys = spending.conflictKeys(plan);
  const own = new Set(reader.all(versionsOf, { spend_id: spend.id }).map(({ txid }) => txid));
  return isOutdated({
    pays: reader
      .all(paidBy, { version_id: version.id })
      .map((row) => ({ state: row.state, isCovered: isSigned(row.state) || whyUncovered(reader, row) === null })),
    keys: keys.map((key) => {
      const { isThere = false, usedBy = null, block = null } = keyState(reader, { key: chain_key }, key) ?? {};
      return { isThere, isInBlock: block !== null, isForeign: usedBy !== null && !own.has(usedBy) };
    }),
    isInOrder: isInOrder(reader, chain, spending.keysBefore?.(plan) ?? []),
    isNeedless: spend.purpose === 'bump' && coinAt(reader, chain, spend.conflict_key)?.block_hash !== null,
    isBesideAbandoned: isOutside(account) && notExcluded(reader, chain, account.id, keys).length > 0,
  });
}

function holderOfSpend(app: App, spend: SpendRow): Holder {
  return holderOf(app, { business_id: app.directory.businessOfAccount(spend.account_id), asset: spend.asset });
}

/** Stored data of previous transactions. */
export function keptTransactions({ store }: App, chain: ChainRuntime): KeptTransactions {
  const { key: chain_key } = chain;
  return {
    signed: (txid) => store.get(versionByTxid, { txid, chain_key })?.raw ?? null,
    base: (txid) => store.get(previousTx, { txid, chain_key })?.base ?? null,
    blockOf: (outpoint) => coinAt(store, chain, outpoint)?.block_hash ?? null,
    limit: () => chain.limit(PREVIOUS_TIMEOUT_MS),
  };
}

/**
 * Stores previous transactions that were requested from a source. If one leaves the chain, its inputs show whether it
 * can return.
 */
export function keepAll(tx: Tx, { chain }: Holder, previous: Readonly<Record<string, string>>): void {
  for (const [txid, base] of Object.entries(previous)) {
    const key = { txid, chain_key: chain.key };
    if (!tx.get(versionByTxid, key)) tx.run(keepPrevious, { ...key, base: Buffer.from(base, 'hex') });
  }
}

function orderOf(
  reader: Reader,
  holder: Holder,
  spend: SpendRow,
  version: VersionRow,
): Pick<SignOrder, 'purpose' | 'withdrawals'> {
  const own = ownOf(version);
  if (own) return { purpose: 'pay', withdrawals: [own] };
  assert(spend.subject === null, 'a payment to ourselves was approved');
  const raised = raisedOf(version);
  return {
    purpose: version.kind === 'cancel' ? 'cancel' : 'pay',
    withdrawals: concernedBy(reader, version).map((stored) => {
      const row = withRaised(stored, raised);
      return { intent: intentOf(holder, row), approval: approvalOf(row) };
    }),
  };
}

/** The withdrawals that a version pays or cancels. */
function concernedBy(reader: Reader, version: VersionRow): WithdrawalRow[] {
  const { id, kind, spend_id } = version;
  return kind === 'cancel' ? reader.all(withdrawalsOfSpend, { spend_id }) : reader.all(paidBy, { version_id: id });
}

/** The approval of a version as a payment to ourselves; null: it has none. */
export function ownOf({ approval }: Pick<VersionRow, 'approval'>): StoredOwn | null {
  const stored: StoredOwn | Raised = approval === null ? {} : JSON.parse(approval);
  return 'intent' in stored && 'approval' in stored ? (stored as StoredOwn) : null;
}

/** The approvals of a higher fee that belong to a version. */
function raisedOf({ approval }: VersionRow): Raised {
  return approval === null ? {} : (JSON.parse(approval) as Raised);
}

/** A withdrawal with the approval for this version of it. */
function withRaised(row: WithdrawalRow, raised: Raised): WithdrawalRow {
  const given = raised[row.uuid];
  if (!given) return row;
  const { feeMax, until, mac } = given;
  const units = approvedUnits(row);
  const approval: StoredApproval | null = mac === null ? null : { until, mac, ...(units === null ? {} : { units }) };
  return { ...row, fee_held: BigInt(feeMax), approval: approval === null ? row.approval : JSON.stringify(approval) };
}

/** Stores signed bytes, unless another decision was made meanwhile: then they are dropped. */
function storeSigned(app: App, tx: Tx, chain: ChainRuntime, version: VersionRow, signed: SignedSpend): void {
  if (tx.all(paidBy, { version_id: version.id }).some((row) => row.state !== 'approved' && !isSigned(row.state))) {
    dropPlan(app, tx, version);
    return;
  }
  const { txid, raw, fee, size, proof = null } = signed;
  const fields = { id: version.id, txid, raw, fee, size, proof, signed_at: app.now() };
  const wasKnown = forgetSame(tx, version, txid);
  if (tx.run(signVersion, fields).changes !== 1) throw new Error(`assertion failed: version ${version.id} is unsigned`);
  keepKeyImages(app, tx, version.chain_key, signed.keyImages ?? {});
  markSigned(app, tx, version, fee);
  if (wasKnown) settleStored(app, tx, chain, txid, spendOf(tx, version.spend_id).purpose === 'pay');
  tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

/** Marks the withdrawals of a version that is signed from now on. `fee`: of its transaction, smallest units. */
export function markSigned(app: App, tx: Tx, version: VersionRow, fee: bigint): void {
  const payouts = tx.all(payoutsOf, { version_id: version.id });
  const rows = payouts.map(({ withdrawal_id }) => withdrawalOf(tx, withdrawal_id));
  const spend = spendOf(tx, version.spend_id);
  for (const row of tx.all(withdrawalsOfSpend, { spend_id: spend.id })) {
    const now = withRaised(row, raisedOf(version));
    if (now !== row) saveWithdrawal(app, tx, now, row.state);
  }
  for (const [at, { id }] of rows.entries()) {
    const row = withdrawalOf(tx, id);
    if (row.state === 'completed') continue;
    const share = shareOf(fee, rows.length);
    const units = payouts[at]?.units ?? row.units;
    applyEvent(app, tx, row, 'sign', { fee: share, units, deadline_at: null, problem: null });
  }
}

/**
 * Drops a plan that the signer refuses, and returns its withdrawals to the operator. Any reason other than a limit
 * raises an alert.
 */
function refused(app: App, tx: Tx, version: VersionRow, error: Rejected): void {
  const rows = concernedBy(tx, version);
  const { subject: isFor, account_id, forwards } = spendOf(tx, version.spend_id);
  const why = messageOf(reasonOf(error));
  // the same would be planned and refused again
  if (forwards !== null) app.forwarding.gasRefused(app, tx, { account_id, asset: forwards }, why);
  else if (isFor !== null) app.gas.refused(tx, account_id, why);
  dropPlan(app, tx, version);
  // its plan tells of a forwarded payment that is rejected, and of gas for one
  const areForwarded =
    rows.length > 0 && rows.every((row) => row.approved_by === 'forward' && row.state === 'approved');
  const isTold = forwards !== null || areForwarded;
  for (const { id } of rows) {
    const row = withdrawalOf(tx, id);
    if (row.state !== 'approved') {
      saveWithdrawal(app, tx, { ...row, problem: why }, row.state);
      continue;
    }
    const isForwarded = row.approved_by === 'forward';
    const change = isForwarded
      ? { reason: why, deadline_at: null }
      : { problem: why, approved_by: null, approval: null };
    applyEvent(app, tx, row, isForwarded ? 'reject' : 'return', change);
    if (isForwarded && error.code === 'signer.index')
      app.forwarding.indexRefused(tx, row, Number(error.field), app.now());
  }
  if (error.code === 'signer.limit' || isTold) return;
  const subject = rows.map(({ id }) => id).join(',') || `spend ${version.spend_id}`;
  const ids = rows.map(({ id }) => id).join(', ');
  raiseOn(app, tx, version.chain_key, subject, 'withdrawal.refused', { ids, reason: why });
  app.log.error({ withdrawals: rows.map(({ id }) => id), code: error.code }, 'the signer refused');
}

/** Whether an error is temporary, so that the same can be tried again later. */
export function isForLater(error: unknown): boolean {
  if (error instanceof Unavailable) return true;
  return error instanceof Rejected && error.code === 'signer.locked';
}
