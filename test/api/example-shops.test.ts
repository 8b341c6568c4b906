/** The example shops for Node and PHP: somebody buys, pays, and comes back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnBound } from '../support/bound-child.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { freePort, hasPhp } from '../woocommerce/shop.ts';

const EXAMPLES = join(import.meta.dirname, '../../resources/examples');
let service: TestDaemon;
let folder: string;
beforeAll(async () => {
  service = await startTestDaemon();
  folder = await mkdtemp(join(tmpdir(), 'countinghouse-shops-'));
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

const PHP = {
  name: 'PHP',
  has: hasPhp,
  start: (port: number) => ['php', '-S', `127.0.0.1:${port}`, join(EXAMPLES, 'shop.php')],
};
const SHOPS = [{ name: 'Node', has: true, start: (_: number) => [process.execPath, join(EXAMPLES, 'shop.mjs')] }, PHP];

type Start = (port: number) => string[];

/** Opens a shop that asks a service at `api`. */
async function open(start: Start, api: string): Promise<{ url: string; close(): void }> {
  const port = await freePort();
  const [command, ...args] = start(port);
  const own = { API: api, KEY: service.apiKey, PORT: `${port}`, FOLDER: folder };
  const shop = spawnBound(command!, args, { stdio: 'ignore', env: { ...process.env, ...own } });
  const url = `http://127.0.0.1:${port}`;
  await until('the shop answers', async () => (await fetch(url).catch(() => null))?.ok);
  return { url, close: () => shop.kill() };
}

/** A service whose invoices are all paid, and which answers the first two requests for one together. */
async function inPairs(): Promise<{ url: string; orders: string[]; close(): void }> {
  const orders: string[] = [];
  const waiting: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.end(JSON.stringify({ status: 'paid', amount: '25', payment: {} }));
      return;
    }
    orders.push(((await json(request)) as { order_id: string }).order_id);
    waiting.push(response);
    if (waiting.length < 2) return;
    for (const [at, each] of waiting.entries()) {
      each.writeHead(201).end(JSON.stringify({ id: `invoice${at}`, invoice_url: `http://pay.example/invoice${at}` }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, orders, close: () => server.close() };
}

describe.each(SHOPS)('The example shop for $name', ({ has, start }) => {
  it.skipIf(!has)('sells something, and delivers when it is paid', async () => {
    const { url, close } = await open(start, `${service.url}/api/v1/merchant`);
    try {
      expect(await (await fetch(url)).text()).toContain('Buy for 25 USD');
      const bought = await fetch(`${url}/buy`, { method: 'POST', redirect: 'manual' });
      expect(bought.status).toBe(303);
      const id = bought.headers.get('location')!.split('/').at(-1)!;
      const { body } = await service.call<{ order_id: string; amount: string }>('GET', `/invoice/${id}`);
      expect(body.amount).toBe('25');
      const order = async () => (await fetch(`${url}/order/${body.order_id}`)).text();
      expect(await order()).toContain('Not paid yet.');
      expect(await order()).toContain(`/pay/${id}`);
      await service.call('POST', `/invoice/rp/${id}`, { crypto: 'LTC' });
      await service.call('POST', '/sandbox/pay', { invoice_id: id });
      await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
      await until('it is paid', async () => (await order()).includes('Paid. Thank you!'));
    } finally {
      close();
    }
  });
});

it.skipIf(!hasPhp)('The example shop for PHP keeps the orders of two who buy at the same time', async () => {
  const together = await inPairs();
  // as two workers of a web server
  const shops = await Promise.all([open(PHP.start, together.url), open(PHP.start, together.url)]);
  try {
    const bought = shops.map(({ url }) => fetch(`${url}/buy`, { method: 'POST', redirect: 'manual' }));
    expect((await Promise.all(bought)).map(({ status }) => status)).toEqual([303, 303]);
    for (const order of together.orders) {
      expect(await (await fetch(`${shops[0]!.url}/order/${order}`)).text()).toBe('Paid. Thank you!');
    }
  } finally {
    for (const shop of shops) shop.close();
    together.close();
  }
});
