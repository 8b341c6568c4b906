/**
 * Replaces a signed transaction: the same payments with a higher fee, or without one of them.
 *
 * Invariants. Each version of a spend shares a usable conflict key with each earlier one, so that at most one confirms.
 * A transaction is not replaced if a later transaction of ours spends from it. On a chain without replacement, only the
 * stored bytes are sent again, unless one of their conflict keys is gone or nodes refuse them.
 */

import { present, Rejected } from '../../domain/errors.ts';
import { maxOf, shareOf } from '../../domain/money.ts';
import { newestOf } from '../../domain/spend-state.ts';
import {
  paidBy,
  type SpendRow,
  type VersionRow,
  versionsOf,
  type WithdrawalRow,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { FEE_UNLIMITED } from '../../wallet/signer/limits.ts';
import type { Intent } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import { checkApproval, describePlan, type GivenApproval, type Preview } from './approve.ts';
import { addVersion, Overtaken, overtakenIsRejected, type Raised } from './claim.ts';
import { availableUnits } from './coins.ts';
import { hasDescendant, paymentFacts, type SignedVersion, sharedKeys } from './facts.ts';
import { fastRate, needApprovable } from './fees.ts';
import { isUnasked } from './payment.ts';
import { type Holder, holderOf, isOutside, type Planned, type PlanRequest, prepare } from './plan.ts';
import { isRefused } from './refusals.ts';
import { dropUnsigned, saveWithdrawal, spendOf, withdrawalOf } from './rows.ts';
import { intentOf } from './sign.ts';
import { readPlan } from './stored-plan.ts';

type ReplaceRequest = {
  /** `speed-up`: the same payments. `cancel`: the other payments only; if there is none, pays back to ourselves. */
  kind: 'speed-up' | 'cancel';
  /** Smallest units per 1,000 units of size; null: the rate for the next blocks. */
  feeRate: bigint | null;
  /**
   * Whether each payment is approved as a first one is. A wallet that was restored did not sign what the lost machine sent, so that
   * no approval of a higher fee suffices for it.
   */
  anew?: boolean;
};

/** The replaceable state of a withdrawal. */
export type Open = { spend: SpendRow; known: SignedVersion[]; keys: string[] };

type Replacement = {
  holder: Holder;
  row: WithdrawalRow;
  open: Open;
  /** The withdrawals that the replacement pays. */
  pays: WithdrawalRow[];
  /** The withdrawals whose approval it needs: for a cancellation, all that any version paid. */
  concerned: WithdrawalRow[];
  planned: Planned;
};

/** A preview of the replacement of a withdrawal's transaction, and the intents whose higher fee needs an approval. */
export async function previewReplacement(app: App, row: WithdrawalRow, wanted: ReplaceRequest): Promise<Preview> {
  const { holder, planned, pays, concerned } = await replacement(app, row, wanted, FEE_UNLIMITED);
  needApprovable(holder.chain, planned.plan);
  const share = shareOf(planned.plan.fee, concerned.length);
  // only a fee above the approved one needs a new approval, what a policy approved, and each cancellation of what is forwarded
  const intents = concerned
    .filter((row) => wanted.anew || share > row.fee_held || isByPolicy(holder, row) || isGrantless(row, pays))
    .map((row): Intent => ({ ...intentOf(holder, row), feeMax: maxOf(share, row.fee_held).toString() }));
  const feeMax = concerned.reduce((sum, { fee_held }) => sum + maxOf(share, fee_held), 0n);
  const purpose = pays.length === 0 ? 'cancel' : 'pay';
  return { ...describePlan(app, holder, planned.plan, pays), purpose, intents, feeMax };
}

/**
 * Replaces the unconfirmed transaction of a withdrawal. It is signed and sent afterwards. `approvals`: for the withdrawals whose fee may
 * now exceed the approved one. Returns the id of its new version. Throws `Rejected`.
 */
export async function replace(
  app: App,
  row: WithdrawalRow,
  wanted: ReplaceRequest,
  approvals: ReadonlyMap<string, GivenApproval>,
): Promise<number> {
  const spendId = row.spend_id;
  const concerned = spendId === null ? [row] : concernedBy(app.store, row, wanted.kind, wanted.anew);
  const feeMax = concerned.reduce((sum, one) => sum + (approvals.get(one.uuid)?.feeMax ?? one.fee_held), 0n);
  const found = await replacement(app, row, wanted, feeMax);
  return app.store.write((tx) =>
    overtakenIsRejected(() => {
      const { planned, holder, open, pays } = found;
      const { spend, known } = needOpen(tx, holder, found.row);
      // it was planned from another one, which paid others or another amount
      if (known.at(-1)?.version.id !== open.known.at(-1)?.version.id) throw new Overtaken('another version was signed');
      if (isOutside(holder.account)) dropUnsigned(app, tx, spend.id);
      for (const row of pays) payAgain(app, tx, row);
      const raised = raisedFees(app, tx, found, wanted, approvals);
      needCancellation(found, raised);
      if (wanted.kind === 'cancel') {
        const now = withdrawalOf(tx, found.row.id);
        saveWithdrawal(app, tx, { ...now, cancel: true, problem: null }, now.state);
      }
      const versionId = addVersion(app, tx, holder, {
        spendId: spend.id,
        kind: pays.length === 0 ? 'cancel' : 'pay',
        approval: Object.keys(raised).length === 0 ? null : JSON.stringify(raised),
        planned,
        pays,
      });
      tx.afterCommit(() => app.wake.withdrawals(holder.chain.key));
      return versionId;
    }),
  );
}

/** Ends the cancellation of a withdrawal, such as one that a lost machine canceled, and whose coins the wallet did not take back. */
function payAgain(app: App, tx: Tx, { id }: WithdrawalRow): void {
  const now = withdrawalOf(tx, id);
  if (now.cancel) saveWithdrawal(app, tx, { ...now, cancel: false }, now.state);
}

/**
 * The approvals that raise a fee. They reserve only the increase of the fee, because the amount is reserved already. A
 * cancellation pays its fee from the returned amount, and a sweep from its own amount.
 */
function raisedFees(
  app: App,
  tx: Tx,
  { holder, concerned, pays }: Replacement,
  { kind, anew }: ReplaceRequest,
  approvals: ReadonlyMap<string, GivenApproval>,
): Raised {
  const raised: Raised = {};
  let more = 0n;
  for (const { id } of concerned) {
    const now = withdrawalOf(tx, id);
    const given = approvals.get(now.uuid);
    if (!given && anew) {
      throw new Rejected('withdrawal.approval', `The approval of withdrawal ${id} is missing`, 'approvals');
    }
    const isNeeded = anew || isByPolicy(holder, now) || isGrantless(now, pays);
    if (!given || (given.feeMax <= now.fee_held && !isNeeded)) continue;
    checkApproval(app, holder, given);
    raised[now.uuid] = { feeMax: given.feeMax.toString(), until: given.until, mac: given.mac };
    if (!now.sweep && !now.cancel) more += given.feeMax - (now.held ? now.fee_held : (now.fee ?? 0n));
  }
  if (kind === 'speed-up' && more > availableUnits(tx, holder.account.id, holder.chain.spending.feeAsset)) {
    throw new Rejected('withdrawal.insufficient', 'Insufficient balance for so high a fee', 'fee_max');
  }
  return raised;
}

/** Whether a policy alone approved it: any higher fee counts against its limit, which may be used up or taken back. */
const isByPolicy = ({ business }: Holder, { approval, approved_by }: WithdrawalRow): boolean =>
  approval === null && approved_by === 'policy' && business.network !== 'sandbox';

/** Whether a version is a cancellation that no grant covers: one of forwarding lets nothing go but to its address. */
const isGrantless = ({ approved_by }: WithdrawalRow, pays: readonly WithdrawalRow[]): boolean =>
  approved_by === 'forward' && pays.length === 0;

/** Throws `Rejected('withdrawal.approval')` for the cancellation of what is forwarded if nobody ever approved it. */
function needCancellation({ holder, concerned, pays }: Replacement, raised: Raised): void {
  if (holder.business.network === 'sandbox') return;
  const bare = concerned.find((row) => isGrantless(row, pays) && row.approval === null && !raised[row.uuid]);
  if (!bare) return;
  const text = `Withdrawal ${bare.id} was forwarded: its cancellation needs the wallet's passphrase`;
  throw new Rejected('withdrawal.approval', text, 'approvals');
}

async function replacement(
  app: App,
  row: WithdrawalRow,
  { kind, feeRate, anew }: ReplaceRequest,
  feeMax: bigint,
): Promise<Replacement> {
  const holder = holderOf(app, row);
  const open = needOpen(app.store, holder, row);
  const versions = open.known.map(({ version }) => version);
  const paid = paidLast(app.store, versions, anew);
  const pays = kind === 'cancel' ? paid.filter(({ id }) => id !== row.id) : paid;
  if (kind === 'cancel' && !paid.some(({ id }) => id === row.id)) {
    throw new Rejected('withdrawal.canceled', `Withdrawal ${row.id} is being canceled already: speed it up instead`);
  }
  if (anew && pays.length === 0) {
    throw new Rejected('withdrawal.canceled', `Withdrawal ${row.id} is being canceled: nothing is approved anew`);
  }
  const isSweep = pays.some(({ sweep }) => sweep);
  const planned = await prepare(app, holder, {
    payouts: pays.map(({ address, units, sweep }) => ({ address, units: sweep ? null : units })),
    conflictKeys: open.keys,
    spendId: open.spend.id,
    // a sweep or a complete cancellation has enough coins
    ...(pays.length === 0 || isSweep ? { only: [] } : {}),
    // a faster sweep takes no money that came after its approval
    ...(isSweep ? { inputsMax: takenBy(holder, versions.at(-1)!) } : {}),
    settledOnly: pays.some(({ approved_by }) => isUnasked(approved_by)),
    ...(await outbidding(holder, open, feeRate)),
    feeMax,
  });
  return { holder, row, open, pays, concerned: concernedBy(app.store, row, kind, anew), planned };
}

/** The units of the paid asset that a version takes, fee included. */
function takenBy({ chain, asset }: Holder, version: VersionRow): bigint {
  const { outputs, fee } = readPlan(version.plan);
  return outputs.reduce((sum, { units }) => sum + units, chain.spending.feeAsset === asset ? fee : 0n);
}

function concernedBy(
  reader: Reader,
  row: WithdrawalRow,
  kind: ReplaceRequest['kind'],
  anew: boolean | undefined,
): WithdrawalRow[] {
  const versions = reader.all(versionsOf, { spend_id: present(row.spend_id, 'spend of a sent withdrawal') });
  const paid = paidLast(
    reader,
    versions.filter(({ txid }) => txid !== null),
    anew,
  );
  const others = kind === 'cancel' ? paid.filter(({ id }) => id !== row.id) : paid;
  return others.length > 0 ? others : [row];
}

/** The payments of the newest version. Those that are paid `anew` may have been canceled by one that nobody here can send. */
function paidLast(reader: Reader, versions: readonly VersionRow[], anew = false): WithdrawalRow[] {
  const newest = versions.at(-1);
  const isPassed = anew && newest?.raw === null;
  const last = isPassed ? versions.findLast(({ id }) => reader.all(paidBy, { version_id: id }).length > 0) : newest;
  return last ? reader.all(paidBy, { version_id: last.id }) : [];
}

/** The fees to outbid, and the operator's rate or the one for the next blocks, but at least the one that replaces every version. */
export async function outbidding(
  { chain }: Holder,
  { known }: Open,
  wanted: bigint | null,
): Promise<Pick<PlanRequest, 'replaced' | 'feeRate' | 'feeMin'>> {
  // a version that lacks a coin is in no mempool and need not be outbid
  const outbid = known.filter(({ lack }) => lack === null).map(({ version }) => version);
  const fees = outbid.map(({ fee, size }) => ({ fee, size: Math.max(1, size) }));
  const least = chain.spending.replacementRate(fees);
  return {
    replaced: outbid.map(({ plan }) => readPlan(plan)),
    feeRate: maxOf(wanted ?? (await fastRate(chain)), least),
    feeMin: fees.reduce((most, { fee }) => maxOf(most, fee), 0n),
  };
}

/** The ways to replace a withdrawal's transaction now. */
export function replacementsOf(app: App, row: WithdrawalRow): ReplaceRequest['kind'][] {
  if (row.spend_id === null) return [];
  try {
    const { known } = needOpen(app.store, holderOf(app, row), row);
    const paid = app.store.all(paidBy, { version_id: known.at(-1)!.version.id });
    const isPaid = paid.some(({ id }) => id === row.id);
    return isPaid ? ['speed-up', 'cancel'] : ['speed-up'];
  } catch (error) {
    if (error instanceof Rejected) return [];
    throw error;
  }
}

/** The replaceable state of a withdrawal. Throws `Rejected` with the obstacle. */
export function needOpen(reader: Reader, holder: Holder, row: WithdrawalRow): Open {
  const { state, spend_id, id } = withdrawalOf(reader, row.id);
  if ((state !== 'signed' && state !== 'broadcast') || spend_id === null) {
    needReplacement(holder, []);
    throw new Rejected('withdrawal.state', `Withdrawal ${id} is ${state}: there is nothing to replace`);
  }
  const { spend, signed: known, facts } = paymentFacts(reader, holder.chain, spendOf(reader, spend_id));
  needReplacement(holder, known);
  // a plan that nobody downloaded can be dropped
  const isSigning = !isOutside(holder.account) && facts.isPlanned;
  if (known.length === 0 || isSigning) {
    throw new Rejected('withdrawal.state', 'Another version is being signed: try again in a moment');
  }
  if (known.some(({ depth }) => (depth ?? 0) > 0)) {
    throw new Rejected('withdrawal.state', 'It is confirmed: there is nothing to replace');
  }
  const keys = sharedKeys(reader, spend, known);
  if (keys === null) {
    const text =
      'Every coin that another transaction would have to spend is away, so that nothing can take its place yet';
    throw new Rejected('withdrawal.no_coin', text);
  }
  needReplaceable(reader, holder, known);
  return { spend, known, keys };
}

/**
 * On a chain without replacement, only a transaction that lacks a conflict key, that nodes refuse, or that no node has and nobody here
 * can send, can get another version. At most one of the two can confirm, as everywhere.
 */
function needReplacement({ chain }: Holder, known: readonly SignedVersion[]): void {
  if (chain.spending.replacement !== 'none') return;
  const isUnseen = known.length > 0 && known.every(({ depth }) => depth === null);
  if (isUnseen && !newestOf(known)?.isStored) return;
  if (isRefused(chain, known)) return;
  const text = `${chain.adapter.chain} knows no replacement: the transaction is sent again as it is, and gets another one only once nodes refuse it`;
  throw new Rejected('withdrawal.no_replacement', text);
}

/** Throws `Rejected` if the transaction to replace has a descendant of ours, which would fall with it. */
function needReplaceable(reader: Reader, holder: Holder, known: readonly SignedVersion[]): void {
  for (const { version, lack } of known) {
    if (lack === null && version.txid !== null && hasDescendant(reader, holder.chain, version.txid)) {
      throw new Rejected(
        'withdrawal.descendant',
        'A later transaction of ours spends its change: it can be replaced once that one is confirmed',
      );
    }
  }
}
