/** The scopes of API keys, and the types of the events that shops receive. */

/** `refund` asks for refunds of invoices, which always wait for approval; `withdraw` may do that, too. */
export const SCOPES = ['invoices', 'balance', 'withdraw', 'refund'] as const;
export type Scope = (typeof SCOPES)[number];

const INVOICE_EVENTS = [
  'invoice.created',
  'invoice.requested',
  'invoice.seen',
  'invoice.confirmed',
  'invoice.paid',
  'invoice.overdue',
  'invoice.canceled',
  'invoice.undone',
] as const;
const PAYOUT_EVENTS = ['withdrawal.pending', 'withdrawal.completed', 'withdrawal.failed'] as const;
export const EVENT_TYPES = [...INVOICE_EVENTS, ...PAYOUT_EVENTS] as const;
/** Sent only when the operator tries an endpoint. */
export const TEST_EVENT = 'endpoint.test';
export type InvoiceEvent = (typeof INVOICE_EVENTS)[number];
export type EventType = (typeof EVENT_TYPES)[number];
