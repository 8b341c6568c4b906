/**
 * Planning what is to be signed: reads coins, the change address and the fee rate, and asks the chain's planner. Nothing
 * here is stored; `claim.ts` checks it all again inside the transaction that does.
 */

import { scriptOf } from '../../chains/utxo/address.ts';
import { feeOf } from '../../chains/utxo/spend/fees.ts';
import { planUtxo } from '../../chains/utxo/spend/plan.ts';
import { dustOf } from '../../chains/utxo/spend/sizes.ts';
import type { AssetId } from '../../domain/assets.ts';
import { assert, Rejected } from '../../domain/errors.ts';
import { divideUp, minOf } from '../../domain/money.ts';
import type { ChangeTarget, Coin, SpendPlan, SpendRequest } from '../../domain/spend.ts';
import { scriptAt } from '../../sandbox/addresses.ts';
import { planSimulated } from '../../sandbox/simulated.ts';
import { accountById } from '../../store/queries/businesses.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import type { Account, Business } from '../shops/directory.ts';
import { type Coins, coinAt, coinFrom, reservedBy, spendableCoins, tipHeightOf } from './coins.ts';
import { approvableFee, FEE_UNLIMITED, isUtxo } from './fees.ts';

/** What a withdrawal that cannot be planned yet is held to cost: two coins spent, two outputs. */
const USUAL_VSIZE = 250;

/** Where a withdrawal lives. */
export type Place = { business: Business; account: Account; chain: ChainRuntime; asset: AssetId };

/** The place of a withdrawal. Throws `Rejected` when its chain is not connected any more. */
export function placeOf(app: App, row: Pick<WithdrawalRow, 'business_id' | 'asset'>): Place {
  const business = app.directory.business(row.business_id);
  const asset = row.asset as AssetId;
  const account = app.directory.account(business, asset);
  const chain = account && app.chains.find(account.chainKey);
  if (!account || !chain) throw new Rejected('withdrawal.unconnected', `${asset} is not connected to its network`);
  return { business, account, chain, asset };
}

/** The script of an address, which was checked when the withdrawal was asked for. */
export function scriptFor({ adapter }: ChainRuntime, address: string): Uint8Array {
  const { chain, network } = adapter;
  const script = isUtxo(chain)
    ? scriptOf(address, chain, network)
    : network === 'sandbox'
      ? scriptAt(chain, address)
      : null;
  if (!script)
    throw new Rejected('withdrawal.address', `${address} is no address of ${chain} on this network`, 'address');
  return script;
}

/** Whether an output is so small that nodes do not relay it. The address was checked. */
export function isDust(chain: ChainRuntime, address: string, units: bigint): boolean {
  const { chain: id } = chain.adapter;
  return isUtxo(id) && units < dustOf(id, scriptFor(chain, address));
}

function planFor(request: SpendRequest): SpendPlan {
  const { chain, network } = request;
  if (isUtxo(chain)) return planUtxo(request, chain);
  if (network === 'sandbox') return planSimulated(request);
  throw new Rejected('withdrawal.unsupported', `This release does not spend on ${chain} yet`, 'crypto');
}

type Estimate = {
  asset: AssetId;
  address: string;
  units: bigint | null;
  coins: Coin[];
  feeRate: bigint;
  tipHeight: number;
};

/** The fee at a rate with the coins of now, as far as it can be approved; without the coins, that of a usual transaction. */
export function highestFee(chain: ChainRuntime, account: Account, business: Business, wanted: Estimate): bigint {
  const { asset, address, units, coins, feeRate, tipHeight } = wanted;
  const script = scriptFor(chain, address);
  try {
    const plan = planFor({
      ...request({ business, account, chain, asset }, tipHeight),
      payouts: [{ address, script, units }],
      coins,
      // any address is as long as our own change's
      change: { address, script, index: 0 },
      feeRate,
    });
    return minOf(plan.fee, approvableFee(plan));
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    if (error.code !== 'spend.insufficient' && error.code !== 'spend.too_many_coins') throw error;
    return isUtxo(chain.adapter.chain) ? feeOf(USUAL_VSIZE, feeRate) : 0n;
  }
}

function request({ business, account, chain, asset }: Place, tipHeight: number) {
  const { network, chain: id } = chain.adapter;
  assert(account.businessId === business.id, 'an account is of its business');
  return {
    network,
    chain: id,
    accountNo: business.accountNo,
    asset,
    anchors: [] as string[],
    feeMin: 0n,
    feeMax: FEE_UNLIMITED,
    tipHeight,
  };
}

export type Wish = {
  payouts: { address: string; units: bigint | null }[];
  feeRate: bigint;
  feeMax: bigint;
  feeMin?: bigint;
  /** Outpoints that must be among the inputs, spent by earlier versions of this or not. */
  anchors?: string[];
  /** These coins and no others, the anchors' aside; by default all that may be spent. */
  only?: string[];
  /** Only what has its confirmations. */
  settledOnly?: boolean;
  /** Of a sweep: what its coins may hold together, smallest units; null: no end to it. */
  inputsMax?: bigint | null;
  parents?: { fee: bigint; vsize: number };
};

/** A plan, and the change index that it takes: to be given back to `claim`. */
export type Planned = { plan: SpendPlan; changeIndex: number; usesChange: boolean };

/** Plans a transaction. Throws `Rejected` with what stands in its way. */
export async function prepare(app: App, place: Place, wish: Wish): Promise<Planned> {
  const { chain, account } = place;
  const change = await nextChange(app, place);
  const anchors = wish.anchors ?? [];
  const tipHeight = tipHeightOf(app.store, chain);
  const coins = chooseFrom(app, place, wish);
  const payouts = wish.payouts.map(({ address, units }) => ({ address, script: scriptFor(chain, address), units }));
  const base = { ...request(place, tipHeight), payouts, change, anchors, feeRate: wish.feeRate };
  const limits = { feeMin: wish.feeMin ?? 0n, feeMax: wish.feeMax };
  const parents = wish.parents ? { parents: wish.parents } : {};
  for (const [at, tier] of coins.entries()) {
    try {
      const plan = planFor({ ...base, ...limits, ...parents, coins: tier });
      return { plan, changeIndex: change.index, usesChange: plan.outputs.some(({ kind }) => kind === 'change') };
    } catch (error) {
      const short = error instanceof Rejected && error.code === 'spend.insufficient';
      if (!short || at === coins.length - 1) throw error;
    }
  }
  throw new Error(`assertion failed: account ${account.id} has a tier of coins`);
}

/** The coins to try with, in the order of preference: each list has all of the one before. */
function chooseFrom(app: App, { chain, account, asset }: Place, wish: Wish): Coin[][] {
  const tip = tipHeightOf(app.store, chain);
  const named = (outpoint: string): Coin => {
    const row = coinAt(app.store, chain, outpoint);
    if (!row) throw new Rejected('spend.anchor', `The coin ${outpoint} is not known any more`);
    return coinFrom(row, tip);
  };
  const anchors = (wish.anchors ?? []).map(named);
  if (wish.only) {
    const taken = wish.only.find((outpoint) => reservedBy(app.store, chain, outpoint, 0) !== null);
    if (taken !== undefined) throw new Rejected('spend.reserved', `The coin ${taken} is being spent already`);
    return [[...anchors, ...wish.only.map(named)]];
  }
  const { plain, undecided, change }: Coins = spendableCoins(
    app.store,
    chain,
    account,
    asset,
    wish.settledOnly ?? false,
  );
  if (wish.payouts.some(({ units }) => units === null)) {
    return [[...anchors, ...oldestWithin([...plain, ...undecided, ...change], wish.inputsMax ?? null)]];
  }
  return [
    [...anchors, ...plain],
    [...anchors, ...plain, ...undecided],
    [...anchors, ...plain, ...undecided, ...change],
  ];
}

/** The oldest coins that hold no more than `most` together: what a sweep was approved for, and none that came later. */
function oldestWithin(coins: Coin[], most: bigint | null): Coin[] {
  if (most === null) return coins;
  let left = most;
  return coins
    .toSorted((a, b) => b.confirmations - a.confirmations)
    .filter(({ units }) => {
      const fits = units <= left;
      if (fits) left -= units;
      return fits;
    });
}

async function nextChange(app: App, { account, chain }: Place): Promise<ChangeTarget> {
  const row = app.store.get(accountById, { id: account.id });
  assert(row, `account ${account.id} exists`);
  const { address, script } = await chain.adapter.deriveAddress(account.key, 1, row.next_change);
  return { address, script, index: row.next_change };
}

/** The outpoint that every version is to spend: the deepest of the inputs, since a reorganisation reaches it last. */
export const anchorOf = (plan: SpendPlan): string => deepestOf(plan.inputs);

export function deepestOf(coins: readonly Coin[]): string {
  const [deepest] = [...coins].sort((a, b) => b.confirmations - a.confirmations);
  assert(deepest, 'a transaction has an input');
  return deepest.outpoint;
}

/** What the recipients get of a plan, in the order of its outputs. */
export function payoutsIn(plan: SpendPlan): { address: string; units: bigint }[] {
  return plan.outputs.flatMap(({ kind, address, units }) => (kind === 'payout' ? [{ address, units }] : []));
}

/** One of several equal shares of a fee: rounded up, so that together they are never less. */
export const shareOf = (fee: bigint, shares: number): bigint => divideUp(fee, BigInt(Math.max(1, shares)));

/** Somebody was faster, or the chain moved on: plan anew. */
export class Overtaken extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'Overtaken';
  }
}

/** Runs the storing of a plan that the operator made, who is told to try again when it is overtaken. */
export function overtakenIsRejected<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error;
    throw new Rejected('withdrawal.overtaken', `The chain moved on meanwhile (${error.message}): try again`);
  }
}
