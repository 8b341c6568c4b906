/**
 * The export for accounting, in pages in the order of time: every receipt, every payment out and every network fee, each with its value at
 * the time. The rows are the ledger's entries (`entries.ts`) that are in blocks, without moves within an account. In
 * every asset, receipts less withdrawals less fees, with the corrections, equal the holdings.
 *
 * A receipt has the value that it counted for when it was first seen. A payment or fee has the market value in dollars when the
 * first block held it, or the value when the withdrawal was requested if no rate was known then. The `book_` columns have the business's
 * currency, by the rate that `rating.ts` stored. No entry is valued again here. All values are rounded down to 1e-8 of the currency unit.
 */

import { type Asset, assetOf } from '../../domain/assets.ts';
import { compareDays, type Day, dayOf, toIso } from '../../domain/calendar.ts';
import { shownTransaction } from '../../domain/chain.ts';
import { FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits } from '../../domain/money.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { stepOf, taxIn } from '../../domain/vat.ts';
import { type DebitRow, debitsByTime } from '../../store/queries/debits.ts';
import { type InvoiceRow, invoiceById } from '../../store/queries/invoices.ts';
import { type CreditEntry, creditsByTime } from '../../store/queries/ledger.ts';
import { payoutsOf, versionByTxid, type WithdrawalRow, withdrawalById } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { refundedInvoice } from '../withdrawals/refund.ts';
import { isAdopted } from './entries.ts';
import type { Rated } from './rating.ts';
import { type Taxed, type TaxSums, taxedReceipt, taxedRefund, worthIn } from './taxed.ts';

const PAGE = 500;
/** No time zone is further from UTC, and none jumps further. */
const ZONE_MS_MAX = MS_PER_DAY;

export type ExportRow = {
  /** Milliseconds since 1970. */
  at: number;
  /** The date of `at` in the time zone of the business: YYYY-MM-DD. */
  day: string;
  /** 'correction': the chain has so much more there than the other rows say (below 0: less), and the operator adopted it. */
  kind: 'receipt' | 'withdrawal' | 'fee' | 'correction';
  business: string;
  network: string;
  crypto: string;
  /** Decimal, in whole coins. */
  amount: string;
  /** In the currency of the invoice that was paid or refunded; empty where there is no invoice. */
  currency: string;
  value: string;
  /** Empty when no rate is known. */
  usd_value: string;
  /** The invoice's id or the withdrawal's number; empty for a payment that another program or machine made. */
  reference: string;
  address: string;
  tx_id: string;
  /** The shop's reference and text of the invoice that was paid or refunded; empty where there is none. */
  order_id: string;
  description: string;
  /** The id of the invoice that a withdrawal refunds; empty for everything else. */
  refund_of: string;
  /** The currency of the business when the entry was recorded, and the rate then: of a whole coin, empty if none was known. */
  book_currency: string;
  book_rate: string;
  /** `amount` at `book_rate`, rounded toward zero to 1e-8. */
  book_value: string;
  /** When that rate was found. */
  book_rate_at: string;
  /** Of receipts and refunds of invoices, in `currency`: RATE:GROSS:TAX for each rate, with a space between. */
  vat: string;
};

/**
 * A row, and its figures as integers. `book`: 1e-8 of `book_currency`; null: no rate was known. `counts`: it is a receipt that its invoice
 * counts.
 */
export type Line = {
  row: ExportRow;
  asset: Asset;
  units: bigint;
  book: bigint | null;
  taxed: Taxed[];
  counts: boolean;
};

/** The last entry before a page. At the same time, receipts come before spends. `at`: milliseconds since 1970. */
export type ExportCursor = { at: number; part: 'receipts' | 'spends'; after: number };

/** `from`, `to`: days in the time zone of each business, `to` included. `business` null: all but the sandbox's. */
type ExportRequest = { business: Business | null; from: Day; to: Day; cursor: ExportCursor | null };
type PageRequest = ExportRequest & { known: TaxSums };

/** Before the first instant at which the day has begun anywhere. */
export const beginOf = ({ year, month, day }: Day): number => Date.UTC(year, month - 1, day) - ZONE_MS_MAX;

type Entry = { at: number; id: number; part: ExportCursor['part']; lines(): Line[] };

/** The rows of one page, which may be empty, and the cursor of the next one, or null. `cursor` null: from the beginning. */
export function exportPage(app: App, request: ExportRequest): { rows: ExportRow[]; next: ExportCursor | null } {
  const { lines, next } = linesPage(app, request);
  return { rows: lines.map(({ row }) => row), next };
}

/** The same with the figures. */
export function linesPage(app: App, request: ExportRequest): { lines: Line[]; next: ExportCursor | null } {
  const entries = entriesAfter(
    app,
    { ...request, known: new Map() },
    request.cursor ?? { at: beginOf(request.from), part: 'receipts', after: 0 },
  );
  const end = beginOf(request.to) + MS_PER_DAY + 2 * ZONE_MS_MAX;
  const page = entries.slice(0, PAGE).filter(({ at }) => at < end);
  const last = page.at(-1);
  return {
    lines: page.flatMap((entry) => entry.lines()),
    next: last && page.length === PAGE ? { at: last.at, part: last.part, after: last.id } : null,
  };
}

/** At least a page of the entries after a cursor, in their order; fewer only where there are no more. */
function entriesAfter(app: App, request: PageRequest, { at, part, after }: ExportCursor): Entry[] {
  const isReceipt = part === 'receipts';
  const receipts = app.store
    .all(creditsByTime, { at, id: isReceipt ? after : Number.MAX_SAFE_INTEGER, limit: PAGE })
    .map((row): Entry => ({ at: row.at, id: row.id, part: 'receipts', lines: () => receipt(app, request, row) }));
  const spends = app.store
    .all(debitsByTime, { at, id: isReceipt ? 0 : after, limit: PAGE })
    .map((row): Entry => ({ at: row.at ?? 0, id: row.id, part: 'spends', lines: () => debited(app, request, row) }));
  // a stable sort: both are in their order, and receipts come first
  return [...receipts, ...spends].sort((a, b) => a.at - b.at);
}

const businessOf = (app: App, row: { account_id: number }): Business =>
  app.directory.business(app.directory.businessOfAccount(row.account_id));

const fiat = (value: bigint | null): string => (value === null ? '' : formatDecimal(value, FIAT_DECIMALS));

/** The common fields of all rows of one entry; null if the request excludes it. */
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
  refund_of: '',
});

const percent = (rate: number): string => formatDecimal(BigInt(rate), 2);

/** The tax of each rate is rounded to the currency's smallest unit, a half away from zero. */
function vatCell(taxed: readonly Taxed[], currency: string): string {
  const cells = taxed.map(({ rate, gross }) => {
    const isRate = typeof rate === 'number';
    const tax = isRate ? taxIn(gross, rate, stepOf(currency)) : 0n;
    return `${isRate ? percent(rate) : (rate ?? 'none')}:${fiat(gross)}:${fiat(tax)}`;
  });
  return cells.join(' ');
}

/** The value of an entry by its stored rate; entries of releases before have one in dollars, `usd` or by `usdRate`, or none. */
function booked(
  { book_currency, book_rate, book_rate_at }: Rated,
  asset: Asset,
  units: bigint,
  old: { usd: bigint | null; usdRate: bigint | null },
) {
  const rate = book_currency === null ? old.usdRate : book_rate;
  const book = rate !== null ? fiatFor(units, asset, rate) : book_currency === null ? old.usd : null;
  return {
    book,
    cells: {
      book_currency: book_currency ?? (book === null ? '' : 'USD'),
      book_rate: fiat(rate),
      book_value: fiat(book),
      book_rate_at: book_rate_at === null ? '' : toIso(book_rate_at),
    },
  };
}

function receipt(app: App, request: PageRequest, row: CreditEntry): Line[] {
  if (row.moved) return [];
  const asset = assetOf(row.asset);
  const fields = common(request, businessOf(app, row), row.at, asset);
  if (!fields) return [];
  const invoice = row.invoice_id === null ? undefined : app.store.get(invoiceById, { id: row.invoice_id });
  const taxed = invoice ? taxedReceipt(app.store, invoice, row, request.known) : [];
  const { units } = row;
  const { book, cells } = booked(row, asset, units, { usd: row.usd_value, usdRate: null });
  const shown: ExportRow = {
    ...fields,
    kind: 'receipt',
    amount: formatUnits(units, asset),
    ...(invoice && { currency: invoice.currency, value: fiat(row.value) }),
    usd_value: fiat(row.usd_value),
    reference: invoice?.slug ?? '',
    address: row.address,
    tx_id: shownTransaction(row).tx_id,
    ...orderOf(invoice ?? null),
    ...cells,
    vat: vatCell(taxed, invoice?.currency ?? ''),
  };
  return [{ row: shown, asset, units, book, taxed, counts: row.claim === 'invoice' }];
}

/** A refund has the value at which its invoice counted the money, so that receipts and refunds of an invoice add up. */
function refundFields(
  app: App,
  row: DebitRow,
  units: bigint,
  invoice: InvoiceRow | null,
  known: TaxSums,
): Partial<ExportRow> {
  if (!invoice || row.kind === 'fee') return orderOf(invoice);
  const value = fiat(worthIn(app.store, invoice, known)(row.asset, units));
  return { ...orderOf(invoice), currency: invoice.currency, value, refund_of: invoice.slug };
}

/** The lines of a debit: one for each withdrawal that it pays; otherwise one for the payment or the fee. */
function debited(app: App, request: PageRequest, row: DebitRow): Line[] {
  if (row.kind === 'moved' || row.at === null) return [];
  const asset = assetOf(row.asset);
  const fields = common(request, businessOf(app, row), row.at, asset);
  if (!fields) return [];
  const rate = row.usd_rate;
  const kind = isAdopted(row) ? 'correction' : row.kind === 'fee' ? 'fee' : 'withdrawal';
  const line = (units: bigint, of: WithdrawalRow | null, usd: bigint | null): Line => {
    const invoice = of && refundedInvoice(app.store, of);
    const taxed = of && invoice && kind === 'withdrawal' ? taxedRefund(app.store, invoice, of, request.known) : [];
    const { book, cells } = booked(row, asset, units, { usd: null, usdRate: rate });
    const shown: ExportRow = {
      ...fields,
      kind,
      amount: formatUnits(units, asset),
      usd_value: fiat(rate === null ? usd : fiatFor(units, asset, rate)),
      reference: of === null ? '' : `${of.id}`,
      address: kind === 'fee' ? '' : (of?.address ?? ''),
      tx_id: row.txid,
      ...refundFields(app, row, units, invoice, request.known),
      ...cells,
      vat: vatCell(taxed, invoice?.currency ?? ''),
    };
    return { row: shown, asset, units, book, taxed, counts: false };
  };
  const { units } = row;
  if (kind === 'correction') return [line(-units, null, null)];
  const payouts = payoutsBy(app, row);
  if (kind === 'fee') {
    const [only] = payouts.length === 1 ? payouts : [];
    return [line(units, only?.to ?? null, payouts[0] ? shareOf(payouts[0], row) : null)];
  }
  const rest = units - payouts.reduce((sum, paid) => sum + paid.units, 0n);
  const lines = payouts.map((paid) => line(paid.units, paid.to, paid.to.usd_value));
  return rest === 0n ? lines : [...lines, line(rest, null, null)];
}

type Payout = { units: bigint; to: WithdrawalRow };

/** The value of a fee when the withdrawal was requested; null if the fee is paid in another asset. */
function shareOf({ units, to }: Payout, fee: DebitRow): bigint | null {
  const asked = to.usd_value;
  return asked && units > 0n && to.asset === fee.asset ? (asked * fee.units) / units : null;
}

/** The withdrawals of an account that a debit's transaction pays. */
function payoutsBy(app: App, { txid, chain_key, account_id }: DebitRow): Payout[] {
  const version = app.store.get(versionByTxid, { txid, chain_key });
  const payouts = version ? app.store.all(payoutsOf, { version_id: version.id }) : [];
  return payouts.flatMap(({ withdrawal_id, units }) => {
    const to = app.store.get(withdrawalById, { id: withdrawal_id });
    return to?.account_id === account_id ? [{ units, to }] : [];
  });
}
