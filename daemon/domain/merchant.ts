/** Names of businesses, the scopes of API keys, the types of the events that shops receive, and whether one was taken. */

/** `refund` asks for refunds of invoices, which always wait for approval; `withdraw` may do that, too. */
export const SCOPES = ['invoices', 'balance', 'withdraw', 'refund'] as const;
export type Scope = (typeof SCOPES)[number];

const INVOICE_EVENTS = [
  'invoice.created',
  'invoice.requested',
  'invoice.seen',
  'invoice.confirmed',
  'invoice.paid',
  'invoice.overpaid',
  'invoice.refunded',
  'invoice.overdue',
  'invoice.canceled',
  'invoice.undone',
] as const;
const PAYOUT_EVENTS = ['withdrawal.pending', 'withdrawal.completed', 'withdrawal.failed'] as const;
export const EVENT_TYPES = [...INVOICE_EVENTS, ...PAYOUT_EVENTS] as const;
/** Sent only when the operator tries an endpoint. */
export const TEST_EVENT = 'endpoint.test';
type InvoiceEvent = (typeof INVOICE_EVENTS)[number];
/** The events of an invoice's own state. That of a refund follows from its withdrawal. */
export type InvoiceNews = Exclude<InvoiceEvent, 'invoice.refunded'>;
export type EventType = (typeof EVENT_TYPES)[number];

/** From this HTTP status on, a shop's server has not taken a notification. A redirection is not followed. */
export const STATUS_FAILED_MIN = 300;

/** The businesses that an operator may mean: the one with a number or UUID, else all with a name in any case. */
export function businessesMeant<B extends { id: number; uuid: string; name: string }>(
  all: readonly B[],
  ref: string,
): B[] {
  const exact = all.find(({ id, uuid }) => `${id}` === ref || uuid === ref.toLowerCase());
  const wanted = ref.trim().toLowerCase();
  return exact ? [exact] : all.filter(({ name }) => name.toLowerCase() === wanted);
}
