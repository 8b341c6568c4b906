import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  INDICES_JUMPED,
  type IndexRange,
  indicesOfPast,
  indicesToSearch,
  indicesToWatch,
  JUMPS_SEARCHED,
  jumpAfter,
  jumpsBetween,
  NEAR_STEPS,
  searchSteps,
  without,
} from '../../../daemon/domain/indices.ts';

const holds = (ranges: readonly IndexRange[], index: number): boolean =>
  ranges.some(({ from, to }) => from <= index && index < to);

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

describe('the indices that may have been given out', () => {
  it.each([
    { used: -1, gap: 1_000, jumps: 0, ranges: [[0, 1_000]] },
    { used: 299, gap: 1_000, jumps: 0, ranges: [[0, 1_300]] },
    {
      used: 299,
      gap: 1_000,
      jumps: 1,
      ranges: [
        [0, 1_300],
        [10_000, 12_300],
      ],
    },
    {
      used: -1,
      gap: 20,
      jumps: 2,
      ranges: [
        [0, 20],
        [10_000, 10_040],
        [20_000, 20_060],
      ],
    },
    // behind a jump the windows run into each other
    { used: 10_010, gap: 1_000, jumps: 1, ranges: [[0, 22_011]] },
  ])('after $used with a gap of $gap and $jumps jumps', ({ used, gap, jumps, ranges }) => {
    expect(indicesToWatch(used, gap, jumps).map(({ from, to }) => [from, to])).toEqual(ranges);
  });

  it('hold what any history within the gap and the jumps can have used next', () => {
    // what each machine gave out before the next one was restored from its backup, at most a gap
    const step = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
        let used = -1;
        for (const given of steps) {
          // nobody paid what the former machines gave out
          const next = given.reduce((index, ahead) => index + ahead, used) + (given.length - 1) * INDICES_JUMPED;
          expect(holds(indicesToWatch(used, 100, 2), next)).toBe(true);
          used = Math.max(used, next);
        }
      }),
    );
  });

  it('are found by a search of the words, behind restores in a row, also after an earlier restore from the words', () => {
    const gap = 100;
    const jump = fc.integer({ min: 0, max: JUMPS_SEARCHED });
    const begun = fc.record({
      used: fc.oneof(fc.constant(-1), fc.integer({ min: 0, max: 30_000 })),
      // a former payer may have paid an address of before meanwhile
      later: fc.integer({ min: 0, max: 500 }),
      byWords: fc.boolean(),
      jumps: fc.array(jump, { maxLength: 6 }),
      unpaid: fc.integer({ min: 0, max: gap - 1 }),
    });
    fc.assert(
      fc.property(begun, ({ used, later, byWords, jumps, unpaid }) => {
        const began = byWords ? indicesOfPast(used, gap).at(-1)!.to : used + 1;
        // as many as are allowed for, in whatever restores
        const restores = Math.min(sum(jumps), JUMPS_SEARCHED);
        const next = began + restores * INDICES_JUMPED + unpaid;
        const searched = { used: used + later, gap, jumps: JUMPS_SEARCHED, known: 0, isUnused: false };
        expect(holds(indicesToSearch(searched), next)).toBe(true);
        // the other branch was paid there
        const fewer = { ...searched, jumps: 0, known: jumpsBetween(used + later, next) };
        expect(holds(indicesToSearch(fewer), next)).toBe(true);
      }),
    );
  });

  it('hold what was given out after a second beginning from the words, when the payment behind the first one vanished', () => {
    const gap = 60;
    const first = indicesOfPast(-1, gap).at(-1)!.to;
    const second = indicesOfPast(first + gap - 1, gap).at(-1)!.to;
    const searched = { used: -1, gap, jumps: 2, known: 0, isUnused: false };
    expect(holds(indicesToSearch(searched), second + gap - 1)).toBe(true);
  });

  it('are all skipped behind a beginning from the words whose change alone was used, and what comes next is found by a search', () => {
    const gap = 60;
    const past = fc.record({
      used: fc.integer({ min: -1, max: 9_000 }),
      change: fc.integer({ min: -1, max: 9_000 }),
      unpaid: fc.integer({ min: 0, max: gap - 1 }),
      isSeen: fc.boolean(),
    });
    fc.assert(
      fc.property(past, ({ used, change, unpaid, isSeen }) => {
        const given = indicesOfPast(used, gap).at(-1)!.to + unpaid;
        const known = jumpsBetween(used, indicesOfPast(change, gap).at(-1)!.to);
        const skipped = indicesOfPast(used, gap, known);
        expect(holds(skipped, given)).toBe(true);
        // the change that told of it may vanish, too
        const searched = { used, gap, jumps: 1, known: isSeen ? known : 0, isUnused: false };
        expect(holds(indicesToSearch(searched), skipped.at(-1)!.to + gap - 1)).toBe(true);
      }),
    );
  });

  it.each([
    [{ used: 9, gap: 100, jumps: 1, known: 0, isUnused: false }, [110, 411, 822]],
    [{ used: 9, gap: 100, jumps: 3, known: 0, isUnused: false }, [110, 411, 822, 411, 411]],
    [{ used: 9, gap: 100, jumps: 3, known: 1, isUnused: false }, [110, 411, 822, 1_233, 411, 411]],
    [{ used: -1, gap: 200, jumps: 2, known: 0, isUnused: true }, [200, 801, 801, 100]],
  ])('of %o are so many behind each jump: %o', (searched, counts) => {
    const ranges = counts.map((count, jump) => ({ from: jump * INDICES_JUMPED, to: jump * INDICES_JUMPED + count }));
    expect(indicesToSearch(searched)).toEqual(ranges);
  });

  it('are few behind the jumps of an account without a payment', () => {
    const count = (isUnused: boolean): number =>
      indicesToSearch({ used: -1, gap: 1_000, jumps: JUMPS_SEARCHED, known: 0, isUnused }).reduce(
        (all, { from, to }) => all + to - from,
        0,
      );
    expect([count(false), count(true)]).toEqual([93_023, 11_002]);
  });

  it.each([
    [-1, 25_000, 2],
    [9_999, 10_000, 1],
    [15_000, 35_000, 2],
    [10_000, 19_999, 0],
    [30_000, 5_000, 0],
  ])('of %i and %i are as many jumps apart as are known: %i', (used, farther, jumps) => {
    expect(jumpsBetween(used, farther)).toBe(jumps);
  });

  it('of the past are the gaps, or with known jumps everything up to them', () => {
    expect(indicesOfPast(9, 100)).toEqual([
      { from: 0, to: 210 },
      { from: 10_000, to: 10_310 },
    ]);
    expect(indicesOfPast(9, 100, 2)).toEqual([{ from: 0, to: 30_310 }]);
  });

  it.each([
    [
      'of an account that nothing is known of',
      { used: -1, gap: 100, isUnused: true },
      [[[0, 20]], [[0, 20]], [[0, 100]]],
    ],
    [
      'of a used one',
      { used: 499, gap: 100, isUnused: false },
      [
        [
          [0, 100],
          [400, 600],
        ],
        [
          [0, 100],
          [400, 600],
          [10_400, 10_901],
        ],
        [
          [0, 600],
          [10_400, 10_901],
        ],
      ],
    ],
    [
      'of one that was used less than a gap',
      { used: 9, gap: 100, isUnused: false },
      [
        [
          [0, 100],
          [0, 110],
        ],
        [
          [0, 100],
          [0, 110],
          [10_000, 10_411],
        ],
        [
          [0, 110],
          [10_000, 10_411],
        ],
      ],
    ],
  ])('%s are searched where money most likely is first, and at last all', (_, known, first) => {
    const searched = { ...known, jumps: 2, known: 0 };
    const steps = searchSteps(searched);
    const pairs = (ranges: readonly IndexRange[]) => ranges.map(({ from, to }) => [from, to]);
    expect(steps.slice(0, -1).map(pairs)).toEqual(first);
    expect(steps.at(-1)).toEqual(indicesToSearch(searched));
    expect(steps).toHaveLength(NEAR_STEPS + 2);
  });

  it('less others are what is in the first and not in the second', () => {
    const range = fc
      .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 20 }))
      .map(([from, length]) => ({ from, to: from + length }));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 5 }), fc.array(range, { maxLength: 5 }), (ranges, others) => {
        const left = without(ranges, others);
        left.forEach(({ from, to }, at) => {
          expect(from).toBeLessThan(to);
          if (at > 0) expect(from).toBeGreaterThan(left[at - 1]!.to);
        });
        for (let index = 0; index < 90; index++) {
          expect(holds(left, index)).toBe(holds(ranges, index) && !holds(others, index));
        }
      }),
    );
  });
});

describe('restores, from any backup, in a row', () => {
  it('give out no address twice, and watch each that was given out after the backup', () => {
    // what is given out in all, between the first backup and the last restore, is less than one jump
    const given = fc.integer({ min: 0, max: 900 });
    const life = fc.record({ before: given, after: given, backup: fc.nat() });
    fc.assert(
      fc.property(fc.array(life, { minLength: 1, maxLength: 5 }), (lives) => {
        const backups: { next: number; restores: number; known: Set<number> }[] = [];
        let next = 300;
        let known = new Set<number>();
        const everybody = new Set<number>();
        const give = (count: number): void => {
          for (let i = 0; i < count; i++, next++) {
            expect(everybody.has(next)).toBe(false);
            everybody.add(next);
            known.add(next);
          }
        };
        lives.forEach(({ before, after, backup }, restores) => {
          give(before);
          backups.push({ next, restores, known: new Set(known) });
          give(after);
          const from = backups[backup % backups.length]!;
          next = from.next + jumpAfter(restores - from.restores);
          const skipped = [...everybody].filter((index) => from.next <= index && index < next);
          known = new Set([...from.known, ...skipped]);
          expect([...everybody].filter((index) => !known.has(index))).toEqual([]);
        });
        give(1);
      }),
      { numRuns: 50 },
    );
  });
});
