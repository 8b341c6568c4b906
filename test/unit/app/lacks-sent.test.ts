/** Whether the books of an account chain lack a transaction that blocks have of an address of ours: nothing is paid from there then. */
import { expect, it } from 'vitest';
import { fundsOf } from '../../../daemon/app/withdrawals/address-funds.ts';
import { ETH } from './pay-families.ts';

async function scene() {
  const pay = await ETH.open();
  const { app, bench, chain } = pay;
  await pay.deposits([chain.coin]);
  await pay.withdraw(chain.coin / 10n);
  await pay.round();
  await chain.mine();
  await pay.sync();
  const business = app.directory.business(bench.businessId);
  const account = app.directory.account(business, 'ETH')!;
  const funds = () => fundsOf(app.store, { chain: bench.chain, account, asset: 'ETH' }, {});
  const [own] = funds().balances();
  const lacks = (used: bigint): boolean => funds().lacksSent(own!, used);
  const change = (sql: string) => app.store.write((tx) => tx.run({ sql, bind: () => [] }, {}));
  return { lacks, change };
}

it('is so where blocks have more than was sent here', async () => {
  const { lacks } = await scene();
  expect([0n, 1n, 2n, 3n].map(lacks)).toEqual([false, false, true, true]);
});

it('is not so once the fee of each is booked, as of those that only another program can make', async () => {
  const { lacks, change } = await scene();
  const columns =
    'chain_key, account_id, target_id, asset, block_height, block_hash, at, usd_rate, book_currency, book_rate, book_rate_at';
  const other = `INSERT INTO debit (ref, txid, kind, units, ${columns}) SELECT 'other:fee', 'other', 'fee', '1', ${columns} FROM debit LIMIT 1`;
  await change(other);
  expect([1n, 2n, 3n].map(lacks)).toEqual([false, false, true]);
});

it.each([
  ['the balance of the address was adopted', "UPDATE debit SET kind = 'adopted'"],
  ['the account has a past', 'UPDATE account SET gap = 20'],
])('is not known where %s', async (_, sql) => {
  const { lacks, change } = await scene();
  await change(sql);
  expect([2n, 3n].map(lacks)).toEqual([false, false]);
});
