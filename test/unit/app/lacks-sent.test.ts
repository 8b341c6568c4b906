/** Whether the books of an account chain lack a transaction that blocks have of an address of ours: nothing is paid from there then. */
import { expect, it } from 'vitest';
import { adoptBalances, reconcile } from '../../../daemon/app/books/reconcile.ts';
import { fundsOf } from '../../../daemon/app/spends/address-funds.ts';
import type { ListedScript, Witnesses } from '../../../daemon/chains/adapter.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
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
  return { pay, own: own!, lacks, change };
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

it('ends once the operator adopts what two operators tell, where the balance is right and no transaction can be found', async () => {
  const { pay, own, lacks } = await scene();
  const { app, bench, chain } = pay;
  const held = own.units.ETH!;
  const standing = async (targets: readonly ListedScript[]) =>
    targets.map(({ script }) => {
      const isOwn = Buffer.compare(script, own.script) === 0;
      return { nonce: isOwn ? 2n : 0n, units: new Map([['ETH' as const, isOwn ? held : 0n]]) };
    });
  const witnesses: Witnesses = {
    standing,
    sent: async (booked) => booked.map(() => null),
    came: async (coins) => coins.map(() => true),
  };
  Object.assign(bench.chain.adapter, { witnesses });
  await chain.mine(BURIED_BLOCKS.ETH);
  await pay.sync();
  const prove = async (make: typeof reconcile) => {
    const { problems, offers } = await make(app, bench.chain, new AbortController().signal);
    return { problems, offers: offers.map(({ target, booked, held: there }) => [target.address, booked, there]) };
  };
  // nobody asks about addresses from which nothing was to be paid
  expect(await prove(reconcile)).toEqual({ problems: [], offers: [] });
  expect(lacks(2n)).toBe(true);
  expect(await prove(reconcile)).toEqual({ problems: [], offers: [[own.address, held, held]] });
  expect(lacks(2n)).toBe(true);
  expect(await prove(adoptBalances)).toEqual({ problems: [], offers: [] });
  expect([lacks(2n), bench.balance('ETH')]).toEqual([false, held]);
});
