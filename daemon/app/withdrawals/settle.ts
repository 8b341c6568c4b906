/**
 * Applies the chain's facts to withdrawals, inside the transaction that stores those facts.
 *
 * Invariant: the state of a spend follows only from the users of its versions' conflict keys. It is derived again at
 * each update until it is decided: one version is buried, which makes every other one impossible, or all are
 * impossible. Then the keys of its other versions are free. A reorganisation of that depth reopens it.
 */
import { assetOf } from '../../domain/assets.ts';
import type { BlockId, DebitKind } from '../../domain/chain.ts';
import { networkOf } from '../../domain/chain.ts';
import { MESSAGES, type Message, message, textIn, type Value } from '../../domain/messages.ts';
import { formatUnits } from '../../domain/money.ts';
import { BURIED_BLOCKS, eventsOf, isDecided, isSigned } from '../../domain/withdrawal.ts';
import type { TargetRow } from '../../store/queries/credits.ts';
import { debitsOfTransaction } from '../../store/queries/debits.ts';
import {
  dropDeadTransactions,
  openSpends,
  type PayoutRow,
  payoutsOf,
  reopenSpendsFrom,
  type SpendRow,
  setSpendState,
  spendById,
  unclaimedWithdrawal,
  type VersionRow,
  versionByTxid,
  versionsOf,
  type WithdrawalRow,
  waitingSpends,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { haltPlan } from '../gas/plans.ts';
import { quarantineOf } from '../recovery/quarantine.ts';
import { type Known, sharedKeys, versionFacts } from './facts.ts';
import { keyState } from './keys.ts';
import { shareOf } from './plan.ts';
import { closeRefusals, noteSent } from './refusals.ts';
import { applyEvent, problemColumns, reasonColumns, saveWithdrawal, stateOf, storedProblem } from './rows.ts';

/** The kind of a transaction that pays no known withdrawal; it is only remembered as checked. Its debits are booked all the same. */
export const UNKNOWN = 'unknown';

/** Whether a new credit is the change of a transaction of ours, which counts before it confirms. */
export function isOwnChange(reader: Reader, target: TargetRow, txid: string): boolean {
  if (target.branch !== 1) return false;
  const version = reader.get(versionByTxid, { txid, chain_key: target.chain_key });
  // the sender of an unconfirmed deposit can still take it back, so a bump's output does not count yet
  return version !== undefined && reader.get(spendById, { id: version.spend_id })?.purpose === 'pay';
}

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

/** Settles every open spend of a chain by the current facts. Called after the credits were written. */
export function settleSpends(app: App, tx: Tx, chain: ChainRuntime, tipHeight: number): void {
  for (const spend of unsettledSpends(tx, chain)) settleSpend(app, tx, chain, spend, tipHeight);
  // new coins may suffice for a waiting withdrawal, or a payment made after the backup may have appeared
  if (quarantineOf(tx) || tx.get(unclaimedWithdrawal, { chain_key: chain.key }))
    tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

/** The spends that are not decided yet. */
export function unsettledSpends(reader: Reader, { key }: ChainRuntime): SpendRow[] {
  return [...reader.all(openSpends, { chain_key: key }), ...reader.all(waitingSpends, { chain_key: key })];
}

function settleSpend(app: App, tx: Tx, chain: ChainRuntime, spend: SpendRow, tipHeight: number): void {
  const known = versionFacts(tx, spend, tipHeight);
  const seen = seenOf(known);
  const strange = strangersOf(tx, chain, known);
  // a version that left the mempool must be sent again, and a foreign transaction must be checked
  if (!seen) tx.afterCommit(() => app.wake.withdrawals(chain.key));
  // after a restore, an unknown transaction may be a version that was signed before
  if (strange.length > 0 && quarantineOf(tx)) return;
  // a crash happened between sending it and recording that
  if (seen && seen.version.sent_at === null) noteSent(app, tx, seen.version);
  const versions = tx.all(versionsOf, { spend_id: spend.id });
  const buried = BURIED_BLOCKS[chain.adapter.chain];
  const planned = versions.length > known.length;
  const decided = !planned && known.length > 0 && known.every((one) => isDecided(one, buried));
  const reverted = spend.subject === null ? undefined : known.find(hasFailed);
  if (reverted) haltPlan(app, tx, spend, `${reverted.version.txid}`);
  // nobody here can send or replace what another machine made, and to spend its coins makes it impossible
  const isLost = spend.purpose === UNKNOWN && !seen;
  const stuck = !decided && !planned && (isLost || isStuck(tx, spend, known));
  const payouts = known.map((one) => ({ ...one, pays: tx.all(payoutsOf, { version_id: one.version.id }) }));
  const withdrawals = tx.all(withdrawalsOfSpend, { spend_id: spend.id });
  const problem = decided || seen ? null : problemOf(known, { stuck, buried });
  for (const row of withdrawals) {
    const paying = payouts.filter(({ pays }) => pays.some(({ withdrawal_id }) => withdrawal_id === row.id));
    settleWithdrawal(app, tx, row, { paying, seen, stuck, buried, problem, isTold: strange.length > 0 });
  }
  for (const txid of strange) alertForeign(app, tx, spend, withdrawals, txid);
  // a refusal matters only while the refused version is still needed
  const over = decided || (seen !== undefined && ((seen.depth ?? 0) > 0 || seen === known.at(-1)));
  if (over) closeRefusals(app, tx, versions);
  const state = decided ? 'buried' : stuck ? 'waiting' : 'open';
  if (spend.state === state) return;
  tx.run(setSpendState, { id: spend.id, state, closed_height: decided ? tipHeight : null });
  // a funded address can be collected now
  if (decided && spend.subject !== null) tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

/** The version that the chain shows: the one in the deepest block, or the one in the mempool. */
export function seenOf(known: readonly Known[]): Known | undefined {
  return known.reduce<Known | undefined>(
    (best, one) => (one.depth !== null && one.depth > (best?.depth ?? -1) ? one : best),
    undefined,
  );
}

/** Transactions that use a conflict key of the spend and belong to no spend of ours. */
function strangersOf(reader: Reader, chain: ChainRuntime, known: readonly Known[]): string[] {
  const users = new Set<string>();
  for (const key of new Set(known.flatMap(({ keys }) => keys))) {
    const state = keyState(reader, chain, key);
    if (state?.isThere && state.usedBy !== null) users.add(state.usedBy);
  }
  return [...users].filter((txid) => !reader.get(versionByTxid, { txid, chain_key: chain.key }));
}

/**
 * Whether no signed version can be sent now, and none can be replaced, because coins vanished. This may never end. If
 * another transaction spends the coin in a block, it ends when that block is buried.
 */
function isStuck(reader: Reader, spend: SpendRow, known: readonly Known[]): boolean {
  const possible = known.some(({ lack, depth }) => lack === null || depth !== null);
  return !possible && known.some(({ vanished }) => vanished) && sharedKeys(reader, spend, known) === null;
}

/** The beginnings of the problem texts that this file writes and removes. */
const MINE = (['wait.coin_lost', 'wait.reverted'] as const).map((code) => MESSAGES[code].replace(/\{.*/, ''));

/** Why no version can be sent now; null if one can. */
function problemOf(known: readonly Known[], { stuck, buried }: { stuck: boolean; buried: number }): Message | null {
  const lack = known.at(-1)?.lack;
  if (!lack || known.some((one) => one.lack === null)) return null;
  const failed = known.find(hasFailed);
  if (failed) {
    return message('wait.reverted', { tx: `${failed.version.txid}`, buried, depth: failed.dead });
  }
  const surest = known.reduce((a, b) => (b.dead < a.dead ? b : a));
  const { key, usedBy } = lack;
  const coin = usedBy === null ? message('coin.left', { coin: key }) : message('coin.spent', { coin: key, tx: usedBy });
  if (surest.dead > 0) return message('wait.coin_lost', { coin, buried, depth: surest.dead });
  return message(stuck ? 'wait.coin_stuck' : 'wait.coin_away', { coin });
}

type Found = {
  /** The versions that pay the withdrawal. */
  paying: (Known & { pays: PayoutRow[] })[];
  /** The version of its spend that the chain shows. */
  seen: Known | undefined;
  stuck: boolean;
  buried: number;
  problem: Message | null;
  /** Whether another alert already reports that a foreign transaction spends our coins. */
  isTold: boolean;
};

function settleWithdrawal(app: App, tx: Tx, before: WithdrawalRow, found: Found): void {
  const { paying, seen, stuck, buried } = found;
  const payer = paying.find(({ version }) => version.id === seen?.version.id);
  // a planned version has no facts yet
  if (!isSigned(stateOf(before)) && before.state !== 'failed') return;
  let row = before;
  for (const event of eventsOf(paying, buried)) {
    row = applyEvent(app, tx, row, event, {
      ...(event === 'pay' && payer
        ? {
            txid: payer.version.txid,
            // each version of a sweep pays its amount less its own fee, and an older version may be mined
            units: payer.pays.find(({ withdrawal_id }) => withdrawal_id === row.id)?.units ?? row.units,
            fee: feeShare({ fee: paidFee(tx, payer.version, row) }, payer.pays.length),
            ...reasonColumns(null),
          }
        : {}),
      ...(event === 'unpay' && row.state === 'completed' ? { txid: null } : {}),
      ...(event === 'lose' ? { ...reasonColumns(message(lossOf(paying, seen))), txid: null } : {}),
    });
  }
  if (payer && before.state !== 'completed' && row.state === 'completed' && row.asset !== row.fee_asset) {
    tellKept(app, tx, row, payer);
  }
  const open = row.state === 'signed' || row.state === 'broadcast';
  const held = open && !payer && !stuck;
  // other texts were written by other files
  const { problem: was } = row;
  const mine = was === null || MINE.some((beginning) => was.startsWith(beginning));
  const problem = mine ? (open ? found.problem : null) : storedProblem(row);
  const isNew = was !== textIn(problem);
  if (row.held !== held || isNew) saveWithdrawal(app, tx, { ...row, held, ...problemColumns(problem) }, row.state);
  if (mine && isNew && problem !== null && !found.isTold) tellMissing(app, tx, row, problem);
  if (seen || !open) closeMissing(app, tx, row);
}

/** Why none of the versions that pay a withdrawal can confirm. */
function lossOf(
  paying: readonly Known[],
  seen: Known | undefined,
): 'ended.canceled' | 'ended.reverted' | 'ended.conflict' {
  if (seen) return 'ended.canceled';
  return paying.some(hasFailed) ? 'ended.reverted' : 'ended.conflict';
}

/** Whether a transaction is in a block, and had no effect but its fee. */
const hasFailed = ({ lack, version }: Known): boolean => lack !== null && lack.usedBy === version.txid;

const COIN_MISSING = 'withdrawal.coin_missing';

/** Alerts the operator about a missing coin, until the chain shows a version or the spend is decided. */
function tellMissing(app: App, tx: Tx, { id, chain_key }: WithdrawalRow, problem: Value): void {
  raiseIn(
    app,
    tx,
    networkOf(chain_key),
    COIN_MISSING,
    `${id}`,
    message('withdrawal.coin_missing', { id, reason: problem }),
  );
}

function closeMissing(app: App, tx: Tx, { id }: WithdrawalRow): void {
  endIn(app, tx, COIN_MISSING, `${id}`);
}

/** The fee that a transaction really paid, where the chain reports it: an account chain takes less than the highest fee. */
function paidFee(reader: Reader, { txid, chain_key, fee }: VersionRow, { fee_asset }: WithdrawalRow): bigint {
  return reportedOf(reader, { txid, chain_key }, 'fee', fee_asset) ?? fee;
}

/** The debits of one kind and asset of a transaction, as an account chain reports them; null: it reports none. */
function reportedOf(
  reader: Reader,
  { txid, chain_key }: Pick<VersionRow, 'txid' | 'chain_key'>,
  kind: DebitKind,
  asset: string,
): bigint | null {
  const debits = reader
    .all(debitsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key })
    .filter((debit) => debit.kind === kind && debit.asset === asset && debit.target_id !== null);
  return debits.length === 0 ? null : debits.reduce((sum, { units }) => sum + units, 0n);
}

const SHORT = 'withdrawal.short';

/** Tells the operator that a token kept a part of what was sent: the recipient got less than was approved. */
function tellKept(app: App, tx: Tx, { id, asset: symbol, chain_key }: WithdrawalRow, payer: Known): void {
  const kept = reportedOf(tx, payer.version, 'fee', symbol);
  if (kept === null) return;
  const asset = assetOf(symbol);
  const text = message('withdrawal.short', { id, amount: formatUnits(kept, asset), asset: symbol });
  raiseIn(app, tx, networkOf(chain_key), SHORT, `${id}`, text);
}

/** One withdrawal's share of a version's fee. */
export const feeShare = ({ fee }: Pick<VersionRow, 'fee'>, shares: number): bigint => shareOf(fee, shares);

function alertForeign(app: App, tx: Tx, spend: SpendRow, withdrawals: readonly WithdrawalRow[], txid: string): void {
  const ids = withdrawals.map(({ id }) => id).join(', ');
  const payment =
    withdrawals.length > 0
      ? message('payment.withdrawal', { ids })
      : message('payment.own', { address: `${spend.subject}` });
  const text = message('withdrawal.conflict', { tx: txid, payment });
  // one transaction may conflict with several payments
  raiseIn(app, tx, networkOf(spend.chain_key), 'withdrawal.conflict', `${txid} ${spend.id}`, text);
}
