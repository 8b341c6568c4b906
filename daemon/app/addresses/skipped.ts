/**
 * Addresses that somebody may have been given before, by a machine that is gone or by another wallet program: they are
 * derived and watched, and given to nobody.
 *
 * Invariant: the next address of an account lies behind all of its skipped ranges, from the moment in which they are
 * known; deriving them may take longer.
 */
import type { Branch, DerivedAddress } from '../../domain/chain.ts';
import { type IndexRange, indicesToWatch, without } from '../../domain/indices.ts';
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
import type { ChainRuntime } from '../chains/chains.ts';
import { quarantineOf } from '../recovery/quarantine.ts';
import type { Account } from '../shops/directory.ts';

/** The invoice id of an address that nobody is given. */
export const NOBODY = 0;
const SLICE_MS_MAX = 5;
/** Addresses that one write stores: a few milliseconds of it. */
const STORED_AT_ONCE = 200;
/** Restores in a row, without a payment in between, that a watched wallet may have had. */
const JUMPS_WATCHED = 1;

/** Has ranges of a branch watched and never given out. What is covered already changes nothing. */
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
 * Skips what a wallet with a past may have given out. `used`: the highest index known to be used, -1 for none. A gap more
 * than needed is watched, so that what is found within it needs no second reading of the past.
 */
export function skipUsed(tx: Tx, account_id: number, branch: Branch, used: number, gap: number): void {
  skip(tx, account_id, branch, indicesToWatch(used + gap, gap, JUMPS_WATCHED));
}

/** A coin came to an address that this service gave to nobody. While a past is read, it is a part of that. */
export function noteUsed(tx: Tx, { account_id, branch, idx }: TargetRow): void {
  const row = tx.get(accountById, { id: account_id });
  if (!row || row.rescan === null || row.gap === null) return;
  if (idx <= (branch === 0 ? row.used_index : row.used_change)) return;
  tx.run(raiseUsed, { account_id, used_index: branch === 0 ? idx : -1, used_change: branch === 1 ? idx : -1 });
  skipUsed(tx, account_id, branch as Branch, idx, row.gap);
}

/** Whether every skipped address of every account is watched. */
export function areSkippedWatched(app: App): boolean {
  return app.directory.accounts().every((account) => !app.chains.find(account.chainKey) || !isBehind(app, account));
}

/**
 * Derives and watches the skipped addresses of an account, a few milliseconds at a time, until told to stop. A restart
 * goes on where it was; several callers may overlap.
 */
export async function deriveSkipped(app: App, account: Account, stopped: () => boolean): Promise<void> {
  const chain = app.chains.find(account.chainKey);
  if (!chain) return;
  for (;;) {
    const range = app.store.get(skippedNext, { account_id: account.id });
    if (!range || stopped()) return;
    const targets = await deriveSome(chain, account, range);
    await app.store.write((tx) => storeSkipped(tx, account, range, targets));
    if (!app.store.get(skippedNext, { account_id: account.id })) app.wake.chain(account.chainKey);
  }
}

/** The next addresses of a range: as many as one write takes, with a turn for others in between. */
async function deriveSome({ adapter }: ChainRuntime, { key }: Account, range: SkippedRow): Promise<DerivedAddress[]> {
  const { branch, reached } = range;
  const count = Math.min(STORED_AT_ONCE, range.to_index - reached);
  const targets: DerivedAddress[] = [];
  let began = performance.now();
  while (targets.length < count) {
    targets.push(await adapter.deriveAddress(key, branch as Branch, reached + targets.length));
    if (performance.now() - began < SLICE_MS_MAX) continue;
    await new Promise((resolve) => setImmediate(resolve));
    began = performance.now();
  }
  return targets;
}

/** Whether skipped addresses of an account are not watched yet. */
export const isBehind = (app: App, { id }: Account): boolean =>
  app.store.get(skippedNext, { account_id: id }) !== undefined;

/**
 * Has those of every account of a restored service's chain watched before its blocks are read: what is not watched yet
 * would be missed in them. `begins` is called when there is something to do.
 */
export async function watchSkipped(
  app: App,
  chain: ChainRuntime,
  begins: () => void,
  stopped: () => boolean,
): Promise<void> {
  if (!quarantineOf(app.store)) return;
  for (const account of app.directory.accounts()) {
    if (account.chainKey !== chain.key || !isBehind(app, account)) continue;
    begins();
    await deriveSkipped(app, account, stopped);
  }
}

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
