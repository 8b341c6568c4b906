/** Methods about refund links. */
import type { App } from '../../app/app.ts';
import { nextOf } from '../../app/operator/lists.ts';
import { prepareRefund } from '../../app/refunds/answered.ts';
import {
  endRefundLink,
  findRefundLink,
  makeDepositLink,
  makeInvoiceLink,
  refundLinkFacts,
  refundLinkPage,
  refundLinkState,
} from '../../app/refunds/links.ts';
import type { Result } from '../../contract/operator.ts';
import type { REFUNDS } from '../../contract/refunds.ts';
import { assetOf } from '../../domain/assets.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { formatUnits } from '../../domain/money.ts';
import type { RefundLinkRow } from '../../store/queries/refund-links.ts';
import { refundUrl } from '../merchant/refund-link.ts';
import type { Methods } from './context.ts';

type RefundLinkJson = Result<'refundLink.make'>['link'];

export const REFUND_METHODS: Methods<typeof REFUNDS> = {
  'refundLink.list': ({ app }, { invoice, inbox, ...page }) => {
    const rows = refundLinkPage(app, page, { invoice, inbox });
    return { links: rows.map((row) => refundLinkJson(app, row)), next: nextOf(rows, page.limit) };
  },
  'refundLink.make': async ({ app }, params) => {
    const row = await app.store.write((tx) => {
      if ('inbox' in params) return makeDepositLink(app, tx, params.inbox, params.days);
      const { invoice, amount = null, crypto = null, days } = params;
      return makeInvoiceLink(app, tx, { invoice, amount, crypto }, days);
    });
    return { link: refundLinkJson(app, row) };
  },
  'refundLink.end': async ({ app }, { id }) => ({
    link: refundLinkJson(app, await app.store.write((tx) => endRefundLink(app, tx, id))),
  }),
  'refundLink.prepare': async ({ app }, { id }) => ({
    link: refundLinkJson(app, await prepareRefund(app, findRefundLink(app.store, id).id)),
  }),
};

function refundLinkJson(app: App, row: RefundLinkRow): RefundLinkJson {
  return {
    id: row.id,
    url: refundUrl(app, row),
    business_id: row.business_id,
    business: app.directory.business(row.business_id).name,
    invoice: refundLinkFacts(app.store, row).invoice,
    inbox: row.inbox_id,
    crypto: row.asset,
    amount: row.units === null ? null : formatUnits(row.units, assetOf(row.asset)),
    state: refundLinkState(app, app.store, row),
    ends_at: toIso(row.ends_at),
    address: row.address,
    given_at: isoOrNull(row.given_at),
    withdrawal: row.withdrawal_id,
    problem: row.problem,
    created_at: toIso(row.created_at),
  };
}
