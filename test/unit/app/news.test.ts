/** What the operator's stream says of an invoice, change by change. */
import { expect, it } from 'vitest';
import { Bench } from './bench.ts';

it('says how deep a deposit is, block by block, until it counts', async () => {
  const bench = await Bench.open('LTC');
  const { app } = bench;
  let { cursor } = await app.operatorEvents.next(app.store, null, 0);
  const said = async (): Promise<string[]> => {
    const page = await app.operatorEvents.next(app.store, cursor, 0);
    cursor = page.cursor;
    return page.events.filter(({ kind }) => kind === 'invoice').map(({ what }) => what);
  };
  const paid = await bench.invoice();
  expect(await said()).toEqual(['created, unpaid', 'requested 0.00166667 LTC, unpaid']);
  await bench.tell({ credits: () => [bench.credit(paid.targetId, paid.units)] });
  expect(await said()).toEqual(['seen 0.00166667 of 0.00166667 LTC, unpaid']);
  await bench.tell({ blocks: 1, credits: () => [bench.credit(paid.targetId, paid.units, 0)] });
  expect(await said()).toEqual(['1 of 3 confirmations of 0.00166667 LTC, unpaid']);
  await bench.tell();
  expect(await said()).toEqual([]);
  await bench.tell({ blocks: 1 });
  expect(await said()).toEqual(['2 of 3 confirmations of 0.00166667 LTC, unpaid']);
  await bench.tell({ blocks: 1 });
  expect(await said()).toEqual([
    '3 of 3 confirmations of 0.00166667 LTC, unpaid',
    'confirmed 0.00166667 of 0.00166667 LTC, paid',
    'paid, paid',
  ]);
  await bench.tell({ blocks: 3 });
  expect(await said()).toEqual([]);
});

it('tells of no more deposits at a block than the stream could keep', async () => {
  const bench = await Bench.open('LTC');
  const { app } = bench;
  const paid = await bench.invoice();
  const many = Array.from({ length: 250 }, (_, n) => n);
  const credits = () => many.map((n) => bench.credit(paid.targetId, 1_000_000n, 0, { n, txid: `tx${n}` }));
  await bench.tell({ blocks: 1, credits });
  const { cursor } = await app.operatorEvents.next(app.store, null, 0);
  await bench.tell({ blocks: 1 });
  const page = await app.operatorEvents.next(app.store, cursor, 0);
  expect(page.missed).toBe(false);
  expect(page.events.filter(({ what }) => what.includes(' confirmations of '))).toHaveLength(200);
});
