/**
 * Whether the deposits that a refund sends back are still on the chain and confirmed. A reorganisation after its request may have taken
 * them: then it would be paid out of other people's money. So it is judged before it is claimed and before it is signed, and waits.
 */
import { assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { formatUnits, minOf } from '../../domain/money.ts';
import { creditById } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById, paymentOf } from '../../store/queries/invoices.ts';
import { inboxById } from '../../store/queries/policies.ts';
import { refundsUnderWay, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { standingExcess } from '../invoices/overpaid.ts';
import { confirmedUnits } from './refund-left.ts';

/**
 * Why a refund must not be paid now: `spend.uncovered`, or `spend.unconfirmed` for a deposit; null: it may, or it is no refund of an
 * invoice or of a deposit.
 */
export function whyUncovered(reader: Reader, row: WithdrawalRow): Rejected | null {
  if (row.outpoint !== null) return whyDepositMissing(reader, row);
  const invoice = row.invoice_id === null ? undefined : reader.get(invoiceById, { id: row.invoice_id });
  if (!invoice) return null;
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  const came = payment ? confirmedUnits(reader, payment, row.asset) : 0n;
  // whichever refund is paid first takes what there is
  const others = reader.all(refundsUnderWay, { invoice_id: invoice.id, asset: row.asset, id: row.id });
  const there = others.reduce((left, { units }) => left - units, came);
  if (there < row.units) return uncovered(row, invoice, 'its confirmed deposits are', there);
  const over = overpaidIn(reader, row);
  const excess = payment && over > 0n ? standingExcess(reader, invoice, payment, true) : 0n;
  return excess < over ? uncovered(row, invoice, 'its confirmed overpayment is', excess) : null;
}

/** The part of a refund that an overpayment in the inbox stands for, smallest units. */
function overpaidIn(reader: Reader, { inbox_id, units }: WithdrawalRow): bigint {
  const item = inbox_id === null ? undefined : reader.get(inboxById, { id: inbox_id });
  return item?.units == null ? 0n : minOf(item.units, units);
}

function uncovered(row: WithdrawalRow, { slug }: InvoiceRow, what: string, units: bigint): Rejected {
  const asset = assetOf(row.asset);
  const there = units > 0n ? `only ${formatUnits(units, asset)} ${asset.symbol}` : 'gone or unconfirmed';
  return new Rejected(
    'spend.uncovered',
    `It refunds invoice ${slug}, and ${what} ${there}: it waits until they are back, or reject it`,
  );
}

/** The same for a deposit in the inbox that is sent back by itself. */
function whyDepositMissing(reader: Reader, row: WithdrawalRow): Rejected | null {
  const item = row.inbox_id === null ? undefined : reader.get(inboxById, { id: row.inbox_id });
  const credit = item && reader.get(creditById, { id: item.credit_id });
  if (!credit) return null;
  if (!credit.gone) {
    return credit.confirmed
      ? null
      : new Rejected('spend.unconfirmed', 'The deposit does not have its confirmations yet');
  }
  return new Rejected(
    'spend.uncovered',
    'The deposit that it sends back left the chain: it waits for it, or reject it',
  );
}
