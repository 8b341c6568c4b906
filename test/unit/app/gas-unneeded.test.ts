/** Looking at the gas of a chain that nothing needs asks no server, and has nothing watched. */
import { expect, it } from 'vitest';
import { isNeeded } from '../../../daemon/app/chains/needed.ts';
import { deskOf, desksOf } from '../../../daemon/app/gas/finds.ts';
import { changeBusiness } from '../../../daemon/app/shops/businesses.ts';
import { TOKEN } from './pay-families.ts';

it('has no desk while only the defaults connect the chain', async () => {
  const { app, bench } = await TOKEN.open();
  const business = app.directory.business(bench.businessId);
  const disable = business.enabled.map(({ symbol }) => symbol);
  await app.store.write((tx) => changeBusiness(app, business, { disable }, tx));
  bench.chain.dormant = true;
  expect(await desksOf(app, business)).toEqual([]);
  await expect(deskOf(app, business, 'BSC')).rejects.toMatchObject({ code: 'gas.chain' });
  expect(isNeeded(app, bench.chain)).toBe(false);
  bench.chain.dormant = false;
  expect((await desksOf(app, business)).map(({ chain }) => chain.adapter.chain)).toEqual(['BSC']);
});
