/** What an order of a payment link comes to, what is left of an item, and the public name that a link's name gives. */
import { describe, expect, it } from 'vitest';
import { DISGUISING, LINK_SLUG, leftOf, slugFor, totalOf } from '../../../daemon/domain/links.ts';

const MOST = 10n ** 17n;

describe('an order', () => {
  it.each([
    [[], 0n],
    [
      [
        { price: 250n, quantity: 3 },
        { price: 10n, quantity: 1 },
      ],
      760n,
    ],
    [[{ price: MOST / 4n, quantity: 4 }], MOST],
    [
      [
        { price: MOST, quantity: 1 },
        { price: 1n, quantity: 1 },
      ],
      null,
    ],
  ])('of %o comes to %s', (lines, total) => expect(totalOf(lines)).toBe(total));

  it.each([
    [{ stock: null, taken: 900 }, null],
    [{ stock: 5, taken: 2 }, 3],
    [{ stock: 5, taken: 5 }, 0],
    [{ stock: 5, taken: 7 }, 0],
  ])('leaves of %o %s', (item, left) => expect(leftOf(item)).toBe(left));

  it('gives nothing back that was not taken', () => {
    expect(leftOf({ stock: 5, taken: 0 })).toBe(5);
    expect(() => leftOf({ stock: 5, taken: -1 })).toThrow('no sale gives back more than it took');
  });
});

it.each([
  ['Café Crème!', 'cafe-creme'],
  ['  --A1  b2-- ', 'a1-b2'],
  ['日本', ''],
  [`${'a'.repeat(31)} b`, 'a'.repeat(31)],
  ['a'.repeat(50), 'a'.repeat(32)],
])('%s has the public name %s', (name, slug) => {
  expect(slugFor(name)).toBe(slug);
  expect(LINK_SLUG.test(slug)).toBe(slug !== '');
});

it.each([
  ['plain, with Ünïcode', false],
  ['a\nb', true],
  ['a\u007fb', true],
  ['a\u202eb', true],
  ['a\u2066b', true],
  ['a\u2069', true],
])('%j disguises something: %s', (text, isOdd) => expect(DISGUISING.test(text)).toBe(isOdd));
