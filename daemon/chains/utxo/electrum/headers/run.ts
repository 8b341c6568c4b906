/**
 * Verifies a run of headers that continues a chain: links, difficulty, times and work. Cheap checks come first. Scrypt,
 * a quarter of a millisecond per header, runs on the thread pool.
 */
import { availableParallelism } from 'node:os';
import { sha256d } from '../../../../kit/bytes.ts';
import { slices } from '../../../slices.ts';
import { type Ancestors, PERIOD_BLOCKS, requiredBits } from './difficulty.ts';
import { asNumber, bitsOf, HEADER_BYTES, previousOf, scryptHash, timeOf } from './header.ts';
import type { HeaderRules } from './rules.ts';
import { targetOfBits, workOfTarget } from './target.ts';
import { HeaderRejected } from './types.ts';

/** How far ahead of the true time a block may be dated (consensus: MAX_FUTURE_BLOCK_TIME). */
export const FUTURE_SECONDS_MAX = 2 * 60 * 60;
/** A block's median time is that of the eleven blocks up to it (BIP-113). */
export const MEDIAN_BLOCKS = 11;
/** BIP-94: how much earlier than the block before it the first block of a period may be dated. */
const TIMEWARP_SECONDS_MAX = 600;
/** Concurrent scrypt hashes: one of the thread pool's four threads stays free. */
const SCRYPT_AT_ONCE = Math.min(3, availableParallelism());

type Run = {
  rules: HeaderRules;
  /** Whole headers, at least one. */
  bytes: Buffer;
  /** The height of the first. */
  from: number;
  /** The hash of the header before the first, in internal byte order. */
  previous: Uint8Array;
  /** The header at a height below `from`, or null if it is not held. */
  known: (height: number) => Buffer | null;
  nowSeconds: number;
  /** The highest plausible target. */
  easiest: bigint;
};

/** The median; for an even count the later one. */
export const medianOf = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1] as number;

function ancestorsOf({ bytes, from, known }: Run): Ancestors {
  const at = (height: number): Buffer => {
    if (height >= from) return bytes.subarray((height - from) * HEADER_BYTES, (height - from + 1) * HEADER_BYTES);
    const header = known(height);
    if (!header) throw new Error(`assertion failed: the header at ${height} is needed and not held`);
    return header;
  };
  return { timeAt: (height) => timeOf(at(height)), bitsAt: (height) => bitsOf(at(height)) };
}

/** The times of up to eleven headers below `from`. */
function timesBefore({ from, known }: Run): number[] {
  const times: number[] = [];
  for (let height = from - 1; height >= 0 && times.length < MEDIAN_BLOCKS; height--) {
    const header = known(height);
    if (!header) break;
    times.push(timeOf(header));
  }
  return times.reverse();
}

function checkTime(run: Run, header: Buffer, height: number, times: number[]): void {
  const time = timeOf(header);
  const { difficulty } = run.rules;
  if (time <= medianOf([...times])) throw new HeaderRejected('median-time', height, 'not later than the median time');
  const warps = difficulty.kind === 'retarget' && difficulty.bip94 && height % PERIOD_BLOCKS === 0;
  if (warps && time < (times.at(-1) as number) - TIMEWARP_SECONDS_MAX) {
    throw new HeaderRejected('median-time', height, 'too early for the first of a period');
  }
  if (time > run.nowSeconds + FUTURE_SECONDS_MAX) {
    throw new HeaderRejected('future', height, `dated ${time}, more than two hours ahead of this computer's clock`);
  }
}

function checkedTarget(run: Run, header: Buffer, height: number, before: Ancestors): bigint {
  const bits = bitsOf(header);
  const required = requiredBits(run.rules, height, timeOf(header), before);
  if (bits !== required) {
    const said = `its difficulty is ${bits.toString(16)}, not ${required.toString(16)}`;
    throw new HeaderRejected('bits', height, said);
  }
  const target = targetOfBits(bits);
  if (target === null || target > run.rules.limit) throw new HeaderRejected('bits', height, 'no valid difficulty');
  if (target > run.easiest) {
    throw new HeaderRejected('easy', height, 'the difficulty fell further since the checkpoint than is plausible');
  }
  return target;
}

/**
 * Verifies the run and returns its work. Throws `HeaderRejected` at the first wrong header; scrypt is checked only if
 * everything else is right.
 */
export async function verifyRun(run: Run): Promise<bigint> {
  const { bytes, from, rules } = run;
  const pause = slices();
  const before = ancestorsOf(run);
  const times = timesBefore(run);
  let previous = run.previous;
  let work = 0n;
  for (let at = 0, height = from; at < bytes.length; at += HEADER_BYTES, height++) {
    const header = bytes.subarray(at, at + HEADER_BYTES);
    if (!previousOf(header).equals(previous))
      throw new HeaderRejected('link', height, 'does not follow the one before');
    const target = checkedTarget(run, header, height, before);
    checkTime(run, header, height, times);
    const hash = sha256d(header);
    if (rules.proofOfWork === 'sha256d' && asNumber(hash) > target) throw tooLittleWork(height);
    work += workOfTarget(target);
    previous = hash;
    times.push(timeOf(header));
    if (times.length > MEDIAN_BLOCKS) times.shift();
    const rest = pause();
    if (rest) await rest;
  }
  if (rules.proofOfWork === 'scrypt') await verifyScrypt(bytes, from);
  return work;
}

/** Compares each header's scrypt hash with its target. */
export async function verifyScrypt(bytes: Buffer, from: number): Promise<void> {
  const count = bytes.length / HEADER_BYTES;
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      const header = bytes.subarray(index * HEADER_BYTES, (index + 1) * HEADER_BYTES);
      const target = targetOfBits(bitsOf(header));
      if (target !== null && asNumber(await scryptHash(header)) <= target) continue;
      next = count;
      throw tooLittleWork(from + index);
    }
  };
  await Promise.all(Array.from({ length: SCRYPT_AT_ONCE }, worker));
}

const tooLittleWork = (height: number): HeaderRejected =>
  new HeaderRejected('work', height, 'its hash is above its target');
