/**
 * Requests withdrawals. Their amount and highest fee are reserved at once. In the same transaction the business's
 * policy approves them, or they wait for the operator.
 */

import { randomUUIDv7 } from 'node:crypto';
import { addressFault } from '../../chains/address-fault.ts';
import type { Holdings } from '../../chains/spending.ts';
import { type Asset, type AssetId, assetOf, findAsset } from '../../domain/assets.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { type Message, message } from '../../domain/messages.ts';
import { fiatFor, formatUnits, parseDecimal } from '../../domain/money.ts';
import { lookalikeKeyOf } from '../../domain/policy.ts';
import type { Coin } from '../../domain/spend.ts';
import { APPROVAL_HOLDS_MS } from '../../domain/withdrawal.ts';
import { policyOf, stepInbox } from '../../store/queries/policies.ts';
import { insertWithdrawal, type WithdrawalRow, waitingWithdrawalsAbove } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { coinFrom } from '../addresses/watch.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { type IdempotentRequest, once } from '../idempotency.ts';
import { tellWithdrawal } from '../notifications/news.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { needKnownSpends } from '../recovery/unknown-spends.ts';
import { cryptoRejected } from '../shops/cryptos.ts';
import type { Account, Business } from '../shops/directory.ts';
import { fundsOf } from '../spends/address-funds.ts';
import { availableUnits, coinAt, spendableCoins } from '../spends/coins.ts';
import { feeRateNow } from '../spends/fees.ts';
import { highestFee, isSignable, needSignable } from '../spends/plan.ts';
import { withdrawalOf } from '../spends/rows.ts';
import { whyByHand } from './policy.ts';

/** Unsigned withdrawals of one business. */
const WAITING_MAX = 1_000;
const WITHDRAWAL_USD_MIN = 10n * 100_000_000n;
const RATE_RETRY_SECONDS = 60;
const FEE_RETRY_SECONDS = 1;

export type NewWithdrawal = {
  asset: Asset;
  /** Null: everything less the fee. */
  units: bigint | null;
  address: string;
  origin: 'merchant' | 'operator' | 'inbox' | 'refund' | 'forward';
  /** Of a payment that a plan forwards: the highest fee within the limits of its grant. */
  feeMax?: bigint;
  /** For a refund: the only deposit that it may spend. */
  deposit?: { outpoint: string; inboxId: number };
  /** The invoice that it refunds. */
  invoice?: { id: number; slug: string };
  /** The payer typed the address, so that it always waits for the operator. */
  typed?: boolean;
  /** The overpayment in the inbox that it sends back. */
  overpaidId?: number;
};

/** Whether a business can withdraw an asset: it takes it, and its chain takes transactions of ours. */
export function withdrawable(app: App, business: Business, asset: Asset): boolean {
  return app.directory.takes(business, asset.symbol) && canSpend(app, business, asset);
}

export function withdrawables(app: App, business: Business): string[] {
  return business.enabled
    .filter((asset) => withdrawable(app, business, asset) && isSignableOf(app, business, asset))
    .map(({ symbol }) => symbol);
}

/** Whether a business has an account of an asset whose payments can be signed, here or in another wallet. */
export function isSignableOf(app: App, business: Business, asset: Asset): boolean {
  const account = app.directory.account(business, asset.symbol);
  return account !== undefined && isSignable(app, account);
}

/** Whether a business has an account of an asset on a chain that can be spent from. */
export function canSpend(app: App, business: Business, asset: Asset): boolean {
  return chainOf(app, business, asset)?.adapter.spending !== undefined;
}

/** The chain on which a business holds an asset; null: it has no account there. */
export function chainOf(app: App, business: Business, asset: Asset): ChainRuntime | null {
  const account = app.directory.account(business, asset.symbol);
  return (account && app.chains.find(account.chainKey)) ?? null;
}

/** The rate for a request's highest fee; 0 for one that will be refused anyway. */
export async function estimateHighestFee(app: App, business: Business, wanted: () => NewWithdrawal): Promise<bigint> {
  let chain: ChainRuntime | null;
  try {
    chain = chainOf(app, business, wanted().asset);
  } catch (error) {
    if (error instanceof Rejected) return 0n;
    throw error;
  }
  return chain ? chain.spending.highestRate(await feeRateNow(chain)) : 0n;
}

/**
 * Checks and stores a request, in the order of the contract's checks. `feeRate`: from `estimateHighestFee`. Throws
 * `Rejected`, and `Unavailable` if there is no rate.
 */
export function requestWithdrawal(
  app: App,
  tx: Tx,
  business: Business,
  wanted: NewWithdrawal,
  feeRate: bigint,
): WithdrawalRow {
  const { asset, address, origin, deposit, invoice } = wanted;
  const account = app.directory.account(business, asset.symbol);
  const chain = chainOf(app, business, asset);
  if (!account || !chain) throw cryptoRejected(withdrawables(app, business));
  const fault = addressFault(chain.adapter, address);
  if (fault !== null) {
    throw new Rejected('withdrawal.address', `The address is invalid for ${asset.symbol}: ${fault}.`, 'address');
  }
  needSignable(app, account, asset.symbol);
  needKnownSpends(tx, chain, account.id, asset.symbol);
  const waiting = tx.get(waitingWithdrawalsAbove, { business_id: business.id, above: WAITING_MAX - 1 });
  if (waiting) throw new Rejected('withdrawal.too_many', `${WAITING_MAX} withdrawals are waiting already`);
  const { units, fee, usd } = measured(app, tx, { business, account, chain, wanted, feeRate });
  const now = app.now();
  const why = whyApprove(app, tx, business, { ...wanted, usd });
  const approved = why === null;
  const explicit = tx.get(policyOf, { business_id: business.id }) !== undefined;
  const { id } = tx.run(insertWithdrawal, {
    uuid: randomUUIDv7(),
    business_id: business.id,
    account_id: account.id,
    chain_key: chain.key,
    asset: asset.symbol,
    origin,
    units,
    sweep: wanted.units === null,
    fee_held: fee,
    fee_asset: chain.spending.feeAsset,
    address,
    lookalike_key: lookalikeKeyOf(address),
    outpoint: deposit?.outpoint ?? null,
    inbox_id: deposit?.inboxId ?? wanted.overpaidId ?? null,
    invoice_id: invoice?.id ?? null,
    state: approved ? 'approved' : 'requested',
    held: true,
    reason: null,
    usd_value: usd,
    approved_by: approved ? (origin === 'forward' ? origin : explicit ? 'policy' : 'sandbox') : null,
    approved_at: approved ? now : null,
    approval: null,
    deadline_at: now + APPROVAL_HOLDS_MS,
    spend_id: null,
    cancel: false,
    fee: null,
    txid: null,
    problem: why,
    created_at: now,
    updated_at: now,
  });
  tx.afterCommit(() => app.wake.withdrawals(chain.key));
  if (wanted.overpaidId !== undefined) {
    tx.run(stepInbox, { id: wanted.overpaidId, from: 'open', to: 'refunded', withdrawal_id: id, updated_at: now });
  }
  const row = withdrawalOf(tx, id);
  tellWithdrawal(app, tx, row, null);
  return row;
}

/** Why it needs the operator's approval; null if the business's policy approves it. */
function whyApprove(
  app: App,
  reader: Reader,
  business: Business,
  { asset, address, units, origin, deposit, invoice, typed, usd }: NewWithdrawal & { usd: bigint | null },
): Message | null {
  if (isQuarantined(reader)) return message('ask.restored');
  // the signer judges it by the grant
  if (origin === 'forward') return null;
  if (invoice) return message('ask.refund', { invoice: invoice.slug });
  if (typed) return message('ask.typed');
  const why = whyByHand(app, reader, business, { chain: asset.chain, address, usd });
  // the signer accepts nothing else by a policy; without a policy there is another reason
  const isPlain = business.network === 'sandbox' || (units !== null && !deposit);
  return why ?? (isPlain ? null : message('ask.not_plain'));
}

/**
 * An operator's own withdrawal. `amount` null: everything, less the fee. `request`: the same one gets the same withdrawal; null: each call
 * makes one. Throws `Rejected`.
 */
export async function requestByOperator(
  app: App,
  business: Business,
  asked: { crypto: string; address: string; amount: string | null },
  request: string | null,
): Promise<WithdrawalRow> {
  const { crypto, address, amount } = asked;
  const asset = findAsset(crypto);
  // an asset that the business no longer takes may still have a balance
  if (!asset || !canSpend(app, business, asset)) {
    throw new Rejected('withdrawal.crypto', `${business.name} cannot withdraw ${crypto}`, 'crypto');
  }
  const units = amount === null ? null : parseDecimal(amount, asset.decimals);
  if (amount !== null && (units === null || units === 0n)) {
    const text = `The amount must be above 0, with at most ${asset.decimals} decimals`;
    throw new Rejected('withdrawal.amount', text, 'amount');
  }
  const wanted: NewWithdrawal = { asset, units, address, origin: 'operator' };
  const repeatable = { businessId: business.id, route: 'operator.withdraw', key: request, body: asked };
  return requestOnce(app, business, repeatable, () => wanted);
}

/** Requests a withdrawal for an operator, whose same request gets the same one. `wanted`: judged as it is stored. Throws `Rejected`. */
export async function requestOnce(
  app: App,
  business: Business,
  request: IdempotentRequest,
  wanted: (reader: Reader) => NewWithdrawal,
): Promise<WithdrawalRow> {
  const feeRate = await estimateHighestFee(app, business, () => wanted(app.store));
  return app.store.write((tx) => {
    const { body } = once(app, tx, { ...request, forever: true }, () => {
      const { id } = requestWithdrawal(app, tx, business, wanted(tx), feeRate);
      return { status: 200, body: `${id}` };
    });
    return withdrawalOf(tx, Number(body));
  });
}

type Case = { business: Business; account: Account; chain: ChainRuntime; wanted: NewWithdrawal; feeRate: bigint };

/** The amounts that it reserves: its units and the highest fee, and the value of the units. */
function measured(app: App, tx: Tx, { business, account, chain, wanted, feeRate }: Case) {
  const { asset, address, deposit } = wanted;
  const rate = app.rates.rate(business.network, asset.symbol, 'USD', app.now());
  const worth = (units: bigint): bigint | null => (rate ? fiatFor(units, asset, rate.scaled) : null);
  const available = availableUnits(tx, account.id, asset.symbol);
  const units = wanted.units ?? (deposit ? depositUnits(tx, chain, deposit.outpoint) : available);
  const usd = worth(units);
  if (wanted.origin === 'merchant') {
    if (usd === null) {
      throw new Unavailable(`No exchange rate for ${asset.symbol} at the moment`, RATE_RETRY_SECONDS);
    }
    if (usd < WITHDRAWAL_USD_MIN) {
      throw new Rejected('withdrawal.minimum', 'The amount must be worth at least 10 USD.', 'amount');
    }
  }
  const spending = chain.spending;
  if (wanted.units !== null && spending.sendable(address, wanted.units) > wanted.units) {
    throw new Rejected('withdrawal.minimum', 'The amount is too small for the network to carry.', 'amount');
  }
  // the request was to be refused when its fee was asked for, and is not any more
  if (wanted.feeMax === undefined && feeRate === 0n) {
    throw new Unavailable('The network fee is not known yet', FEE_RETRY_SECONDS);
  }
  const fee = wanted.feeMax ?? estimatedFee(tx, { business, account, chain, wanted, feeRate });
  const { feeAsset } = spending;
  const inAsset = feeAsset === asset.symbol ? fee : 0n;
  // a deposit that is refunded may still be unconfirmed: then it is not in the balance yet
  const needed = wanted.units === null ? inAsset + 1n : units + inAsset;
  const there = deposit ? units : available;
  if (there < needed) {
    // the contract of Withdraw has these words alone
    const isExplained = wanted.units !== null && wanted.origin !== 'merchant';
    throw isExplained
      ? insufficient(asset, { units, fee: inAsset, there })
      : new Rejected('withdrawal.insufficient', 'Insufficient balance');
  }
  if (feeAsset !== asset.symbol) needGas(tx, account.id, feeAsset, fee);
  return { units, fee, usd };
}

/** Why a balance does not suffice, and what can be sent instead. `fee`: in the same asset; 0 if another one pays it. */
function insufficient(asset: Asset, { units, fee, there }: Record<'units' | 'fee' | 'there', bigint>): Rejected {
  const text = (amount: bigint): string => `${formatUnits(amount, asset)} ${asset.symbol}`;
  const needed =
    fee === 0n ? `${text(units)} is needed` : `${text(units)} and a network fee of up to ${text(fee)} are needed`;
  const least = there > fee ? ` At most ${text(there - fee)} can be sent now` : '';
  const missing = text(units + fee - there);
  const said = `Insufficient balance: ${needed}, ${text(there)} is available, ${missing} is missing.${least}`;
  return new Rejected('withdrawal.insufficient', said.replace(/\.$/, ''), 'amount');
}

/** The highest fee that a request would reserve, in smallest units of the chain's fee asset. */
export function estimatedFee(reader: Reader, { business, account, chain, wanted, feeRate }: Case): bigint {
  const { asset, address, units } = wanted;
  return highestFee(chain, {
    accountNo: business.accountNo,
    asset: asset.symbol,
    feeRate,
    tipHeight: tipHeightOf(reader, chain),
    payout: { address, units },
    holdings: estimateHoldings(reader, chain, account, wanted),
  });
}

/** Throws `Rejected('withdrawal.gas')` unless an account has this much of the asset that its fees are paid in. */
export function needGas(reader: Reader, accountId: number, feeAsset: AssetId, fee: bigint, except?: number): void {
  const there = availableUnits(reader, accountId, feeAsset, except);
  if (there >= fee) return;
  const [most, have, missing] = [fee, there, fee - there].map((units) => formatUnits(units, assetOf(feeAsset)));
  const text = `Not enough gas: the network fee may be ${most} ${feeAsset}, and ${have} ${feeAsset} is there: ${missing} ${feeAsset} is missing`;
  throw new Rejected('withdrawal.gas', text);
}

/** The holdings for an estimate: the deposit to refund, or all spendable coins. */
function estimateHoldings(
  tx: Reader,
  chain: ChainRuntime,
  account: Account,
  { asset, deposit }: NewWithdrawal,
): Holdings {
  const coin = (outpoint: string): Coin => {
    const row = coinAt(tx, chain, outpoint);
    if (!row) throw new Rejected('spend.gone', `The coin ${outpoint} is not known any more`);
    return coinFrom(row, tipHeightOf(tx, chain));
  };
  const coins = (): Coin[][] => {
    if (deposit) return [[coin(deposit.outpoint)]];
    const { plain, undecided, change } = spendableCoins(tx, chain, account, asset.symbol, false);
    return [[...plain, ...undecided, ...change]];
  };
  const funds = fundsOf(tx, { chain, account, asset: asset.symbol }, {});
  return { ...funds, coin, coins };
}

function depositUnits(reader: Reader, chain: ChainRuntime, outpoint: string): bigint {
  return coinAt(reader, chain, outpoint)?.units ?? 0n;
}

/** The asset that a withdrawal's fee is paid in. */
export const feeAssetFor = (row: Pick<WithdrawalRow, 'fee_asset'>): Asset => assetOf(row.fee_asset);

/** The asset of a withdrawal. */
export const assetFor = (row: Pick<WithdrawalRow, 'asset'>): Asset => assetOf(row.asset);
