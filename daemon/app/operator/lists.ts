/** The operator's other lists: keys, client IDs, inbox, notifications, alerts. Each is bounded. */
import { Rejected } from '../../domain/errors.ts';
import { openAlertOf } from '../../store/queries/alert-notices.ts';
import { type ApiKeyRow, allApiKeys, allClients, type ClientRow } from '../../store/queries/businesses.ts';
import {
  type AlertRow,
  closeAlert,
  openAlerts,
  type WebhookRow,
  webhookById,
  webhooksBelow,
} from '../../store/queries/effects.ts';
import { inboxBelow, inboxWaiting } from '../../store/queries/inbox.ts';
import { invoiceById } from '../../store/queries/invoices.ts';
import { unknownTokensBelow } from '../../store/queries/unknown-tokens.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { leaveClock } from '../recovery/clock.ts';
import type { Business } from '../shops/directory.ts';
import { type WebhookView, webhookView } from './invoices.ts';

/** `before`: only rows with a lower id. */
type Page = { limit: number; before?: number | undefined };
export type NamedWebhook = WebhookView & { slug: string };

const NEWEST = Number.MAX_SAFE_INTEGER;

/** The beginning of the next page; null after a page that is not full. */
export function nextOf(rows: readonly { id: number }[], limit: number): number | null {
  const last = rows.at(-1);
  return rows.length === limit && last !== undefined && last.id > 1 ? last.id : null;
}

type Owned = { business_id: number; revoked_at: number | null };

const wanted = (business: Business | null, revoked: boolean) => (row: Owned) =>
  (business === null || row.business_id === business.id) && (revoked || row.revoked_at === null);

/** API keys of one business, or of all; revoked ones only on request. */
export function keysOf(app: App, business: Business | null, revoked: boolean): ApiKeyRow[] {
  return app.store.all(allApiKeys, {}).filter(wanted(business, revoked));
}

/** Client IDs of one business, or of all; revoked ones only on request. */
export function clientsOf(app: App, business: Business | null, revoked: boolean): ClientRow[] {
  return app.store.all(allClients, {}).filter(wanted(business, revoked));
}

/** The newest deposits that no invoice claims. */
export function inboxPage(app: App, { limit, before = NEWEST }: Page) {
  return app.store.all(inboxBelow, { id: before, limit });
}

/** The deposits about which a business has to decide, however many came after them. Crumbs are left out: anybody can send any number. */
export const waitingDeposits = (app: App, { id }: Business, limit: number) =>
  app.store.all(inboxWaiting, { business_id: id, limit });

/** The newest tokens that this program does not know. */
export function unknownTokenPage(app: App, { limit, before = NEWEST }: Page) {
  return app.store.all(unknownTokensBelow, { id: before, limit });
}

/** The newest notifications with their last attempts. */
export function webhookPage(app: App, { limit, before = NEWEST }: Page): NamedWebhook[] {
  return app.store.all(webhooksBelow, { id: before, limit }).map((row) => named(app.store, row));
}

/** Throws `Rejected('webhook.not_found')`. */
export function showWebhook(app: App, id: number): NamedWebhook {
  const row = app.store.get(webhookById, { id });
  if (!row) throw new Rejected('webhook.not_found', 'Webhook not found');
  return named(app.store, row);
}

function named(reader: Reader, row: WebhookRow): NamedWebhook {
  const invoice = reader.get(invoiceById, { id: row.invoice_id });
  return { ...webhookView(reader, row), slug: invoice?.slug ?? '' };
}

/** The id of an alert that is not stored yet, and therefore cannot be marked as seen. */
const UNSTORED_ID = 0;

/** A position in the list of open alerts: `rank` 0 for real money and the appliance, 1 for the rest. */
type AlertCursor = { rank: number; id: number };
const FIRST: AlertCursor = { rank: 0, id: NEWEST };
const RANKS = 2;

/** The open alerts: real money first, newest first. Unstored ones are on the first page. */
export function alertPage(app: App, limit: number, after: AlertCursor | null) {
  const { rank: from, id: below } = after ?? FIRST;
  const stored: (AlertRow & { rank: number })[] = [];
  for (let rank = from; rank < RANKS && stored.length < limit; rank++) {
    const place = { rank, id: rank === from ? below : NEWEST, limit: limit - stored.length };
    stored.push(...app.store.all(openAlerts, place).map((row) => ({ ...row, rank })));
  }
  const last = stored.at(-1);
  const next = stored.length === limit && last !== undefined ? { rank: last.rank, id: last.id } : null;
  if (after !== null) return { alerts: stored, next };
  const unstored = app.unstored.all().map((alert) => ({ ...alert, id: UNSTORED_ID, seen_at: null }));
  return { alerts: [...unstored.reverse(), ...stored], next };
}

/** Marks alerts as seen; returns how many were open. */
export function markSeen(app: App, ids: readonly number[], tx: Tx): number {
  const clock = tx.get(openAlertOf, { kind: 'clock.wrong', subject: 'clock' });
  if (clock?.message.code === 'clock.behind_books' && ids.includes(clock.id)) leaveClock(tx, app.now());
  return [...new Set(ids)].reduce((sum, id) => sum + tx.run(closeAlert, { id, seen_at: app.now() }).changes, 0);
}
