/**
 * Reading the past of a wallet that has one, beside following the present. How far it has come is stored with each step,
 * so that a restart goes on from there.
 */
import { tipOf } from '../chains/adapter.ts';
import type { ChainUpdate, Checkpoint } from '../domain/chain.ts';
import { accountById, accountsToRescan, stepRescan } from '../store/queries/businesses.ts';
import { targetById } from '../store/queries/credits.ts';
import { type App, MS_PER_HOUR } from './app.ts';
import type { ChainRuntime } from './chains.ts';
import type { Account } from './directory.ts';
import { checkpointOf, ingestPast } from './ingest.ts';
import { derive, fillPool } from './pool.ts';

/** Addresses watched beyond the last one used, while the past is read (BIP-44's gap limit is 20). */
export const GAP_LIMIT = 1_000;

/** `checkpoint` is null until the block before the account's birthday was looked up. */
export type Rescan = { account: Account; stored: string; checkpoint: Checkpoint | null };

/** The next account of a chain whose past is still to be read, but for those in `except`, or null. */
export function nextRescan(app: App, chain: ChainRuntime, except: ReadonlySet<number>): Rescan | null {
  const row = app.store.all(accountsToRescan, { chain_key: chain.key }).find(({ id }) => !except.has(id));
  const account = row && app.directory.accounts().find(({ id }) => id === row.id);
  if (!account || row.rescan === null) return null;
  const checkpoint = JSON.parse(row.rescan) as Checkpoint;
  return { account, stored: row.rescan, checkpoint: checkpoint.length > 0 ? checkpoint : null };
}

/** The accounts whose past is still being read, and how far each has come. */
export function rescansUnderWay(app: App): { chain: string; height: number | null }[] {
  return app.chains.all().flatMap(({ key }) =>
    app.store.all(accountsToRescan, { chain_key: key }).map(({ rescan }) => ({
      chain: key,
      height: (JSON.parse(rescan ?? '[]') as Checkpoint).at(-1)?.height ?? null,
    })),
  );
}

/** Stores where an account's past begins. */
export async function beginRescan(app: App, { account, stored }: Rescan, checkpoint: Checkpoint): Promise<void> {
  await app.store.write((tx) => tx.run(stepRescan, { id: account.id, from: stored, to: JSON.stringify(checkpoint) }));
}

/** Makes sure that every address that the past may have used is watched before it is read. */
export function prepareRescan(app: App, { account }: Rescan, stopped: () => boolean): Promise<void> {
  return fillPool(app, account, GAP_LIMIT, stopped);
}

/** The same before a chain is read for the first time, for wallets that were there before it was connected. */
export async function watchAhead(
  app: App,
  chain: ChainRuntime,
  birthday: number,
  stopped: () => boolean,
): Promise<void> {
  if (app.now() - birthday < MS_PER_HOUR) return;
  const accounts = app.directory.accounts().filter(({ chainKey }) => chainKey === chain.key);
  for (const account of accounts) await fillPool(app, account, GAP_LIMIT, stopped);
}

/**
 * Applies one step. The rescan is over once it has come up to where the chain is followed from. A step that found money
 * so close to the last address watched that more may lie beyond it is to be read again, with more of them.
 */
export async function stepThroughPast(
  app: App,
  chain: ChainRuntime,
  rescan: Rescan,
  update: ChainUpdate,
): Promise<void> {
  // the same step again changes nothing, so how far it came is stored last
  await ingestPast(app, chain, update);
  const watched = watchedBeyond(app, rescan.account, update);
  if (watched < GAP_LIMIT / 2) {
    await derive(app, rescan.account, GAP_LIMIT - watched);
    return;
  }
  await app.store.write((tx) => {
    const present = checkpointOf(tx, chain);
    const reached = tipOf(update.checkpoint);
    const done = present !== null && reached.height >= tipOf(present).height;
    const to = done ? null : JSON.stringify(update.checkpoint);
    if (tx.run(stepRescan, { id: rescan.account.id, from: rescan.stored, to }).changes !== 1) return;
    if (done) tx.afterCommit(() => app.log.info({ chain: chain.key }, 'the past of a wallet was read'));
  });
}

/** How many receiving addresses of an account are watched beyond the last that an update found used. */
function watchedBeyond(app: App, account: Account, update: ChainUpdate): number {
  const ids = new Set(update.credits.map(({ targetId }) => targetId));
  const used = [...ids]
    .map((id) => app.store.get(targetById, { id }))
    .filter((target) => target?.account_id === account.id && target.branch === 0)
    .reduce((highest, target) => Math.max(highest, target?.idx ?? 0), -1);
  return (app.store.get(accountById, { id: account.id })?.next_index ?? 0) - 1 - used;
}
