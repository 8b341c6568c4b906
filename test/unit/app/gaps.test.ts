/** Addresses in a row that were given out and not paid, and the gap that a restore from words needs for them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { skip } from '../../../daemon/app/addresses/skipped.ts';
import { neededGap, tellGaps } from '../../../daemon/app/recovery/gaps.ts';
import { GAP, indicesOfPast } from '../../../daemon/domain/indices.ts';
import { accountById } from '../../../daemon/store/queries/businesses.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import { saveSetting, settingOf } from '../../../daemon/store/queries/settings.ts';
import { GAP_SETTING, storedGap } from '../../../daemon/store/snapshot.ts';
import { Store } from '../../../daemon/store/store.ts';
import { Bench } from './bench.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(() => bench.app.store.close());

/** Checkouts in a row; the last one is returned. */
async function checkouts(count: number) {
  let last = await bench.invoice();
  for (let made = 1; made < count; made++) last = await bench.invoice();
  return last;
}
const paid = (targetId: number) => bench.tell({ blocks: 1, credits: () => [bench.credit(targetId, 100_000n, 0)] });
const told = async () => {
  await tellGaps(bench.app);
  return bench.app.store
    .all(openAlerts, { rank: 0, id: 2 ** 40, limit: 9 })
    .filter(({ kind }) => kind === 'restore.gap')
    .map(({ message }) => message.values);
};
const index = (id: number) => bench.app.store.get(targetById, { id })!.idx;

it('is told from 500 unpaid addresses in a row on, with the gap that finds the next one, and stays so', async () => {
  await paid((await checkouts(40)).targetId);
  await checkouts(499);
  expect(await told()).toEqual([]);
  const last = await checkouts(1);
  expect(neededGap(bench.app)).toBe(1_000);
  expect(await told()).toEqual([{ business: 'Shop', chain: 'mainnet:BTC', count: 501, gap: 2_000 }]);
  expect(neededGap(bench.app)).toBe(2_000);
  await paid(last.targetId);
  expect(index(last.targetId)).toBe(539);
  await checkouts(10);
  expect(await told()).toMatchObject([{ gap: 2_000 }]);
});

it('counts no index that a restore has skipped', async () => {
  await paid((await checkouts(1)).targetId);
  const next = bench.app.store.get(accountById, { id: bench.accountId })!.next_index;
  await bench.app.store.write((tx) => skip(tx, bench.accountId, 0, [{ from: next, to: next + 10_000 }]));
  expect(await told()).toEqual([]);
});

it('counts no index between those that words of before are skipped at, because none of these was given out', async () => {
  await bench.app.store.write((tx) => skip(tx, bench.accountId, 0, indicesOfPast(-1, GAP)));
  expect(await told()).toEqual([]);
  await paid((await checkouts(499)).targetId);
  expect(await told()).toEqual([]);
  await checkouts(501);
  expect(await told()).toMatchObject([{ count: 502 }]);
});

it('begins again where the last payment was, and counts a run between two payments', async () => {
  const first = await checkouts(1);
  const last = await checkouts(600);
  await paid(last.targetId);
  expect(await told()).toMatchObject([{ count: 601, gap: 2_000 }]);
  await paid(first.targetId);
  const { value } = bench.app.store.get(settingOf, { key: GAP_SETTING })!;
  expect(JSON.parse(value)).toEqual({ gap: 2_000, accounts: { [bench.accountId]: { paid: 600, run: 601 } } });
});

it('is read from a copy of the database for the backup', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'countinghouse-gap-'));
  const file = join(folder, 'countinghouse.db');
  try {
    const store = await Store.open(folder);
    expect(storedGap(file)).toBeNull();
    const value = JSON.stringify({ gap: 3_000, accounts: {} });
    await store.write((tx) => tx.run(saveSetting, { key: GAP_SETTING, value, updated_at: 0 }));
    await store.close();
    expect(storedGap(file)).toBe(3_000);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
