/** Tax that is included in prices, and amounts that are shared out. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shared, taxIn } from '../../../daemon/domain/vat.ts';

const CENT = 1_000_000n;
const euros = (text: string): bigint => BigInt(text.replace('.', '')) * CENT;

describe('the tax in a price', () => {
  it.each([
    ['334.50', 1900, '53.41'],
    ['182.10', 700, '11.91'],
    ['1.19', 1900, '0.19'],
    ['0.01', 1900, '0.00'],
    ['100.00', 0, '0.00'],
    // 0.045 is rounded away from zero
    ['0.09', 10_000, '0.05'],
  ])('in %s at %i is %s', (gross, rate, tax) => {
    expect(taxIn(euros(gross), rate, CENT)).toBe(euros(tax));
    expect(taxIn(-euros(gross), rate, CENT)).toBe(-euros(tax));
  });

  it('of a currency without cents is whole', () => {
    expect(taxIn(1_080n * 100n * CENT, 800, 100n * CENT)).toBe(80n * 100n * CENT);
  });

  it('is within half a step of the exact one', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 20n), fc.integer({ min: 0, max: 9_999 }), (gross, rate) => {
        const off = taxIn(gross, rate, CENT) * BigInt(10_000 + rate) - gross * BigInt(rate);
        expect(2n * (off < 0n ? -off : off) <= CENT * BigInt(10_000 + rate)).toBe(true);
      }),
    );
  });
});

it('shares add up, and none is above its part by more than the rest', () => {
  const weights = fc.array(fc.bigInt(0n, 10n ** 15n), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 15n), weights, (amount, parts) => {
      const found = shared(amount, parts);
      expect(found.reduce((sum, one) => sum + one, 0n)).toBe(amount);
      expect(found.every((one) => one >= 0n)).toBe(true);
    }),
  );
  expect(shared(100n, [1n, 1n, 1n])).toEqual([34n, 33n, 33n]);
  expect(shared(7n, [0n, 0n])).toEqual([7n, 0n]);
});
