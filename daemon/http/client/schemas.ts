/**
 * Schemas of the browser API's requests: those of the merchant API, in the order of the browser client's documentation,
 * without the fields that a stranger may not choose. Anybody can send these requests, so their URLs are limited to the
 * hosts of the client ID.
 */

import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { allowsHost } from '../../app/shops/clients.ts';
import type { Business, Client } from '../../app/shops/directory.ts';
import { compareDays, dayOf, parseDay } from '../../domain/calendar.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { createInvoiceSchema, reachable, url } from '../merchant/schemas.ts';

const DUE_DAYS_MAX = 90;
const URL_CHARACTERS_MAX = 2_048;

/** The body of createInvoice for one client ID. `anyUrl`: its URLs may have any host. */
export function clientInvoiceSchema(app: App, business: Business, client: Client, anyUrl: boolean) {
  const { amount, currency, crypto, due_date, close_url, automatic_redirect, order_id, description } =
    createInvoiceSchema(app, business).shape;
  const allowed = (field: string) => (text: string | null | undefined, context: z.RefinementCtx) => {
    if (anyUrl || text == null || !URL.canParse(text)) return;
    if (allowsHost(client, text)) return;
    context.addIssue({ code: 'custom', message: `The ${field} leads to a host that this client ID does not allow.` });
  };
  const link = { override: { type: 'string', format: 'uri', maxLength: URL_CHARACTERS_MAX } };
  return z.object({
    amount,
    currency,
    crypto,
    due_date: due_date
      .superRefine((text, context) => {
        const day = text == null ? null : parseDay(text);
        const last = dayOf(app.now() + DUE_DAYS_MAX * MS_PER_DAY, business.timeZone);
        if (!day || compareDays(day, last) <= 0) return;
        context.addIssue({ code: 'custom', message: `The due date may be at most ${DUE_DAYS_MAX} days from today.` });
      })
      .meta({
        description: `MM/DD/YYYY, zeros may be left out; today or later in the business’s time zone, at most ${DUE_DAYS_MAX} days from today. Default: the last day of the month.`,
        override: { type: 'string', pattern: '^\\d{1,2}/\\d{1,2}/\\d{4}$', examples: ['12/31/2030', '1/5/2031'] },
      }),
    close_url: close_url.superRefine(allowed('close url')).meta(link),
    redirect_url: url('redirect url').superRefine(allowed('redirect url')).meta(link),
    automatic_redirect,
    webhook_url: url('webhook url')
      .superRefine((text, context) => {
        if (text == null || !URL.canParse(text) || new URL(text).protocol === 'https:') return;
        context.addIssue({ code: 'custom', message: 'The webhook url must be a valid https URL.' });
      })
      .superRefine(allowed('webhook url'))
      .superRefine(reachable(app, false))
      .meta(link),
    order_id,
    description,
  });
}
