/** Events for shops, taken by a receiver that verifies them with the library of the Standard Webhooks specification. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EventType } from '../../daemon/domain/merchant.ts';
import { EVENT_TYPES } from '../../daemon/domain/merchant.ts';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { freePort } from '../woocommerce/shop.ts';
import { refusal, strictCaller } from './operator-raw.ts';

type Taken = { path: string; headers: IncomingHttpHeaders; body: string };
type Event = { type: string; timestamp: string; network: string; data: Record<string, unknown> };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let receiver: Server;
let port: number;
let taken: Taken[];
/** What the receiver answers to a path. */
let answers: Map<string, number>;
let service: TestDaemon;
let call: ReturnType<typeof strictCaller>;

beforeAll(async () => {
  taken = [];
  answers = new Map();
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      taken.push({ path: request.url ?? '', headers: request.headers, body });
      response.statusCode = answers.get(request.url ?? '') ?? 204;
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  port = (receiver.address() as AddressInfo).port;
  service = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
  call = strictCaller(service.dataDir);
});
afterAll(async () => {
  await service.stop();
  receiver.close();
});
afterEach(async () => {
  for (const { id } of (await call('endpoint.list', {})).endpoints) await call('endpoint.remove', { id });
  taken.length = 0;
});

const urlOf = (path: string): string => `http://127.0.0.1:${port}${path}`;
const add = async (path: string, types: EventType[] = []) =>
  (await call('endpoint.add', { business: 'Sandbox', url: urlOf(path), types })).endpoint;
const at = (path: string): Taken[] => taken.filter((one) => one.path === path);
const typesAt = (path: string): string[] => at(path).map(({ body }) => (JSON.parse(body) as Event).type);

async function invoice(extra: object = {}): Promise<string> {
  return (await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC', ...extra })).body.id;
}
const request = (id: string) => service.call('POST', `/invoice/rp/${id}`, {});
const pay = (id: string, amount?: string) =>
  service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id: id, ...(amount ? { amount } : {}) });
const mine = (blocks = 1) => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks });

describe('an event', () => {
  it('is signed JSON that says what happened, in order', async () => {
    const { secret } = await add('/a');
    const id = await invoice({ order_id: 'A-1', metadata: { till: '2' } });
    await request(id);
    await pay(id);
    await until('it is seen', async () => typesAt('/a').includes('invoice.seen'));
    await mine(6);
    await until('it is paid', async () => typesAt('/a').includes('invoice.paid'));
    expect(typesAt('/a')).toEqual([
      'invoice.created',
      'invoice.requested',
      'invoice.seen',
      'invoice.confirmed',
      'invoice.paid',
    ]);
    const webhook = new Webhook(secret);
    const verified = at('/a').map(
      ({ body, headers }) => webhook.verify(body, headers as Record<string, string>) as Event,
    );
    const stranger = new Webhook('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=');
    expect(() => stranger.verify(at('/a')[0]!.body, at('/a')[0]!.headers as Record<string, string>)).toThrow();
    expect(new Set(at('/a').map(({ headers }) => headers['webhook-id'])).size).toBe(5);
    expect(verified[0]).toMatchObject({
      network: 'sandbox',
      data: {
        id,
        order_id: 'A-1',
        metadata: { till: '2' },
        status: 'unpaid',
        amount: '80',
        currency: 'USD',
        payment: null,
      },
    });
    const last = verified.at(-1)!.data as { status: string; payment: Record<string, unknown> };
    expect(last.status).toBe('paid');
    expect(last.payment).toMatchObject({ crypto: 'LTC', status: 'paid', undone: false });
    expect(last.payment.received).toBe(last.payment.confirmed);
  });

  it('of a canceled, overdue or undone invoice is told', async () => {
    await add('/b');
    const canceled = await invoice();
    await call('invoice.cancel', { invoice: canceled });
    await until('it is told', async () => typesAt('/b').length === 2);
    expect(typesAt('/b')).toEqual(['invoice.created', 'invoice.canceled']);

    const undone = await invoice();
    await request(undone);
    await pay(undone);
    await until('it is seen', async () => typesAt('/b').includes('invoice.seen'));
    await mine(6);
    await until('it is paid', async () => typesAt('/b').includes('invoice.paid'));
    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 6, drop: true });
    await until('it is undone', async () => typesAt('/b').includes('invoice.undone'));
  });

  it('of a withdrawal is told when its state is another for the API', async () => {
    await add('/w', ['withdrawal.pending', 'withdrawal.completed', 'withdrawal.failed']);
    const id = await invoice();
    await request(id);
    await pay(id, '2');
    await until('it can be spent', async () => {
      await mine();
      return ((await service.call<{ LTC: number }>('POST', '/balance')).body.LTC as number) > 1;
    });
    const { address } = (await service.call<{ payment: { address: string } }>('GET', `/invoice/${id}`)).body.payment;
    await service.call('POST', '/withdraw', { amount: '0.5', crypto: 'LTC', address });
    await until('it is completed', async () => {
      await mine();
      return typesAt('/w').includes('withdrawal.completed');
    });
    expect(typesAt('/w')).toEqual(['withdrawal.pending', 'withdrawal.completed']);
    const { data } = JSON.parse(at('/w')[1]!.body) as Event;
    expect(data).toMatchObject({ status: 'completed', amount: '0.5', crypto: 'LTC', address });
    expect(data.tx_id).toMatch(/^[0-9a-f]{64}$/);
  });

  it('goes to those endpoints that asked for its type', async () => {
    await add('/all');
    await add('/paid', ['invoice.paid']);
    await invoice();
    await until('one is told', async () => at('/all').length === 1);
    expect(at('/paid')).toEqual([]);
  });
});

describe('an endpoint that refuses', () => {
  it('is tried again, with the same id, and later events of the invoice wait for the first', async () => {
    answers.set('/flaky', 500);
    const { id: endpoint } = await add('/flaky');
    const first = await invoice();
    await until('it was tried', async () => at('/flaky').length === 1);
    await call('invoice.cancel', { invoice: first });
    const other = await invoice();
    // another invoice's goes on
    await until('the other was tried', async () => at('/flaky').length === 2);
    answers.set('/flaky', 204);
    service.advance(6_000);
    await until('all arrived', async () => at('/flaky').length === 5, 20_000);
    const told = at('/flaky').map(({ body, headers }) => {
      const event = JSON.parse(body) as Event;
      return { id: event.data.id, type: event.type, webhook: headers['webhook-id'] };
    });
    const ofFirst = told.filter(({ id }) => id === first);
    expect(ofFirst.map(({ type }) => type)).toEqual(['invoice.created', 'invoice.created', 'invoice.canceled']);
    expect(ofFirst[0]!.webhook).toBe(ofFirst[1]!.webhook);
    expect(told.filter(({ id }) => id === other)).toHaveLength(2);
    const log = (await call('delivery.list', {})).deliveries.filter((row) => row.endpoint_id === endpoint);
    expect(log.map(({ state }) => state)).toEqual(['delivered', 'delivered', 'delivered']);
  });

  it('is disabled after three days, and gets what waited once it is enabled', async () => {
    const own = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
    const ownCall = strictCaller(own.dataDir);
    try {
      answers.set('/dead', 503);
      const { endpoint } = await ownCall('endpoint.add', { business: 'Sandbox', url: urlOf('/dead') });
      await own.call('POST', '/invoice', { amount: 80, due_date: dayFromNow(own, 30) });
      const delivery = async () => (await ownCall('delivery.list', {})).deliveries.at(-1)!;
      const tried = (times: number) => until(`tried ${times} times`, async () => (await delivery()).attempts === times);
      await tried(1);
      own.advance(71 * HOUR);
      await tried(2);
      expect((await ownCall('endpoint.list', {})).endpoints[0]!.disabled_at).toBeNull();
      own.advance(2 * HOUR);
      await tried(3);
      const [row] = (await ownCall('endpoint.list', {})).endpoints;
      expect(row).toMatchObject({ disabled_why: 'nothing arrived for three days' });
      const count = at('/dead').length;
      own.advance(71 * HOUR);
      await own.restart();
      await own.call('POST', '/invoice', { amount: 80, due_date: dayFromNow(own, 30) });
      expect(at('/dead')).toHaveLength(count);
      answers.set('/dead', 204);
      await ownCall('endpoint.enable', { id: endpoint.id });
      await until('what waited arrived', async () => at('/dead').length === count + 2);
      const { id, event } = await delivery();
      await ownCall('delivery.resend', { id });
      await until('it arrived again', async () => at('/dead').length === count + 3);
      expect(at('/dead').at(-1)!.headers['webhook-id']).toBe(event);
    } finally {
      await own.stop();
    }
  });

  it('that was away for three days gets all of it at once when it is enabled, what was tried to the end too', async () => {
    const own = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
    const ownCall = strictCaller(own.dataDir);
    try {
      answers.set('/away', 503);
      const { endpoint } = await ownCall('endpoint.add', { business: 'Sandbox', url: urlOf('/away') });
      const due_date = dayFromNow(own, 30);
      const first = (await own.call<{ id: string }>('POST', '/invoice', { amount: 80, due_date })).body.id;
      const delivery = async (at: number) => (await ownCall('delivery.list', {})).deliveries.at(at)!;
      for (let attempt = 1; attempt < 10; attempt += 1) {
        await until(`it was tried ${attempt} times`, async () => (await delivery(-1)).attempts >= attempt);
        if (attempt === 8) await own.call('POST', '/invoice', { amount: 80, due_date });
        own.advance(Date.parse((await delivery(-1)).due_at!) - own.now() + 1_000);
      }
      await until(
        'it is disabled',
        async () => (await ownCall('endpoint.list', {})).endpoints[0]!.disabled_at !== null,
      );
      expect(await delivery(-1)).toMatchObject({ subject: `invoice ${first}`, state: 'waiting' });
      answers.set('/away', 204);
      const count = at('/away').length;
      await ownCall('endpoint.enable', { id: endpoint.id });
      await until('both arrived', async () => at('/away').length === count + 2);
    } finally {
      await own.stop();
    }
  });

  it('is disabled at once by 410 Gone', async () => {
    answers.set('/gone', 410);
    const { id } = await add('/gone');
    await invoice();
    await until('it is disabled', async () => {
      const row = (await call('endpoint.list', {})).endpoints.find((one) => one.id === id);
      return row?.disabled_why === 'it answered 410 Gone';
    });
  });
});

describe('the receiver of the documentation', () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill());

  /** Starts it on a port, and waits until it answers or has ended. */
  async function receive(secret: string, own: number): Promise<ChildProcess> {
    const path = join(import.meta.dirname, '../../resources/examples/receive-events.mjs');
    const env = { ...process.env, SECRET: secret, PORT: `${own}` };
    const started = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    child = started;
    const body = { method: 'POST', body: '{}' };
    await until('it listens or has ended', async () => {
      return started.exitCode !== null || fetch(`http://127.0.0.1:${own}/`, body).catch(() => null);
    });
    return started;
  }

  it('takes what is signed, and nothing else', async () => {
    const own = await freePort();
    const open = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${own}"]\n`);
    const url = `http://127.0.0.1:${own}/`;
    const { endpoint } = await strictCaller(open.dataDir)('endpoint.add', { business: 'Sandbox', url });
    try {
      let printed = '';
      (await receive(endpoint.secret, own)).stdout!.setEncoding('utf8').on('data', (piece: string) => {
        printed += piece;
      });
      const forged = {
        'webhook-id': 'x',
        'webhook-timestamp': `${Math.floor(Date.now() / 1_000)}`,
        'webhook-signature': 'v1,AAAA',
      };
      expect((await fetch(url, { method: 'POST', body: '{"type":"invoice.paid"}', headers: forged })).status).toBe(401);
      const { id } = (await open.call<{ id: string }>('POST', '/invoice', { amount: 80, order_id: 'A-9' })).body;
      await until('it is told', async () => printed.includes(`invoice.created ${id} A-9 unpaid`));
      await strictCaller(open.dataDir)('endpoint.test', { id: endpoint.id });
      await until('the test event came', async () => printed.includes(`endpoint.test ${endpoint.id}`));
      expect(printed.trim().split('\n')).toHaveLength(2);
      expect(printed).not.toContain('undefined');
    } finally {
      await open.stop();
    }
  });

  it.each(['', 'whsec_', 'whsec_AAAA'])('does not begin with "%s", with which anybody could sign', async (secret) => {
    expect((await receive(secret, await freePort())).exitCode).toBe(1);
  });

  it.each([
    ['is cut off', 'abc', true],
    ['has no end', 'x'.repeat(2_000_000), false],
  ])('goes on after a request that %s', async (_what, begun, cut) => {
    const own = await freePort();
    const { exitCode } = await receive(`whsec_${Buffer.alloc(32, 1).toString('base64')}`, own);
    expect(exitCode).toBeNull();
    const socket = connect(own, '127.0.0.1').on('error', () => {});
    const gone = new Promise((resolve) => socket.on('close', resolve));
    socket.write('POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: 9000000\r\nExpect: 100-continue\r\n\r\n');
    await once(socket, 'data');
    socket.write(begun, () => cut && socket.destroy());
    await gone;
    for (const _ of [1, 2]) {
      expect((await fetch(`http://127.0.0.1:${own}/`, { method: 'POST', body: '{}' })).status).toBe(401);
    }
  });
});

describe('a secret', () => {
  it('is rotated: both sign for a day, then only the new one', async () => {
    const { id, secret: former } = await add('/r');
    const { secret } = (await call('endpoint.rotate', { id })).endpoint;
    expect(secret).not.toBe(former);
    await invoice();
    await until('it arrived', async () => at('/r').length === 1);
    const [first] = at('/r');
    const headers = first!.headers as Record<string, string>;
    for (const one of [secret, former]) expect(new Webhook(one).verify(first!.body, headers)).toBeTruthy();
    expect((await call('endpoint.list', {})).endpoints[0]).not.toHaveProperty('secret');
  });
});

describe('an endpoint', () => {
  it('is tried by a signed event about nothing, which is neither stored nor repeated', async () => {
    const { id, secret } = await add('/test', ['invoice.paid']);
    const { status, error, milliseconds } = await call('endpoint.test', { id });
    expect([status, error, milliseconds >= 0]).toEqual([204, null, true]);
    const [{ body, headers }] = at('/test') as [Taken];
    const event = new Webhook(secret).verify(body, headers as Record<string, string>);
    expect(event).toMatchObject({ type: 'endpoint.test', network: 'sandbox', data: { id: `${id}` } });
    answers.set('/test', 500);
    expect(await call('endpoint.test', { id })).toMatchObject({ status: 500 });
    const { deliveries } = await call('delivery.list', {});
    expect(deliveries.filter(({ endpoint_id }) => endpoint_id === id)).toEqual([]);
    expect((await call('endpoint.list', {})).endpoints[0]).toMatchObject({ failing_since: null, disabled_at: null });
    const unknown = await refusal(service.dataDir, 'endpoint.test', { id: id + 1 });
    expect(unknown).toMatchObject({ status: 404, code: 'endpoint.not_found' });
  });

  it('is sent the types that the operator changes it to, from then on', async () => {
    const { id } = await add('/types', ['invoice.requested']);
    await invoice();
    const { endpoint } = await call('endpoint.types', { id, types: ['invoice.created', 'invoice.created'] });
    expect(endpoint).toMatchObject({ id, types: ['invoice.created'] });
    await invoice();
    await until('it is told', async () => at('/types').length === 1);
    expect(typesAt('/types')).toEqual(['invoice.created']);
    const every = await call('endpoint.types', { id, types: [...EVENT_TYPES] });
    expect(every.endpoint.types).toEqual([]);
    const unknown = await refusal(service.dataDir, 'endpoint.types', { id: id + 1, types: [] });
    expect(unknown).toMatchObject({ status: 404, code: 'endpoint.not_found' });
  });

  it('that is paused gets nothing but tests, and what waited once it is enabled', async () => {
    const { id } = await add('/pause', ['invoice.created']);
    const { endpoint } = await call('endpoint.pause', { id });
    expect(endpoint).toMatchObject({ disabled_why: 'paused by the operator', disabled_at: expect.any(String) });
    const { endpoint: again } = await call('endpoint.pause', { id });
    expect(again.disabled_at).toBe(endpoint.disabled_at);
    const invoiceId = await invoice();
    await call('endpoint.test', { id });
    expect(typesAt('/pause')).toEqual(['endpoint.test']);
    const { deliveries } = await call('delivery.list', { limit: 1 });
    expect(deliveries[0]).toMatchObject({
      endpoint_id: id,
      subject: `invoice ${invoiceId}`,
      state: 'waiting',
      attempts: 0,
    });
    await call('endpoint.enable', { id });
    await until('it is told', async () => at('/pause').length === 2);
    expect(typesAt('/pause')).toEqual(['endpoint.test', 'invoice.created']);
    expect((await call('alert.list', {})).alerts.filter(({ kind }) => kind === 'endpoint.disabled')).toEqual([]);
  });

  it.each([
    ['http://127.0.0.1:1/x', /loopback.*webhook\.allow_hosts/],
    ['http://localhost:1/x', /loopback; webhook\.allow_hosts = \["localhost:1"\] would allow it$/],
    ['shop.example/x', /the URL is not valid$/],
    ['http://10.0.0.1/x', /private/],
    ['ftp://shop.example/', /neither http nor https/],
    ['nonsense', /not valid/],
  ])('at %s is refused', async (url, why) => {
    const refused = await refusal(service.dataDir, 'endpoint.add', { business: 'Sandbox', url });
    expect(refused).toMatchObject({ status: 400, code: 'endpoint.url' });
    expect(refused.message).toMatch(why);
  });
});

describe("an invoice's webhook_url", () => {
  it.each(['http://127.0.0.1:1/x', 'http://192.168.1.2/x', 'http://[::1]/x', 'http://169.254.169.254/latest'])(
    '%s is refused when the invoice is made: it would never be called',
    async (webhook_url) => {
      const { status, body } = await service.call('POST', '/invoice', { amount: 20, webhook_url });
      expect(status).toBe(422);
      expect(body.message).toMatch(/^The webhook url would never be called: .*webhook\.allow_hosts/);
    },
  );

  it('that is allow-listed, or has to be looked up, is taken', async () => {
    for (const webhook_url of [urlOf('/hook'), 'https://shop.example/hook']) {
      expect((await service.call('POST', '/invoice', { amount: 20, webhook_url })).status).toBe(201);
    }
  });
});
