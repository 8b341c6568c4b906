/**
 * Plans transactions: reads holdings, change address and fee rate, and calls the chain's planner. Stores nothing;
 * `claim.ts` checks everything again inside its transaction.
 */

import type { EstimateRequest, Holdings, PaymentRequest } from '../../chains/spending.ts';
import type { AssetId } from '../../domain/assets.ts';
import { isWatchOnly } from '../../domain/chain.ts';
import { assert, Rejected } from '../../domain/errors.ts';
import { minOf } from '../../domain/money.ts';
import type { ChangeAddress, Coin, SpendPlan } from '../../domain/spend.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { approvableFee } from '../../wallet/signer/limits.ts';
import { coinFrom } from '../addresses/watch.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { needKnownSpends } from '../recovery/unknown-spends.ts';
import type { Account, Business } from '../shops/directory.ts';
import { excluding } from './abandoned.ts';
import { type CoinReserve, fundsOf, withoutReserve } from './address-funds.ts';
import { nextChange } from './change-address.ts';
import { coinAt, spendableCoins } from './coins.ts';
import { reservedBy } from './facts.ts';
import { failedLast } from './turns.ts';

const PLAN_TIMEOUT_MS = 60_000;

/** The business, account, chain and asset of a withdrawal. */
export type Holder = { business: Business; account: Account; chain: ChainRuntime; asset: AssetId };

/** Throws `Rejected` if its chain is no longer connected. */
export function holderOf(app: App, row: Pick<WithdrawalRow, 'business_id' | 'asset'>): Holder {
  const business = app.directory.business(row.business_id);
  const asset = row.asset;
  const account = app.directory.account(business, asset);
  const chain = account && app.chains.find(account.chainKey);
  if (!account || !chain) throw new Rejected('withdrawal.unconnected', `${asset} is not connected to its network`);
  return { business, account, chain, asset };
}

/** Throws `Rejected('account.watch_only')` for an account whose private keys are in another wallet. */
export function needKeys({ key }: Pick<Account, 'key'>, asset: string): void {
  if (!isWatchOnly(key)) return;
  throw new Rejected(
    'account.watch_only',
    `The keys of this ${asset} account are in another wallet: send it from there. The books follow`,
    'crypto',
  );
}

/** The fee at a rate with these holdings, limited to what may be approved. */
export function highestFee(chain: ChainRuntime, request: EstimateRequest): bigint {
  const { fee, plan } = chain.spending.estimate(request);
  return plan ? minOf(fee, approvableFee(plan)) : fee;
}

/** Whether payments of an account are signed in another wallet, where its keys are. */
export const isOutside = ({ key }: Pick<Account, 'key'>): boolean => isWatchOnly(key);

/** Whether payments of an account can be signed: by this service's signer, or in the wallet that has its keys. */
export function isSignable(app: App, { key, chainKey }: Pick<Account, 'key' | 'chainKey'>): boolean {
  return !isWatchOnly(key) || app.chains.find(chainKey)?.adapter.spending?.outside !== undefined;
}

/** Throws `Rejected('account.watch_only')` for an account of another wallet that signs nothing planned here. */
export function needSignable(app: App, account: Pick<Account, 'key' | 'chainKey'>, asset: string): void {
  if (!isSignable(app, account)) needKeys(account, asset);
}

export type PlanRequest = Pick<PaymentRequest, 'payouts' | 'feeRate' | 'feeMax' | 'parents' | 'from' | 'replaced'> & {
  feeMin?: bigint;
  /** Conflict keys that the plan has to use, whether or not earlier versions of the payment used them. */
  conflictKeys?: string[];
  /** The payment that it is another version of; left out: a new one. */
  spendId?: number;
  /** Only these coins besides those of the conflict keys; default: all spendable ones. */
  only?: string[];
  /** Only confirmed coins. */
  settledOnly?: boolean;
  /** Neither change of ours nor coins that nobody decided about. */
  decidedOnly?: boolean;
  /** Also tokens without their confirmations: for a preview, as the payment waits for them. */
  unsettledTokens?: boolean;
  /** The coin that addresses of an account chain keep. */
  reserve?: CoinReserve | null;
  /** For a sweep: the maximum value of its coins together, smallest units; null: none. */
  inputsMax?: bigint | null;
};

/** A plan with its reserved change address, to be passed to `claim`. */
export type Planned = { plan: SpendPlan; change: ChangeAddress; usesChange: boolean };

/** Plans a transaction. Throws `Rejected` with the obstacle. */
export async function prepare(app: App, holder: Holder, wanted: PlanRequest): Promise<Planned> {
  const { chain, account, asset, business } = holder;
  assert(account.businessId === business.id, 'an account is of its business');
  needSignable(app, account, asset);
  needKnownSpends(app.store, chain, account.id, asset);
  const change = await nextChange(app, holder);
  const conflictKeys = keysOf(app.store, holder, wanted);
  const tipHeight = tipHeightOf(app.store, chain);
  const { payouts, feeRate, feeMax, feeMin = 0n, parents, from, replaced, inputsMax = null } = wanted;
  const request: PaymentRequest = {
    accountNo: business.accountNo,
    asset,
    payouts,
    conflictKeys,
    change,
    feeRate,
    feeMin,
    feeMax,
    inputsMax,
    ...(parents ? { parents } : {}),
    ...(from ? { from } : {}),
    ...(replaced ? { replaced } : {}),
    holdings: holdingsFor(app.store, holder, { ...wanted, conflictKeys }, tipHeight),
    tipHeight,
  };
  const plan = await chain.spending.plan(request, () => chain.limit(PLAN_TIMEOUT_MS));
  return { plan, change, usesChange: plan.outputs.some(({ kind }) => kind === 'change') };
}

/** The conflict keys that a plan has to use. Throws `Rejected('spend.abandoned')`. */
function keysOf(
  reader: Reader,
  { chain, account }: Holder,
  { conflictKeys = [], only, spendId }: PlanRequest,
): string[] {
  if (!isOutside(account)) return conflictKeys;
  const payer = { accountId: account.id, spendId: spendId ?? null, ...(only && { only }) };
  return [...conflictKeys, ...excluding(reader, chain, payer, conflictKeys)];
}

/**
 * The holdings that a planner may spend. Throws `Rejected` if a coin that the payment names does not exist, or is being
 * spent.
 */
function holdingsFor(
  reader: Reader,
  { chain, account, asset }: Holder,
  wanted: PlanRequest,
  tipHeight: number,
): Holdings {
  const coin = (outpoint: string): Coin => {
    const row = coinAt(reader, chain, outpoint);
    if (!row) throw new Rejected('spend.gone', `The coin ${outpoint} is not known any more`);
    return coinFrom(row, tipHeight);
  };
  const coins = (): Coin[][] => tiers().map((tier) => tier.filter(({ outpoint }) => !required.has(outpoint)));
  const required = new Set(wanted.conflictKeys);
  const tiers = (): Coin[][] => {
    const { only } = wanted;
    if (only) {
      const taken = only.find((outpoint) => reservedBy(reader, chain, outpoint, 0) !== null);
      if (taken !== undefined) throw new Rejected('spend.reserved', `The coin ${taken} is being spent already`);
      return [only.map(coin)];
    }
    const { plain, undecided, change } = spendableCoins(reader, chain, account, asset, wanted.settledOnly ?? false);
    if (wanted.decidedOnly) return [plain];
    const all = [...plain, ...undecided, ...change];
    if (wanted.payouts.some(({ units }) => units === null)) return [all];
    return [plain, [...plain, ...undecided], all];
  };
  const view = { ...wanted, settledTokens: wanted.unsettledTokens !== true };
  const funds = fundsOf(reader, { chain, account, asset }, view);
  const free = withoutReserve(funds, asset, wanted.reserve ?? null);
  // everything is paid from the address that has the most
  if (wanted.payouts.some(({ units }) => units === null)) return { ...free, coin, coins };
  const balances = () => failedLast(chain, free.balances(), ({ address }) => ({ asset, address }));
  return { ...free, balances, coin, coins };
}

/** The payouts of a plan in the order of its outputs. */
export function payoutsIn(plan: SpendPlan): { address: string; units: bigint }[] {
  return plan.outputs.flatMap(({ kind, address, units }) => (kind === 'payout' ? [{ address, units }] : []));
}
