/**
 * A shop in a real browser: the example shop from its first page to its thank-you page, and the browser client from
 * every kind of page that may use it. Nothing is mocked: the pages, the service and the sandbox's chain are the real ones.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NO_LIMITS } from '../api/client-kit.ts';
import { strictCaller } from '../api/operator-raw.ts';
import { chromiumTitle, hasChromium, launchChromium, type Windows } from '../support/chromium.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { liveClient } from '../support/shop.ts';

const WAIT_MS = 45_000;

describe.skipIf(!hasChromium)(chromiumTitle('a shop in Chromium'), () => {
  let service: TestDaemon;
  let browser: Windows;
  let context: BrowserContext;
  let page: Page;
  /** What the browser complained about, and every address that it asked. */
  let complaints: string[];
  let asked: Set<string>;
  /** A web server that is not the service's: whatever is put into `pages`, by its path. */
  let web: Server;
  let origin: string;
  const pages = new Map<string, string>();

  beforeAll(async () => {
    web = createServer((request, response) => {
      const html = pages.get(new URL(request.url ?? '/', 'http://x').pathname);
      response.writeHead(html === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(html ?? 'nothing here');
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    // another name than the service's: another site, not only another port
    origin = `http://localhost:${(web.address() as AddressInfo).port}`;
    [service, browser] = await Promise.all([startTestDaemon(NO_LIMITS), launchChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    web?.close();
  });

  beforeEach(async () => {
    complaints = [];
    asked = new Set();
    context = await browser.newContext();
    page = await context.newPage();
    page.on('console', (message) => {
      const { url } = message.location();
      // which a browser asks for by itself, and no page has to have
      const wanted = !url.endsWith('/favicon.ico');
      if (['error', 'warning'].includes(message.type()) && wanted) complaints.push(`${message.text()} ${url}`);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => asked.add(new URL(request.url()).origin));
  });
  afterEach(() => context.close());

  /** What a payer does on the payment page in the sandbox: choose, pay, and wait for the blocks. */
  async function payWith(symbol: string, confirmations: number): Promise<void> {
    await page.waitForURL(/\/pay\/[A-Za-z0-9]{12}/);
    await page.locator(`button[name="crypto"][value="${symbol}"]`).click();
    await press('exact');
    for (let n = 0; n < confirmations; n++) await press('mine');
  }

  /** One of the sandbox's buttons, and the service's answer to it. */
  async function press(what: string): Promise<void> {
    const carriedOut = page.waitForResponse((response) => /\/sandbox(\?|$)/.test(response.url()));
    await page.locator(`button[name="do"][value="${what}"]`).click();
    await carriedOut;
  }

  async function buy(shop: string, symbol: string, confirmations: number): Promise<void> {
    await page.goto(shop);
    await expect.poll(() => page.locator('#coins').textContent(), { timeout: WAIT_MS }).toMatch(/^about \d.* BTC, /);
    await page.getByRole('button', { name: 'Buy with crypto' }).click();
    await payWith(symbol, confirmations);
    // the payment page takes the payer back by itself
    await page.waitForURL(`${shop}?thanks`);
    await expect.poll(() => page.locator('#outcome').textContent(), { timeout: WAIT_MS }).toMatch(/ is paid\.$/);
    const [, slug] = /^Order ([A-Za-z0-9]{12}) is paid/.exec((await page.locator('#outcome').textContent())!)!;
    const { body } = await service.call('GET', `/invoice/${slug}`);
    expect(body).toMatchObject({ status: 'paid', amount: '25', currency: 'USD' });
    expect(complaints).toEqual([]);
  }

  it('the example shop takes a payment from its first page to its thank-you page', async () => {
    await buy(`${service.url}/demo`, 'LTC', 3);
    expect([...asked]).toEqual([service.url]);
  });

  it('a copy of it does the same on a site of its own', async () => {
    pages.set('/coffee', await (await fetch(`${service.url}/demo`)).text());
    await buy(`${origin}/coffee`, 'BTC', 1);
    expect([...asked].sort()).toEqual([service.url, origin].sort());
  });

  it('the five lines of the documentation sell something', async () => {
    const file = join(import.meta.dirname, '..', '..', 'resources', 'docs', 'take-payments.md');
    const [, lines] = /```html\n([\s\S]*?)\n```/.exec(readFileSync(file, 'utf8'))!;
    expect(lines!.split('\n')).toHaveLength(5);
    const own = lines!.replace('https://pay.example.com', service.url).replace('ch_client_…', service.clientId);
    pages.set('/five', `<!doctype html><title>Shop</title>${own}`);
    await page.goto(`${origin}/five`);
    await page.getByRole('button', { name: 'Pay 25 USD' }).click();
    await page.waitForURL(/\/pay\/[A-Za-z0-9]{12}$/);
    const { body } = await service.call('GET', `/invoice/${page.url().slice(-12)}`);
    expect(body).toMatchObject({ status: 'unpaid', amount: '25' });
    expect(complaints).toEqual([]);
  });

  it('a page that was opened from a file works too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countinghouse-page-'));
    try {
      const file = join(folder, 'shop.html');
      writeFileSync(
        file,
        `<!doctype html><title>Shop</title><script src="${service.url}/js/sdk.js" data-global="Pay"></script>`,
      );
      await page.goto(pathToFileURL(file).href);
      const result = await page.evaluate(async (clientId) => {
        const { Pay, Countinghouse } = globalThis as unknown as {
          Pay: typeof import('../../daemon/web/sdk/types.ts');
          Countinghouse: unknown;
        };
        await Pay.init({ clientId });
        const { id } = await Pay.createInvoice({ amount: 80 });
        const payment = await Pay.requestPayment(id, 'LTC');
        const wrong = await Pay.createInvoice({ amount: 1 }).catch((error) => [error.message, error.details]);
        const symbols = Pay.cryptos().map(({ symbol }) => symbol);
        return {
          payment,
          wrong,
          symbols,
          usd: Pay.rates().LTC?.usd,
          status: await Pay.getInvoiceStatus(id),
          none: typeof Countinghouse,
        };
      }, service.clientId);
      const message = 'The amount must be at least the equivalent of 10 USD.';
      expect(result).toMatchObject({
        payment: { amount: '1', crypto: 'LTC', address: expect.stringMatching(/^rltc1/) },
        wrong: [message, { status: 422, payload: { message, errors: { amount: [message] } } }],
        usd: 80,
        status: { status: 'unpaid', payment_status: 'pending', remaining: '1' },
        none: 'undefined',
      });
      expect(result.symbols).toContain('XMR');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('the module follows an invoice to its end', async () => {
    const load = `import * as sdk from '${service.url}/js/sdk.mjs'; window.sdk = sdk;`;
    pages.set('/module', `<!doctype html><title>Shop</title><script type="module">${load}</script>`);
    await page.goto(`${origin}/module`);
    const { id } = (await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body;
    await service.call('POST', `/invoice/rp/${id}`);
    const followed = page.evaluate(
      async ([clientId, slug]) => {
        const { createClient } = (globalThis as unknown as { sdk: typeof import('../../daemon/web/sdk/types.ts') }).sdk;
        const seen: string[] = [];
        const onUpdate = ({ status, received }: { status: string; received: string | null }) =>
          seen.push(`${status} ${received}`);
        const last = await createClient({ clientId: clientId! }).pollInvoice(slug!, { onUpdate, interval: 1_000 });
        return { seen: [...new Set(seen)], last };
      },
      [service.clientId, id],
    );
    await service.call('POST', '/sandbox/pay', { invoice_id: id });
    await page.waitForResponse(
      async (response) => response.ok() && (await response.text().catch(() => '')).includes('"received":"1"'),
    );
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 3 });
    const { seen, last } = await followed;
    expect(seen.at(-1)).toBe('paid 1');
    expect(seen).toContain('unpaid 1');
    expect(last).toMatchObject({ status: 'paid', confirmations: 3 });
  });

  it('a live client ID works on its own pages and on no other', async () => {
    const operator = strictCaller(service.dataDir);
    const client = await liveClient(operator, [origin]);
    const html = `<!doctype html><title>Shop</title><script src="${service.url}/js/sdk.js"></script>`;
    pages.set('/live', html);
    const create = (url: string) =>
      page.goto(url).then(() =>
        page.evaluate(async (clientId) => {
          const { Countinghouse } = globalThis as unknown as {
            Countinghouse: typeof import('../../daemon/web/sdk/types.ts');
          };
          const shop = Countinghouse.createClient({ clientId });
          const made = await shop.createInvoice({ amount: 20 }).catch((error) => [error.message, error.details]);
          const away = await shop
            .createInvoice({ amount: 20, redirect_url: 'https://evil.example/' })
            .catch((error) => error.message);
          return { made, away };
        }, client.client_id),
      );
    const own = await create(`${origin}/live`);
    expect(own.made).toMatchObject({ status: 'unpaid', amount: '20' });
    expect(own.away).toBe('The redirect url leads to a host that this client ID does not allow.');
    // the same server by another name is another origin: its pages may not even read why they are refused
    const other = await create(`${origin.replace('localhost', '127.0.0.1')}/live`);
    expect(other).toEqual({ made: ['Network error', undefined], away: 'Network error' });
  });

  it('the example shop is the sandbox’s alone', async () => {
    const response = await fetch(`${service.url}/demo`);
    const html = await response.text();
    expect(html).toContain(service.clientId);
    expect(response.headers.get('content-security-policy')).toMatch(
      /default-src 'none'; script-src http:\/\/127\.0\.0\.1:\d+ 'sha256-/,
    );
    await strictCaller(service.dataDir)('client.revoke', { client: service.clientId });
    const gone = await fetch(`${service.url}/demo`);
    expect([gone.status, await gone.json()]).toEqual([404, { message: 'Not found' }]);
  });
});
