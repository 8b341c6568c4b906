/**
 * The shell's real preload script and real handlers with the built console in real Chromium. Electron's own program is
 * replaced by small parts: the page's `require('electron')`, and a binding in the place of its inter-process channel.
 */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { sealedKeyholder } from '../../daemon/operator/keyholder.ts';
import { chromiumTitle, hasChromium, launchChromium } from '../support/chromium.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { electron, handlers, served } from '../unit/desktop/electron.ts';
import { shellSpecs } from './shell-specs.ts';

vi.mock('electron', () => electron);

const { serveChannel, tell } = await import('../../main/channel.ts');
const { CHANNELS, ORIGIN, SCHEME } = await import('../../main/limits.ts');
const { followNews } = await import('../../main/news.ts');
const { servePages } = await import('../../main/pages.ts');

const ROOT = join(import.meta.dirname, '..', '..');
/** Chromium's stand-in for the shell's scheme, whose origin the real handlers check. */
const SHOWN = 'https://console.test';

/** In the page: what a sandboxed preload script gets of Electron. */
const FAKE = `
  window.require = () => ({
    contextBridge: { exposeInMainWorld: (name, value) => Object.defineProperty(window, name, { value }) },
    ipcRenderer: {
      invoke: (...message) => window.toMain(structuredClone(message)),
      on: (channel, listener) => addEventListener(channel, ({ detail }) => listener({}, detail)),
      off: () => {},
    },
  });
`;

describe.skipIf(!hasChromium)(chromiumTitle('the desktop shell in Chromium'), () => {
  let service: TestDaemon;
  let browser: Browser;
  let page: Page;
  const end = new AbortController();
  const errors: string[] = [];
  const asked: string[] = [];

  beforeAll(async () => {
    service = await startTestDaemon();
    const call = operatorClient(service.dataDir);
    serveChannel({ call, keyholder: sealedKeyholder(call) });
    const made = await build({
      configFile: join(ROOT, 'main', 'vite.config.ts'),
      mode: 'preload',
      build: { write: false },
    });
    const { output } = made as { output: { code: string }[] };
    const renderer = await build({ configFile: join(ROOT, 'renderer', 'vite.config.ts'), build: { write: false } });
    const files = new Map(
      (renderer as { output: { fileName: string; code?: string; source?: unknown }[] }).output.map((file) => [
        `/${file.fileName}`,
        Buffer.from((file.code ?? file.source) as string),
      ]),
    );
    servePages(ROOT);
    const policy = (await served.get(SCHEME)!({ url: `${ORIGIN}/daemon/web/static/tokens.css`, method: 'GET' }))
      .headers;
    browser = await launchChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.exposeBinding('toMain', async (_, [channel, ...input]: [string, ...unknown[]]) => {
      const frame = { url: `${ORIGIN}/index.html` };
      asked.push(channel === CHANNELS.call ? String(input[0]) : channel);
      return handlers.get(channel)!({ senderFrame: frame, sender: { mainFrame: frame } }, ...input);
    });
    await page.addInitScript(`${FAKE}\n(() => { ${output[0]!.code} })()`);
    await page.route(`${SHOWN}/**`, async (route) => {
      const body = files.get(new URL(route.request().url()).pathname);
      const type = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
      const ending = route.request().url().split(/[?#]/)[0]!.split('.').at(-1) as keyof typeof type;
      const headers = { 'content-security-policy': policy.get('content-security-policy') ?? '' };
      await route.fulfill(body ? { body, contentType: type[ending], headers } : { status: 404 });
    });
    const contents = {
      isDestroyed: () => false,
      getURL: () => `${ORIGIN}/index.html`,
      send: (channel: string, news: unknown) =>
        page.evaluate(
          `dispatchEvent(new CustomEvent(${JSON.stringify(channel)}, { detail: ${JSON.stringify(news)} }))`,
        ),
    };
    void followNews(call, ({ news }) => tell(contents as never, news), end.signal);
    await page.goto(`${SHOWN}/index.html`);
  });
  afterAll(async () => {
    end.abort();
    await browser?.close();
    await service?.stop();
  });

  shellSpecs(() => ({ page, service }));

  it('tells the page at once what changed', async () => {
    await page.evaluate(`location.hash = '#/withdrawals'`);
    await page.getByRole('heading', { name: 'Withdrawals' }).waitFor();
    const before = asked.filter((name) => name === 'business.list').length;
    await service.call('POST', '/invoice', { amount: 10 });
    await until('the page reads again', async () => asked.filter((name) => name === 'business.list').length > before);
  });

  it('had no error', () => expect(errors.filter((text) => !/example\.com|connect-src/.test(text))).toEqual([]));
});
