/**
 * Applies the chain's facts to withdrawals, inside the transaction that stores those facts.
 *
 * Invariant: the state of a spend follows only from the users of its versions' conflict keys. It is derived again at
 * each update until it is decided: one version is buried, which makes every other one impossible, or all are
 * impossible. Then the keys of its other versions are free. A reorganisation of that depth reopens it.
 */
import { isDeepStrictEqual } from 'node:util';
import { assetOf } from '../../domain/assets.ts';
import type { BlockId } from '../../domain/chain.ts';
import { type Message, message } from '../../domain/messages.ts';
import { formatUnits, shareOf } from '../../domain/money.ts';
import { isNonceKey } from '../../domain/spend.ts';
import {
  decideSpend,
  decideWithdrawal,
  isSpendProblem,
  SPEND_STATES,
  type WithdrawalDecision,
} from '../../domain/spend-state.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { creditsOfTransaction, targetById } from '../../store/queries/credits.ts';
import { debitsOfTransaction } from '../../store/queries/debits.ts';
import { markOwnChange } from '../../store/queries/match.ts';
import {
  dropDeadTransactions,
  type PayoutRow,
  reopenSpendsFrom,
  type SpendRow,
  setSpendState,
  unclaimedWithdrawal,
  type VersionRow,
  versionByTxid,
  type WithdrawalRow,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseOn } from '../alerts.ts';
import type { App } from '../app.ts';
import { Entries } from '../books/entries.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { isQuarantined, leftOn } from '../recovery/quarantine.ts';
import { takeBack } from './displaced.ts';
import { type PaymentFacts, paymentFacts, type SignedVersion, unsettledFacts } from './facts.ts';
import { isOutside } from './plan.ts';
import { closeRefusals, noteSent } from './refusals.ts';
import { applyEvent, saveWithdrawal } from './rows.ts';
import { readPlan } from './stored-plan.ts';

const COIN_MISSING = 'withdrawal.coin_missing';

/**
 * Reopens the spends whose decision a reorganisation may undo, and forgets the transactions that its blocks had made
 * impossible.
 */
export function reopenSpends(tx: Tx, chain: ChainRuntime, orphaned: readonly BlockId[]): void {
  if (orphaned.length === 0) return;
  const lowest = Math.min(...orphaned.map(({ height }) => height));
  // a decision is stored with the height of the tip, which is above the deciding block by this depth
  const height = lowest + BURIED_BLOCKS[chain.adapter.chain] - 1;
  tx.run(reopenSpendsFrom, { chain_key: chain.key, height });
  for (const { hash } of orphaned) tx.run(dropDeadTransactions, { block_hash: hash });
}

/** Settles every open spend of a chain by the current facts. Called after the credits were written. `tipHeight`: of the facts. */
export function settleSpends(app: App, tx: Tx, chain: ChainRuntime, tipHeight: number = tipHeightOf(tx, chain)): void {
  for (const payment of unsettledFacts(tx, chain, tipHeight)) {
    const isBack = takeBack(app, tx, chain, payment);
    settleSpend(app, tx, chain, isBack ? paymentFacts(tx, chain, payment.spend, tipHeight) : payment, tipHeight);
  }
  // new coins may suffice for a waiting withdrawal, or a payment made after the backup may have appeared
  if (isQuarantined(tx) || tx.get(unclaimedWithdrawal, { chain_key: chain.key }))
    tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

/**
 * Settles a transaction that is stored only now as a version of ours, though the chain may show it already. `isChangeOurs`: whether its
 * change counts before it confirms, like that of every payment made here.
 */
export function settleStored(app: App, tx: Tx, chain: ChainRuntime, txid: string, isChangeOurs: boolean): void {
  const credits = isChangeOurs
    ? tx.all(creditsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key: chain.key })
    : [];
  for (const { id, target_id } of credits) {
    if (tx.get(targetById, { id: target_id })?.branch === 1) tx.run(markOwnChange, { id });
  }
  // the books took its fee for a part of the payment, because the fee is known of our own transactions only
  const entries = new Entries(app, chain, tx, () => undefined);
  entries.touch(txid);
  entries.flush();
  settleSpends(app, tx, chain);
}

function settleSpend(app: App, tx: Tx, chain: ChainRuntime, payment: PaymentFacts, tipHeight: number): void {
  const { spend, signed, withdrawals, facts } = payment;
  const decision = decideSpend(facts);
  const seen = decision.seen === null ? null : signed[decision.seen]!;
  const strange = strangersOf(tx, chain, signed);
  // a version that left the mempool must be sent again, and a foreign transaction must be checked
  if (!seen) tx.afterCommit(() => app.wake.withdrawals(chain.key));
  // after a restore, an unknown transaction may be a version that was signed before
  if (strange.length > 0 && isSearching(tx, chain)) return;
  // its next pass reads them first
  if (mayBeCopy(app, chain, spend, strange)) {
    tx.afterCommit(() => app.wake.withdrawals(chain.key));
    return;
  }
  // a crash happened between sending it and recording that
  if (seen && seen.version.sent_at === null) noteSent(app, tx, seen.version);
  const failed = spend.subject === null || decision.failed === null ? null : signed[decision.failed]!;
  if (failed && spend.forwards === null) app.gas.failed(app, tx, spend, `${failed.version.txid}`);
  const named = paymentIn(spend, withdrawals);
  const among = new Set(signed.flatMap(({ pays }) => pays.map(({ withdrawal_id }) => withdrawal_id))).size;
  const shown = decision.seen ?? decision.failed;
  let isOpen = false;
  for (const row of withdrawals) {
    const paying = signed.flatMap(({ pays }, place) => (paysTo(pays, row) ? [place] : []));
    const result = decideWithdrawal(facts, decision, { state: row.state, paying });
    if (!result) continue;
    const settlement: Settlement = {
      ...result,
      payer: result.isPaying ? seen : null,
      newest: paying.length === 0 ? null : signed[paying.at(-1)!]!,
      ender: shown === null ? null : signed[shown]!,
      among,
      isOurs: result.loss !== null && !isOutside(app.directory.accountOf(spend.account_id)),
      isTold: strange.length > 0,
    };
    if (mayBePaid(tx, chain, row, settlement)) isOpen = true;
    else settleWithdrawal(app, tx, row, settlement);
  }
  // the coins of what was given up are free for the other wallet
  const alarming = facts.isAbandoned ? [] : strange;
  for (const txid of alarming) {
    // one transaction may conflict with several payments
    raiseOn(app, tx, spend.chain_key, `${txid} ${spend.id}`, 'withdrawal.conflict', { tx: txid, payment: named });
  }
  if (decision.refusalsEnd) closeRefusals(app, tx, payment.versions);
  const { stored: state } = SPEND_STATES[decision.state];
  if (spend.state === state || isOpen) return;
  const isDecided = state === 'buried';
  tx.run(setSpendState, { id: spend.id, state, closed_height: isDecided ? tipHeight : null });
  // a funded address can be collected now
  if (isDecided && spend.subject !== null) tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

/** Transactions that use a conflict key of the spend and belong to no spend of ours. */
export function strangersOf(reader: Reader, chain: ChainRuntime, known: readonly SignedVersion[]): string[] {
  const users = new Set(known.flatMap((version) => version.users));
  return [...users].filter((txid) => !reader.get(versionByTxid, { txid, chain_key: chain.key }));
}

/**
 * By chain: transactions that spend coins of a payment that was handed out to another wallet, and that were read and are not that payment.
 * After a restart they are read again.
 */
const foreign = new WeakMap<ChainRuntime, Set<string>>();

export const isForeign = (chain: ChainRuntime, txid: string): boolean => foreign.get(chain)?.has(txid) === true;

export function noteForeign(chain: ChainRuntime, txid: string): void {
  foreign.set(chain, (foreign.get(chain) ?? new Set()).add(txid));
}

/** Whether one of these transactions may be a copy of a payment that another wallet signs, and was not read yet. */
function mayBeCopy(app: App, chain: ChainRuntime, spend: SpendRow, txids: readonly string[]): boolean {
  return txids.some((txid) => !isForeign(chain, txid)) && isOutside(app.directory.accountOf(spend.account_id));
}

const paysTo = (pays: readonly PayoutRow[], { id }: WithdrawalRow): boolean =>
  pays.some(({ withdrawal_id }) => withdrawal_id === id);

type Settlement = WithdrawalDecision & {
  /** The version that the chain shows, if it pays the withdrawal. */
  payer: SignedVersion | null;
  /** The newest version that pays the withdrawal; null: none does. */
  newest: SignedVersion | null;
  /** The version that is in a block, with or without an effect; null: none, so that another's transaction ended it. */
  ender: SignedVersion | null;
  /** How many withdrawals the spend's versions pay. */
  among: number;
  /**
   * Whether this service signs for its account, so that what displaced it was made by another machine with this wallet. Asked of what is
   * lost.
   */
  isOurs: boolean;
  /** Whether another alert already reports that a foreign transaction spends our coins. */
  isTold: boolean;
};

function settleWithdrawal(app: App, tx: Tx, before: WithdrawalRow, settled: Settlement): void {
  const { events, held } = settled;
  const change = columnsOf(tx, before, settled);
  const kept = events.includes('pay') && before.state !== 'completed' ? keptOf(tx, before, settled) : null;
  const row = events.reduce((now, event) => applyEvent(app, tx, now, event, change), before);
  // why no version is sent says more than why a replacement was refused
  const isOthers = row.problem !== null && settled.problem === null && !isSpendProblem(row.problem.code);
  const problem = isOthers ? null : settled.problem;
  const isNew = !isOthers && !isDeepStrictEqual(row.problem, problem);
  if (row.held !== held || isNew) {
    saveWithdrawal(app, tx, { ...row, held, problem: isNew ? problem : row.problem }, row.state);
  }
  const { id, chain_key, asset } = row;
  // the recipient got less than was approved
  if (kept !== null) raiseOn(app, tx, chain_key, `${id}`, 'withdrawal.short', { id, amount: kept, asset });
  // until the chain shows a version or the spend is decided
  if (isNew && problem !== null && !settled.isTold) {
    raiseOn(app, tx, chain_key, `${id}`, COIN_MISSING, { id, reason: problem });
  }
  if (settled.isFound) endIn(app, tx, COIN_MISSING, `${id}`);
}

/** The columns that change with the events: the first one decides, and a `send` after it changes none. */
function columnsOf(reader: Reader, row: WithdrawalRow, settled: Settlement): Partial<WithdrawalRow> {
  const { events, payer, newest, loss } = settled;
  const [event] = events;
  if (event === 'pay' && payer) {
    const { version, pays } = payer;
    return {
      txid: version.txid,
      // each version of a sweep pays its amount less its own fee, and an older version may be mined
      units: pays.find(({ withdrawal_id }) => withdrawal_id === row.id)?.units ?? row.units,
      fee: shareOf(paidFee(reader, version, row), pays.length),
      reason: null,
    };
  }
  if (loss !== null)
    return { reason: reasonOf(reader, row, settled, loss), txid: null, fee: lostFee(reader, row, settled) };
  if (event === 'unpay' && row.state === 'completed') return { txid: null };
  // a reorganisation undid what ended it: its money is reserved by the fee that was signed
  return event === 'unpay' && row.state === 'failed' && newest ? { fee: signedFee(newest) } : {};
}

/**
 * Names the transaction that another machine with this wallet made instead, since that machine may have paid this one, too. One of the
 * wallet of a watch-only account may be a payment of this service that was given up.
 */
function reasonOf(
  reader: Reader,
  { cancel, chain_key }: WithdrawalRow,
  { ender, newest, isOurs }: Settlement,
  loss: NonNullable<WithdrawalDecision['loss']>,
): Message {
  if (!isOurs) return message(loss);
  const txid = newest?.lack?.usedBy ?? null;
  const unknown = txid === null ? undefined : reader.get(versionByTxid, { txid, chain_key });
  if (loss === 'ended.canceled' && ender && !cancel && !isCancellation(ender))
    return message('ended.elsewhere', { tx: `${ender.version.txid}` });
  if (loss === 'ended.conflict' && unknown) return message('ended.elsewhere', { tx: `${unknown.txid}` });
  return message(loss);
}

/**
 * Whether another machine only canceled the payment: it let its coin come back to the wallet, or used up its nonce. A nonce may also have been
 * used to move money within the wallet.
 */
const isCancellation = ({ version, pays, keys }: SignedVersion): boolean =>
  pays.length === 0 && (!keys.some(isNonceKey) || readPlan(version.plan).outputs.every(({ units }) => units === 0n));

/** Whether a withdrawal that was displaced is not lost yet, because the search that may find its payment goes on (`displaced.ts`). */
function mayBePaid(reader: Reader, chain: ChainRuntime, row: WithdrawalRow, settled: Settlement): boolean {
  const { loss } = settled;
  if (loss === null || reasonOf(reader, row, settled, loss).code !== 'ended.elsewhere') return false;
  return isSearching(reader, chain);
}

/** Whether transactions that another machine made are still being looked for. */
const isSearching = (reader: Reader, { key }: ChainRuntime): boolean =>
  isQuarantined(reader) || leftOn(reader, key) > 0;

/** A withdrawal's part of the fee of a version that pays it, smallest units, rounded up. */
const signedFee = ({ version, pays }: SignedVersion): bigint => shareOf(version.fee, pays.length);

/** The part of a fee that was paid in vain for a withdrawal, smallest units, rounded up. */
function lostFee(reader: Reader, row: WithdrawalRow, { ender, among }: Pick<Settlement, 'ender' | 'among'>): bigint {
  if (ender === null) return 0n;
  const { version, pays } = ender;
  // a batch is sent without the canceled one, and pays the fee
  if (pays.length > 0 && !paysTo(pays, row)) return 0n;
  return shareOf(paidFee(reader, version, row), pays.length || among);
}

/** The fee that a transaction really paid, where the chain reports it: an account chain takes less than the highest fee. */
function paidFee(reader: Reader, version: VersionRow, { fee_asset }: WithdrawalRow): bigint {
  return reportedFee(reader, version, fee_asset) ?? version.fee;
}

/** The fees of a transaction in one asset, as an account chain reports them; null: it reports none. */
function reportedFee(reader: Reader, { txid, chain_key }: VersionRow, asset: string): bigint | null {
  const debits = reader
    .all(debitsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key })
    .filter((debit) => debit.kind === 'fee' && debit.asset === asset && debit.target_id !== null);
  return debits.length === 0 ? null : debits.reduce((sum, { units }) => sum + units, 0n);
}

/** The amount that a token kept of a payment, in words; null: none. */
function keptOf(reader: Reader, { asset, fee_asset }: WithdrawalRow, { payer }: Settlement): string | null {
  const kept = payer && asset !== fee_asset ? reportedFee(reader, payer.version, asset) : null;
  return kept === null ? null : formatUnits(kept, assetOf(asset));
}

/** A payment in words, by what it pays. */
const paymentIn = ({ subject }: SpendRow, withdrawals: readonly WithdrawalRow[]): Message =>
  withdrawals.length > 0
    ? message('payment.withdrawal', { ids: withdrawals.map(({ id }) => id).join(', ') })
    : message('payment.own', { address: `${subject}` });
