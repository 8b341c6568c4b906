/** A refund link as shops see it. */
import type { App } from '../../app/app.ts';
import { assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { present } from '../../domain/errors.ts';
import { formatUnits } from '../../domain/money.ts';
import type { RefundLinkRow } from '../../store/queries/refund-links.ts';
import type { Answer } from '../answers.ts';

/** The page on which the payer types the address. */
export const refundUrl = (app: App, { slug }: Pick<RefundLinkRow, 'slug'>): string => `${app.publicUrl}/pay/r/${slug}`;

export function presentRefundLink(app: App, row: RefundLinkRow, invoice: string): Answer<'RefundLink'> {
  return {
    refund_url: refundUrl(app, row),
    invoice_id: invoice,
    amount: formatUnits(present(row.units, 'amount of a link for an invoice'), assetOf(row.asset)),
    crypto: row.asset,
    expires_at: toIso(row.ends_at),
    created_at: toIso(row.created_at),
  };
}
