/**
 * The price of gas in each hour of the last week, as it was measured, so that an operator sees when a plan should collect. It is in a
 * setting for each chain, and says nothing about hours in which the chain was not followed.
 */

import { maxOf, minOf } from '../../domain/money.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { feeRateKnown } from '../spends/fees.ts';

export const GAS_HOURS_MAX = 168;
/** An hour is cheap among so many measured ones at least, and if so many of a hundred are no dearer. */
const CHEAP_HOURS_MIN = 24;
const CHEAP_PERCENT = 25;

/** `at`: its beginning, milliseconds since 1970. Smallest units per 1,000 gas. */
type GasHour = { at: number; low: bigint; high: bigint };

const settingFor = (chainKey: string): string => `gas_prices:${chainKey}`;

/** The measured hours of a chain, the oldest first. */
export function gasHours(reader: Reader, chainKey: string): GasHour[] {
  const stored = reader.get(settingOf, { key: settingFor(chainKey) });
  const rows = stored ? (JSON.parse(stored.value) as [number, string, string][]) : [];
  return rows.map(([at, low, high]) => ({ at, low: BigInt(low), high: BigInt(high) }));
}

/** The highest price of a cheap hour: a quarter of the measured hours had one as low, rounded down. Null: too few were measured. */
export function cheapGas(reader: Reader, chainKey: string): bigint | null {
  const lows = gasHours(reader, chainKey).map(({ low }) => low);
  if (lows.length < CHEAP_HOURS_MIN) return null;
  lows.sort((a, b) => Number(a - b));
  return lows[Math.floor((lows.length * CHEAP_PERCENT) / 100) - 1] ?? null;
}

/** Adds the present price of each chain that is followed. To be called every minute. `rateOf`: the last one measured. */
export async function noteGasPrices(app: App, rateOf = feeRateKnown): Promise<void> {
  for (const chain of app.chains.all()) {
    if (!chain.adapter.accountBased || !chain.adapter.spending || !chain.isCurrent) continue;
    const rate = rateOf(chain);
    if (rate === null) continue;
    const now = app.now();
    const at = now - (now % MS_PER_HOUR);
    const hours = gasHours(app.store, chain.key).filter(
      (one) => one.at > at - GAS_HOURS_MAX * MS_PER_HOUR && one.at <= at,
    );
    const last = hours.at(-1)?.at === at ? hours.pop() : undefined;
    const [low, high] = [minOf(last?.low ?? rate, rate), maxOf(last?.high ?? rate, rate)];
    if (last?.low === low && last.high === high) continue;
    const rows = [...hours, { at, low, high }].map((one) => [one.at, `${one.low}`, `${one.high}`]);
    const row = { key: settingFor(chain.key), value: JSON.stringify(rows), updated_at: now };
    await app.store.write((tx) => tx.run(saveSetting, row));
  }
}
