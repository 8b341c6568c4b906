/**
 * The required target of a block, from the blocks before it. Pure and exact to the bit: nodes compute with integers
 * that round down, and the last digit matters.
 *
 * Sources: `GetNextWorkRequired` and `CalculateNextWorkRequired` of Bitcoin Core and Litecoin Core, BIP-94, and the
 * specification of aserti3-2d with `CalculateASERT` of Bitcoin Cash Node.
 */
import { assert } from '../../../../domain/errors.ts';
import type { AsertRules, HeaderRules, RetargetRules } from './rules.ts';
import { bitsOfTarget, targetOfBits } from './target.ts';

/** Blocks with the same target, if the difficulty is adjusted in periods. */
export const PERIOD_BLOCKS = 2_016;

/** The ancestors of a block, at any held height below it. */
export type Ancestors = { timeAt: (height: number) => number; bitsAt: (height: number) => number };

const targetOf = (bits: number): bigint => {
  const target = targetOfBits(bits);
  assert(target !== null, 'a target that was checked before');
  return target;
};

/** `numerator / denominator`, rounded towards zero as in C. The denominator is positive. */
const truncated = (numerator: bigint, denominator: bigint): bigint => numerator / denominator;

/** The required target, in compact form, of the block at `height` with this time. */
export function requiredBits(rules: HeaderRules, height: number, timeSeconds: number, before: Ancestors): number {
  const { difficulty } = rules;
  const previousTime = before.timeAt(height - 1);
  if (difficulty.kind === 'constant') return before.bitsAt(height - 1);
  const isLate = rules.lateBlocksAreEasy && timeSeconds > previousTime + 2 * rules.spacingSeconds;
  if (difficulty.kind === 'asert') {
    return isLate ? rules.limitBits : asertBits(difficulty, rules, height - 1, previousTime);
  }
  if (height % PERIOD_BLOCKS === 0) return retargetBits(difficulty, rules, height, before);
  if (isLate) return rules.limitBits;
  return rules.lateBlocksAreEasy ? lastOrdinaryBits(rules, height, before) : before.bitsAt(height - 1);
}

/** On test networks: the target of the last block that was not an easy late one. */
function lastOrdinaryBits(rules: HeaderRules, height: number, before: Ancestors): number {
  let at = height - 1;
  while (at % PERIOD_BLOCKS !== 0 && before.bitsAt(at) === rules.limitBits) at--;
  return before.bitsAt(at);
}

function retargetBits(difficulty: RetargetRules, rules: HeaderRules, height: number, before: Ancestors): number {
  // the first adjustment of a chain has no block before its period
  const intervals = Math.min(difficulty.intervals, height - 1);
  const took = before.timeAt(height - 1) - before.timeAt(height - 1 - intervals);
  const { timespanSeconds } = difficulty;
  const bounded = Math.min(Math.max(took, Math.floor(timespanSeconds / 4)), timespanSeconds * 4);
  const old = targetOf(before.bitsAt(difficulty.bip94 ? height - PERIOD_BLOCKS : height - 1));
  const target = truncated(old * BigInt(bounded), BigInt(timespanSeconds));
  return target > rules.limit ? rules.limitBits : bitsOfTarget(target);
}

/**
 * The target after the block at `height` with this time. It depends exponentially on how far the chain is behind its
 * schedule: the integer part is a shift, the fractional part the specification's cubic with 16 binary places.
 */
export function asertBits(
  asert: AsertRules,
  rules: Pick<HeaderRules, 'spacingSeconds' | 'limit' | 'limitBits'>,
  height: number,
  timeSeconds: number,
): number {
  const timeDifference = BigInt(timeSeconds) - BigInt(asert.anchorParentTimeSeconds);
  const heightDifference = BigInt(height) - BigInt(asert.anchorHeight);
  const behind = timeDifference - BigInt(rules.spacingSeconds) * (heightDifference + 1n);
  const exponent = truncated(behind * 65_536n, BigInt(asert.halfLifeSeconds));
  // an arithmetic shift rounds down, so that the rest is never negative
  const shifts = exponent >> 16n;
  const x = exponent - (shifts << 16n);
  const cubic = 195_766_423_245_049n * x + 971_821_376n * x * x + 5_127n * x * x * x + (1n << 47n);
  const factor = 65_536n + (cubic >> 48n);
  const scaled = targetOf(asert.anchorBits) * factor;
  const places = shifts - 16n;
  const target = places <= 0n ? scaled >> -places : scaled << places;
  if (target === 0n) return bitsOfTarget(1n);
  return target > rules.limit ? rules.limitBits : bitsOfTarget(target);
}
