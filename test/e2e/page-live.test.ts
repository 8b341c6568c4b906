/**
 * An open payment page while the world goes on: news by stream and by polling, prices that end, payments that vanish, a
 * service that is away, more than one tab, and the way back. Browser, service and the sandbox's chain are the real ones;
 * only their clocks are moved.
 */
import type { Page, Request, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { dayFromNow, until } from '../support/daemon.ts';
import { Line, Site, Stage, type Visit, WAIT_MS } from './page-kit.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe.skipIf(!hasChromium)(chromiumTitle('an open payment page in Chromium'), () => {
  let stage: Stage;
  let shop: Site;
  beforeAll(async () => {
    [stage, shop] = await Promise.all([Stage.open(), Site.open()]);
    shop.pages.set('/cart', '<!doctype html><title>Cart</title><h1>Cart</h1>');
    shop.pages.set('/thanks', '<!doctype html><title>Thanks</title><h1>Thanks</h1>');
  });
  afterAll(async () => {
    shop?.close();
    await stage?.close();
  });

  const pay = (slug: string, body: Record<string, unknown> = {}): Promise<{ tx_id: string }> =>
    stage.post('/sandbox/pay', { invoice_id: slug, ...body });
  const mine = (blocks = 1): Promise<unknown> => stage.post('/sandbox/mine', { crypto: 'LTC', blocks });
  const isStatus = (request: Request): boolean => new URL(request.url()).pathname.endsWith('/status');
  const quoteEnd = (page: Page): Promise<number> => page.locator('#view').getAttribute('data-ends').then(Number);

  /** Counts the page's questions, and those without an answer yet. */
  function questions(page: Page): { count: number; open: number } {
    const asked = { count: 0, open: 0 };
    page.on('request', (request) => {
      if (!isStatus(request)) return;
      asked.count++;
      asked.open++;
    });
    const over = (request: Request): void => {
      if (isStatus(request)) asked.open--;
    };
    page.on('requestfinished', over);
    page.on('requestfailed', over);
    return asked;
  }

  /** What the page believes about being looked at: a browser without a window always shows its pages. */
  const setHidden = (page: Page, hidden: boolean): Promise<unknown> =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);

  /** Lets time pass for the service, which gets a block to look at its chain again, and then for the page. */
  async function wait(page: Page, ms: number): Promise<void> {
    stage.service.advance(ms);
    await mine();
    await page.clock.fastForward(ms);
  }

  /** A page whose clock can be moved. */
  async function clocked(slug: string): Promise<Visit> {
    const visit = await stage.visit();
    await visit.page.clock.install();
    await visit.open(slug);
    return visit;
  }

  it('is told by the stream, from the first sight to the last confirmation, and asks no more than it is told', async () => {
    const slug = await stage.requested();
    const visit = await stage.visit();
    const streaming = visit.page.waitForResponse((response) => response.url().endsWith('/events'));
    await visit.open(slug);
    expect((await streaming).headers()['content-type']).toBe('text/event-stream');
    const asked = questions(visit.page);
    await visit.page.evaluate(`window.sameDocument = true`);
    await pay(slug, { amount: '0.25' });
    await visit.shows('partial');
    await pay(slug);
    await visit.shows('detected');
    const count = visit.page.locator('[data-part="confirmations"]');
    await visit.page.locator('.details summary').click();
    await mine();
    await count.filter({ hasText: '1 of 3 confirmations' }).waitFor();
    // what the reader opened stays open under the news
    expect(await visit.page.locator('.details li').first().isVisible()).toBe(true);
    await mine(2);
    await visit.shows('paid');
    expect(asked.count).toBeLessThan(15);
    expect(await visit.page.locator('#say').textContent()).toBe('Paid. Thank you!');
    expect(await visit.page.evaluate('window.sameDocument')).toBe(true);
    await visit.end();
  });

  it('asks by itself where no stream comes through', async () => {
    const slug = await stage.requested();
    const visit = await stage.visit();
    await visit.context.route('**/events', (route) => route.abort());
    await visit.open(slug);
    await visit.page.waitForRequest(isStatus);
    await pay(slug);
    await visit.shows('detected');
    await mine(3);
    await visit.shows('paid');
    await visit.end({ expected: /\/events/ });
  });

  it('asks nothing while it is hidden, and at once when it is shown again', async () => {
    const slug = await stage.requested();
    const visit = await stage.visit();
    await visit.context.route('**/events', (route) => route.abort());
    await visit.page.clock.install();
    const { page } = visit;
    const asked = questions(page);
    await visit.open(slug);
    await until('it has asked', async () => asked.count > 0);
    await setHidden(page, true);
    // A question from before would be answered with the payment.
    await until('no question is open', async () => asked.open === 0);
    const { count } = asked;
    await pay(slug);
    await page.clock.runFor(60_000);
    expect(asked.count).toBe(count);
    await visit.shows('waiting');
    // from here on no timer helps
    await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 60_000);
    expect(asked.count).toBe(count);
    await setHidden(page, false);
    await visit.shows('detected');
    await visit.end({ expected: /\/events/ });
  });

  it('says when the service is away, goes on when it is back, and has missed nothing', async () => {
    const line = new Line(() => stage.service.url);
    await line.connect();
    const slug = await stage.requested();
    const visit = await stage.visit();
    const { page } = visit;
    await page.goto(`${line.url}/pay/${slug}`);
    await visit.shows('waiting');
    await line.cut();
    await page.locator('#offline').filter({ hasText: 'No connection to the payment service' }).waitFor();
    await stage.service.restart();
    await pay(slug);
    await line.connect();
    await visit.shows('detected');
    await page.locator('#offline').waitFor({ state: 'hidden' });
    await until('the stream is back', async () => {
      await mine();
      return page.locator('[data-part="confirmations"]', { hasText: '3 of 3' }).or(page.locator('.receipt')).count();
    });
    await visit.shows('paid');
    await line.cut();
    await visit.end({ others: [line.url], expected: /ERR_|Failed to load resource/ });
  });

  it.each([
    ['the service', (route: Route) => route.abort()],
    ['a service behind its proxy', (route: Route) => route.fulfill({ status: 502, body: 'Bad gateway' })],
  ])('shows no address without %s once its price is over', async (_, answer) => {
    const slug = await stage.requested();
    const visit = await stage.visit();
    const { page, context } = visit;
    await page.clock.install();
    await visit.open(slug);
    await visit.shows('waiting');
    await context.route(/\/(?:events|status)/, answer);
    const send = page.locator('.send');
    for (let i = 0; i < 20 && !(await page.locator('#offline').isVisible()); i++) await page.clock.runFor(10_000);
    await page.locator('#offline').waitFor();
    expect(await send.isVisible()).toBe(true);
    await page.clock.fastForward(24 * 3_600_000);
    await page.clock.runFor(6_000);
    await send.waitFor({ state: 'hidden' });
    await context.unroute(/\/(?:events|status)/);
    await until('it is asked again', async () => {
      await page.clock.runFor(5_000);
      return send.isVisible();
    });
    await visit.end({ expected: /ERR_|Failed to load resource/ });
  });

  it('two tabs follow each other, and a stale one shows what was chosen in the other', async () => {
    const slug = await stage.invoice({ crypto: 'ALL' });
    const visit = await stage.visit();
    await visit.open(slug);
    const other = await visit.context.newPage();
    await other.goto(visit.page.url());
    const stale = await visit.context.newPage();
    await stale.route(/\/(?:events|status)/, (route) => route.abort());
    await stale.goto(visit.page.url());
    await visit.page.getByRole('button', { name: /Litecoin/ }).click();
    await visit.shows('waiting');
    await visit.shows('waiting', other);
    await stale.getByRole('button', { name: /Monero/ }).click();
    await visit.shows('waiting', stale);
    const { address } = await stage.payment(slug);
    for (const page of [visit.page, other, stale]) {
      expect((await page.locator('[data-part="address"]').textContent())!.trim()).toBe(address);
    }
    await visit.press('exact', other);
    await visit.shows('detected');
    await visit.end({ expected: /\/(?:events|status)/ });
  });

  it('a first step that was taken stays taken when what is offered changes under it', async () => {
    const slug = await stage.invoice({ crypto: 'ALL' });
    const visit = await clocked(slug);
    const second = visit.page.locator('[value="USDT_BEP20"]');
    await visit.page.locator('.networks summary').click();
    await second.waitFor();
    const business = String((await stage.operator('business.list', {})).businesses[0]!.id);
    // the rows below it move up
    await stage.operator('business.change', { business, disable: ['LTC'] });
    await visit.page.clock.fastForward(60_000);
    await visit.page.locator('[value="LTC"]').waitFor({ state: 'detached' });
    expect(await second.isVisible()).toBe(true);
    await stage.operator('business.change', { business, enable: ['LTC'] });
    await visit.page.clock.fastForward(60_000);
    await visit.page.locator('[value="LTC"]').waitFor();
    expect(await second.isVisible()).toBe(true);
    await visit.end();
  });

  it('goes back to the shop by itself once it is paid, and not again for who comes back', async () => {
    const slug = await stage.invoice({
      crypto: 'ALL',
      close_url: `${shop.origin}/thanks`,
      automatic_redirect: true,
    });
    const visit = await stage.visit();
    const { page } = visit;
    await page.goto(`${shop.origin}/cart`);
    await visit.open(slug);
    await page.getByRole('button', { name: /Litecoin/ }).click();
    await visit.shows('waiting');
    // back: from the payment to the shop or to the choice, which by now is none
    await page.goBack();
    if (page.url().includes('/pay/')) {
      await visit.shows('waiting');
      await page.goBack();
    }
    await page.waitForURL(`${shop.origin}/cart`);
    await page.goForward();
    await visit.shows('waiting');
    await visit.press('exact');
    await visit.shows('detected');
    await mine(3);
    await visit.shows('paid');
    expect(await page.locator('.going').innerText()).toContain('You are taken back to the shop');
    await page.waitForURL(`${shop.origin}/thanks`);
    await page.goBack();
    await visit.shows('paid');
    expect(await page.locator('.going').count()).toBe(0);
    expect(await page.locator('#view').getAttribute('data-redirect')).toBeNull();
    await visit.end({ others: [shop.origin] });
  });

  it('stays for who wants to stay', async () => {
    const slug = await stage.requested({ close_url: `${shop.origin}/thanks`, automatic_redirect: true });
    const visit = await clocked(slug);
    await pay(slug);
    await visit.shows('detected');
    await mine(3);
    await visit.shows('paid');
    await visit.page.getByRole('button', { name: 'Stay on this page' }).click();
    await visit.page.clock.runFor(20_000);
    await visit.shows('paid');
    expect(new URL(visit.page.url()).origin).toBe(stage.service.url);
    await visit.end();
  });

  it('counts the price down, and gets a new one to the same address', async () => {
    const slug = await stage.requested();
    const visit = await clocked(slug);
    const { page } = visit;
    const clock = page.locator('.left-text');
    const address = await page.locator('[data-part="address"]').textContent();
    const first = await quoteEnd(page);
    await wait(page, 56 * 60_000);
    await page.locator('.head.soon').waitFor();
    expect(await clock.textContent()).toMatch(/^[34]:\d\d$/);
    await wait(page, 4 * 60_000);
    await until('there is a new price', async () => (await quoteEnd(page)) > first, WAIT_MS);
    await visit.shows('waiting');
    expect(await clock.textContent()).toMatch(/^(?:59:\d\d|1:00:00)$/);
    expect(await page.locator('[data-part="address"]').textContent()).toBe(address);
    await visit.end();
  });

  it('counts on by the service where the device’s clock is set back meanwhile', async () => {
    const visit = await clocked(await stage.requested());
    const { page } = visit;
    const left = (text: RegExp) => page.locator('.left-text').filter({ hasText: text }).waitFor();
    await left(/^(?:59:\d\d|1:00:00)$/);
    await page.clock.setSystemTime((await page.evaluate<number>('Date.now()')) - 5 * HOUR);
    await page.clock.runFor(30_000);
    await left(/^5[89]:\d\d$/);
    await visit.end();
  });

  it('shows no address while there is no price, and shows it again by itself', async () => {
    const slug = await stage.requested();
    const visit = await clocked(slug);
    const { page } = visit;
    await visit.press('down');
    stage.service.advance(HOUR);
    await page.clock.fastForward(HOUR);
    await visit.shows('withheld');
    expect(await page.locator('[data-part="address"], .qr').count()).toBe(0);
    await visit.press('up');
    await mine();
    await visit.shows('waiting');
    const { address } = await stage.payment(slug);
    expect((await page.locator('[data-part="address"]').textContent())!.trim()).toBe(address);
    await visit.end();
  });

  it('left open for two days it has a price that holds, and can be paid', async () => {
    const slug = await stage.requested();
    const visit = await clocked(slug);
    const first = await quoteEnd(visit.page);
    await wait(visit.page, 2 * DAY);
    await until('there is a new price', async () => (await quoteEnd(visit.page)) > first + 2 * DAY - HOUR, WAIT_MS);
    await visit.shows('waiting');
    expect(await visit.page.locator('.left-text').textContent()).toMatch(/^(?:59:\d\d|1:00:00)$/);
    await pay(slug);
    await visit.shows('detected');
    await visit.end();
  });

  it('left open for longer than the invoice lives, it says so', async () => {
    const visit = await clocked(await stage.requested({ due_date: dayFromNow(stage.service, 0) }));
    await wait(visit.page, 2 * DAY);
    await mine();
    await visit.shows('canceled');
    expect(await visit.page.locator('[data-part="address"], .qr').count()).toBe(0);
    await visit.end();
  });

  it('takes back what the chain takes back', async () => {
    const slug = await stage.requested();
    const visit = await stage.visit();
    await visit.open(slug);
    await visit.press('exact');
    await visit.shows('detected');
    await visit.press('replace');
    await visit.shows('waiting');
    await visit.press('exact');
    await visit.shows('detected');
    await visit.press('mine');
    const count = visit.page.locator('[data-part="confirmations"]');
    await count.filter({ hasText: '1 of 3' }).waitFor();
    await visit.press('reorg');
    await count.filter({ hasText: '0 of 3' }).waitFor();
    await visit.end();
  });

  it('the receipt prints, without what is no receipt', async () => {
    const slug = await stage.requested({ close_url: `${shop.origin}/thanks` });
    await pay(slug);
    await mine(3);
    const visit = await stage.visit();
    const { page } = visit;
    await page.addInitScript('window.print = () => { window.printed = (window.printed || 0) + 1; };');
    await visit.open(slug);
    await until('it is paid', async () => {
      await page.reload();
      return page.locator('.receipt').count();
    });
    await page.getByRole('button', { name: 'Print or save as PDF' }).click();
    expect(await page.evaluate('window.printed')).toBe(1);
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.subarray(0, 5).toString('latin1')).toBe('%PDF-');
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.locator('.receipt dl').isVisible()).toBe(true);
    expect(await page.locator('.sandbox, .foot, button, a.main, .bar').filter({ visible: true }).count()).toBe(0);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
    await visit.end();
  });

  it('goes away with an invoice that is deleted', async () => {
    const slug = await stage.invoice({ crypto: 'ALL' });
    const visit = await clocked(slug);
    await visit.page.waitForResponse((response) => isStatus(response.request()));
    expect((await stage.service.call('DELETE', `/invoice/${slug}`)).status).toBe(200);
    await visit.page.clock.fastForward(60_000);
    await visit.page.getByRole('heading', { name: 'There is no such invoice' }).waitFor({ timeout: WAIT_MS });
    await visit.end({ expected: /404/ });
  });
});
