import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { agreedMedian } from '../../../daemon/rates/median.ts';

describe('agreedMedian', () => {
  it.each<[string, number[], number | null]>([
    ['nothing', [], null],
    ['one alone', [100], null],
    ['two that agree: their mean', [100, 104], 102],
    ['the mean of the middle two, rounded down', [100, 101], 100],
    ['two exactly 5 % apart', [100, 105], 102],
    ['two just more than 5 % apart', [100, 106], null],
    ['three', [103, 100, 101], 101],
    ['an outlier above', [100, 101, 5000], 100],
    ['an outlier below', [1, 100, 102], 101],
    ['two outliers against two that agree', [10, 100, 102, 900], 101],
    ['two against two', [100, 101, 200, 201], null],
    ['three against two', [100, 101, 102, 200, 201], 101],
    ['a chain: the middle one agrees with both', [100, 104, 108], 104],
    ['all apart', [100, 200, 300], null],
    ['the same price', [7, 7], 7],
  ])('%s', (_name, prices, expected) => {
    expect(agreedMedian(prices.map(BigInt))).toBe(expected === null ? null : BigInt(expected));
  });

  const price = fc.bigInt({ min: 1n, max: 10n ** 20n });

  it('lies within what was given, whatever the order', () => {
    fc.assert(
      fc.property(fc.array(price, { maxLength: 9 }), (prices) => {
        const result = agreedMedian(prices);
        expect(agreedMedian(prices.toReversed())).toBe(result);
        if (result === null) return;
        expect(prices.some((one) => one <= result) && prices.some((one) => one >= result)).toBe(true);
      }),
    );
  });

  it('is not moved out of three honest prices by a fourth, wherever that is', () => {
    const honest = fc.array(fc.bigInt({ min: 100_000n, max: 105_000n }), { minLength: 3, maxLength: 6 });
    const liar = fc.oneof(price, fc.bigInt({ min: 90_000n, max: 120_000n }));
    fc.assert(
      fc.property(honest, liar, (prices, lie) => {
        const result = agreedMedian([...prices, lie]) ?? 0n;
        expect(prices.some((one) => one <= result) && prices.some((one) => one >= result)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
