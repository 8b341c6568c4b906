/** Takings are those of the days and months asked for, each of them whole. */
import { beforeEach, expect, it } from 'vitest';
import { takings } from '../../../daemon/app/operator/takings.ts';
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
