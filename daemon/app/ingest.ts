/**
 * Applies a chain's facts: the one path by which money is seen, confirmed, reorged away, evicted and caught up with.
 *
 * Invariants. An update is applied by compare-and-set on the checkpoint that it was made against, in one transaction
 * with everything that follows from it. A credit in a block is undone only by that block leaving the chain; an
 * unconfirmed one goes only when the mempool view was complete. A credit that went keeps its row, so that what was known
 * of it (above all when it was first seen) holds when it comes back.
 */
import { tipOf } from '../chains/adapter.ts';
import type { BlockId, ChainUpdate, Checkpoint, Credit, SpendSeen } from '../domain/chain.ts';
import { CHECKPOINT_BLOCKS_MAX, INPUTS_KEPT_MAX } from '../domain/chain.ts';
import { assert } from '../domain/errors.ts';
import {
  assignTarget,
  type CreditRow,
  creditsInBlock,
  creditsOfTarget,
  creditsSpentInBlock,
  creditsSpentUnconfirmed,
  targetById,
  unsettledCredits,
  unvaluedCredits,
} from '../store/queries/credits.ts';
import { chainState, saveChainState } from '../store/queries/effects.ts';
import { paymentOf, paymentsToCheck } from '../store/queries/invoices.ts';
import { keepPrevious } from '../store/queries/previous.ts';
import type { Reader, Tx } from '../store/store.ts';
import type { App } from './app.ts';
import type { ChainRuntime } from './chains.ts';
import { CreditBook } from './credits.ts';
import { fileInInbox, settleInvoice } from './settle.ts';
import { isOwnChange, reopenSpends, settleSpends } from './withdrawals/settle.ts';

/** The invoice id of a used address that no invoice was given. */
const NOBODY = 0;
const DEADLINES_PER_UPDATE_MAX = 1_000;
const UNVALUED_PER_UPDATE_MAX = 1_000;
/** An idle chain's time of sync is written this often; in between it is known in memory only. */
const SYNC_TIME_WRITTEN_MS = 60_000;

/** The stored checkpoint of a chain, or null before its first. */
export function checkpointOf(reader: Reader, chain: ChainRuntime): Checkpoint | null {
  const row = reader.get(chainState, { chain_key: chain.key });
  return row ? (JSON.parse(row.checkpoint) as Checkpoint) : null;
}

/** Stores where a chain begins, unless it has begun already. */
export async function beginChain(app: App, chain: ChainRuntime, checkpoint: Checkpoint): Promise<void> {
  await app.store.write((tx) => {
    if (tx.get(chainState, { chain_key: chain.key })) return;
    tx.run(saveChainState, {
      chain_key: chain.key,
      checkpoint: JSON.stringify(checkpoint.slice(-CHECKPOINT_BLOCKS_MAX)),
      synced_at: app.now(),
    });
  });
}

/**
 * Applies an update. `beganAt`: when the sync began that made it, milliseconds since 1970. False when the checkpoint has
 * moved since: the caller syncs again from the new one.
 */
export function ingest(app: App, chain: ChainRuntime, update: ChainUpdate, beganAt: number): Promise<boolean> {
  return app.store.write((tx) => {
    const state = tx.get(chainState, { chain_key: chain.key });
    assert(state, `${chain.key} has a checkpoint`);
    const known = tipOf(JSON.parse(state.checkpoint) as Checkpoint);
    if (known.hash !== update.since.hash || known.height !== update.since.height) return false;

    const tip = tipOf(update.checkpoint);
    const credits = new CreditBook(app, chain, tip.height, tx);
    const lastSyncAt = Math.max(state.synced_at, chain.syncedAt);
    reopenSpends(tx, chain, update.orphaned);
    undoBlocks(tx, credits, update.orphaned);
    for (const credit of update.credits) seeCredit(app, chain, tx, credits, credit, lastSyncAt);
    for (const spend of update.spends) seeSpend(credits, spend);
    if (update.mempool === 'complete') dropAbsent(tx, chain, credits, update);
    const unsettled = tx.all(unsettledCredits, { chain_key: chain.key });
    for (const row of unsettled) credits.edit(row);
    for (const row of tx.all(unvaluedCredits, { chain_key: chain.key, limit: UNVALUED_PER_UPDATE_MAX })) {
      credits.value(row);
    }
    const touched = credits.flush();
    settleSpends(app, tx, chain, tip.height);

    const syncedAt = update.mempool === 'complete' ? Math.max(chain.syncedAt, beganAt) : chain.syncedAt;
    const due = { chain_key: chain.key, synced_at: syncedAt, limit: DEADLINES_PER_UPDATE_MAX };
    for (const row of tx.all(paymentsToCheck, due)) touched.add(row.invoice_id);
    for (const invoiceId of touched) settleInvoice(app, tx, invoiceId, { syncedAt });

    const moved = tip.hash !== known.hash;
    if (moved || syncedAt - state.synced_at >= SYNC_TIME_WRITTEN_MS) {
      tx.run(saveChainState, {
        chain_key: chain.key,
        checkpoint: JSON.stringify(update.checkpoint.slice(-CHECKPOINT_BLOCKS_MAX)),
        synced_at: Math.max(syncedAt, state.synced_at),
      });
    }
    tx.afterCommit(() => {
      chain.syncedAt = syncedAt;
      chain.tipHeight = tip.height;
      // a block changes the confirmations of credits whose rows it leaves as they are
      const waiting = moved ? unsettled.map((row) => row.invoice_id ?? NOBODY) : [];
      for (const invoiceId of new Set([...touched, ...waiting])) app.live.changed(invoiceId);
    });
    return true;
  });
}

/**
 * Applies what blocks of the past held, for a wallet that has a past. Nothing but facts in blocks is taken from it: what
 * is true now comes by `ingest` alone.
 */
export function ingestPast(app: App, chain: ChainRuntime, update: ChainUpdate, tx: Tx): void {
  const state = tx.get(chainState, { chain_key: chain.key });
  assert(state, `${chain.key} has a checkpoint`);
  const tip = tipOf(JSON.parse(state.checkpoint) as Checkpoint);
  const credits = new CreditBook(app, chain, tip.height, tx);
  const settled = (fact: { block: BlockId | null }): boolean => fact.block !== null && fact.block.height <= tip.height;
  for (const credit of update.credits.filter(settled)) seeCredit(app, chain, tx, credits, credit, 0);
  for (const spend of update.spends.filter(settled)) seeSpend(credits, spend);
  for (const invoiceId of credits.flush()) settleInvoice(app, tx, invoiceId);
}

/** Blocks that left the chain take their credits and spends back to the mempool, named in the update or not. */
function undoBlocks(tx: Tx, credits: CreditBook, orphaned: readonly BlockId[]): void {
  for (const { hash } of orphaned) {
    for (const stored of tx.all(creditsInBlock, { block_hash: hash })) credits.place(credits.edit(stored), null);
    for (const stored of tx.all(creditsSpentInBlock, { block_hash: hash })) {
      Object.assign(credits.edit(stored), { spent_block_hash: null, spent_block_height: null });
    }
  }
}

function seeCredit(
  app: App,
  chain: ChainRuntime,
  tx: Tx,
  credits: CreditBook,
  credit: Credit,
  lastSyncAt: number,
): void {
  const block = credit.block && { ...credit.block, time: credit.blockTime ?? null };
  if (credit.base) tx.run(keepPrevious, { txid: credit.txid, chain_key: chain.key, base: credit.base });
  const row = credits.find(credit.id);
  if (row) {
    row.gone = 0;
    credits.setReplaceable(row, credit.replaceable === false ? 0 : 1);
    if (row.block_hash !== (block?.hash ?? null)) credits.place(row, block);
    return;
  }
  const target = tx.get(targetById, { id: credit.targetId });
  assert(target && target.chain_key === chain.key, `target ${credit.targetId} is on ${chain.key}`);
  const invoiceId = target.invoice_id || null;
  const payment = invoiceId === null ? undefined : tx.get(paymentOf, { invoice_id: invoiceId });
  const now = app.now();
  const seenAt = block?.time ? Math.min(now, Math.max(lastSyncAt, block.time)) : now;
  const replaced = replacedBy(tx, credits, credit);
  const unexpected = payment && payment.asset !== credit.amount.asset ? 'unexpected' : null;
  const claim = credit.locked ? 'locked' : (unexpected ?? (replaced?.claim === 'invoice' ? 'invoice' : null));
  const added = credits.add({
    outpoint: credit.id,
    txid: credit.txid,
    target_id: target.id,
    account_id: target.account_id,
    invoice_id: invoiceId,
    asset: credit.amount.asset,
    units: credit.amount.units.toString(),
    inputs: JSON.stringify(credit.inputs.slice(0, INPUTS_KEPT_MAX)),
    block_height: block?.height ?? null,
    block_hash: block?.hash ?? null,
    block_time: block?.time ?? null,
    first_seen_at: Math.min(seenAt, replaced?.first_seen_at ?? seenAt),
    maturity: credit.maturity ?? 0,
    locked: credit.locked ? 1 : 0,
    replaceable: credit.replaceable === false ? 0 : 1,
    claim,
    own_change: isOwnChange(tx, target, credit.txid) ? 1 : 0,
  });
  const ownChange = target.branch === 1;
  // an address that somebody paid unasked is known to somebody: no payer gets it any more
  if (target.invoice_id === null && !ownChange) tx.run(assignTarget, { id: target.id, invoice_id: NOBODY });
  const reason = invoiceId === null && !ownChange ? 'unassigned' : claim;
  if (reason !== null && reason !== 'invoice') {
    fileInInbox(app, tx, app.directory.businessOfAccount(target.account_id), added, reason);
  }
}

/**
 * The credit that a new one replaces: unconfirmed or gone, at the same address, by a transaction that shares an input,
 * and of no more than the new one pays. When it was first seen is inherited.
 */
function replacedBy(tx: Tx, credits: CreditBook, credit: Credit): CreditRow | undefined {
  if (credit.inputs.length === 0) return undefined;
  const inputs = new Set(credit.inputs);
  return tx
    .all(creditsOfTarget, { target_id: credit.targetId })
    .map((row) => credits.edit(row))
    .filter((row) => row.txid !== credit.txid && row.asset === credit.amount.asset && row.block_hash === null)
    .filter((row) => BigInt(row.units) <= credit.amount.units)
    .filter((row) => (JSON.parse(row.inputs) as string[]).some((input) => inputs.has(input)))
    .sort((a, b) => a.first_seen_at - b.first_seen_at)[0];
}

function seeSpend(credits: CreditBook, spend: SpendSeen): void {
  const row = credits.find(spend.outpoint);
  if (!row) return;
  // what a block says is not taken back by the mempool
  if (row.spent_block_hash !== null && spend.block === null) return;
  row.spent_txid = spend.txid;
  row.spent_block_hash = spend.block?.hash ?? null;
  row.spent_block_height = spend.block?.height ?? null;
}

/** With a complete view of the mempool, what is neither in it nor in a block is gone. */
function dropAbsent(tx: Tx, chain: ChainRuntime, credits: CreditBook, update: ChainUpdate): void {
  const spokenOf = update.targets === 'all' ? null : new Set(update.targets);
  const present = new Set(update.credits.map((credit) => credit.id));
  for (const stored of tx.all(unsettledCredits, { chain_key: chain.key })) credits.edit(stored);
  for (const stored of tx.all(creditsSpentUnconfirmed, { chain_key: chain.key })) credits.edit(stored);
  const rows = credits.edited();
  for (const row of rows) {
    if (spokenOf && !spokenOf.has(row.target_id)) continue;
    if (row.block_hash === null && !present.has(row.outpoint)) row.gone = 1;
  }
  const spent = new Set(update.spends.map((spend) => `${spend.outpoint} ${spend.txid}`));
  for (const row of rows) {
    if (row.spent_txid === null) continue;
    if (spokenOf && !spokenOf.has(row.target_id)) continue;
    if (row.spent_block_hash === null && !spent.has(`${row.outpoint} ${row.spent_txid}`)) row.spent_txid = null;
  }
}
