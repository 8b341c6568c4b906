/** The methods about gas. */
import type { App } from '../../app/app.ts';
import {
  assetsOf,
  type Desk,
  deskOf,
  desksOf,
  type Find,
  findsOf,
  isWorth,
  missingFor,
  payoutGas,
} from '../../app/gas/finds.ts';
import type { CollectTerms } from '../../app/gas/needed.ts';
import { FEE_MAX_FACTOR, planOf, resumePlan, startPlan, stopPlan } from '../../app/gas/plans.ts';
import { gasHours } from '../../app/gas/prices.ts';
import { changeTank, nextTankOf } from '../../app/gas/tank.ts';
import { type Blocked, movable } from '../../app/gas/tank-refusal.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { fundsOf } from '../../app/spends/address-funds.ts';
import { feeRateNow } from '../../app/spends/fees.ts';
import type { GAS } from '../../contract/gas.ts';
import type { Result } from '../../contract/operator.ts';
import type { Asset } from '../../domain/assets.ts';
import { clockTime, minutesOf, toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { GWEI_DECIMALS } from '../../domain/gas-plan.ts';
import { divideUp, FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits, parseDecimal } from '../../domain/money.ts';
import type { Methods } from './context.ts';

type CollectJson = NonNullable<Result<'withdrawal.propose'>['collect']>;
type PlanJson = NonNullable<Result<'gas.stop'>['plan']>;

const ITEMS_MAX = 200;
/** Of an amount that somebody is asked to send. */
const DIGITS_ASKED = 3;
/** In the status, which asks for no minimum. */
const STATUS_MIN_USD = 5n * 10n ** BigInt(FIAT_DECIMALS);

const usd = (scaled: bigint | null): string | null => (scaled === null ? null : formatDecimal(scaled, FIAT_DECIMALS));
const gwei = (rate: bigint): string => formatDecimal(rate, GWEI_DECIMALS);

function parsed(text: string, decimals: number, field: string): bigint {
  const value = parseDecimal(text, decimals);
  if (value === null) throw new Rejected('params', `${field} has at most ${decimals} decimals`, field);
  return value;
}

export const GAS_METHODS: Methods<typeof GAS> = {
  'gas.status': async ({ app }, { business }) => {
    const desks = await desksOf(app, business === undefined ? null : findBusiness(app, business));
    return { desks: await Promise.all(desks.map((desk) => deskJson(app, desk))) };
  },
  'gas.forecast': async ({ app }, params) => {
    const desk = await deskOf(app, findBusiness(app, params.business), params.chain);
    return forecast(app, desk, parsed(params.min_usd, FIAT_DECIMALS, 'min_usd'), BigInt(params.share_percent));
  },
  'gas.collect': async ({ app }, params) => {
    const desk = await deskOf(app, findBusiness(app, params.business), params.chain);
    const plan = {
      minUsd: parsed(params.min_usd, FIAT_DECIMALS, 'min_usd'),
      priceMax: params.price_max === null ? null : parsed(params.price_max, GWEI_DECIMALS, 'price_max'),
      feeMax: BigInt(params.fee_max),
      beginsAt: params.begins_at,
      endsAt: params.ends_at,
      daily: params.daily && { from: minutesOf(params.daily.from), to: minutesOf(params.daily.to) },
    };
    await startPlan(app, desk, plan, params.signed);
    const stored = planJson(app, desk);
    if (!stored) throw new Error('assertion failed: a plan that was stored is there');
    return { plan: stored };
  },
  'gas.stop': async ({ app }, params) => {
    const desk = await deskOf(app, findBusiness(app, params.business), params.chain);
    await stopPlan(app, desk, params.signed);
    return { plan: planJson(app, desk) };
  },
  'gas.resume': async ({ app }, params) => {
    const desk = await deskOf(app, findBusiness(app, params.business), params.chain);
    await resumePlan(app, desk);
    return { plan: planJson(app, desk) };
  },
  'gas.tank': async ({ app }, params) => {
    const business = findBusiness(app, params.business);
    const desk = await deskOf(app, business, params.chain);
    if (params.index !== nextTankOf(desk)) throw new Rejected('gas.tank', 'The tank was changed meanwhile', 'index');
    await changeTank(app, desk, params.signed);
    const { tank } = await deskOf(app, business, params.chain);
    return { address: tank.address, index: tank.index };
  },
};

/** The amount that the tank lacks for these, and for payments of so much gas. */
function needsOf(desk: Desk, finds: readonly Find[], feeRate: bigint, payouts = 0n): Result<'gas.forecast'>['needs'] {
  return missingJson(desk, missingFor(desk, finds, feeRate, payouts));
}

function missingJson({ feeAsset, tank }: Desk, missing: bigint): Result<'gas.forecast'>['needs'] {
  if (missing === 0n) return null;
  const amount = formatUnits(roundedUp(missing), feeAsset);
  const text = `needs ${amount} ${feeAsset.symbol} for gas; send it to ${tank.address}`;
  return { amount, address: tank.address, text };
}

/** To three digits, upwards, since somebody types it. */
function roundedUp(units: bigint): bigint {
  const step = 10n ** BigInt(Math.max(0, `${units}`.length - DIGITS_ASKED));
  return divideUp(units, step) * step;
}

async function deskJson(app: App, desk: Desk): Promise<Result<'gas.status'>['desks'][number]> {
  const { business, chain, feeAsset, tank } = desk;
  const feeRate = await feeRateNow(chain);
  const { finds: all, blocked } = await movable(desk, findsOf(app, desk, feeRate));
  const finds = all.filter((find) => isWorth(find, STATUS_MIN_USD, feeAsset));
  return {
    business_id: business.id,
    business: business.name,
    network: business.network,
    account_no: business.accountNo,
    chain: chain.adapter.chain,
    coin: feeAsset.symbol,
    tank: {
      address: tank.address,
      amount: formatUnits(tank.units[feeAsset.symbol] ?? 0n, feeAsset),
      index: tank.index,
    },
    former_tanks: formerJson(all, blocked),
    price: gwei(feeRate),
    prices: gasHours(app.store, chain.key).map(({ at, low, high }) => ({
      at: toIso(at),
      low: gwei(low),
      high: gwei(high),
    })),
    assets: assetsOf(desk).map((asset) => assetJson(app, desk, asset)),
    needs: needsOf(desk, finds, feeRate),
    needs_out: needsOf(desk, finds, feeRate, payoutGas(app, desk, finds, feeRate)),
    plan: planJson(app, desk),
  };
}

function formerJson(
  movable: readonly Find[],
  blocked: readonly Blocked[],
): Result<'gas.status'>['desks'][number]['former_tanks'] {
  const held = [...movable, ...blocked.map(({ find }) => find)].filter(({ at }) => at.branch === 1);
  return [...new Set(held.map(({ at }) => at.address))].map((address) => ({
    address,
    held: held
      .filter(({ at }) => at.address === address)
      .map((find) => ({
        crypto: find.asset.symbol,
        amount: formatUnits(find.units, find.asset),
        blocked: blocked.some((one) => one.find === find),
      })),
  }));
}

function assetJson(app: App, { chain, account, business, tank }: Desk, asset: Asset) {
  const funds = fundsOf(app.store, { chain, account, asset: asset.symbol }, { settledOnly: true });
  const all = funds.balances().filter(({ units }) => (units[asset.symbol] ?? 0n) > 0n);
  const sum = (list: typeof all): bigint => list.reduce((total, { units }) => total + (units[asset.symbol] ?? 0n), 0n);
  const inTank = sum(all.filter(({ address }) => address === tank.address));
  const others = all.filter(({ address }) => address !== tank.address);
  const amount = inTank + sum(others);
  const rate = app.rates.rate(business.network, asset.symbol, 'USD', app.now());
  return {
    crypto: asset.symbol,
    amount: formatUnits(amount, asset),
    in_tank: formatUnits(inTank, asset),
    on_addresses: formatUnits(sum(others), asset),
    addresses: others.length,
    usd_value: rate ? usd(fiatFor(amount, asset, rate.scaled)) : null,
  };
}

async function forecast(app: App, desk: Desk, minUsd: bigint, share: bigint): Promise<Result<'gas.forecast'>> {
  const { chain, feeAsset } = desk;
  const feeRate = await feeRateNow(chain);
  const finds = findsOf(app, desk, feeRate);
  const { blocked } = await movable(desk, finds);
  const leftOf = (find: Find) => {
    if (blocked.some((one) => one.find === find)) return 'blocked' as const;
    if (find.isBusy) return 'busy' as const;
    if (find.usd === null) return 'rate' as const;
    return isWorth(find, minUsd, feeAsset) ? null : ('minimum' as const);
  };
  const worth = finds.filter((find) => leftOf(find) === null);
  const cost = worth.reduce((sum, one) => sum + one.cost, 0n);
  const costUsd = worth.reduce<bigint | null>(
    (sum, one) => (sum === null || one.costUsd === null ? null : sum + one.costUsd),
    0n,
  );
  const feeMax = cost * FEE_MAX_FACTOR;
  return {
    coin: feeAsset.symbol,
    price: gwei(feeRate),
    worth: worth.length,
    items: finds.slice(0, ITEMS_MAX).map((find) => ({
      address: find.at.address,
      crypto: find.asset.symbol,
      amount: formatUnits(find.units, find.asset),
      usd_value: usd(find.usd),
      cost: formatUnits(find.cost, feeAsset),
      cost_usd: usd(find.costUsd),
      dear: find.usd !== null && find.costUsd !== null && find.costUsd * 100n > find.usd * share,
      left: leftOf(find),
    })),
    cost: formatUnits(cost, feeAsset),
    cost_usd: usd(costUsd),
    fee_max: feeMax.toString(),
    fee_max_coin: formatUnits(feeMax, feeAsset),
    needs: needsOf(desk, worth, feeRate),
  };
}

function planJson(app: App, desk: Desk): PlanJson | null {
  const row = planOf(app, desk);
  if (!row) return null;
  const { feeAsset: coin } = desk;
  return {
    min_usd: formatDecimal(row.min_usd, FIAT_DECIMALS),
    price_max: row.price_max === null ? null : gwei(row.price_max),
    fee_max: formatUnits(row.fee_max, coin),
    used: formatUnits(row.used, coin),
    begins_at: toIso(row.begins_at),
    ends_at: toIso(row.ends_at),
    only_needed: row.only_needed,
    daily:
      row.day_from === null || row.day_to === null
        ? null
        : { from: clockTime(row.day_from), to: clockTime(row.day_to) },
    state: row.state,
    halted: row.halted,
    problem: row.problem,
  };
}

export function collectJson({ desk, addresses, cost, feeMax, until, missing }: CollectTerms): CollectJson {
  return {
    chain: desk.chain.adapter.chain as CollectJson['chain'],
    coin: desk.feeAsset.symbol,
    addresses,
    cost: formatUnits(cost, desk.feeAsset),
    fee_max: feeMax.toString(),
    until,
    needs: missingJson(desk, missing),
  };
}
