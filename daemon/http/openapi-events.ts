/** The events that an endpoint gets, as OpenAPI's `webhooks`: one for each type, with its data and an example. */
import { EVENT_TYPES, type EventType } from '../domain/merchant.ts';

type Json = Record<string, unknown>;

const WHEN: Readonly<Record<EventType, string>> = {
  'invoice.created': 'An invoice was made',
  'invoice.requested': 'A payer was given an address and an amount',
  'invoice.seen': 'Money was seen; it is not confirmed yet',
  'invoice.confirmed': 'A deposit has its confirmations',
  'invoice.paid': 'The invoice is paid',
  'invoice.overpaid': 'More was confirmed than was owed',
  'invoice.refunded': 'A refund of the invoice has its first confirmation; once for each refund',
  'invoice.overdue': 'The due date and the price are over, and not enough was seen',
  'invoice.canceled': 'The invoice is canceled: what comes now goes to the inbox',
  'invoice.undone': 'A reorganisation of the chain took away what had paid the invoice',
  'withdrawal.pending': 'A withdrawal or refund was asked for, or a reorganisation undid its transaction',
  'withdrawal.completed': 'Its transaction has its first confirmation',
  'withdrawal.failed': 'It was rejected, expired, or can never be confirmed',
};

const PAYMENT = {
  crypto: 'LTC',
  address: 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9',
  status: 'pending',
  amount: '0.3125',
  received: '0',
  confirmed: '0',
  refunded: '0',
  underpaid: false,
  overpaid: false,
  late: false,
  undone: false,
};
const ALL = { received: '0.3125' };
const DONE = { ...ALL, confirmed: '0.3125', status: 'paid' };

/** The payment of an event's example, and the invoice's status; null before an address was given out. */
const INVOICES: Readonly<Record<string, { status: string; payment: Json | null }>> = {
  'invoice.created': { status: 'unpaid', payment: null },
  'invoice.requested': { status: 'unpaid', payment: PAYMENT },
  'invoice.seen': { status: 'unpaid', payment: { ...PAYMENT, ...ALL } },
  'invoice.confirmed': {
    status: 'unpaid',
    payment: { ...PAYMENT, received: '0.1', confirmed: '0.1', underpaid: true },
  },
  'invoice.paid': { status: 'paid', payment: { ...PAYMENT, ...DONE } },
  'invoice.overpaid': {
    status: 'paid',
    payment: { ...PAYMENT, ...DONE, received: '0.4', confirmed: '0.4', overpaid: true },
  },
  'invoice.refunded': { status: 'paid', payment: { ...PAYMENT, ...DONE, refunded: '0.1' } },
  'invoice.overdue': { status: 'unpaid', payment: { ...PAYMENT, status: 'overdue' } },
  'invoice.canceled': { status: 'canceled', payment: { ...PAYMENT, status: 'overdue' } },
  'invoice.undone': { status: 'paid', payment: { ...PAYMENT, status: 'paid', undone: true } },
};

const WITHDRAWAL = {
  id: '299',
  tx_id: null,
  amount: '0.5',
  crypto: 'LTC',
  address: PAYMENT.address,
};
const TXID = 'fdf22b4be9ad1f0d4f9e9a2e1f2f6f6a8c1d5b0e7c3a49f8b6d2e1c0a9b8c7d6';

const REFUND = { ...WITHDRAWAL, tx_id: TXID, amount: '0.1' };

function dataOf(type: EventType): Json {
  const invoice = INVOICES[type];
  if (invoice) {
    const about = { id: 'aB3dE5gH7jK9', order_id: 'A-1001', metadata: { customer: '42' } };
    const data = { ...about, status: invoice.status, amount: '25', currency: 'USD', payment: invoice.payment };
    return type === 'invoice.refunded' ? { ...data, refund: REFUND } : data;
  }
  const status = type.slice('withdrawal.'.length);
  return { ...WITHDRAWAL, status, tx_id: status === 'completed' ? TXID : null };
}

const decimal = { type: 'string', pattern: '^\\d+(\\.\\d+)?$' };
const text = { type: 'string' };
const truth = { type: 'boolean' };
const textOrNull = { type: ['string', 'null'] };

const closed = (properties: Record<string, Json>): Json => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const EVENT_PAYMENT: Json = {
  ...closed({
    crypto: text,
    address: text,
    status: { enum: ['pending', 'paid', 'overdue'] },
    amount: decimal,
    received: decimal,
    confirmed: decimal,
    refunded: decimal,
    underpaid: truth,
    overpaid: truth,
    late: truth,
    undone: truth,
  }),
  type: ['object', 'null'],
  description: 'In units of `crypto`; null before an address was given out.',
};

const EVENT_INVOICE: Readonly<Record<string, Json>> = {
  id: text,
  order_id: textOrNull,
  metadata: { type: ['object', 'null'], additionalProperties: text },
  status: { enum: ['unpaid', 'paid', 'canceled'] },
  amount: decimal,
  currency: text,
  payment: EVENT_PAYMENT,
};

/** The schemas of the data of events, by name. */
export const EVENT_SCHEMAS: Readonly<Record<string, Json>> = {
  InvoiceEvent: closed(EVENT_INVOICE),
  RefundEvent: closed({
    ...EVENT_INVOICE,
    refund: {
      ...closed({ id: text, tx_id: text, amount: decimal, crypto: text, address: text }),
      description: 'The refund that was confirmed. `payment.refunded` is the sum of all.',
    },
  }),
  WithdrawalEvent: closed({
    id: text,
    status: { enum: ['pending', 'completed', 'failed'] },
    tx_id: { ...textOrNull, description: 'With `completed` alone.' },
    amount: decimal,
    crypto: text,
    address: text,
  }),
};

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: text,
});
const HEADERS = [
  header('webhook-id', 'The same at each try: act once for each'),
  header('webhook-timestamp', 'Seconds since 1970; refuse what is older than five minutes'),
  header('webhook-signature', 'Of id, timestamp and body, by the Standard Webhooks specification'),
];

/** The body of an event's example. */
export const exampleOf = (type: EventType): Json => ({
  type,
  timestamp: '2026-11-21T10:00:00.000000Z',
  network: 'mainnet',
  data: dataOf(type),
});

function schemaOf(type: EventType): string {
  if (type === 'invoice.refunded') return 'RefundEvent';
  return type.startsWith('invoice.') ? 'InvoiceEvent' : 'WithdrawalEvent';
}

function webhook(type: EventType): Json {
  const data = { $ref: `#/components/schemas/${schemaOf(type)}` };
  const schema = closed({
    type: { const: type },
    timestamp: { type: 'string', format: 'date-time' },
    network: { enum: ['mainnet', 'testnet', 'regtest', 'sandbox'] },
    data,
  });
  return {
    post: {
      operationId: `event-${type}`.replace(/[-.](.)/g, (_, letter: string) => letter.toUpperCase()),
      summary: WHEN[type],
      tags: ['Events'],
      security: [],
      parameters: HEADERS,
      requestBody: { content: { 'application/json': { schema, example: exampleOf(type) } } },
      responses: {
        '2XX': { description: 'Taken' },
        410: { description: 'The endpoint wants no further events: it is disabled' },
        '4XX': { description: 'Sent again, for three days' },
      },
    },
  };
}

export const webhooks = (): Record<string, Json> =>
  Object.fromEntries(EVENT_TYPES.map((type) => [type, webhook(type)]));
