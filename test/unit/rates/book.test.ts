import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASSETS, assetOf, NETWORKS, type Network } from '../../../daemon/domain/assets.ts';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { cryptoFor, parseDecimal } from '../../../daemon/domain/money.ts';
import { available, RateBook, type RatesConfig } from '../../../daemon/rates/book.ts';
import { HISTORY_KEPT_MS, type RateHistory, RateTimeline, type Snapshot } from '../../../daemon/rates/history.ts';
import type { Quote } from '../../../daemon/rates/source.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T0 = Date.UTC(2026, 0, 15, 12);

const scaled = (text: string): bigint => parseDecimal(text, 8) as bigint;

function quotes(prices: Record<string, string>, more: Partial<Quote> = {}): Quote[] {
  return Object.entries(prices).map(([code, text]) => ({ code, scaled: scaled(text), quotedIn: 'USD', ...more }));
}

type Prices = Record<string, string>;

/** A book in which sources "a" and "b" (and fiat "x" and "y") gave the same prices at T0. */
function bookWith(coins: Prices, fiat: Prices = {}, config: RatesConfig = {}, history?: RateHistory): RateBook {
  const book = new RateBook(config, history);
  for (const name of ['a', 'b']) book.record({ name, kind: 'coin' }, quotes(coins), T0);
  for (const name of ['x', 'y']) book.record({ name, kind: 'fiat' }, quotes(fiat), T0);
  return book;
}

const usd = (book: RateBook, asset: Parameters<RateBook['rate']>[1], now: number, network: Network = 'mainnet') =>
  book.rate(network, asset, 'USD', now)?.scaled ?? null;

describe('rates from sources', () => {
  it('needs two sources that agree', () => {
    const book = new RateBook({});
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '60000' }), T0);
    expect(usd(book, 'BTC', T0)).toBeNull();
    book.record({ name: 'b', kind: 'coin' }, quotes({ BTC: '70000' }), T0);
    expect(usd(book, 'BTC', T0)).toBeNull();
    book.record({ name: 'c', kind: 'coin' }, quotes({ BTC: '60100' }), T0 + 1);
    expect(book.rate('mainnet', 'BTC', 'USD', T0 + 1)).toEqual({ scaled: scaled('60050'), at: T0 + 1 });
  });

  it('a source counts once, with its last answer', () => {
    const book = new RateBook({});
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '60000' }), T0);
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '60000' }), T0 + 1);
    expect(usd(book, 'BTC', T0 + 1)).toBeNull();
  });

  it('crosses into every currency, rounding down', () => {
    const book = bookWith({ LTC: '80.12345678' }, { EUR: '0.91234567', JPY: '150.5' });
    expect(book.rate('mainnet', 'LTC', 'EUR', T0)?.scaled).toBe((8012345678n * 91234567n) / 100000000n);
    expect(book.rate('mainnet', 'LTC', 'JPY', T0)?.scaled).toBe(scaled('12058.58024539'));
    expect(book.rate('mainnet', 'LTC', 'GBP', T0)).toBeNull();
    expect(book.rate('mainnet', 'LTC', 'constructor', T0)).toBeNull();
  });

  it('values both USDT networks by one price', () => {
    const book = bookWith({ USDT: '0.9998' });
    expect(usd(book, 'USDT_ERC20', T0)).toBe(scaled('0.9998'));
    expect(usd(book, 'USDT_BEP20', T0)).toBe(scaled('0.9998'));
  });

  it('a missing price stops its own asset alone', () => {
    const book = bookWith({ BTC: '60000', XMR: '160' });
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '60000' }), T0 + 10 * MINUTE);
    book.record({ name: 'b', kind: 'coin' }, quotes({ BTC: '60000' }), T0 + 10 * MINUTE);
    expect(usd(book, 'XMR', T0 + 15 * MINUTE)).toBe(scaled('160'));
    expect(usd(book, 'XMR', T0 + 15 * MINUTE + 1)).toBeNull();
    expect(usd(book, 'BTC', T0 + 15 * MINUTE + 1)).toBe(scaled('60000'));
  });
});

describe('staleness', () => {
  it.each([
    [0, true],
    [15 * MINUTE, true],
    [15 * MINUTE + 1, false],
    [-MINUTE, true],
    [-MINUTE - 1, false],
  ])('a coin rate asked for %d ms after it was found: %s', (ms, there) => {
    expect(usd(bookWith({ BTC: '60000' }), 'BTC', T0 + ms) !== null).toBe(there);
  });

  it.each([
    [71 * HOUR, true],
    [72 * HOUR, true],
    [72 * HOUR + 1, false],
  ])('a fiat rate after %d ms: %s', (ms, there) => {
    const book = bookWith({ BTC: '60000' }, { EUR: '0.9' });
    for (const name of ['a', 'b']) book.record({ name, kind: 'coin' }, quotes({ BTC: '60000' }), T0 + ms);
    expect(usd(book, 'BTC', T0 + ms)).toBe(scaled('60000'));
    expect(book.rate('mainnet', 'BTC', 'EUR', T0 + ms) !== null).toBe(there);
  });

  it.each([
    [10 * MINUTE, true],
    [10 * MINUTE + 1, false],
  ])('a quote %d ms old counts for the median: %s', (ms, counts) => {
    const book = new RateBook({});
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '60000' }), T0);
    book.record({ name: 'b', kind: 'coin' }, quotes({ BTC: '60000' }), T0 + ms);
    expect(usd(book, 'BTC', T0 + ms) !== null).toBe(counts);
  });

  it.each([
    [-10 * MINUTE, true],
    [-10 * MINUTE - 1, false],
    [HOUR, true],
  ])("the source's own time, %d ms from now, counts: %s", (ms, counts) => {
    const book = new RateBook({});
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '60000' }), T0);
    book.record({ name: 'b', kind: 'coin' }, quotes({ BTC: '60000' }, { asOf: T0 + ms }), T0);
    expect(usd(book, 'BTC', T0) !== null).toBe(counts);
  });

  it.each([
    [7 * 24 * HOUR, true],
    [7 * 24 * HOUR + 1, false],
  ])('fiat data published %d ms ago counts: %s', (ms, counts) => {
    const book = bookWith({ BTC: '60000' });
    book.record({ name: 'x', kind: 'fiat' }, quotes({ EUR: '0.9' }), T0);
    book.record({ name: 'y', kind: 'fiat' }, quotes({ EUR: '0.9' }, { asOf: T0 - ms }), T0);
    expect(book.rate('mainnet', 'BTC', 'EUR', T0) !== null).toBe(counts);
  });

  it('sources that fall apart leave the last good rate, and its age', () => {
    const book = bookWith({ BTC: '60000' });
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '70000' }), T0 + 5 * MINUTE);
    expect(book.rate('mainnet', 'BTC', 'USD', T0 + 5 * MINUTE)).toMatchObject({ scaled: scaled('60000'), at: T0 });
    expect(usd(book, 'BTC', T0 + 15 * MINUTE + 1)).toBeNull();
  });
});

describe('quotes in USDT', () => {
  const tethered = (price: string): Quote[] => quotes({ BTC: price }, { quotedIn: 'USDT' });

  it('are left out while USDT has no price', () => {
    const book = bookWith({ BTC: '60000' });
    book.record({ name: 'c', kind: 'coin' }, tethered('60900'), T0);
    expect(usd(book, 'BTC', T0)).toBe(scaled('60000'));
  });

  it("are corrected by USDT's price, in whatever order the sources answer", () => {
    const book = new RateBook({});
    book.record({ name: 'c', kind: 'coin' }, tethered('66000'), T0);
    book.record({ name: 'a', kind: 'coin' }, quotes({ USDT: '0.9', BTC: '59000' }), T0);
    expect(usd(book, 'BTC', T0)).toBeNull();
    book.record({ name: 'b', kind: 'coin' }, quotes({ USDT: '0.9' }), T0);
    // 66000 * 0.9 = 59400, with 59000 the mean is 59200.
    expect(usd(book, 'BTC', T0)).toBe(scaled('59200'));
  });

  it('are left out once the price of USDT no longer holds', () => {
    const book = bookWith({ USDT: '1' });
    const later = T0 + 15 * MINUTE + 1;
    book.record({ name: 'a', kind: 'coin' }, quotes({ BTC: '60000' }), later);
    book.record({ name: 'c', kind: 'coin' }, tethered('60000'), later);
    expect(usd(book, 'BTC', later)).toBeNull();
  });
});

describe('manual rates and samples', () => {
  const manual = { regtest: { LTC: '80', USDT: '1.01', USDT_BEP20: '0.99', EUR: '0.5' } };

  it('a manual rate wins on its network and is always fresh', () => {
    const book = bookWith({ LTC: '70' }, { EUR: '0.9' }, { manual });
    expect(book.rate('regtest', 'LTC', 'USD', T0 + 9 * HOUR)).toMatchObject({
      scaled: scaled('80'),
      at: T0 + 9 * HOUR,
    });
    expect(book.rate('regtest', 'LTC', 'EUR', T0)?.scaled).toBe(scaled('40'));
    expect(book.rateAt('regtest', 'LTC', 'USD', T0 - 9 * HOUR)?.scaled).toBe(scaled('80'));
    expect(usd(book, 'USDT_ERC20', T0, 'regtest')).toBe(scaled('1.01'));
    expect(usd(book, 'USDT_BEP20', T0, 'regtest')).toBe(scaled('0.99'));
  });

  it.each(NETWORKS.map((network) => [network]))('manual rates of %s are seen on no other network', (network) => {
    const book = new RateBook({ manual: { [network]: { XMR: '12345', GBP: '0.5' } } });
    for (const other of NETWORKS) {
      const rate = book.rate(other, 'XMR', 'GBP', T0);
      if (other === network) expect(rate?.scaled).toBe(scaled('6172.5'));
      else if (other === 'sandbox') expect(rate?.scaled).toBe(scaled('126.4'));
      else expect(rate).toBeNull();
    }
  });

  it('the sandbox has a sample of everything, and only the sandbox', () => {
    const book = new RateBook({});
    for (const { symbol } of ASSETS) {
      for (const fiat of Object.keys(FIAT)) {
        expect(book.rate('sandbox', symbol, fiat, T0)?.scaled, `${symbol} ${fiat}`).toBeGreaterThan(0n);
        expect(book.rateAt('sandbox', symbol, fiat, T0 - HOUR)).not.toBeNull();
        for (const network of ['mainnet', 'testnet', 'regtest'] as const) {
          expect(book.rate(network, symbol, fiat, T0)).toBeNull();
        }
      }
    }
  });

  it('the sandbox prefers live rates while they hold', () => {
    const book = bookWith({ BTC: '61234' });
    expect(usd(book, 'BTC', T0, 'sandbox')).toBe(scaled('61234'));
    expect(usd(book, 'LTC', T0, 'sandbox')).toBe(scaled('80'));
    expect(usd(book, 'BTC', T0 + HOUR, 'sandbox')).toBe(scaled('60000'));
  });

  it.each<[RatesConfig['manual'], RegExp]>([
    [{ regtest: { LTCX: '80' } }, /networks\.regtest\.rates.*"LTCX"/],
    [{ regtest: { USD: '1' } }, /"USD"/],
    [{ regtest: { LTC: '0' } }, /LTC must be a positive decimal/],
    [{ regtest: { LTC: '-1' } }, /LTC must be/],
    [{ regtest: { LTC: '1e3' } }, /LTC must be/],
    [{ regtest: { LTC: '1.123456789' } }, /at most 8 decimals/],
    [{ moonnet: { LTC: '1' } } as RatesConfig['manual'], /networks\.moonnet\.rates/],
  ])('refuses %j', (wrong, message) => {
    expect(() => new RateBook({ manual: wrong ?? {} })).toThrow(message);
  });
});

describe('spread', () => {
  it('lowers the rate, rounding down, so that who pays sends more', () => {
    const book = bookWith({ LTC: '80.00000001' }, {}, { spreadPercent: '1.5' });
    expect(usd(book, 'LTC', T0)).toBe(8000000001n);
    expect(book.quoteRate('mainnet', 'LTC', 'USD', T0)?.scaled).toBe(7880000000n);
    expect(book.shown('sandbox', 'LTC', T0).usd).toBe('80');
    expect(book.quoteRate('mainnet', 'BTC', 'USD', T0)).toBeNull();
  });

  it('no spread changes nothing, any spread never asks for less', () => {
    const price = fc.bigInt({ min: 10n ** 4n, max: 10n ** 16n });
    fc.assert(
      fc.property(price, fc.integer({ min: 0, max: 5000 }), (units, hundredths) => {
        const text = `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, '0')}`;
        const manual = { regtest: { BTC: `${units / 100000000n}.${String(units % 100000000n).padStart(8, '0')}` } };
        const book = new RateBook({ manual, spreadPercent: text });
        const market = available(book.rate('regtest', 'BTC', 'USD', T0), 'BTC').scaled;
        const quoted = available(book.quoteRate('regtest', 'BTC', 'USD', T0), 'BTC').scaled;
        if (hundredths === 0) expect(quoted).toBe(market);
        const due = (rate: bigint): bigint => cryptoFor(scaled('100'), assetOf('BTC'), rate);
        expect(due(quoted) >= due(market)).toBe(true);
      }),
    );
  });

  it.each(['-1', '50.0001', '100', 'x', '', '1e1', '1.00001'])('refuses %j percent', (spreadPercent) => {
    expect(() => new RateBook({ spreadPercent })).toThrow(/spread_percent/);
  });
});

describe('shown', () => {
  it('gives 2 decimals from 100 on and 6 below, rounded down and trimmed', () => {
    const book = bookWith(
      { BTC: '65998.129', LTC: '99.99999999', XMR: '100', USDT: '1.0000019' },
      { EUR: '1', GBP: '0.5' },
    );
    expect(book.shown('mainnet', 'BTC', T0)).toEqual({ usd: '65998.12', eur: '65998.12', gbp: '32999.06' });
    expect(book.shown('mainnet', 'LTC', T0)).toEqual({ usd: '99.999999', eur: '99.999999', gbp: '49.999999' });
    expect(book.shown('mainnet', 'XMR', T0)).toEqual({ usd: '100', eur: '100', gbp: '50' });
    expect(book.shown('mainnet', 'USDT_ERC20', T0)).toEqual({ usd: '1.000001', eur: '1.000001', gbp: '0.5' });
  });

  it('is Unavailable when the coin or a currency has no rate', () => {
    const book = bookWith({ BTC: '60000' }, { EUR: '0.9' });
    for (const asset of ['BTC', 'LTC'] as const) {
      expect(() => book.shown('mainnet', asset, T0)).toThrow(Unavailable);
      expect(() => book.shown('mainnet', asset, T0)).toThrow(`No exchange rate for ${asset}`);
    }
  });
});

class MemoryHistory implements RateHistory {
  rows: Snapshot[] = [];
  load(): Snapshot[] {
    return this.rows.toReversed();
  }
  append(snapshot: Snapshot): void {
    this.rows.push(snapshot);
  }
}

describe('history', () => {
  it('knows the rate of a time past, and none where none was known', () => {
    const history = new MemoryHistory();
    const book = new RateBook({}, history);
    for (let i = 0; i < 6; i++) {
      const now = T0 + i * 5 * MINUTE;
      for (const name of ['a', 'b']) book.record({ name, kind: 'coin' }, quotes({ BTC: `${60000 + i}` }), now);
      book.snapshot(now);
    }
    const last = T0 + 25 * MINUTE;
    const at = (time: number) => book.rateAt('mainnet', 'BTC', 'USD', time)?.scaled ?? null;
    expect(history.rows.map((row) => row.at)).toEqual([0, 5, 10, 15, 20, 25].map((m) => T0 + m * MINUTE));
    expect(at(T0 - 1)).toBeNull();
    expect(at(T0)).toBe(scaled('60000'));
    expect(at(T0 + 5 * MINUTE - 1)).toBe(scaled('60000'));
    expect(at(T0 + 5 * MINUTE)).toBe(scaled('60001'));
    expect(at(T0 + 13 * MINUTE)).toBe(scaled('60002'));
    expect(at(last + 15 * MINUTE)).toBe(scaled('60005'));
    expect(at(last + 15 * MINUTE + 1)).toBeNull();
  });

  it('a restart keeps the last good rates with their age', () => {
    const history = new MemoryHistory();
    bookWith({ BTC: '60000' }, { EUR: '0.9' }, {}, history).snapshot(T0);
    const book = new RateBook({}, history);
    expect(book.rate('mainnet', 'BTC', 'EUR', T0 + 15 * MINUTE)).toMatchObject({ scaled: scaled('54000'), at: T0 });
    expect(book.rate('mainnet', 'BTC', 'EUR', T0 + 15 * MINUTE + 1)).toBeNull();
    for (const name of ['a', 'b']) book.record({ name, kind: 'coin' }, quotes({ BTC: '50000' }), T0 + 72 * HOUR);
    expect(book.rate('mainnet', 'BTC', 'EUR', T0 + 72 * HOUR)?.scaled).toBe(scaled('45000'));
    expect(book.rateAt('mainnet', 'BTC', 'EUR', T0 + MINUTE)?.scaled).toBe(scaled('54000'));
  });

  it('a rate that only still holds is not written again as new', () => {
    const history = new MemoryHistory();
    const book = bookWith({ BTC: '60000', XMR: '160' }, { EUR: '0.9' }, {}, history);
    book.snapshot(T0);
    for (const name of ['a', 'b']) book.record({ name, kind: 'coin' }, quotes({ BTC: '61000' }), T0 + 11 * MINUTE);
    book.snapshot(T0 + 11 * MINUTE);
    book.snapshot(T0 + 20 * MINUTE);
    expect(history.rows).toEqual([
      { at: T0, usd: { BTC: scaled('60000'), XMR: scaled('160') }, fiat: { EUR: scaled('0.9') } },
      { at: T0 + 11 * MINUTE, usd: { BTC: scaled('61000') }, fiat: {} },
    ]);
  });

  it('rounds in quick succession leave one snapshot', () => {
    const history = new MemoryHistory();
    const book = bookWith({ BTC: '60000' }, {}, {}, history);
    book.snapshot(T0);
    for (const name of ['a', 'b']) book.record({ name, kind: 'coin' }, quotes({ BTC: '61000' }), T0 + MINUTE);
    book.snapshot(T0 + MINUTE);
    expect(history.rows).toHaveLength(1);
  });

  it('a clock set back neither revives rates from the future nor stops the history', () => {
    const history = new MemoryHistory();
    const book = bookWith({ BTC: '60000' }, {}, {}, history);
    book.snapshot(T0);
    const before = T0 - 24 * HOUR;
    expect(usd(book, 'BTC', before)).toBeNull();
    for (const name of ['a', 'b']) book.record({ name, kind: 'coin' }, quotes({ BTC: '50000' }), before);
    book.snapshot(before);
    expect(history.rows.map((row) => row.at)).toEqual([T0, before]);
    expect(book.rateAt('mainnet', 'BTC', 'USD', before + MINUTE)?.scaled).toBe(scaled('50000'));
  });

  it('is bounded in number and in age', () => {
    const timeline = new RateTimeline([]);
    for (let i = 0; i <= 1_000; i++) timeline.add({ at: T0 + i, usd: { BTC: BigInt(i + 1) }, fiat: {} });
    expect(timeline.find('usd', 'BTC', T0, HOUR)).toBeNull();
    expect(timeline.find('usd', 'BTC', T0 + 1, HOUR)).toEqual({ scaled: 2n, at: T0 + 1 });
    timeline.add({ at: T0 + 1_000 + HISTORY_KEPT_MS, usd: {}, fiat: {} });
    expect(timeline.find('usd', 'BTC', T0 + 999, HOUR)).toBeNull();
    expect(timeline.find('usd', 'BTC', T0 + 1_000, HOUR)).toEqual({ scaled: 1_001n, at: T0 + 1_000 });
  });
});

describe('the sources that want to be named', () => {
  const record = (book: RateBook): void => {
    book.record({ name: 'coingecko', kind: 'coin' }, quotes({ BTC: '60000', LTC: '80' }), T0);
    book.record({ name: 'kraken', kind: 'coin' }, quotes({ BTC: '60000', XMR: '160' }), T0);
    book.record({ name: 'er-api', kind: 'fiat' }, quotes({ EUR: '0.92' }), T0);
  };
  const named = (book: RateBook, ...asked: Parameters<RateBook['credits']>): string[] =>
    book.credits(...asked).map(({ text, url }) => `${text} ${url}`);
  const GECKO = 'Price data by CoinGecko https://www.coingecko.com';
  const EXCHANGE = 'Rates By Exchange Rate API https://www.exchangerate-api.com';

  it('are named where they have quoted the coin or the currency', () => {
    const book = new RateBook({});
    expect(named(book, 'mainnet', ['BTC'], ['EUR'])).toEqual([]);
    record(book);
    expect(named(book, 'mainnet', ['BTC'], ['EUR'])).toEqual([GECKO, EXCHANGE]);
    expect(named(book, 'mainnet', ['XMR'], ['EUR'])).toEqual([EXCHANGE]);
    expect(named(book, 'mainnet', ['XMR', 'LTC'], ['USD'])).toEqual([GECKO]);
    expect(named(book, 'mainnet', ['XMR'], ['CHF'])).toEqual([]);
  });

  it('are not named for a rate that the operator gave', () => {
    const book = new RateBook({ manual: { mainnet: { LTC: '80.25', EUR: '0.92' } } });
    record(book);
    expect(named(book, 'mainnet', ['LTC'], ['EUR'])).toEqual([]);
    expect(named(book, 'mainnet', ['LTC', 'BTC'], ['EUR'])).toEqual([GECKO]);
    expect(named(book, 'testnet', ['LTC'], ['EUR'])).toEqual([GECKO, EXCHANGE]);
  });
});
