/**
 * Asking for a withdrawal. From then on its amount and its highest fee are off the balance; what follows is the
 * operator's decision, or that of the business's policy, taken in the same transaction.
 */
import { randomUUIDv7 } from 'node:crypto';
import { type Asset, type AssetId, assetOf, findAsset } from '../../domain/assets.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { fiatFor, parseDecimal } from '../../domain/money.ts';
import { faceOf } from '../../domain/policy.ts';
import { policyOf } from '../../store/queries/policies.ts';
import {
  insertWithdrawal,
  type WithdrawalRow,
  waitingWithdrawalsAbove,
  withdrawalById,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { type App, MS_PER_HOUR } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tellWithdrawal } from '../notifications/news.ts';
import { quarantineOf } from '../recovery/quarantine.ts';
import { cryptoRejected } from '../shops/cryptos.ts';
import type { Account, Business } from '../shops/directory.ts';
import { availableUnits, coinAt, coinFrom, spendableCoins, tipHeightOf } from './coins.ts';
import { feeRateNow, highestRate } from './fees.ts';
import { highestFee, isDust } from './plan.ts';
import { whyByHand } from './policy.ts';
import { withdrawalOf } from './rows.ts';

/** How long a request waits for a decision, and an approval for the signer. */
export const APPROVAL_HOLDS_MS = 7 * 24 * MS_PER_HOUR;
/** Withdrawals of one business that are not signed yet. */
const WAITING_MAX = 1_000;
const WITHDRAWAL_USD_MIN = 10n * 100_000_000n;
const RATE_RETRY_SECONDS = 60;

export type NewWithdrawal = {
  asset: Asset;
  /** Null: everything less the fee. */
  units: bigint | null;
  address: string;
  origin: 'merchant' | 'operator' | 'inbox' | 'refund';
  /** A refund: the deposit that it spends, and nothing else. */
  deposit?: { outpoint: string; inboxId: number };
  /** The invoice that it is a refund of. */
  invoice?: { id: number; slug: string };
};

/** Whether a business can withdraw an asset: it takes it, and its chain takes transactions of ours. */
export function withdrawable(app: App, business: Business, asset: Asset): boolean {
  return app.directory.takes(business, asset.symbol) && canSpend(app, business, asset);
}

/** What a business can withdraw. */
export function withdrawables(app: App, business: Business): string[] {
  return business.enabled.filter((asset) => withdrawable(app, business, asset)).map(({ symbol }) => symbol);
}

/** Whether a business has an account of an asset on a chain that takes transactions of ours. */
export function canSpend(app: App, business: Business, asset: Asset): boolean {
  return chainOf(app, business, asset)?.adapter.spending !== undefined;
}

function chainOf(app: App, business: Business, asset: Asset): ChainRuntime | null {
  const account = app.directory.account(business, asset.symbol);
  return (account && app.chains.find(account.chainKey)) ?? null;
}

/** The rate that a request's highest fee is worked out with; 0 for one that will be refused anyway. */
export async function estimateHighestFee(app: App, business: Business, wanted: () => NewWithdrawal): Promise<bigint> {
  let chain: ChainRuntime | null;
  try {
    chain = chainOf(app, business, wanted().asset);
  } catch (error) {
    if (error instanceof Rejected) return 0n;
    throw error;
  }
  return chain ? highestRate(chain, await feeRateNow(chain)) : 0n;
}

/**
 * Takes a request, in the order of the contract's checks. `feeRate`: of `estimateHighestFee`. Throws `Rejected` and, for
 * want of a rate, `Unavailable`.
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
  if (!chain.adapter.isValidAddress(address)) {
    throw new Rejected('withdrawal.address', `The address is invalid for ${asset.symbol}.`, 'address');
  }
  const waiting = tx.get(waitingWithdrawalsAbove, { business_id: business.id, above: WAITING_MAX - 1 });
  if (waiting) throw new Rejected('withdrawal.too_many', `${WAITING_MAX} withdrawals are waiting already`);
  const { units, fee, usd } = measured(app, tx, { business, account, chain, wanted, feeRate });
  const now = app.now();
  const why = quarantineOf(tx)
    ? 'this service was restored from a backup and waits for its operator'
    : invoice
      ? `a refund of invoice ${invoice.slug}: every refund is approved by hand`
      : whyByHand(app, tx, business, { chain: asset.chain, address, usd });
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
    address,
    face: faceOf(address),
    outpoint: deposit?.outpoint ?? null,
    inbox_id: deposit?.inboxId ?? null,
    invoice_id: invoice?.id ?? null,
    state: approved ? 'approved' : 'requested',
    held: true,
    reason: null,
    usd_value: usd,
    approved_by: approved ? (explicit ? 'policy' : 'sandbox') : null,
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
  const row = withdrawalOf(tx, id);
  tellWithdrawal(app, tx, row, null);
  return row;
}

/** An operator's own withdrawal. `amount` null: everything, less the fee. Throws `Rejected`. */
export async function requestByOperator(
  app: App,
  business: Business,
  { crypto, address, amount }: { crypto: string; address: string; amount: string | null },
): Promise<WithdrawalRow> {
  const asset = findAsset(crypto);
  // what a business no longer takes it may still have
  if (!asset || !canSpend(app, business, asset)) {
    throw new Rejected('withdrawal.crypto', `${business.name} cannot withdraw ${crypto}`, 'crypto');
  }
  const units = amount === null ? null : parseDecimal(amount, asset.decimals);
  if (amount !== null && (units === null || units === 0n)) {
    const text = `The amount must be above 0, with at most ${asset.decimals} decimals`;
    throw new Rejected('withdrawal.amount', text, 'amount');
  }
  const wanted: NewWithdrawal = { asset, units, address, origin: 'operator' };
  const feeRate = await estimateHighestFee(app, business, () => wanted);
  return app.store.write((tx) => requestWithdrawal(app, tx, business, wanted, feeRate));
}

type Case = { business: Business; account: Account; chain: ChainRuntime; wanted: NewWithdrawal; feeRate: bigint };

/** What it takes off the balance: the amount, the highest fee, and what that amount is worth. */
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
  if (wanted.units !== null && isDust(chain, address, wanted.units)) {
    throw new Rejected('withdrawal.minimum', 'The amount is too small for the network to carry.', 'amount');
  }
  const coins = deposit ? depositCoins(tx, chain, deposit.outpoint) : allCoins(tx, chain, account, asset.symbol);
  const fee = highestFee(chain, account, business, {
    asset: asset.symbol,
    address,
    units: wanted.units,
    coins,
    feeRate,
    tipHeight: tipHeightOf(tx, chain),
  });
  // a deposit that is refunded may still be unconfirmed: then it is not in the balance yet
  const needed = wanted.units === null ? fee + 1n : units + fee;
  const there = deposit ? units : available;
  if (there < needed) throw new Rejected('withdrawal.insufficient', 'Insufficient balance');
  return { units, fee, usd };
}

function allCoins(reader: Reader, chain: ChainRuntime, account: Account, asset: AssetId) {
  const { plain, undecided, change } = spendableCoins(reader, chain, account, asset, false);
  return [...plain, ...undecided, ...change];
}

function depositUnits(reader: Reader, chain: ChainRuntime, outpoint: string): bigint {
  return coinAt(reader, chain, outpoint)?.units ?? 0n;
}

function depositCoins(reader: Reader, chain: ChainRuntime, outpoint: string) {
  const row = coinAt(reader, chain, outpoint);
  return row ? [coinFrom(row, tipHeightOf(reader, chain))] : [];
}

/** A withdrawal of a business by its id, a decimal. Throws `Rejected('withdrawal.not_found')`. */
export function findWithdrawalOf(reader: Reader, business: Business, name: string): WithdrawalRow {
  const row = findWithdrawal(reader, name);
  if (row.business_id !== business.id) throw notFound();
  return row;
}

/** The same whosever it is, for the operator. */
export function findWithdrawal(reader: Reader, name: string): WithdrawalRow {
  const row = /^[1-9]\d{0,14}$/.test(name) ? reader.get(withdrawalById, { id: Number(name) }) : undefined;
  if (!row) throw notFound();
  return row;
}

const notFound = (): Rejected => new Rejected('withdrawal.not_found', 'Withdrawal not found');

/** The asset of a withdrawal. */
export const assetFor = (row: Pick<WithdrawalRow, 'asset'>): Asset => assetOf(row.asset as AssetId);
