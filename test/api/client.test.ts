/** Every row of the contract's tables about the browser client, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { NO_LIMITS, type PageCall, pageOf } from './client-kit.ts';

const INVALID_NEW = 'The selected crypto is invalid: use BTC, BCH, LTC, XMR, USDT_ERC20, USDT_BEP20 or ALL.';
const INVALID =
  'The selected crypto is invalid: use BTC, BCH, LTC, XMR, ETH, BNB, USDT_ERC20, USDT_BEP20, XAUT or PAXG.';

let service: TestDaemon;
let call: PageCall;
beforeAll(async () => {
  service = await startTestDaemon(NO_LIMITS);
  call = pageOf(service, service.clientId, 'https://shop.example');
});
afterAll(() => service.stop());

type Created = { id: string; invoice_url: string };
type Invoice = { status: string; payment?: Record<string, unknown> };

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

const create = async (body: object = { amount: 100, crypto: 'LTC' }): Promise<string> => {
  const answer = await call<Created>('POST', '/invoice', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.id;
};
const controls = (name: string, body: object) => service.call('POST', `/sandbox/${name}`, body);

describe('createInvoice', () => {
  it('answers 201 with id, invoice_url, amount, crypto and due_date', async () => {
    const { status, body } = await call<Created>('POST', '/invoice', {
      amount: 59.97000000000001,
      currency: 'EUR',
      crypto: 'LTC',
      due_date: dayFromNow(service, 30),
      close_url: 'https://shop.example/cart',
      redirect_url: 'http://elsewhere.example/thanks',
      automatic_redirect: true,
      webhook_url: 'https://shop.example/hook',
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[A-Za-z0-9]{12}$/),
      success: true,
      invoice_url: `${service.url}/pay/${body.id}`,
      due_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT23:59:59\.000000Z$/),
      amount: '59.97',
      crypto: 'LTC',
      rates: null,
      currency: 'EUR',
      status: 'unpaid',
    });
  });

  it('defaults to ALL, USD and the end of the month', async () => {
    const { body } = await call('POST', '/invoice', { amount: '10.50' });
    const now = new Date(service.now());
    const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0)).toISOString().slice(0, 10);
    expect(body).toMatchObject({
      amount: '10.5',
      crypto: 'ALL',
      currency: 'USD',
      due_date: `${last}T23:59:59.000000Z`,
    });
  });

  it('takes a due date whose zeros are left out', async () => {
    const [month, day, year] = dayFromNow(service, 30).split('/');
    const due_date = `${Number(month)}/${Number(day)}/${year}`;
    const { status, body } = await call<Created & { due_date: string }>('POST', '/invoice', { amount: 10, due_date });
    expect([status, body.due_date]).toEqual([201, `${year}-${month}-${day}T23:59:59.000000Z`]);
  });

  it.each(['ALL', 'BTC', 'LTC', 'BCH', 'XMR'])('takes %s', async (crypto) => {
    expect((await call('POST', '/invoice', { amount: 10, crypto })).body).toMatchObject({ crypto });
  });

  it.each<[string, object | undefined, string, string]>([
    ['no body', undefined, 'amount', 'The amount field is required.'],
    ['no amount', {}, 'amount', 'The amount field is required.'],
    ['a word', { amount: 'ten' }, 'amount', 'The amount must be a positive number.'],
    ['three decimals', { amount: 10.123 }, 'amount', 'The amount may have at most 2 decimals.'],
    ['9.99 dollars', { amount: 9.99 }, 'amount', 'The amount must be at least the equivalent of 10 USD.'],
    ['an unknown currency', { amount: 10, currency: 'XXX' }, 'currency', 'The selected currency is invalid.'],
    ['an unknown crypto', { amount: 10, crypto: 'DOGE' }, 'crypto', INVALID_NEW],
    [
      'currency before crypto',
      { amount: 10, crypto: 'DOGE', currency: 'X' },
      'currency',
      'The selected currency is invalid.',
    ],
    ['yesterday', { amount: 10, due_date: '01/01/2020' }, 'due_date', 'The due date must be today or later.'],
    [
      'an ISO date',
      { amount: 10, due_date: '2030-01-01' },
      'due_date',
      'The due date must be a date in the format MM/DD/YYYY.',
    ],
    [
      'a date far off',
      { amount: 10, due_date: '01/01/2100' },
      'due_date',
      'The due date may be at most 90 days from today.',
    ],
    [
      'a script to return to',
      { amount: 10, close_url: 'javascript:alert(1)' },
      'close_url',
      'The close url must be a valid http or https URL.',
    ],
    [
      'a file to redirect to',
      { amount: 10, redirect_url: 'file:///etc/passwd' },
      'redirect_url',
      'The redirect url must be a valid http or https URL.',
    ],
    [
      'a list to redirect to',
      { amount: 10, redirect_url: ['https://a.example'] },
      'redirect_url',
      'The redirect url must be a string.',
    ],
    [
      'no truth',
      { amount: 10, automatic_redirect: 'maybe' },
      'automatic_redirect',
      'The automatic redirect must be true or false.',
    ],
    [
      'a notification in the clear',
      { amount: 10, webhook_url: 'http://shop.example/hook' },
      'webhook_url',
      'The webhook url must be a valid https URL.',
    ],
    [
      'the URLs in their order',
      { amount: 10, webhook_url: 'x', redirect_url: 'y', close_url: 'z' },
      'close_url',
      'The close url must be a valid http or https URL.',
    ],
  ])('refuses %s', async (_name, body, field, message) => {
    const answer = await call('POST', '/invoice', body);
    expect(answer.status).toBe(422);
    expect(answer.body).toEqual({ message, errors: { [field]: [message] } });
  });

  it('takes a due date 90 days off, and none 91 days off', async () => {
    expect((await call('POST', '/invoice', { amount: 10, due_date: dayFromNow(service, 90) })).status).toBe(201);
    expect((await call('POST', '/invoice', { amount: 10, due_date: dayFromNow(service, 91) })).status).toBe(422);
  });

  it.each([true, false, 1, 0, '1', '0', 'true', 'false', null])('takes %j as automatic_redirect', async (value) => {
    const id = await create({ amount: 10, automatic_redirect: value });
    const { body } = await call('GET', `/invoice/${id}`);
    expect(body.automatic_redirect).toBe([true, 1, '1', 'true'].includes(value as string));
  });
});

describe('getInvoice', () => {
  it('answers with status, amount, crypto and URLs, and has no payment before one was requested', async () => {
    const close_url = 'https://shop.example/cart';
    const redirect_url = 'https://shop.example/thanks';
    const id = await create({ amount: 10, close_url, redirect_url, webhook_url: 'https://shop.example/secret-hook' });
    const { status, body } = await call('GET', `/invoice/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      url_slug: id,
      invoice_url: `${service.url}/pay/${id}`,
      status: 'unpaid',
      amount: '10',
      currency: 'USD',
      crypto: 'ALL',
      due_date: expect.stringMatching(INSTANT),
      created_at: expect.stringMatching(INSTANT),
      rates: null,
      close_url,
      redirect_url,
      automatic_redirect: false,
      order_id: null,
      description: null,
    });
    expect(JSON.stringify(body)).not.toContain('secret-hook');
  });

  it('has the payment once there is one', async () => {
    const id = await create();
    const requested = await call('POST', `/invoice/rp/${id}`, {});
    const { body } = await call<Invoice>('GET', `/invoice/${id}`);
    expect(body.payment).toEqual(requested.body);
  });

  it('shows the invoices of the merchant API too: they are the same business’s', async () => {
    const { id } = (await service.call<Created>('POST', '/invoice', { amount: 20 })).body;
    expect((await call('GET', `/invoice/${id}`)).body).toMatchObject({ id, status: 'unpaid' });
  });

  it('shows no address where the price is no longer held, and shows it again once it is', async () => {
    const own = await startTestDaemon(NO_LIMITS);
    try {
      const page = pageOf(own, own.clientId);
      const { id } = (await page<Created>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body;
      const { address } = (await page('POST', `/invoice/rp/${id}`, {})).body;
      expect(address).toMatch(/^rltc1/);
      expect((await own.call('POST', '/sandbox/outage', { crypto: 'LTC', down: true })).status).toBe(200);
      own.advance(2 * 3_600_000);
      const ended = (await page<Invoice>('GET', `/invoice/${id}`)).body;
      expect(ended).toMatchObject({ status: 'unpaid', payment: { status: 'pending', remaining: '1' } });
      expect(ended.payment).not.toHaveProperty('address');
      await own.call('POST', '/sandbox/outage', { crypto: 'LTC', down: false });
      await until('the address is back', async () => {
        const { payment } = (await page<Invoice>('GET', `/invoice/${id}`)).body;
        return payment?.address === address;
      });
    } finally {
      await own.stop();
    }
  });
});

describe('getInvoiceStatus', () => {
  const statusOf = async (id: string) => (await call('GET', `/invoice/status/${id}`)).body;

  it('is always the same six fields', async () => {
    expect(await statusOf(await create())).toEqual({
      status: 'unpaid',
      payment_status: null,
      received: null,
      remaining: null,
      confirmations: null,
      required_confirmations: null,
    });
  });

  it('follows a payment to its end', async () => {
    const id = await create({ amount: 80, crypto: 'LTC' });
    await call('POST', `/invoice/rp/${id}`, {});
    const first = {
      status: 'unpaid',
      payment_status: 'pending',
      received: '0',
      remaining: '1',
      confirmations: 0,
      required_confirmations: 3,
    };
    expect(await statusOf(id)).toEqual(first);
    await controls('pay', { invoice_id: id, amount: '0.25' });
    await until('a part is seen', async () => (await statusOf(id)).received === '0.25');
    expect(await statusOf(id)).toEqual({ ...first, received: '0.25', remaining: '0.75' });
    await controls('pay', { invoice_id: id });
    await controls('mine', { crypto: 'LTC', blocks: 3 });
    await until('it is paid', async () => (await statusOf(id)).status === 'paid');
    expect(await statusOf(id)).toEqual({
      status: 'paid',
      payment_status: 'paid',
      received: '1',
      remaining: '0',
      confirmations: 3,
      required_confirmations: 3,
    });
  });
});

describe('requestPayment', () => {
  it('answers 201 with address, amount and rates', async () => {
    const id = await create({ amount: 80 });
    const { status, body } = await call('POST', `/invoice/rp/${id}`, { crypto: 'LTC' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      address: expect.stringMatching(/^rltc1q/),
      amount: '1',
      crypto: 'LTC',
      status: 'pending',
      quote_expires_at: expect.stringMatching(INSTANT),
    });
    expect(JSON.parse(body.rates as string)).toMatchObject({ usd: 80 });
  });

  it('needs no crypto, nor a body, for an invoice in a fixed one', async () => {
    expect((await call('POST', `/invoice/rp/${await create()}`)).body).toMatchObject({ crypto: 'LTC' });
  });

  it.each<[string, object | undefined, number, object]>([
    ['no crypto', {}, 400, { message: 'crypto parameter is required for this invoice' }],
    ['no body', undefined, 400, { message: 'crypto parameter is required for this invoice' }],
    ['an unknown crypto', { crypto: 'DOGE' }, 422, { errors: { crypto: [INVALID] } }],
    ['a number', { crypto: 7 }, 422, { errors: { crypto: ['The crypto must be a string.'] } }],
    ['ALL', { crypto: 'ALL' }, 422, { errors: { crypto: [INVALID] } }],
  ])('refuses %s for an invoice in ALL', async (_name, body, status, expected) => {
    const answer = await call('POST', `/invoice/rp/${await create({ amount: 10 })}`, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject(expected);
  });

  it('refuses a second one, and one of an invoice that is paid', async () => {
    const id = await create({ amount: 80, crypto: 'LTC' });
    await call('POST', `/invoice/rp/${id}`);
    const again = await call('POST', `/invoice/rp/${id}`, { crypto: 'BTC' });
    expect(again.status).toBe(400);
    expect(again.body).toEqual({ message: 'Payment already requested', error: 'payment.requested' });
  });

  it('answers 503 with Retry-After while the chain is down', async () => {
    const own = await startTestDaemon(NO_LIMITS);
    try {
      const page = pageOf(own, own.clientId);
      const { id } = (await page<Created>('POST', '/invoice', { amount: 80, crypto: 'BCH' })).body;
      await own.call('POST', '/sandbox/outage', { crypto: 'BCH', down: true });
      own.advance(120_000);
      const answer = await page('POST', `/invoice/rp/${id}`, {});
      expect(answer.status).toBe(503);
      expect(answer.body).toEqual({ message: expect.stringContaining('BCH') });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await own.stop();
    }
  });
});

describe('cryptos and rates', () => {
  it('are the merchant’s list', async () => {
    expect((await call('GET', '/cryptos')).body).toEqual((await service.call('GET', '/cryptos')).body);
  });

  it('are numbers by symbol', async () => {
    const { status, body } = await call<Record<string, Record<string, number>>>('GET', '/rates');
    expect(status).toBe(200);
    const symbols = (await call<{ symbol: string }[]>('GET', '/cryptos')).body.map(({ symbol }) => symbol);
    expect(Object.keys(body)).toEqual(symbols);
    const number = expect.any(Number);
    for (const rates of Object.values(body)) expect(rates).toEqual({ usd: number, eur: number, gbp: number });
    const { usd } = (await service.call('GET', '/rates/LTC')).body;
    expect(String(body.LTC!.usd)).toBe(usd);
  });
});

describe('what is answered alike', () => {
  it('slugs that do not exist, of another business, of a deleted invoice, and the record’s own id', async () => {
    const id = await create();
    const { invoice_id } = (await call('POST', `/invoice/rp/${id}`)).body;
    const deleted = await create();
    expect((await service.call('DELETE', `/invoice/${deleted}`)).status).toBe(200);
    const names = [
      'AAAAAAAAAAAA',
      deleted,
      invoice_id as string,
      'x',
      '%00',
      "';--",
      'A'.repeat(500),
      '..%2f..',
      '%F0%9F%92%B8',
    ];
    for (const name of names) {
      for (const [method, path] of [
        ['GET', `/invoice/${name}`],
        ['GET', `/invoice/status/${name}`],
        ['POST', `/invoice/rp/${name}`],
      ] as const) {
        const answer = await call(method, path);
        expect([path, answer.status, answer.body]).toEqual([path, 404, { error: 'Invoice not found' }]);
      }
    }
  });
});

describe('requests that are none', () => {
  it.each<[string, string, string, Record<string, string>, number]>([
    ['no JSON', '/invoice', '{', {}, 400],
    ['a list', '/invoice', '[]', {}, 400],
    ['too much', '/invoice', `{"x":"${'x'.repeat(70_000)}"}`, {}, 413],
    ['a form', '/invoice', 'amount=10', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['an unknown encoding', '/invoice', '{}', { 'content-encoding': 'zstd-of-ours' }, 415],
    ['an unknown path', '/nothing', '{}', {}, 404],
    ['another method', '/cryptos', '{}', {}, 405],
    ['no path', '/invoice/%E0%A4%A', '{}', {}, 400],
  ])('%s', async (_name, path, body, headers, status) => {
    const answer = await call('POST', path, body, headers);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ message: expect.any(String) });
    // the page that asked may read what was wrong
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example');
  });
});

it('is described as it is', async () => {
  const response = await fetch(`${service.url}/api/v1/openapi.json`);
  type Operation = { security: unknown; responses: Record<string, unknown>; requestBody?: unknown };
  const { paths, components } = (await response.json()) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, { required: string[]; properties: Record<string, unknown> }> };
  };
  const described = Object.keys(paths).filter((path) => path.startsWith('/sdk/'));
  expect(described).toEqual([
    '/sdk/cryptos',
    '/sdk/rates',
    '/sdk/invoice',
    '/sdk/invoice/{slug}',
    '/sdk/invoice/status/{slug}',
    '/sdk/invoice/rp/{slug}',
  ]);
  expect(paths['/sdk/invoice']!.post).toMatchObject({
    security: [{ clientId: [] }],
    requestBody: {
      content: {
        'application/json': {
          schema: { required: ['amount'], properties: { redirect_url: { type: 'string', format: 'uri' } } },
        },
      },
    },
  });
  const has = (name: string, body: object): void => {
    const { properties, required } = components.schemas[name]!;
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(body)));
    expect(Object.keys(body)).toEqual(expect.arrayContaining(required));
  };
  const id = await create();
  has('CreatedInvoice', (await call('POST', '/invoice', { amount: 10 })).body);
  has('PayersInvoice', (await call('GET', `/invoice/${id}`)).body);
  has('PayersPayment', (await call('POST', `/invoice/rp/${id}`)).body);
  has('PayersInvoice', (await call('GET', `/invoice/${id}`)).body);
  has('InvoiceStatus', (await call('GET', `/invoice/status/${id}`)).body);
});
