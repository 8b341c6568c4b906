/** The console's worths and forms have the currency of the business, also while the service is slow to name it. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Console } from './console-kit.ts';
import { instead } from './stand-in.ts';

const SLOW_MS = 2_000;

describe.skipIf(!hasChromium)(chromiumTitle('the currency of a business'), () => {
  let shop: Console;
  let withdrawal: string;
  beforeAll(async () => {
    shop = await Console.start();
    await shop.call('business.brand', { business: '1', currency: 'EUR' });
    await shop.call('policy.set', { business: '1', mode: 'manual', grants: [] });
    const slug = await shop.invoice(250);
    await shop.pay(slug);
    await shop.mine('LTC', 12);
    const isPaid = async () => (await shop.call('invoice.show', { invoice: slug })).invoice.status === 'paid';
    await until('it is paid', isPaid);
    const asked = { business: '1', crypto: 'LTC', address: stranger('LTC', 5), amount: '1' };
    withdrawal = `${(await shop.call('withdrawal.add', asked)).withdrawal.id}`;
    const key = { name: 'key', scopes: ['invoices' as const] };
    const other = await shop.call('business.add', { name: 'Other shop', network: 'sandbox', key });
    await shop.call('business.brand', { business: `${other.business.id}`, currency: 'GBP' });
  });
  afterAll(async () => {
    await shop.stop();
  });

  /** Loads a screen anew, while the list of businesses takes long. `chosen`: the business that the window shows. */
  async function slowly(screen: string, chosen: number): Promise<Page> {
    const page = await shop.open('settings');
    await page.evaluate((id) => localStorage.setItem('countinghouse-business?again', `${id}`), chosen);
    await page.route('**/call/business.list', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      await route.continue();
    });
    await page.goto(`${new URL(page.url()).origin}/?again#/${screen}`);
    return page;
  }

  it.each([1, 2])('is that of an approval, whichever business the window shows: %i', async (chosen) => {
    const page = await slowly(`withdrawals/${withdrawal}/approve`, chosen);
    await page.locator('.headline-worth').waitFor();
    expect(await page.locator('.headline-worth').innerText()).toMatch(/€77\.28/);
    await page.context().close();
  });

  it.each(['invoices/new?amount=25', 'links/new'])('is that of a new one: %s', async (screen) => {
    const page = await slowly(screen, 1);
    const currency = page.getByLabel('Currency').first();
    await currency.waitFor();
    // also for who types before the businesses are read
    expect(await currency.inputValue()).toBe('EUR');
    await page.context().close();
  });

  it('is that of the counter, which is never another business’s, and follows it', async () => {
    const page = await slowly('counter', 2);
    await page.locator('.till-amount').waitFor();
    expect(await page.locator('.till-top h1').innerText()).toBe('Other shop');
    expect(await page.locator('.till-amount').innerText()).toBe('£0.00');
    await page.keyboard.type('2500');
    await page.locator('.till-amount', { hasText: '£25.00' }).waitFor();
    await page.unroute('**/call/business.list');
    await shop.call('business.brand', { business: '2', currency: 'JPY' });
    await shop.invoice(25);
    // what was typed for pounds is another amount in yen
    await page.locator('.till-amount', { hasText: '¥0' }).waitFor();
    await page.context().close();
  });

  it('says why nothing is shown while the list cannot be read, and reads it again', async () => {
    const page = await shop.open('settings');
    await page.route('**/call/business.list', (route) => route.abort());
    for (const screen of ['counter', 'items', 'links/new', 'invoices/new', `withdrawals/${withdrawal}/approve`]) {
      await page.goto(`${new URL(page.url()).origin}/?${screen}#/${screen}`);
      await page.getByRole('button', { name: 'Try again' }).first().waitFor();
    }
    await page.unroute('**/call/business.list');
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.locator('.headline-worth').waitFor();
    await page.context().close();
  });

  it('of items is the same where they are written and where they are sold, if the business has none', async () => {
    await shop.call('business.brand', { business: '2', currency: null });
    await shop.call('item.add', { business: '2', items: [{ name: 'Espresso', price: '2.40' }] });
    const asked: string[] = [];
    const restore = instead('item.list', ({ business }, real) => {
      asked.push(business);
      return real();
    });
    const page = await slowly('items', 2);
    await page.getByText('€2.40').first().waitFor();
    restore();
    // nothing is asked for before it is known of which business
    expect(new Set(asked)).toEqual(new Set(['2']));
    await page.goto(page.url().replace('#/items', '#/counter'));
    await page.getByText('€2.40').first().waitFor();
    await page.context().close();
  });
});
