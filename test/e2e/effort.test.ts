/** What usual tasks cost whoever does them: clicks, and the bytes of the console's first load. */
import { gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { sendRaw } from '../support/console-page.ts';
import { until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Console, shown } from './console-kit.ts';

const FIRST_LOAD_BYTES_MAX = 194_000;

/** Clicks on controls by their roles and names, and counts them. */
class Hand {
  clicks = 0;
  readonly #page: Page;
  constructor(page: Page) {
    this.#page = page;
  }
  async click(role: 'button' | 'link', name: string | RegExp): Promise<void> {
    await this.#page.getByRole(role, { name }).first().click();
    this.clicks++;
  }
}

describe.skipIf(!hasChromium)(chromiumTitle('the effort'), () => {
  let shop: Console;
  beforeAll(async () => {
    shop = await Console.start();
  });
  afterAll(() => shop.stop());

  it('of the first payment in the sandbox is six clicks from the link that signs in', async () => {
    const page = await shop.open('home');
    const hand = new Hand(page);
    await hand.click('link', 'Begin the first steps');
    for (const step of ['Which coins do you take?', 'Connect your shop', 'Watch a payment arrive']) {
      await hand.click('button', 'Next');
      await page.getByRole('heading', { name: step }).waitFor();
    }
    await hand.click('button', /^Make an invoice of /);
    await hand.click('button', 'Pay as the customer');
    await page.getByText('Payment seen').first().waitFor();
    await shop.mine('LTC', 12);
    await page.getByText('Your first payment has arrived').waitFor();
    expect(hand.clicks).toBe(6);
    await page.context().close();
  });

  it('of a refund by link is four clicks and the look at the address', async () => {
    const slug = await shop.invoice(25, 'LTC');
    const reserve = await shop.invoice(100, 'LTC');
    for (const one of [reserve, slug]) await shop.pay(one);
    await shop.mine('LTC', 12);
    await until('both are paid', async () => {
      const { invoices } = await shop.call('invoice.list', { limit: 9 });
      return (
        invoices.filter(({ slug: name, status }) => [slug, reserve].includes(name) && status === 'paid').length === 2
      );
    });
    const page = await shop.open(`invoices/${slug}`);
    const hand = new Hand(page);
    await hand.click('button', 'Refund…');
    await hand.click('button', 'Make the link');
    const url = await until('the link is made', async () => {
      return (await shop.call('refundLink.list', { limit: 1 })).links[0]?.url;
    });
    const fields = new URLSearchParams({ address: stranger('LTC', 91), mine: 'yes' });
    expect((await fetch(url, { method: 'POST', redirect: 'manual', body: fields })).status).toBe(303);
    await hand.click('link', /^Review withdrawal/);
    await page.getByLabel(/I compared all \d+ groups/).check();
    await hand.click('button', /^Approve and send/);
    await page.getByText('It is on the way').waitFor();
    expect(hand.clicks).toBe(4);
    await page.context().close();
  });

  it.each(['en', 'de'])('of the console’s first load is less than 194 kB (%s)', async (language) => {
    const page = await shop.open('home');
    await page.evaluate(`localStorage.setItem('countinghouse-language', '${language}')`);
    const { origin } = new URL(page.url());
    const paths = new Set<string>();
    page.on('request', (request) => {
      const { pathname, protocol } = new URL(request.url());
      if (protocol === 'http:' && (pathname === '/' || /\.(?:js|css|svg|png|webmanifest)$/.test(pathname))) {
        paths.add(pathname);
      }
    });
    await page.reload();
    // the screen itself, whose file is asked for after the frame is there
    await page.locator(`html[lang=${language}] .home-figures`).waitFor();
    await shown(page);
    let packed = 0;
    for (const path of paths) {
      const headers = { host: new URL(origin).host, 'accept-encoding': 'gzip' };
      const { status, headers: told, bytes } = await sendRaw(origin, { method: 'GET', path, headers, body: '' });
      expect([path, status, told['content-encoding']]).toEqual([path, 200, 'gzip']);
      expect(gunzipSync(bytes).length).toBeGreaterThan(0);
      packed += bytes.length;
    }
    process.stderr.write(`the console's first load, ${language}: ${paths.size} files, ${packed} bytes packed\n`);
    expect(paths.size).toBeGreaterThan(2);
    expect(packed).toBeLessThan(FIRST_LOAD_BYTES_MAX);
    await page.context().close();
  });
});
