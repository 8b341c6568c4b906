/**
 * The API description, OpenAPI 3.1. Request bodies are made from the schemas that validate them, and answers from
 * `answers.ts`; the tests compare them with real answers.
 */
import { z } from 'zod';
import type { App } from '../app/app.ts';
import type { Business } from '../app/shops/directory.ts';
import { OUTPUTS_PER_UNCONFIRMED_MAX } from '../domain/chain.ts';
import { answerSchemas } from './answers.ts';
import { clientPaths, type Kit } from './client/openapi.ts';
import { listSchema } from './merchant/books.ts';
import { SANDBOX_SCHEMAS } from './merchant/sandbox.ts';
import { balanceSchema, createInvoiceSchema, minimumSchema, requestPaymentSchema } from './merchant/schemas.ts';
import { refundSchema, withdrawSchema } from './merchant/withdraw.ts';
import { EVENT_SCHEMAS, webhooks } from './openapi-events.ts';
import { ANSWER_EXAMPLES, BODY_EXAMPLES } from './openapi-examples.ts';

type Json = Record<string, unknown>;

/** A zod schema as JSON Schema 2020-12 for requests. A field's `override` adds what zod cannot express. */
function fromZod(schema: z.ZodType): Json {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const meta = z.globalRegistry.get(zodSchema as unknown as z.ZodType) as
        | { override?: Json; description?: string }
        | undefined;
      if (!meta?.override) return;
      for (const name of Object.keys(jsonSchema)) delete (jsonSchema as Json)[name];
      Object.assign(jsonSchema, meta.override, meta.description ? { description: meta.description } : {});
    },
  }) as Json;
  delete json.$schema;
  const shape = schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {};
  const required = Object.keys(shape).filter((name) => z.globalRegistry.get(shape[name]!)?.required === true);
  if (required.length > 0) json.required = required;
  return json;
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const answer = (description: string, schema: string): Json => ({
  description,
  content: { 'application/json': { schema: ref(schema), example: ANSWER_EXAMPLES[schema] } },
});

/** One of several answers. The example is the first one's. */
const oneOfAnswers = (description: string, first: string, ...others: string[]): Json => ({
  description,
  content: {
    'application/json': { schema: { oneOf: [first, ...others].map(ref) }, example: ANSWER_EXAMPLES[first] },
  },
});

const REFUSALS: Record<string, Json> = {
  401: answer('The API key is absent or invalid', 'Message'),
  403: answer('The API key lacks the scope', 'Message'),
  429: answer('Too many guesses of an API key from this address', 'Message'),
};
const BODY_REFUSALS: Record<string, Json> = {
  400: answer('The body is no JSON object, or the Idempotency-Key has a wrong length', 'Message'),
  413: answer('The body is over 64 KiB', 'Message'),
  415: answer('The body is not application/json', 'Message'),
};
const UNAVAILABLE = answer('A rate or a chain is not available: try again after Retry-After seconds', 'Message');

type Operation = { id: string; summary: string; body?: Json; answers: Record<string, Json>; idempotent?: boolean };

const bodyOf = (id: string, schema: Json): Json => ({
  content: { 'application/json': { schema, example: BODY_EXAMPLES[id] } },
});

function operation({ id, summary, body, answers, idempotent }: Operation): Json {
  const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string', minLength: 1, maxLength: 255 } };
  return {
    operationId: id,
    summary,
    security: [{ apiKey: [] }],
    ...(idempotent ? { parameters: [key] } : {}),
    ...(body ? { requestBody: bodyOf(id, body) } : {}),
    responses: { ...(body ? BODY_REFUSALS : {}), ...REFUSALS, ...answers },
  };
}

/** A slug or a UUID: no other word in its place names an invoice, such as `rp` of Request payment. */
const INVOICE_ID = '^([A-Za-z0-9]{12}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$';

const inPath = (name: string, description: string, pattern?: string): Json => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: pattern === undefined ? { type: 'string' } : { type: 'string', pattern },
});

function queryOf(query: z.ZodType): Json[] {
  const { properties } = fromZod(query) as { properties: Record<string, Json> };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

/** A placeholder for schemas that are made for a business. */
const ANY_BUSINESS = { timeZone: 'UTC', enabled: [] } as unknown as Business;

function invoicePaths(app: App): Record<string, Json> {
  const invoice = inPath('invoice_id', 'The slug, or the UUID of the record', INVOICE_ID);
  const missing = answer('Invoice not found', 'Error');
  return {
    '/merchant/invoice': {
      post: operation({
        id: 'createInvoice',
        summary: 'Create invoice',
        body: fromZod(createInvoiceSchema(app, ANY_BUSINESS)),
        idempotent: true,
        answers: {
          201: answer('Created', 'CreatedInvoice'),
          409: answer('The Idempotency-Key was used with another body', 'Message'),
          422: answer('A field is wrong; only the first is told', 'Validation'),
          503: UNAVAILABLE,
        },
      }),
    },
    '/merchant/invoice/{invoice_id}': {
      parameters: [invoice],
      get: operation({
        id: 'getInvoice',
        summary: 'Get invoice',
        answers: { 200: answer('The invoice', 'Invoice'), 404: missing },
      }),
      delete: operation({
        id: 'deleteInvoice',
        summary: 'Delete invoice',
        answers: {
          200: answer('Deleted', 'Message'),
          400: answer('Paid, or with a pending payment', 'Error'),
          404: missing,
        },
      }),
    },
    '/merchant/invoice/rp/{invoice_id}': {
      parameters: [invoice],
      post: operation({
        id: 'requestPayment',
        summary: 'Request payment',
        body: fromZod(requestPaymentSchema),
        idempotent: true,
        answers: {
          201: answer('The payment', 'Payment'),
          400: answer('Already requested, not unpaid, or crypto missing', 'MessageAndError'),
          404: missing,
          409: answer('The Idempotency-Key was used with another body', 'Message'),
          422: answer('The crypto is unknown, not enabled, or not the invoice’s', 'Validation'),
          503: UNAVAILABLE,
        },
      }),
    },
  };
}

function otherPaths(): Record<string, Json> {
  const balance = (body?: Json): Json =>
    operation({
      id: body ? 'postBalance' : 'getBalance',
      summary: 'Get balance',
      ...(body ? { body } : {}),
      answers: { 200: answer('Spendable amounts by symbol', 'Balance'), 422: answer('A field is wrong', 'Validation') },
    });
  const paths: Record<string, Json> = {
    '/merchant/balance': {
      get: { ...balance(), parameters: queryOf(balanceSchema) },
      post: balance(fromZod(balanceSchema)),
    },
    '/merchant/cryptos': {
      get: operation({
        id: 'listCryptos',
        summary: 'List cryptos',
        answers: { 200: answer('The cryptos that the business takes', 'Cryptos') },
      }),
    },
    '/merchant/minimum': {
      get: {
        ...operation({
          id: 'getMinimum',
          summary: 'Get minimum: the least amount of an invoice in a currency',
          answers: {
            200: answer('The equivalent of 10 USD now, rounded up', 'Minimum'),
            422: answer('The currency is unknown', 'Validation'),
            503: UNAVAILABLE,
          },
        }),
        parameters: queryOf(minimumSchema),
      },
    },
    '/merchant/rates/{crypto}': {
      parameters: [inPath('crypto', 'A symbol as listed')],
      get: operation({
        id: 'getRates',
        summary: 'Get rates',
        answers: {
          200: answer('The worth of one coin', 'Rates'),
          404: answer('Crypto not found', 'Error'),
          503: UNAVAILABLE,
        },
      }),
    },
  };
  return paths;
}

const SANDBOX_ANSWERS: Record<keyof typeof SANDBOX_SCHEMAS, string> = {
  pay: 'SandboxPayment',
  mine: 'SandboxHeight',
  reorg: 'SandboxHeight',
  'double-spend': 'SandboxReplacement',
  outage: 'Nothing',
};

function sandboxPaths(): Record<string, Json> {
  const paths: Record<string, Json> = {};
  for (const [name, schema] of Object.entries(SANDBOX_SCHEMAS)) {
    const pays = name === 'pay';
    const missing = pays
      ? oneOfAnswers('Not a sandbox key; or invoice not found', 'Message', 'Error')
      : answer('Not a sandbox key', 'Message');
    paths[`/merchant/sandbox/${name}`] = {
      post: operation({
        id: `sandbox-${name}`.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
        summary: `Sandbox control: ${name} (keys of sandbox businesses only)`,
        idempotent: true,
        body: fromZod(schema),
        answers: {
          [pays ? 201 : 200]: answer('Done and stored', SANDBOX_ANSWERS[name as keyof typeof SANDBOX_SCHEMAS]),
          400: answer('Not possible now', 'Message'),
          404: missing,
          409: answer('The Idempotency-Key was used with another body', 'Message'),
          422: answer('A field is wrong', 'Validation'),
        },
      }),
    };
  }
  return paths;
}

function listPaths(): Record<string, Json> {
  const list = (summary: string, schema: string, name: Parameters<typeof listSchema>[0]): Json => {
    const described = operation({
      id: `list${schema}`,
      summary,
      answers: { 200: answer('A page, newest first', schema), 422: answer('A parameter is wrong', 'Validation') },
    });
    return { get: { ...described, parameters: queryOf(listSchema(name)) } };
  };
  return {
    '/merchant/invoices': list('List invoices', 'Invoices', 'invoices'),
    '/merchant/withdrawals': list('List withdrawals', 'Withdrawals', 'withdrawals'),
    '/merchant/transactions': list('List receipts of any kind', 'Transactions', 'transactions'),
  };
}

const KIT: Kit = { bodyOf, fromZod, answer, inPath };

function withdrawalPaths(): Record<string, Json> {
  const failed = (description: string): Json => answer(description, 'WithdrawalError');
  const refusals: Record<string, Json> = {
    401: failed('The API key is absent or invalid'),
    403: failed('The API key lacks the scope: "withdraw", or for refunds "refund"'),
    429: failed('Too many guesses of an API key from this address'),
  };
  const withdraw = operation({
    id: 'withdraw',
    summary: 'Withdraw',
    body: fromZod(withdrawSchema),
    idempotent: true,
    answers: {
      201: answer('Accepted: poll Get withdrawal', 'RequestedWithdrawal'),
      400: failed('A field is wrong, the balance insufficient, or no rate is known; only the first is told'),
      409: failed('The Idempotency-Key was used with another body'),
    },
  });
  const get = operation({
    id: 'getWithdrawal',
    summary: 'Get withdrawal',
    answers: { 201: answer('The withdrawal', 'Withdrawal'), 404: failed('Withdrawal not found') },
  });
  const refund = operation({
    id: 'refundInvoice',
    summary: 'Refund invoice: a withdrawal that waits for the operator, or a link on which the payer types the address',
    body: fromZod(refundSchema),
    idempotent: true,
    answers: {
      201: oneOfAnswers(
        'A withdrawal: poll Get withdrawal; without an address, a link for the payer',
        'Withdrawal',
        'RefundLink',
      ),
      400: failed('A field is wrong, the invoice is not paid, or too little is left; only the first is told'),
      404: failed('Invoice not found'),
      409: failed('The Idempotency-Key was used with another body'),
    },
  });
  for (const described of [withdraw, get, refund]) Object.assign(described.responses as Json, refusals);
  for (const described of [withdraw, refund]) {
    Object.assign(described.responses as Json, {
      413: failed('The body is over 64 KiB'),
      415: failed('No JSON'),
      503: failed('Nothing can be written now, or the key waits for the operator: try again after Retry-After seconds'),
    });
  }
  return {
    '/merchant/withdraw': { post: withdraw },
    '/merchant/invoice/{invoice_id}/refund': {
      parameters: [inPath('invoice_id', 'The slug, or the UUID of the record', INVOICE_ID)],
      post: refund,
    },
    '/merchant/withdrawal/{id}': { parameters: [inPath('id', 'As Withdraw gave it')], get },
  };
}

const made = new WeakMap<App, Json>();

/** The description of a service, which is made once: it takes a while, and does not change. */
export function openApi(app: App): Json {
  const known = made.get(app) ?? describe(app);
  made.set(app, known);
  return known;
}

const ABOUT =
  'Cryptocurrency invoices for one merchant. An unconfirmed payment counts only below `zero_conf_usd`, which is 0 unless ' +
  'the operator sets it, and only if nothing can replace it. Of an unconfirmed transaction at most ' +
  `${OUTPUTS_PER_UNCONFIRMED_MAX} outputs are shown; the others appear with its block.`;

const TAGS: Readonly<Record<string, string>> = {
  Invoices: 'Make, read and delete invoices',
  Money: 'Balances, rates, withdrawals and refunds',
  Lists: 'Invoices, withdrawals and receipts in pages, newest first',
  Sandbox: 'Cause the events of a payment, with keys of sandbox businesses',
  Browser: 'The browser API: requests of pages, with a client ID',
  Events: 'Signed events for the endpoints of a business',
};

function tagOf(path: string): string {
  if (path.startsWith('/sdk/')) return 'Browser';
  if (path.startsWith('/merchant/sandbox/')) return 'Sandbox';
  if (/^\/merchant\/(?:invoices|withdrawals|transactions)$/.test(path)) return 'Lists';
  return /^\/merchant\/(?:invoice|cryptos|minimum)/.test(path) && !path.endsWith('/refund') ? 'Invoices' : 'Money';
}

const METHODS = ['get', 'post', 'delete'];

const tagged = (paths: Record<string, Json>): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).map(([name, value]) =>
          METHODS.includes(name) ? [name, { tags: [tagOf(path)], ...(value as Json) }] : [name, value],
        ),
      ),
    ]),
  );

function describe(app: App): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countinghouse',
      version: 'v1',
      description: ABOUT,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/api/v1' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: tagged({
      ...invoicePaths(app),
      ...otherPaths(),
      ...sandboxPaths(),
      ...listPaths(),
      ...withdrawalPaths(),
      ...clientPaths(app, KIT),
    }),
    webhooks: webhooks(),
    components: {
      schemas: { ...answerSchemas(), ...EVENT_SCHEMAS },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'MB-API-KEY' },
        clientId: { type: 'apiKey', in: 'header', name: 'MB-CLIENT-ID' },
      },
    },
  };
}
