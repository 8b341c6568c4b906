/**
 * The addresses at which an invoice is paid: the payment's, and those of coins that the payer chose before.
 *
 * Invariants. An invoice has one address in each asset, and uses it again when the payer returns to the asset. The quote of
 * a coin ends when the payer changes the coin, so later money in that coin counts at the rate of when it was first seen.
 * The first sufficient credit in a former coin switches the payment back to that coin; other coins count by value.
 */
import { assetOf } from '../../domain/assets.ts';
import { assert } from '../../domain/errors.ts';
import { maxOf, unitsWorth } from '../../domain/money.ts';
import { isCrumb } from '../../domain/payment.ts';
import { arrivedCredits, type CreditRow, payingCredits } from '../../store/queries/credits.ts';
import {
  deleteFormerTarget,
  type FormerTargetRow,
  formerTargets,
  type InvoiceRow,
  insertFormerTarget,
  insertPastQuote,
  type PaymentRow,
  setPaymentTarget,
} from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { type App, graceMs } from '../app.ts';

export type PaymentTarget = Pick<PaymentRow, 'target_id' | 'asset' | 'chain_key'>;

/** The coins that the payer left. A payment whose coin was never changed is not looked up. */
export function leftTargets(reader: Reader, { invoice_id, changes }: PaymentRow): FormerTargetRow[] {
  return changes === 0 ? [] : reader.all(formerTargets, { invoice_id });
}

/** All addresses at which money counts for the invoice of a payment, the payment's own first. */
export function targetsOf(reader: Reader, payment: PaymentRow): PaymentTarget[] {
  return [payment, ...leftTargets(reader, payment)];
}

/** The credits that count for the invoice of a payment, or may yet, oldest first. */
export function creditsFor(reader: Reader, payment: PaymentRow): CreditRow[] {
  const credits = targetsOf(reader, payment).flatMap(({ target_id, asset }) =>
    reader.all(payingCredits, { target_id, asset }),
  );
  return payment.changes === 0 ? credits : credits.sort((a, b) => a.id - b.id);
}

/** So many units, or the least that the network of a payment's coin carries, which no wallet sends less of. */
export const sendable = (app: App, { chain_key, address }: PaymentRow, units: bigint): bigint =>
  app.chains.find(chain_key)?.adapter.spending?.sendable(address, units) ?? units;

/** Whether any credit is at an address of a payment, whichever invoice it counts for. */
export function isPaidInto(reader: Reader, payment: PaymentRow): boolean {
  return targetsOf(reader, payment).some(
    ({ target_id, asset }) => reader.get(arrivedCredits, { target_id, asset, limit: 1 }) !== undefined,
  );
}

/**
 * A credit in units of a payment's coin. One in another coin has the units that its value buys at a rate: rounded down,
 * but at least one, so that a funded invoice never looks unfunded.
 */
export function unitsIn(
  payment: PaymentRow,
  rate: bigint,
  credit: Pick<CreditRow, 'asset' | 'units' | 'value'>,
): bigint {
  if (credit.asset === payment.asset) return credit.units;
  return maxOf(1n, unitsWorth(credit.value ?? 0n, assetOf(payment.asset), rate));
}

/** The received and the confirmed units of an unpaid payment, if `rate` were its quote's rate. */
export function receivedAt(reader: Reader, payment: PaymentRow, rate: bigint): { received: bigint; confirmed: bigint } {
  if (payment.changes === 0) return payment;
  const sums = { received: 0n, confirmed: 0n };
  for (const credit of creditsFor(reader, payment)) {
    const units = unitsIn(payment, rate, credit);
    sums.received += units;
    if (credit.confirmed) sums.confirmed += units;
  }
  return sums;
}

/** A target of a payment: its asset, and when its last quote was made and ended, milliseconds since 1970. */
export function quotedAt(
  reader: Reader,
  payment: PaymentRow,
  targetId: number,
): Pick<PaymentRow, 'asset' | 'created_at' | 'quote_issued_at' | 'quote_ends_at'> {
  if (payment.target_id === targetId) return payment;
  const left = leftTargets(reader, payment).find(({ target_id }) => target_id === targetId);
  assert(left, `target ${targetId} is one of invoice ${payment.invoice_id}`);
  // a credit that was seen after its coin was left is outside its quote
  const { created_at } = payment;
  return { asset: left.asset, created_at, quote_issued_at: left.left_at + 1, quote_ends_at: left.left_at };
}

export type NextTarget = PaymentTarget &
  Pick<
    PaymentRow,
    'address' | 'quote_rate' | 'quote_amount' | 'quote_issued_at' | 'quote_ends_at' | 'rates' | 'deadline_at'
  >;

/** Changes a payment's coin, and ends the former quote. `changes`: how many the payer has made. */
export function moveTo(app: App, tx: Tx, payment: PaymentRow, next: NextTarget, changes: number): PaymentRow {
  const now = app.now();
  const { invoice_id, asset, chain_key, target_id, address, quote_rate, quote_amount, quote_ends_at, rates } = payment;
  assert(next.asset !== asset, 'a payment moves to another coin');
  const endsAt = Math.min(quote_ends_at, now);
  tx.run(insertPastQuote, { invoice_id, asset, issued_at: payment.quote_issued_at, ends_at: endsAt, rate: quote_rate });
  tx.run(deleteFormerTarget, { invoice_id, asset: next.asset });
  const left = { invoice_id, asset, chain_key, target_id, address, quote_rate, quote_amount, quote_ends_at, rates };
  tx.run(insertFormerTarget, { ...left, left_at: now, open: true });
  const { deadline_at } = next;
  const check_at = deadline_at > payment.deadline_at ? deadline_at : payment.check_at;
  const moved = { ...payment, ...next, check_at, changes, updated_at: now };
  tx.run(setPaymentTarget, moved);
  return moved;
}

/** The return to a coin that was left: with its former quote, until that quote's original end. */
export function takenUp(app: App, payment: PaymentRow, former: FormerTargetRow): NextTarget {
  const { asset, chain_key, target_id, address, quote_rate, quote_amount, quote_ends_at, rates } = former;
  const quote_issued_at = Math.min(app.now(), quote_ends_at);
  const { deadline_at } = payment;
  return {
    asset,
    chain_key,
    target_id,
    address,
    quote_rate,
    quote_amount,
    quote_issued_at,
    quote_ends_at,
    rates,
    deadline_at,
  };
}

/**
 * Switches an unpaid payment to the coin in which money came: if nothing came in its own coin, to the first other one
 * with more than a crumb.
 */
export function returnToPaidCoin(
  app: App,
  tx: Tx,
  invoice: InvoiceRow,
  payment: PaymentRow,
  credits: readonly CreditRow[],
): PaymentRow {
  if (payment.changes === 0 || invoice.status !== 'unpaid') return payment;
  if (credits.some(({ asset }) => asset === payment.asset)) return payment;
  const until = payment.deadline_at + graceMs(app);
  const first = credits.find((row) => row.first_seen_at <= until && !isCrumb(row.value ?? 0n, invoice.amount));
  const former = first && leftTargets(tx, payment).find(({ asset }) => asset === first.asset);
  return former ? moveTo(app, tx, payment, takenUp(app, payment, former), payment.changes) : payment;
}
