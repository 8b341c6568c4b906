/** Takings are those of the days and months asked for, each of them whole. */
import { beforeEach, expect, it } from 'vitest';
import { takings } from '../../../daemon/app/operator/takings.ts';
import { changeBusiness } from '../../../daemon/app/shops/businesses.ts';
import { creditById, insertCredit, updateCredit } from '../../../daemon/store/queries/credits.ts';
import { Bench, HOUR } from './bench.ts';

const DAY = 24 * HOUR;

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});

/** An invoice is paid. */
async function pays(): Promise<void> {
  bench.rate('60000');
  const { targetId, units } = await bench.invoice();
  await bench.tell({ blocks: 1, credits: () => [bench.credit(targetId, units, 0)] });
}
const of = async (by: 'day' | 'month', count: number) => {
  const { periods } = await takings(bench.app, bench.app.directory.business(bench.businessId), by, count);
  return periods.map(({ period, payments }) => [period, payments]);
};

it('of a month that began before them are none', async () => {
  // 2026-01-01 at noon, and 31 days later
  await pays();
  bench.advance(31 * DAY);
  await bench.tell();
  expect(await of('month', 1)).toEqual([]);
  expect(await of('month', 2)).toEqual([['2026-01', 1]]);
});

it('of days that were asked for before are no others', async () => {
  await pays();
  bench.advance(2 * DAY);
  await bench.tell();
  await pays();
  expect(await of('month', 12)).toEqual([['2026-01', 2]]);
  expect(await of('day', 2)).toEqual([['2026-01-03', 1]]);
  expect(await of('day', 3)).toEqual([
    ['2026-01-03', 1],
    ['2026-01-01', 1],
  ]);
});

it('are of the days of a time zone that was set since, each counted once', async () => {
  await pays();
  bench.advance(5 * DAY);
  await bench.tell();
  await pays();
  expect(await of('day', 10)).toEqual([
    ['2026-01-06', 1],
    ['2026-01-01', 1],
  ]);
  const { app, businessId } = bench;
  const business = app.directory.business(businessId);
  // fourteen hours ahead of UTC
  await app.store.write((tx) => changeBusiness(app, business, { timeZone: 'Pacific/Kiritimati' }, tx));
  expect(await of('day', 10)).toEqual([
    ['2026-01-07', 1],
    ['2026-01-02', 1],
  ]);
});

it('are those of before a past that was read since, with more deposits than are read at once', async () => {
  await pays();
  const paid = bench.app.store.get(creditById, { id: 1 })!;
  await bench.app.store.write((tx) => {
    const past = { block_time: bench.at - 400 * DAY, first_seen_at: bench.at - 400 * DAY, claim: null };
    for (let n = 0; n < 2_000; n++) tx.run(insertCredit, { ...paid, ...past, outpoint: `past:${n}`, txid: `past${n}` });
  });
  expect(await of('month', 1)).toEqual([['2026-01', 1]]);
});

it('are those of unconfirmed money, too, where it is allowed to count', async () => {
  await pays();
  await bench.app.store.write((tx) => {
    const paid = { ...tx.get(creditById, { id: 1 })!, outpoint: 'unconfirmed:0', txid: 'unconfirmed' };
    tx.run(insertCredit, { ...paid, block_height: null, block_hash: null, block_time: null });
  });
  expect(await of('day', 1)).toEqual([['2026-01-01', 2]]);
});

it.each([
  ['waited for its block', false, []],
  ['counted before its block', true, [['2026-01-01', 1]]],
])('count once what %s, and gets it while they are read', async (_, confirmed, meanwhile) => {
  await pays();
  const { store } = bench.app;
  const paid = store.get(creditById, { id: 1 })!;
  const place = (over: object) => store.write((tx) => tx.run(updateCredit, { ...paid, ...over }));
  await place({ block_height: null, block_hash: null, block_time: null, confirmed });
  const placed = place({});
  const counted = of('day', 1);
  await placed;
  expect(await counted).toEqual(meanwhile);
  expect(await of('day', 1)).toEqual([['2026-01-01', 1]]);
});

it('have what was seen long after its block, as when a second operator told of it late', async () => {
  await pays();
  const { store } = bench.app;
  const paid = store.get(creditById, { id: 1 })!;
  await store.write((tx) => tx.run(updateCredit, { ...paid, block_time: bench.at - 40 * DAY }));
  expect(await of('day', 1)).toEqual([['2026-01-01', 1]]);
});
