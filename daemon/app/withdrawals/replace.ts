/**
 * Replaces a signed transaction: the same payments with a higher fee, or without one of them.
 *
 * Invariants. Each version of a spend shares a usable conflict key with each earlier one, so that at most one confirms.
 * A transaction is not replaced if a later transaction of ours spends from it. On a chain without replacement, only the
 * stored bytes are sent again, unless one of their conflict keys is gone or nodes refuse them.
 */

import { assert, Rejected } from '../../domain/errors.ts';
import { maxOf, shareOf } from '../../domain/money.ts';
import type { RejectCode } from '../../domain/rejections.ts';
import { type Fixed, whyFixed } from '../../domain/spend-state.ts';
import { paidBy, type VersionRow, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { FEE_UNLIMITED } from '../../wallet/signer/limits.ts';
import type { Intent } from '../../wallet/signer/port.ts';
import type { App } from '../app.ts';
import { addVersion, Overtaken, overtakenIsRejected, type Raised } from '../spends/claim.ts';
import { availableUnits } from '../spends/coins.ts';
import { type Replaceable, replaceFacts } from '../spends/facts.ts';
import { fastRate, needApprovable } from '../spends/fees.ts';
import { isUnasked } from '../spends/payment.ts';
import { type Holder, holderOf, isOutside, type Planned, type PlanRequest, prepare } from '../spends/plan.ts';
import { dropUnsigned, setCancel, spendOf, withdrawalOf } from '../spends/rows.ts';
import { intentOf } from '../spends/sign.ts';
import { readPlan } from '../spends/stored-plan.ts';
import { checkApproval, describePlan, type GivenApproval, type Preview } from './approve.ts';

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
export type Open = Replaceable & { keys: string[] };

type Replacement = {
  holder: Holder;
  row: WithdrawalRow;
  open: Open;
  /** The withdrawals that the replacement pays. */
  pays: WithdrawalRow[];
  /** The withdrawals whose approval it needs: those, or the one whose cancellation pays nobody. */
  concerned: WithdrawalRow[];
  planned: Planned;
};

/** A preview of the replacement of a withdrawal's transaction, and the intents whose higher fee needs an approval. */
export async function previewReplacement(app: App, row: WithdrawalRow, wanted: ReplaceRequest): Promise<Preview> {
  const { holder, planned, pays, concerned } = await replacement(app, row, wanted, () => FEE_UNLIMITED);
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
  const found = await replacement(app, row, wanted, (concerned) =>
    concerned.reduce((sum, one) => sum + (approvals.get(one.uuid)?.feeMax ?? one.fee_held), 0n),
  );
  return app.store.write((tx) =>
    overtakenIsRejected(() => {
      const { planned, holder, open, pays } = found;
      const { spend, known } = needOpen(tx, holder, found.row);
      // it was planned from another one, which paid others or another amount
      if (known.at(-1)?.version.id !== open.known.at(-1)?.version.id) throw new Overtaken('another version was signed');
      if (pays.some(({ id }) => withdrawalOf(tx, id).spend_id !== spend.id))
        throw new Overtaken('another payment pays it');
      if (isOutside(holder.account)) dropUnsigned(app, tx, spend.id);
      // a lost machine may have canceled what the wallet, which was restored, pays again
      for (const { id } of pays) setCancel(app, tx, id, false);
      const raised = raisedFees(app, tx, found, wanted, approvals);
      needCancellation(found, raised);
      if (wanted.kind === 'cancel') setCancel(app, tx, found.row.id, true);
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
  feeMaxOf: (concerned: readonly WithdrawalRow[]) => bigint,
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
  const concerned = pays.length > 0 ? pays : [row];
  const isSweep = pays.some(({ sweep }) => sweep);
  const wanted: PlanRequest = {
    payouts: pays.map(({ address, units, sweep }) => ({ address, units: sweep ? null : units })),
    conflictKeys: open.keys,
    spendId: open.spend.id,
    // a sweep or a complete cancellation has enough coins
    ...(pays.length === 0 || isSweep ? { only: [] } : {}),
    // a faster sweep takes no money that came after its approval
    ...(isSweep ? { inputsMax: takenBy(holder, versions.at(-1)!) } : {}),
    settledOnly: pays.some(({ approved_by }) => isUnasked(approved_by)),
    ...(await outbidding(holder, open, feeRate)),
    feeMax: feeMaxOf(concerned),
  };
  const planned = await prepare(app, holder, wanted);
  return { holder, row, open, pays, concerned, planned };
}

/** The units of the paid asset that a version takes, fee included. */
function takenBy({ chain, asset }: Holder, version: VersionRow): bigint {
  const { outputs, fee } = readPlan(version.plan);
  return outputs.reduce((sum, { units }) => sum + units, chain.spending.feeAsset === asset ? fee : 0n);
}

/**
 * The payments of the newest version that no other payment made instead (`spends/displaced.ts`). Those that are paid `anew` may have been
 * canceled by one that nobody here can send.
 */
function paidLast(reader: Reader, versions: readonly VersionRow[], anew = false): WithdrawalRow[] {
  const newest = versions.at(-1);
  const isPassed = anew && newest?.raw === null;
  const last = isPassed ? versions.findLast(({ id }) => reader.all(paidBy, { version_id: id }).length > 0) : newest;
  return last ? reader.all(paidBy, { version_id: last.id }).filter(({ spend_id }) => spend_id === last.spend_id) : [];
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
export function needOpen(reader: Reader, { chain, account }: Holder, { id }: WithdrawalRow): Open {
  const { state, spend_id } = withdrawalOf(reader, id);
  const isSent = state === 'signed' || state === 'broadcast';
  const spend = isSent && spend_id !== null ? spendOf(reader, spend_id) : null;
  const found = spend && replaceFacts(reader, chain, spend, isOutside(account));
  const why = whyFixed(chain.spending.replacement !== 'none', found?.facts ?? null);
  if (why !== null) {
    const [code, text] = FIXED[why];
    throw new Rejected(code, text(`Withdrawal ${id} is ${state}`, chain.adapter.chain));
  }
  assert(found?.keys, 'what may be replaced has conflict keys');
  return { ...found, keys: found.keys };
}

/** `is`: the state of the withdrawal in words. `chain`: its chain. */
const FIXED: Record<Fixed, readonly [code: RejectCode, text: (is: string, chain: string) => string]> = {
  final: [
    'withdrawal.no_replacement',
    (_, chain) =>
      `${chain} knows no replacement: the transaction is sent again as it is, and gets another one only once nodes refuse it`,
  ],
  nothing: ['withdrawal.state', (is) => `${is}: there is nothing to replace`],
  signing: ['withdrawal.state', () => 'Another version is being signed: try again in a moment'],
  confirmed: ['withdrawal.state', () => 'It is confirmed: there is nothing to replace'],
  no_coin: [
    'withdrawal.no_coin',
    () => 'Every coin that another transaction would have to spend is away, so that nothing can take its place yet',
  ],
  descendant: [
    'withdrawal.descendant',
    () => 'A later transaction of ours spends its change: it can be replaced once that one is confirmed',
  ],
};
