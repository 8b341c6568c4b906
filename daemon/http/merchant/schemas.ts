/**
 * Schemas of the merchant API's requests. Fields are checked in the order of the contract's tables; each rule has one
 * message, and only the first failure is reported. `null` counts as absent.
 */
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { acceptsCrypto, cryptosFor } from '../../app/invoices/invoices.ts';
import { refusalOf } from '../../app/notifications/destinations.ts';
import { invalidCrypto } from '../../app/shops/cryptos.ts';
import type { Business } from '../../app/shops/directory.ts';
import { INVOICE_SYMBOLS } from '../../domain/assets.ts';
import { compareDays, dayOf, endOfDay, parseDay } from '../../domain/calendar.ts';
import { FIAT } from '../../domain/currencies.ts';
import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, parseDecimal, snapDecimal } from '../../domain/money.ts';
import { JsonNumber } from '../body.ts';

const AMOUNT_MAX = 1_000_000_000n;
const AMOUNT_DECIMALS = 2;
const URL_CHARACTERS_MAX = 2_048;
const TEXT_CHARACTERS_MAX = 255;
export const ORDER_ID_CHARACTERS_MAX = 100;
const DESCRIPTION_CHARACTERS_MAX = 500;
const METADATA_KEYS_MAX = 20;
const METADATA_KEY_CHARACTERS_MAX = 100;
const METADATA_VALUE_CHARACTERS_MAX = 500;

/** A fiat amount (number or decimal string) as an integer that counts 10^-decimals; null if it is not exact. */
function fiatInteger(value: unknown, decimals: number): bigint | null {
  if (value instanceof JsonNumber) return snapDecimal(value.source, decimals);
  return typeof value === 'string' ? parseDecimal(value, decimals) : null;
}

type AmountInput = JsonNumber | string;

const isGiven = (value: unknown): value is AmountInput => value instanceof JsonNumber || typeof value === 'string';

/** A required fiat amount with at most two decimals. The decimals of its currency are checked later. */
const amount = z
  .unknown()
  .optional()
  .superRefine((value, context) => {
    const fail = (message: string): void => context.addIssue({ code: 'custom', message });
    if (value === undefined || value === null || value === '') fail('The amount field is required.');
    else if (!isGiven(value)) fail('The amount must be a number.');
    else if (value instanceof JsonNumber ? /^-/.test(value.source) : !/^\d+(\.\d+)?$/.test(value)) {
      fail('The amount must be a positive number.');
    } else {
      const cents = fiatInteger(value, AMOUNT_DECIMALS);
      const rough = Number(value instanceof JsonNumber ? value.source : value);
      if (cents === null ? rough > AMOUNT_MAX : cents > AMOUNT_MAX * 100n) {
        fail(`The amount may not be greater than ${AMOUNT_MAX}.`);
      } else if (cents === null) fail('The amount may have at most 2 decimals.');
    }
  })
  .transform((value) => value as AmountInput)
  .meta({
    required: true,
    description: 'In `currency`, at least the equivalent of 10 USD; at most 2 decimals, and 1,000,000,000.',
    override: { oneOf: [{ type: 'number' }, { type: 'string', pattern: '^\\d+(\\.\\d+)?$' }] },
  });

export const url = (field: string) =>
  z
    .string(`The ${field} must be a string.`)
    .max(URL_CHARACTERS_MAX, `The ${field} may not be longer than ${URL_CHARACTERS_MAX} characters.`)
    .refine(isWebUrl, `The ${field} must be a valid http or https URL.`)
    .nullish()
    .meta({ override: { type: 'string', format: 'uri', maxLength: URL_CHARACTERS_MAX } });

/** Rejects a notification URL to which this configuration would never send. */
export const reachable =
  (app: App, fromMerchant: boolean) =>
  (text: string | null | undefined, context: z.RefinementCtx): void => {
    if (text == null || !isWebUrl(text)) return;
    const refused = refusalOf(text, { allowHosts: app.config.webhook.allowHosts, fromMerchant });
    if (refused !== null) {
      context.addIssue({ code: 'custom', message: `The webhook url would never be called: ${refused}.` });
    }
  };

function isWebUrl(text: string): boolean {
  // the parser drops line breaks and tabs; who reads the stored text later may not
  const url = text === text.trim() && !/\p{Cc}/u.test(text) ? URL.parse(text) : null;
  if (!url) return false;
  const { protocol, username, password } = url;
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}

const TRUTHS = new Map<unknown, boolean>([
  [true, true],
  [1, true],
  ['1', true],
  ['true', true],
  [false, false],
  [0, false],
  ['0', false],
  ['false', false],
]);

const truth = (field: string) =>
  z
    .unknown()
    .optional()
    .refine(
      (value) => value === undefined || value === null || TRUTHS.has(value),
      `The ${field} must be true or false.`,
    )
    .transform((value) => TRUTHS.get(value) ?? false)
    .meta({ override: { enum: [...TRUTHS.keys()], default: false } });

const currency = z
  .string('The currency must be a string.')
  .refine((code) => Object.hasOwn(FIAT, code), 'The selected currency is invalid.')
  .nullish()
  .transform((code) => code ?? 'USD')
  .meta({ override: { enum: Object.keys(FIAT), default: 'USD' } });

/** A one-line text that a shop stores with an invoice. */
const label = (field: string, charactersMax: number) =>
  z
    .string(`The ${field} must be a string.`)
    .min(1, `The ${field} may not be empty.`)
    .max(charactersMax, `The ${field} may not be longer than ${charactersMax} characters.`)
    .refine((text) => !/\p{Cc}/u.test(text), `The ${field} may not hold control characters.`)
    .refine((text) => !/\p{Cs}/u.test(text), `The ${field} must be valid Unicode.`)
    .nullish()
    .meta({ override: { type: 'string', minLength: 1, maxLength: charactersMax } });

const orderId = label('order id', ORDER_ID_CHARACTERS_MAX);
const description = label('description', DESCRIPTION_CHARACTERS_MAX);

/** Whether a text has more characters than `most`. One beyond the first 65,536 of Unicode counts once, as in zod and in JSON Schema. */
const isLongerThan = (text: string, most: number): boolean => text.length > most && [...text].length > most;

/** The reason why a value is not valid metadata, or null. */
function metadataFault(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'The metadata must be an object.';
  const entries = Object.entries(value);
  if (entries.length > METADATA_KEYS_MAX) return `The metadata may not have more than ${METADATA_KEYS_MAX} keys.`;
  if (entries.some(([key]) => key === '' || isLongerThan(key, METADATA_KEY_CHARACTERS_MAX))) {
    return `The keys of the metadata must have 1 to ${METADATA_KEY_CHARACTERS_MAX} characters.`;
  }
  if (entries.some(([, text]) => typeof text !== 'string')) return 'The values of the metadata must be strings.';
  return entries.some(([, text]) => isLongerThan(text as string, METADATA_VALUE_CHARACTERS_MAX))
    ? `The values of the metadata may not be longer than ${METADATA_VALUE_CHARACTERS_MAX} characters.`
    : null;
}

const metadata = z
  .unknown()
  .optional()
  .superRefine((value, context) => {
    const message = value === undefined || value === null ? null : metadataFault(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .transform((value) => (value ?? null) as Readonly<Record<string, string>> | null)
  .meta({
    description: 'Kept with the invoice and returned by the merchant API alone. Values are texts: a number is refused.',
    override: {
      type: 'object',
      maxProperties: METADATA_KEYS_MAX,
      additionalProperties: { type: 'string', maxLength: METADATA_VALUE_CHARACTERS_MAX },
    },
  });

/** The body of Create invoice for one business: its cryptos and the current day in its time zone. */
export function createInvoiceSchema(app: App, business: Business) {
  return z.object({
    amount,
    crypto: z
      .string('The crypto must be a string.')
      .refine((symbol) => acceptsCrypto(app, business, symbol), {
        error: () => invalidCrypto(cryptosFor(app, business)),
      })
      .nullish()
      .transform((symbol) => symbol ?? 'ALL')
      .meta({
        description:
          'Fixes the coin. The others that a business takes (ETH, BNB, XAUT, PAXG) are chosen by the payer of an ALL invoice.',
        override: { enum: [...INVOICE_SYMBOLS, 'ALL'], default: 'ALL' },
      }),
    due_date: z
      .string('The due date must be a string.')
      .superRefine((text, context) => {
        const day = parseDay(text);
        const fail = (message: string): void => context.addIssue({ code: 'custom', message });
        if (!day) fail('The due date must be a date in the format MM/DD/YYYY.');
        else if (compareDays(day, dayOf(app.now(), business.timeZone)) < 0)
          fail('The due date must be today or later.');
      })
      .nullish()
      .meta({
        description:
          'MM/DD/YYYY, zeros may be left out; today or later in the business’s time zone. Default: the last day of the month.',
        override: { type: 'string', pattern: '^\\d{1,2}/\\d{1,2}/\\d{4}$', examples: ['12/31/2030', '1/5/2031'] },
      }),
    close_url: url('close url'),
    webhook_url: url('webhook url').superRefine(reachable(app, true)),
    automatic_redirect: truth('automatic redirect'),
    currency,
    order_id: orderId,
    description,
    metadata,
  });
}

type CreateInvoiceBody = z.output<ReturnType<typeof createInvoiceSchema>>;

/** The amount of a checked body in 1e-8 of its currency. Throws `Rejected` if the currency has fewer decimals. */
export function fiatAmount(body: Pick<CreateInvoiceBody, 'amount' | 'currency'>): bigint {
  const decimals = FIAT[body.currency]!;
  const integer = fiatInteger(body.amount, decimals);
  if (integer === null) {
    throw new Rejected('validation', `The amount may have at most ${decimals} decimals in ${body.currency}.`, 'amount');
  }
  return integer * 10n ** BigInt(FIAT_DECIMALS - decimals);
}

/** The last second of a checked due date, or null. */
export function dueAt(body: Pick<CreateInvoiceBody, 'due_date'>, business: Business): number | null {
  const day = body.due_date == null ? null : parseDay(body.due_date);
  return day && endOfDay(day, business.timeZone);
}

/** The body of Request payment. Whether a crypto is needed, known and enabled depends on the invoice. */
export const requestPaymentSchema = z.object({
  crypto: z
    .string('The crypto must be a string.')
    .max(TEXT_CHARACTERS_MAX, `The crypto may not be longer than ${TEXT_CHARACTERS_MAX} characters.`)
    .nullish()
    .transform((symbol) => (symbol === null || symbol === '' ? undefined : symbol))
    .meta({ override: { type: 'string', examples: ['BTC', 'USDT_BEP20'] } }),
});

/** The query of Get minimum. */
export const minimumSchema = z.object({ currency });

export const balanceSchema = z.object({
  with_rates: truth('with rates'),
  with_balance: truth('with balance'),
});

/** Checks a body. Throws the first failure as `Rejected('validation')`. */
export function check<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Rejected('validation', issue.message, String(issue.path[0] ?? 'body'));
}
