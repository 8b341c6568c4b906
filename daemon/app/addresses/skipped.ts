/**
 * Skipped addresses: those that an earlier machine or another wallet program may have given out. They are derived and
 * watched, and never given out.
 *
 * Invariant: as soon as a skipped range is known, the account's next address is behind it, even if deriving the range
 * takes longer.
 */
import type { Branch, DerivedAddress } from '../../domain/chain.ts';
import { type IndexRange, indicesOfPast, jumpsBetween, without } from '../../domain/indices.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { insertTarget, type TargetRow } from '../../store/queries/credits.ts';
import {
  insertSkipped,
  raiseNextChange,
  raiseNextIndex,
  raiseUsed,
  retireBelow,
  type SkippedRow,
  skippedNext,
  skippedOf,
  stepSkipped,
} from '../../store/queries/skipped.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Account } from '../shops/directory.ts';
import { deriveRange } from './derive.ts';

/** The invoice id of an address that is never given out. */
export const NOBODY = 0;
/** Addresses per write: a few milliseconds. */
const STORED_AT_ONCE = 200;

/** Skips ranges of a branch. Ranges that are already covered have no effect. */
export function skip(tx: Tx, account_id: number, branch: Branch, ranges: readonly IndexRange[]): void {
  const covered = tx
    .all(skippedOf, { account_id })
    .filter((row) => row.branch === branch)
    .map(({ from_index, to_index }) => ({ from: from_index, to: to_index }));
  for (const { from, to } of without(ranges, covered)) {
    tx.run(insertSkipped, { account_id, branch, from_index: from, to_index: to });
    tx.run(branch === 0 ? raiseNextIndex : raiseNextChange, { account_id, to });
    if (branch === 0) tx.run(retireBelow, { account_id, below: to });
  }
}

/**
 * Skips what an account with a past may have given out, by its highest used indices. A restore moves both branches, so change tells of
 * one also where no payer's payment is left behind it.
 */
export function skipUsed(tx: Tx, account_id: number): void {
  const row = tx.get(accountById, { id: account_id });
  if (!row || row.gap === null) return;
  const { used_index, used_change, gap } = row;
  skip(tx, account_id, 0, indicesOfPast(used_index, gap, jumpsBetween(used_index, used_change)));
  skip(tx, account_id, 1, indicesOfPast(used_change, gap));
}

/** Records a coin at an address that this service did not give out. While a past is read, it belongs to that past. */
export function noteUsed(app: App, tx: Tx, { account_id, branch, idx }: TargetRow): void {
  const row = tx.get(accountById, { id: account_id });
  if (!row || row.rescan === null || row.gap === null) return;
  if (idx <= (branch === 0 ? row.used_index : row.used_change)) return;
  tx.run(raiseUsed, { account_id, used_index: branch === 0 ? idx : -1, used_change: branch === 1 ? idx : -1 });
  skipUsed(tx, account_id);
  // those behind it are to be watched, too
  tx.afterCommit(() => app.wake.pool());
}

/** Whether all skipped addresses of every account are watched. */
export function areSkippedWatched(app: App): boolean {
  return app.directory.accounts().every((account) => !app.chains.find(account.chainKey) || !isBehind(app, account));
}

/**
 * Derives and watches the skipped addresses of an account, a few milliseconds at a time, until told to stop. A restart
 * continues; callers may overlap.
 */
export async function deriveSkipped(app: App, account: Account, stopped: () => boolean): Promise<void> {
  const chain = app.chains.find(account.chainKey);
  if (!chain) return;
  for (;;) {
    const range = app.store.get(skippedNext, { account_id: account.id });
    if (!range || stopped()) return;
    const { reached, to_index } = range;
    const targets = await deriveRange(app, chain.adapter, account.key, {
      branch: range.branch as Branch,
      from: reached,
      count: Math.min(STORED_AT_ONCE, to_index - reached),
      paced: false,
    });
    await app.store.write((tx) => storeSkipped(tx, account, range, targets));
    if (!app.store.get(skippedNext, { account_id: account.id })) app.wake.chain(account.chainKey);
  }
}

/** Whether an account has skipped addresses that are not watched yet. */
export const isBehind = (app: App, { id }: Account): boolean =>
  app.store.get(skippedNext, { account_id: id }) !== undefined;

function storeSkipped(tx: Tx, account: Account, range: SkippedRow, targets: readonly DerivedAddress[]): void {
  const { branch, from_index, reached } = range;
  const key = { account_id: account.id, branch, from_index };
  if (tx.run(stepSkipped, { ...key, was: reached, reached: reached + targets.length }).changes !== 1) return;
  targets.forEach(({ script, address }, i) => {
    tx.run(insertTarget, {
      account_id: account.id,
      chain_key: account.chainKey,
      branch,
      idx: reached + i,
      script,
      address,
      invoice_id: NOBODY,
    });
  });
}
