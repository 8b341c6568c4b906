/** Every row of the contract's tables about invoices and payments, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

const INVALID_NEW = 'The selected crypto is invalid: use BTC, BCH, LTC, XMR, USDT_ERC20, USDT_BEP20 or ALL.';
const INVALID =
  'The selected crypto is invalid: use BTC, BCH, LTC, XMR, ETH, BNB, USDT_ERC20, USDT_BEP20, XAUT or PAXG.';

let service: TestDaemon;
beforeAll(async () => {
  service = await startTestDaemon();
});
afterAll(() => service.stop());

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

type Invoice = {
  id: string;
  status: string;
  due_date: string;
  rates: string | null;
  payment: Record<string, unknown> & { status: string | null };
};

const create = (body: unknown = { amount: 100, crypto: 'LTC' }) =>
  service.call<Invoice & { success: boolean }>('POST', '/invoice', body);
const get = async (id: string) => (await service.call<Invoice>('GET', `/invoice/${id}`)).body;
const control = (name: string, body: unknown) => service.call('POST', `/sandbox/${name}`, body);
const mine = (crypto: string, blocks = 1) => control('mine', { crypto, blocks });

async function paidInvoice(): Promise<string> {
  const { id } = (await create()).body;
  await service.call('POST', `/invoice/rp/${id}`);
  await control('pay', { invoice_id: id });
  await mine('LTC', 3);
  await until('the invoice is paid', async () => (await get(id)).status === 'paid');
  return id;
}

describe('Create invoice', () => {
  it('answers 201 with the fields of the contract', async () => {
    const { status, body } = await create({
      amount: 10.5,
      crypto: 'LTC',
      due_date: '12/31/2030',
      close_url: 'https://shop.example/done',
      webhook_url: 'https://shop.example/hook',
      automatic_redirect: true,
      currency: 'EUR',
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[A-Za-z0-9]{12}$/),
      success: true,
      invoice_url: `${service.url}/pay/${body.id}`,
      due_date: '2030-12-31T23:59:59.000000Z',
      amount: '10.5',
      crypto: 'LTC',
      rates: null,
      currency: 'EUR',
      status: 'unpaid',
    });
  });

  it('defaults to ALL, USD and the last day of this month', async () => {
    const { body } = await create({ amount: 10 });
    const now = new Date();
    const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0));
    expect(body).toMatchObject({ amount: '10', crypto: 'ALL', currency: 'USD' });
    expect(body.due_date).toBe(`${last.toISOString().slice(0, 10)}T23:59:59.000000Z`);
  });

  it.each([
    ['12/31/2030', '2030-12-31'],
    ['01/05/2031', '2031-01-05'],
    ['1/5/2031', '2031-01-05'],
    ['1/05/2031', '2031-01-05'],
    ['2/29/2032', '2032-02-29'],
  ])('takes the due date %s', async (due_date, day) => {
    const { status, body } = await create({ amount: 10, due_date });
    expect([status, body.due_date]).toEqual([201, `${day}T23:59:59.000000Z`]);
  });

  it.each([
    '31/12/2030',
    '2/29/2031',
    '0/5/2031',
    '12/31/30',
    '12-31-2030',
    '12.31.2030',
    '2030/12/31',
    ' 12/31/2030',
    '12/31/2030\n',
    '',
  ])('refuses the due date %j', async (due_date) => {
    const { status, body } = await create({ amount: 10, due_date });
    const message = 'The due date must be a date in the format MM/DD/YYYY.';
    expect([status, body]).toMatchObject([422, { errors: { due_date: [message] } }]);
  });

  it.each<[string, unknown, string]>([
    ['a number', 25, '25'],
    ['a decimal string', '25.50', '25.5'],
    ['what floating-point arithmetic leaves', 59.97000000000001, '59.97'],
    ['the largest', 1_000_000_000, '1000000000'],
    ['yen without decimals', 5000, '5000'],
  ])('keeps %s exactly', async (_name, amount, shown) => {
    const { status, body } = await create({ amount, ...(_name.includes('yen') ? { currency: 'JPY' } : {}) });
    expect(status).toBe(201);
    expect(body).toMatchObject({ amount: shown });
  });

  it.each<[string, unknown, string, string]>([
    ['nothing', {}, 'amount', 'The amount field is required.'],
    ['no body', undefined, 'amount', 'The amount field is required.'],
    ['null', { amount: null }, 'amount', 'The amount field is required.'],
    ['a word', { amount: 'ten' }, 'amount', 'The amount must be a positive number.'],
    ['a list', { amount: [10] }, 'amount', 'The amount must be a number.'],
    ['true', { amount: true }, 'amount', 'The amount must be a number.'],
    ['a negative number', { amount: -10 }, 'amount', 'The amount must be a positive number.'],
    ['three decimals', { amount: 10.123 }, 'amount', 'The amount may have at most 2 decimals.'],
    ['three decimals in a string', { amount: '10.123' }, 'amount', 'The amount may have at most 2 decimals.'],
    ['too much', { amount: 1_000_000_000.01 }, 'amount', 'The amount may not be greater than 1000000000.'],
    ['more than any number', '{"amount":1e300}', 'amount', 'The amount may not be greater than 1000000000.'],
    [
      'a thousand digits',
      `{"amount":${'9'.repeat(1_000)}}`,
      'amount',
      'The amount may not be greater than 1000000000.',
    ],
    ['a vast exponent', '{"amount":1e99999}', 'amount', 'The amount may not be greater than 1000000000.'],
    [
      'decimals of yen',
      { amount: 5000.5, currency: 'JPY' },
      'amount',
      'The amount may have at most 0 decimals in JPY.',
    ],
    ['9.99 dollars', { amount: 9.99 }, 'amount', 'The amount must be at least the equivalent of 10 USD.'],
    ['few yen', { amount: 10, currency: 'JPY' }, 'amount', 'The amount must be at least the equivalent of 10 USD.'],
    ['zero', { amount: 0 }, 'amount', 'The amount must be at least the equivalent of 10 USD.'],
    ['an unknown crypto', { amount: 10, crypto: 'DOGE' }, 'crypto', INVALID_NEW],
    ['a crypto in lower case', { amount: 10, crypto: 'ltc' }, 'crypto', INVALID_NEW],
    ['a crypto that only payments know', { amount: 10, crypto: 'ETH' }, 'crypto', INVALID_NEW],
    ['a number as crypto', { amount: 10, crypto: 5 }, 'crypto', 'The crypto must be a string.'],
    ['yesterday', { amount: 10, due_date: '01/01/2020' }, 'due_date', 'The due date must be today or later.'],
    [
      'an impossible date',
      { amount: 10, due_date: '02/30/2030' },
      'due_date',
      'The due date must be a date in the format MM/DD/YYYY.',
    ],
    [
      'an ISO date',
      { amount: 10, due_date: '2030-01-01' },
      'due_date',
      'The due date must be a date in the format MM/DD/YYYY.',
    ],
    ['a number as date', { amount: 10, due_date: 20300101 }, 'due_date', 'The due date must be a string.'],
    ['no URL', { amount: 10, close_url: 'shop' }, 'close_url', 'The close url must be a valid http or https URL.'],
    [
      'a script URL',
      { amount: 10, close_url: 'javascript:alert(1)' },
      'close_url',
      'The close url must be a valid http or https URL.',
    ],
    [
      'control characters in a URL',
      { amount: 10, close_url: 'ht\ttps://shop.example/\r\n' },
      'close_url',
      'The close url must be a valid http or https URL.',
    ],
    [
      'a login in a URL',
      { amount: 10, webhook_url: 'https://a:b@shop.example' },
      'webhook_url',
      'The webhook url must be a valid http or https URL.',
    ],
    [
      'a long URL',
      { amount: 10, webhook_url: `https://shop.example/${'x'.repeat(2048)}` },
      'webhook_url',
      'The webhook url may not be longer than 2048 characters.',
    ],
    [
      'no truth',
      { amount: 10, automatic_redirect: 'maybe' },
      'automatic_redirect',
      'The automatic redirect must be true or false.',
    ],
    ['an unknown currency', { amount: 10, currency: 'XXX' }, 'currency', 'The selected currency is invalid.'],
    ['a currency in lower case', { amount: 10, currency: 'usd' }, 'currency', 'The selected currency is invalid.'],
    [
      'an inherited name as currency',
      { amount: 10, currency: 'constructor' },
      'currency',
      'The selected currency is invalid.',
    ],
    ['only the first of several', { currency: 'XXX', due_date: 'x' }, 'amount', 'The amount field is required.'],
    ['in the order of the table', { amount: 9, currency: 'XXX', crypto: 'X' }, 'crypto', INVALID_NEW],
  ])('refuses %s', async (_name, body, field, message) => {
    const answer = await service.call('POST', '/invoice', body);
    expect(answer.status).toBe(422);
    expect(answer.body).toEqual({ message, errors: { [field]: [message] } });
  });

  it.each([true, false, 1, 0, '1', '0', 'true', 'false', null])('takes %j as automatic_redirect', async (value) => {
    expect((await create({ amount: 10, automatic_redirect: value })).status).toBe(201);
  });

  it('takes today, and ignores unknown fields', async () => {
    const answer = await create({ amount: 10, due_date: dayFromNow(service, 0), colour: 'red', __proto__: { x: 1 } });
    expect(answer.status).toBe(201);
  });
});

describe('Get invoice', () => {
  it('answers by slug and by UUID, without a payment', async () => {
    const { id } = (await create({ amount: 10, due_date: dayFromNow(service, 1) })).body;
    const invoice = await get(id);
    expect(invoice).toMatchObject({
      id,
      url_slug: id,
      invoice_url: `${service.url}/pay/${id}`,
      amount: '10',
      currency: 'USD',
      crypto: 'ALL',
      status: 'unpaid',
      rates: null,
      payment: { status: null },
      due_date: expect.stringMatching(INSTANT),
      created_at: expect.stringMatching(INSTANT),
    });
  });

  it('adds the payment once there is one', async () => {
    const { id } = (await create({ amount: 80, crypto: 'BTC' })).body;
    const requested = await service.call('POST', `/invoice/rp/${id}`);
    const { payment, rates } = await get(id);
    expect(payment).toEqual(requested.body);
    expect(rates).toBe(payment.rates);
    const byUuid = await service.call<Invoice>('GET', `/invoice/${payment.invoice_id}`);
    expect(byUuid.body.id).toBe(id);
  });

  it.each(['AAAAAAAAAAAA', 'x', '01890000-0000-7000-8000-000000000000', "';--"])('does not find %s', async (name) => {
    const answer = await service.call('GET', `/invoice/${name}`);
    expect(answer).toMatchObject({ status: 404, body: { error: 'Invoice not found' } });
  });
});

describe('Request payment', () => {
  it('answers 201 with the payment resource', async () => {
    const { id } = (await create({ amount: 100, crypto: 'LTC' })).body;
    const { status, body } = await service.call('POST', `/invoice/rp/${id}`, {});
    expect(status).toBe(201);
    expect(body).toEqual({
      invoice_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      address: expect.stringMatching(/^rltc1q[a-z0-9]{38}$/),
      amount: expect.stringMatching(/^\d+\.\d{1,8}$/),
      status: 'pending',
      crypto: 'LTC',
      rates: expect.any(String),
      created_at: expect.stringMatching(INSTANT),
      updated_at: expect.stringMatching(INSTANT),
      received: '0',
      confirmed: '0',
      refunded: '0',
      remaining: body.amount,
      confirmations: 0,
      required_confirmations: 3,
      quote_expires_at: expect.stringMatching(INSTANT),
      transactions: [],
      underpaid: false,
      overpaid: false,
      late: false,
      undone: false,
      unvalued: false,
      flags: [],
    });
    const rates = JSON.parse(body.rates as string) as Record<string, number>;
    expect(Object.keys(rates)).toEqual(expect.arrayContaining(['usd', 'eur']));
    // the amount is worth at least what is owed, and not a cent more
    const worth = Number(body.amount) * rates.usd!;
    expect(worth).toBeGreaterThanOrEqual(100);
    expect(worth).toBeLessThan(100.01);
  });

  it.each([
    ['BTC', /^bcrt1q/],
    ['BCH', /^bchreg:q/],
    ['LTC', /^rltc1q/],
    ['XMR', /^7[1-9A-HJ-NP-Za-km-z]{94}$/],
    ['ETH', /^0x[0-9a-fA-F]{40}$/],
    ['BNB', /^0x[0-9a-fA-F]{40}$/],
    ['USDT_ERC20', /^0x[0-9a-fA-F]{40}$/],
    ['USDT_BEP20', /^0x[0-9a-fA-F]{40}$/],
    ['XAUT', /^0x[0-9a-fA-F]{40}$/],
    ['PAXG', /^0x[0-9a-fA-F]{40}$/],
  ])('gives an ALL invoice an address of %s', async (crypto, form) => {
    const { id } = (await create({ amount: 50 })).body;
    const { status, body } = await service.call('POST', `/invoice/rp/${id}`, { crypto });
    expect(status).toBe(201);
    expect(body.crypto).toBe(crypto);
    expect(body.address).toMatch(form);
  });

  it('gives no address twice', async () => {
    const addresses = await Promise.all(
      Array.from({ length: 45 }, async () => {
        const { id } = (await create()).body;
        return (await service.call('POST', `/invoice/rp/${id}`)).body.address;
      }),
    );
    expect(new Set(addresses).size).toBe(45);
    expect(addresses).not.toContain(undefined);
  });

  it('says first that an invoice is not found, then requested, then not unpaid, then crypto', async () => {
    const missing = await service.call('POST', '/invoice/rp/AAAAAAAAAAAA', { crypto: 5 });
    expect(missing).toMatchObject({ status: 404, body: { error: 'Invoice not found' } });

    const { id } = (await create()).body;
    await service.call('POST', `/invoice/rp/${id}`);
    const again = await service.call('POST', `/invoice/rp/${id}`, { crypto: 5 });
    expect(again.status).toBe(400);
    expect(again.body).toEqual({ message: 'Payment already requested', error: 'payment.requested' });
  });

  it('of a canceled invoice is refused', async () => {
    const own = await startTestDaemon();
    try {
      const { id } = (await own.call<Invoice>('POST', '/invoice', { amount: 10 })).body;
      own.advance(70 * 86_400_000);
      await until('the invoice is canceled', async () => {
        await own.restart();
        return (await own.call<Invoice>('GET', `/invoice/${id}`)).body.status === 'canceled';
      });
      const answer = await own.call('POST', `/invoice/rp/${id}`, {});
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual({ message: 'Invoice is not unpaid', error: 'invoice.not_unpaid' });
    } finally {
      await own.stop();
    }
  });

  it.each<[unknown, number, Record<string, unknown>]>([
    [{}, 400, { message: 'crypto parameter is required for this invoice' }],
    [undefined, 400, { message: 'crypto parameter is required for this invoice' }],
    [{ crypto: null }, 400, { message: 'crypto parameter is required for this invoice' }],
    [{ crypto: 'DOGE' }, 422, { message: INVALID, errors: { crypto: [INVALID] } }],
    [{ crypto: 'ALL' }, 422, { message: INVALID, errors: { crypto: [INVALID] } }],
    [{ crypto: 'btc' }, 422, { message: INVALID, errors: { crypto: [INVALID] } }],
    [
      { crypto: 7 },
      422,
      { message: 'The crypto must be a string.', errors: { crypto: ['The crypto must be a string.'] } },
    ],
    [
      { crypto: 'USDT' },
      422,
      {
        message: 'The selected crypto is ambiguous: use USDT_ERC20 or USDT_BEP20.',
        errors: { crypto: ['The selected crypto is ambiguous: use USDT_ERC20 or USDT_BEP20.'] },
      },
    ],
  ])('of an ALL invoice with %j answers %i', async (body, status, expected) => {
    const { id } = (await create({ amount: 50 })).body;
    const answer = await service.call('POST', `/invoice/rp/${id}`, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual(expected);
  });

  it('of a fixed invoice takes its own crypto and no other', async () => {
    const { id } = (await create({ amount: 50, crypto: 'LTC' })).body;
    const wrong = await service.call('POST', `/invoice/rp/${id}`, { crypto: 'BTC' });
    expect(wrong.status).toBe(422);
    expect((await service.call('POST', `/invoice/rp/${id}`, { crypto: 'LTC' })).status).toBe(201);
  });
});

describe('Delete invoice', () => {
  it('without a payment answers 200, and it is gone', async () => {
    const { id } = (await create()).body;
    expect(await service.call('DELETE', `/invoice/${id}`)).toMatchObject({
      status: 200,
      body: { message: 'Invoice deleted' },
    });
    for (const method of ['GET', 'DELETE']) {
      const answer = await service.call(method, `/invoice/${id}`);
      expect(answer).toMatchObject({ status: 404, body: { error: 'Invoice not found' } });
    }
    expect((await service.call('POST', `/invoice/rp/${id}`)).status).toBe(404);
  });

  it('with a pending payment answers 400', async () => {
    const { id } = (await create()).body;
    await service.call('POST', `/invoice/rp/${id}`);
    const answer = await service.call('DELETE', `/invoice/${id}`);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: 'Invoice has a pending payment, cannot be deleted at this time' });
  });

  it('when paid answers 400', async () => {
    const answer = await service.call('DELETE', `/invoice/${await paidInvoice()}`);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: 'Invoice has already been paid' });
  });
});

describe('Idempotency-Key', () => {
  const keyed = (key: string) => ({ 'idempotency-key': key });

  it('answers the same request with the same invoice, 50 at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => service.call<Invoice>('POST', '/invoice', { amount: 30 }, keyed('same'))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  });

  it('refuses another body', async () => {
    await service.call('POST', '/invoice', { amount: 30 }, keyed('other'));
    const answer = await service.call('POST', '/invoice', { amount: 31 }, keyed('other'));
    expect(answer.status).toBe(409);
    expect(answer.body).toEqual({ message: 'Idempotency-Key was already used with another body' });
  });

  it('keeps no failure, and is of one path', async () => {
    expect((await service.call('POST', '/invoice', {}, keyed('failed'))).status).toBe(422);
    const { body } = await service.call<Invoice>('POST', '/invoice', { amount: 30 }, keyed('failed'));
    const payment = await service.call('POST', `/invoice/rp/${body.id}`, { crypto: 'BTC' }, keyed('failed'));
    expect(payment.status).toBe(201);
    const again = await service.call('POST', `/invoice/rp/${body.id}`, { crypto: 'BTC' }, keyed('failed'));
    expect(again).toMatchObject({ status: 201, body: payment.body });
  });

  it('is too long beyond 255 characters', async () => {
    expect((await service.call('POST', '/invoice', { amount: 30 }, keyed('x'.repeat(255)))).status).toBe(201);
    expect((await service.call('POST', '/invoice', { amount: 30 }, keyed('x'.repeat(256)))).status).toBe(400);
  });
});
