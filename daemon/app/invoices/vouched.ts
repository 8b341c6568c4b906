/**
 * Deadlines on a chain whose source has servers of several operators: one of them may keep a payment back. So a deadline counts only
 * up to the time at which two operators showed no further payment (`ask-absence.ts`). Until then the invoice stays as it is.
 */
import type { Settlement } from '../../domain/payment.ts';
import { absenceOf, saveAbsence } from '../../store/queries/absence.ts';
import type { PaymentRow } from '../../store/queries/invoices.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { targetsOf } from './payment-targets.ts';

/** The interval at which a waiting deadline is looked at again. The answer itself settles the invoice at once. */
const RETRY_MS = 60_000;

/**
 * The decision about an invoice with those deadlines up to `until` for which servers have vouched. `decide` decides
 * with the deadlines up to a time.
 */
export function whenVouched(
  app: App,
  tx: Tx,
  payment: PaymentRow,
  until: number,
  decide: (until: number) => Settlement,
): Settlement {
  const due = decide(until);
  if (!targetsOf(tx, payment).some(({ chain_key }) => app.chains.find(chain_key)?.adapter.absence)) return due;
  const { invoice_id, chain_key } = payment;
  const known = tx.get(absenceOf, { invoice_id });
  const vouched = decide(Math.min(until, known?.until ?? 0));
  if (vouched.invoice === due.invoice && vouched.payment === due.payment) return due;
  const since = known ?? { invoice_id, asked_at: 0, until: null, servers: '' };
  tx.run(saveAbsence, { ...since, chain_key, wanted_at: known?.wanted_at ?? app.now() });
  return { ...vouched, checkAt: Math.max(vouched.checkAt ?? 0, until + RETRY_MS) };
}
