/** The console in a real browser: one daemon on its sandbox, one Chromium, and windows that notice every complaint. */
import type { BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { strictCaller } from '../api/operator-raw.ts';
import { launchChromium, type Windows } from '../support/chromium.ts';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

const RATES = Object.entries({
  BTC: 97_000,
  LTC: 84,
  BCH: 480,
  XMR: 160,
  ETH: 3_100,
  BNB: 640,
  USDT: 1,
  EUR: 0.92,
  GBP: 0.8,
});
const CONFIG = `
[console]
port = 0
[networks.sandbox.rates]
${RATES.map(([symbol, rate]) => `${symbol} = "${rate}"`).join('\n')}
`;

type Call = ReturnType<typeof strictCaller>;

export class Console {
  readonly daemon: TestDaemon;
  readonly browser: Windows;
  readonly call: Call;
  readonly #contexts: BrowserContext[] = [];
  /** What pages and the browser complained about. */
  readonly complaints: string[] = [];

  private constructor(daemon: TestDaemon, browser: Windows) {
    this.daemon = daemon;
    this.browser = browser;
    this.call = strictCaller(daemon.dataDir);
  }

  /** `around`: wraps the start of the daemon. `more`: arguments of the browser. */
  static async start(
    around = (start: () => Promise<TestDaemon>): Promise<TestDaemon> => start(),
    more: readonly string[] = [],
  ): Promise<Console> {
    buildConsole();
    const [daemon, browser] = await Promise.all([around(() => startTestDaemon(CONFIG)), launchChromium(more)]);
    return new Console(daemon, browser);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.daemon.stop();
  }

  /** A window that is signed in, at a screen. */
  async open(screen: string, viewport = { width: 1280, height: 860 }): Promise<Page> {
    const context = await this.browser.newContext({ viewport, reducedMotion: 'reduce' });
    this.#contexts.push(context);
    const page = await context.newPage();
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).hostname !== '127.0.0.1') this.complaints.push(`asked ${request.url()}`);
    });
    const { url } = await this.call('console.open', {});
    await page.goto(url);
    await page.locator('.frame').waitFor();
    expect(page.url()).not.toContain('sign-in');
    await this.go(page, screen);
    return page;
  }

  async go(page: Page, screen: string): Promise<void> {
    await page.goto(`${new URL(page.url()).origin}/#/${screen}`);
    await page.locator('main').first().waitFor();
  }

  /** Pays an invoice in the sandbox. */
  async pay(invoice: string, amount?: string): Promise<void> {
    const body = { invoice_id: invoice, ...(amount === undefined ? {} : { amount }) };
    const answer = await this.daemon.call('POST', '/sandbox/pay', body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  }

  async mine(crypto: string, blocks: number): Promise<void> {
    const answer = await this.daemon.call('POST', '/sandbox/mine', { crypto, blocks });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  }

  /** An invoice of the shop, waiting for a payment in a coin. */
  async invoice(amount: number, crypto: string | null = 'LTC', more: object = {}): Promise<string> {
    const made = await this.daemon.call<{ id: string }>('POST', '/invoice', { amount, currency: 'EUR', ...more });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { id } = made.body;
    if (crypto !== null) await this.daemon.call('POST', `/invoice/rp/${id}`, { crypto });
    return id;
  }
}

/** A clock of the processor time that a page's thread uses, in milliseconds. */
export async function busyClock(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
  };
}

/** Waits until a screen has read what it shows. The page's policy evaluates no text, so the page itself cannot wait. */
export async function shown(page: Page): Promise<void> {
  await until('the screen has read', async () => (await page.locator('.still').count()) === 0);
}

/** Ends the forwarding plan of LTC, from the list of plans. */
export async function endPlan(page: Page, passphrase: string): Promise<void> {
  await page.getByRole('link', { name: 'Change LTC' }).click();
  await page.getByRole('button', { name: 'End the plan' }).click();
  const again = page.locator('form', { hasText: 'Nothing is sent on any more' });
  await again.getByRole('textbox', { name: 'Wallet passphrase' }).fill(passphrase);
  await again.getByRole('button', { name: 'Yes, end it' }).click();
  await page.getByText('Nothing is sent on', { exact: true }).waitFor();
}

/** Words of a German screen that only English has. */
export async function englishIn(page: Page): Promise<string[]> {
  // the service's own words, which are marked as English, are left out
  const text = await page.evaluate<string>(`(() => {
    for (const one of document.querySelectorAll('main [lang=en]')) one.hidden = true;
    const labels = [...document.querySelectorAll('[aria-label],[placeholder],[title]')];
    const hidden = labels.flatMap((one) => ['aria-label', 'placeholder', 'title'].map((name) => one.getAttribute(name)));
    return [document.body.innerText, document.title, ...hidden].join('\\n');
  })()`);
  return [
    ...text.matchAll(/\b(?:the|and|is|are|of|with|your|you|from|not|until|yet|this|has|have|no|by)\b[^\n]*/gi),
  ].map(([found]) => found);
}
