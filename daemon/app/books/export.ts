/**
 * What an accountant needs, in pages: every receipt, every payment out and every network fee, each with what it was worth
 * at the time. Own change and money that went away again are no business of theirs. In every asset, receipts less
 * withdrawals less fees are what is held.
 *
 * A receipt is worth what it counted for when it was first seen; what a transaction of ours paid, and its fee, what the
 * market said when the first block held it (`app/books/booking.ts`), or when the withdrawal was asked for where nobody knew.
 * Nothing is valued anew here. All rounded down to cents' 1e-8.
 */
import { type Asset, type AssetId, assetOf } from '../../domain/assets.ts';
import { compareDays, type Day, dayOf } from '../../domain/calendar.ts';
import { FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits } from '../../domain/money.ts';
import { type CreditRow, targetById } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById } from '../../store/queries/invoices.ts';
import { bookedSpend, creditsAbove, creditsSpentBy } from '../../store/queries/ledger.ts';
import { payoutsOf, type WithdrawalRow, withdrawalById } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { refundedInvoice } from '../withdrawals/refund.ts';
import { isChange, readSpent } from './spent.ts';

const PAGE = 500;

export type ExportRow = {
  /** Milliseconds since 1970. */
  at: number;
  /** That day where the business is: YYYY-MM-DD. */
  day: string;
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
  /** The invoice's id, or the withdrawal's number; empty for what another program or machine paid. */
  reference: string;
  address: string;
  tx_id: string;
  /** What the shop calls the invoice of a receipt, or of a refund, and says of it; empty where there is none. */
  order_id: string;
  description: string;
};

/** Where a page goes on: which rows, and above which id of a credit. */
export type ExportCursor = { part: 'receipts' | 'spends'; after: number };

/** `from`, `to`: days of each business, `to` included. Without a business: all but those of the sandbox. */
export type ExportRequest = { business: Business | null; from: Day; to: Day; cursor: ExportCursor };

/** The rows of one page (there may be none) and where the next begins, or null. */
export function exportPage(app: App, wish: ExportRequest): { rows: ExportRow[]; next: ExportCursor | null } {
  const { part, after } = wish.cursor;
  const found = app.store.all(creditsAbove, { id: after, limit: PAGE });
  const rows = found.flatMap((row) => (part === 'receipts' ? receipt(app, wish, row) : spent(app, wish, row)));
  const last = found.at(-1);
  if (last) return { rows, next: { part, after: last.id } };
  return { rows, next: part === 'receipts' ? { part: 'spends', after: 0 } : null };
}

const businessOf = (app: App, row: CreditRow): Business =>
  app.directory.business(app.directory.businessOfAccount(row.account_id));

const fiat = (value: bigint | null): string => (value === null ? '' : formatDecimal(value, FIAT_DECIMALS));

/** What all rows of one fact have in common; null when it is not asked for. */
function common({ business, from, to }: ExportRequest, of: Business, at: number, asset: Asset) {
  const isAsked = business === null ? of.network !== 'sandbox' : business.id === of.id;
  const day = dayOf(at, of.timeZone);
  if (!isAsked || compareDays(day, from) < 0 || compareDays(day, to) > 0) return null;
  const two = (number: number): string => `${number}`.padStart(2, '0');
  const text = `${day.year}-${two(day.month)}-${two(day.day)}`;
  return {
    at,
    day: text,
    business: of.name,
    network: of.network,
    crypto: asset.symbol,
    currency: '',
    value: '',
    ...orderOf(null),
  };
}

const orderOf = (invoice: InvoiceRow | null) => ({
  order_id: invoice?.order_id ?? '',
  description: invoice?.description ?? '',
});

function receipt(app: App, wish: ExportRequest, row: CreditRow): ExportRow[] {
  if (row.gone || row.block_height === null) return [];
  const asset = assetOf(row.asset as AssetId);
  const fields = common(wish, businessOf(app, row), row.block_time ?? row.first_seen_at, asset);
  if (!fields || isOwnChange(app, row)) return [];
  const invoice = row.invoice_id === null ? undefined : app.store.get(invoiceById, { id: row.invoice_id });
  return [
    {
      ...fields,
      kind: 'receipt',
      amount: formatUnits(row.units, asset),
      ...(invoice && { currency: invoice.currency, value: fiat(row.value) }),
      usd_value: fiat(row.usd_value),
      reference: invoice?.slug ?? '',
      address: app.store.get(targetById, { id: row.target_id })?.address ?? '',
      tx_id: row.txid,
      ...orderOf(invoice ?? null),
    },
  ];
}

/** Change of a transaction that spent coins of ours; what a stranger pays to a change address is a receipt. */
function isOwnChange(app: App, row: CreditRow): boolean {
  if (!isChange(app.store, row)) return false;
  return app.store.all(creditsSpentBy, { txid: row.txid, chain_key: row.chain_key }).length > 0;
}

/** All that one transaction paid and cost, told with the first of the coins that it spends. */
function spent(app: App, wish: ExportRequest, row: CreditRow): ExportRow[] {
  const { spent_txid: txid, chain_key } = row;
  if (row.gone || txid === null || row.spent_block_hash === null) return [];
  const coins = app.store.all(creditsSpentBy, { txid, chain_key }).filter((coin) => coin.asset === row.asset);
  if (coins[0]?.id !== row.id) return [];
  const booked = app.store.get(bookedSpend, { txid, chain_key });
  const asset = assetOf(row.asset as AssetId);
  const fields = common(wish, businessOf(app, row), booked?.at ?? row.first_seen_at, asset);
  if (!fields) return [];
  const rate = booked?.usd_rate ?? null;
  const line = (kind: ExportRow['kind'], units: bigint, of: WithdrawalRow | null, usd: bigint | null): ExportRow => ({
    ...fields,
    kind,
    amount: formatUnits(units, asset),
    usd_value: fiat(rate === null ? usd : fiatFor(units, asset, rate)),
    reference: of === null ? '' : `${of.id}`,
    address: kind === 'withdrawal' ? (of?.address ?? '') : '',
    tx_id: txid,
    ...orderOf(of && refundedInvoice(app.store, of)),
  });
  const taken = coins.reduce((sum, { units }) => sum + units, 0n);
  const { fee, paid, version } = readSpent(app.store, { txid, chain_key, asset: row.asset, taken });
  const payouts = version ? payoutsTo(app, version.id) : [];
  const rows = payouts.map(({ units, to }) => line('withdrawal', units, to, to.usd_value));
  const rest = paid - payouts.reduce((sum, { units }) => sum + units, 0n);
  if (rest !== 0n) rows.push(line('withdrawal', rest, null, null));
  const first = payouts[0];
  const asked = first?.to.usd_value;
  const share = first && asked && first.units > 0n ? (asked * fee) / first.units : null;
  if (fee > 0n) rows.push(line('fee', fee, payouts.length === 1 ? (first?.to ?? null) : null, share ?? null));
  return rows;
}

function payoutsTo(app: App, version_id: number): { units: bigint; to: WithdrawalRow }[] {
  return app.store.all(payoutsOf, { version_id }).flatMap(({ withdrawal_id, units }) => {
    const to = app.store.get(withdrawalById, { id: withdrawal_id });
    return to ? [{ units, to }] : [];
  });
}
