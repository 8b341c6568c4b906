/** The description of events against the events that are sent. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../daemon/domain/merchant.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, stranger } from '../support/money.ts';
import { cli } from '../unit/cli-kit.ts';
import { strictCaller } from './operator-raw.ts';

type Json = Record<string, unknown>;
type Parameter = { name: string; schema: { pattern?: string } };
type Description = {
  tags: { name: string }[];
  paths: Record<string, Record<string, { tags?: string[]; operationId?: string }>>;
  webhooks: Record<string, { post: { requestBody: { content: { 'application/json': { example: Json } } } } }>;
};

const HOUR_MS = 3_600_000;
const ORDER = { amount: 80, crypto: 'LTC', order_id: 'A-1001', metadata: { customer: '42' } };

let receiver: Server;
let service: TestDaemon;
let described: Description;
const sent = new Map<string, Json>();

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    const event = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Json & { type: string };
    sent.set(event.type, event);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  service = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
  const url = `http://127.0.0.1:${port}/`;
  await strictCaller(service.dataDir)('endpoint.add', { business: 'Sandbox', url, types: [] });
  described = (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as Description;
});
afterAll(async () => {
  await service.stop();
  receiver.close();
});

/** The kinds of all values, by their names. */
function shapeOf(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]));
}

it('names every type of event, and tags every operation with a tag that is explained', () => {
  expect(Object.keys(described.webhooks)).toEqual([...EVENT_TYPES]);
  const tags = new Set(described.tags.map(({ name }) => name));
  for (const [path, item] of Object.entries(described.paths)) {
    for (const { operationId, tags: own } of Object.values(item).filter((one) => one.operationId)) {
      expect(own, `${path} ${operationId}`).toHaveLength(1);
      expect(tags).toContain(own![0]);
    }
  }
});

it('shows each event as it is sent', async () => {
  // the fee of the refund
  await deposit(service, 'LTC', 400);
  await until('the deposit was told', async () => sent.has('invoice.paid'));
  sent.clear();
  const { id } = (await service.call<{ id: string }>('POST', '/invoice', ORDER)).body;
  await service.call('POST', `/invoice/rp/${id}`, {});
  await service.call('POST', '/sandbox/pay', { invoice_id: id });
  await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
  await until('it is paid', async () => sent.has('invoice.paid'));
  const asked = await service.call<{ id: string }>('POST', `/invoice/${id}/refund`, { address: stranger('LTC', 7) });
  expect(sent.has('invoice.refunded')).toBe(false);
  expect((await cli(service.dataDir, ['withdrawal', 'approve', asked.body.id, '--yes'])).code).toBe(0);
  const types = ['created', 'requested', 'seen', 'paid', 'refunded'].map((name) => `invoice.${name}`);
  await until('they have come', async () => {
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 1 });
    return types.every((type) => sent.has(type));
  });
  for (const type of types) {
    const example = described.webhooks[type]!.post.requestBody.content['application/json'].example;
    expect(shapeOf(sent.get(type)), type).toEqual(shapeOf(example));
  }
  const paid = described.webhooks['invoice.paid']!.post.requestBody.content['application/json'].example;
  const state = (event: Json) => {
    const { status, payment } = event.data as { status: string; payment: Json };
    return [status, payment.status, payment.received === payment.amount];
  };
  expect(state(sent.get('invoice.paid')!)).toEqual(state(paid));
  const { data } = sent.get('invoice.refunded')! as { data: { id: string; payment: Json; refund: Json } };
  expect([data.id, data.payment.refunded]).toEqual([id, '1']);
  expect(data.refund).toEqual({
    id: asked.body.id,
    tx_id: expect.stringMatching(/^[0-9a-f]{64}$/),
    amount: '1',
    crypto: 'LTC',
    address: stranger('LTC', 7),
  });
});

it('shows the rarer events as they are sent', async () => {
  const call = strictCaller(service.dataDir);
  const request = async (): Promise<string> => {
    const { id } = (await service.call<{ id: string }>('POST', '/invoice', ORDER)).body;
    await service.call('POST', `/invoice/rp/${id}`, {});
    return id;
  };
  const pay = (invoice_id: string, amount?: string) => service.call('POST', '/sandbox/pay', { invoice_id, amount });
  const mine = () => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
  const shown = (type: string) => described.webhooks[type]!.post.requestBody.content['application/json'].example;
  /** The event with the kinds of its values, and those that say what happened. */
  const facts = (event: Json) => {
    const { status, payment } = event.data as { status: string; payment?: Json | null };
    const truths = Object.entries(payment ?? {}).filter(([, value]) => typeof value === 'boolean');
    return [shapeOf({ ...event, data: { ...(event.data as Json), tx_id: null } }), status, payment?.status, truths];
  };
  const comes = async (type: string): Promise<void> => {
    await until(`${type} has come`, async () => sent.has(type), 40_000);
    expect(facts(sent.get(type)!), type).toEqual(facts(shown(type)));
  };

  sent.clear();
  const part = await request();
  await pay(part, '0.4');
  await mine();
  await comes('invoice.confirmed');
  await pay(await request(), '1.5');
  await mine();
  await comes('invoice.overpaid');
  sent.delete('invoice.paid');
  const exact = await request();
  await pay(exact);
  await mine();
  await comes('invoice.paid');
  await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 12 });
  await comes('invoice.undone');
  await call('invoice.cancel', { invoice: await request() });
  await comes('invoice.canceled');

  await mine();
  const refund = async (): Promise<string> => {
    const address = stranger('LTC', 8);
    const asked = await service.call<{ id: string }>('POST', `/invoice/${exact}/refund`, { address });
    expect(asked.status).toBe(201);
    return asked.body.id;
  };
  await until('it is paid again', async () => {
    const { body } = await service.call<{ payment: { undone: boolean } }>('GET', `/invoice/${exact}`);
    return !body.payment.undone;
  });
  const rejected = await refund();
  await comes('withdrawal.pending');
  await call('withdrawal.reject', { id: rejected });
  await comes('withdrawal.failed');
  sent.delete('withdrawal.completed');
  expect((await cli(service.dataDir, ['withdrawal', 'approve', await refund(), '--yes'])).code).toBe(0);
  await until('it is told', async () => {
    await mine();
    return sent.has('withdrawal.completed');
  });
  await comes('withdrawal.completed');
  expect((sent.get('withdrawal.completed')!.data as Json).tx_id).toMatch(/^[0-9a-f]{64}$/);

  // one was canceled before its time
  expect([sent.has('invoice.canceled'), sent.has('invoice.overdue')]).toEqual([true, false]);
  const { body } = await service.call<{ due_date: string }>('GET', `/invoice/${await request()}`);
  service.advance(Date.parse(body.due_date) + HOUR_MS - service.now());
  await comes('invoice.overdue');
});

it('describes ids so that no path matches what another one names', async () => {
  const { paths } = described as unknown as { paths: Record<string, { parameters?: Parameter[] }> };
  const ids = Object.entries(paths)
    .filter(([path]) => path.includes('{invoice_id}') && path.startsWith('/merchant/'))
    .map(([path, { parameters = [] }]) => [path, parameters.find(({ name }) => name === 'invoice_id')] as const);
  expect(ids.map(([path]) => path).sort()).toEqual([
    '/merchant/invoice/rp/{invoice_id}',
    '/merchant/invoice/{invoice_id}',
    '/merchant/invoice/{invoice_id}/refund',
  ]);
  const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 25 });
  for (const [, parameter] of ids) {
    const pattern = new RegExp(parameter?.schema.pattern ?? '');
    expect(['rp', 'refund', `${body.id}x`, ''].filter((word) => pattern.test(word))).toEqual([]);
    expect(pattern.test(body.id)).toBe(true);
    expect(pattern.test(crypto.randomUUID())).toBe(true);
  }
});
