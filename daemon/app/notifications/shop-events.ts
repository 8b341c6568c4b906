/**
 * Events for shops: signed JSON, delivered at least once, in addition to the contract's notification. An event is
 * stored in the transaction of its change, as the text that will be sent. A receiver recognises repetitions by the id.
 *
 * Signatures, headers and ids: the Standard Webhooks specification.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { EVENT_TYPES, type EventType, type InvoiceNews, TEST_EVENT } from '../../domain/merchant.ts';
import { type Message, message, textOf } from '../../domain/messages.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import { FLAG } from '../../domain/payment.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, putOffUntil } from '../../domain/time.ts';
import { apiStatus, type WithdrawalState } from '../../domain/withdrawal.ts';
import { type InvoiceRow, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import {
  type DeliveryRow,
  deliveriesBelow,
  deliveryById,
  dropDeliveriesOf,
  dropEvent,
  dueDeliveries,
  type EndpointRow,
  endpointById,
  endpoints,
  insertDelivery,
  insertEndpoint,
  insertShopEvent,
  lastWaiting,
  oldEvents,
  putOffBehind,
  restartDeliveries,
  updateDelivery,
  updateEndpoint,
} from '../../store/queries/shop-events.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import { refundedUnits } from '../invoices/refunded.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import { SECRET_PREFIX, signatureHeaders } from './signature.ts';

/** The pauses between the attempts of one delivery: three days in total. */
const WAITS_MS = [
  5_000,
  5 * MS_PER_MINUTE,
  30 * MS_PER_MINUTE,
  2 * MS_PER_HOUR,
  5 * MS_PER_HOUR,
  10 * MS_PER_HOUR,
  14 * MS_PER_HOUR,
  20 * MS_PER_HOUR,
  20 * MS_PER_HOUR + 25 * MS_PER_MINUTE,
];
/** An endpoint is disabled after this time without a success. */
const FAILING_MAX_MS = 3 * MS_PER_DAY;
/** How long the secret before a rotation also signs. */
const FORMER_SECRET_MS = MS_PER_DAY;
const KEPT_MS = 30 * MS_PER_DAY;
const DROPPED_AT_ONCE_MAX = 200;
const SECRET_BYTES = 32;
const ENDPOINTS_PER_BUSINESS_MAX = 10;
const NEWEST = Number.MAX_SAFE_INTEGER;

/** HTTP 410: the receiver wants no further events (Standard Webhooks). */
const GONE = 410;

const newEventId = (): string => `evt_${randomUUID().replaceAll('-', '')}`;

const newSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

const typesOf = (row: EndpointRow): readonly string[] => row.types;

const takes = (row: EndpointRow, type: string): boolean => typesOf(row).length === 0 || typesOf(row).includes(type);

/** Stores an event, and a delivery for every endpoint of the business that receives its type. */
function queue(app: App, tx: Tx, businessId: number, type: EventType, subject: string, data: () => object): void {
  const wanting = app.directory.endpoints(businessId).filter((row) => takes(row, type));
  if (wanting.length === 0) return;
  const now = app.now();
  const { network } = app.directory.business(businessId);
  const event = tx.run(insertShopEvent, {
    uuid: newEventId(),
    business_id: businessId,
    type,
    subject,
    body: JSON.stringify({ type, timestamp: toIso(now), network, data: data() }),
    created_at: now,
  });
  for (const { id: endpoint_id } of wanting) {
    const before = tx.get(lastWaiting, { endpoint_id, subject });
    tx.run(insertDelivery, { event_id: event.id, endpoint_id, subject, due_at: Math.max(now, before?.due_at ?? now) });
  }
  tx.afterCommit(() => app.wake.shopEvents());
}

/** To be called after the rows were written. */
export function queueInvoiceEvent(app: App, tx: Tx, invoice: InvoiceRow, type: InvoiceNews): void {
  queue(app, tx, invoice.business_id, type, subjectOf(invoice), () => invoiceData(tx, invoice));
}

/** Stores the event of a refund of an invoice, to be called once its withdrawal was written as completed. */
export function queueRefundEvent(app: App, tx: Tx, invoice: InvoiceRow, row: WithdrawalRow): void {
  queue(app, tx, invoice.business_id, 'invoice.refunded', subjectOf(invoice), () => ({
    ...invoiceData(tx, invoice),
    refund: {
      id: `${row.id}`,
      tx_id: row.txid,
      amount: formatUnits(row.units, assetOf(row.asset)),
      crypto: row.asset,
      address: row.address,
    },
  }));
}

const subjectOf = (invoice: InvoiceRow): string => `invoice ${invoice.slug}`;

function invoiceData(reader: Reader, invoice: InvoiceRow) {
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  return {
    id: invoice.slug,
    order_id: invoice.order_id,
    metadata: invoice.metadata,
    status: invoice.status,
    amount: formatDecimal(invoice.amount, FIAT_DECIMALS),
    currency: invoice.currency,
    payment: payment ? paymentData(reader, invoice, payment) : null,
  };
}

function paymentData(reader: Reader, invoice: InvoiceRow, payment: PaymentRow) {
  const asset = assetOf(payment.asset);
  return {
    crypto: payment.asset,
    address: payment.address,
    status: payment.status,
    amount: formatUnits(payment.quote_amount, asset),
    received: formatUnits(payment.received, asset),
    confirmed: formatUnits(payment.confirmed, asset),
    refunded: formatUnits(refundedUnits(reader, invoice, payment), asset),
    underpaid: (payment.flags & FLAG.underpaid) !== 0,
    overpaid: (payment.flags & FLAG.overpaid) !== 0,
    late: (payment.flags & FLAG.late) !== 0,
    undone: (payment.flags & FLAG.undone) !== 0,
  };
}

/** Stores an event if the state differs from `was` in the API. */
export function queueWithdrawalEvent(app: App, tx: Tx, row: WithdrawalRow, was: WithdrawalState | null): void {
  const status = apiStatus(row.state);
  if (was !== null && apiStatus(was) === status) return;
  const asset = assetOf(row.asset);
  queue(app, tx, row.business_id, `withdrawal.${status}`, `withdrawal ${row.id}`, () => ({
    id: `${row.id}`,
    status,
    tx_id: status === 'completed' ? row.txid : null,
    amount: formatUnits(row.units, asset),
    crypto: row.asset,
    address: row.address,
  }));
}

export type Delivery = DeliveryRow & { uuid: string; body: string };

/** The due deliveries of an endpoint; none while it is disabled, or during the quarantine. */
export function dueFor(app: App, endpoint: EndpointRow, limit: number): Delivery[] {
  if (endpoint.disabled_at !== null || isQuarantined(app.store)) return [];
  const now = app.now();
  const due = (from: number, until: number): Delivery[] =>
    app.store.all(dueDeliveries, { endpoint_id: endpoint.id, from, until, limit });
  return [...due(0, now), ...due(putOffUntil(now) + 1, NEWEST)].slice(0, limit);
}

/** The headers of an attempt: id, time, and a signature with each valid secret. */
export function signedHeaders(endpoint: EndpointRow, { uuid, body }: Pick<Delivery, 'uuid' | 'body'>, now: number) {
  const { secret, former_secret, former_until } = endpoint;
  const secrets = [secret, ...(former_secret !== null && (former_until ?? 0) > now ? [former_secret] : [])];
  return signatureHeaders(secrets, uuid, body, now);
}

/** The result of an attempt. `jitter`: 0 to 1. */
type Outcome = { status: number | null; error: string | null; jitter: number };

/** Records an attempt, and updates the delivery and its endpoint. */
export function recordDelivery(app: App, tx: Tx, id: number, { status, error, jitter }: Outcome): void {
  const delivery = tx.get(deliveryById, { id });
  const endpoint = delivery && tx.get(endpointById, { id: delivery.endpoint_id });
  if (!delivery || !endpoint || delivery.state !== 'waiting') return;
  const now = app.now();
  const done = status !== null && status >= 200 && status < 300;
  const attempts = delivery.attempts + 1;
  const wait = WAITS_MS[attempts - 1];
  const failing_since = done ? null : (endpoint.failing_since ?? now);
  const why =
    status === GONE
      ? message('endpoint.gone')
      : failing_since !== null && now - failing_since >= FAILING_MAX_MS
        ? message('endpoint.silent')
        : null;
  // what a disabled endpoint did not take waits until it is enabled, however often it was tried
  const isGivenUp = wait === undefined && why === null && endpoint.disabled_at === null;
  const state = done ? 'delivered' : isGivenUp ? 'failed' : 'waiting';
  // up to a tenth later, so that simultaneous failures are not repeated at the same time
  const due_at = state === 'waiting' ? now + Math.round((wait ?? 0) * (1 + jitter / 10)) : now;
  tx.run(updateDelivery, { id, state, attempts, due_at, status, error, attempted_at: now });
  tx.run(putOffBehind, { id, endpoint_id: delivery.endpoint_id, subject: delivery.subject, due_at });
  if (why !== null) disable(app, tx, endpoint, failing_since, why);
  else if (failing_since !== endpoint.failing_since) save(app, tx, { ...endpoint, failing_since });
}

function save(app: App, tx: Tx, row: EndpointRow): void {
  tx.run(updateEndpoint, row);
  tx.afterCommit(() => app.directory.load(app.store));
}

const DISABLED = 'endpoint.disabled';

function disable(app: App, tx: Tx, endpoint: EndpointRow, failing_since: number | null, reason: Message): void {
  save(app, tx, { ...endpoint, failing_since, disabled_at: app.now(), disabled_why: textOf(reason) });
  const { name, network } = app.directory.business(endpoint.business_id);
  const { id, url } = endpoint;
  const text = message('endpoint.disabled', { business: name, id, url, reason });
  raiseIn(app, tx, network, DISABLED, `${id}`, text);
}

/** Deletes a bounded number of events older than a month. */
export function dropOldEvents(app: App, tx: Tx): void {
  const rows = tx.all(oldEvents, { before: app.chains.credibleNow(app.now()) - KEPT_MS, limit: DROPPED_AT_ONCE_MAX });
  for (const { id } of rows) {
    tx.run(dropDeliveriesOf, { event_id: id });
    tx.run(dropEvent, { id });
  }
}

/** An endpoint that was not removed. Throws `Rejected('endpoint.not_found')`. */
export function endpointOf(reader: Reader, id: number): EndpointRow {
  const row = reader.get(endpointById, { id });
  if (!row) throw new Rejected('endpoint.not_found', `There is no event endpoint ${id}`, 'id');
  return row;
}

/** Adds an endpoint and returns it with its secret. Throws `Rejected('endpoint.too_many')`. */
export function addEndpoint(app: App, tx: Tx, businessId: number, url: string, types: readonly string[]): EndpointRow {
  if (tx.all(endpoints, {}).filter((row) => row.business_id === businessId).length >= ENDPOINTS_PER_BUSINESS_MAX) {
    throw new Rejected('endpoint.too_many', `A business has ${ENDPOINTS_PER_BUSINESS_MAX} event endpoints at most`);
  }
  const { id } = tx.run(insertEndpoint, {
    business_id: businessId,
    url,
    types: storedTypes(types),
    secret: newSecret(),
    created_at: app.now(),
  });
  tx.afterCommit(() => app.directory.load(app.store));
  return endpointOf(tx, id);
}

/** Every type is none: types of later releases are among them. */
function storedTypes(types: readonly string[]): string[] {
  const wanted = [...new Set(types)];
  return wanted.length === EVENT_TYPES.length ? [] : wanted;
}

/** Changes which events an endpoint is sent from now on. Throws `Rejected('endpoint.not_found')`. */
export function changeTypes(app: App, tx: Tx, id: number, types: readonly string[]): EndpointRow {
  save(app, tx, { ...endpointOf(tx, id), types: storedTypes(types) });
  return endpointOf(tx, id);
}

/** Makes a new secret; the former one also signs for a day. Throws `Rejected('endpoint.not_found')`. */
export function rotateSecret(app: App, tx: Tx, id: number): EndpointRow {
  const row = endpointOf(tx, id);
  const until = app.now() + FORMER_SECRET_MS;
  save(app, tx, { ...row, secret: newSecret(), former_secret: row.secret, former_until: until });
  return endpointOf(tx, id);
}

/** Enables an endpoint. Its waiting deliveries are due at once, with all their attempts. Throws `Rejected('endpoint.not_found')`. */
export function enableEndpoint(app: App, tx: Tx, id: number): EndpointRow {
  const row = endpointOf(tx, id);
  tx.run(restartDeliveries, { endpoint_id: id, now: app.now() });
  save(app, tx, { ...row, failing_since: null, disabled_at: null, disabled_why: null });
  endIn(app, tx, DISABLED, `${id}`);
  tx.afterCommit(() => app.wake.shopEvents());
  return endpointOf(tx, id);
}

/** Why an endpoint is disabled that the operator paused. */
const PAUSED = 'paused by the operator';

/** Sends an endpoint nothing until it is enabled; its events wait. Throws `Rejected('endpoint.not_found')`. */
export function pauseEndpoint(app: App, tx: Tx, id: number): EndpointRow {
  const row = endpointOf(tx, id);
  if (row.disabled_at === null) save(app, tx, { ...row, disabled_at: app.now(), disabled_why: PAUSED });
  return endpointOf(tx, id);
}

/**
 * An event about nothing, for an operator who tries an endpoint; no endpoint asks for its type. It is not stored.
 * Throws `Rejected('endpoint.quarantine')`: during the quarantine nothing is sent.
 */
export function testEvent(app: App, { id, business_id }: EndpointRow): Pick<Delivery, 'uuid' | 'body'> {
  if (isQuarantined(app.store)) {
    throw new Rejected('endpoint.quarantine', 'A restored service sends nothing until the restore is confirmed');
  }
  const { network } = app.directory.business(business_id);
  const event = { type: TEST_EVENT, timestamp: toIso(app.now()), network, data: { id: `${id}` } };
  return { uuid: newEventId(), body: JSON.stringify(event) };
}

/** Removes an endpoint. Throws `Rejected('endpoint.not_found')`. */
export function removeEndpoint(app: App, tx: Tx, id: number): void {
  save(app, tx, { ...endpointOf(tx, id), removed_at: app.now() });
}

/** Queues an event's delivery again. Throws `Rejected('delivery.not_found')`. */
export function resendDelivery(app: App, tx: Tx, id: number): void {
  const row = tx.get(deliveryById, { id });
  if (!row) throw new Rejected('delivery.not_found', `There is no event delivery ${id}`, 'id');
  endpointOf(tx, row.endpoint_id);
  tx.run(updateDelivery, { ...row, state: 'waiting', attempts: 0, due_at: app.now() });
  tx.afterCommit(() => app.wake.shopEvents());
}

/** The deliveries, newest first. */
export function deliveryPage(app: App, { limit, before = NEWEST }: { limit: number; before?: number | undefined }) {
  return app.store.all(deliveriesBelow, { id: before, limit });
}
