/** Money that came while there was no rate is not asked for once more. */
import { expect, it } from 'vitest';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { Bench, HOUR } from './bench.ts';

it('a new price waits until what came has its value', async () => {
  const bench = await Bench.open();
  const { slug, targetId, units, id } = await bench.invoice();
  const half = units / 2n;
  bench.advance(2 * HOUR);
  await bench.tell({ blocks: 1, credits: () => [bench.credit(targetId, half, 0)] });
  expect(bench.row(`tx${targetId}:0`).value).toBeNull();
  bench.rate('60000');
  const read = async () => (await readInvoice(bench.app, null, slug)).payment!;
  expect(await read()).toMatchObject({ amount: units, quoteEnded: true, unvalued: true });
  await bench.tell();
  expect(bench.payment(id).seen_value).toBeGreaterThan(0n);
  const { amount, remaining, quoteEnded } = await read();
  expect([amount - half, remaining, quoteEnded]).toEqual([remaining, units - half, false]);
});
