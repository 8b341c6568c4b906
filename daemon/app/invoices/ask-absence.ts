/**
 * Asks servers of several operators about invoices whose deadline waits (`vouched.ts`). The answer is kept with the
 * invoice, and settles it. While too few answer, the invoice stays open; after hours the operator is told.
 */

import { Unavailable } from '../../domain/errors.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { inParallel } from '../../kit/async.ts';
import { absenceOf, longWanted, saveAbsence, wantedAbsences } from '../../store/queries/absence.ts';
import { targetById } from '../../store/queries/credits.ts';
import { invoiceById, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import type { Row } from '../../store/schema.ts';
import { end, raiseAs } from '../alerts.ts';
import type { App } from '../app.ts';
import { deadline } from '../deadline.ts';
import { targetsOf } from './payment-targets.ts';
import { settleInvoice } from './settle.ts';

const ASKED_PER_PASS_MAX = 200;
const ASKED_AT_ONCE = 8;
const ANSWER_MS_MAX = 30_000;
/** The interval between two questions about one invoice. */
const ASK_AGAIN_MS = 10_000;
const ALERT_HOURS = 3;
const UNVOUCHED = 'chain.unvouched';

/** To be called every few seconds. */
export async function askAbsence(app: App): Promise<void> {
  const now = app.now();
  const due = app.store.all(wantedAbsences, { before: now - ASK_AGAIN_MS, now, limit: ASKED_PER_PASS_MAX });
  await inParallel(due, ASKED_AT_ONCE, (row) => ask(app, row));
}

async function ask(app: App, { invoice_id }: Row<'absence'>): Promise<void> {
  const payment = app.store.get(paymentOf, { invoice_id });
  const isOpen = app.store.get(invoiceById, { id: invoice_id })?.status === 'unpaid';
  const answer = payment && isOpen ? await answerFor(app, payment) : null;
  await app.store.write((tx) => {
    const row = tx.get(absenceOf, { invoice_id });
    if (!row) return;
    const asked = { ...row, asked_at: app.now() };
    if (answer) tx.run(saveAbsence, { ...asked, ...answer, wanted_at: null });
    else tx.run(saveAbsence, isOpen ? asked : { ...asked, wanted_at: null });
    if (answer) settleInvoice(app, tx, invoice_id);
  });
}

/** The servers that show no further payment at any address of an invoice, and up to when they count; null: not known yet. */
async function answerFor(app: App, payment: PaymentRow): Promise<{ until: number; servers: string } | null> {
  const servers = new Set<string>();
  let until = Number.POSITIVE_INFINITY;
  for (const { chain_key, target_id } of targetsOf(app.store, payment)) {
    const chain = app.chains.find(chain_key);
    const target = app.store.get(targetById, { id: target_id });
    if (!chain || !target || chain.deadlinesUntil === 0) return null;
    // they are asked after the sync that this time is of
    until = Math.min(until, chain.deadlinesUntil);
    const { absence } = chain.adapter;
    if (!absence) continue;
    const script = { id: target_id, script: target.script };
    const named = await absence.showNothing(script, deadline(ANSWER_MS_MAX, chain_key)).catch((error: unknown) => {
      if (error instanceof Unavailable) return null;
      throw error;
    });
    if (named === null) return null;
    for (const name of named) servers.add(name);
  }
  return { until, servers: [...servers].join(', ') };
}

/** Tells the operator of deadlines that have been waiting for hours. To be called every minute. */
export async function tellUnvouched(app: App): Promise<void> {
  const now = app.now();
  for (const { key, adapter } of app.chains.all()) {
    const waiting = app.store.get(longWanted, { chain_key: key, until: now - ALERT_HOURS * MS_PER_HOUR });
    if (!waiting?.count) await end(app, UNVOUCHED, key);
    else {
      const hours = Math.floor((now - (waiting.since ?? now)) / MS_PER_HOUR);
      await raiseAs(app, adapter.network, UNVOUCHED, key, { chain: key, count: waiting.count, hours });
    }
  }
}
