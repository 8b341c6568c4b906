/** The statement of a month: balances that add up from month to month, and sums that are those of the exported lines. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exportPage } from '../../../daemon/app/books/export.ts';
import { netOf, statementOf } from '../../../daemon/app/books/statement.ts';
import { changeBrand } from '../../../daemon/app/shops/branding.ts';
import type { Credit, Debit } from '../../../daemon/domain/chain.ts';
import { parseDecimal } from '../../../daemon/domain/money.ts';
import { Bench } from './bench.ts';
import { zoneOf } from './books-kit.ts';

const ETHER = 10n ** 18n;
const DOLLAR = 10n ** 6n;

let bench: Bench;
let credits: Credit[];
let debits: Debit[];
beforeEach(async () => {
  bench = await Bench.open('ETH');
  credits = [];
  debits = [];
});
afterEach(() => bench.app.store.close());

const business = () => bench.app.directory.business(bench.businessId);
const month = (year: number, of: number) => statementOf(bench.app, business(), year, of);

/** A block at a time, with what it brings and takes. */
async function block(at: number, brings: () => Credit[], takes: () => Debit[] = () => []): Promise<void> {
  bench.at = at;
  bench.rate('3000');
  const told = {
    credits: () => (credits = [...credits, ...brings()]),
    debits: () => (debits = [...debits, ...takes()]),
  };
  await bench.tell({ blocks: 1, ...told });
}
const takes = (txid: string, kind: 'paid' | 'fee', units: bigint): Debit => ({
  id: `${txid}:${kind}`,
  txid,
  targetId: 1,
  kind,
  amount: { asset: 'ETH', units },
  block: bench.block(0),
});

/** January, a paid invoice in February, and what left in February and March. */
async function story(): Promise<void> {
  await block(Date.UTC(2026, 0, 20), () => [bench.credit(1, 2n * ETHER, 0, { txid: 'top-up', asset: 'ETH' })]);
  await block(Date.UTC(2026, 1, 10), () => []);
  const sold = await bench.invoice({ usd: 100n });
  await block(Date.UTC(2026, 1, 10), () => [
    bench.credit(sold.targetId, sold.units, 0, { txid: 'sale', asset: 'ETH' }),
  ]);
  for (let n = 0; n < 12; n++) await block(Date.UTC(2026, 1, 10) + n * 60_000, () => []);
  expect(bench.invoiceStatus(sold.id)).toBe('paid');
  await block(
    Date.UTC(2026, 1, 20),
    () => [],
    () => [takes('out', 'paid', ETHER), takes('out', 'fee', ETHER / 1000n)],
  );
  await block(
    Date.UTC(2026, 2, 31, 23, 30),
    () => [],
    () => [takes('late', 'fee', ETHER / 500n)],
  );
}

it('adds up in each coin, from month to month, and the values are those of the lines', async () => {
  await story();
  const [january, february, march, april] = [
    await month(2026, 1),
    await month(2026, 2),
    await month(2026, 3),
    await month(2026, 4),
  ];
  expect(january.coins).toMatchObject([
    { asset: 'ETH', opening: 0n, closing: 2n * ETHER, flows: { received: 2n * ETHER } },
  ]);
  const [coin] = february.coins;
  const sold = coin!.flows.takings;
  expect(sold).toBeGreaterThan(0n);
  expect(coin).toEqual({
    asset: 'ETH',
    opening: 2n * ETHER,
    closing: ETHER + sold - ETHER / 1000n,
    flows: { takings: sold, received: 0n, refunds: 0n, withdrawals: ETHER, fees: ETHER / 1000n, corrected: 0n },
  });
  expect(march.coins).toMatchObject([{ opening: coin!.closing, closing: coin!.closing - ETHER / 500n }]);
  expect(april.coins).toMatchObject([{ opening: march.coins[0]!.closing, closing: march.coins[0]!.closing }]);
  expect(april.values).toEqual([]);
  for (const { coins } of [january, february, march, april]) {
    for (const { opening, closing, flows } of coins) expect(opening + netOf(flows)).toBe(closing);
  }
  const days = { from: { year: 2026, month: 2, day: 1 }, to: { year: 2026, month: 2, day: 28 } };
  const { rows } = exportPage(bench.app, { business: business(), ...days, cursor: null });
  const worth = (kind: string): bigint =>
    rows.filter((row) => row.kind === kind).reduce((sum, row) => sum + parseDecimal(row.book_value, 8)!, 0n);
  expect(february.values).toEqual([
    {
      currency: 'USD',
      lines: 3,
      unrated: 0,
      flows: {
        takings: worth('receipt'),
        received: 0n,
        refunds: 0n,
        withdrawals: 3000n * 10n ** 8n,
        fees: 3n * 10n ** 8n,
        corrected: 0n,
      },
    },
  ]);
  const price = 100n * 10n ** 8n;
  expect(february.taxes).toEqual([{ currency: 'USD', rate: null, net: price, tax: 0n, gross: price }]);
});

it('makes one statement at a time, and the same for all who ask for it meanwhile', async () => {
  await story();
  const [first, other] = [month(2026, 2), month(2026, 3)];
  expect(month(2026, 2)).toBe(first);
  const [february, march] = await Promise.all([first, other]);
  expect(february.asOf).toBe(bench.at);
  expect(march.coins[0]!.opening).toBe(february.coins[0]!.closing);
  const again = month(2026, 2);
  expect(again).not.toBe(first);
  expect((await again).coins).toEqual(february.coins);
});

it('has the months of the business, and no value where no rate was known', async () => {
  await story();
  await bench.app.store.write((tx) => {
    tx.run(zoneOf, { id: bench.businessId, time_zone: 'Asia/Tokyo' });
    tx.afterCommit(() => bench.app.directory.load(bench.app.store));
  });
  expect((await month(2026, 3)).values).toEqual([]);
  expect((await month(2026, 4)).coins).toMatchObject([{ flows: { fees: ETHER / 500n } }]);
  await bench.app.store.write((tx) => changeBrand(bench.app, business(), { currency: 'EUR' }, tx));
  await block(Date.UTC(2026, 3, 5), () => [bench.credit(1, 7n * DOLLAR, 0, { txid: 'usdt', asset: 'USDT_ERC20' })]);
  const { coins, values } = await month(2026, 4);
  expect(coins.map(({ asset, closing }) => [asset, closing]).find(([asset]) => asset === 'USDT_ERC20')).toEqual([
    'USDT_ERC20',
    7n * DOLLAR,
  ]);
  // nobody told what a dollar is in euros; what was recorded in dollars stays so
  expect(values).toMatchObject([
    { currency: 'USD', lines: 1, unrated: 0, flows: { fees: 6n * 10n ** 8n } },
    { currency: 'EUR', lines: 1, unrated: 1, flows: { received: 0n } },
  ]);
});
