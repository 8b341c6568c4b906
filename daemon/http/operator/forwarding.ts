/** The methods about plans that send the takings on. */
import type { App } from '../../app/app.ts';
import { whyNot } from '../../app/forwarding/pass.ts';
import { destinationOf, nextPayees, payeeOf } from '../../app/forwarding/payee.ts';
import { isRunning } from '../../app/forwarding/payments.ts';
import {
  endPlan,
  type ForwardTerms,
  forwardable,
  labelOf,
  needTerms,
  planFor,
  plansOf,
  type SignedForward,
  sendNow,
  setPlan,
  skipNext,
} from '../../app/forwarding/plans.ts';
import { type Forecast, forecast, type Sum } from '../../app/forwarding/run.ts';
import { findBusiness } from '../../app/operator/find.ts';
import type { Business } from '../../app/shops/directory.ts';
import { type FORWARDING, Weekday } from '../../contract/forwarding.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import { type Asset, assetOf, findAsset, nativeAsset } from '../../domain/assets.ts';
import { clockTime, isoOrNull, minutesOf, toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { nextDue, SHARE_DECIMALS, SHARE_SCALE } from '../../domain/forwarding.ts';
import { type Message, messageOf, reasonOf } from '../../domain/messages.ts';
import { FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits, parseDecimal } from '../../domain/money.ts';
import type { ForwardPlanRow } from '../../store/queries/forwarding.ts';
import type { Methods } from './context.ts';
import { withdrawalJson } from './present-withdrawals.ts';

type TermsJson = Parsed<'forwarding.set'>['terms'];
type PlanJson = Result<'forwarding.set'>['plan'];

export const FORWARD_METHODS: Methods<typeof FORWARDING> = {
  'forwarding.list': ({ app }, { business }) => ({
    plans: plansOf(app, findBusiness(app, business)).map((plan) => planJson(app, plan)),
  }),
  'forwarding.preview': async ({ app }, { business, crypto, terms }) => {
    const [owner, asset] = placeOf(app, { business, crypto });
    if (!terms) {
      const plan = planFor(app, owner, asset);
      // the rest of a run is sent whatever its sum
      const now = isRunning(plan, app.now()) ? { ...plan, least: 0n } : plan;
      return preview(app, now, plan.every === 'reached' ? null : plan.next_at);
    }
    const wanted = termsOf(owner, asset, terms);
    needTerms(app, owner, asset, wanted);
    const next = wanted.every === 'reached' ? null : nextDue(wanted, app.now(), owner.timeZone);
    return preview(app, { ...wanted, business_id: owner.id, asset: asset.symbol }, next);
  },
  'forwarding.set': async ({ app }, { terms, signed, ...ref }) => {
    const [owner, asset] = placeOf(app, ref);
    return {
      plan: planJson(app, await setPlan(app, owner, asset, termsOf(owner, asset, terms), signed as SignedForward)),
    };
  },
  'forwarding.skip': async ({ app }, ref) => ({ plan: planJson(app, await skipNext(app, ...placeOf(app, ref))) }),
  'forwarding.send': async ({ app }, ref) => {
    const row = await sendNow(app, ...placeOf(app, ref));
    return { withdrawal: row && withdrawalJson(app, row) };
  },
  'forwarding.end': async ({ app }, { signed, told: isTold, business, crypto }) => {
    const asset = findAsset(crypto);
    // also of an account whose keys are in another wallet by now
    if (!asset) throw new Rejected('withdrawal.crypto', `${crypto} is no crypto of this program`, 'crypto');
    const end = { signed: signed as SignedForward | null, isTold };
    const plan = await endPlan(app, findBusiness(app, business), asset, end);
    return { plan: plan && planJson(app, plan) };
  },
};

function placeOf(app: App, { business, crypto }: { business: string; crypto: string }): [Business, Asset] {
  const owner = findBusiness(app, business);
  return [owner, forwardable(app, owner, crypto)];
}

/** Throws `Rejected`: `forward.amount`, `.fee`, `account.*`. */
function termsOf({ network }: Business, asset: Asset, terms: TermsJson): ForwardTerms {
  const coin = nativeAsset(asset.chain);
  const units = (text: string, of: Asset, code: 'forward.amount' | 'forward.fee', field: string): bigint => {
    const value = parseDecimal(text, of.decimals);
    if (value === null) throw new Rejected(code, `${of.symbol} has at most ${of.decimals} decimals`, field);
    return value;
  };
  return {
    ...destinationOf(terms.address, terms.from, { asset: asset.symbol, network }),
    keep: units(terms.keep, asset, 'forward.amount', 'keep'),
    least: units(terms.least, asset, 'forward.amount', 'least'),
    every: terms.every,
    minute: terms.every === 'reached' ? 0 : minutesOf(terms.at),
    cheap: terms.cheap,
    weekday: terms.weekday === null ? null : Weekday.options.indexOf(terms.weekday),
    fee_share_ppm: terms.fee_share === null ? null : millionthsOf(terms.fee_share),
    fee_max: terms.fee_max === null ? null : units(terms.fee_max, coin, 'forward.fee', 'fee_max'),
    fee_day: units(terms.fee_day, coin, 'forward.fee', 'fee_day'),
  };
}

/** A share as typed. Throws `Rejected('forward.fee')`. */
function millionthsOf(text: string): number {
  const ppm = parseDecimal(text, SHARE_DECIMALS);
  if (ppm !== null && ppm > 0n && ppm <= SHARE_SCALE) return Number(ppm);
  throw new Rejected(
    'forward.fee',
    'A share is above 0 and at most 1, with at most 6 decimals: 0.01 is 1 %',
    'fee_share',
  );
}

function planJson(app: App, plan: ForwardPlanRow): PlanJson {
  const business = app.directory.business(plan.business_id);
  const asset = assetOf(plan.asset);
  const coin = nativeAsset(asset.chain);
  const { every, minute, weekday, fee_share_ppm, fee_max, problem, address } = plan;
  const isTimed = every !== 'reached';
  return {
    business_id: business.id,
    business: business.name,
    network: business.network,
    account_no: business.accountNo,
    crypto: asset.symbol,
    address,
    next_index: plan.key_index,
    next_address: plan.key_index === null ? null : payeeOf(plan, business.network),
    label: labelOf(app, plan),
    keep: formatUnits(plan.keep, asset),
    least: formatUnits(plan.least, asset),
    every,
    at: isTimed ? clockTime(minute) : null,
    weekday: weekday === null ? null : (Weekday.options[weekday] ?? null),
    cheap: plan.cheap,
    fee_share: fee_share_ppm === null ? null : formatDecimal(BigInt(fee_share_ppm), SHARE_DECIMALS),
    fee_max: fee_max === null ? null : formatUnits(fee_max, coin),
    fee_day: formatUnits(plan.fee_day, coin),
    fee_crypto: coin.symbol,
    next_at: isTimed ? toIso(plan.next_at) : null,
    withdrawal: plan.withdrawal_id,
    problem,
  };
}

type Previewed = ForwardTerms & Pick<ForwardPlanRow, 'business_id' | 'asset'>;

async function preview(app: App, terms: Previewed, next: number | null): Promise<Result<'forwarding.preview'>> {
  const asset = assetOf(terms.asset);
  const coin = nativeAsset(asset.chain);
  const { found, problem } = await foundOf(app, terms);
  const run = found && found.all.count > 0 && problem === null ? found.all : null;
  const rate = app.rates.rate(app.directory.business(terms.business_id).network, asset.symbol, 'USD', app.now());
  const isSame = coin.symbol === asset.symbol;
  const left = (found?.balance ?? 0n) - (run ? run.units + (isSame ? run.fee : 0n) : 0n);
  return {
    crypto: asset.symbol,
    address: terms.address,
    addresses: nextPayees(terms, app.directory.business(terms.business_id).network),
    amount: run && formatUnits(run.units, asset),
    usd_value: run && rate ? formatDecimal(fiatFor(run.units, asset, rate.scaled), FIAT_DECIMALS) : null,
    payments: run?.count ?? 0,
    fee: run && formatUnits(run.fee, coin),
    fee_crypto: coin.symbol,
    // rounded down to millionths
    fee_share: run && isSame ? formatDecimal((run.fee * SHARE_SCALE) / run.units, SHARE_DECIMALS) : null,
    gas: run && found && found.gas.count > 0 ? gasJson(found.gas, coin) : null,
    kept: formatUnits(left, asset),
    free: formatUnits(found?.free ?? 0n, asset),
    next_at: isoOrNull(next),
    problem,
  };
}

const gasJson = ({ count: addresses, units, fee }: Sum, coin: Asset) => ({
  addresses,
  amount: formatUnits(units, coin),
  fee: formatUnits(fee, coin),
});

async function foundOf(app: App, terms: Previewed): Promise<{ found: Forecast | null; problem: Message | null }> {
  try {
    const found = await forecast(app, terms);
    return { found, problem: whyNot(app, terms, found) };
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return { found: null, problem: messageOf(reasonOf(error)) };
  }
}
