/**
 * Overpayments: what an invoice received beyond its tolerance before it was paid. The deposit counts for the invoice,
 * which stays paid; the difference is an item of the inbox, so that the operator decides about it.
 */
import { maxOf, minOf, sumOf } from '../../domain/money.ts';
import { isSilent, type Settlement } from '../../domain/payment.ts';
import { type CreditRow, insertInboxItem } from '../../store/queries/credits.ts';
import type { InvoiceRow, PaymentRow } from '../../store/queries/invoices.ts';
import { overpaidOf } from '../../store/queries/policies.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { unitsIn } from './payment-targets.ts';

/** The share of a difference by which the quote's figure may differ from the figure by value. */
const ALIKE_SHARE = 100n;

/** A deposit, and how much of it is beyond what was asked, smallest units. */
type Excess = { credit: CreditRow; units: bigint };

/**
 * The deposits in the payment's coin that are beyond the amount, by value: the latest ones, each at the rate at which it counted. At one
 * deposit's rate for all, a last crumb at a lower price would make more of the others than they are beyond it.
 */
function excessOf(over: bigint, counted: readonly CreditRow[]): Excess[] {
  let left = over;
  return counted.toReversed().flatMap((credit): Excess[] => {
    const { units, value } = credit;
    if (left <= 0n || value === null) return [];
    const isWhole = value <= left;
    const beyond = isWhole ? units : (left * units) / value;
    left -= isWhole ? value : left;
    return [{ credit, units: beyond }];
  });
}

/** The excess of the deposits in the payment's coin over what was asked; smallest units, rounded down, at most all of them. */
function excessUnits(
  { quote_amount }: Pick<PaymentRow, 'quote_amount'>,
  { received }: Pick<Settlement, 'received'>,
  counted: readonly CreditRow[],
  parts: readonly Excess[],
): bigint {
  const byValue = sumOf(parts);
  // the payer knows the quote's round figure; the figure by value may differ from it by its rounding
  const byQuote = received - quote_amount;
  const apart = byQuote > byValue ? byQuote - byValue : byValue - byQuote;
  return apart * ALIKE_SHARE <= byValue ? minOf(byQuote, sumOf(counted)) : byValue;
}

/**
 * The excess of an invoice's deposits that are on the chain now, confirmed or not unless `isConfirmed`; smallest units of the payment's coin, rounded
 * down, at least 0. It may be less than the filed one: a reorganisation may have removed a deposit. `credits`: those of the payment.
 */
export function standingExcess(
  invoice: InvoiceRow,
  payment: PaymentRow,
  credits: readonly CreditRow[],
  isConfirmed = false,
): bigint {
  const standing = credits.filter(({ claim, confirmed }) => claim === 'invoice' && (confirmed || !isConfirmed));
  const received = standing.reduce((sum, row) => sum + unitsIn(payment, payment.quote_rate, row), 0n);
  const seenValue = standing.reduce((sum, { value }) => sum + (value ?? 0n), 0n);
  const counted = standing.filter(({ asset }) => asset === payment.asset);
  return maxOf(excessUnits(payment, { received }, counted, excessOf(seenValue - invoice.amount, counted)), 0n);
}

/**
 * Files the difference of an invoice that has just become paid, and says whether there is one. `credits`: those of its
 * payment, before this settlement's claims were written.
 */
export function fileOverpaid(
  app: App,
  tx: Tx,
  invoice: InvoiceRow,
  { payment, result, credits }: { payment: PaymentRow; result: Settlement; credits: readonly CreditRow[] },
): boolean {
  const claims = new Map(result.effects.flatMap((one) => (one.kind === 'claim' ? [[one.credit, one.claim]] : [])));
  const counts = ({ id, claim, asset }: CreditRow) =>
    asset === payment.asset && (claims.get(id) ?? claim) === 'invoice';
  const counted = credits.filter(counts);
  const parts = excessOf(result.seenValue - invoice.amount, counted);
  const units = excessUnits(payment, result, counted, parts);
  // not a crumb that came with it and may vanish
  const most = parts.find(({ units: some }) => parts.every((other) => other.units <= some))?.credit;
  if (!most || units <= 0n || tx.get(overpaidOf, { invoice_id: invoice.id })) return false;
  const usd = most.usd_value === null ? null : (most.usd_value * units) / most.units;
  const filed = tx.run(insertInboxItem, {
    credit_id: most.id,
    business_id: invoice.business_id,
    invoice_id: invoice.id,
    reason: 'overpaid',
    state: 'open',
    silent: isSilent('overpaid', usd),
    units,
    created_at: app.now(),
  });
  if (filed.changes === 0) return false;
  tx.afterCommit(() => app.operatorEvents.tell('inbox', `${most.id}`));
  return true;
}
