/** The payment that a plan would begin now: the money that nobody else needs, and the fee for it. Stores nothing. */
import { fundingFee, usualFee } from '../../chains/accounts.ts';
import type { AddressFunds, EstimateRequest, Holdings } from '../../chains/spending.ts';
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import {
  type FeeLimits,
  type Fees,
  freeUnits,
  type Part,
  type Purse,
  type Run,
  stepsOf,
} from '../../domain/forwarding.ts';
import { maxOf, minOf } from '../../domain/money.ts';
import type { Coin } from '../../domain/spend.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { APPROVAL_HOLDS_MS } from '../../domain/withdrawal.ts';
import { accountById } from '../../store/queries/businesses.ts';
import {
  type ForwardPlanRow,
  forwardedSince,
  forwardGasSince,
  promisedIn,
  undecidedIn,
} from '../../store/queries/forwarding.ts';
import { heldWithdrawals, openSpendsFor, type VersionRow, versionsOf } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { isLossOf, withReserve } from '../gas/finds.ts';
import { coinReserve } from '../gas/reserve.ts';
import { needKnownSpends } from '../recovery/unknown-spends.ts';
import { fundsOf, isTank, withoutReserve } from '../spends/address-funds.ts';
import { tankOf } from '../spends/change-address.ts';
import { availableUnits, spendableCoins } from '../spends/coins.ts';
import { feeRateNow } from '../spends/fees.ts';
import { type Holder, highestFee, holderOf, needKeys } from '../spends/plan.ts';
import { readPlan } from '../spends/stored-plan.ts';
import { failedLast } from '../spends/turns.ts';
import { payeeOf } from './payee.ts';

/** The most valuable coins that one transaction spends: as many as the planner of coins takes. A ring makes an input of Monero large. */
const COINS_MAX = 500;
const RING_COINS_MAX = 100;

/** The terms that a run depends on. */
export type Terms = Pick<
  ForwardPlanRow,
  'business_id' | 'asset' | 'address' | 'key_index' | 'keep' | 'least' | 'fee_share_ppm' | 'fee_max' | 'fee_day'
>;

/**
 * `balance`: all that is available. `feeAsset`: of the fees in `run`, the first payment. `all`: of the payments that follow each other on an
 * account chain, that one included; `count` is 0 where nothing is sent. `gas`: of what their addresses get before, its highest fees apart; `lacks`:
 * those addresses. `isReady`: the first payment needs no gas any more. `tank`: its address, where gas is needed. `from`: the address that the first
 * payment is of, on an account chain.
 */
export type Forecast = {
  run: Run;
  balance: bigint;
  free: bigint;
  feeAsset: AssetId;
  all: Sum;
  gas: Sum;
  lacks: Lack[];
  isReady: boolean;
  tank: string | null;
  from: AddressFunds | null;
};
export type Sum = { count: number; units: bigint; fee: bigint };
/** An address, and the coin that it needs to send its token. */
export type Lack = { at: AddressFunds; units: bigint };

/** `least`: instead of the plan's. `without`: addresses that are left out. Throws `Rejected` with the obstacle. */
export async function forecast(
  app: App,
  terms: Terms,
  least = terms.least,
  without: ReadonlySet<string> = new Set(),
): Promise<Forecast> {
  const holder = holderOf(app, terms);
  const { chain, account, asset } = holder;
  const { feeAsset } = chain.spending;
  needKeys(account, asset);
  needKnownSpends(app.store, chain, account.id, asset);
  const balance = availableUnits(app.store, account.id, asset);
  const bare = { balance, feeAsset, all: NONE, gas: NONE, lacks: [], isReady: true, tank: null, from: null };
  const nothing: Forecast = { ...bare, run: { kind: 'less' }, free: 0n };
  // the coins are not read for nothing
  if (balance === 0n || balance < terms.keep + least) return nothing;
  const rate = await feeRateNow(chain);
  const { purse, holdings, places } = holdingsOf(app, holder, balance, rate);
  const isLeftOut = ({ at }: Place): boolean => at !== null && without.has(at.address);
  const leftOut = sumOf(places.filter(isLeftOut).map(({ units }) => units));
  const free = maxOf(0n, freeUnits(purse, terms.keep) - leftOut);
  if (minOf(free, purse.most) === 0n) return nothing;
  const address = payeeOf(terms, holder.business.network);
  const sweepAt = (feeRate: bigint): EstimateRequest => ({
    accountNo: holder.business.accountNo,
    asset,
    feeRate,
    tipHeight: tipHeightOf(app.store, chain),
    payout: { address, units: null },
    holdings,
  });
  const [now, dear] = [sweepAt(rate), sweepAt(chain.spending.highestRate(rate))];
  const fees: Fees = { now: highestFee(chain, now), highest: highestFee(chain, dear) };
  const most = chain.adapter.accountBased ? purse.most : movedBy(chain, dear);
  const parts = places
    .filter((place) => !isLeftOut(place))
    .map((place) => ({ ...place, units: minOf(place.units, most) }));
  const used = usedIn(app, terms, account.id);
  const sameAsset = feeAsset === asset;
  const wanted = { free, least, fees, limits: limitsOf(terms), usedToday: used.fees, sameAsset };
  const tank = places.some(({ gas }) => gas > 0n) ? await tankOf(app, holder) : null;
  const there = tank && fundsOf(app.store, { chain, account, asset: feeAsset }, {}).balance(tank).units[feeAsset];
  const fee = tank ? fundingFee(chain.spending, rate) : 0n;
  const { first, sent } = stepsOf(wanted, parts, { fee, there: there ?? 0n, usedToday: used.gas });
  const isDust = first.kind === 'send' && chain.spending.sendable(address, first.units) > first.units;
  if (isDust) return { ...nothing, free };
  const lacks = sent.flatMap(({ part: { at, gas } }) => (at && gas > 0n ? [{ at, units: gas }] : []));
  const gas = { count: lacks.length, units: sumOf(lacks.map(({ units }) => units)), fee: fee * BigInt(lacks.length) };
  const all = {
    count: sent.length,
    units: sumOf(sent.map(({ units }) => units)),
    fee: sumOf(sent.map(({ feeMax }) => feeMax)),
  };
  const { at: from = null, isReady = true } = sent[0]?.part ?? {};
  return { ...bare, run: first, free, all, gas, lacks, isReady, tank: tank?.address ?? null, from };
}

/** The sum that taking all coins moves, its fee included. Coins that are worth less than their fee stay. */
function movedBy({ spending }: ChainRuntime, sweep: EstimateRequest): bigint {
  const { plan } = spending.estimate(sweep);
  return plan ? sumOf(plan.outputs.map(({ units }) => units)) + plan.fee : 0n;
}

const NONE: Sum = { count: 0, units: 0n, fee: 0n };

const sumOf = (all: readonly bigint[]): bigint => all.reduce((sum, units) => sum + units, 0n);

const limitsOf = ({ fee_share_ppm, fee_max, fee_day }: Terms): FeeLimits => ({
  sharePpm: fee_share_ppm === null ? null : BigInt(fee_share_ppm),
  max: fee_max,
  day: fee_day,
});

/**
 * The fees of the last 24 hours, as the signer counts them: of each payment the highest of any version, and what is reserved before. `gas`: what
 * deposit addresses got for that, whose own fees are among those.
 */
export function usedIn(
  app: App,
  { business_id, asset }: Pick<Terms, 'business_id' | 'asset'>,
  account_id: number,
): { fees: bigint; gas: bigint } {
  const since = app.now() - MS_PER_DAY;
  // a payment may wait for its signature
  const begun = since - APPROVAL_HOLDS_MS;
  const newIn = (spend_id: number): VersionRow[] =>
    app.store.all(versionsOf, { spend_id }).filter(({ signed_at }) => (signed_at ?? app.now()) > since);
  const rows = app.store.all(forwardedSince, { business_id, asset, since: begun });
  let fees = rows.reduce((sum, { spend_id, state, fee_held }) => {
    const signed = spend_id === null ? [] : newIn(spend_id).filter(({ signed_at }) => signed_at !== null);
    return sum + signed.reduce((most, { fee }) => maxOf(most, fee ?? 0n), state === 'approved' ? fee_held : 0n);
  }, 0n);
  let gas = 0n;
  for (const { id } of app.store.all(forwardGasSince, { account_id, asset, since: begun })) {
    const versions = newIn(id);
    fees += versions.reduce((most, { fee }) => maxOf(most, fee), 0n);
    gas += versions.reduce(
      (most, { plan }) => maxOf(most, sumOf(readPlan(plan).outputs.map(({ units }) => units))),
      0n,
    );
  }
  return { fees, gas };
}

/** `at`: the address on an account chain. `isReady`: it can send now; one whose gas is on its way is not, and needs none. */
type Place = Part & { at: AddressFunds | null; isReady: boolean };

/** The money of an account, the part of it that one transaction takes, and the `places` of transactions that follow each other. */
function holdingsOf(
  app: App,
  holder: Holder,
  available: bigint,
  rate: bigint,
): { purse: Purse; holdings: Holdings; places: Place[] } {
  const { business, chain, account, asset } = holder;
  const reader = app.store;
  const of = { business_id: business.id, asset };
  const undecided = reader.all(undecidedIn, of).reduce((sum, { part, units }) => sum + (part ?? units), 0n);
  const promises = reader.all(promisedIn, { ...of, now: app.now() });
  const promised = promises.reduce((sum, { units }) => sum + (units ?? 0n), 0n);
  const waiting = reader
    .all(heldWithdrawals, { account_id: account.id })
    .filter(({ spend_id, outpoint }) => spend_id === null && outpoint === null)
    .reduce((sum, row) => {
      const inFees = row.fee_asset === asset && !(row.sweep && row.asset === asset) ? row.fee_held : 0n;
      return sum + (row.asset === asset ? row.units : 0n) + inFees;
    }, 0n);
  const rest = { available, undecided, promised, waiting };
  const settled = fundsOf(reader, { chain, account, asset }, { settledOnly: true, settledTokens: true });
  const funds = withoutReserve(settled, asset, coinReserve(app, holder, rate));
  const coin = (outpoint: string): Coin => {
    throw new Rejected('spend.gone', `The coin ${outpoint} is not asked for`);
  };
  if (chain.adapter.accountBased) {
    const all = funds.balances();
    const places = placesOf(app, holder, all, rate);
    const spendable = sumOf(all.map(({ units }) => units[asset] ?? 0n));
    const purse = { ...rest, spendable, most: places.reduce((most, { units }) => maxOf(most, units), 0n) };
    return { purse, holdings: { ...funds, coin, coins: () => [[]] }, places };
  }
  const { plain } = spendableCoins(reader, chain, account, asset, true);
  const largest = plain.slice(0, chain.adapter.chain === 'XMR' ? RING_COINS_MAX : COINS_MAX);
  const sum = (coins: readonly Coin[]): bigint => coins.reduce((total, { units }) => total + units, 0n);
  const purse = { ...rest, spendable: sum(plain), most: sum(largest) };
  const places = [{ units: purse.most, gas: 0n, at: null, isReady: true }];
  return { purse, holdings: { ...funds, coin, coins: () => [largest] }, places };
}

/**
 * The addresses of an account chain that can send something which is worth its fees: first those that have gas, then those that it is on its way
 * to, the largest first.
 */
function placesOf(app: App, holder: Holder, all: readonly AddressFunds[], rate: bigint): Place[] {
  const { business, chain, account, asset } = holder;
  const { feeAsset } = chain.spending;
  const fee = asset === feeAsset ? 0n : usualFee(chain.spending, asset, rate);
  const tank = app.store.get(accountById, { id: account.id })?.tank ?? 0;
  const fundFee = fundingFee(chain.spending, rate);
  const isCostly = ({ units, gas }: Place): boolean => {
    const cost = fee + (gas > 0n ? fundFee : 0n);
    return fee > 0n && isLossOf(app, business, [assetOf(asset), units], [assetOf(feeAsset), cost]);
  };
  const placeOf = (at: AddressFunds): Place => {
    const units = at.units[asset] ?? 0n;
    const coin = at.units[feeAsset] ?? 0n;
    const soon = coin + (at.unconfirmed?.[feeAsset] ?? 0n);
    if (fee === 0n || coin >= fee) return { at, units, gas: 0n, isReady: true };
    const isComing =
      soon >= fee || app.store.all(openSpendsFor, { subject: at.address, chain_key: chain.key }).length > 0;
    // the tank gives itself nothing: it lacks all of it
    const gas = isTank(at, tank) ? fee : withReserve(fee - soon);
    return { at, units, gas: isComing ? 0n : gas, isReady: false };
  };
  const rank = ({ isReady, gas }: Place): number => (isReady ? 0 : gas === 0n ? 1 : 2);
  const before = (a: Place, b: Place): number => rank(a) - rank(b) || (a.units > b.units ? -1 : 1);
  const found = all
    .map(placeOf)
    .filter((place) => place.units > 0n && !isCostly(place))
    .toSorted(before);
  return failedLast(chain, found, ({ at }) => ({ asset, address: at?.address ?? '' }));
}
