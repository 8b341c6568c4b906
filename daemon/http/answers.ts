/**
 * Every answer of the merchant API and the client API, once: the API description, the presenters' types and the check of
 * the SDK's types are derived from it. Schemas that JSON Schema expresses in another way than zod are given beside
 * (`json`).
 */
import { z } from 'zod';
import { RECEIPT_STATUSES } from '../app/books/lists.ts';
import { ASSETS, type AssetId } from '../domain/assets.ts';
import { INVOICE_STATUSES, PAYMENT_STATUSES } from '../domain/payment.ts';

type Json = Record<string, unknown>;

/** The names that `flags` of a payment may have; each is also a field. */
export const FLAG_NAMES = ['underpaid', 'overpaid', 'late', 'undone', 'unvalued'] as const;

const json = <S extends z.ZodType>(schema: S, override: Json, description?: string): S =>
  schema.meta({ override, ...(description === undefined ? {} : { description }) }) as S;

const text = z.string();
const textOrNull = z.string().nullable();
const decimal = z.string().regex(/^\d+(\.\d+)?$/);
const instant = json(text, { type: 'string', format: 'date-time', examples: ['2026-11-30T23:59:59.000000Z'] });
const uri = json(text, { type: 'string', format: 'uri' });
const uriOrNull = json(textOrNull, { type: ['string', 'null'], format: 'uri' });
const truth = z.boolean();
const whole = json(z.number(), { type: 'integer' });
const wholeOrNull = json(z.number().nullable(), { type: ['integer', 'null'] });

const ALL_SYMBOLS = ASSETS.map(({ symbol }) => symbol) as [AssetId, ...AssetId[]];
const symbol = z.enum(ALL_SYMBOLS);
/** An asset, or ALL where the payer chooses. */
const symbolOrAll = json(text, { type: 'string', enum: [...ALL_SYMBOLS, 'ALL'] });
const invoiceStatus = z.enum(INVOICE_STATUSES);
const withdrawalStatus = z.enum(['pending', 'completed', 'failed']);

const internal = truth
  .optional()
  .describe(
    'True for a coin sent from inside a contract, as exchanges do: `tx_id` is then the transaction that the source names, ' +
      'or the hash of the block where it names none.',
  );

const Payment = z.object({
  invoice_id: json(text, { type: 'string', format: 'uuid' }),
  address: text.describe('Where to pay to.'),
  amount: decimal,
  status: z.enum(PAYMENT_STATUSES),
  crypto: symbol,
  rates: text.describe('A JSON object, as text, with the worth of one coin: {"usd":…,"eur":…,"gbp":…}.'),
  created_at: instant,
  updated_at: instant,
  received: decimal.describe(
    'In `crypto`. A payment in a coin that the payer had chosen before counts with the amount of `crypto` that its value buys.',
  ),
  confirmed: decimal,
  refunded: decimal.describe(
    'In `crypto`: the refunds of the invoice whose transactions have a confirmation. A refund in a coin that the payer had ' +
      'chosen before counts as the deposits in it do.',
  ),
  remaining: decimal,
  confirmations: whole,
  required_confirmations: whole,
  quote_expires_at: instant,
  transactions: z.array(
    z.object({
      tx_id: text,
      internal,
      crypto: symbol
        .optional()
        .describe('Only where it is another coin than that of the payment, which the payer had left.'),
      amount: decimal,
      confirmations: whole,
    }),
  ),
  underpaid: truth,
  overpaid: truth,
  late: truth,
  undone: truth,
  unvalued: truth,
  flags: z.array(z.enum(FLAG_NAMES)),
});

const Invoice = z.object({
  id: text,
  invoice_url: uri,
  due_date: instant,
  amount: decimal,
  currency: text,
  crypto: symbolOrAll,
  url_slug: text,
  status: invoiceStatus,
  rates: textOrNull,
  created_at: instant,
  order_id: textOrNull,
  description: textOrNull,
  metadata: json(z.record(text, text).nullable(), {
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
  }),
  payment: z.union([Payment, z.object({ status: z.null() })]),
});

const PayersPayment = Payment.partial({ address: true });

const Withdrawal = z.object({
  id: text.describe('A decimal.'),
  status: withdrawalStatus,
  tx_id: textOrNull.describe('Only when completed.'),
  amount: decimal,
  crypto: symbol,
  address: text,
  invoice_id: textOrNull.describe('The invoice that it refunds.'),
  fee: textOrNull.describe('On top of the amount; null until it is signed.'),
  created_at: instant,
  updated_at: instant,
});

const Receipt = z.object({
  tx_id: text,
  internal,
  crypto: symbol,
  amount: decimal,
  address: text,
  status: z.enum(RECEIPT_STATUSES),
  confirmations: whole,
  required_confirmations: whole,
  network: text,
  invoice_id: textOrNull.describe('The invoice at whose address it came.'),
  order_id: textOrNull,
  counts_for_invoice: truth,
  value: textOrNull.describe('In `currency`, at the rate that it counted with.'),
  currency: textOrNull,
  value_usd: textOrNull,
  created_at: instant,
});

const pageOf = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item),
    next: textOrNull.describe('The `cursor` of the next page; null when there is none. A page may be short.'),
  });

const number = z.number();

/** By the name that each has in the description. */
const ANSWERS = {
  Payment,
  CreatedInvoice: z.object({
    id: text,
    success: json(z.literal(true), { const: true }),
    invoice_url: uri,
    due_date: instant,
    amount: decimal,
    crypto: symbolOrAll,
    rates: z.null(),
    currency: text,
    status: json(z.literal('unpaid'), { const: 'unpaid' }),
  }),
  Invoice,
  Cryptos: z.array(z.object({ id: whole, name: text, symbol })),
  Minimum: z.object({ amount: decimal, currency: text }),
  Rates: z.object({ usd: decimal, eur: decimal, gbp: decimal }),
  Balance: z.record(
    text,
    z.union([number, z.object({ balance: number, rates: z.object({ USD: number, EUR: number, GBP: number }) })]),
  ),
  RequestedWithdrawal: z.object({ id: text.describe('A decimal.'), status: withdrawalStatus }),
  Withdrawal,
  RefundLink: z.object({
    refund_url: uri,
    invoice_id: text,
    amount: decimal.describe('The payer gets it whole: the fee comes on top.'),
    crypto: symbol,
    expires_at: instant.describe('Until when the payer may type the address.'),
    created_at: instant,
  }),
  Invoices: pageOf(Invoice),
  Withdrawals: pageOf(Withdrawal),
  Transactions: pageOf(Receipt),
  Transaction: Receipt,
  WithdrawalError: z.object({ message: text, status: json(z.literal('error'), { const: 'error' }) }),
  SandboxPayment: z.object({ tx_id: text, amount: decimal }),
  SandboxHeight: z.object({ height: whole }),
  SandboxReplacement: z.object({ tx_id: text.describe('Of the transaction that pays somebody else.') }),
  Nothing: z.object({}),
  Message: z.object({ message: text }),
  Error: z.object({ error: text }),
  MessageAndError: z.object({ message: text, error: text.optional() }),
  Validation: z.object({ message: text, errors: z.record(text, z.array(text)) }),
  PayersPayment,
  PayersInvoice: Invoice.omit({ metadata: true, payment: true }).extend({
    close_url: uriOrNull,
    redirect_url: uriOrNull,
    automatic_redirect: truth,
    payment: PayersPayment.optional(),
  }),
  InvoiceStatus: z.object({
    status: invoiceStatus,
    payment_status: json(z.enum(PAYMENT_STATUSES).nullable(), { enum: [...PAYMENT_STATUSES, null] }),
    received: textOrNull,
    remaining: textOrNull,
    confirmations: wholeOrNull,
    required_confirmations: wholeOrNull,
  }),
  RatesByCrypto: z.record(text, z.object({ usd: number, eur: number, gbp: number }).partial()),
};

export type Answer<Name extends keyof typeof ANSWERS> = z.output<(typeof ANSWERS)[Name]>;

/** The schemas of all answers, by name; one within another is a reference. */
export function answerSchemas(): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(ANSWERS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ zodSchema, jsonSchema }) => plain(zodSchema as unknown as z.ZodType, jsonSchema as Json),
  });
  for (const schema of Object.values(schemas) as Json[]) {
    delete schema.$schema;
    delete schema.$id;
  }
  return schemas as Record<string, Json>;
}

/** Says the same as zod does in the words of the API description. */
function plain(schema: z.ZodType, found: Json): void {
  const { override, description } = (z.globalRegistry.get(schema) ?? {}) as { override?: Json; description?: string };
  if (override) {
    for (const name of Object.keys(found)) delete found[name];
    Object.assign(found, override, description === undefined ? {} : { description });
  }
  // an answer may get more fields, and a client ignores those that it does not know
  if (found.additionalProperties === false) delete found.additionalProperties;
  delete found.propertyNames;
  if (found.properties) found.required ??= [];
  const [first, second] = (found.anyOf ?? []) as Json[];
  if (!first) return;
  delete found.anyOf;
  if (second?.type === 'null' && Object.keys(first).join() === 'type') found.type = [first.type, 'null'];
  else found.oneOf = [first, second];
}
