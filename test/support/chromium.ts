/** Debian's Chromium for tests, without a window. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PROGRAM = '/usr/bin/chromium';
const LAUNCH_TIMEOUT_MS = 60_000;

/** With CI=true a missing program fails the tests; otherwise they are skipped, and their name says how to get it. */
export const hasChromium = existsSync(PROGRAM) || process.env.CI === 'true';
export const chromiumTitle = (what: string): string =>
  hasChromium ? what : `${what} (skipped: apt-get install chromium)`;

/** Starts it. It runs as whoever runs the tests, root too, and loads only pages that the tests serve. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: PROGRAM,
    timeout: LAUNCH_TIMEOUT_MS,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
  });
}
