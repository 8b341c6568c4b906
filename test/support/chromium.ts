/** Debian's Chromium for tests, without a window. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PROGRAM = '/usr/bin/chromium';
/** Of the program's start and of everything that a test waits for in it: on a busy machine either takes long. */
const WAIT_MS = 90_000;

/** With CI=true a missing program fails the tests; otherwise they are skipped, and their name says how to get it. */
export const hasChromium = existsSync(PROGRAM) || process.env.CI === 'true';
export const chromiumTitle = (what: string): string =>
  hasChromium ? what : `${what} (skipped: apt-get install chromium)`;

/** Starts it, with `more` arguments. It runs as whoever runs the tests, root too, and loads only pages that the tests serve. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: PROGRAM,
    timeout: WAIT_MS,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', ...more],
  });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(WAIT_MS);
    return context;
  };
  return browser;
}
