/** Finds the money on the deposit addresses and former tanks of an account chain, and the cost of collecting it into the tank. */
import { fundingFee, MissingGas, usualFee } from '../../chains/accounts.ts';
import type { AddressFunds } from '../../chains/spending.ts';
import { ASSETS, type Asset, type AssetId, assetOf } from '../../domain/assets.ts';
import { chainOf } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import { fiatFor } from '../../domain/money.ts';
import { openSpendsFor } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import type { Account, Business } from '../shops/directory.ts';
import { fundsOf } from '../spends/address-funds.ts';
import { tankOf } from '../spends/change-address.ts';
import { isSignable, needSignable } from '../spends/plan.ts';

export { MissingGas };

/** The gas desk of an account: its business, its chain, and the address that pays for gas. */
export type Desk = { business: Business; account: Account; chain: ChainRuntime; feeAsset: Asset; tank: AddressFunds };

/**
 * A gas desk has every account of an account chain that can be spent from. A chain that nothing needs has none: its price of gas would be
 * asked of public servers, and its tank be watched for ever. Throws `Unavailable`.
 */
export async function desksOf(app: App, business: Business | null): Promise<Desk[]> {
  const desks: Desk[] = [];
  for (const account of app.directory.accounts()) {
    const owner = app.directory.business(account.businessId);
    if (business && owner.id !== business.id) continue;
    const chain = app.chains.find(account.chainKey);
    if (!chain?.adapter.accountBased || chain.dormant || !chain.adapter.spending || !isSignable(app, account)) continue;
    desks.push(await openDesk(app, { business: owner, account, chain }));
  }
  return desks;
}

/** Throws `Rejected`: `gas.chain`, and `account.watch_only` for an account that another wallet moves the money of. */
export async function deskOf(app: App, business: Business, chainId: string): Promise<Desk> {
  const found = (await desksOf(app, business)).find(({ chain }) => chain.adapter.chain === chainId);
  if (found) return found;
  const other = app.directory.accounts().find(({ businessId, chainKey }) => {
    return businessId === business.id && chainOf(chainKey) === chainId;
  });
  if (other) needSignable(app, other, chainId);
  throw new Rejected('gas.chain', `${business.name} has no chain ${chainId} that needs gas`, 'chain');
}

/** The desk of an account of an account chain that can be spent from. */
export async function openDesk(app: App, owner: Pick<Desk, 'business' | 'account' | 'chain'>): Promise<Desk> {
  const { business, account, chain } = owner;
  const feeAsset = assetOf(chain.spending.feeAsset);
  const tank = await tankOf(app, { ...owner, asset: feeAsset.symbol });
  const funds = fundsOf(app.store, { chain, account, asset: feeAsset.symbol }, {});
  return { business, account, chain, feeAsset, tank: funds.balance(tank) };
}

/** The units of an asset in the tank. */
export const inTank = ({ store }: App, { chain, account, tank }: Desk, asset: AssetId): bigint =>
  fundsOf(store, { chain, account, asset }, {}).balance(tank).units[asset] ?? 0n;

/** The assets of a desk's chain, its coin first. */
export function assetsOf({ chain, feeAsset }: Desk): Asset[] {
  const has = (symbol: AssetId): boolean => chain.adapter.assets?.includes(symbol) ?? true;
  const all = ASSETS.filter((asset) => asset.chain === chain.adapter.chain && has(asset.symbol));
  return all.toSorted((a, b) => Number(b === feeAsset) - Number(a === feeAsset));
}

/** An asset at one deposit address or former tank. Costs are highest fees, smallest units of the chain's coin. */
export type Find = {
  asset: Asset;
  at: AddressFunds;
  units: bigint;
  /** 1e-8 US dollars; null while there is no rate. */
  usd: bigint | null;
  /** The amount that the address needs for gas first. */
  fund: bigint;
  /** The cost of the collection, and of funding it. */
  cost: bigint;
  costUsd: bigint | null;
  /** Whether a payment to ourselves is under way there. */
  isBusy: boolean;
};

/** A funding is slightly larger than needed, because the price of gas may rise meanwhile. */
const FUND_PERCENT = 125n;

/** The money that can be collected at a fee rate, the most valuable first. Only money with its confirmations. */
export function findsOf(app: App, desk: Desk, feeRate: bigint): Find[] {
  const { chain, account, business, feeAsset, tank } = desk;
  const spending = chain.spending;
  const gasOf = (asset: AssetId): bigint => usualFee(spending, asset, feeRate);
  const usdOf = (of: Asset, units: bigint): bigint | null => usdWorth(app, business, of, units);
  const finds = assetsOf(desk).flatMap((asset) => {
    const funds = fundsOf(app.store, { chain, account, asset: asset.symbol }, { settledOnly: true });
    return funds
      .balances()
      .filter(({ units, branch, index }) => hasSome(units[asset.symbol]) && (branch === 0 || index !== tank.index))
      .map((at): Find => {
        const units = at.units[asset.symbol] ?? 0n;
        // the tank may be an address that the chain does not have yet
        const isFirst = asset === feeAsset && !hasSome(tank.units[feeAsset.symbol]);
        const own = isFirst ? fundingFee(spending, feeRate) : gasOf(asset.symbol);
        const short = asset === feeAsset ? 0n : own - (at.units[feeAsset.symbol] ?? 0n);
        const fund = short > 0n ? withReserve(short) : 0n;
        const cost = own + (fund > 0n ? fundingFee(spending, feeRate) : 0n);
        const isBusy = app.store.all(openSpendsFor, { subject: at.address, chain_key: chain.key }).length > 0;
        const worth = { usd: usdOf(asset, units), costUsd: usdOf(feeAsset, cost) };
        return { asset, at, units, fund, cost, isBusy, ...worth };
      });
  });
  return finds.toSorted((a, b) => Number((b.usd ?? 0n) - (a.usd ?? 0n)));
}

/** 1e-8 US dollars; null while there is no rate. */
function usdWorth(app: App, { network }: Business, asset: Asset, units: bigint): bigint | null {
  const rate = app.rates.rate(network, asset.symbol, 'USD', app.now());
  return rate ? fiatFor(units, asset, rate.scaled) : null;
}

const hasSome = (units: bigint | undefined): boolean => units !== undefined && units > 0n;

export const withReserve = (missing: bigint): bigint => (missing * FUND_PERCENT) / 100n;

/** Whether it is worth collecting: at least `minUsd`, more than its cost, and of a known rate. */
export const isWorth = ({ usd, units, cost, costUsd, asset }: Find, minUsd: bigint, feeAsset: Asset): boolean =>
  usd !== null && usd >= minUsd && (asset === feeAsset ? units > cost : costUsd === null || usd > costUsd);

/** Whether moving it costs as much as it is worth, where both are known. */
export const isLoss = ({ usd, costUsd }: Pick<Find, 'usd' | 'costUsd'>): boolean =>
  usd !== null && costUsd !== null && usd <= costUsd;

type Units = readonly [asset: Asset, units: bigint];

/** The same of money and its fees, by the rates of now. */
export const isLossOf = (app: App, business: Business, moved: Units, fees: Units): boolean =>
  isLoss({ usd: usdWorth(app, business, ...moved), costUsd: usdWorth(app, business, ...fees) });

/**
 * The amount of coin that the tank lacks to fund these addresses, including the fees, and to pay `payouts` of gas afterwards; 0:
 * nothing.
 */
export function missingFor(desk: Desk, finds: readonly Find[], feeRate: bigint, payouts = 0n): bigint {
  const { chain, feeAsset, tank } = desk;
  const fundFee = fundingFee(chain.spending, feeRate);
  const needed = finds.reduce((sum, { fund }) => sum + (fund > 0n ? fund + fundFee : 0n), payouts);
  const there = tank.units[feeAsset.symbol] ?? 0n;
  return needed > there ? needed - there : 0n;
}

/** The gas that a withdrawal of each token reserves that is collected into the tank, or is there already and worth it. */
export function payoutGas(app: App, desk: Desk, finds: readonly Find[], feeRate: bigint): bigint {
  const { business, chain, feeAsset } = desk;
  const { spending } = chain;
  const gas = assetsOf(desk).map((asset) => {
    const fee = usualFee(spending, asset.symbol, spending.highestRate(feeRate));
    const held = inTank(app, desk, asset.symbol);
    const isThere = held > 0n && !isLossOf(app, business, [asset, held], [feeAsset, fee]);
    return asset !== feeAsset && (isThere || finds.some((find) => find.asset === asset)) ? fee : 0n;
  });
  return gas.reduce((sum, one) => sum + one, 0n);
}
