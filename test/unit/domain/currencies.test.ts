/** Every currency that prices an invoice: its decimals by ISO 4217, and what rounding does to amounts in it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASSETS } from '../../../daemon/domain/assets.ts';
import { FIAT } from '../../../daemon/domain/currencies.ts';
import { cryptoFor, FIAT_DECIMALS, fiatFor, snapDecimal } from '../../../daemon/domain/money.ts';

describe('the currencies', () => {
  it('are those that were asked for, and others', () => {
    const named = 'ARS BRL CHF CLP CNY EUR GBP GEL HKD HUF IDR ILS INR JPY KRW MXN PHP RUB USD AUD CAD PLN SEK';
    for (const code of named.split(' ')) expect(FIAT, code).toHaveProperty(code);
    expect(Object.keys(FIAT).length).toBeGreaterThan(120);
    expect(Object.keys(FIAT)).toEqual(Object.keys(FIAT).toSorted());
  });

  it.each(Object.entries(FIAT))('%s has %d decimals', (code, decimals) => {
    expect(code).toMatch(/^[A-Z]{3}$/);
    // the runtime has the standard's table, where a currency's usual form may have fewer digits than the standard
    const usual = new Intl.NumberFormat('en', { style: 'currency', currency: code }).resolvedOptions();
    expect(decimals).toBeGreaterThanOrEqual(Math.min(2, usual.maximumFractionDigits ?? 0));
    expect([0, 2]).toContain(decimals);
  });

  it.each(['BHD', 'KWD', 'TND'])('%s, which has three, has two here', (code) => expect(FIAT[code]).toBe(2));

  it.each(['CLP', 'ISK', 'JPY', 'KRW', 'PYG', 'VND', 'XAF'])('%s has none', (code) => expect(FIAT[code]).toBe(0));

  it.each(['BGN', 'HRK', 'XAU', 'XDR', 'XXX', 'CHE', 'CLF'])('%s is no money that is in use', (code) => {
    expect(FIAT).not.toHaveProperty(code);
  });
});

describe('rounding', () => {
  const currency = fc.constantFrom(...Object.entries(FIAT));
  const asset = fc.constantFrom(...ASSETS);
  const rate = fc.bigInt({ min: 1n, max: 10n ** 20n });

  it('a quote is worth what is owed or more, and one step less would not be', () => {
    fc.assert(
      fc.property(
        currency,
        asset,
        rate,
        fc.bigInt({ min: 1n, max: 10n ** 11n }),
        ([, decimals], coin, scaled, units) => {
          const owed = units * 10n ** BigInt(FIAT_DECIMALS - decimals);
          const quoted = cryptoFor(owed, coin, scaled);
          const step = 10n ** BigInt(coin.decimals - coin.quoteDecimals);
          expect(quoted * scaled).toBeGreaterThanOrEqual(owed * 10n ** BigInt(coin.decimals));
          expect((quoted - step) * scaled).toBeLessThan(owed * 10n ** BigInt(coin.decimals));
          expect(fiatFor(quoted - step, coin, scaled)).toBeLessThan(owed);
        },
      ),
    );
  });

  it('a JSON number within a millionth of what a currency permits is that', () => {
    fc.assert(
      fc.property(
        currency,
        fc.integer({ min: 0, max: 10 ** 9 }),
        fc.integer({ min: -10, max: 10 }),
        ([, decimals], units, off) => {
          // `off` counts 1e-7: up to 10 of them are within a millionth
          const exact = BigInt(units) * 10n ** BigInt(7 - decimals) + BigInt(off);
          if (exact < 0n) return;
          const text = exact.toString().padStart(8, '0');
          const number = `${text.slice(0, -7)}.${text.slice(-7)}`;
          expect(snapDecimal(number, decimals)).toBe(BigInt(units));
        },
      ),
    );
    expect(snapDecimal('59.97000000000001', 2)).toBe(5_997n);
    expect(snapDecimal('10.001', 2)).toBeNull();
    expect(snapDecimal('1000.5', 0)).toBeNull();
  });
});
