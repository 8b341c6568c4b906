/** The browser API's part of the description. Answers that the merchant API gives too are described there. */
import type { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Business, Client } from '../../app/shops/directory.ts';
import { requestPaymentSchema } from '../merchant/schemas.ts';
import { clientInvoiceSchema } from './schemas.ts';

type Json = Record<string, unknown>;

/** Functions of `openapi.ts` that make parts of the description. */
export type Kit = {
  bodyOf: (id: string, schema: Json) => Json;
  fromZod: (schema: z.ZodType) => Json;
  answer: (description: string, schema: string) => Json;
  inPath: (name: string, description: string) => Json;
};

/** Placeholders for schemas that are made for a client ID. */
const ANY_BUSINESS = { timeZone: 'UTC', enabled: [] } as unknown as Business;
const ANY_CLIENT = { hosts: [], origins: new Set() } as unknown as Client;

/** "createInvoice" and "get rates" become `browserCreateInvoice` and `browserGetRates`. */
const browserId = (summary: string): string =>
  `browser ${summary}`.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase());

export function clientPaths(app: App, { bodyOf, fromZod, answer, inPath }: Kit): Record<string, Json> {
  const refusals = {
    401: answer('The client ID is absent, unknown or revoked', 'Message'),
    403: answer('The client ID does not allow the page’s origin', 'Message'),
    429: answer('Too many requests from this address, or open invoices of this client ID', 'Message'),
  };
  const unavailable = answer('A rate or a chain is not available: try again after Retry-After seconds', 'Message');
  const wrong = answer('A field is wrong; only the first is told', 'Validation');
  const missing = answer('Invoice not found', 'Error');
  const operation = (summary: string, answers: Record<string, Json>, body?: Json): Json => ({
    operationId: browserId(summary),
    summary: `Browser: ${summary}`,
    security: [{ clientId: [] }],
    ...(body ? { requestBody: bodyOf(browserId(summary), body) } : {}),
    responses: {
      ...(body
        ? {
            400: answer('The body is no JSON object', 'Message'),
            413: answer('The body is over 64 KiB', 'Message'),
            415: answer('The body is not application/json', 'Message'),
          }
        : {}),
      ...refusals,
      ...answers,
    },
  });
  const slug = [inPath('slug', 'The slug of an invoice of the client ID’s business')];
  return {
    '/sdk/cryptos': {
      get: operation('list cryptos', { 200: answer('The cryptos that the business takes', 'Cryptos') }),
    },
    '/sdk/rates': { get: operation('get rates', { 200: answer('The worth of one coin each', 'RatesByCrypto') }) },
    '/sdk/invoice': {
      post: operation(
        'createInvoice',
        { 201: answer('Created', 'CreatedInvoice'), 422: wrong, 503: unavailable },
        fromZod(clientInvoiceSchema(app, ANY_BUSINESS, ANY_CLIENT, false)),
      ),
    },
    '/sdk/invoice/{slug}': {
      parameters: slug,
      get: operation('getInvoice', { 200: answer('The invoice', 'PayersInvoice'), 404: missing }),
    },
    '/sdk/invoice/status/{slug}': {
      parameters: slug,
      get: operation('getInvoiceStatus', { 200: answer('How it stands', 'InvoiceStatus'), 404: missing }),
    },
    '/sdk/invoice/rp/{slug}': {
      parameters: slug,
      post: operation(
        'requestPayment',
        {
          201: answer('The payment', 'PayersPayment'),
          400: answer('Already requested, not unpaid, or crypto missing', 'MessageAndError'),
          404: missing,
          422: wrong,
          503: unavailable,
        },
        fromZod(requestPaymentSchema),
      ),
    },
  };
}
