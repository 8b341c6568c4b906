/** A database of before conflict keys: what was planned, signed and held in it means the same afterwards. */
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { readPlan } from '../../../daemon/app/spends/stored-plan.ts';
import type { CoinSource } from '../../../daemon/chains/adapter.ts';
import { UtxoSpending } from '../../../daemon/chains/utxo/spend/spending.ts';
import { MIGRATIONS, migrate } from '../../../daemon/store/migrations.ts';

const OUTPOINT = `${'ab'.repeat(32)}:1`;
/** As it was written before. */
const PLAN = JSON.stringify({
  kind: 'utxo',
  network: 'mainnet',
  chain: 'BTC',
  accountNo: 0,
  version: 2,
  lockTime: 800_000,
  inputs: [
    {
      outpoint: OUTPOINT,
      units: { $units: '100000' },
      script: { $hex: `0014${'cd'.repeat(20)}` },
      branch: 0,
      index: 3,
      confirmations: 7,
      sequence: 0xfffffffd,
    },
  ],
  outputs: [{ kind: 'payout', address: 'bc1', script: { $hex: `0014${'ef'.repeat(20)}` }, units: { $units: '99000' } }],
  fee: { $units: '1000' },
  vsize: 110,
});

const WITHDRAWAL = `INSERT INTO withdrawal (uuid, business_id, account_id, chain_key, asset, origin, units, sweep, fee_held,
  address, face, state, held, cancel, created_at, updated_at)
  VALUES (?, 1, 1, ?, ?, 'merchant', '5', 0, ?, 'a', 'a', 'approved', 1, 0, 0, 0)`;

it('keys, sizes, plans and the asset of a fee are those of before', async () => {
  const db = new Database(':memory:');
  const before = MIGRATIONS.findIndex(([name]) => name === '0019-conflict-keys');
  migrate(db, MIGRATIONS.slice(0, before));
  db.exec(`INSERT INTO spend (id, account_id, chain_key, asset, purpose, anchor, state, created_at)
    VALUES (1, 1, 'mainnet:BTC', 'BTC', 'pay', '${OUTPOINT}', 'open', 0)`);
  db.prepare(
    `INSERT INTO spend_version (id, spend_id, chain_key, kind, plan, fee, vsize, created_at)
      VALUES (1, 1, 'mainnet:BTC', 'pay', ?, '1000', 110, 0)`,
  ).run(PLAN);
  db.exec(`INSERT INTO spend_input VALUES ('${OUTPOINT}', 'mainnet:BTC', 1)`);
  const insert = db.prepare(WITHDRAWAL);
  insert.run('a', 'mainnet:BTC', 'BTC', '1000');
  insert.run('b', 'sandbox:ETH', 'USDT_ERC20', '0');
  insert.run('c', 'sandbox:BSC', 'BNB', '7');
  insert.run('d', 'sandbox:XMR', 'XMR', '9');
  migrate(db);

  expect(db.prepare('SELECT conflict_key, state FROM spend').get()).toEqual({ conflict_key: OUTPOINT, state: 'open' });
  expect(db.prepare('SELECT conflict_key, chain_key, version_id FROM spend_key').all()).toEqual([
    { conflict_key: OUTPOINT, chain_key: 'mainnet:BTC', version_id: 1 },
  ]);
  const { plan, size } = db.prepare('SELECT plan, size FROM spend_version').get() as { plan: string; size: number };
  const asked: unknown[] = [];
  const source = { conflict: async (...of: unknown[]) => asked.push(of.slice(0, 2)) };
  const spending = new UtxoSpending('BTC', 'mainnet', source as unknown as CoinSource);
  const read = readPlan(plan);
  expect([spending.conflictKeys(read), spending.preferredKey(read), spending.sizeOf(read)]).toEqual([
    [OUTPOINT],
    OUTPOINT,
    size,
  ]);
  await spending.excludedBy({ plan: read, key: OUTPOINT, txid: 'a', base: null }, AbortSignal.timeout(1_000));
  expect(asked).toEqual([['a', []]]);
  expect(db.prepare('SELECT uuid, fee_asset FROM withdrawal ORDER BY uuid').raw().all()).toEqual([
    ['a', 'BTC'],
    ['b', 'ETH'],
    ['c', 'BNB'],
    ['d', 'XMR'],
  ]);
  db.close();
});
