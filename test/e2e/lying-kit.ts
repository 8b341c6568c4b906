/** The built console in real Chromium, and in the place of a service whatever a test answers: a thief who took one over says what he likes. */
import type { Page } from 'playwright-core';
import type { Method, Params } from '../../daemon/contract/operator.ts';
import type { DesktopMethod } from '../../daemon/operator/desktop.ts';
import { launchChromium, type Windows } from '../support/chromium.ts';
import { consoleFiles } from '../support/console.ts';

const SHOWN = 'https://console.test';
const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', png: 'image/png' };

/** In the page: the functions of the desktop program's preload script. */
const SHELL = `
  window.countinghouse = {
    call: (method, input) => window.toService(method, input),
    onNews: () => () => {},
  };
`;

export const BUSINESS = {
  id: 1,
  uuid: '018f0000-0000-7000-8000-000000000001',
  name: 'Shop',
  network: 'sandbox',
  time_zone: 'UTC',
  account_no: 0,
  cryptos: ['LTC'],
  possible_cryptos: ['LTC'],
  watch_only: [],
  brand: { name: null, accent: null, logo: null, contact: null, favourites: [], currency: 'USD' },
  balances: [{ crypto: 'LTC', amount: '15', withheld: null }],
  created_at: '2026-11-01T00:00:00.000Z',
};

const ANSWERS = {
  'desktop.settings': () => ({ language: 'en', startAtLogin: null }),
  'desktop.servers': () => ({ servers: [], computer: 'Laptop' }),
  status: () => ({}),
  'business.list': () => ({ businesses: [BUSINESS] }),
  'rates.list': () => ({ rates: [], currencies: [], credits: [] }),
};

/** By method; one that is missing gets no answer. Throws `Lost` for an answer that does not arrive, and `Refusal`. */
type Answers = { [M in Method]?: (input: Params<M>) => unknown } & { [M in DesktopMethod]?: () => unknown };

/** The service has carried a call out, maybe, and its answer was lost. */
export class Lost extends Error {}

/** An answer that refuses; its message is the code. */
export class Refusal extends Error {}

export class Lies {
  readonly page: Page;
  readonly #browser: Windows;
  /** What the page asked for, in order. */
  readonly asked: { method: string; input: unknown }[] = [];
  #answers: Answers = {};

  private constructor(browser: Windows, page: Page) {
    this.#browser = browser;
    this.page = page;
  }

  static async open(): Promise<Lies> {
    const [files, browser] = await Promise.all([consoleFiles(), launchChromium()]);
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
    const page = await context.newPage();
    const lies = new Lies(browser, page);
    await page.exposeBinding('toService', (_, method: string, input: unknown) => lies.#answer(method, input));
    await page.addInitScript(SHELL);
    await page.route(`${SHOWN}/**`, async (route) => {
      const { pathname } = new URL(route.request().url());
      const body = files.get(pathname);
      const contentType = TYPES[pathname.split('.').at(-1) as keyof typeof TYPES];
      await route.fulfill(body ? { body, contentType } : { status: 404 });
    });
    return lies;
  }

  /** A screen as a program that was just started shows it. `query`: of a page about a server. */
  async show(screen: string, answers: Answers, query = ''): Promise<Page> {
    this.#answers = answers;
    this.asked.length = 0;
    await this.page.goto('about:blank');
    await this.page.goto(`${SHOWN}/index.html${query}#/${screen}`);
    await this.page.locator('main').first().waitFor();
    return this.page;
  }

  inputsOf = (method: Method): unknown[] => this.asked.flatMap((one) => (one.method === method ? [one.input] : []));

  async close(): Promise<void> {
    await this.#browser.close();
  }

  async #answer(method: string, input: unknown): Promise<unknown> {
    this.asked.push({ method, input });
    const answer = ({ ...ANSWERS, ...this.#answers } as Record<string, ((input: unknown) => unknown) | undefined>)[
      method
    ];
    if (!answer)
      return { ok: false, status: 404, error: { code: 'method.unknown', message: 'There is no such method' } };
    try {
      return { ok: true, result: await answer(input) };
    } catch (error) {
      if (error instanceof Lost) return { ok: false, status: 0 };
      if (error instanceof Refusal) return { ok: false, status: 400, error: { code: error.message, message: 'No' } };
      throw error;
    }
  }
}
