/**
 * The gross amounts by VAT rate in what an invoice received and in its refunds, by the lines of its sale, 1e-8 of the invoice's currency.
 *
 * Invariant: all parts of an invoice's receipts and refunds add up to what is kept of its price. Money beyond the price is in no part, and
 * neither is its refund. A part may still change: a receipt gets its part when the whole invoice is paid, and the parts of refunds depend on
 * all receipts. A refund's part depends on the refunds whose money left before, whenever they were asked for, so that no later one
 * changes it.
 */
import { maxOf, minOf } from '../../domain/money.ts';
import { shared } from '../../domain/vat.ts';
import { linesOfInvoice, saleOfInvoice } from '../../store/queries/counter.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { debitsOfTransaction } from '../../store/queries/debits.ts';
import { type InvoiceRow, paymentOf } from '../../store/queries/invoices.ts';
import { refundedOf, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { creditsFor } from '../invoices/payment-targets.ts';
import { refundWorth } from '../withdrawals/refund.ts';

/** `rate`: hundredths of a percent; null: none was given; 'tip': a tip, without VAT. A refund's amounts are below 0. */
export type Taxed = { rate: number | 'tip' | null; gross: bigint };

/** No invoice has more refunds that count here. */
const REFUNDS_MAX = 1_000;

/** Shares an amount out by what the lines and the tip cost: rounded down, and the rest goes to the largest. */
function parted(reader: Reader, { id }: InvoiceRow, amount: bigint): Taxed[] {
  if (amount === 0n) return [];
  const sale = reader.get(saleOfInvoice, { invoice_id: id });
  const lines = sale ? reader.all(linesOfInvoice, { invoice_id: id }) : [];
  const weighed: Taxed[] = lines.map(({ vat, price, quantity }) => ({ rate: vat, gross: price * BigInt(quantity) }));
  if (sale && sale.tip > 0n) weighed.push({ rate: 'tip', gross: sale.tip });
  if (weighed.length === 0) return [{ rate: null, gross: amount }];
  const sign = amount < 0n ? -1n : 1n;
  const shares = shared(
    sign * amount,
    weighed.map(({ gross }) => gross),
  );
  const sums = new Map<Taxed['rate'], bigint>();
  for (const [at, { rate }] of weighed.entries()) sums.set(rate, (sums.get(rate) ?? 0n) + sign * shares[at]!);
  return [...sums].map(([rate, gross]) => ({ rate, gross })).filter(({ gross }) => gross !== 0n);
}

const counted = (reader: Reader, { id }: InvoiceRow): CreditRow[] => {
  const payment = reader.get(paymentOf, { invoice_id: id });
  return payment ? creditsFor(reader, payment).filter(({ claim, gone }) => claim === 'invoice' && !gone) : [];
};

/**
 * Of an invoice: the value that came before each receipt that it counts, by its id, and of all; what its refunds are worth, and the worth
 * of those before each, by its withdrawal.
 */
type Sums = {
  before: Map<number, bigint>;
  all: bigint;
  worth: ReturnType<typeof refundWorth>;
  sentBefore: Map<number, bigint>;
  sent: bigint;
};
/** The sums of the invoices of one page, each read once. An entry is true only while nothing is written. */
export type TaxSums = Map<number, Sums>;

function sumsOf(reader: Reader, invoice: InvoiceRow, known: TaxSums): Sums {
  const found = known.get(invoice.id);
  if (found) return found;
  const worth = refundWorth(reader, invoice);
  const sums: Sums = { before: new Map(), all: 0n, worth, sentBefore: new Map(), sent: 0n };
  for (const { id, value } of counted(reader, invoice).sort((a, b) => a.id - b.id)) {
    sums.before.set(id, sums.all);
    sums.all += value ?? 0n;
  }
  for (const { id, asset, units } of debitedRefunds(reader, invoice)) {
    sums.sentBefore.set(id, sums.sent);
    sums.sent += worth(asset, units) ?? 0n;
  }
  known.set(invoice.id, sums);
  return sums;
}

/** Of a receipt that its invoice counts. An invoice that is not paid has none yet. */
export function taxedReceipt(reader: Reader, invoice: InvoiceRow, row: CreditRow, known: TaxSums): Taxed[] {
  const { id, claim, value } = row;
  if (invoice.status !== 'paid' || claim !== 'invoice' || value === null) return [];
  const before = sumsOf(reader, invoice, known).before.get(id);
  if (before === undefined) return [];
  const { amount } = invoice;
  return parted(reader, invoice, minOf(amount, before + value) - minOf(amount, before));
}

/** The worth of refunds of an invoice, at which it counted the money. */
export const worthIn = (reader: Reader, invoice: InvoiceRow, known: TaxSums): ReturnType<typeof refundWorth> =>
  sumsOf(reader, invoice, known).worth;

/** When the money of a completed withdrawal left: the time of its block; null: the books do not have it. */
export function leftAt(reader: Reader, { txid, chain_key }: Pick<WithdrawalRow, 'txid' | 'chain_key'>): number | null {
  if (txid === null) return null;
  const debits = reader.all(debitsOfTransaction, { from: `${txid}:`, to: `${txid};`, chain_key });
  return debits.find(({ kind }) => kind === 'paid')?.at ?? null;
}

/** The completed refunds of an invoice in the order in which their money left. */
function debitedRefunds(reader: Reader, { id }: InvoiceRow) {
  const placed = reader.all(refundedOf, { invoice_id: id, limit: REFUNDS_MAX }).map((refund) => {
    return { at: leftAt(reader, refund) ?? Number.MAX_SAFE_INTEGER, refund };
  });
  return placed.sort((a, b) => a.at - b.at || a.refund.id - b.refund.id).map(({ refund }) => refund);
}

/** Of a completed refund: first the overpaid part went back. Its value is what the invoice counted for the money. */
export function taxedRefund(
  reader: Reader,
  invoice: InvoiceRow,
  refund: Pick<WithdrawalRow, 'id' | 'asset' | 'units'>,
  known: TaxSums,
): Taxed[] {
  const { all, worth, sentBefore, sent } = sumsOf(reader, invoice, known);
  const before = sentBefore.get(refund.id) ?? sent;
  const kept = (sentBack: bigint): bigint => minOf(invoice.amount, maxOf(0n, all - sentBack));
  return parted(reader, invoice, kept(before + (worth(refund.asset, refund.units) ?? 0n)) - kept(before));
}
