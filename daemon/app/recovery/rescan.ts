/**
 * Reads the past of an imported wallet, beside the sync of the present, and that of any account when the operator wants it
 * again. Progress is stored with each step, so that a restart continues.
 *
 * Invariant: a past counts as read only if every address that it may have used (by the last used one and the gap) was
 * watched since its first block was read. An address may be paid long before one with a lower index, so if more
 * addresses turn out to be used than were watched, the whole past is read again.
 */

import { tipOf } from '../../chains/adapter.ts';
import { isUtxo } from '../../chains/derive.ts';
import { type ChainUpdate, type Checkpoint, isWatchOnly } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { GAP, INDICES_JUMPED } from '../../domain/indices.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { accountById, accountsToRescan, rescanAccount, stepRescan } from '../../store/queries/businesses.ts';
import { insertTarget } from '../../store/queries/credits.ts';
import { dropSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import { beginPast, endPast, raiseUsed } from '../../store/queries/skipped.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { deriveRange } from '../addresses/derive.ts';
import { fillPool, ready } from '../addresses/pool.ts';
import { deriveSkipped, isBehind, skipUsed } from '../addresses/skipped.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/checkpoint.ts';
import { ingestPast } from '../chains/ingest.ts';
import type { Account } from '../shops/directory.ts';
import { jumpOf, quarantineOf, restoredFrom } from './quarantine.ts';

/** A payment takes one address for change, and several payments come before it: of those behind a jump, so many fewer are watched. */
const CHANGE_PART = 10;

/** `checkpoint`: null until the block before the birthday is found. `isThrough`: it has reached the present. */
export type Rescan = { account: Account; stored: string; checkpoint: Checkpoint | null; isThrough: boolean };

/** The next account of a chain whose past must be read, without those in `except`, or null. */
export function nextRescan(app: App, chain: ChainRuntime, except: ReadonlySet<number>): Rescan | null {
  const row = app.store.all(accountsToRescan, { chain_key: chain.key }).find(({ id }) => !except.has(id));
  const account = row && app.directory.accounts().find(({ id }) => id === row.id);
  if (!account || row.rescan === null) return null;
  const stored = JSON.parse(row.rescan) as Checkpoint;
  const checkpoint = stored.length > 0 ? stored : null;
  const present = checkpointOf(app.store, chain);
  const isThrough = checkpoint !== null && present !== null && tipOf(checkpoint).height >= tipOf(present).height;
  return { account, stored: row.rescan, checkpoint, isThrough };
}

/**
 * Reads the past of a chain's accounts again, from their birthdays on and with the addresses of now. A source of blocks
 * needs it for what was paid before its address was derived: another program with the same words gave it out.
 */
export function readAgain(app: App, tx: Tx, chain: ChainRuntime): void {
  for (const { id, chainKey } of app.directory.accounts()) if (chainKey === chain.key) tx.run(rescanAccount, { id });
  tx.afterCommit(() => app.wake.chain(chain.key));
}

/** The accounts whose past is being read, and the height reached. */
export function rescansUnderWay(app: App): { chain: string; height: number | null }[] {
  return app.chains.all().flatMap(({ key }) =>
    app.store.all(accountsToRescan, { chain_key: key }).map(({ rescan }) => ({
      chain: key,
      height: (JSON.parse(rescan ?? '[]') as Checkpoint).at(-1)?.height ?? null,
    })),
  );
}

/**
 * Notes the highest used indices of an account that a search of its words found. Where they are higher than those that
 * are known, the addresses near them are watched and their past is read.
 */
export async function noteSearched(
  app: App,
  account: Account,
  used: Record<'receiving' | 'change', number>,
): Promise<void> {
  const { receiving: used_index, change: used_change } = used;
  const isNews = (reader: Reader): boolean => {
    const row = reader.get(accountById, { id: account.id });
    return row !== undefined && row.gap !== null && (used_index > row.used_index || used_change > row.used_change);
  };
  if (!isNews(app.store)) return;
  await app.store.write((tx) => {
    if (!isNews(tx)) return;
    tx.run(raiseUsed, { account_id: account.id, used_index, used_change });
    skipUsed(tx, account.id);
    tx.run(rescanAccount, { id: account.id });
    tx.afterCommit(() => {
      app.wake.pool();
      app.wake.chain(account.chainKey);
    });
  });
}

/** The setting with the height at which the reading of an account's past began. */
const beginningOf = (accountId: number): string => `rescan.from.${accountId}`;

/**
 * The part of a search for everything of a chain's accounts that is done, from 0 to 1; null: none is running. A past
 * whose first block is not known yet counts as not begun.
 */
export function rescannedPart(app: App, chain: ChainRuntime): number | null {
  if (chain.adapter.rescanning?.()) return chain.adapter.rescanned?.() ?? 0;
  const rows = app.store.all(accountsToRescan, { chain_key: chain.key });
  if (rows.length === 0) return null;
  const tip = checkpointOf(app.store, chain)?.at(-1)?.height ?? 0;
  const parts = rows.map(({ id, rescan }) => {
    const height = (JSON.parse(rescan ?? '[]') as Checkpoint).at(-1)?.height;
    const from = Number(app.store.get(settingOf, { key: beginningOf(id) })?.value);
    return height === undefined || !(from < tip) ? 0 : Math.min(1, Math.max(0, (height - from) / (tip - from)));
  });
  return parts.reduce((sum, part) => sum + part, 0) / parts.length;
}

/** The highest indices up to which used addresses cannot be missed. */
type Ready = { ready_index: number; ready_change: number };

/** Watches every address that the past may have used. Null while some are being derived; the chain is woken then. */
export async function prepareRescan(app: App, { account }: Rescan): Promise<Ready | null> {
  const ready = await app.store.write((tx) => {
    const row = tx.get(accountById, { id: account.id });
    assert(row, `account ${account.id} exists`);
    const { gap, used_index, used_change } = row;
    // words that were made here: no other wallet gave out addresses before
    if (gap === null) return { ready_index: used_index, ready_change: used_change };
    skipUsed(tx, account.id);
    return { ready_index: used_index + gap, ready_change: used_change + gap };
  });
  if (!isBehind(app, account)) return ready;
  app.wake.pool();
  return null;
}

/** Stores the beginning of an account's past. */
export async function beginRescan(
  app: App,
  { account, stored }: Rescan,
  ready: Ready,
  checkpoint: Checkpoint,
): Promise<void> {
  const to = JSON.stringify(checkpoint);
  const from = { key: beginningOf(account.id), value: `${tipOf(checkpoint).height}`, updated_at: app.now() };
  await app.store.write((tx) => {
    tx.run(beginPast, { account_id: account.id, from: stored, to, ...ready });
    tx.run(saveSetting, from);
  });
}

/**
 * Ends a past that was read up to the present, or starts it again if more addresses were used than watched. To be
 * called when the present is complete, so that everything found is stored.
 */
export async function endRescan(app: App, chain: ChainRuntime, { account, stored }: Rescan): Promise<void> {
  await app.store.write((tx) => {
    const row = tx.get(accountById, { id: account.id });
    const present = checkpointOf(tx, chain);
    if (!row || !present || row.rescan !== stored) return;
    const { used_index, used_change, ready_index, ready_change } = row;
    if (used_index > (ready_index ?? -1) || used_change > (ready_change ?? -1)) {
      tx.run(stepRescan, { id: account.id, from: stored, to: '[]' });
      return;
    }
    const isFirst = row.gap !== null && row.past_until === null;
    if (isFirst) tx.run(endPast, { account_id: account.id, height: tipOf(present).height });
    else tx.run(stepRescan, { id: account.id, from: stored, to: null });
    tx.run(dropSetting, { key: beginningOf(account.id) });
    tx.afterCommit(() => app.log.info({ chain: chain.key }, 'the past of a wallet was read'));
  });
}

/** From when a new chain is read: its oldest wallet's birthday, except for pasts that are read separately. */
export function birthdayOf(app: App, chain: ChainRuntime): number | null {
  const apart = new Set(app.store.all(accountsToRescan, { chain_key: chain.key }).map(({ id }) => id));
  const births = app.directory
    .accounts()
    .filter((account) => account.chainKey === chain.key && !apart.has(account.id))
    .flatMap(({ birthday }) => birthday ?? []);
  return births.length === 0 ? null : Math.min(...births);
}

/** Watches the addresses of existing wallets before a chain is read for the first time. */
export async function watchAhead(
  app: App,
  chain: ChainRuntime,
  birthday: number,
  stopped: () => boolean,
): Promise<void> {
  if (app.now() - birthday < MS_PER_HOUR) return;
  const accounts = app.directory.accounts().filter(({ chainKey }) => chainKey === chain.key);
  for (const account of accounts) await fillPool(app, account, GAP, stopped);
}

/**
 * Watches the skipped addresses of a chain's accounts, and the first ones behind them, before its blocks are read,
 * because the blocks would be read without them. Calls `begins` if there is something to do.
 */
export async function watchSkipped(
  app: App,
  chain: ChainRuntime,
  begins: () => void,
  stopped: () => boolean,
): Promise<void> {
  const jump = jumpIn(app.store);
  if (jump === null) return watchLater(app, chain, begins, stopped);
  // an earlier run from the same data may have jumped as far and given these out
  const behind = Math.ceil(((app.jump ?? INDICES_JUMPED) * GAP) / INDICES_JUMPED);
  for (const account of app.directory.accounts()) {
    if (account.chainKey !== chain.key) continue;
    if (isBehind(app, account) || ready(app, account) < behind) begins();
    await deriveSkipped(app, account, stopped);
    await fillPool(app, account, behind, stopped);
    await watchChange(app, chain, account, Math.ceil(behind / CHANGE_PART));
  }
  if (!stopped()) jumpWatched.set(chain, jump);
}

/** The same for the first pass of a chain that is in the configuration only since the quarantine has ended. */
async function watchLater(app: App, chain: ChainRuntime, begins: () => void, stopped: () => boolean): Promise<void> {
  if (chain.startedFrom !== null || chain.syncs > 0 || restoredFrom(app.store) === null) return;
  for (const account of app.directory.accounts()) {
    if (account.chainKey !== chain.key || !isBehind(app, account)) continue;
    begins();
    await deriveSkipped(app, account, stopped);
  }
}

/** The jump of a quarantine whose addresses are all watched on a chain. */
const jumpWatched = new WeakMap<ChainRuntime, string>();

/** Names the last jump of the quarantine; null: there is none. */
function jumpIn(reader: Reader): string | null {
  const record = quarantineOf(reader);
  return record && jumpOf(record);
}

/** Whether `watchSkipped` has come to its end since the quarantine jumped last. */
export function isJumpWatched(app: App, chain: ChainRuntime): boolean {
  const jump = jumpIn(app.store);
  return jump === null || jumpWatched.get(chain) === jump;
}

/** By account: the index from which its next addresses for change are watched. */
const changeWatched = new WeakMap<ChainRuntime, Map<number, number>>();

/** Watches the next addresses for change, none of which this service has used. */
async function watchChange(app: App, chain: ChainRuntime, account: Account, count: number): Promise<void> {
  const { adapter, key } = chain;
  const { next_change: from } = app.store.get(accountById, { id: account.id }) ?? {};
  if (!isUtxo(adapter.chain) || from === undefined || isWatchOnly(account.key)) return;
  const watched = changeWatched.get(chain) ?? new Map<number, number>();
  changeWatched.set(chain, watched);
  if (watched.get(account.id) === from) return;
  const derived = await deriveRange(app, adapter, account.key, { branch: 1, from, count, paced: false });
  await app.store.write((tx) => {
    derived.forEach(({ script, address }, i) => {
      const place = { account_id: account.id, branch: 1, idx: from + i };
      tx.run(insertTarget, { ...place, chain_key: key, script, address, invoice_id: null });
    });
  });
  watched.set(account.id, from);
}

/** Applies one step. Repeating it has no effect, so the progress is stored last. */
export async function stepThroughPast(
  app: App,
  chain: ChainRuntime,
  { account, stored }: Rescan,
  update: ChainUpdate,
): Promise<void> {
  const jump = jumpIn(app.store);
  await ingestPast(app, chain, update);
  const step = { id: account.id, from: stored, to: JSON.stringify(update.checkpoint) };
  await app.store.write((tx) => {
    // what was found has these blocks read once more, perhaps from the same place
    if (jumpIn(tx) === jump) tx.run(stepRescan, step);
  });
}
