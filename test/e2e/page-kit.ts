/**
 * The payment page in a real browser, for tests: one daemon on its sandbox, one Chromium, and visits to it that notice
 * whatever a browser complains about and whomever it asks. Every visitor has an address of its own, so that the limits
 * of one are not another's.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { strictCaller } from '../api/operator-raw.ts';
import { listening } from '../nodes/listening.ts';
import { launchChromium, type Windows } from '../support/chromium.ts';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

export const WAIT_MS = 60_000;
export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 900 };
/** What WCAG 2.2 asks a page to do without a second scroll bar (1.4.10). */
export const NARROWEST = { width: 320, height: 640 };

const AXE = readFileSync(join(import.meta.dirname, '..', '..', 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice'];
/** The rules whose outcome depends on colours and sizes; the others look at the markup alone. */
export const LOOK_RULES = ['color-contrast', 'target-size', 'link-in-text-block', 'scrollable-region-focusable'];
/** Those that a page was not tried by in the light theme, in which each width is looked at: its markup is the same. */
export const rulesIn = (colorScheme: 'light' | 'dark'): readonly string[] | undefined =>
  colorScheme === 'dark' ? LOOK_RULES : undefined;

type State = 'choose' | 'waiting' | 'partial' | 'detected' | 'withheld' | 'paid' | 'canceled';
type Payment = {
  address: string;
  amount: string;
  remaining: string;
  received: string;
  confirmations: number;
  required_confirmations: number;
  transactions: { tx_id: string }[];
};

/** Browsers believe these headers of nobody; the daemon believes a proxy on this machine. */
const CONFIG = 'trusted_proxies = ["127.0.0.1"]\n';
let visitors = 0;
const nextAddress = (): string => `10.${visitors >> 16}.${(visitors >> 8) & 255}.${visitors++ & 255}`;

/** What axe finds on the page as it is: the rule, where, and why. */
export function faultsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  const only = rules ? { type: 'rule', values: [...rules] } : { type: 'tag', values: AXE_TAGS };
  const look = async (runOnly: unknown) => {
    type Node = { target: string[]; failureSummary: string };
    type Found = { violations: { id: string; nodes: Node[] }[] };
    const { axe } = globalThis as unknown as { axe: { run(options: unknown): Promise<Found> } };
    const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
    );
  };
  return page
    .evaluate(() => 'axe' in globalThis)
    .then((there) => (there ? undefined : page.evaluate(AXE)))
    .then(() => page.evaluate(look, only));
}

/** How far the page is wider than its window, in CSS pixels. */
export const overhangOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** A browser of its own kind: a context with one page, and what happened in it. */
export class Visit {
  readonly stage: Stage;
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: string[] = [];
  readonly asked = new Set<string>();

  private constructor(stage: Stage, context: BrowserContext, page: Page) {
    this.stage = stage;
    this.context = context;
    this.page = page;
  }

  static async begin(stage: Stage, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await stage.browser.newContext({
      viewport: PHONE,
      reducedMotion: 'reduce',
      extraHTTPHeaders: { 'x-forwarded-for': nextAddress() },
      ...options,
    });
    const visit = new Visit(stage, context, await context.newPage());
    context.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()))
        visit.complaints.push(`${message.text()} ${message.location().url}`);
    });
    context.on('weberror', (error) => visit.complaints.push(error.error().message));
    context.on('dialog', (dialog) => {
      visit.complaints.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    context.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== 'data:') visit.asked.add(origin);
    });
    return visit;
  }

  async open(slug: string, query = ''): Promise<Page> {
    await this.page.goto(`${this.stage.service.url}/pay/${slug}${query}`);
    return this.page;
  }

  /** Waits until the page shows a state. */
  async shows(state: State, page = this.page): Promise<void> {
    await page.locator(`#view[data-state="${state}"]`).waitFor();
  }

  /** Presses one of the sandbox's buttons, and waits for the service's answer. */
  async press(what: string, page = this.page): Promise<void> {
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith('/sandbox'));
    await page.locator(`.sandbox button[value="${what}"]`).click();
    await answered;
  }

  /**
   * Ends the visit. The browser must have had nothing to complain about but what matches `expected`, and nobody to ask
   * but the service and `others`.
   */
  async end({ others = [], expected }: { others?: string[]; expected?: RegExp } = {}): Promise<void> {
    await this.context.close();
    const known = [this.stage.service.url, ...others];
    expect(this.complaints.filter((text) => !expected?.test(text))).toEqual([]);
    expect([...this.asked].filter((origin) => !known.includes(origin))).toEqual([]);
  }
}

/** A daemon and a browser, shared by the tests of a file. */
export class Stage {
  readonly service: TestDaemon;
  readonly browser: Windows;

  private constructor(service: TestDaemon, browser: Windows) {
    this.service = service;
    this.browser = browser;
  }

  static async open(config = ''): Promise<Stage> {
    const [service, browser] = await Promise.all([
      startTestDaemon(`${CONFIG}${config}\n[sandbox]\nblock_seconds = 0\npublic = true\n`),
      launchChromium(),
    ]);
    return new Stage(service, browser);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.service.stop();
  }

  visit(options: BrowserContextOptions = {}): Promise<Visit> {
    return Visit.begin(this, options);
  }

  /** The operator's side. */
  get operator(): ReturnType<typeof strictCaller> {
    return strictCaller(this.service.dataDir);
  }

  /** An invoice without a payment; returns its slug. */
  async invoice(body: Record<string, unknown> = {}): Promise<string> {
    const wanted = { amount: 60, crypto: 'LTC', due_date: dayFromNow(this.service, 30), ...body };
    const made = await this.service.call<{ id: string }>('POST', '/invoice', wanted);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body.id;
  }

  /** An invoice whose payment is requested, as soon as its chain is followed: a test may have moved the clock. */
  async requested(body: Record<string, unknown> = {}): Promise<string> {
    const slug = await this.invoice(body);
    await until('the payment is requested', async () => {
      const { status } = await this.service.call('POST', `/invoice/rp/${slug}`);
      return status === 201;
    });
    return slug;
  }

  /** A call that has to succeed. */
  async post<Body = Record<string, unknown>>(path: string, body?: unknown): Promise<Body> {
    const answer = await this.service.call<Body>('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  async payment(slug: string): Promise<Payment> {
    return (await this.service.call<{ payment: Payment }>('GET', `/invoice/${slug}`)).body.payment;
  }

  /** Takes the chain's source down, or brings it back and waits until it is followed again. */
  async outage(crypto: string, down: boolean): Promise<void> {
    await this.post('/sandbox/outage', { crypto, down });
    if (down) return;
    await this.requested({ crypto });
  }
}

/** A web server that is not the service's, on a port of its own: pages by their paths. */
export class Site {
  readonly pages = new Map<string, string>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://x');
      // which browsers ask for by themselves
      const html = pathname === '/favicon.ico' ? '' : this.pages.get(pathname);
      response.writeHead(html === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(html ?? 'nothing here');
    });
  }

  static async open(): Promise<Site> {
    const site = new Site();
    await new Promise<void>((resolve) => site.#server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** A line between browser and service that can be cut: connections end, and no new ones come about. */
export class Line {
  readonly #sockets = new Set<Socket>();
  readonly #target: () => string;
  readonly #server = createProxy((near) => this.#join(near));
  #port = 0;

  constructor(target: () => string) {
    this.#target = target;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async connect(): Promise<void> {
    this.#port = await listening(this.#server, this.#port);
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(near: Socket): void {
    const far = connect(Number(new URL(this.#target()).port), '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
