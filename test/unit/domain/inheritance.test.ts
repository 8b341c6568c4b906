/** What a replacement inherits of the time at which the deposit that it replaces was first seen. */
import { expect, it } from 'vitest';
import { type Part, partsOf, seenBy, seenWhen, takeParts, totalOf } from '../../../daemon/domain/inheritance.ts';

const PARTS: Part[] = [
  [10, 4n],
  [20, 6n],
];

it.each<[bigint, Part[], Part[]]>([
  [0n, [], PARTS],
  [3n, [[10, 3n]], [[10, 1n], PARTS[1]!]],
  [4n, [[10, 4n]], [PARTS[1]!]],
  [
    5n,
    [
      [10, 4n],
      [20, 1n],
    ],
    [[20, 5n]],
  ],
  [10n, PARTS, []],
  [11n, PARTS, []],
])('%s units are taken from the oldest parts', (units, taken, rest) => {
  expect(takeParts(PARTS, units)).toEqual({ taken, rest });
});

it('parts of one time are one, and the ninth and later ones are merged into the eighth', () => {
  const same: Part[] = [
    [10, 1n],
    [10, 2n],
    [11, 3n],
  ];
  expect(takeParts(same, 6n).taken).toEqual([
    [10, 3n],
    [11, 3n],
  ]);
  const many = Array.from({ length: 10 }, (_, at): Part => [at, BigInt(at + 1)]);
  expect(takeParts(many, totalOf(many)).taken).toEqual([...many.slice(0, 7), [9, 8n + 9n + 10n]]);
  // also where a later one was seen earlier
  const last: Part[] = [...many.slice(0, 8), [3, 1n]];
  expect(takeParts(last, totalOf(last)).taken.at(-1)).toEqual([7, 9n]);
});

it.each<[string, Part[], bigint, number, Part[]]>([
  ['nothing was taken', [], 5n, 30, []],
  ['all of it was seen earlier', PARTS, 10n, 20, [[10, 4n]]],
  ['more than it was', PARTS, 9n, 20, [[10, 4n]]],
  ['some of it was', PARTS, 11n, 30, PARTS],
  ['three parts were', [...PARTS, [25, 1n]], 11n, 25, PARTS],
])('a deposit of which %s counts from then on', (_, taken, units, at, inherited) => {
  expect(seenWhen(taken, units, 30)).toEqual({ at, inherited });
});

it('no part counts as seen later than the deposit itself', () => {
  expect(seenWhen(PARTS, 11n, 15)).toEqual({
    at: 15,
    inherited: [
      [10, 4n],
      [15, 6n],
    ],
  });
  expect(seenBy(PARTS, 15)).toEqual([
    [10, 4n],
    [15, 6n],
  ]);
});

it.each<[Part[] | null, bigint, Part[]]>([
  [null, 7n, [[30, 7n]]],
  [PARTS, 12n, [...PARTS, [30, 2n]]],
  [PARTS, 10n, PARTS],
])('a deposit that inherited %s is its parts', (inherited, units, parts) => {
  expect(partsOf({ units, first_seen_at: 30, inherited })).toEqual(parts);
});
