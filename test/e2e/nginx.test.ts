/** The nginx snippets as they are printed, in a real nginx with TLS: payers' pages, event streams, limits, sub-paths, the console. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { serverClient } from '../../daemon/home/call.ts';
import { joinServer } from '../../daemon/home/dial.ts';
import { walletFolderIn, writeServer } from '../../daemon/home/place.ts';
import { signAtHome } from '../../daemon/home/signing.ts';
import { strictCaller } from '../api/operator-raw.ts';
import { freePort } from '../nodes/litecoind.ts';
import { hasChromium, launchChromium } from '../support/chromium.ts';
import { buildConsole } from '../support/console.ts';
import { ConsolePage } from '../support/console-page.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { hasNginx, Nginx, nginxTitle } from '../support/nginx.ts';
import { cheapWallet } from '../support/wallet.ts';

const BURST = 3;
const WORDS = `${'abandon '.repeat(11)}about`;

type Answer = { status: number; headers: IncomingMessage['headers']; body: string };

describe.skipIf(!hasNginx)(nginxTitle('behind nginx'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'countinghouse-nginx-'));
  let service: TestDaemon;
  let nginx: Nginx;
  let port: number;
  /** Of the console: as nginx has it for browsers, and as it listens itself. */
  let consolePort: number;
  let ownPort: number;

  type Options = { method?: string; headers?: Record<string, string>; body?: string; at?: number };
  const call = (path: string, options: Options = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const { method = 'GET', headers = {}, body, at = port } = options;
      const asked = request(
        { host: '127.0.0.1', port: at, path, method, headers, servername: 'localhost', rejectUnauthorized: false },
        async (response) => {
          let text = '';
          for await (const part of response) text += part;
          resolve({ status: response.statusCode!, headers: response.headers, body: text });
        },
      );
      asked.on('error', reject);
      asked.end(body);
    });

  beforeAll(async () => {
    buildConsole();
    [port, consolePort, ownPort] = [await freePort(), await freePort(), await freePort()];
    service = await startTestDaemon(
      `public_url = "https://localhost:${port}/pay-here"\ntrusted_proxies = ["127.0.0.1"]\n[browser]\nreads_burst = ${BURST}\nreads_per_minute = 1
[console]
port = ${ownPort}
public_url = "https://localhost:${consolePort}"
elsewhere = true
`,
    );
    nginx = new Nginx(folder);
    const ofApi = { at: port, api: Number(new URL(service.daemon.url).port) };
    const site = nginx
      .snippet('nginx.conf', ofApi)
      .replace(/\}\s*$/, `${nginx.snippet('nginx-subpath.conf', ofApi)}\n}\n`);
    await nginx.start(`${site}${nginx.snippet('nginx-console.conf', { at: consolePort, console: ownPort })}`, port);
  });
  afterAll(async () => {
    await nginx?.stop();
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const invoice = async (): Promise<{ id: string; path: string }> => {
    const made = await service.call<{ id: string; invoice_url: string }>('POST', '/invoice', {
      amount: 10,
      crypto: 'LTC',
    });
    await service.call('POST', `/invoice/rp/${made.body.id}`);
    return { id: made.body.id, path: new URL(made.body.invoice_url).pathname };
  };

  it('serves the page, its script and its style below the sub-path, over TLS', async () => {
    const { path } = await invoice();
    expect(path).toMatch(/^\/pay-here\/pay\/[A-Za-z0-9]{12}$/);
    const page = await call(path);
    expect(page.status).toBe(200);
    const links = [...page.body.matchAll(/(?:src|href)="([^"#:]+\.(?:css|m?js)[^"]*)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThanOrEqual(2);
    for (const link of links) {
      const { pathname, search } = new URL(link, `https://localhost:${port}${path}`);
      expect([link, (await call(`${pathname}${search}`)).status]).toEqual([link, 200]);
      expect(pathname).toMatch(/^\/pay-here\//);
    }
    // and from the root of a name of its own
    expect((await call(path.replace('/pay-here', ''))).status).toBe(200);
  });

  it.each(['', '/pay-here'])('passes an event on at once (%s/)', async (prefix) => {
    const { id, path } = await invoice();
    const { promise: told, resolve } = Promise.withResolvers<string>();
    const where = { host: '127.0.0.1', port, servername: 'localhost', rejectUnauthorized: false };
    const asked = request({ ...where, path: `${path.replace('/pay-here', prefix)}/events` }, (response) => {
      expect(response.headers['content-type']).toContain('text/event-stream');
      response.on('data', (part: Buffer) => {
        if (String(part).includes('event: change')) resolve(String(part));
      });
      response.on('error', () => {});
      void service.call('POST', '/sandbox/pay', { invoice_id: id });
    });
    asked.on('error', () => {});
    asked.end();
    expect(await told).toContain('event: change');
    asked.destroy();
  });

  it('refuses a large body, and passes the API’s answers on', async () => {
    const headers = { 'MB-API-KEY': service.apiKey, 'Content-Type': 'application/json' };
    const ask = (body: string) => call('/api/v1/merchant/invoice', { method: 'POST', headers, body });
    expect((await ask('{"amount":10}')).status).toBe(201);
    expect((await ask(JSON.stringify({ amount: 10, description: 'x'.repeat(70_000) }))).status).toBe(413);
  });

  it('counts by the visitor’s address, whatever the visitor claims to be', async () => {
    const statuses: number[] = [];
    for (let n = 0; n <= BURST; n++) {
      const headers = { 'X-Forwarded-For': `203.0.113.${n}`, 'MB-CLIENT-ID': service.clientId };
      statuses.push((await call('/api/v1/sdk/rates', { headers })).status);
    }
    expect(statuses.slice(0, -1)).not.toContain(429);
    expect(statuses.at(-1)).toBe(429);
  });

  describe('the console', () => {
    const origin = (): string => `https://localhost:${consolePort}`;
    const operator = () => strictCaller(service.dataDir);
    const link = async (): Promise<string> => (await operator()('console.open', {})).url;
    let page: ConsolePage;
    beforeAll(async () => {
      const url = await link();
      expect(new URL(url).origin).toBe(origin());
      page = await ConsolePage.signIn(url);
    });

    it('answers to the page of a session, and checks where a call comes from', async () => {
      expect((await page.ask('/call/status')).status).toBe(200);
      const refused: [number, Record<string, string>][] = [
        [403, { origin: 'https://evil.example' }],
        [403, { origin: `https://localhost:${port}` }],
        [403, { origin: `http://127.0.0.1:${ownPort}` }],
        [403, { 'sec-fetch-site': 'same-site' }],
        [403, { host: 'evil.example' }],
        [415, { 'content-type': 'text/plain' }],
      ];
      for (const [status, headers] of refused) {
        expect([headers, (await page.ask('/call/status', {}, headers)).status]).toEqual([headers, status]);
      }
      // past nginx it has no address
      const past = await fetch(`http://127.0.0.1:${ownPort}/`);
      expect([past.status, (await call('/', { at: consolePort, headers: { host: 'elsewhere' } })).status]).toEqual([
        403, 403,
      ]);
    });

    it('takes pieces of a backup, and nothing larger', async () => {
      const path = `/session/upload/${'x'.repeat(43)}/0`;
      expect((await page.ask(path, 'x'.repeat(1_000_000))).status).toBe(400);
      expect((await page.ask(path, 'x'.repeat(2_100_000))).status).toBe(413);
    });

    it('lets the computer at home in, which signs and is the operator', async () => {
      // the certificate is the test's own
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      const { server, code } = await operator()('signer.invite', {});
      expect(server).toBe(origin());
      const home = join(folder, 'home');
      await writeServer(home, await joinServer(server, code, 'Laptop'));
      mkdirSync(walletFolderIn(home), { mode: 0o700 });
      await cheapWallet(walletFolderIn(home), { words: WORDS, passphrase: 'of the test' });
      const signing = await signAtHome({
        folder: home,
        release: 'test',
        autoLockMinutes: 0,
        source: () => ({ kind: 'prompt' }),
        log: () => {},
        told: () => {},
        audit: { env: {}, told: () => {} },
      });
      await until('it is connected', async () => (await operator()('signer.machines', {})).machines[0]?.connected);
      expect((await serverClient(home, 'test')('signer.machines', {})).machines).toMatchObject([
        { name: 'Laptop', fingerprint: '73c5da0a', connected: true },
      ]);
      await signing.close();
      await operator()('signer.remove', { name: 'Laptop' });
      vi.unstubAllEnvs();
    });

    const inBrowser = async (): Promise<void> => {
      const browser = await launchChromium();
      const shown = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
      await shown.goto(await link());
      await shown.locator('.frame').waitFor();
      await shown.goto(`${origin()}/#/invoices`);
      await shown.getByRole('heading', { name: 'Invoices', exact: true }).waitFor();
      const { id } = await invoice();
      await shown.locator(`[data-slug="${id}"]`).waitFor();
      expect(await shown.evaluate('document.cookie')).toBe('');
      await browser.close();
    };
    if (hasChromium) it('works in a browser, and shows an event at once', inBrowser);
  });

  it('keeps the sandbox’s tools from strangers', async () => {
    expect((await call('/demo')).status).not.toBe(200);
  });
});
