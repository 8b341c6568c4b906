/** Cryptos, rates, balance and the description of the API. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

let service: TestDaemon;
beforeAll(async () => {
  service = await startTestDaemon();
});
afterAll(() => service.stop());

const SYMBOLS = ['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BNB', 'USDT_ERC20', 'USDT_BEP20', 'XAUT', 'PAXG'];

it('lists what the business takes', async () => {
  const { status, body } = await service.call<{ id: number; name: string; symbol: string }[]>('GET', '/cryptos');
  expect(status).toBe(200);
  expect(body.map(({ symbol }) => symbol)).toEqual(SYMBOLS);
  expect(body[0]).toEqual({ id: 1, name: 'Bitcoin', symbol: 'BTC' });
  expect(new Set(body.map(({ id }) => id)).size).toBe(SYMBOLS.length);
});

describe('rates', () => {
  it.each(SYMBOLS)('of %s are three decimal strings', async (symbol) => {
    const { status, body } = await service.call('GET', `/rates/${symbol}`);
    expect(status).toBe(200);
    const decimal = expect.stringMatching(/^\d+(\.\d+)?$/);
    expect(body).toEqual({ usd: decimal, eur: decimal, gbp: decimal });
    expect(Number(body.usd)).toBeGreaterThan(0);
  });

  it.each(['DOGE', 'btc', 'ALL', 'USD', '%20'])('of %s are not found', async (symbol) => {
    const answer = await service.call('GET', `/rates/${symbol}`);
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({ error: 'Crypto not found' });
  });
});

describe('the least amount of an invoice', () => {
  it.each([
    { currency: 'USD', step: 1 },
    { currency: 'EUR', step: 1 },
    { currency: 'KWD', step: 1 },
    { currency: 'JPY', step: 100 },
  ])('in $currency is taken, and the next smaller one is not', async ({ currency, step }) => {
    const { status, body } = await service.call('GET', `/minimum?currency=${currency}`);
    expect(status).toBe(200);
    expect(body).toEqual({ amount: expect.stringMatching(/^\d+(\.\d{1,2})?$/), currency });
    const cents = Math.round(Number(body.amount) * 100);
    const create = async (amount: number) =>
      (await service.call('POST', '/invoice', { amount: (amount / 100).toFixed(2), currency })).status;
    expect(await create(cents)).toBe(201);
    expect(await create(cents - step)).toBe(422);
  });

  it('is 10 in dollars, which are the default; an unknown currency is refused', async () => {
    expect((await service.call('GET', '/minimum')).body).toEqual({ amount: '10', currency: 'USD' });
    const { status, body } = await service.call('GET', '/minimum?currency=XXX');
    expect(status).toBe(422);
    expect(body.message).toBe('The selected currency is invalid.');
  });
});

describe('balance', () => {
  it('is 0 of everything at first, as numbers', async () => {
    const expected = Object.fromEntries(SYMBOLS.map((symbol) => [symbol, 0]));
    for (const method of ['GET', 'POST']) {
      const { status, body } = await service.call(method, '/balance');
      expect(status).toBe(200);
      expect(body).toEqual(expected);
    }
  });

  it('counts what has one confirmation, exactly, and shows rates when asked', async () => {
    const { id } = (await service.call<{ id: string }>('POST', '/invoice', { amount: 30, crypto: 'LTC' })).body;
    await service.call('POST', `/invoice/rp/${id}`);
    const paid = await service.call<{ amount: string }>('POST', '/sandbox/pay', {
      invoice_id: id,
      amount: '0.12345678',
    });
    expect(paid).toMatchObject({ status: 201, body: { amount: '0.12345678' } });
    await until('the payment is seen', async () => {
      const { body } = await service.call<{ payment: { received: string } }>('GET', `/invoice/${id}`);
      return body.payment.received === '0.12345678';
    });
    expect((await service.call('POST', '/balance')).body.LTC).toBe(0);

    await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
    await until('the balance counts it', async () => (await service.call('POST', '/balance')).body.LTC !== 0);
    const some = await service.call('POST', '/balance', { with_balance: 'true' });
    expect(some.body).toEqual({ LTC: 0.12345678 });
    const { body } = await service.call<Record<string, unknown>>('POST', '/balance', {
      with_balance: true,
      with_rates: 'true',
    });
    const rates = { USD: expect.any(Number), EUR: expect.any(Number), GBP: expect.any(Number) };
    expect(body).toEqual({ LTC: { balance: 0.12345678, rates } });
    expect((await service.call('GET', '/balance?with_balance=1')).body).toEqual({ LTC: 0.12345678 });
  });

  it('refuses an option that is no truth', async () => {
    const answer = await service.call('POST', '/balance', { with_rates: 'perhaps' });
    expect(answer.status).toBe(422);
  });
});

describe('the description', () => {
  type Description = {
    openapi: string;
    paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: unknown }> } }>>;
  };
  const load = async (): Promise<Description> =>
    (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as Description;

  it('is OpenAPI 3.1 and needs no key', async () => {
    expect((await load()).openapi).toBe('3.1.0');
  });

  it('names every endpoint that exists, and none that does not', async () => {
    const { paths } = await load();
    for (const [path, methods] of Object.entries(paths)) {
      const concrete = path.replace('{invoice_id}', 'AAAAAAAAAAAA').replace('{id}', '1').replace('{crypto}', 'BTC');
      for (const method of Object.keys(methods).filter((name) => name !== 'parameters')) {
        const response = await fetch(`${service.url}/api/v1${concrete}`, { method: method.toUpperCase() });
        expect([path, method, response.status]).toEqual([path, method, 401]);
      }
      const other = await fetch(`${service.url}/api/v1${concrete}`, { method: 'PATCH' });
      const allowed = (other.headers.get('allow') ?? '').split(', ').sort();
      const described = Object.keys(methods).filter((name) => name !== 'parameters');
      expect(allowed).toEqual(described.map((name) => name.toUpperCase()).sort());
    }
  });

  it.each<[string, string, number, unknown, Record<string, string>?]>([
    ['POST', '/merchant/invoice', 400, '{'],
    ['POST', '/merchant/invoice', 400, { amount: 20 }, { 'idempotency-key': '' }],
    ['POST', '/merchant/invoice/rp/AAAAAAAAAAAA', 400, '{'],
    ['POST', '/merchant/balance', 400, '{'],
    ['POST', '/merchant/balance', 422, { with_rates: 'x' }],
    ['GET', '/merchant/balance?with_rates=x', 422, undefined],
    ['POST', '/merchant/sandbox/pay', 404, { invoice_id: 'AAAAAAAAAAAA' }],
    ['POST', '/merchant/sandbox/mine', 200, { crypto: 'BTC' }, { 'idempotency-key': 'described' }],
    ['POST', '/merchant/sandbox/mine', 409, { crypto: 'BTC', blocks: 2 }, { 'idempotency-key': 'described' }],
    ['POST', '/merchant/sandbox/reorg', 200, { crypto: 'BTC', depth: 1 }],
    ['POST', '/merchant/sandbox/outage', 200, { crypto: 'BTC', down: false }],
    ['POST', '/merchant/withdraw', 400, '{'],
    ['POST', '/sdk/invoice', 400, '{'],
  ])('has the answer of %s %s with %i', async (method, path, status, body, headers = {}) => {
    type Schema = { $ref?: string; oneOf?: Schema[]; required?: string[] };
    type Content = { content: { 'application/json': { schema: Schema } } };
    const { components, paths } = (await load()) as unknown as {
      components: { schemas: Record<string, Schema> };
      paths: Record<string, Record<string, { responses: Record<string, Content> }>>;
    };
    const response = await fetch(`${service.url}/api/v1${path}`, {
      method,
      headers: {
        'mb-api-key': service.apiKey,
        'mb-client-id': service.clientId,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const answer = (await response.json()) as object;
    expect([response.status, answer]).toEqual([status, expect.any(Object)]);
    const template = path.replace('AAAAAAAAAAAA', '{invoice_id}').split('?')[0]!;
    const { schema } = paths[template]![method.toLowerCase()]!.responses[status]!.content['application/json'];
    const fields = (schema.oneOf ?? [schema]).map(({ $ref }) => components.schemas[$ref!.split('/').at(-1)!]!.required);
    expect(fields).toContainEqual(Object.keys(answer));
  });

  it('describes the parameters of Get balance and of the lists', async () => {
    type Parameter = { name: string; schema: Record<string, unknown> };
    const { paths } = (await load()) as unknown as { paths: Record<string, { get: { parameters: Parameter[] } }> };
    const parametersOf = (path: string) =>
      Object.fromEntries(paths[path]!.get.parameters.map(({ name, schema }) => [name, schema]));
    expect(Object.keys(parametersOf('/merchant/balance'))).toEqual(['with_rates', 'with_balance']);
    for (const list of ['/merchant/invoices', '/merchant/withdrawals', '/merchant/transactions']) {
      expect(parametersOf(list)).toMatchObject({
        limit: { type: ['integer', 'string'], minimum: 1, maximum: 200, default: 50 },
        crypto: { enum: expect.arrayContaining(['BTC', 'PAXG', 'ALL']) },
        created_from: { type: 'string', format: 'date-time', description: 'At this time or later.' },
        created_to: { type: 'string', format: 'date-time', description: 'Before this time.' },
      });
    }
  });

  it('describes the bodies as they are validated', async () => {
    const schema = (await load()).paths['/merchant/invoice']!.post!.requestBody!.content['application/json']!.schema;
    expect(schema).toMatchObject({
      type: 'object',
      required: ['amount'],
      properties: {
        amount: { oneOf: [{ type: 'number' }, { type: 'string' }] },
        crypto: { enum: ['BTC', 'BCH', 'LTC', 'XMR', 'USDT_ERC20', 'USDT_BEP20', 'ALL'], default: 'ALL' },
        currency: { default: 'USD' },
        metadata: { additionalProperties: { type: 'string' } },
      },
    });
    const { due_date } = (schema as { properties: { due_date: { pattern: string; examples: string[] } } }).properties;
    const isDay = new RegExp(due_date.pattern);
    const given = [...due_date.examples, '2030-12-31', '12/31/30', 'tomorrow'];
    expect(given.filter((day) => isDay.test(day))).toEqual(due_date.examples);
    for (const day of given) {
      const { status } = await service.call('POST', '/invoice', { amount: 25, due_date: day });
      expect([day, status]).toEqual([day, isDay.test(day) ? 201 : 422]);
    }
  });
});
