/** The rate of each entry at its time, in the currency that the business had then; none is invented. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rateLate } from '../../../daemon/app/books/rating.ts';
import { changeBrand } from '../../../daemon/app/shops/branding.ts';
import type { Credit, Debit } from '../../../daemon/domain/chain.ts';
import type { DebitRow } from '../../../daemon/store/queries/debits.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import { Bench, HOUR } from './bench.ts';

const MINUTE = 60_000;
const ETHER = 10n ** 18n;
const ONE = 100_000_000n;
const everyDebit = statement((_: object) => sqlite.selectFrom('debit').selectAll().orderBy('id'));
const firstSeen = statement((p: { first_seen_at: number }) =>
  sqlite.updateTable('credit').set({ first_seen_at: p.first_seen_at }),
);

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open('ETH');
});
afterEach(() => bench.app.store.close());

const reckonIn = (currency: string): Promise<void> =>
  bench.app.store.write((tx) =>
    changeBrand(bench.app, bench.app.directory.business(bench.businessId), { currency }, tx),
  );

/** So many units of a currency a dollar, as two sources say. */
function perDollar(code: string, scaled: bigint): void {
  for (const name of ['three', 'four']) {
    bench.app.rates.record({ name, kind: 'fiat' }, [{ code, scaled, quotedIn: 'USD' }], bench.at);
  }
}

let known: Credit[] = [];
let left: Debit[] = [];
beforeEach(() => {
  known = [];
  left = [];
});
/** A deposit in a new block. */
async function deposit(txid: string, targetId = bench.unassigned()) {
  const credits = (): Credit[] => {
    known = [...known, bench.credit(targetId, ETHER, 0, { txid, asset: 'ETH' })];
    return known;
  };
  await bench.tell({ blocks: 1, credits, debits: () => left });
  return bench.row(`${txid}:0`);
}
/** A fee in a new block. */
async function pays(txid: string): Promise<DebitRow> {
  const debits = (): Debit[] => {
    const amount = { asset: 'ETH' as const, units: ETHER / 10n };
    left = [...left, { id: `${txid}:fee`, txid, targetId: 1, kind: 'fee', amount, block: bench.block(0) }];
    return left;
  };
  await bench.tell({ blocks: 1, credits: () => known, debits });
  return bench.app.store.all(everyDebit, {}).find((row) => row.txid === txid)!;
}

describe('an entry', () => {
  it('has the rate of its time in the currency that the business had then, also after both have changed', async () => {
    perDollar('EUR', 50_000_000n);
    expect(await deposit('a')).toMatchObject({
      book_currency: 'USD',
      book_rate: 60_000n * ONE,
      book_rate_at: bench.at,
    });
    await reckonIn('EUR');
    const second = await deposit('b');
    expect(second).toMatchObject({ book_currency: 'EUR', book_rate: 30_000n * ONE });
    const fee = await pays('c');
    expect(fee).toMatchObject({ kind: 'fee', book_currency: 'EUR', book_rate: 30_000n * ONE, usd_rate: 60_000n * ONE });
    bench.advance(HOUR);
    bench.rate('1');
    await reckonIn('USD');
    await bench.tell({ blocks: 1, credits: () => known, debits: () => left });
    expect(bench.row('a:0')).toMatchObject({ book_currency: 'USD', book_rate: 60_000n * ONE });
    expect(bench.row('b:0')).toMatchObject({ book_currency: 'EUR', book_rate: 30_000n * ONE });
    expect(bench.app.store.all(everyDebit, {})).toMatchObject([{ book_currency: 'EUR', book_rate: 30_000n * ONE }]);
  });

  it("has the quote's rate within a quote in that currency, and the market's in another", async () => {
    const first = await bench.invoice();
    const quotedAt = bench.at;
    const { quote_rate } = bench.payment(first.id);
    bench.advance(5 * MINUTE);
    bench.rate('70000');
    const paid = await deposit('a', first.targetId);
    expect(paid).toMatchObject({ book_currency: 'USD', book_rate: quote_rate, book_rate_at: quotedAt });
    expect(quote_rate).toBe(60_000n * ONE);
    perDollar('EUR', 50_000_000n);
    await reckonIn('EUR');
    const second = await bench.invoice();
    bench.advance(5 * MINUTE);
    bench.rate('80000');
    expect(await deposit('b', second.targetId)).toMatchObject({ book_currency: 'EUR', book_rate: 40_000n * ONE });
  });
});

describe('while prices were away', () => {
  it('gets the nearest stored rate an hour later, at most an hour away, once', async () => {
    bench.advance(40 * MINUTE);
    expect(await deposit('a')).toMatchObject({ book_currency: 'USD', book_rate: null, book_rate_at: null });
    expect(await pays('b')).toMatchObject({ book_currency: 'USD', book_rate: null });
    bench.advance(15 * MINUTE);
    bench.rate('50000');
    const foundAt = bench.at;
    expect(await rateLate(bench.app)).toBe(0);
    bench.advance(50 * MINUTE);
    bench.rate('40000');
    expect(await rateLate(bench.app)).toBe(2);
    expect(bench.row('a:0')).toMatchObject({ book_rate: 50_000n * ONE, book_rate_at: foundAt });
    expect(bench.app.store.all(everyDebit, {})).toMatchObject([{ book_rate: 50_000n * ONE, book_rate_at: foundAt }]);
    expect(await rateLate(bench.app)).toBe(0);
  });

  it('stays without a rate where none was found within an hour', async () => {
    bench.advance(2 * HOUR);
    await deposit('a');
    bench.advance(61 * MINUTE);
    bench.rate('50000');
    bench.advance(2 * HOUR);
    expect(await rateLate(bench.app)).toBe(0);
    expect(bench.row('a:0')).toMatchObject({ book_currency: 'USD', book_rate: null, book_rate_at: null });
  });

  it('reads more than a page of them', async () => {
    bench.advance(40 * MINUTE);
    const target = bench.unassigned();
    await bench.tell({
      blocks: 1,
      credits: () =>
        Array.from({ length: 1_203 }, (_, n) => bench.credit(target, ETHER, 0, { txid: `t${n}`, asset: 'ETH' })),
      debits: () => [],
    });
    bench.advance(5 * MINUTE);
    bench.rate('50000');
    bench.advance(HOUR);
    expect(await rateLate(bench.app)).toBe(1_203);
  });

  it('asks once for all of a time, and for those without a rate only once an hour', async () => {
    bench.advance(2 * HOUR);
    const target = bench.unassigned();
    await bench.tell({
      blocks: 1,
      credits: () =>
        Array.from({ length: 400 }, (_, n) => bench.credit(target, ETHER, 0, { txid: `t${n}`, asset: 'ETH' })),
      debits: () => [],
    });
    const asked = vi.spyOn(bench.app.rates, 'rateNear');
    const questions = async (minutes: number): Promise<number> => {
      bench.advance(minutes * MINUTE);
      asked.mockClear();
      expect(await rateLate(bench.app)).toBe(0);
      return asked.mock.calls.length;
    };
    expect(await questions(30)).toBe(0);
    expect(await questions(31)).toBe(1);
    expect(await questions(1)).toBe(0);
    expect(await questions(20)).toBe(0);
    expect(await questions(60)).toBe(1);
    expect(await questions(1)).toBe(0);
    expect(await questions(73 * 60)).toBe(0);
  });

  it('finds the rate of an entry that a chain tells late', async () => {
    bench.advance(40 * MINUTE);
    bench.rate('50000');
    bench.advance(2 * HOUR);
    expect(await rateLate(bench.app)).toBe(0);
    await deposit('a');
    const seen = bench.at - 2 * HOUR;
    bench.app.store.write((tx) => tx.run(firstSeen, { first_seen_at: seen }));
    bench.advance(MINUTE);
    expect(await rateLate(bench.app)).toBe(0);
    bench.advance(HOUR);
    expect(await rateLate(bench.app)).toBe(1);
    expect(bench.row('a:0')).toMatchObject({ book_rate: 50_000n * ONE, book_rate_at: seen });
  });
});
