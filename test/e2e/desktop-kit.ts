/**
 * The desktop shell's whole main process and its real preload script with the built console in real Chromium. Electron's own program is
 * replaced by small parts: what the main process imports of it (a test mocks `electron`), the page's `require('electron')`, and a binding
 * in the place of its inter-process channel.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { launchChromium, type Windows } from '../support/chromium.ts';
import { builtOnce, consoleFiles } from '../support/console.ts';
import { until } from '../support/daemon.ts';
import { appEvents, electron, handlers, sent, served, windows } from '../unit/desktop/electron.ts';
import type { Bridge } from './shell-specs.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
/** Chromium's stand-in for the shell's scheme, whose origin the real handlers check. */
export const SHOWN = 'https://console.test';

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

type Shown = { countinghouse: Bridge };
export type Answer = { ok: boolean; status?: number; result?: unknown; error?: { code: string; message: string } };

export type DesktopPage = {
  browser: Windows;
  page: Page;
  /** Of the page. */
  errors: string[];
  /** The names of the calls so far. */
  asked: string[];
  /** As code in the page would. */
  ask(method: string, input?: unknown): Promise<Answer>;
  go(screen: string): Promise<unknown>;
  /** How often the program was set up. */
  once: number[];
  close(): Promise<void>;
};

/** `home`: where the program keeps its own files. The environment names the service's folder. */
export async function openDesktop(home: string): Promise<DesktopPage> {
  const { CHANNELS, ORIGIN, SCHEME } = await import('../../main/limits.ts');
  const errors: string[] = [];
  const asked: string[] = [];
  electron.app.getAppPath.mockReturnValue(ROOT);
  electron.app.getPath.mockImplementation((name) => join(home, name === 'userData' ? '' : name));
  await import('../../main/main.ts');
  await until('the window is there', async () => windows.length === 1);
  const { app, protocol, session } = electron;
  const atStart = [app.enableSandbox, app.requestSingleInstanceLock, protocol.registerSchemesAsPrivileged];
  const once = [...atStart, session.defaultSession.webRequest.onBeforeRequest].map(({ mock }) => mock.calls.length);
  const preload = join(await builtOnce('preload', join('main', 'vite.config.ts'), 'preload'), 'preload.cjs');
  const files = await consoleFiles();
  const { servePages } = await import('../../main/pages.ts');
  servePages(ROOT);
  const policy = (await served.get(SCHEME)!({ url: `${ORIGIN}/daemon/web/static/tokens.css`, method: 'GET' })).headers;
  const browser = await launchChromium();
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.exposeBinding('toMain', async (_, [channel, ...input]: [string, ...unknown[]]) => {
    const { search } = new URL(page.url());
    const frame = { url: `${ORIGIN}/index.html${search}` };
    asked.push(channel === CHANNELS.call ? String(input[0]) : channel);
    return handlers.get(channel)!({ senderFrame: frame, sender: { mainFrame: frame } }, ...input);
  });
  await page.addInitScript(`${FAKE}\n(() => { ${await readFile(preload, 'utf8')} })()`);
  await page.route(`${SHOWN}/**`, async (route) => {
    const body = files.get(new URL(route.request().url()).pathname);
    const type = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
    const ending = route.request().url().split(/[?#]/)[0]!.split('.').at(-1) as keyof typeof type;
    const headers = { 'content-security-policy': policy.get('content-security-policy') ?? '' };
    await route.fulfill(body ? { body, contentType: type[ending], headers } : { status: 404 });
  });
  sent.pass = (channel, news) =>
    void page
      .evaluate(`dispatchEvent(new CustomEvent(${JSON.stringify(channel)}, { detail: ${JSON.stringify(news)} }))`)
      .catch(() => {});
  await page.goto(`${SHOWN}/index.html`);
  return {
    browser,
    page,
    errors,
    asked,
    once,
    ask: (method, input = {}) =>
      page.evaluate(
        ([name, params]) =>
          (globalThis as unknown as Shown).countinghouse.call(name as string, params) as Promise<Answer>,
        [method, input] as const,
      ),
    go: (screen) => page.evaluate(`location.hash = '#/${screen}'`),
    async close() {
      appEvents.get('before-quit')?.({ preventDefault: () => {} } as never);
      await browser.close();
    },
  };
}
