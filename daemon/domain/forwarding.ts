/** When a plan sends the takings on, and how much. Everything here is pure. */

import { type Day, dayOf, instantOf } from './calendar.ts';
import { minOf } from './money.ts';
import { MS_PER_DAY } from './time.ts';

/** `reached`: as soon as the sum is there. */
export const FORWARD_TIMES = ['reached', 'day', 'week'] as const;
export type ForwardTime = (typeof FORWARD_TIMES)[number];

/** `minute`: since midnight in the business's time zone; 0 for `reached`. `weekday`: 0 is Sunday; null unless it is each week. */
export type ForwardSchedule = { every: ForwardTime; minute: number; weekday: number | null };

const DAYS_OF_WEEK = 7;

/** The next time after `after`, in milliseconds since 1970. A plan that waits for its sum alone has no times: `after` itself. */
export function nextDue({ every, minute, weekday }: ForwardSchedule, after: number, timeZone: string): number {
  if (every === 'reached') return after;
  const today = dayOf(after, timeZone);
  // from yesterday, because a time that the clocks are put forward over may come on the next day
  for (let ahead = -1; ahead <= DAYS_OF_WEEK + 1; ahead++) {
    const { day, ofWeek } = dayAfter(today, ahead);
    if (every === 'week' && ofWeek !== weekday) continue;
    const at = instantOf(day, minute, timeZone);
    if (at > after) return at;
  }
  throw new Error('assertion failed: a week has each of its days');
}

/** When a plan tries again after a payment of it did not come about: at its next time, or a day later. */
export function nextTry(schedule: ForwardSchedule, now: number, timeZone: string): number {
  return schedule.every === 'reached' ? now + MS_PER_DAY : nextDue(schedule, now, timeZone);
}

/** The most times, one after the other, that a plan leaves out. */
export const LEFT_OUT_MAX = 100;

/**
 * When a plan that waits until `next` is due by the clock of now. A time that is further ahead than those that were left out was set under a clock
 * that was ahead, or in another time zone: then it is the next one from now.
 */
export function dueAt(
  schedule: ForwardSchedule,
  { next, leftOut }: { next: number; leftOut: number },
  now: number,
  timeZone: string,
): number {
  if (schedule.every === 'reached') return next > now + MS_PER_DAY ? now : next;
  let last = now;
  for (let i = 0; i <= leftOut && last < next; i++) last = nextDue(schedule, last, timeZone);
  return next > last ? nextDue(schedule, now, timeZone) : next;
}

function dayAfter({ year, month, day }: Day, days: number): { day: Day; ofWeek: number } {
  const date = new Date(Date.UTC(year, month - 1, day + days));
  const found = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
  return { day: found, ofWeek: date.getUTCDay() };
}

/** The money of an account in one asset, smallest units. */
export type Purse = {
  /** The confirmed money that can be spent, without deposits that nobody decided about; and as much of it as one transaction moves. */
  spendable: bigint;
  most: bigint;
  /** The balance, less what open withdrawals reserve. */
  available: bigint;
  /** The part of open withdrawals that has no coins yet. */
  waiting: bigint;
  /** The sum that refund links promise to payers. */
  promised: bigint;
  /** Deposits that nobody decided about. */
  undecided: bigint;
};

/** The money that nobody else needs, less what the plan keeps; at least 0. One transaction may move less of it. */
export function freeUnits(
  { spendable, available, waiting, promised, undecided }: Omit<Purse, 'most'>,
  keep: bigint,
): bigint {
  const free = minOf(spendable - waiting, available - undecided) - promised - keep;
  return free > 0n ? free : 0n;
}

/** Shares count millionths, with as many decimals. */
export const SHARE_DECIMALS = 6;
export const SHARE_SCALE = 1_000_000n;

/** The fees that a plan may pay. `sharePpm`: millionths of the amount. Amounts are smallest units of the fee's asset; null: any. */
export type FeeLimits = { sharePpm: bigint | null; max: bigint | null; day: bigint };

/** Whether a fee is within a share of an amount in the same asset. */
export const isWithinShare = (fee: bigint, units: bigint, sharePpm: bigint): boolean =>
  fee * SHARE_SCALE <= units * sharePpm;

/** The highest fee within the limits for a payment of a sum that also pays the fee, if it is in the same asset. Rounded down. */
export function feeAllowed(
  { sharePpm, max, day }: FeeLimits,
  { sum, usedToday, sameAsset }: { sum: bigint; usedToday: bigint; sameAsset: boolean },
): bigint {
  const limits = [day > usedToday ? day - usedToday : 0n];
  if (max !== null) limits.push(max);
  if (sharePpm !== null && sameAsset) limits.push((sum * sharePpm) / (SHARE_SCALE + sharePpm));
  return limits.reduce(minOf);
}

/** An address gets the gas of its payment with a reserve, and the price may fall before it is used. */
export const FUNDED_PER_FEE = 2n;

/** The most gas that a plan of a token, whose fees are another coin, lets deposit addresses have in 24 hours. */
export const gasOfDay = (feeDay: bigint): bigint => FUNDED_PER_FEE * feeDay;

/** The fee at the price of now, and the highest that is reserved, since prices may rise before it is signed. */
export type Fees = { now: bigint; highest: bigint };

/**
 * `less`: fewer than `least`. `dear`: the fee is above what the plan allows. `gas`: deposit addresses would get more gas than the plan
 * allows in 24 hours. `short`: the tank lacks `missing` for gas.
 */
export type Run =
  | { kind: 'send'; units: bigint; feeMax: bigint }
  | { kind: 'less' }
  | { kind: 'dear' | 'gas'; fee: bigint; allowed: bigint }
  | { kind: 'short'; missing: bigint };

/** `sameAsset`: the fee is paid from the sum. */
type RunCase = {
  /** From `freeUnits`. `most`: what one transaction moves. */
  free: bigint;
  most: bigint;
  least: bigint;
  fees: Fees;
  limits: FeeLimits;
  usedToday: bigint;
  sameAsset: boolean;
};

/** Decides what a plan sends now. `units`: they arrive. They and the highest fee together are at most what is free. */
export function runOf({ free, most, least, fees, limits, usedToday, sameAsset }: RunCase): Run {
  const sum = minOf(free, most);
  // a payment that cost less than was reserved leaves so much, which is not worth another one
  const isRest = sameAsset && sum <= fees.highest;
  if (sum <= 0n || free < least || isRest) return { kind: 'less' };
  const allowed = feeAllowed(limits, { sum, usedToday, sameAsset });
  if (fees.now > allowed) return { kind: 'dear', fee: fees.now, allowed };
  const feeMax = minOf(fees.highest > fees.now ? fees.highest : fees.now, allowed);
  const units = sameAsset ? sum - feeMax : sum;
  return units > 0n ? { kind: 'send', units, feeMax } : { kind: 'less' };
}

/** The money of a payment of a run. `gas`: the coin that its address has to get first; 0: none. */
export type Part = { units: bigint; gas: bigint };

/** `fee`: of a payment of gas. `there`: the coin of the tank. `usedToday`: the gas of 24 hours. Units of the chain's coin. */
export type Tank = { fee: bigint; there: bigint; usedToday: bigint };

/** `sent`: the parts of a run that its limits allow, in their order. */
type Steps<P extends Part> = { first: Run; sent: { part: P; units: bigint; feeMax: bigint }[] };

/** Decides about the payments of a run, one of each part, while something is free and fees, gas and the tank allow it. */
export function stepsOf<P extends Part>(wanted: Omit<RunCase, 'most'>, parts: readonly P[], tank: Tank): Steps<P> {
  let { free, usedToday, least } = wanted;
  let [given, { there }] = [tank.usedToday, tank];
  let first: Run | null = null;
  const sent: Steps<P>['sent'] = [];
  for (const part of parts) {
    const more = part.gas > 0n ? tank.fee : 0n;
    const run = runOf({ ...wanted, free, usedToday: usedToday + more, most: part.units, least });
    const lack = run.kind === 'send' ? lackOf(part, { ...tank, there, usedToday: given }, wanted.limits) : null;
    first ??= lack ?? run;
    if (run.kind !== 'send' || lack !== null) break;
    sent.push({ part, units: run.units, feeMax: run.feeMax });
    free -= run.units + (wanted.sameAsset ? run.feeMax : 0n);
    usedToday += more + run.feeMax;
    given += part.gas;
    there -= part.gas + more;
    least = 0n;
  }
  return { first: first ?? { kind: 'less' }, sent };
}

/** Why a part gets no gas; null: it gets it, or needs none. */
function lackOf({ gas }: Part, { fee, there, usedToday }: Tank, { max, day }: FeeLimits): Run | null {
  if (gas === 0n) return null;
  if (max !== null && fee > max) return { kind: 'dear', fee, allowed: max };
  const allowed = gasOfDay(day);
  if (usedToday + gas > allowed) return { kind: 'gas', fee: usedToday + gas, allowed };
  return gas + fee > there ? { kind: 'short', missing: gas + fee - there } : null;
}
