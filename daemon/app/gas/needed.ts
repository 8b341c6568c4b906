/**
 * Collecting for withdrawals: an approved withdrawal that no single address can pay waits until enough of its asset is in
 * the tank. The operator approves the collection together with the withdrawal, with its highest cost.
 */

import type { Description } from '../../chains/spending.ts';
import type { AssetId } from '../../domain/assets.ts';
import {
  triedWithdrawalsAbove,
  untriedWithdrawals,
  versionsOf,
  type WithdrawalRow,
} from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { fundsOf } from '../withdrawals/address-funds.ts';
import { feeRateNow, spendingOf } from '../withdrawals/fees.ts';
import { keyState } from '../withdrawals/keys.ts';
import { APPROVAL_HOLDS_MS } from '../withdrawals/request.ts';
import { readPlan } from '../withdrawals/stored-plan.ts';
import { type Desk, deskOf, type Find, findsOf, missingFor } from './finds.ts';
import { FEE_MAX_FACTOR, leftOf, planOf } from './plans.ts';
import { ownSpends } from './stuck.ts';

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
export type Needed = { finds: Find[]; isEnough: boolean };

/** The fewest addresses that have what withdrawals take beyond the tank: those with the most first. */
export function neededFor(
  app: App,
  desk: Desk,
  finds: readonly Find[],
  rows: readonly Pick<WithdrawalRow, 'asset' | 'units' | 'fee_held' | 'sweep'>[],
): Needed {
  const needed: Needed = { finds: [], isEnough: true };
  const { chain, account, feeAsset, tank } = desk;
  for (const asset of new Set(rows.map(({ asset }) => asset))) {
    const inAsset = asset === feeAsset.symbol;
    const wanted = rows
      .filter((row) => row.asset === asset && !row.sweep)
      .reduce((sum, { units, fee_held }) => sum + units + (inAsset ? fee_held : 0n), 0n);
    const there = fundsOf(app.store, { chain, account, asset }, {}).balance(tank).units[asset] ?? 0n;
    let missing = wanted - there - comingToTank(app, desk, asset);
    const most = finds.filter((find) => find.asset.symbol === asset).toSorted((a, b) => (a.units < b.units ? 1 : -1));
    for (const find of most) {
      const gain = inAsset ? find.units - find.cost : find.units;
      if (missing <= 0n || gain <= 0n) break;
      missing -= gain;
      needed.finds.push(find);
    }
    needed.isEnough &&= missing <= 0n;
  }
  return needed;
}

/** The units that open collections bring into the tank and that no block has yet, so that nothing more is begun for them. */
function comingToTank(app: App, desk: Desk, asset: AssetId): bigint {
  return ownSpends(app, desk).reduce((sum, spend) => {
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
  /** At the present price. */
  cost: bigint;
  /** The highest cost to grant: with room for a price that doubles, and with what is left of an open plan. */
  feeMax: bigint;
  /** The end of the grant, milliseconds since 1970. */
  until: number;
  /** The coin that the tank lacks. */
  missing: bigint;
};

/** The terms under which a withdrawal can be paid after a collection; null: no collection would help. Throws `Unavailable`. */
export async function collectTerms(app: App, row: WithdrawalRow): Promise<CollectTerms | null> {
  const business = app.directory.business(row.business_id);
  const chain = app.chains.find(row.chain_key);
  if (!chain?.adapter.accountBased) return null;
  const desk = await deskOf(app, business, chain.adapter.chain);
  const feeRate = await feeRateNow(chain);
  const others = waitingAt(app, desk).tried.filter(({ id }) => id !== row.id);
  const { finds, isEnough } = neededFor(app, desk, findsOf(app, desk, feeRate), [row, ...others]);
  if (!isEnough || finds.length === 0) return null;
  const cost = finds.reduce((sum, one) => sum + one.cost, 0n);
  const now = app.now();
  const plan = planOf(app, desk);
  const isOpen = plan?.state === 'open' && plan.ends_at > now;
  const fundFee = spendingOf(chain).usualFee?.(desk.feeAsset.symbol, feeRate) ?? 0n;
  return {
    ...{ desk, addresses: finds.length, cost, missing: missingFor(desk, finds, fundFee) },
    feeMax: cost * FEE_MAX_FACTOR + (isOpen ? leftOf(plan) : 0n),
    until: Math.max(isOpen ? plan.ends_at : 0, now + APPROVAL_HOLDS_MS),
  };
}

/** The payment of a withdrawal that is not planned yet, for display. It is shown by its address alone. */
export const payoutOf = ({ address, units, asset }: WithdrawalRow): Description['outputs'][number] => ({
  ...{ address, script: new Uint8Array(), asset, units, changeIndex: null },
});
