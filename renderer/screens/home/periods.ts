/**
 * Takings by day and month in the shown currency.
 *
 * Invariant: the smallest amounts shown are a coin's takings of one day, cut to cents; every other figure is a sum of
 * these, so that figures and plot agree to the cent.
 */
import type { Result } from '../../bridge.ts';
import { sum } from '../../parts/format.ts';

type PeriodJson = Result<'takings.list'>['periods'][number];

/** `coins`: decimals with cents, by coin. `refunded`: the same of what went back, which the coins do not subtract. */
export type Period = { period: string; payments: number; coins: Record<string, string>; refunded: string };

/** `fromUsd` cuts to cents; null: no rate is known. */
export const daysOf = (given: readonly PeriodJson[], fromUsd: (usd: string) => string | null): Period[] =>
  given.map(({ period, payments, coins, refunds }) => ({
    period,
    payments,
    refunded: fromUsd(refunds.usd) ?? '0',
    coins: Object.fromEntries(coins.map(({ crypto, usd }) => [crypto, fromUsd(usd) ?? '0'])),
  }));

const MONTH_CHARS = 7;

/** In the order of the days. */
export function monthsOf(days: readonly Period[]): Period[] {
  const months = new Map<string, Period>();
  for (const { period, payments, coins, refunded } of days) {
    const name = period.slice(0, MONTH_CHARS);
    const month = months.get(name) ?? { period: name, payments: 0, coins: {}, refunded: '0' };
    month.payments += payments;
    month.refunded = sum([month.refunded, refunded]);
    for (const [crypto, amount] of Object.entries(coins))
      month.coins[crypto] = sum([month.coins[crypto] ?? '0', amount]);
    months.set(name, month);
  }
  return [...months.values()];
}

export const totalOf = (periods: readonly (Period | undefined)[]): string =>
  sum(periods.flatMap((one) => (one ? Object.values(one.coins) : [])));
