/**
 * Collecting for withdrawals: an approved withdrawal that no single address can pay waits until enough of its asset is in
 * the tank. The operator approves the collection together with the withdrawal, with its highest cost. A withdrawal of everything
 * waits for all addresses that are worth their gas, up to the approved amount.
 */
import type { AssetId } from '../../domain/assets.ts';
import { APPROVAL_HOLDS_MS } from '../../domain/withdrawal.ts';
import {
  triedWithdrawalsAbove,
  untriedWithdrawals,
  versionsOf,
  type WithdrawalRow,
} from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { takesAll } from '../spends/coins.ts';
import { keyState } from '../spends/facts.ts';
import { feeRateNow } from '../spends/fees.ts';
import { type Holder, isSignable } from '../spends/plan.ts';
import { approvedUnits } from '../spends/sign.ts';
import { readPlan } from '../spends/stored-plan.ts';
import { type Desk, deskOf, type Find, findsOf, inTank, isWorth, missingFor, openDesk } from './finds.ts';
import { FEE_MAX_FACTOR, leftOf, planOf } from './plans.ts';
import { ownSpends } from './stuck.ts';
import { movable, payersInstead, refusalOf } from './tank-refusal.ts';

const WAITING_READ_MAX = 1_000;

/** The approved withdrawals of a desk's account without a transaction: those whose planning failed, and the new ones. */
export function waitingAt(app: App, { chain, account }: Desk): { tried: WithdrawalRow[]; fresh: WithdrawalRow[] } {
  const page = { chain_key: chain.key, limit: WAITING_READ_MAX };
  const own = (rows: WithdrawalRow[]) => rows.filter(({ account_id }) => account_id === account.id);
  return {
    tried: own(app.store.all(triedWithdrawalsAbove, { ...page, id: 0 })),
    fresh: own(app.store.all(untriedWithdrawals, page)),
  };
}

/** `isEnough`: whether the withdrawals can be paid once these are in the tank. */
type Need = { finds: Find[]; isEnough: boolean };

type Wanting = Pick<WithdrawalRow, 'asset' | 'units' | 'fee_held' | 'sweep' | 'outpoint' | 'approval'>;

/** The fewest addresses that have what withdrawals take beyond the tank: those with the most first. */
export function neededFor(app: App, desk: Desk, finds: readonly Find[], rows: readonly Wanting[]): Need {
  const needed: Need = { finds: [], isEnough: true };
  const { feeAsset } = desk;
  for (const asset of new Set(rows.map(({ asset }) => asset))) {
    const inAsset = asset === feeAsset.symbol;
    const mine = rows.filter((row) => row.asset === asset);
    const plain = mine.filter(({ sweep }) => !sweep);
    const exact = plain.reduce((sum, { units, fee_held }) => sum + units + (inAsset ? fee_held : 0n), 0n);
    const all = mine.filter(takesAll).reduce((sum, row) => sum + BigInt(approvedUnits(row) ?? EVERYTHING), 0n);
    const there = inTank(app, desk, asset) + comingToTank(app, desk, asset);
    let missing = exact + all - there;
    const most = finds.filter((find) => find.asset.symbol === asset).toSorted((a, b) => (a.units < b.units ? 1 : -1));
    for (const find of most) {
      const gain = inAsset ? find.units - find.cost : find.units;
      if (missing <= 0n || gain <= 0n) break;
      // everything is taken only from where it is worth its gas
      if (missing <= all && !isWorth(find, 0n, feeAsset)) continue;
      missing -= gain;
      needed.finds.push(find);
    }
    needed.isEnough &&= missing <= all;
  }
  return needed;
}

/** More than there is of any asset. */
const EVERYTHING = 1n << 256n;

/**
 * Whether an approved withdrawal of everything waits until its money is in the tank, while a plan collects there. When the plan has
 * ended, it takes what is there.
 */
export async function waitsForAll(app: App, holder: Holder, row: WithdrawalRow): Promise<boolean> {
  const { account, chain } = holder;
  if (!takesAll(row) || !chain.adapter.accountBased || approvedUnits(row) === null) return false;
  if (!isSignable(app, account)) return false;
  const desk = await openDesk(app, holder);
  const plan = planOf(app, desk);
  if (plan?.state !== 'open' || plan.ends_at <= app.now()) return false;
  if (comingToTank(app, desk, row.asset) > 0n) return true;
  const all = findsOf(app, desk, await feeRateNow(chain));
  const { finds } = await movable(desk, all);
  return neededFor(app, desk, finds, [row]).finds.length > 0;
}

/** The units that open collections bring into the tank and that no block has yet, so that nothing more is begun for them. */
function comingToTank(app: App, desk: Desk, asset: AssetId): bigint {
  return ownSpends(app.store, desk).reduce((sum, spend) => {
    const newest = app.store.all(versionsOf, { spend_id: spend.id }).at(-1);
    if (spend.purpose !== 'collect' || spend.asset !== asset || !newest) return sum;
    const isUsed = keyState(app.store, desk.chain, spend.conflict_key)?.usedBy !== null;
    return isUsed ? sum : sum + readPlan(newest.plan).outputs.reduce((units, output) => units + output.units, 0n);
  }, 0n);
}

/** The terms that an operator approves together with a withdrawal. Units are smallest ones of the chain's coin. */
export type CollectTerms = {
  desk: Desk;
  /** How many addresses are collected before. */
  addresses: number;
  /** The number of addresses with the money, the tank included. */
  places: number;
  /** The amount in the tank then, before fees; smallest units of the withdrawal's asset. */
  units: bigint;
  /** Addresses with the asset that are not collected. */
  left: readonly Find[];
  /** At the present price. */
  cost: bigint;
  /** The highest cost to grant: with room for a price that doubles, and with what is left of an open plan. */
  feeMax: bigint;
  /** The end of the grant, milliseconds since 1970. */
  until: number;
  /** The coin that the tank lacks. */
  missing: bigint;
};

/**
 * The terms under which a withdrawal can be paid after a collection, or after another address got gas where a token blocks the tank;
 * null: nothing of it would help. Throws `Unavailable`.
 */
export async function collectTerms(app: App, row: WithdrawalRow): Promise<CollectTerms | null> {
  const business = app.directory.business(row.business_id);
  const chain = app.chains.find(row.chain_key);
  if (!chain?.adapter.accountBased) return null;
  const desk = await deskOf(app, business, chain.adapter.chain);
  const feeRate = await feeRateNow(chain);
  const others = waitingAt(app, desk).tried.filter(({ id }) => id !== row.id);
  const { finds: all } = await movable(desk, findsOf(app, desk, feeRate));
  const isRefused = (await refusalOf(app, row)) !== null;
  const { finds, isEnough } = isRefused
    ? { finds: await payersInstead(desk, all, [row]), isEnough: true }
    : neededFor(app, desk, all, [row, ...others]);
  if (!isEnough || finds.length === 0) return null;
  const there = inTank(app, desk, row.asset) + comingToTank(app, desk, row.asset);
  const cost = finds.reduce((sum, one) => sum + one.cost, 0n);
  const now = app.now();
  const plan = planOf(app, desk);
  const isOpen = plan?.state === 'open' && plan.ends_at > now;
  return {
    desk,
    addresses: finds.length,
    cost,
    missing: missingFor(desk, finds, feeRate),
    places: finds.length + (there > 0n ? 1 : 0),
    left: all.filter((find) => find.asset.symbol === row.asset && !finds.includes(find)),
    units: finds.reduce((sum, { asset, units }) => sum + (asset.symbol === row.asset ? units : 0n), there),
    feeMax: cost * FEE_MAX_FACTOR + (isOpen ? leftOf(plan) : 0n),
    until: Math.max(isOpen ? plan.ends_at : 0, now + APPROVAL_HOLDS_MS),
  };
}
