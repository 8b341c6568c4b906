/** In which order a source is told to watch: a slow server watches the first ones minutes before the last ones. */
import { expect, it } from 'vitest';
import { NOBODY } from '../../../daemon/app/addresses/skipped.ts';
import { watchList } from '../../../daemon/app/addresses/watch.ts';
import { insertTarget } from '../../../daemon/store/queries/credits.ts';
import { Bench } from './bench.ts';

/** As many as are watched of the newest ones. */
const NEWEST = 500;
/** Of the addresses that are given out next, which an invoice may get at any moment. */
const READY = 50;

it('watches open invoices by their deadlines, before addresses that nobody pays any more', async () => {
  const bench = await Bench.open('BTC');
  const { app, chain, accountId } = bench;
  const late = await bench.invoice({ crypto: 'BTC' });
  bench.advance(60_000);
  const later = await bench.invoice({ crypto: 'BTC' });
  // what a restore derives is newer than every invoice
  await app.store.write((tx) => {
    for (let idx = 50_000; idx < 50_000 + NEWEST; idx++) {
      const script = Buffer.concat([Buffer.from('0014', 'hex'), Buffer.alloc(20, idx)]);
      script.writeUInt32BE(idx, 2);
      const place = { account_id: accountId, chain_key: chain.key, branch: 0, idx, invoice_id: NOBODY };
      tx.run(insertTarget, { script, address: `skipped ${idx}`, ...place });
    }
  });
  const order = [...new Set([...watchList(app.store, chain.key).active()].flat().map(({ id }) => id))];
  const [first, second] = [order.indexOf(late.targetId), order.indexOf(later.targetId)];
  expect(first).toBeGreaterThanOrEqual(0);
  expect(second).toBe(first + 1);
  expect(second).toBeLessThanOrEqual(READY + 1);
  expect(order.length).toBeGreaterThanOrEqual(NEWEST + 2);
});
