/** The operator API's methods about selling: invoices made by hand, search, takings, the counter, and why one is unpaid. */
import { z } from 'zod';
import { REACHES } from '../domain/reach.ts';
import { CartLine, Price } from './counter.ts';
import { changes, reads } from './method.ts';
import { Decimal, Id, Instant, InvoiceDetailShape, InvoiceShape, TEXT_CHARS_MAX, Text } from './operator-shapes.ts';

const Currency = z.string().regex(/^[A-Z]{3}$/, 'must be a code of ISO 4217, such as EUR');
/** In a fiat currency. */
const Amount = z.string().regex(/^\d{1,12}(\.\d{1,8})?$/, 'must be an amount, such as 25.50');
/** A text of one line; null: none. */
const Label = (charactersMax: number) =>
  z
    .string()
    .min(1)
    .max(charactersMax)
    .regex(/^\P{Cc}*$/u, 'no control characters')
    .nullable()
    .default(null);
const FOUND_MAX = 50;
const PERIODS_MAX = 400;
const LINES_MAX = 200;
const TRIED_CHARS_MAX = 70_000;

/** The answers to "why isn't this paid?". */
const VERDICTS = [
  'paid',
  'marked_paid',
  'canceled',
  'not_chosen',
  'waiting',
  'expired',
  'unconfirmed',
  'short',
  'late',
  'gone',
  'other_coin',
  'inbox',
  'unknown_transaction',
  'unknown_address',
  'other_network',
  'no_invoice',
  'chain_behind',
] as const;

const Sold = z.object({
  invoice: z.string(),
  /** Of a sale whose payment a reorganisation undid: unpaid, until it counts again. */
  status: z.string(),
  amount: Decimal,
  currency: z.string(),
  created_at: Instant,
  /** The value of what has arrived, in the invoice's currency. */
  received_value: Decimal,
  underpaid: z.boolean(),
  late: z.boolean(),
});

const BLOCKS_MAX = 100;
const DEPTH_MAX = 100;
const Blocks = z.int().min(1).max(BLOCKS_MAX);

/** An action of a payer, a miner or the network in the sandbox. */
const PlaySchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('pay'), business: Text, invoice: Text, crypto: Text.optional() }),
  z.strictObject({ action: z.literal('pay-late'), business: Text, invoice: Text }),
  z.strictObject({ action: z.literal('mine'), business: Text, crypto: Text, blocks: Blocks.default(1) }),
  z.strictObject({ action: z.literal('reorg'), business: Text, crypto: Text, depth: z.int().min(1).max(DEPTH_MAX) }),
  z.strictObject({ action: z.literal('outage'), business: Text, crypto: Text, down: z.boolean() }),
]);

const Crypto = z.string().min(1).max(20);

/** `waits`: for the customer. `given`: the address was typed, and the approval is waited for. The others follow the withdrawal. */
const Refund = z.object({
  url: z.string(),
  crypto: z.string(),
  amount: Decimal,
  state: z.enum(['waits', 'given', 'approved', 'sent', 'done']),
});

export const SHOP = {
  /** The sandbox's controls. `pay` with `crypto` asks for that coin first. `tx_id`: of the payment, if it made one. */
  'sandbox.play': changes(PlaySchema, z.object({ tx_id: z.string().nullable() })),
  /** The OpenAPI document of the merchant and browser APIs. */
  'api.show': reads(z.strictObject({}), z.object({ document: z.record(z.string(), z.unknown()) })),
  /**
   * Fields of the shop's latest requests that no operation knows, and that were ignored, the latest first. `operation`: of the OpenAPI
   * document. `meant`: the field that it may have meant. Names alone, since the start, and a few.
   */
  'api.ignored': reads(
    z.strictObject({ business: Text }),
    z.object({
      fields: z.array(
        z.object({
          operation: z.string(),
          field: z.string(),
          meant: z.string().nullable(),
          times: z.int(),
          at: z.string(),
        }),
      ),
    }),
  ),
  /**
   * Sends one request of the OpenAPI document to this service's own API, for a business of the sandbox alone. `parameters`: those of
   * the document by their names. `body`: as it is sent. `key`: an API key of the sandbox, which is not kept; without one the call has
   * a key that exists for its duration only. Throws `Rejected`: `params`, `key.network`, `key.not_found`, `client.not_found`.
   */
  'api.try': changes(
    z.strictObject({
      business: Text,
      operation: Text,
      parameters: z.record(z.string().max(TEXT_CHARS_MAX), z.string().max(TEXT_CHARS_MAX)).default({}),
      body: z.string().max(TRIED_CHARS_MAX).nullable().default(null),
      key: z.string().max(TEXT_CHARS_MAX).nullable().default(null),
    }),
    z.object({
      /** The request that was sent. */
      request: z.string(),
      status: z.int(),
      /** Of the answer's text; JSON, but for some errors. */
      body: z.string(),
      duration_ms: z.int().min(0),
    }),
  ),
  /**
   * An invoice by hand, of any amount from a cent. `choose`: the coin of its payment, which is asked for at once, so that it has an
   * address. If there is none now, the invoice stays, and a payer can choose.
   */
  'invoice.create': changes(
    z.strictObject({
      business: Text,
      amount: Amount,
      currency: Currency,
      crypto: z.string().min(1).max(20).default('ALL'),
      choose: Crypto.optional(),
      order_id: Label(100),
      description: Label(200),
    }),
    z.object({ invoice: InvoiceDetailShape }),
  ),
  /**
   * Finds invoices by one known fact: its id or UUID, the shop's reference, an address, a transaction, or the amount
   * ("60" or "60.00 EUR"), newest first. `as`: how the text was understood.
   */
  'invoice.find': reads(
    z.strictObject({ text: Text, limit: z.int().min(1).max(FOUND_MAX).default(FOUND_MAX) }),
    z.object({ invoices: z.array(InvoiceShape), as: z.array(z.string()) }),
  ),
  /** Why an invoice is not paid. `text`: a transaction, address or link of the customer's, instead or besides. */
  'invoice.explain': reads(
    z.strictObject({ invoice: Text.nullable().default(null), text: Text.nullable().default(null) }),
    z.object({
      verdict: z.enum(VERDICTS),
      /** The invoice that it is about, if there is one. */
      invoice: z.string().nullable(),
      crypto: z.string().nullable(),
      network: z.string().nullable(),
      /** In whole coins: what arrived, and what is missing. */
      received: Decimal.nullable(),
      missing: Decimal.nullable(),
      /** In the invoice's currency. */
      missing_value: Decimal.nullable(),
      currency: z.string().nullable(),
      confirmations: z.int().nullable(),
      required_confirmations: z.int().nullable(),
      at: Instant.nullable(),
      /** The item in the inbox that it is. */
      inbox: Id.nullable(),
    }),
  ),
  /** Confirmed money that counts for invoices, by day or month of the business's time zone, newest first. */
  'takings.list': reads(
    z.strictObject({ business: Text, by: z.enum(['day', 'month']), periods: z.int().min(1).max(PERIODS_MAX) }),
    z.object({
      periods: z.array(
        z.object({
          /** `2026-11-22` or `2026-11`. */
          period: z.string(),
          payments: z.int().min(0),
          coins: z.array(z.object({ crypto: z.string(), usd: Decimal, payments: z.int().min(0) })),
          /** Of invoices, by the day of the block in which their money left. The sums of the coins do not subtract them. */
          refunds: z.object({ count: z.int().min(0), usd: Decimal }),
        }),
      ),
      /** Deposits whose value is not known are not in the sums. */
      unvalued: z.int().min(0),
    }),
  ),
  /** The facts about its business that a till needs. */
  'counter.show': reads(
    z.strictObject({ business: Text.optional() }),
    z.object({
      business: Id,
      name: z.string(),
      network: z.string(),
      /** The business's own, which is then the only one of `currencies`. */
      currency: z.string().nullable(),
      currencies: z.array(z.string()),
      cryptos: z.array(z.object({ crypto: z.string(), ready: z.boolean() })),
      /** Who can open the payment page: where customers cannot, a code must be a coin's own. */
      reach: z.enum(REACHES),
      sales: z.array(Sold),
    }),
    { counter: 'business' },
  ),
  /**
   * A sale: an invoice at the counter. Throws `Rejected`: `item.price` where the till showed another price, `item.not_found`,
   * `validation` where the sum is another one.
   */
  'counter.sell': changes(
    z.strictObject({
      business: Id,
      amount: Amount,
      currency: Currency,
      note: Label(200),
      /** The till's own id of the sale: the same one gets the same invoice. */
      request: z.uuid().optional(),
      /** A part of the amount. */
      tip: Price.default('0'),
      /** They and the tip make the amount; none: the amount less the tip was typed. */
      lines: z.array(CartLine).max(LINES_MAX).default([]),
    }),
    z.object({ invoice: z.string() }),
    { counter: 'business' },
  ),
  /** Asks for a coin. */
  'counter.choose': changes(z.strictObject({ invoice: Text, crypto: Crypto }), z.object({}), { counter: 'invoice' }),
  /** A sale as the till shows it. `crypto`: its code is for that coin, if it was asked for. */
  'counter.sale': reads(
    z.strictObject({ invoice: Text, crypto: Crypto.optional() }),
    z.object({
      sale: Sold,
      /** The content of the QR code: the payment link, or the coin's own. */
      code: z.string(),
      crypto: z.string().nullable(),
      crypto_amount: Decimal.nullable(),
      received: Decimal.nullable(),
      missing: Decimal.nullable(),
      confirmations: z.int(),
      required_confirmations: z.int(),
      price_until: Instant.nullable(),
      updated_at: Instant,
      /** A part of the amount. */
      tip: Decimal,
      /** A typed amount has no name. */
      lines: z.array(z.object({ name: z.string(), price: Decimal, quantity: z.int(), vat: z.int().nullable() })),
      refund: Refund.nullable(),
    }),
    { counter: 'invoice' },
  ),
  /**
   * Asks for the refund of a sale; one under way is returned. No money leaves by it: the customer types the address on the page of
   * `url`, and the withdrawal that follows waits for an approval, which a till cannot give. Throws `Rejected`: `refund.*`.
   */
  'counter.refund': changes(z.strictObject({ invoice: Text }), z.object({ refund: Refund }), { counter: 'invoice' }),
  'counter.cancel': changes(z.strictObject({ invoice: Text }), z.object({}), { counter: 'invoice' }),
} as const;
