/**
 * The payment page where browsers, payers and attackers are not as usual: no scripts, other languages, the keyboard
 * alone, hostile words in every field, and frames of shops that may and of pages that may not.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageOf } from '../api/client-kit.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { faultsOf, NARROWEST, overhangOf, Site, Stage, type Visit } from './page-kit.ts';

describe.skipIf(!hasChromium)(chromiumTitle('an unusual visit in Chromium'), () => {
  let stage: Stage;
  let business: string;
  beforeAll(async () => {
    stage = await Stage.open();
    business = String((await stage.operator('business.list', {})).businesses[0]!.id);
  });
  afterAll(() => stage?.close());

  it('without scripts everything works, by pages that refresh themselves', async () => {
    const slug = await stage.invoice({
      crypto: 'ALL',
      close_url: `${stage.service.url}/pay/nowhere`,
      automatic_redirect: true,
    });
    const visit = await stage.visit({ javaScriptEnabled: false });
    await visit.open(slug);
    const { page } = visit;
    const heading = (name: string): Promise<void> => page.getByRole('heading', { name }).waitFor();
    await heading('Choose how to pay');
    await page.getByRole('button', { name: /Litecoin/ }).click();
    await heading('Waiting for your payment');
    // a page that reloads would close the list of coins again and again
    const reloads = page.locator('meta[http-equiv="refresh"]');
    expect(await reloads.count()).toBe(0);
    await page.getByRole('link', { name: 'Choose another coin' }).click();
    await page.getByRole('button', { name: 'Bitcoin Cash' }).waitFor();
    expect(await reloads.count()).toBe(0);
    await page.getByRole('button', { name: 'Bitcoin Cash' }).click();
    await page
      .getByText('on Bitcoin Cash')
      .or(page.locator('.amount', { hasText: 'BCH' }))
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Choose another coin' }).click();
    await page.getByRole('button', { name: 'Litecoin' }).click();
    await heading('Waiting for your payment');
    expect(await page.locator('.copy, .print, .bar, .left-text').filter({ visible: true }).count()).toBe(0);
    expect(await page.getByText('This price holds until').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Pay half' }).click();
    await heading('Part of it has arrived');
    // a page that reloads would lose what is selected: it does so only while it is asked to look for the payment
    await page.getByRole('link', { name: 'Stop looking, to copy something' }).click();
    await page.getByRole('link', { name: 'I have paid: look for the payment' }).waitFor();
    expect(await reloads.count()).toBe(0);
    await page.getByRole('link', { name: 'I have paid: look for the payment' }).click();
    await page.getByRole('link', { name: 'Stop looking, to copy something' }).waitFor();
    expect(await reloads.count()).toBe(1);
    // nobody presses anything from here on: the page reads itself anew
    const { remaining } = await stage.payment(slug);
    await stage.post('/sandbox/pay', { invoice_id: slug, amount: remaining });
    await heading('Payment found');
    await stage.post('/sandbox/mine', { crypto: 'LTC', blocks: 3 });
    await heading('Paid. Thank you!');
    await page.waitForURL('**/pay/nowhere');
    await visit.end({ expected: /404/ });
  });

  it('speaks the browser’s language, and the one that is chosen', async () => {
    const slug = await stage.invoice({ crypto: 'ALL', amount: 1234.5, currency: 'EUR' });
    const visit = await stage.visit({ locale: 'de-DE' });
    await visit.open(slug);
    const { page } = visit;
    const languageOf = (): Promise<[string, string]> =>
      page.evaluate('[document.documentElement.lang, document.documentElement.dir]');
    expect(await languageOf()).toEqual(['de', 'ltr']);
    expect(await page.locator('h1').innerText()).toMatch(/^1\.234,50\s€$/);
    expect(await page.locator('.languages button').isVisible()).toBe(false);
    await page.locator('#lang').selectOption('ar');
    await page.waitForURL('**?lang=ar');
    expect(await languageOf()).toEqual(['ar', 'rtl']);
    expect(await faultsOf(page)).toEqual([]);
    await page.locator('button[value="XMR"]').click();
    await visit.shows('waiting');
    expect(await languageOf()).toEqual(['ar', 'rtl']);
    const { address, amount } = await stage.payment(slug);
    expect((await page.locator('[data-part="address"]').textContent())!.trim()).toBe(address);
    expect(await page.locator('[data-part="amount"]').textContent()).toBe(amount);
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.address')).direction`)).toBe('ltr');
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize(NARROWEST);
    expect(await overhangOf(page)).toBe(0);
    await visit.press('exact');
    await visit.shows('detected');
    expect(await page.locator('h2.status').innerText()).not.toMatch(/[A-Za-z]/);
    await visit.end();
  });

  it.each(['hi', 'zh', 'ja', 'ko', 'ru', 'tr', 'pl', 'fr'])('fits the narrowest phone in %s', async (language) => {
    const visit = await stage.visit({ viewport: NARROWEST });
    await visit.open(await stage.requested({ crypto: 'USDT_BEP20' }), `?lang=${language}`);
    expect(await visit.page.evaluate('document.documentElement.lang')).toBe(language);
    expect(await overhangOf(visit.page)).toBe(0);
    await visit.end();
  });

  /** What has the focus: its name or value, and whether one can see that it has it. */
  const focus = (page: Page): Promise<{ name: string; seen: boolean }> =>
    page.evaluate(`(() => {
      const on = document.activeElement;
      const ringed = [on];
      return {
        name: on.value || on.getAttribute('aria-label') || on.textContent.trim(),
        seen: ringed.some((node) => getComputedStyle(node).outlineStyle !== 'none'),
      };
    })()`);

  async function tabTo(page: Page, name: string): Promise<void> {
    for (let presses = 0; presses < 30; presses++) {
      await page.keyboard.press('Tab');
      const at = await focus(page);
      expect(at).toMatchObject({ seen: true });
      if (at.name.includes(name)) return;
    }
    throw new Error(`the keyboard never reaches ${name}`);
  }

  it('from the choice to paid by the keyboard alone, and the clipboard has what is to be sent', async () => {
    const slug = await stage.invoice({ crypto: 'ALL' });
    const visit = await stage.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    await visit.open(slug);
    const { page } = visit;
    const clipboard = (): Promise<string> => page.evaluate('navigator.clipboard.readText()');
    await tabTo(page, 'BTC');
    await tabTo(page, 'LTC');
    await page.keyboard.press('Enter');
    await visit.shows('waiting');
    const { address, amount } = await stage.payment(slug);
    await tabTo(page, 'Copy the amount');
    await page.keyboard.press('Enter');
    await page.locator('.copy.copied').waitFor();
    expect(await clipboard()).toBe(amount);
    await tabTo(page, 'Open in wallet');
    await tabTo(page, 'Copy the address');
    await page.keyboard.press('Space');
    await page.locator('.box .copy.copied').waitFor();
    expect(await page.locator('#say').textContent()).toBe('Copied');
    expect(await clipboard()).toBe(address);
    await tabTo(page, 'exact');
    await page.keyboard.press('Enter');
    await visit.shows('detected');
    // the button is gone: the reader goes on at the news, not at the top
    expect((await focus(page)).name).toBe('Payment found');
    await tabTo(page, 'mine');
    for (const confirmations of [1, 2]) {
      await page.keyboard.press('Enter');
      await page.locator('[data-part="confirmations"]', { hasText: `${confirmations} of 3` }).waitFor();
      if ((await focus(page)).name !== 'mine') await tabTo(page, 'mine');
    }
    await page.keyboard.press('Enter');
    await visit.shows('paid');
    expect((await focus(page)).name).toBe('Paid. Thank you!');
    await tabTo(page, 'Print or save as PDF');
    await tabTo(page, 'en');
    await visit.end();
  });

  it('writes amounts as the reader does, and gives wallets a point', async () => {
    const slug = await stage.requested({ amount: 50 });
    const visit = await stage.visit({ locale: 'de-DE' });
    await visit.open(slug);
    const { page } = visit;
    const shown = page.locator('[data-part="amount"]');
    expect(await page.locator('#view').getAttribute('data-say')).toContain('0,625 LTC');
    expect(await page.locator('.qr').first().getAttribute('aria-label')).toContain('0,625 LTC');
    // drawn, so that who selects it copies the point
    const drawn = `getComputedStyle(document.querySelector('.comma'), '::before').content`;
    expect(await page.evaluate(drawn)).toMatch(/^","/);
    await shown.click();
    await page.keyboard.press('Control+c');
    expect(await page.evaluate('getSelection().selectAllChildren(document.querySelector("[data-part=amount]"))')).toBe(
      undefined,
    );
    expect(await page.evaluate('String(getSelection())')).toBe('0.625');
    await visit.end();
  });

  describe('hostile words', () => {
    const hostile = [
      ['a script', '"><img src=x onerror=alert(1)><script>alert(1)</script>'],
      ['the other direction', 'Shop \u202e\u2066drawkcab\u202e and \u200fmore'],
      ['one long word', 'W'.repeat(100)],
      ['emoji', '🛒👩‍👩‍👧‍👦🏴‍☠️'.repeat(5)],
      ['Arabic with a price', 'متجر $1.00 القهوة'],
    ] as const;

    it.each(hostile)('in the name of the business: %s', async (_, name) => {
      await stage.operator('business.brand', { business, name });
      const close_url = `https://shop.example/?q="><script>alert(1)</script>&r=${encodeURIComponent(name)}`;
      const slug = await stage.requested({ close_url, automatic_redirect: true });
      const visit = await stage.visit({ viewport: NARROWEST });
      const page = await visit.open(slug, `?lang="><script>alert(1)</script>`);
      await visit.shows('waiting');
      expect(await page.locator('script, img').count()).toBe(1);
      const shown = await page.locator('.payee bdi').innerText();
      expect(shown).not.toMatch(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
      expect(shown).toContain([...name].slice(0, 4).join(''));
      expect(await page.locator('h1').innerText()).toBe('$60.00');
      expect(await page.locator('.return a').getAttribute('href')).toBe(new URL(close_url).href);
      expect(await overhangOf(page)).toBe(0);
      await visit.press('exact');
      await visit.shows('detected');
      expect(await page.evaluate(`document.querySelectorAll('script, img').length`)).toBe(1);
      await visit.end();
    });

    it('in the places that links lead to', async () => {
      const targets = ['javascript:alert(1)', 'data:text/html,<script>alert(1)</script>', '//x', 'https://x y'];
      for (const close_url of targets) {
        const { status } = await stage.service.call('POST', '/invoice', { amount: 60, close_url });
        expect([close_url, status]).toEqual([close_url, 422]);
      }
    });
  });

  describe('frames', () => {
    let own: Site;
    let other: Site;
    beforeAll(async () => {
      [own, other] = await Promise.all([Site.open(), Site.open()]);
    });
    afterAll(() => {
      own?.close();
      other?.close();
    });

    const frameOf = (url: string): string =>
      `<!doctype html><title>Shop</title><iframe src="${url}" width="420" height="900"></iframe>`;

    async function framed(visit: Visit, site: Site, url: string): Promise<string> {
      site.pages.set('/frame', frameOf(url));
      await visit.page.goto(`${site.origin}/frame`);
      const frame = await visit.page.locator('iframe').elementHandle();
      return (await frame!.contentFrame())!.url();
    }

    it('of the client ID’s origins may show its invoices to the end; all others may not', async () => {
      const { client } = await stage.operator('client.add', { business, name: 'embedded', origins: [own.origin] });
      const shop = pageOf(stage.service, client.client_id, own.origin);
      const made = await shop<{ id: string }>('POST', '/invoice', { amount: 60, crypto: 'LTC' });
      expect(made.status).toBe(201);
      await shop('POST', `/invoice/rp/${made.body.id}`);
      const url = `${stage.service.url}/pay/${made.body.id}`;
      const visit = await stage.visit();

      expect(await framed(visit, own, url)).toBe(url);
      const inside = visit.page.frameLocator('iframe');
      await inside.locator('#view[data-state="waiting"]').waitFor();
      await inside.locator('.amount .copy').click();
      await inside.locator('.copy.copied').waitFor();
      await inside.locator('.sandbox button[value="exact"]').click();
      await inside.locator('#view[data-state="detected"]').waitFor();
      // the frame may not write to the clipboard by the newer way, and has the older one
      expect(visit.complaints.splice(0).filter((text) => !text.includes('The Clipboard API'))).toEqual([]);

      expect(await framed(visit, other, url)).toBe('chrome-error://chromewebdata/');
      // a page in between does not make it any more welcome
      own.pages.set('/inner', frameOf(url));
      other.pages.set('/frame', frameOf(`${own.origin}/inner`));
      await visit.page.goto(`${other.origin}/frame`);
      const innermost = visit.page.frameLocator('iframe').frameLocator('iframe').locator('#view');
      expect(await innermost.count()).toBe(0);
      expect(visit.complaints.splice(0).filter((text) => text.includes('frame-ancestors'))).toHaveLength(2);

      // an invoice of the merchant's own API belongs to no client ID
      const merchants = `${stage.service.url}/pay/${await stage.requested()}`;
      expect(await framed(visit, own, merchants)).toBe('chrome-error://chromewebdata/');
      expect(visit.complaints.splice(0)).toHaveLength(1);
      await visit.end({ others: [own.origin, other.origin] });
    });
  });

  it('many guesses are slowed down, with a page that says so', async () => {
    const visit = await stage.visit();
    const { page } = visit;
    let status = 404;
    for (let guess = 0; guess < 300 && status === 404; guess++) {
      const path = `${stage.service.url}/pay/${guess.toString().padStart(12, 'A')}`;
      status = (await page.request.get(path)).status();
    }
    expect(status).toBe(429);
    await visit.open('AAAAAAAAAAAA');
    expect(await page.locator('h1').innerText()).toMatch(/^(?:Too many requests|There is no such invoice)$/);
    expect(await faultsOf(page)).toEqual([]);
    await visit.end({ expected: /4(?:04|29)/ });
  });
});
