/** A wallet's past of which more was used than was watched when its blocks were read. */
import { expect, it } from 'vitest';
import { deriveSkipped, isBehind } from '../../../daemon/app/addresses/skipped.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import { quarantineOf } from '../../../daemon/app/recovery/quarantine.ts';
import {
  beginRescan,
  endRescan,
  isJumpWatched,
  nextRescan,
  noteSearched,
  prepareRescan,
  rescannedPart,
  stepThroughPast,
  watchSkipped,
} from '../../../daemon/app/recovery/rescan.ts';
import type { ChainUpdate, Checkpoint, Credit } from '../../../daemon/domain/chain.ts';
import { setPast } from '../../../daemon/store/queries/skipped.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import { Bench } from './bench.ts';

const setRescan = statement((p: { id: number; rescan: string }) =>
  sqlite.updateTable('account').set({ rescan: p.rescan }).where('id', '=', p.id),
);
const forgetPast = statement((p: { id: number }) =>
  sqlite.updateTable('account').set({ gap: null }).where('id', '=', p.id),
);
const targetAt = statement((p: { account_id: number; branch: number; idx: number }) =>
  sqlite
    .selectFrom('target')
    .select('id')
    .where('account_id', '=', p.account_id)
    .where('branch', '=', p.branch)
    .where('idx', '=', p.idx),
);
const nextOf = statement((p: { id: number }) =>
  sqlite.selectFrom('account').select(['next_index', 'next_change', 'past_until']).where('id', '=', p.id),
);

const GAP = 50;
const JUMP = 20;
/** Each within the gap of the one before; the highest were paid first, when the others were not known to be used. */
const RECEIVING = [0, 45, 90, 135, 180, 225];
const CHANGE = [3, 50, 95, 140];

/** An account whose past is to be read, on a chain of five blocks. */
async function openPast() {
  const bench = await Bench.open('LTC');
  const { app, chain, accountId } = bench;
  const [account] = app.directory.accounts();
  await bench.tell({ blocks: 5 });
  await app.store.write((tx) => {
    tx.run(setPast, { account_id: accountId, gap: GAP, used_index: -1, used_change: -1 });
    tx.run(setRescan, { id: accountId, rescan: '[]' });
  });
  const rescan = () => nextRescan(app, chain, new Set());
  const checkpoint = (count: number) => bench.blocks.slice(0, count).map(({ height, hash }) => ({ height, hash }));
  /** The coins of one block at the addresses that are watched when it is read. */
  const creditsAt = (branch: number, indices: readonly number[]) =>
    indices.flatMap((idx) => {
      const target = app.store.get(targetAt, { account_id: accountId, branch, idx });
      return target ? [bench.credit(target.id, 7n, 0, { txid: `past${branch}/${idx}` })] : [];
    });
  /** All blocks as one update. */
  const update = (since: Checkpoint, credits: Credit[]): ChainUpdate => ({
    since: since.at(-1)!,
    checkpoint: checkpoint(bench.blocks.length),
    orphaned: [],
    targets: 'all',
    mempool: 'unknown',
    credits,
    spends: [],
  });
  return { bench, app, chain, accountId, account: account!, rescan, checkpoint, creditsAt, update };
}

it('is read again until everything that it used was watched from its first block on', async () => {
  const { bench, app, chain, accountId, account, rescan, checkpoint, creditsAt, update } = await openPast();
  const highestFirst = [...RECEIVING].reverse();
  let readings = 0;
  const parts: (number | null)[] = [];
  for (let look = rescan(); look && readings < 20; look = rescan()) {
    if (look.isThrough) {
      await endRescan(app, chain, look);
    } else if (look.checkpoint === null) {
      const ready = await prepareRescan(app, look);
      if (ready) await beginRescan(app, look, ready, checkpoint(1));
      else await deriveSkipped(app, account, () => false);
      parts.push(rescannedPart(app, chain));
    } else {
      readings++;
      const whole = update(look.checkpoint, [...creditsAt(0, highestFirst), ...creditsAt(1, CHANGE)]);
      await stepThroughPast(app, chain, { ...look }, { ...whole, checkpoint: checkpoint(3) });
      parts.push(rescannedPart(app, chain));
      await stepThroughPast(app, chain, { ...look, stored: JSON.stringify(checkpoint(3)) }, whole);
      parts.push(rescannedPart(app, chain));
    }
  }
  expect(rescan()).toBeNull();
  expect(rescannedPart(app, chain)).toBeNull();
  expect(new Set(parts)).toEqual(new Set([0, 2 / 9, 1]));
  expect(readings).toBeGreaterThan(1);
  expect(bench.balance()).toBe(BigInt(RECEIVING.length + CHANGE.length) * 7n);
  const { next_index, next_change, past_until } = app.store.get(nextOf, { id: accountId })!;
  // behind the gap after the last one used, and behind where a restore may have jumped to from there
  expect(next_index).toBeGreaterThanOrEqual(225 + 10_000 + 2 * GAP);
  expect(next_change).toBeGreaterThanOrEqual(140 + 10_000 + 2 * GAP);
  expect(past_until).toBe(bench.tip.height);
  for (const idx of RECEIVING) expect(app.store.get(targetAt, { account_id: accountId, branch: 0, idx })).toBeDefined();
});

it('is read again where a search of the words finds a use behind what was watched, and not for one that was', async () => {
  const { app, chain, accountId, account, rescan, checkpoint } = await openPast();
  const readWhole = async (): Promise<void> => {
    expect(await prepareRescan(app, rescan()!)).toBeNull();
    await deriveSkipped(app, account, () => false);
    const ready = await prepareRescan(app, rescan()!);
    await beginRescan(app, rescan()!, ready!, checkpoint(5));
    await endRescan(app, chain, rescan()!);
    expect(rescan()).toBeNull();
  };
  await readWhole();
  await noteSearched(app, account, { receiving: -1, change: -1 });
  expect(rescan()).toBeNull();
  await noteSearched(app, account, { receiving: 20_100, change: 7 });
  expect(rescan()).toMatchObject({ checkpoint: null });
  const next = app.store.get(nextOf, { id: accountId })!;
  expect(next.next_index).toBeGreaterThanOrEqual(20_100 + GAP);
  await deriveSkipped(app, account, () => false);
  expect(app.store.get(targetAt, { account_id: accountId, branch: 0, idx: 20_100 })).toBeDefined();
  await noteSearched(app, account, { receiving: 20_100, change: 7 });
  expect(app.store.get(nextOf, { id: accountId })).toEqual(next);
});

it('begins behind what a machine before it may have given out of which only the change is left', async () => {
  const { app, accountId, account } = await openPast();
  await noteSearched(app, account, { receiving: 0, change: -1 });
  const { next_index: given, next_change: change } = app.store.get(nextOf, { id: accountId })!;
  expect([given, change]).toEqual([10_151, 10_150]);
  await noteSearched(app, account, { receiving: 0, change });
  expect(app.store.get(nextOf, { id: accountId })).toMatchObject({ next_index: 20_151, next_change: 20_301 });
  await deriveSkipped(app, account, () => false);
  expect(app.store.get(targetAt, { account_id: accountId, branch: 0, idx: given })).toBeDefined();
});

it('has the addresses behind its last used one derived, although it is not read again', async () => {
  const { app, chain, account, rescan, checkpoint, creditsAt, update } = await openPast();
  let isWoken = false;
  app.wake.on({
    pool() {
      isWoken = true;
    },
  });
  expect(await prepareRescan(app, rescan()!)).toBeNull();
  await deriveSkipped(app, account, () => false);
  const ready = await prepareRescan(app, rescan()!);
  await beginRescan(app, rescan()!, ready!, checkpoint(1));
  isWoken = false;
  const look = rescan()!;
  await stepThroughPast(app, chain, look, update(look.checkpoint!, creditsAt(0, [0])));
  await endRescan(app, chain, rescan()!);
  expect(rescan()).toBeNull();
  expect([isBehind(app, account), isWoken]).toEqual([true, true]);
});

it('of a quarantine is read again from the same place when a step of it has the indices jump once more', async () => {
  const { bench, app, chain, accountId, rescan, checkpoint, creditsAt, update } = await openPast();
  const from = checkpoint(2);
  await app.store.write((tx) => {
    tx.run(forgetPast, { id: accountId });
    beginQuarantine(tx, { made_at: null, readFrom: { [chain.key]: from } }, bench.at, JUMP);
    tx.run(setRescan, { id: accountId, rescan: JSON.stringify(from) });
  });
  const watch = () =>
    watchSkipped(
      app,
      chain,
      () => {},
      () => false,
    );
  expect(isJumpWatched(app, chain)).toBe(false);
  await watch();
  expect(isJumpWatched(app, chain)).toBe(true);
  // an earlier run from the same data has used the first address behind the jump
  const { next_change } = app.store.get(nextOf, { id: accountId })!;
  const found = creditsAt(1, [next_change]);
  expect(found).toHaveLength(1);
  await stepThroughPast(app, chain, rescan()!, update(from, found));
  expect(quarantineOf(app.store)).toMatchObject({ jumps: 1 });
  expect(rescan()).toMatchObject({ checkpoint: from });
  expect(isJumpWatched(app, chain)).toBe(false);
  await watch();
  await stepThroughPast(app, chain, rescan()!, update(from, found));
  expect(rescan()).toMatchObject({ checkpoint: checkpoint(bench.blocks.length) });
});
