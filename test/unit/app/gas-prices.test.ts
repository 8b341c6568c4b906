/** The measured price of gas, by the hour. */
import { expect, it } from 'vitest';
import { cheapGas, GAS_HOURS_MAX, gasHours, noteGasPrices } from '../../../daemon/app/gas/prices.ts';
import { ETH } from './pay-families.ts';

const HOUR_MS = 3_600_000;

it('is kept as the lowest and the highest of each hour, for a week', async () => {
  const pay = await ETH.open();
  const { bench, app } = pay;
  await pay.sync();
  const hours = () => gasHours(app.store, bench.chain.key).map(({ low, high }) => [low, high]);
  const note = (price: bigint | null, laterMs: number): Promise<void> => {
    bench.advance(laterMs);
    return noteGasPrices(app, () => price);
  };
  await note(null, HOUR_MS - (bench.at % HOUR_MS));
  expect(hours()).toEqual([]);
  await note(50n, 0);
  await note(40n, 60_000);
  await note(70n, 60_000);
  await note(60n, 60_000);
  // the next hour was not measured
  await note(90n, 2 * HOUR_MS);
  expect(hours()).toEqual([
    [40n, 70n],
    [90n, 90n],
  ]);
  expect(gasHours(app.store, bench.chain.key).at(-1)?.at).toBe(bench.at - (bench.at % HOUR_MS));
  for (let hour = 0; hour < GAS_HOURS_MAX + 5; hour++) await note(100n, HOUR_MS);
  expect(hours()).toEqual(Array.from({ length: GAS_HOURS_MAX }, () => [100n, 100n]));
  // a clock that went back, and a wrong one that came forward, leave no hours beyond the present one
  await note(30n, -10 * HOUR_MS);
  expect(hours()).toHaveLength(GAS_HOURS_MAX - 10);
  expect(hours().at(-1)).toEqual([30n, 100n]);
});

it('is cheap where a quarter of at least 24 measured hours was no dearer', async () => {
  const pay = await ETH.open();
  const { bench, app } = pay;
  await pay.sync();
  const cheap = () => cheapGas(app.store, bench.chain.key);
  for (let hour = 1; hour <= 23; hour++) {
    bench.advance(HOUR_MS);
    await noteGasPrices(app, () => BigInt(hour * 10));
  }
  expect(cheap()).toBeNull();
  bench.advance(HOUR_MS);
  await noteGasPrices(app, () => 5n);
  // of 5, 10, …, 230 the sixth
  expect(cheap()).toBe(50n);
});
