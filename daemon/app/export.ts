/**
 * What an accountant needs, in pages: every receipt, every withdrawal and every network fee, each with what it was worth
 * at the time. Change and money that went away again are no business of theirs.
 *
 * A receipt is worth what it counted for when it was first seen; a withdrawal and its fee what the market said when the
 * withdrawal completed, or when it was asked for where that is no longer known. All rounded down to cents' 1e-8.
 */
import { type Asset, type AssetId, assetOf, type Network } from '../domain/assets.ts';
import { FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits } from '../domain/money.ts';
import type { CreditRow } from '../store/queries/credits.ts';
import { targetById } from '../store/queries/credits.ts';
import { invoiceById } from '../store/queries/invoices.ts';
import { creditsAbove, withdrawalsAbove } from '../store/queries/ledger.ts';
import type { WithdrawalRow } from '../store/queries/withdrawals.ts';
import type { App } from './app.ts';
import type { Business } from './directory.ts';

const PAGE = 500;

export type ExportRow = {
  /** Milliseconds since 1970. */
  at: number;
  kind: 'receipt' | 'withdrawal' | 'fee';
  business: string;
  network: string;
  crypto: string;
  /** Decimal, in whole coins. */
  amount: string;
  /** In the invoice's currency; empty where there is no invoice. */
  currency: string;
  value: string;
  /** Empty when no rate is known. */
  usd_value: string;
  /** The invoice's id, or the withdrawal's number. */
  reference: string;
  address: string;
  tx_id: string;
};

/** Where a page goes on: which rows, and above which id. */
export type ExportCursor = { part: 'receipts' | 'withdrawals'; after: number };

/** `from`, `to`: milliseconds since 1970, `to` not included. Without a business: all but those of the sandbox. */
export type ExportWish = { business: Business | null; from: number; to: number; cursor: ExportCursor };

/** The rows of one page (there may be none) and where the next begins, or null. */
export function exportPage(app: App, wish: ExportWish): { rows: ExportRow[]; next: ExportCursor | null } {
  const { part, after } = wish.cursor;
  if (part === 'receipts') {
    const found = app.store.all(creditsAbove, { id: after, limit: PAGE });
    const rows = found.flatMap((row) => receipt(app, wish, row));
    const last = found.at(-1);
    return { rows, next: last ? { part, after: last.id } : { part: 'withdrawals', after: 0 } };
  }
  const found = app.store.all(withdrawalsAbove, { id: after, limit: PAGE });
  const last = found.at(-1);
  return { rows: found.flatMap((row) => withdrawn(app, wish, row)), next: last ? { part, after: last.id } : null };
}

function wanted({ business, from, to }: ExportWish, of: Business, at: number): boolean {
  if (at < from || at >= to) return false;
  return business === null ? of.network !== 'sandbox' : business.id === of.id;
}

const fiat = (value: string | bigint | null): string =>
  value === null ? '' : formatDecimal(BigInt(value), FIAT_DECIMALS);

function receipt(app: App, wish: ExportWish, row: CreditRow): ExportRow[] {
  const at = row.block_time ?? row.first_seen_at;
  const business = app.directory.business(app.directory.businessOfAccount(row.account_id));
  if (row.gone === 1 || row.block_height === null || !wanted(wish, business, at)) return [];
  const target = app.store.get(targetById, { id: row.target_id });
  if (!target || target.branch === 1) return [];
  const invoice = row.invoice_id === null ? undefined : app.store.get(invoiceById, { id: row.invoice_id });
  return [
    {
      at,
      kind: 'receipt',
      business: business.name,
      network: business.network,
      crypto: row.asset,
      amount: formatUnits(BigInt(row.units), assetOf(row.asset as AssetId)),
      currency: invoice?.currency ?? '',
      value: invoice ? fiat(row.value) : '',
      usd_value: fiat(row.usd_value),
      reference: invoice?.slug ?? '',
      address: target.address,
      tx_id: row.txid,
    },
  ];
}

function withdrawn(app: App, wish: ExportWish, row: WithdrawalRow): ExportRow[] {
  const business = app.directory.business(row.business_id);
  if (row.state !== 'completed' || !wanted(wish, business, row.updated_at)) return [];
  const asset = assetOf(row.asset as AssetId);
  const common = {
    at: row.updated_at,
    business: business.name,
    network: business.network,
    currency: '',
    value: '',
    reference: `${row.id}`,
    tx_id: row.txid ?? '',
  };
  const units = BigInt(row.units);
  const usd = valueThen(app, business.network, asset, units, row.updated_at) ?? stored(row);
  const paid: ExportRow = {
    ...common,
    kind: 'withdrawal',
    crypto: asset.symbol,
    amount: formatUnits(units, asset),
    usd_value: fiat(usd),
    address: row.address,
  };
  if (row.fee === null) return [paid];
  // a chain's fees are paid in its own coin
  const coin = assetOf(asset.chain === 'BSC' ? 'BNB' : (asset.chain as AssetId));
  const fee = BigInt(row.fee);
  const feeUsd = valueThen(app, business.network, coin, fee, row.updated_at) ?? share(coin, asset, usd, fee, units);
  const cost: ExportRow = {
    ...common,
    kind: 'fee',
    crypto: coin.symbol,
    amount: formatUnits(fee, coin),
    usd_value: fiat(feeUsd),
    address: '',
  };
  return [paid, cost];
}

const stored = ({ usd_value }: WithdrawalRow): bigint | null => (usd_value === null ? null : BigInt(usd_value));

/** What units were worth in dollars (1e-8, rounded down); null when no rate of that time is known. */
function valueThen(app: App, network: Network, asset: Asset, units: bigint, at: number): bigint | null {
  const rate = app.rates.rateAt(network, asset.symbol, 'USD', at);
  return rate === null ? null : fiatFor(units, asset, rate.scaled);
}

/** A fee's part of what its withdrawal was worth, in the same coin: rounded down. */
function share(coin: Asset, asset: Asset, usd: bigint | null, fee: bigint, units: bigint): bigint | null {
  return usd === null || coin.symbol !== asset.symbol || units === 0n ? null : (usd * fee) / units;
}
