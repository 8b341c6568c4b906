/** A step through a wallet's past that came close to the last address watched. */
import { expect, it } from 'vitest';
import { derive } from '../../../daemon/app/pool.ts';
import { GAP_LIMIT, nextRescan, stepThroughPast } from '../../../daemon/app/rescan.ts';
import type { ChainUpdate } from '../../../daemon/domain/chain.ts';
import { accountById } from '../../../daemon/store/queries/businesses.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import { Bench } from './bench.ts';

const setRescan = statement((p: { id: number; rescan: string }) =>
  sqlite.updateTable('account').set({ rescan: p.rescan }).where('id', '=', p.id),
);
const targetAt = statement((p: { account_id: number; idx: number }) =>
  sqlite.selectFrom('target').select('id').where('account_id', '=', p.account_id).where('idx', '=', p.idx),
);

it('is read again with more addresses, until enough are watched beyond the last one used', async () => {
  const bench = await Bench.open('LTC');
  const { app, chain, accountId } = bench;
  const [account] = app.directory.accounts();
  await derive(app, account!, GAP_LIMIT);
  await bench.tell({ blocks: 5 });
  const from = JSON.stringify(bench.blocks.slice(0, 2).map(({ height, hash }) => ({ height, hash })));
  await app.store.write((tx) => tx.run(setRescan, { id: accountId, rescan: from }));
  const watched = () => app.store.get(accountById, { id: accountId })!.next_index;
  const rescan = () => nextRescan(app, chain, new Set());
  /** The last block pays a chain of addresses, each 600 after the one before: those that are watched are found. */
  const step = async (): Promise<void> => {
    const used = [0, 600, 1_200, 1_800].filter((idx) => idx < watched());
    const update: ChainUpdate = {
      since: bench.block(5),
      checkpoint: bench.blocks.map(({ height, hash }) => ({ height, hash })),
      orphaned: [],
      targets: 'all',
      mempool: 'unknown',
      credits: used.map((idx) =>
        bench.credit(app.store.get(targetAt, { account_id: accountId, idx })!.id, 7n, 0, { txid: `past${idx}` }),
      ),
      spends: [],
    };
    await stepThroughPast(app, chain, rescan()!, update);
  };
  let steps = 0;
  for (; rescan() && steps < 10; steps++) await step();
  expect(rescan()).toBeNull();
  expect(steps).toBeGreaterThan(2);
  expect(bench.balance()).toBe(4n * 7n);
  expect(watched()).toBeGreaterThanOrEqual(1_800 + GAP_LIMIT / 2);
});
