/**
 * Brings stored entries of an account chain in line with what two operators say of them now (`chains/adapter.ts`, `Witnesses`), with
 * all that follows: balances, invoices, used nonces and withdrawals.
 *
 * Invariant: an entry is changed only if it is still in the block that was asked about.
 */
import { type BookedSending, type SentAgain, tipOf } from '../../chains/adapter.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { type CreditRow, creditById } from '../../store/queries/credits.ts';
import { debitsOfTransaction } from '../../store/queries/debits.ts';
import { dropUsedKey, usedKeysInBlock } from '../../store/queries/used-keys.ts';
import { reopenSpendsFrom } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/checkpoint.ts';
import { CreditBook, inTotal } from '../chains/credits.ts';
import { seeSpend } from '../chains/facts.ts';
import { settleInvoice } from '../invoices/settle.ts';
import { settleSpends } from '../spends/settle.ts';
import { type Correction, noteCorrections } from './corrections.ts';
import { Entries, isAdopted } from './entries.ts';

/** Keys that those transactions of one block used that are looked at. */
const KEYS_IN_BLOCK_MAX = 1_000;

/** `sent`: transactions with what left by them now. `gone`: credits that are not in their blocks. */
export type Reviewed = { sent: { booked: BookedSending; again: SentAgain }[]; gone: CreditRow[] };

/** Applies it. Returns how many entries were changed. */
export async function applyReview(app: App, chain: ChainRuntime, { sent, gone }: Reviewed): Promise<number> {
  if (sent.length + gone.length === 0) return 0;
  return app.store.write((tx) => {
    const checkpoint = checkpointOf(tx, chain);
    if (!checkpoint) return 0;
    const tipHeight = tipOf(checkpoint).height;
    const entries = new Entries(app, chain, tx, () => undefined);
    const credits = new CreditBook(app, chain, { height: tipHeight, finalized: null }, tx, entries);
    const corrections = gone.flatMap((row) => takeOut(tx, credits, row));
    let reopened = Number.POSITIVE_INFINITY;
    for (const { booked, again } of sent) {
      corrections.push(...correctDebits(tx, chain, entries, booked, again));
      if (!correctKeys(tx, chain, booked, again)) continue;
      reopened = Math.min(reopened, booked.block.height);
      for (const spend of again.spends) seeSpend({ app, chain, tx, credits }, spend);
    }
    const touched = credits.flush();
    entries.flush();
    for (const invoiceId of touched) settleInvoice(app, tx, invoiceId);
    // a decision is stored with the height of the tip, which is above the deciding block by this depth
    const height = reopened + BURIED_BLOCKS[chain.adapter.chain] - 1;
    if (Number.isFinite(height)) tx.run(reopenSpendsFrom, { chain_key: chain.key, height });
    if (corrections.length > 0 || Number.isFinite(height)) settleSpends(app, tx, chain, tipHeight);
    noteCorrections(app, tx, chain, corrections);
    return corrections.length;
  });
}

/** A credit that no block has. */
function takeOut(tx: Tx, credits: CreditBook, asked: CreditRow): Correction[] {
  const stored = tx.get(creditById, { id: asked.id });
  if (!stored || stored.gone || stored.block_hash !== asked.block_hash) return [];
  const row = credits.edit(stored);
  credits.place(row, null);
  credits.lose(row);
  const { account_id, target_id, asset, outpoint: ref, block_height } = stored;
  return [{ kind: 'denied', account_id, target_id, asset, units: -inTotal(stored), ref, block_height }];
}

function correctDebits(
  tx: Tx,
  { key: chain_key }: ChainRuntime,
  entries: Entries,
  { txid, block, target }: BookedSending,
  again: SentAgain,
): Correction[] {
  const stored = tx
    .all(debitsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key })
    .filter((row) => row.target_id === target.id && row.block_hash === block.hash && !isAdopted(row));
  const [any] = stored;
  if (!any) return [];
  const told = new Map(again.debits.map((debit) => [debit.id, debit]));
  const changes = new Map<string, Correction>();
  const note = (row: Pick<Correction, 'asset' | 'ref' | 'units' | 'block_height'>): void => {
    const units = (changes.get(row.ref)?.units ?? 0n) + row.units;
    const { account_id } = any;
    changes.set(row.ref, { ...row, kind: 'denied', account_id, target_id: target.id, units });
  };
  for (const row of stored) {
    const now = told.get(row.ref);
    const isSame = now && now.amount.asset === row.asset && now.amount.units === row.units && now.kind === row.kind;
    if (isSame && now.block?.hash === row.block_hash) {
      told.delete(row.ref);
      continue;
    }
    entries.lose(row);
    note(row);
  }
  for (const debit of told.values()) {
    entries.see(debit);
    const { asset, units } = debit.amount;
    note({ asset, ref: debit.id, units: -units, block_height: debit.block?.height ?? null });
  }
  return [...changes.values()];
}

/** Drops the uses of nonces that the transaction did not make, or not so. Returns whether there were any. */
function correctKeys(tx: Tx, { key }: ChainRuntime, { txid, block }: BookedSending, { spends }: SentAgain): boolean {
  const used = tx
    .all(usedKeysInBlock, { block_hash: block.hash, after: '', limit: KEYS_IN_BLOCK_MAX })
    .filter((use) => use.chain_key === key && use.txid === txid);
  const wrong = used.filter((use) => {
    const now = spends.find(({ outpoint }) => outpoint === use.conflict_key);
    return now?.block?.hash !== use.block_hash || (now.failed ?? false) !== use.failed;
  });
  for (const use of wrong) tx.run(dropUsedKey, use);
  return wrong.length > 0;
}
