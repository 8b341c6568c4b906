/** The example shops for Node and PHP: somebody buys, pays, and comes back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

const SHOPS = [
  { name: 'Node', has: true, start: (_: number) => [process.execPath, join(EXAMPLES, 'shop.mjs')] },
  { name: 'PHP', has: hasPhp, start: (port: number) => ['php', '-S', `127.0.0.1:${port}`, join(EXAMPLES, 'shop.php')] },
];

describe.each(SHOPS)('The example shop for $name', ({ has, start }) => {
  it.skipIf(!has)('sells something, and delivers when it is paid', async () => {
    const port = await freePort();
    const [command, ...args] = start(port);
    const own = { API: `${service.url}/api/v1/merchant`, KEY: service.apiKey, PORT: `${port}`, FOLDER: folder };
    const shop = spawnBound(command!, args, { stdio: 'ignore', env: { ...process.env, ...own } });
    const url = `http://127.0.0.1:${port}`;
    try {
      await until('the shop answers', async () => (await fetch(url).catch(() => null))?.ok);
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
      shop.kill();
    }
  });
});
