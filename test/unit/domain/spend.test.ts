/** Which coins an approved sweep takes. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Coin, oldestWithin } from '../../../daemon/domain/spend.ts';

/** Below it, a coin was worth less than its fee when the sweep was approved. */
const WORTH = 1_000n;
/** Confirmations of the youngest coin that was approved. */
const OLD = 10;

type Made = { units: bigint; confirmations: number };

const made = (units: [bigint, bigint], confirmations: [number, number]): fc.Arbitrary<Made> =>
  fc.record({
    units: fc.bigInt({ min: units[0], max: units[1] }),
    confirmations: fc.integer({ min: confirmations[0], max: confirmations[1] }),
  });

const coinsOf = (all: Made[]): Coin[] =>
  all.map((one, at) => ({ ...one, outpoint: `${at}:0`, script: new Uint8Array(), branch: 0, index: at }));

const sumOf = (coins: Made[]): bigint => coins.reduce((sum, { units }) => sum + units, 0n);

it('smaller coins that became worth their fee, and younger ones, keep a sweep from nothing that was approved', () => {
  const approved = fc.array(made([WORTH, 100n * WORTH], [OLD, 100]), { minLength: 1 });
  const smaller = fc.array(made([1n, WORTH - 1n], [OLD, 100]));
  const younger = fc.array(made([1n, 200n * WORTH], [0, OLD - 1]));
  fc.assert(
    fc.property(approved, smaller, younger, (approved, smaller, younger) => {
      const most = sumOf(approved);
      expect(sumOf(oldestWithin(coinsOf([...younger, ...smaller, ...approved]), most))).toBe(most);
    }),
  );
});

it('of equal sums a sweep takes the one of larger coins', () => {
  const dust = Array.from({ length: 40 }, () => ({ units: 500n, confirmations: 90 }));
  const large = [
    { units: 50_000n, confirmations: 80 },
    { units: 20_000n, confirmations: 60 },
  ];
  expect(oldestWithin(coinsOf([...dust, ...large]), 70_000n).map(({ units }) => units)).toEqual([50_000n, 20_000n]);
});

it('where approved coins have gone, the sum stays within what was approved', () => {
  const any = fc.array(made([1n, 100n * WORTH], [0, 100]));
  fc.assert(
    fc.property(any, fc.bigInt({ min: 0n, max: 500n * WORTH }), (any, most) => {
      const coins = coinsOf(any);
      const taken = oldestWithin(coins, most);
      expect(sumOf(taken)).toBeLessThanOrEqual(most);
      expect(taken.length > 0).toBe(coins.some(({ units }) => units <= most));
      expect(oldestWithin(coins, null)).toEqual(coins);
    }),
  );
});
