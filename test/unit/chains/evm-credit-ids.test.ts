/** Under which id a credit of a chain of accounts is told, beside what the books have. */
import { expect, it } from 'vitest';
import type { MeantCredit } from '../../../daemon/chains/adapter.ts';
import { idFor, originOf, placeOf } from '../../../daemon/chains/evm/credit-ids.ts';

const meant = (id: string, units: bigint, targetId = 1): MeantCredit => ({
  id,
  targetId,
  amount: { asset: 'ETH', units },
  block: null,
});
const block = { height: 9, hash: 'block' };
const told = (books: readonly MeantCredit[], credit: MeantCredit, isTaken?: (id: string) => boolean): string =>
  idFor({ underId: (id) => books.filter((one) => originOf(one.id) === id) }, credit, isTaken);

it('has a number where the books have something else, which they keep', () => {
  const wrong = [meant('tx:1', 9n)];
  expect(told([], meant('tx:1', 5n))).toBe('tx:1');
  expect(told(wrong, meant('tx:1', 9n))).toBe('tx:1');
  expect(told(wrong, meant('tx:1', 5n))).toBe('tx:1:2');
  expect(told(wrong, meant('tx:1', 9n, 2))).toBe('tx:1:2');
  expect(told([...wrong, meant('tx:1:2', 5n)], meant('tx:1', 5n))).toBe('tx:1:2');
  expect(told([...wrong, meant('tx:1:2', 8n)], meant('tx:1', 5n))).toBe('tx:1:3');
});

it('has a number where somebody named another sender, whichever of the two is our own', () => {
  const moved = { ...meant('tx:1', 5n), moved: true };
  expect(told([moved], moved)).toBe('tx:1');
  expect(told([moved], { ...meant('tx:1', 5n), block })).toBe('tx:1:2');
  expect(told([meant('tx:1', 5n)], { ...moved, block })).toBe('tx:1:2');
  expect(told([meant('tx:1', 5n), { ...moved, id: 'tx:1:2' }], { ...moved, block })).toBe('tx:1:2');
});

it('is the one in the same block, although its sender is known to be our own only since then', () => {
  const moved = { ...meant('tx:1', 5n), moved: true, block };
  const stored = { ...meant('tx:1', 5n), block };
  expect(told([stored], moved)).toBe('tx:1');
  expect(
    told(
      [
        { ...moved, block: null },
        { ...stored, id: 'tx:1:2' },
      ],
      moved,
    ),
  ).toBe('tx:1:2');
  expect(told([stored], { ...moved, block: { height: 9, hash: 'another' } })).toBe('tx:1:2');
});

it('stays the same once the books have forgotten what was wrong', () => {
  expect(told([meant('tx:1:3', 5n)], meant('tx:1', 5n))).toBe('tx:1:3');
});

it('is not one that stands for another part of the same block', () => {
  const part = [meant('block:7', 5n)];
  expect(told(part, meant('block:7', 5n), (id) => id === 'block:7')).toBe('block:7:2');
});

it('tells its place', () => {
  expect(['tx:0', 'tx:0:2', 'tx:12', 'tx:12:3'].map(placeOf)).toEqual([0, 0, 12, 12]);
});
