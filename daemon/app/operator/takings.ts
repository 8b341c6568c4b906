/**
 * Takings by day and month. Deposits are read once and summed in memory; later calls read only the latest days again,
 * because old confirmed deposits do not change.
 */

import type { AssetId } from '../../domain/assets.ts';
import { dayBounds, dayOf } from '../../domain/calendar.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { takingsByTime } from '../../store/queries/ledger.ts';
import { refundsSince } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { leftAt } from '../books/taxed.ts';
import type { Business } from '../shops/directory.ts';

const CREDITS_PER_SLICE = 1_000;
/** Sums of earlier days are kept between calls. */
const FRESH_DAYS = 3;
const KEPT_MS = 600_000;
/** More refunds of the periods asked for are not summed. */
const REFUNDS_MAX = 10_000;
const REFUNDS_PER_SLICE = 200;

type Taking = { asset: AssetId; usd: bigint; payments: number };
/** Refunds of invoices by the day of the block in which their money left; `usd`: the known values, of the time when they were asked for. */
type Refunds = { count: number; usd: bigint };
type Takings = {
  periods: { period: string; payments: number; coins: Taking[]; refunds: Refunds }[];
  unvalued: number;
};

type Day = Map<AssetId, Taking>;
/** `from`: the first moment that was read; `days` are complete from there to `until`. */
type Cache = {
  timeZone: string;
  from: number;
  until: number;
  days: Map<string, Day>;
  readAt: number;
  unvalued: number;
};
const kept = new WeakMap<App, Map<number, Cache>>();

const two = (n: number): string => `${n}`.padStart(2, '0');

function dayText(at: number, timeZone: string): string {
  const { year, month, day } = dayOf(at, timeZone);
  return `${year}-${two(month)}-${two(day)}`;
}

/** Sums deposits first seen at or after `from`. */
async function read(
  { store, directory }: App,
  business: Business,
  from: number,
): Promise<Pick<Cache, 'days' | 'unvalued'>> {
  const accounts = new Set(directory.accounts().flatMap((one) => (one.businessId === business.id ? [one.id] : [])));
  const limit = CREDITS_PER_SLICE;
  const days = new Map<string, Day>();
  let unvalued = 0;
  for (let last = { at: from, id: 0 }, full = true; full; ) {
    const rows = store.all(takingsByTime, { ...last, limit });
    for (const { account_id, first_seen_at, usd_value, asset } of rows) {
      if (!accounts.has(account_id)) continue;
      if (usd_value === null) unvalued++;
      else add(days, dayText(first_seen_at, business.timeZone), asset, usd_value, 1);
    }
    const { first_seen_at: at, id } = rows.at(-1) ?? { first_seen_at: from, id: 0 };
    last = { at, id };
    full = rows.length === limit;
    await new Promise(setImmediate);
  }
  return { days, unvalued };
}

function add(periods: Map<string, Day>, period: string, asset: AssetId, usd: bigint, payments: number): void {
  const day = periods.get(period) ?? new Map<AssetId, Taking>();
  const sum = day.get(asset) ?? { asset, usd: 0n, payments: 0 };
  day.set(asset, { asset, usd: sum.usd + usd, payments: sum.payments + payments });
  periods.set(period, day);
}

async function daysSince(app: App, business: Business, from: number): Promise<Cache> {
  const now = app.now();
  const ours = kept.get(app) ?? new Map<number, Cache>();
  kept.set(app, ours);
  const known = ours.get(business.id);
  if (known && known.timeZone === business.timeZone && known.from <= from && now - known.readAt < KEPT_MS) {
    const edge = now - FRESH_DAYS * MS_PER_DAY;
    const fresh = await read(app, business, edge);
    const first = dayText(edge, business.timeZone);
    // the first of the fresh days was read in part
    const old = [...known.days].filter(([day]) => day <= first);
    const days = new Map([...[...fresh.days].filter(([day]) => day > first), ...old]);
    return { ...known, days, unvalued: known.unvalued };
  }
  const whole = await read(app, business, from);
  const entry = { ...whole, timeZone: business.timeZone, from, until: now, readAt: now };
  ours.set(business.id, entry);
  return entry;
}

/** By the first `length` characters of their days. */
async function refundsBy(app: App, business: Business, since: number, length: number): Promise<Map<string, Refunds>> {
  const { store } = app;
  const sums = new Map<string, Refunds>();
  // its row changed when its block came: whatever left since then is among these
  const rows = store.all(refundsSince, { business_id: business.id, since, limit: REFUNDS_MAX });
  for (const [n, row] of rows.entries()) {
    if (n % REFUNDS_PER_SLICE === REFUNDS_PER_SLICE - 1) await new Promise(setImmediate);
    const at = leftAt(store, row) ?? row.updated_at;
    if (at < since) continue;
    const period = dayText(at, business.timeZone).slice(0, length);
    const { count, usd } = sums.get(period) ?? { count: 0, usd: 0n };
    sums.set(period, { count: count + 1, usd: usd + (row.usd_value ?? 0n) });
  }
  return sums;
}

/** The first day of the last `count` days or months, the present one included. */
function firstDay(now: number, timeZone: string, by: 'day' | 'month', count: number): string {
  const { year, month, day } = dayOf(now, timeZone);
  const first = by === 'day' ? Date.UTC(year, month - 1, day - count + 1) : Date.UTC(year, month - count);
  return dayText(first, 'UTC');
}

/** Of the last `count` days or months of the business's calendar, newest first, without empty ones. */
export async function takings(app: App, business: Business, by: 'day' | 'month', count: number): Promise<Takings> {
  const first = firstDay(app.now(), business.timeZone, by, count);
  const { from } = dayBounds(first, business.timeZone);
  const { days, unvalued } = await daysSince(app, business, from);
  const periods = new Map<string, Day>();
  const length = by === 'day' ? 'YYYY-MM-DD'.length : 'YYYY-MM'.length;
  for (const [day, coins] of days) {
    // an earlier call may have read more
    if (day < first) continue;
    for (const { asset, usd, payments } of coins.values()) add(periods, day.slice(0, length), asset, usd, payments);
  }
  const refunds = await refundsBy(app, business, from, length);
  for (const period of refunds.keys()) if (!periods.has(period)) periods.set(period, new Map());
  return {
    periods: [...periods]
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .map(([period, coins]) => ({
        period,
        payments: [...coins.values()].reduce((sum, { payments }) => sum + payments, 0),
        coins: [...coins.values()],
        refunds: refunds.get(period) ?? { count: 0, usd: 0n },
      })),
    unvalued,
  };
}
