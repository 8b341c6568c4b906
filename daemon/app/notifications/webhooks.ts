/**
 * The notification of a paid invoice: queued in the transaction that pays it, sent at most once automatically. The
 * attempt is stored before the first byte is sent, so a crash in between loses the notification rather than repeating
 * it.
 */

import { Rejected } from '../../domain/errors.ts';
import { STATUS_FAILED_MIN } from '../../domain/merchant.ts';
import { message, type Value } from '../../domain/messages.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { openAlertOf } from '../../store/queries/alert-notices.ts';
import {
  alertSince,
  finishWebhookAttempt,
  insertWebhook,
  insertWebhookAttempt,
  nextOfTurn,
  nextWebhookTurn,
  stepWebhook,
  type WebhookRow,
  type WebhookTurn,
  webhookAttemptById,
  webhookById,
} from '../../store/queries/effects.ts';
import { type InvoiceRow, invoiceById } from '../../store/queries/invoices.ts';
import type { Tx } from '../../store/store.ts';
import { endIn, raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { madeByAnybody } from '../shops/clients.ts';

/**
 * `shop`: requested by a shop's server. `public`: requested by browsers and the sandbox, possibly by anybody. The lanes
 * do not wait for each other.
 */
export const LANES = ['shop', 'public'] as const;
export type Lane = (typeof LANES)[number];

export type WebhookAttempt = {
  attemptId: number;
  lane: Lane;
  url: string;
  host: string;
  /** Whether the invoice came from the merchant API: only then may it reach an allow-listed private address. */
  fromMerchant: boolean;
};

/** Queues the notification of a paid invoice that asked for one. `isTold`: it may have been sent before a restore, and is skipped. */
export function queueWebhook(app: App, tx: Tx, invoice: InvoiceRow, isTold = false): void {
  if (invoice.webhook_url === null || invoice.deleted_at !== null) return;
  const { network } = app.directory.business(invoice.business_id);
  const lane: Lane = madeByAnybody(invoice) || network === 'sandbox' ? 'public' : 'shop';
  const url = invoice.webhook_url;
  const turn = { host: hostOf(url), business_id: invoice.business_id, live: network !== 'sandbox' };
  const state = isTold ? 'skipped' : 'waiting';
  tx.run(insertWebhook, { invoice_id: invoice.id, url, state, created_at: app.now(), lane, ...turn });
  tx.afterCommit(() => app.wake.webhooks());
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '');

/** Turns that one look passes over: each costs a look-up in an index. */
const TURNS_PASSED_MAX = 500;
const FIRST_TURN: WebhookTurn = { business_id: -1, host: '' };

/** By lane: whose turn was last. */
export class WebhookTurns {
  readonly #last = new Map<string, WebhookTurn>();

  /**
   * Takes up to `limit` waiting notifications of a lane, one of each business and host in turn, live ones first, and records an
   * attempt for each; from then on they count as sent. `isFull`: whether a host has enough of them at the moment.
   */
  take(app: App, tx: Tx, lane: Lane, limit: number, isFull: (host: string) => boolean): WebhookAttempt[] {
    const taken: WebhookAttempt[] = [];
    if (isQuarantined(tx)) return taken;
    const counts = new Map<string, number>();
    const held = heldChains(app);
    for (const live of [true, false]) {
      const key = `${lane} ${live}`;
      const began = this.#last.get(key) ?? FIRST_TURN;
      let turn: WebhookTurn = began;
      let isWrapped = false;
      for (let passed = 0; passed < TURNS_PASSED_MAX && taken.length < limit; passed++) {
        const next: WebhookTurn | undefined = tx.get(nextWebhookTurn, { ...turn, lane, live });
        if (!next) {
          if (isWrapped || turn === FIRST_TURN) break;
          isWrapped = true;
          turn = FIRST_TURN;
          continue;
        }
        turn = next;
        this.#last.set(key, turn);
        if (isFull(turn.host) || (counts.get(turn.host) ?? 0) > 0) continue;
        const row = tx.get(nextOfTurn, { ...turn, lane, live, held });
        if (!row) continue;
        if (tx.run(stepWebhook, { id: row.id, from: 'waiting', to: 'attempted' }).changes !== 1) continue;
        counts.set(turn.host, 1);
        taken.push(beginAttempt(app, tx, row, false));
      }
    }
    return taken;
  }
}

/**
 * A chain's first view since the start may show that the data came back older, and then a notification may have been sent: it waits for
 * that view, unless the operator has decided the invoice.
 */
const heldChains = ({ chains }: App): string =>
  JSON.stringify(chains.all().flatMap(({ key, dormant, syncs }) => (!dormant && syncs === 0 ? [key] : [])));

/** An operator's resend. Throws `Rejected('webhook.not_found')`. */
export function retakeWebhook(app: App, tx: Tx, id: number): WebhookAttempt {
  const row = tx.get(webhookById, { id });
  if (!row) throw new Rejected('webhook.not_found', 'Webhook not found');
  if (row.state === 'waiting') tx.run(stepWebhook, { id, from: 'waiting', to: 'attempted' });
  return beginAttempt(app, tx, row, true);
}

function beginAttempt(app: App, tx: Tx, row: WebhookRow, byOperator: boolean): WebhookAttempt {
  const { id } = tx.run(insertWebhookAttempt, {
    webhook_id: row.id,
    by_operator: byOperator,
    started_at: app.now(),
  });
  const invoice = tx.get(invoiceById, { id: row.invoice_id });
  return {
    attemptId: id,
    lane: row.lane as Lane,
    url: row.url,
    host: hostOf(row.url),
    fromMerchant: invoice?.origin === 'merchant',
  };
}

/** Records an attempt's result: the status, or why there was none. */
export function recordAttempt(
  app: App,
  tx: Tx,
  attemptId: number,
  outcome: { status: number | null; error: string | null },
): void {
  tx.run(finishWebhookAttempt, { id: attemptId, finished_at: app.now(), ...outcome });
  const attempt = tx.get(webhookAttemptById, { id: attemptId });
  const webhook = attempt && tx.get(webhookById, { id: attempt.webhook_id });
  // requests of browsers come from strangers, who could otherwise raise alerts at will
  if (webhook?.lane !== 'shop') return;
  const { status, error } = outcome;
  if (status === null) tellFailure(app, tx, webhook, `${error}`);
  else if (status >= STATUS_FAILED_MIN) tellFailure(app, tx, webhook, message('webhook.status', { status }));
  else endFailure(app, tx, webhook);
}

const FAILED = 'webhook.failed';

/** Closes the alert of a host that accepts a notification again. */
function endFailure(app: App, tx: Tx, { url }: WebhookRow): void {
  endIn(app, tx, FAILED, new URL(url).host);
}

/** Alerts the operator of a failed notification, once an hour per host; an open alert counts the later ones. */
function tellFailure(app: App, tx: Tx, { id, url, invoice_id }: WebhookRow, reason: Value): void {
  const invoice = tx.get(invoiceById, { id: invoice_id });
  const { host } = new URL(url);
  if (!invoice) return;
  const { name: business, network } = app.directory.business(invoice.business_id);
  const open = tx.get(openAlertOf, { kind: FAILED, subject: host });
  const until = app.now();
  if (open) {
    const times = Number(open.message.values.times ?? 1) + 1;
    raiseIn(app, tx, network, FAILED, host, message('webhook.failed_more', { business, times, host, reason }));
  } else if (!tx.get(alertSince, { kind: FAILED, subject: host, since: until - MS_PER_HOUR, until })) {
    const text = message('webhook.failed', { business, invoice: invoice.slug, host, reason, id });
    raiseIn(app, tx, network, FAILED, host, text);
  }
}
