/** Who may call the browser API: client IDs, origins, hosts, limits by address, and the cap of a client ID. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { liveClient } from '../support/shop.ts';
import { NO_LIMITS, pageOf } from './client-kit.ts';
import { strictCaller } from './operator-raw.ts';

const SHOP = 'https://www.shop.example';
const HOUR = 3_600_000;

type Created = { id: string };

let service: TestDaemon;
let operator: ReturnType<typeof strictCaller>;
/** A client ID for money that is not the sandbox's. */
let live: string;
beforeAll(async () => {
  service = await startTestDaemon(NO_LIMITS);
  operator = strictCaller(service.dataDir);
  const client = await liveClient(operator, [SHOP, 'https://shop.example:8443', 'http://localhost:3000']);
  live = client.client_id;
  expect(client.hosts).toEqual(['shop.example', 'localhost']);
});
afterAll(() => service.stop());

const preflight = (origin: string, path = '/invoice', to = service) =>
  fetch(`${to.url}/api/v1/sdk${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,mb-client-id',
    },
  });

describe('the client ID', () => {
  const PATHS = [
    ['GET', '/cryptos'],
    ['GET', '/rates'],
    ['POST', '/invoice'],
    ['GET', '/invoice/AAAAAAAAAAAA'],
    ['GET', '/invoice/status/AAAAAAAAAAAA'],
    ['POST', '/invoice/rp/AAAAAAAAAAAA'],
  ] as const;

  it.each(PATHS)('must be there: %s %s', async (method, path) => {
    for (const headers of [{}, { 'mb-client-id': '' }] as Record<string, string>[]) {
      const answer = await pageOf(service, undefined)(method, path, undefined, headers);
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({ message: 'Client ID not provided' });
    }
  });

  it.each(PATHS)('must be known: %s %s', async (method, path) => {
    for (const id of ['ch_client_nobody', service.apiKey, 'x'.repeat(5_000), '__proto__']) {
      const answer = await pageOf(service, id, SHOP)(method, path);
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({ message: 'Invalid client ID' });
    }
  });

  it('is nothing once it is revoked', async () => {
    const { client } = await operator('client.add', { business: '1', name: 'old' });
    const page = pageOf(service, client.client_id);
    expect((await page('GET', '/cryptos')).status).toBe(200);
    await operator('client.revoke', { client: client.client_id });
    const answer = await page('GET', '/cryptos');
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({ message: 'Invalid client ID' });
  });

  it('is no API key, and an API key no client ID', async () => {
    const merchant = await service.call('GET', '/cryptos', undefined, { 'mb-api-key': service.clientId });
    expect(merchant.status).toBe(401);
  });

  it('does not reach the invoices of another business', async () => {
    const { id } = (await service.call<Created>('POST', '/invoice', { amount: 20 })).body;
    const [mine, others] = [pageOf(service, service.clientId), pageOf(service, live, SHOP)];
    expect((await mine('GET', `/invoice/${id}`)).status).toBe(200);
    const [foreign, wrong] = [await others('GET', `/invoice/${id}`), await others('GET', '/invoice/AAAAAAAAAAAA')];
    expect([foreign.status, foreign.body]).toEqual([404, { error: 'Invoice not found' }]);
    expect([wrong.status, wrong.body]).toEqual([foreign.status, foreign.body]);
    expect((await others('POST', `/invoice/rp/${id}`, { crypto: 'LTC' })).body).toEqual(foreign.body);
    expect((await others('GET', `/invoice/status/${id}`)).body).toEqual(foreign.body);
  });
});

describe('origins of a live client ID', () => {
  const ask = (origin?: string) => pageOf(service, live, origin)('GET', '/cryptos');

  it.each([SHOP, 'https://shop.example:8443', 'http://localhost:3000'])('%s is listed', async (origin) => {
    const answer = await ask(origin);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(answer.headers.get('vary')).toContain('Origin');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it.each([
    'https://shop.example',
    'http://www.shop.example',
    'https://www.shop.example:444',
    'https://www.shop.example.evil.example',
    'https://evilwww.shop.example',
    'https://WWW.shop.example',
    'https://localhost:3000',
    'null',
    'file://',
    '',
  ])('%s is not', async (origin) => {
    const answer = await ask(origin);
    expect(answer.status).toBe(403);
    expect(answer.body).toEqual({ message: 'Origin not allowed' });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    expect(answer.headers.get('vary')).toContain('Origin');
  });

  it('matter to browsers only', async () => {
    const answer = await ask(undefined);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('change at once', async () => {
    const { client } = await operator('client.add', { business: 'Live', name: 'b', origins: ['https://b.example'] });
    const from = (origin: string) => pageOf(service, client.client_id, origin)('GET', '/cryptos');
    expect((await from('https://b.example')).status).toBe(200);
    await operator('client.change', { client: client.client_id, origins: ['https://c.example'] });
    expect((await from('https://b.example')).status).toBe(403);
    expect((await from('https://c.example')).status).toBe(200);
  });
});

describe('origins of the sandbox’s', () => {
  it.each(['null', 'https://anything.example', 'http://127.0.0.1:5500'])('%s is fine', async (origin) => {
    const answer = await pageOf(service, service.clientId, origin)('POST', '/invoice', { amount: 10 });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  });
});

describe('preflights', () => {
  it('say what may be sent', async () => {
    const answer = await preflight(SHOP);
    expect(answer.status).toBe(204);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': SHOP,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': 'MB-CLIENT-ID, Accept, Content-Type',
      'access-control-max-age': '3600',
      vary: 'Origin',
    });
    // while there is a client ID of the sandbox, which takes any origin, nobody can know before the request itself
    expect((await preflight('null')).headers.get('access-control-allow-origin')).toBe('null');
  });

  it('are refused to origins that no client ID lists, where the sandbox has none', async () => {
    const own = await startTestDaemon();
    try {
      const call = strictCaller(own.dataDir);
      await call('client.revoke', { client: own.clientId });
      for (const origin of ['https://shop.example', 'null']) {
        const answer = await preflight(origin, '/invoice', own);
        expect(answer.status).toBe(403);
        expect(answer.headers.get('access-control-allow-origin')).toBeNull();
        expect(await answer.json()).toEqual({ message: 'Origin not allowed' });
      }
      const unknown = await pageOf(own, own.clientId, 'https://shop.example')('GET', '/cryptos');
      expect(unknown.status).toBe(401);
      expect(unknown.headers.get('access-control-allow-origin')).toBeNull();
    } finally {
      await own.stop();
    }
  });

  it('are not to be had for the merchant API', async () => {
    const answer = await fetch(`${service.url}/api/v1/merchant/invoice`, {
      method: 'OPTIONS',
      headers: { origin: SHOP, 'access-control-request-method': 'POST' },
    });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('hosts', () => {
  const create = (urls: object, clientId = live) =>
    pageOf(service, clientId, SHOP)('POST', '/invoice', { amount: 10, ...urls });

  it.each([
    { close_url: 'https://shop.example/cart' },
    { close_url: 'http://www.shop.example:8080/cart' },
    { redirect_url: 'https://deep.below.shop.example/thanks?x=1#y' },
    { redirect_url: 'https://SHOP.example/' },
    { redirect_url: 'http://localhost:3000/thanks' },
    { webhook_url: 'https://api.shop.example/hook' },
  ])('%j is below a registrable domain of the origins', async (urls) => {
    expect((await create(urls)).status).toBe(201);
  });

  it.each([
    ['close_url', 'https://example/'],
    ['close_url', 'https://evil.example/'],
    ['close_url', 'https://evilshop.example/'],
    ['redirect_url', 'https://shop.example.evil.example/'],
    ['redirect_url', 'https://evil.example/https://shop.example'],
    ['redirect_url', 'https://evil.example\\.shop.example/'],
    ['redirect_url', 'http://127.0.0.1/'],
    ['webhook_url', 'https://169.254.169.254/latest'],
    ['webhook_url', 'https://evil.example#.shop.example'],
  ])('%s may not lead to %s', async (field, url) => {
    const { status, body } = await create({ [field]: url });
    const message = `The ${field.replace('_', ' ')} leads to a host that this client ID does not allow.`;
    expect([status, body]).toEqual([422, { message, errors: { [field]: [message] } }]);
  });

  it('are any in the sandbox, but a notification goes over https', async () => {
    const sandbox = service.clientId;
    expect(
      (await create({ redirect_url: 'http://127.0.0.1:9/x', close_url: 'https://evil.example' }, sandbox)).status,
    ).toBe(201);
    expect((await create({ webhook_url: 'http://shop.example/hook' }, sandbox)).status).toBe(422);
  });

  it('are those that were given, and what lies below them', async () => {
    const { client } = await operator('client.add', {
      business: 'Live',
      name: 'shared host',
      origins: ['https://me.github.io'],
    });
    expect(client.hosts).toEqual(['me.github.io']);
    const page = pageOf(service, client.client_id, 'https://me.github.io');
    const leads = async (close_url: string) => (await page('POST', '/invoice', { amount: 10, close_url })).status;
    expect(await leads('https://me.github.io/x')).toBe(201);
    expect(await leads('https://you.github.io/x')).toBe(422);
    await operator('client.change', { client: client.client_id, hosts: ['pay.example'] });
    expect(await leads('https://me.github.io/x')).toBe(422);
    expect(await leads('https://pay.example./x')).toBe(201);
  });
});

describe('a notification of a browser’s invoice', () => {
  it('never goes where the allow-list alone would let it', async () => {
    const own = await startTestDaemon(`${NO_LIMITS}\n[webhook]\nallow_hosts = ["127.0.0.1:443"]\n`);
    try {
      const invoice = { amount: 80, crypto: 'LTC', webhook_url: 'https://127.0.0.1/hook' };
      expect((await own.call('POST', '/invoice', invoice)).status).toBe(201);
      const refused = await pageOf(own, own.clientId)('POST', '/invoice', invoice);
      expect(refused.status).toBe(422);
      expect(refused.body.message).toContain(
        'the address is loopback; webhook.allow_hosts holds for invoices of the merchant API only',
      );
    } finally {
      await own.stop();
    }
  });
});

describe('limits by address', () => {
  it('are 60 reads and 10 creations at once, tell when to try again, and can be read by the page', async () => {
    const own = await startTestDaemon();
    try {
      own.holdClock();
      const page = pageOf(own, own.clientId, SHOP);
      const send = async (count: number, ask: () => ReturnType<typeof page>) =>
        (await Promise.all(Array.from({ length: count }, ask))).filter(({ status }) => status === 429);
      const created = await send(12, () => page('POST', '/invoice', { amount: 10 }));
      expect(created).toHaveLength(2);
      expect(created[0]!.body).toEqual({ message: 'Too many requests from this address' });
      // ten a minute
      expect(created[0]!.headers.get('retry-after')).toBe('6');
      expect(created[0]!.headers.get('access-control-allow-origin')).toBe(SHOP);
      expect(created[0]!.headers.get('access-control-expose-headers')).toBe('Retry-After');
      // reads have a limit of their own, whoever they are for
      const refused = await send(70, () => pageOf(own, undefined)('GET', '/invoice/AAAAAAAAAAAA'));
      expect(refused).toHaveLength(10);
      expect((await page('GET', '/cryptos')).status).toBe(429);
      // the merchant API knows no such limit
      expect((await own.call('GET', '/cryptos')).status).toBe(200);
      own.advance(60_000);
      expect((await page('GET', '/cryptos')).status).toBe(200);
      expect((await page('POST', '/invoice', { amount: 10 })).status).toBe(201);
    } finally {
      await own.stop();
    }
  });
});

describe('the address that is limited', () => {
  const twelve = (own: TestDaemon) =>
    Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        pageOf(own, own.clientId)('POST', '/invoice', { amount: 10 }, { 'x-forwarded-for': `203.0.113.${n}` }),
      ),
    ).then((answers) => answers.filter(({ status }) => status === 429).length);

  it.each([
    ['is the connection’s, whatever it says of others', '', 2],
    ['is a configured proxy’s word', 'trusted_proxies = ["127.0.0.1"]\n', 0],
  ])('%s', async (_name, config, refused) => {
    const own = await startTestDaemon(config);
    try {
      own.holdClock();
      expect(await twelve(own)).toBe(refused);
    } finally {
      await own.stop();
    }
  });
});

const PROXY = 'trusted_proxies = ["127.0.0.1"]\n';
const from = (payer: number) => ({ 'x-forwarded-for': `203.0.113.${payer + 2}` });

describe('the share of one address', () => {
  it('is a tenth of the cap, by the /64 of an IPv6 address', async () => {
    const own = await startTestDaemon(`${PROXY}${NO_LIMITS}open_invoices_max = 20\n`);
    try {
      const page = pageOf(own, own.clientId);
      const ask = async (address: string) => {
        const { id } = (await page<Created>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body;
        return page('POST', `/invoice/rp/${id}`, {}, { 'x-forwarded-for': address });
      };
      const one = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:2::3'];
      const answers = [];
      for (const address of one) answers.push(await ask(address));
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 429]);
      expect(answers[2]!.body).toEqual({ message: 'Too many open invoices from this address' });
      expect((await ask('2001:db8:1:3::1')).status).toBe(201);
      expect((await ask('203.0.113.5')).status).toBe(201);
    } finally {
      await own.stop();
    }
  });
});

describe('a full cap', () => {
  it('lets go what nobody paid within its quote, and nothing else', async () => {
    const own = await startTestDaemon(`${PROXY}${NO_LIMITS}open_invoices_max = 3\n`);
    try {
      const page = pageOf(own, own.clientId);
      const make = async (payer: number) => {
        const { id } = (await page<Created>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body;
        return { id, status: (await page('POST', `/invoice/rp/${id}`, {}, from(payer))).status };
      };
      const begun = await make(0);
      const left = await make(1);
      await own.call('POST', '/sandbox/pay', { invoice_id: begun.id, amount: '0.1' });
      await until('a part is seen', async () => {
        return (await page('GET', `/invoice/status/${begun.id}`)).body.received === '0.1';
      });
      own.advance(HOUR + 60_000);
      await own.call('POST', '/sandbox/mine', { crypto: 'LTC' });
      const fresh = await make(2);
      expect([begun, left, fresh].map(({ status }) => status)).toEqual([201, 201, 201]);
      // the address that left one behind gets another in its place
      expect(await make(1)).toMatchObject({ status: 201 });
      const statusOf = async (id: string) => (await own.call('GET', `/invoice/${id}`)).body.status;
      expect(await statusOf(left.id)).toBe('canceled');
      expect(await statusOf(begun.id)).toBe('unpaid');
      expect(await statusOf(fresh.id)).toBe('unpaid');
      expect(await make(4)).toMatchObject({ status: 429 });
    } finally {
      await own.stop();
    }
  });
});

describe('the cap of a client ID', () => {
  it('counts only unpaid invoices that hold an address', async () => {
    const own = await startTestDaemon(`${PROXY}${NO_LIMITS}open_invoices_max = 3\n`);
    try {
      const page = pageOf(own, own.clientId);
      const create = async () => (await page<Created>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body.id;
      const request = (id: string) => page('POST', `/invoice/rp/${id}`, {}, from(ids.indexOf(id)));
      const ids = await Promise.all(Array.from({ length: 8 }, create));
      const answers = await Promise.all(ids.slice(0, 5).map(request));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 429, 429]);
      const refused = answers.find(({ status }) => status === 429)!;
      expect(refused.body).toEqual({ message: 'This shop has too many open invoices at the moment' });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);

      // the payment page is no way around it, and the merchant's own invoices are not counted
      const byPage = await fetch(`${own.url}/pay/${ids[7]}`, { method: 'POST', redirect: 'manual' });
      expect(byPage.status).toBe(503);
      const { id } = (await own.call<Created>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body;
      expect((await request(id)).status).toBe(201);

      const holder = ids.find((_, n) => answers[n]?.status === 201)!;
      await own.call('POST', '/sandbox/pay', { invoice_id: holder });
      await own.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 3 });
      await until('it is paid', async () => (await page('GET', `/invoice/${holder}`)).body.status === 'paid');
      expect((await request(ids[5]!)).status).toBe(201);
      expect((await request(ids[6]!)).status).toBe(429);

      // it survives a restart, and an invoice that the operator ends lets go
      await own.restart();
      expect((await request(ids[6]!)).status).toBe(429);
      const call = strictCaller(own.dataDir);
      await call('invoice.cancel', { invoice: ids[5]! });
      expect((await request(ids[6]!)).status).toBe(201);
    } finally {
      await own.stop();
    }
  });
});

describe('an invoice that a browser left behind', () => {
  it('is canceled 24 h after its last quote ended, unless money came', async () => {
    const own = await startTestDaemon(NO_LIMITS);
    try {
      const page = pageOf(own, own.clientId);
      const body = { amount: 80, crypto: 'LTC', due_date: dayFromNow(own, 60) };
      const make = async (create: () => Promise<{ body: Created }>) => {
        const { id } = (await create()).body;
        expect((await page('POST', `/invoice/rp/${id}`, {})).status).toBe(201);
        return id;
      };
      const browser = () => page<Created>('POST', '/invoice', body);
      const left = await make(browser);
      const read = await make(browser);
      const started = await make(browser);
      const merchants = await make(() => own.call<Created>('POST', '/invoice', body));
      await own.call('POST', '/sandbox/pay', { invoice_id: started, amount: '0.25' });
      const received = async () => (await page('GET', `/invoice/status/${started}`)).body.received;
      await until('a part is seen', async () => (await received()) === '0.25');

      const states = async () =>
        (await strictCaller(own.dataDir)('invoice.list', { limit: 10 })).invoices.map(({ slug, status }) => [
          slug,
          status,
        ]);
      const becomes = async (expected: [string, string][]) => {
        await until(`${JSON.stringify(expected)}`, async () => {
          const now = new Map((await states()) as [string, string][]);
          return expected.every(([id, status]) => now.get(id) === status);
        });
      };
      // a read makes a fresh quote, and with it a day more
      own.advance(10 * HOUR);
      await own.restart();
      expect((await page('GET', `/invoice/${read}`)).body.status).toBe('unpaid');
      own.advance(14 * HOUR);
      await own.restart();
      await becomes([[left, 'unpaid']]);
      own.advance(HOUR + 60_000);
      await own.restart();
      await becomes([
        [left, 'canceled'],
        [read, 'unpaid'],
        [started, 'unpaid'],
        [merchants, 'unpaid'],
      ]);
      own.advance(10 * HOUR);
      await own.restart();
      await becomes([
        [read, 'canceled'],
        [started, 'unpaid'],
        [merchants, 'unpaid'],
      ]);
    } finally {
      await own.stop();
    }
  });
});
