import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASSETS, assetOf, confirmationsFor, FINALIZED } from '../../../daemon/domain/assets.ts';
import {
  cryptoFor,
  divideUp,
  dollarsFor,
  exactDecimal,
  fiatFor,
  formatDecimal,
  formatUnits,
  maxOf,
  minOf,
  parseDecimal,
  shareOf,
  snapDecimal,
  unitsWorth,
} from '../../../daemon/domain/money.ts';

describe('parseDecimal', () => {
  it.each<[string, number, bigint | null]>([
    ['10', 2, 1000n],
    ['10.5', 2, 1050n],
    ['10.50', 2, 1050n],
    ['10.500', 2, 1050n],
    ['10.50000', 2, 1050n],
    ['10.505', 2, null],
    ['0', 8, 0n],
    ['0.00000001', 8, 1n],
    ['0.000000001', 8, null],
    ['0.0000000010', 9, 1n],
    ['007', 0, 7n],
    ['', 2, null],
    ['.5', 2, null],
    ['5.', 2, null],
    ['-1', 2, null],
    ['+1', 2, null],
    ['1e3', 2, null],
    ['1,000', 2, null],
    [' 1', 2, null],
    ['1 ', 2, null],
    ['١', 2, null],
    ['NaN', 2, null],
    ['9'.repeat(31), 2, null],
  ])('%j with %i decimals is %s', (text, decimals, expected) => {
    expect(parseDecimal(text, decimals)).toBe(expected);
  });

  it('reads back whatever formatDecimal wrote', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 30n - 1n), fc.integer({ min: 0, max: 18 }), (units, decimals) => {
        const text = formatDecimal(units, decimals);
        expect(parseDecimal(text, decimals)).toBe(units);
        expect(text).not.toMatch(/\.\d*0$|\.$/);
      }),
    );
  });
});

describe('formatDecimal', () => {
  it.each<[bigint, number, string]>([
    [1_050n, 2, '10.5'],
    [1_000n, 2, '10'],
    [5n, 2, '0.05'],
    [0n, 2, '0'],
    [0n, 0, '0'],
    [1_200n, 0, '1200'],
    [-1_050n, 2, '-10.5'],
    [-5n, 0, '-5'],
    [-5n, 2, '-0.05'],
  ])('%s with %i decimals is %s', (units, decimals, expected) => {
    expect(formatDecimal(units, decimals)).toBe(expected);
  });

  it("takes the asset's decimals for its units", () => {
    expect(formatUnits(1n, assetOf('BTC'))).toBe('0.00000001');
    expect(formatUnits(1n, assetOf('XMR'))).toBe('0.000000000001');
    expect(formatUnits(2_500_000n, assetOf('USDT_ERC20'))).toBe('2.5');
  });
});

describe('exactDecimal', () => {
  it.each<[string, number, bigint | null]>([
    ['10', 2, 1_000n],
    ['10.5', 2, 1_050n],
    ['10.500', 2, 1_050n],
    ['10.505', 2, null],
    ['0.00000001', 8, 1n],
    ['1e-8', 8, 1n],
    ['15e-9', 8, null],
    ['2e1', 0, 20n],
    ['59.97000000000001', 2, null],
    ['0', 8, 0n],
    ['-1', 2, null],
    ['abc', 2, null],
  ])('%s with %i decimals is %s', (source, decimals, expected) => {
    expect(exactDecimal(source, decimals)).toBe(expected);
  });
});

describe('snapDecimal', () => {
  it.each<[string, number, bigint | null]>([
    ['10', 2, 1000n],
    ['1e1', 2, 1000n],
    ['1E+1', 2, 1000n],
    ['100e-1', 2, 1000n],
    ['59.97000000000001', 2, 5997n],
    ['59.96999999999999', 2, 5997n],
    ['59.970001', 2, 5997n],
    ['59.9700011', 2, null],
    ['59.9699989', 2, null],
    ['59.975', 2, null],
    ['0.1', 2, 10n],
    ['0.30000000000000004', 2, 30n],
    ['1000.0000004', 0, 1000n],
    ['1000.5', 0, null],
    ['-1', 2, null],
    ['1e400', 2, 10n ** 402n],
    ['1e-999', 2, 0n],
    ['abc', 2, null],
    ['', 2, null],
  ])('%s with %i decimals is %s', (text, decimals, expected) => {
    expect(snapDecimal(text, decimals)).toBe(expected);
  });

  it('gives what every float of cents stands for', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000_000_000 }), fc.integer({ min: 1, max: 9 }), (cents, n) => {
        const noisy = (cents / 100 / n) * n;
        expect(snapDecimal(JSON.stringify(noisy), 2)).toBe(BigInt(cents));
      }),
    );
  });
});

describe('converting', () => {
  const assets = fc.constantFrom(...ASSETS);
  const rates = fc.bigInt(1n, 10n ** 14n);
  const fiats = fc.bigInt(1n, 10n ** 17n);

  it('rounds crypto up: a quote is never worth less than what is owed, nor a quoting unit more', () => {
    fc.assert(
      fc.property(fiats, assets, rates, (fiat, asset, rate) => {
        const units = cryptoFor(fiat, asset, rate);
        const quotingUnit = 10n ** BigInt(asset.decimals - asset.quoteDecimals);
        expect(fiatFor(units, asset, rate)).toBeGreaterThanOrEqual(fiat);
        expect(units % quotingUnit).toBe(0n);
        // one quoting unit less would be worth less than what is owed, exactly
        expect((units - quotingUnit) * rate).toBeLessThan(fiat * 10n ** BigInt(asset.decimals));
      }),
      { numRuns: 1_000 },
    );
  });

  it('rounds fiat down', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 24n), assets, rates, (units, asset, rate) => {
        const fiat = fiatFor(units, asset, rate);
        const scale = 10n ** BigInt(asset.decimals);
        expect(fiat * scale).toBeLessThanOrEqual(units * rate);
        expect((fiat + 1n) * scale).toBeGreaterThan(units * rate);
      }),
    );
  });

  it('rounds what a sum buys down, to a quoting unit', () => {
    fc.assert(
      fc.property(fiats, assets, rates, (fiat, asset, rate) => {
        const units = unitsWorth(fiat, asset, rate);
        const quotingUnit = 10n ** BigInt(asset.decimals - asset.quoteDecimals);
        const scale = 10n ** BigInt(asset.decimals);
        expect(units % quotingUnit).toBe(0n);
        expect(units * rate).toBeLessThanOrEqual(fiat * scale);
        expect((units + quotingUnit) * rate).toBeGreaterThan(fiat * scale);
      }),
    );
  });

  it('rounds dollars down', () => {
    // 100 EUR at 0.93 EUR for a dollar
    expect(dollarsFor(10_000_000_000n, 93_000_000n)).toBe(10_752_688_172n);
    expect(dollarsFor(1n, 100_000_000n)).toBe(1n);
    expect(dollarsFor(1n, 100_000_001n)).toBe(0n);
  });

  it('takes no rate that is not positive', () => {
    for (const rate of [0n, -1n]) {
      expect(() => cryptoFor(1n, assetOf('BTC'), rate)).toThrow('a rate is positive');
      expect(() => unitsWorth(1n, assetOf('BTC'), rate)).toThrow('a rate is positive');
    }
  });

  it('shares a sum so that the shares are never less than it', () => {
    expect([shareOf(10n, 3), shareOf(9n, 3), shareOf(10n, 1), shareOf(10n, 0)]).toEqual([4n, 3n, 10n, 10n]);
  });

  it('has figures that can be checked by hand', () => {
    // 100 USD at 65,998.10 USD per BTC is 0.00151519…
    expect(cryptoFor(10_000_000_000n, assetOf('BTC'), 6_599_810_000_000n)).toBe(151_520n);
    expect(fiatFor(151_520n, assetOf('BTC'), 6_599_810_000_000n)).toBe(10_000_032_112n);
    // 10 USD at 3,000 USD per ETH: 0.00333334 of 8 decimals, in wei
    expect(cryptoFor(1_000_000_000n, assetOf('ETH'), 300_000_000_000n)).toBe(3_333_340_000_000_000n);
    // 18 decimals on BSC, 6 in the quote
    expect(cryptoFor(1_000_000_000n, assetOf('USDT_BEP20'), 100_010_000n)).toBe(9_999_001n * 10n ** 12n);
    expect(unitsWorth(1_000_000_000n, assetOf('USDT_BEP20'), 100_010_000n)).toBe(9_999_000n * 10n ** 12n);
  });

  it.each([
    [7n, 2n, 4n],
    [8n, 2n, 4n],
    [0n, 5n, 0n],
  ])('divideUp(%s, %s) is %s', (a, b, expected) => expect(divideUp(a, b)).toBe(expected));

  it.each([
    [-1n, 2n],
    [1n, 0n],
    [1n, -2n],
  ])('divideUp(%s, %s) is refused', (a, b) => expect(() => divideUp(a, b)).toThrow('divideUp takes a >= 0, b > 0'));

  it.each([
    [1n, 2n],
    [2n, 1n],
    [-1n, 0n],
    [3n, 3n],
  ])('of %s and %s the least and the most are told', (a, b) => {
    const [least, most] = [a, b].sort((one, other) => Number(one - other));
    expect([minOf(a, b), maxOf(a, b)]).toEqual([least, most]);
  });
});

describe('confirmationsFor', () => {
  const usd = (dollars: number): bigint => BigInt(dollars) * 100_000_000n;
  it.each<[string, bigint | null, number]>([
    ['BTC', usd(0), 1],
    ['BTC', usd(1_000) - 1n, 1],
    ['BTC', usd(1_000), 3],
    ['BTC', usd(10_000), 6],
    ['BTC', null, 6],
    ['LTC', usd(999), 3],
    ['LTC', usd(1_000), 6],
    ['LTC', usd(10_000), 12],
    ['BCH', usd(5), 1],
    ['XMR', usd(1_000_000), 10],
    ['ETH', usd(1), 12],
    ['USDT_ERC20', usd(9_999), 12],
    ['USDT_ERC20', usd(10_000), FINALIZED],
    ['PAXG', null, FINALIZED],
    ['USDT_BEP20', usd(1), 15],
  ])('%s of %s (1e-8 USD) needs %i', (symbol, value, expected) => {
    expect(confirmationsFor(assetOf(symbol as 'BTC').confirmations, value)).toBe(expected);
  });
});
