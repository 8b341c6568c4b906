import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDecimal } from '../../../daemon/domain/money.ts';
import { inverseDown, parseJson, priceDown, VALUES_MAX } from '../../../daemon/rates/decimal.ts';

describe('priceDown', () => {
  it.each([
    ['65998.1', 6599810000000n],
    ['1e-7', 10n],
    ['1E-8', 1n],
    ['6.59981e4', 6599810000000n],
    ['6.59981e+4', 6599810000000n],
    ['1', 100000000n],
    ['0.000000019', 1n],
    ['0.99999999999', 99999999n],
    ['1000000000000', 10n ** 20n],
    ['1e12', 10n ** 20n],
    ['0.1', 10000000n],
    // The double nearest to this text is another number.
    ['9007199254740.993e-1', 90071992547409930000n],
  ])('%s counts %s', (text, scaled) => {
    expect(priceDown(text)).toBe(scaled);
  });

  it.each([
    ['0'],
    ['0.000000009'],
    ['0e5'],
    ['-1'],
    ['-0'],
    ['+1'],
    ['NaN'],
    ['Infinity'],
    [''],
    [' 1'],
    ['1,000'],
    ['1.'],
    ['.5'],
    ['0x10'],
    ['1e'],
    ['1e100'],
    ['1e13'],
    ['1000000000000.00000001'],
    ['9'.repeat(31)],
    [1],
    [null],
    [undefined],
    [true],
    [['1']],
    [{}],
  ])('refuses %j', (value) => {
    expect(priceDown(value)).toBeNull();
  });

  it('gives back every price of 8 decimals', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 20n }), (scaled) => {
        expect(priceDown(formatDecimal(scaled, 8))).toBe(scaled);
        expect(priceDown(`${scaled}e-8`)).toBe(scaled);
      }),
    );
  });
});

describe('inverseDown', () => {
  it.each([
    ['0.00002', 5000000000000n],
    ['2e-5', 5000000000000n],
    ['3', 33333333n],
    ['0.0000151519270402', 6599820586166n],
    ['1e8', 1n],
    ['20e7', null],
    ['0', null],
    ['1e-13', null],
    ['-1', null],
    ['x', null],
    [undefined, null],
  ])('1 / %s counts %s', (text, scaled) => {
    expect(inverseDown(text)).toBe(scaled);
  });

  it('is never above the exact value and less than one unit below it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), (units) => {
        const inverse = inverseDown(formatDecimal(units, 12)) ?? 0n;
        expect(inverse * units <= 10n ** 20n).toBe(true);
        expect((inverse + 1n) * units > 10n ** 20n).toBe(true);
      }),
    );
  });
});

describe('parseJson', () => {
  it('keeps numbers as their text and the rest as it is', () => {
    expect(parseJson('{"a":[1e-7, 6.59981e4, 65998.10],"b":"2","c":null,"d":true}')).toEqual({
      a: ['1e-7', '6.59981e4', '65998.10'],
      b: '2',
      c: null,
      d: true,
    });
  });

  it.each(['', '<html>', '{"a":NaN}', '{"a":01}', '['.repeat(200_000)])('throws on text %#', (text) => {
    expect(() => parseJson(text)).toThrow();
  });

  it('refuses more values than any source has, before it parses them', () => {
    const list = (values: number) => `[${Array(values).fill('1').join()}]`;
    expect(parseJson(list(VALUES_MAX))).toHaveLength(VALUES_MAX);
    for (const text of [list(VALUES_MAX + 1), `[${'[],'.repeat(VALUES_MAX / 2)}1]`, '{'.repeat(VALUES_MAX + 1)]) {
      expect(() => parseJson(text)).toThrow(RangeError);
    }
  });
});
