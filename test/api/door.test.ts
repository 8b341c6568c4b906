/** Who may ask for what, however the request is spelled: paths, repeated requests, guesses, the sandbox's own tools. */
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHAINS } from '../../daemon/domain/assets.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

const INVALID =
  'The selected crypto is invalid: use BTC, BCH, LTC, XMR, ETH, BNB, USDT_ERC20, USDT_BEP20, XAUT or PAXG.';

let service: TestDaemon;
let call: ReturnType<typeof strictCaller>;
beforeAll(async () => {
  service = await startTestDaemon();
  call = strictCaller(service.dataDir);
});
afterAll(() => service.stop());

const UUID = /^[0-9a-f-]{36}$/;

/** A request as it is: Fetch would not let a test choose the host. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ host: hostname, port, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function invoiceOf(body: object): Promise<string> {
  const made = await service.call<{ id: string }>('POST', '/invoice', body);
  expect(made.status).toBe(201);
  return made.body.id;
}

describe('a path', () => {
  it.each(['/INVOICE', '/invoice/', '/Cryptos', '/cryptos/', '/withdraw/', '/sandbox/Mine', '/sandbox/mine/'])(
    '%s does not exist',
    async (path) => {
      const method = /cryptos/i.test(path) ? 'GET' : 'POST';
      const answer = await service.call(method, path, method === 'GET' ? undefined : {});
      expect(answer).toMatchObject({ status: 404, body: { message: 'Not found' } });
    },
  );
});

describe('an Idempotency-Key', () => {
  it('holds for an invoice, whatever name the caller gives it', async () => {
    const slug = await invoiceOf({ amount: 20, crypto: 'LTC' });
    const headers = { 'idempotency-key': 'one request' };
    const first = await service.call<{ invoice_id: string }>('POST', `/invoice/rp/${slug}`, {}, headers);
    expect(first.status).toBe(201);
    expect(first.body.invoice_id).toMatch(UUID);
    for (const name of [first.body.invoice_id, first.body.invoice_id.toUpperCase(), slug]) {
      const again = await service.call('POST', `/invoice/rp/${name}`, {}, headers);
      expect(again).toMatchObject({ status: 201, body: first.body });
    }
  });

  it('of another invoice is another request', async () => {
    const headers = { 'idempotency-key': 'two invoices' };
    const ids = [await invoiceOf({ amount: 20, crypto: 'LTC' }), await invoiceOf({ amount: 20, crypto: 'LTC' })];
    const [one, two] = await Promise.all(
      ids.map((id) => service.call<{ address: string }>('POST', `/invoice/rp/${id}`, {}, headers)),
    );
    expect([one!.status, two!.status]).toEqual([201, 201]);
    expect(one!.body.address).not.toBe(two!.body.address);
  });

  it('makes the controls of the sandbox repeatable', async () => {
    const id = await invoiceOf({ amount: 20, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${id}`, {});
    const headers = { 'idempotency-key': 'pay once' };
    const asked = { invoice_id: id, amount: '0.1' };
    const answers = await Promise.all([1, 2, 3].map(() => service.call('POST', '/sandbox/pay', asked, headers)));
    const later = await service.call('POST', '/sandbox/pay', asked, headers);
    for (const answer of [...answers, later]) expect(answer).toMatchObject({ status: 201, body: answers[0]!.body });
    const other = await service.call('POST', '/sandbox/pay', { ...asked, amount: '0.2' }, headers);
    expect(other.status).toBe(409);
    const mined = await service.call<{ height: number }>('POST', '/sandbox/mine', { crypto: 'LTC' }, headers);
    const again = await service.call<{ height: number }>('POST', '/sandbox/mine', { crypto: 'LTC' }, headers);
    expect(again.body.height).toBe(mined.body.height);
  });
});

describe("the sandbox's controls", () => {
  it('take a number in the form in which JavaScript writes small ones', async () => {
    const id = await invoiceOf({ amount: 20, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${id}`, {});
    for (const [amount, paid] of [
      [1e-8, '0.00000001'],
      ['2.5e-7', '0.00000025'],
      [0.25, '0.25'],
    ]) {
      const answer = await service.call('POST', '/sandbox/pay', { invoice_id: id, amount });
      expect([answer.status, answer.body]).toEqual([201, { tx_id: expect.any(String), amount: paid }]);
    }
    for (const amount of [1e-9, -1, 'x', '']) {
      const answer = await service.call('POST', '/sandbox/pay', { invoice_id: id, amount });
      const message = 'The amount must be a decimal with at most 8 digits after the point.';
      expect([answer.status, answer.body]).toEqual([422, { message, errors: { amount: [message] } }]);
    }
  });

  it('say which amounts they take', async () => {
    const id = await invoiceOf({ amount: 20, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${id}`, {});
    const refused = async (amount: unknown) =>
      (await service.call<{ message: string }>('POST', '/sandbox/pay', { invoice_id: id, amount })).body.message;
    expect(await refused('0')).toBe('The amount must be above 0.');
    expect(await refused(99_999_999)).toBe('The amount must be above 0 and at most 84000000 LTC');
  });

  it('take null for what is absent', async () => {
    const { body } = await service.call<{ height: number }>('POST', '/sandbox/mine', { crypto: 'BCH', blocks: null });
    const asked = { crypto: 'BCH', depth: 1, drop: null };
    const replaced = await service.call<{ height: number }>('POST', '/sandbox/reorg', asked);
    expect([replaced.status, replaced.body.height]).toEqual([200, body.height + 1]);
  });
});

describe('a key of another network', () => {
  it('finds no sandbox controls, whatever its scopes', async () => {
    const accounts = Object.fromEntries(
      CHAINS.map((chain) => [chain, accountKey(new Uint8Array(32).fill(9), chain, 'mainnet', 0)]),
    );
    await call('business.add', {
      name: 'Live',
      network: 'mainnet',
      account_no: 0,
      accounts,
      key: { name: 'till', scopes: ['invoices'] },
    });
    for (const scopes of [['withdraw'], ['invoices']] as const) {
      const { key } = (await call('key.add', { business: 'Live', name: 'till', scopes: [...scopes] })).key;
      const answer = await service.call('POST', '/sandbox/mine', { crypto: 'LTC' }, { 'mb-api-key': key });
      expect(answer).toMatchObject({ status: 404, body: { message: 'Not found' } });
    }
  });
});

describe('guesses of a key', () => {
  it('are counted together, at whichever endpoint they are made', async () => {
    const headers = { 'mb-api-key': 'ch_test_guess' };
    const statuses: number[] = [];
    const release = service.holdClock();
    for (const path of ['/cryptos', '/withdrawal/1', '/sandbox/mine', '/cryptos']) {
      for (let guess = 0; guess < 3; guess++) {
        const method = path === '/sandbox/mine' ? 'POST' : 'GET';
        statuses.push((await service.call(method, path, method === 'POST' ? {} : undefined, headers)).status);
      }
    }
    release();
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    expect((await service.call('GET', '/cryptos')).status).toBe(200);
  });
});

describe('a key with a limit', () => {
  it('is told when to come back, and another key is not held up', async () => {
    const wanted = { business: 'Sandbox', name: 'slow', scopes: ['invoices' as const], per_minute: 2 };
    const { key } = (await call('key.add', wanted)).key;
    const ask = () => service.call('GET', '/cryptos', undefined, { 'mb-api-key': key });
    const release = service.holdClock();
    const answers = [await ask(), await ask(), await ask()];
    release();
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]!.body).toEqual({ message: 'Too many requests with this API key: it may make 2 a minute' });
    expect(Number(answers[2]!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await service.call('GET', '/cryptos')).status).toBe(200);
    service.advance(60_000);
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
    expect((await ask()).status).toBe(200);
  });
});

describe('withdraw', () => {
  it.each([
    [{ amount: 1, crypto: 'NO' }, INVALID],
    [{ amount: 1 }, 'The crypto field is required.'],
    [{ crypto: 'NO' }, 'The amount field is required.'],
    [{ amount: 1, crypto: 'LTC' }, 'The address field is required.'],
    [{ amount: 1, crypto: 'NO', address: 'x' }, INVALID],
  ])('checks %j in the order of its fields', async (body, message) => {
    expect(await service.call('POST', '/withdraw', body)).toMatchObject({
      status: 400,
      body: { message, status: 'error' },
    });
  });
});

describe("the sandbox's own tools", () => {
  const strangers: [string, Record<string, string>][] = [
    ['forwarded by a proxy', { host: 'localhost', 'x-forwarded-for': '203.0.113.7' }],
    ['forwarded by a proxy of another kind', { host: 'localhost', via: '1.1 somewhere' }],
    ['through an onion service', { host: `${'a'.repeat(56)}.onion` }],
    ['under another name', { host: 'pay.example.com' }],
  ];
  const local = () => ({ host: new URL(service.url).host });
  const anywhere = { origin: 'https://anywhere.example' };

  async function payable(): Promise<string> {
    const id = await invoiceOf({ amount: 20, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${id}`, {});
    return id;
  }

  it('answer on the machine itself', async () => {
    const id = await payable();
    expect((await raw('GET', '/demo', local())).status).toBe(200);
    expect((await raw('GET', `/pay/${id}`, local())).text).toContain(`${id}/sandbox`);
    const sdk = await raw('GET', '/api/v1/sdk/cryptos', { ...local(), ...anywhere, 'mb-client-id': service.clientId });
    expect(sdk.status).toBe(200);
  });

  it.each(strangers)('do not answer %s', async (_how, headers) => {
    const id = await payable();
    expect((await raw('GET', '/demo', headers)).status).toBe(404);
    const page = await raw('GET', `/pay/${id}`, headers);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain('/sandbox');
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    expect((await raw('POST', `/pay/${id}/sandbox`, form, 'do=exact')).status).toBe(404);
    const sdk = { ...headers, ...anywhere, 'mb-client-id': service.clientId, 'content-type': 'application/json' };
    expect(await raw('GET', '/api/v1/sdk/cryptos', sdk)).toMatchObject({ status: 403 });
    expect((await raw('GET', '/api/v1/sdk/cryptos', sdk)).headers['access-control-allow-origin']).toBeUndefined();
    const noOrigin = { ...headers, 'mb-client-id': service.clientId, 'content-type': 'application/json' };
    const url = JSON.stringify({ amount: 20, close_url: 'https://anywhere.example/' });
    expect(await raw('POST', '/api/v1/sdk/invoice', noOrigin, url)).toMatchObject({ status: 422 });
  });

  it('answer everybody where the operator says so', async () => {
    const open = await startTestDaemon('[sandbox]\nblock_seconds = 0\npublic = true\n');
    try {
      const answer = await fetch(`${open.url}/demo`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
      expect(answer.status).toBe(200);
    } finally {
      await open.stop();
    }
  });
});

describe('connections', () => {
  const connectTo = (count: number): Promise<Socket[]> =>
    Promise.all(
      Array.from({ length: count }, () => {
        const { hostname, port } = new URL(service.url);
        return new Promise<Socket>((resolve) => {
          const socket = connect({ host: hostname, port: Number(port) }, () => resolve(socket));
          socket.on('error', () => {});
        });
      }),
    );

  it('of one address are 200 at most, and those that ask nothing end by themselves', async () => {
    const sockets = await connectTo(230);
    const closed = () => sockets.filter((socket) => socket.closed || socket.destroyed).length;
    for (const socket of sockets) socket.resume();
    try {
      await until('those beyond 200 are ended', async () => closed() >= 30);
      expect(closed()).toBeLessThan(100);
      await until('the others are ended', async () => closed() === 230, 20_000);
      expect((await service.call('GET', '/cryptos')).status).toBe(200);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
});

describe('requests sent before the answers are read', () => {
  it('get eight answers on one connection, which then ends', async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const one = 'GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.write(one.repeat(1_400));
    let text = '';
    for await (const piece of socket.setEncoding('latin1')) text += piece;
    expect(text.match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(8);
    expect(text.match(/Connection: close\r\n/g)).toHaveLength(1);
  });

  it('are all answered when they are few', async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const one = (last: boolean) => `GET /health HTTP/1.1\r\nHost: x\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
    socket.write(one(false).repeat(6) + one(true));
    let text = '';
    for await (const piece of socket.setEncoding('latin1')) text += piece;
    expect(text.match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(7);
  });
});

describe('an address for payers', () => {
  it.each([
    ['public_url = "https://pay.example.com"\n', true],
    ['public_url = "https://pay.example.com"\ntrusted_proxies = ["127.0.0.1"]\n', false],
    ['public_url = "http://localhost:9000"\n', false],
    ['', false],
  ])('%j is warned of: %s', async (config, warned) => {
    const own = await startTestDaemon(config);
    try {
      const { warnings } = await strictCaller(own.dataDir)('status', {});
      expect(warnings.map((one) => textOf(one).includes('trusted_proxies'))).toEqual(warned ? [true] : []);
    } finally {
      await own.stop();
    }
  });
});

describe('a balance with rates', () => {
  it('leaves out what never had a rate, and gives no null', async () => {
    const { status, body } = await service.call<Record<string, { rates: Record<string, unknown> }>>(
      'POST',
      '/balance',
      {
        with_rates: 'true',
      },
    );
    expect(status).toBe(200);
    for (const { rates } of Object.values(body)) {
      expect(Object.values(rates).map((rate) => typeof rate)).toEqual(['number', 'number', 'number']);
    }
    const accounts = Object.fromEntries(
      CHAINS.map((chain) => [chain, accountKey(new Uint8Array(32).fill(8), chain, 'mainnet', 1)]),
    );
    const live = { name: 'No rates', network: 'mainnet' as const, account_no: 1, accounts };
    const added = await call('business.add', { ...live, key: { name: 'till', scopes: ['balance'] } });
    const headers = { 'mb-api-key': added.key.key };
    expect(await service.call('POST', '/balance', { with_rates: 'true' }, headers)).toMatchObject({
      status: 200,
      body: {},
    });
  });
});
