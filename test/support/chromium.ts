/** Debian's Chromium for tests, without a window. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

/** The first that is there. Without the parts of a window a page takes a fifth of the processor time. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'] as const;
const PROGRAM = PROGRAMS.find((program) => existsSync(program));
/** Of the program's start and of everything that a test waits for in it: on a busy machine either takes long. */
const WAIT_MS = 90_000;

/** With CI=true a missing program fails the tests; otherwise they are skipped, and their name says how to get it. */
export const hasChromium = PROGRAM !== undefined || process.env.CI === 'true';
export const chromiumTitle = (what: string): string =>
  hasChromium ? what : `${what} (skipped: apt-get install chromium-headless-shell)`;

/** What tests use of a browser. */
export type Windows = Pick<Browser, 'newContext' | 'newPage' | 'close'>;

const start = (more: readonly string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: PROGRAM ?? PROGRAMS[1],
    timeout: WAIT_MS,
    handleSIGTERM: false,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', ...more],
  });

/** The one without arguments of its own, for all files of this process. */
let shared: Promise<Browser> | null = null;

/** Ends with the process, which the runner ends by this signal. Once it is gone, or did not start, the next call starts another one. */
async function startShared(): Promise<Browser> {
  try {
    const browser = await start([]);
    const endBrowser = (): void => void browser.close().finally(() => process.exit());
    process.once('SIGTERM', endBrowser);
    browser.once('disconnected', () => {
      process.off('SIGTERM', endBrowser);
      shared = null;
    });
    return browser;
  } catch (error) {
    shared = null;
    throw error;
  }
}

/**
 * Windows of a browser, which share nothing with others' windows. With `more` arguments it is a browser of its own. It runs as whoever
 * runs the tests, root too, and loads only pages that the tests serve.
 */
export async function launchChromium(more: readonly string[] = []): Promise<Windows> {
  const isShared = more.length === 0;
  if (isShared) shared ??= startShared();
  const browser = await (isShared ? shared! : start(more));
  const contexts: BrowserContext[] = [];
  const newContext: Browser['newContext'] = async (options) => {
    const context = await browser.newContext({ locale: 'en-US', ...options });
    context.setDefaultTimeout(WAIT_MS);
    contexts.push(context);
    return context;
  };
  return {
    newContext,
    newPage: async (options) => (await newContext(options)).newPage(),
    close: async () => {
      await Promise.all(contexts.map((context) => context.close()));
      if (!isShared) await browser.close();
    },
  };
}
