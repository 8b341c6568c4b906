/** In which order a source is told to watch: a slow server watches the first ones minutes before the last ones. */
import { expect, it } from 'vitest';
import { derive } from '../../../daemon/app/addresses/pool.ts';
import { NOBODY } from '../../../daemon/app/addresses/skipped.ts';
import { watchList } from '../../../daemon/app/addresses/watch.ts';
import { addBusiness } from '../../../daemon/app/shops/businesses.ts';
import { urgent } from '../../../daemon/chains/evm/transfers.ts';
import type { Credit } from '../../../daemon/domain/chain.ts';
import { insertTarget } from '../../../daemon/store/queries/credits.ts';
import { Bench } from './bench.ts';

/** As many as are watched of the newest ones. */
const NEWEST = 500;
/** Of the addresses that are given out next, which an invoice may get at any moment. */
const READY = 50;

const orderOf = ({ app, chain }: Bench): number[] => [
  ...new Set([...watchList(app.store, chain.key).active()].flat().map(({ id }) => id)),
];

/** Skipped addresses, which are newer than every invoice. */
async function skip({ app, chain, accountId }: Bench, count: number): Promise<number[]> {
  return app.store.write((tx) =>
    Array.from({ length: count }, (_, i) => {
      const idx = 50_000 + i;
      const script = Buffer.concat([Buffer.from('0014', 'hex'), Buffer.alloc(20, idx)]);
      script.writeUInt32BE(idx, 2);
      const place = { account_id: accountId, chain_key: chain.key, branch: 0, idx, invoice_id: NOBODY };
      return tx.run(insertTarget, { script, address: `skipped ${idx}`, ...place }).id;
    }),
  );
}

it('watches open invoices by their deadlines, before addresses that nobody pays any more', async () => {
  const bench = await Bench.open('BTC');
  const late = await bench.invoice({ crypto: 'BTC' });
  bench.advance(60_000);
  const later = await bench.invoice({ crypto: 'BTC' });
  // what a restore derives
  await skip(bench, NEWEST);
  const order = orderOf(bench);
  const [first, second] = [order.indexOf(late.targetId), order.indexOf(later.targetId)];
  expect(first).toBeGreaterThanOrEqual(0);
  expect(second).toBe(first + 1);
  expect(second).toBeLessThanOrEqual(READY + 1);
  expect(order.length).toBeGreaterThanOrEqual(NEWEST + 2);
});

it.each(['BTC', 'ETH'] as const)(
  'watches open invoices of %s whatever number of crumbs waits for confirmations',
  async (coin) => {
    const bench = await Bench.open(coin);
    const { targetId } = await bench.invoice({ crypto: coin });
    const crowd = await skip(bench, 600);
    const crumbs = (): Credit[] => crowd.map((id) => bench.credit(id, 1n, null, { txid: `crumb ${id}` }));
    await bench.tell({ credits: crumbs });
    const order = orderOf(bench);
    expect(order.indexOf(targetId)).toBeLessThanOrEqual(READY);
    expect(order.indexOf(crowd[0]!)).toBeLessThanOrEqual(READY + 20);
    expect(crowd.every((id) => order.includes(id))).toBe(true);
  },
);

it('has a second operator of an account chain asked about open invoices, not about addresses that nobody was given', async () => {
  const bench = await Bench.open('ETH');
  const { app } = bench;
  const { targetId } = await bench.invoice({ crypto: 'ETH' });
  const key = { kind: 'secp256k1' as const, publicKey: '02', chainCode: '' };
  const other = { name: 'Other', network: 'mainnet' as const, timeZone: 'UTC', accountNo: 1, birthday: null };
  await app.store.write((tx) => addBusiness(app, { ...other, accounts: { ETH: key } }, tx));
  const [first, second] = app.directory.accounts();
  await derive(app, first!, READY);
  await app.store.write((tx) => {
    for (let idx = 0; idx < READY; idx++) {
      const place = { account_id: second!.id, chain_key: second!.chainKey, branch: 0, idx, invoice_id: null };
      tx.run(insertTarget, { script: Buffer.from(`other ${idx}`), address: `other ${idx}`, ...place });
    }
  });
  expect(urgent(watchList(app.store, bench.chain.key)).map(({ id }) => id)).toContain(targetId);
});
