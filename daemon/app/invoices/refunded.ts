/** The money of an invoice that went back to its payer: refunds whose transactions have a confirmation. */
import type { AssetId } from '../../domain/assets.ts';
import type { InvoiceRow, PaymentRow } from '../../store/queries/invoices.ts';
import { refundedOf } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { creditsFor, unitsIn } from './payment-targets.ts';

/** The maximum number of refunds of one invoice that are summed for its readers. */
const REFUNDS_SUMMED_MAX = 1_000;

/** The amounts of an invoice that went back, by asset; smallest units. */
export function refunded(
  reader: Reader,
  { id, status }: Pick<InvoiceRow, 'id' | 'status'>,
): { asset: AssetId; units: bigint }[] {
  const sums = new Map<AssetId, bigint>();
  const rows = status === 'paid' ? reader.all(refundedOf, { invoice_id: id, limit: REFUNDS_SUMMED_MAX }) : [];
  for (const { asset, units } of rows) sums.set(asset, (sums.get(asset) ?? 0n) + units);
  return [...sums].map(([asset, units]) => ({ asset, units }));
}

/**
 * The same in smallest units of the payment's coin. A refund in another coin is that share of what the invoice counts
 * for its deposits in it, rounded down; 0 when there are none any more.
 */
export function refundedUnits(reader: Reader, invoice: InvoiceRow, payment: PaymentRow): bigint {
  return refunded(reader, invoice).reduce((sum, { asset, units }) => {
    if (asset === payment.asset) return sum + units;
    const credits = creditsFor(reader, payment).filter((row) => row.claim === 'invoice' && row.asset === asset);
    const came = credits.reduce((total, row) => total + row.units, 0n);
    const counted = credits.reduce((total, row) => total + unitsIn(payment, payment.quote_rate, row), 0n);
    return came === 0n ? sum : sum + (counted * units) / came;
  }, 0n);
}
