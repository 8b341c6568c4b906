/**
 * What the chain's facts mean for withdrawals, inside the transaction that applies those facts.
 *
 * Invariant: what spends a spend's anchor is the whole truth about it, read anew at each update while the spend is open.
 * It is closed, and the inputs of its other versions are free, once that spender is buried; a reorganisation that reaches
 * so deep opens it again.
 */
import type { BlockId } from '../../domain/chain.ts';
import { type AnchorFact, BURIED_BLOCKS, eventsOf, type Spender, stepWithdrawal } from '../../domain/withdrawal.ts';
import { type CreditRow, creditByOutpoint, creditsSpentInBlock, type TargetRow } from '../../store/queries/credits.ts';
import { insertAlert } from '../../store/queries/effects.ts';
import {
  openSpends,
  payoutsOf,
  type SpendRow,
  setSpendState,
  setVersionSent,
  spendById,
  spendsByAnchor,
  unclaimedWithdrawal,
  type VersionRow,
  versionByTxid,
  versionsOf,
  type WithdrawalRow,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains.ts';
import { quarantineOf } from '../quarantine.ts';
import { applyEvent, saveWithdrawal, stateOf } from './rows.ts';

/** Whether a new credit is the change of a transaction of ours, which is ours before it confirms. */
export function isOwnChange(reader: Reader, target: TargetRow, txid: string): boolean {
  if (target.branch !== 1) return false;
  const version = reader.get(versionByTxid, { txid, chain_key: target.chain_key });
  // what is paid on from a stranger's unconfirmed deposit can still be taken back by the stranger
  return version !== undefined && reader.get(spendById, { id: version.spend_id })?.purpose === 'pay';
}

/** Opens the spends again whose end was in a block that left the chain. Called before those blocks are undone. */
export function reopenSpends(tx: Tx, chain: ChainRuntime, orphaned: readonly BlockId[]): void {
  for (const { hash } of orphaned) {
    for (const { outpoint } of tx.all(creditsSpentInBlock, { block_hash: hash })) {
      for (const spend of tx.all(spendsByAnchor, { anchor: outpoint, chain_key: chain.key })) {
        if (spend.state !== 'open') tx.run(setSpendState, { id: spend.id, state: 'open' });
      }
    }
  }
}

/** Brings every open spend of a chain in line with what is known now. Called after the credits were written. */
export function settleSpends(app: App, tx: Tx, chain: ChainRuntime, tipHeight: number): void {
  for (const spend of tx.all(openSpends, { chain_key: chain.key })) settleSpend(app, tx, chain, spend, tipHeight);
  // coins that somebody waits for may be there now
  if (tx.get(unclaimedWithdrawal, { chain_key: chain.key })) tx.afterCommit(() => app.wake.withdrawals(chain.key));
}

function settleSpend(app: App, tx: Tx, chain: ChainRuntime, spend: SpendRow, tipHeight: number): void {
  const coin = tx.get(creditByOutpoint, { outpoint: spend.anchor, chain_key: spend.chain_key });
  const buried = BURIED_BLOCKS[chain.adapter.chain];
  const anchor = lostWithParent(tx, coin, tipHeight, buried) ?? anchorFact(coin, tipHeight);
  // what left the mempool is to be sent again
  if (anchor.spentBy === null) tx.afterCommit(() => app.wake.withdrawals(chain.key));
  const versions = tx.all(versionsOf, { spend_id: spend.id });
  const spender = versions.find(({ txid }) => txid !== null && txid === anchor.spentBy);
  // after a restore, what is not known may be a version that was signed before: it is looked at first
  if (!spender && isToBeLookedAt(tx, chain, anchor)) return;
  // a crash came between its sending and the note of it
  if (spender && spender.sent_at === null) tx.run(setVersionSent, { id: spender.id, sent_at: app.now() });
  const paid = new Set(spender ? tx.all(payoutsOf, { version_id: spender.id }).map((row) => row.withdrawal_id) : []);
  const withdrawals = tx.all(withdrawalsOfSpend, { spend_id: spend.id });
  for (const row of withdrawals) {
    const kind: Spender = !spender ? 'foreign' : paid.has(row.id) ? 'pays' : 'ours';
    settleWithdrawal(app, tx, row, { anchor, kind, spender, shares: paid.size, buried });
  }
  if (anchor.spentBy !== null && !spender) alertForeign(app, tx, spend, withdrawals, anchor);
  if (anchor.spentBy !== null && anchor.depth >= buried) tx.run(setSpendState, { id: spend.id, state: 'buried' });
}

function isToBeLookedAt(reader: Reader, chain: ChainRuntime, { spentBy }: AnchorFact): boolean {
  if (spentBy === null || !quarantineOf(reader)) return false;
  return !reader.get(versionByTxid, { txid: spentBy, chain_key: chain.key });
}

function anchorFact(coin: CreditRow | undefined, tipHeight: number): AnchorFact {
  if (!coin || coin.spent_txid === null) return { spentBy: null, depth: 0 };
  const height = coin.spent_block_height;
  return { spentBy: coin.spent_txid, depth: height === null ? 0 : Math.max(0, tipHeight - height + 1) };
}

/**
 * An anchor that was our change can never be there again once something else is buried in place of the transaction that
 * made it: that takes the anchor along.
 */
function lostWithParent(
  reader: Reader,
  coin: CreditRow | undefined,
  tipHeight: number,
  buried: number,
): AnchorFact | null {
  if (!coin || coin.gone === 0 || coin.own_change === 0) return null;
  const { chain_key } = coin;
  const version = reader.get(versionByTxid, { txid: coin.txid, chain_key });
  const parent = version && reader.get(spendById, { id: version.spend_id });
  const grandcoin = parent && reader.get(creditByOutpoint, { outpoint: parent.anchor, chain_key });
  const fact = lostWithParent(reader, grandcoin, tipHeight, buried) ?? anchorFact(grandcoin, tipHeight);
  return fact.spentBy !== null && fact.spentBy !== coin.txid && fact.depth >= buried ? fact : null;
}

type Found = {
  anchor: AnchorFact;
  kind: Spender;
  spender: VersionRow | undefined;
  /** How many withdrawals share the spender's fee. */
  shares: number;
  buried: number;
};

function settleWithdrawal(app: App, tx: Tx, before: WithdrawalRow, found: Found): void {
  const { anchor, kind, spender, buried } = found;
  const pays = anchor.spentBy !== null && kind === 'pays' && spender !== undefined;
  let row = before;
  for (const event of eventsOf(anchor, kind, buried)) {
    // a version that is only planned says nothing yet
    if (!stepWithdrawal(stateOf(row), event)) return;
    row = applyEvent(app, tx, row, event, {
      ...(event === 'pay' && spender ? { txid: spender.txid, fee: feeShare(spender, found.shares), reason: null } : {}),
      ...(event === 'unpay' && row.state === 'completed' ? { txid: null } : {}),
      ...(event === 'lose' ? { reason: kind === 'ours' ? 'canceled' : 'conflict', txid: null } : {}),
    });
  }
  const held = row.state === 'signed' || row.state === 'broadcast' ? (pays ? 0 : 1) : 0;
  if (row.held !== held) saveWithdrawal(app, tx, { ...row, held }, row.state);
}

/** One withdrawal's share of a version's fee: rounded up, so that the shares are never less than the fee. */
export function feeShare({ fee }: Pick<VersionRow, 'fee'>, shares: number): string {
  const count = BigInt(Math.max(1, shares));
  return ((BigInt(fee) + count - 1n) / count).toString();
}

function alertForeign(
  app: App,
  tx: Tx,
  spend: SpendRow,
  withdrawals: readonly WithdrawalRow[],
  anchor: AnchorFact,
): void {
  const ids = withdrawals.map(({ id }) => id).join(', ');
  const what = withdrawals.length > 0 ? `withdrawal ${ids}` : `the bump of ${spend.anchor}`;
  tx.run(insertAlert, {
    kind: 'withdrawal.conflict',
    subject: `${anchor.spentBy}`,
    message:
      `Transaction ${anchor.spentBy}, which this wallet did not make, spends a coin of ${what}: ` +
      'somebody else has the keys, or another copy of this wallet is running',
    created_at: app.now(),
  });
}
