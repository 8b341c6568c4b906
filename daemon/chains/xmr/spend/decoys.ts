/**
 * Chooses the decoys of a spent output: outputs of others, with the ages that real spends have. All wallets use this
 * gamma distribution, so our transactions look like theirs (Möser et al. 2018; `gamma_picker` of `wallet2`).
 */
import { randomBytes } from 'node:crypto';
import { Unavailable } from '../../../domain/errors.ts';
import { MONERO_LOCK_BLOCKS } from '../../../domain/finality.ts';

const SHAPE = 19.28;
const SCALE = 1 / 1.61;
const BLOCK_SECONDS = 120;
const BLOCKS_PER_YEAR = (365 * 86_400) / BLOCK_SECONDS;
/** Picks that are younger are spread over these last blocks before the lock. */
const RECENT_BLOCKS = 15;
/**
 * The failed picks for each decoy after which any output is taken. On a young chain most picks are older than the
 * chain.
 */
const MISSES_MAX = 200;

/** The number of outputs of the chain up to and including each block, from the block at `startHeight`. */
export type Distribution = { startHeight: number; counts: readonly number[] };

/** A random number from 0 up to 1, with 53 bits. */
function uniform(): number {
  const bytes = randomBytes(8);
  return Number(bytes.readBigUInt64LE() >> 11n) / 2 ** 53;
}

function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** The gamma distribution by Marsaglia and Tsang's method, for a shape above 1. */
function gamma(shape: number, scale: number): number {
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal();
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v * scale;
  }
}

/** The place of the first element that is not below `value`, in an ascending list. */
function lowerBound(list: readonly number[], value: number, end: number): number {
  let [from, to] = [0, end];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((list[middle] as number) < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The outputs that are old enough to be decoys have the numbers below this one. */
export const oldEnough = ({ counts }: Distribution): number => counts[counts.length - MONERO_LOCK_BLOCKS] ?? 0;

/** Numbers of `count` different spendable outputs, in random order. Throws `Unavailable` if the chain has fewer. */
export function pickDecoys(distribution: Distribution, count: number): number[] {
  const { counts } = distribution;
  const end = counts.length - (MONERO_LOCK_BLOCKS - 1);
  const usable = oldEnough(distribution);
  if (end < 1 || usable < count) throw new Unavailable('The chain has too few outputs for a ring yet', 60);
  const blocks = Math.min(counts.length, BLOCKS_PER_YEAR);
  const recent = (counts.at(-1) as number) - (counts[counts.length - blocks - 1] ?? 0);
  const secondsPerOutput = (BLOCK_SECONDS * blocks) / Math.max(1, recent);
  const picked = new Set<number>();
  for (let misses = 0; picked.size < count; ) {
    const at =
      misses < MISSES_MAX * count ? pick(counts, end, usable, secondsPerOutput) : Math.floor(uniform() * usable);
    if (at === null || picked.has(at)) misses++;
    else picked.add(at);
  }
  return [...picked];
}

/** The number of one output, or null for an age that is older than the chain or a block without outputs. */
function pick(counts: readonly number[], end: number, usable: number, secondsPerOutput: number): number | null {
  const lock = MONERO_LOCK_BLOCKS * BLOCK_SECONDS;
  const age = Math.exp(gamma(SHAPE, SCALE));
  const seconds = age > lock ? age - lock : uniform() * RECENT_BLOCKS * BLOCK_SECONDS;
  const back = Math.floor(seconds / secondsPerOutput);
  if (back >= usable) return null;
  const block = lowerBound(counts, usable - back, end);
  const first = block === 0 ? 0 : (counts[block - 1] as number);
  const inBlock = (counts[block] as number) - first;
  return inBlock > 0 ? first + Math.floor(uniform() * inBlock) : null;
}
