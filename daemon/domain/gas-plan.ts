/** The terms that a plan of gas can have, for the service and for the command that has them granted first. */
import { Rejected } from './errors.ts';

/** A rate is smallest units per 1,000 gas: 1e12 of these are a gwei. */
export const GWEI_DECIMALS = 12;

/** Times are milliseconds since 1970. `daily`: the hours of each day at which it collects; null: at any time. */
type GasTerms = {
  feeMax: bigint;
  beginsAt: number;
  endsAt: number;
  daily: { from: number | string; to: number | string } | null;
};

/** `longest`: milliseconds for which gas can be granted. Throws `Rejected('gas.plan')`. */
export function needPossiblePlan({ feeMax, beginsAt, endsAt, daily }: GasTerms, now: number, longest: number): void {
  if (endsAt <= Math.max(now, beginsAt)) throw new Rejected('gas.plan', 'It ends before it begins', 'ends_at');
  if (endsAt > now + longest) throw new Rejected('gas.plan', 'A plan lasts 31 days at most', 'ends_at');
  if (feeMax <= 0n) throw new Rejected('gas.plan', 'It may cost nothing', 'fee_max');
  if (daily && daily.from === daily.to) throw new Rejected('gas.plan', 'Its hours of the day are none', 'daily');
}
