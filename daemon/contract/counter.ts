/** The operator API's methods about the counter's items and closings. */
import { z } from 'zod';
import { changes, reads } from './method.ts';
import { Decimal, Id, Instant, MessageShape, Text } from './operator-shapes.ts';

const NAME_CHARS_MAX = 100;
const ITEMS_AT_ONCE_MAX = 500;
const QUANTITY_MAX = 9_999;
const CLOSINGS_MAX = 50;
/** Hundredths of a percent: 700 is 7 %. */
const VatRate = z.int().min(0).max(9_999).nullable();
export const Price = z.string().regex(/^\d{1,9}(\.\d{1,8})?$/, 'must be an amount, such as 2.40');

const line = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .regex(/^\P{Cc}*$/u, 'no control characters');
/** `price` includes the VAT. `category`: empty for none. */
const NewItem = z.strictObject({
  name: line(NAME_CHARS_MAX).regex(/\S/, 'must not be empty'),
  category: line(NAME_CHARS_MAX).default(''),
  price: Price,
  vat: VatRate.default(null),
  sold_out: z.boolean().default(false),
});
const ItemShape = z.object({
  id: Id,
  name: z.string(),
  category: z.string(),
  price: Decimal,
  vat: VatRate,
  sold_out: z.boolean(),
});

/** A line of a cart. `item`: null for a typed amount, whose rate is then `vat`; an item has its own. `price`: as the till showed it. */
export const CartLine = z.strictObject({
  item: Id.nullable(),
  price: Price,
  quantity: z.int().min(1).max(QUANTITY_MAX),
  vat: VatRate.default(null),
});

/** Decimals of the currency; coins whole. See `daemon/app/operator/closing.ts` for what adds up to what. */
const Part = z.object({
  currency: z.string(),
  sales: z.object({ count: z.int(), sum: Decimal }),
  tips: Decimal,
  refunds: z.object({ count: z.int(), sum: Decimal, unvalued: z.int() }),
  fees: z.array(z.object({ crypto: z.string(), amount: Decimal })),
  taken: Decimal,
  items: z.array(z.object({ name: z.string(), price: Decimal, quantity: z.int(), sum: Decimal })),
  coins: z.array(z.object({ crypto: z.string().nullable(), payments: z.int(), sum: Decimal })),
  difference: Decimal,
  taxes: z.array(z.object({ rate: VatRate, net: Decimal, tax: Decimal, gross: Decimal })),
  kept_tips: Decimal,
});
/**
 * The e-mail about a closing. `state`: on its way (`sending`: to the server now), taken by the server, given up, or not known, since the
 * server or the service fell silent. `problem`: of the last try. `next_at`: when it is tried again.
 */
const ClosingMail = z.object({
  to: z.array(z.string()),
  state: z.enum(['waiting', 'sending', 'sent', 'unknown', 'failed']),
  problem: MessageShape.nullable(),
  changed_at: Instant,
  next_at: Instant.nullable(),
});
/** Of the words in the e-mail. */
const Language = z.enum(['en', 'de']).default('en');
const Closing = z.object({
  number: z.int().min(1),
  /** Of the first sale; null: there was none. */
  from: Instant.nullable(),
  to: Instant,
  parts: z.array(Part),
  books: z.object({ agree: z.int(), differ: z.array(z.string()) }),
  waiting: z.array(z.object({ invoice: z.string(), amount: Decimal, currency: z.string() })),
  /** Null: none was asked for. */
  mail: ClosingMail.nullable(),
});

export const COUNTER = {
  'item.list': reads(z.strictObject({ business: Text }), z.object({ items: z.array(ItemShape) }), {
    counter: 'business',
  }),
  'item.add': changes(
    z.strictObject({ business: Text, items: z.array(NewItem).min(1).max(ITEMS_AT_ONCE_MAX) }),
    z.object({}),
  ),
  'item.change': changes(NewItem.extend({ business: Text, id: Id }), z.object({})),
  'item.remove': changes(z.strictObject({ business: Text, id: Id }), z.object({})),
  /** The next closing as it would be now. `mail_to`: who gets it by e-mail (`closing.mail`). */
  'closing.next': reads(
    z.strictObject({ business: Text }),
    z.object({ closing: Closing, mail_to: z.array(z.string()) }),
  ),
  /** Closes the day. `number`: of `closing.next`. Throws `Rejected('closing.number')` if another one was made meanwhile. */
  'closing.make': changes(
    z.strictObject({ business: Text, number: z.int().min(1), language: Language }),
    z.object({ closing: Closing }),
  ),
  /** Sends the e-mail about a closing, or sends it once more. Throws `Rejected`: `closing.not_found`, `.mail_off`, `.mail_waits`. */
  'closing.mail': changes(
    z.strictObject({ business: Text, number: z.int().min(1), language: Language }),
    z.object({ closing: Closing }),
  ),
  /** Closings below a number, the newest first. */
  'closing.list': reads(
    z.strictObject({
      business: Text,
      before: z.int().min(1).optional(),
      limit: z.int().min(1).max(CLOSINGS_MAX).default(CLOSINGS_MAX),
    }),
    z.object({ closings: z.array(Closing) }),
  ),
} as const;
