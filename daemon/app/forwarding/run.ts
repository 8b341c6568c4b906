/** The payment that a plan would begin now: the money that nobody else needs, and the fee for it. Stores nothing. */
import type { Holdings } from '../../chains/spending.ts';
import type { AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import {
  type FeeLimits,
  type Fees,
  freeUnits,
  type Purse,
  type Run,
  type RunCase,
  runOf,
} from '../../domain/forwarding.ts';
import { maxOf, minOf } from '../../domain/money.ts';
import type { Coin } from '../../domain/spend.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { type ForwardPlanRow, forwardedSince, promisedIn, undecidedIn } from '../../store/queries/forwarding.ts';
import { heldWithdrawals, versionsOf } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { tankReserve } from '../gas/reserve.ts';
import { needKnownSpends } from '../recovery/unknown-spends.ts';
import { fundsOf } from '../withdrawals/address-funds.ts';
import { availableUnits, spendableCoins } from '../withdrawals/coins.ts';
import { feeRateNow } from '../withdrawals/fees.ts';
import { type Holder, highestFee, holderOf, needKeys } from '../withdrawals/plan.ts';
import { APPROVAL_HOLDS_MS } from '../withdrawals/request.ts';
import { withoutReserve } from '../withdrawals/tank-keeps.ts';
import { payeeOf } from './payee.ts';

/** The most valuable coins that one transaction spends: fewer than nodes relay. A ring makes an input of Monero large. */
const COINS_MAX = 1_000;
const RING_COINS_MAX = 100;

/** The terms that a run depends on. */
export type Terms = Pick<
  ForwardPlanRow,
  'business_id' | 'asset' | 'address' | 'key_index' | 'keep' | 'least' | 'fee_share_ppm' | 'fee_max' | 'fee_day'
>;

/**
 * `balance`: all that is available. `feeAsset`: of the fees in `run`, the first payment. `all`: of the payments that follow each other on an
 * account chain, that one included; `count` is 0 where nothing is sent.
 */
export type Forecast = { run: Run; balance: bigint; free: bigint; feeAsset: AssetId; all: Sum };
export type Sum = { count: number; units: bigint; fee: bigint };

/** `least`: instead of the plan's. Throws `Rejected` with the obstacle. */
export async function forecast(app: App, terms: Terms, least = terms.least): Promise<Forecast> {
  const holder = holderOf(app, terms);
  const { chain, account, asset } = holder;
  const { feeAsset } = chain.spending;
  needKeys(account, asset);
  needKnownSpends(app.store, chain, account.id, asset);
  const balance = availableUnits(app.store, account.id, asset);
  const nothing: Forecast = { run: { kind: 'less' }, balance, free: 0n, feeAsset, all: NONE };
  // the coins are not read for nothing
  if (balance === 0n || balance < terms.keep + least) return nothing;
  const rate = await feeRateNow(chain);
  const { purse, holdings, parts } = holdingsOf(app, holder, balance, rate);
  const free = freeUnits(purse, terms.keep);
  if (minOf(free, purse.most) === 0n) return nothing;
  const address = payeeOf(terms, holder.business.network);
  const feeAt = (feeRate: bigint): bigint =>
    highestFee(chain, {
      accountNo: holder.business.accountNo,
      asset,
      feeRate,
      tipHeight: tipHeightOf(app.store, chain),
      payout: { address, units: null },
      holdings,
    });
  const fees: Fees = { now: feeAt(rate), highest: feeAt(chain.spending.highestRate(rate)) };
  const sameAsset = feeAsset === asset;
  const usedToday = usedIn(app, terms);
  const wanted = { free, most: purse.most, least, fees, limits: limitsOf(terms), usedToday, sameAsset };
  const run = runOf(wanted);
  const isDust = run.kind === 'send' && chain.spending.isDust(address, run.units);
  if (isDust) return { ...nothing, free };
  return { run, balance, free, feeAsset, all: sumOf(wanted, parts) };
}

const NONE: Sum = { count: 0, units: 0n, fee: 0n };

/** The payments of a run together: one of each part, the largest first, while something is free and the fees allow it. */
function sumOf(wanted: RunCase, parts: readonly bigint[]): Sum {
  let { free, usedToday } = wanted;
  let all = NONE;
  for (const most of parts) {
    const least = all.count === 0 ? wanted.least : 0n;
    const run = runOf({ ...wanted, free, usedToday, most, least });
    if (run.kind !== 'send') break;
    all = { count: all.count + 1, units: all.units + run.units, fee: all.fee + run.feeMax };
    free -= run.units + (wanted.sameAsset ? run.feeMax : 0n);
    usedToday += run.feeMax;
  }
  return all;
}

const limitsOf = ({ fee_share_ppm, fee_max, fee_day }: Terms): FeeLimits => ({
  sharePpm: fee_share_ppm === null ? null : BigInt(fee_share_ppm),
  max: fee_max,
  day: fee_day,
});

/** The fees of the last 24 hours, as the signer counts them: of each payment the highest of any version, and what is reserved before. */
function usedIn(app: App, { business_id, asset }: Terms): bigint {
  const since = app.now() - MS_PER_DAY;
  // a payment may wait for its signature
  const rows = app.store.all(forwardedSince, { business_id, asset, since: since - APPROVAL_HOLDS_MS });
  return rows.reduce((sum, { spend_id, state, fee_held }) => {
    const versions = spend_id === null ? [] : app.store.all(versionsOf, { spend_id });
    const signed = versions.filter(({ signed_at }) => (signed_at ?? 0) > since);
    return sum + signed.reduce((most, { fee }) => maxOf(most, fee ?? 0n), state === 'approved' ? fee_held : 0n);
  }, 0n);
}

/** The money of an account, the part of it that one transaction takes, and the `parts` of transactions that follow each other. */
function holdingsOf(
  app: App,
  holder: Holder,
  available: bigint,
  rate: bigint,
): { purse: Purse; holdings: Holdings; parts: bigint[] } {
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
  const funds = withoutReserve(settled, asset, tankReserve(app, holder, rate));
  const coin = (outpoint: string): Coin => {
    throw new Rejected('spend.gone', `The coin ${outpoint} is not asked for`);
  };
  if (chain.adapter.accountBased) {
    const { feeAsset } = chain.spending;
    const gas = chain.spending.usualFee?.(asset, rate) ?? 0n;
    const all = funds.balances().map(({ units }) => ({ units: units[asset] ?? 0n, coin: units[feeAsset] ?? 0n }));
    const able = all.filter((one) => asset === feeAsset || one.coin >= gas);
    const parts = (able.length > 0 ? able : all).map(({ units }) => units).toSorted((a, b) => (a > b ? -1 : 1));
    const spendable = all.reduce((sum, { units }) => sum + units, 0n);
    const purse = { ...rest, spendable, most: parts[0] ?? 0n };
    return { purse, holdings: { ...funds, coin, coins: () => [[]] }, parts };
  }
  const { plain } = spendableCoins(reader, chain, account, asset, true);
  const largest = plain.slice(0, chain.adapter.chain === 'XMR' ? RING_COINS_MAX : COINS_MAX);
  const sum = (coins: readonly Coin[]): bigint => coins.reduce((total, { units }) => total + units, 0n);
  const purse = { ...rest, spendable: sum(plain), most: sum(largest) };
  return { purse, holdings: { ...funds, coin, coins: () => [largest] }, parts: [purse.most] };
}
