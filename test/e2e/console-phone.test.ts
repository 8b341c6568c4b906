/** The console on a narrow phone: nothing of it is cut off, and who leaves it sees what that did, also while the service is away. */
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { Console, shown } from './console-kit.ts';
import { faultsOf, overhangOf } from './page-kit.ts';
import { listen } from './stand-in.ts';

/** How often the menu reads the state of the wallet by itself, counted from its load. */
const READ_EVERY_MS = 30_000;
const NARROW = { width: 360, height: 740 };
const SCREENS = ['home', 'invoices', 'inbox', 'withdrawals', 'withdrawals/new', 'gas', 'statement', 'closing', 'items'];

/** The texts of which a part is hidden, but for a day beside its sum. */
const cutIn = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('body *')]
    .filter((one) => ['hidden', 'clip'].includes(getComputedStyle(one).overflowX) && one.innerText)
    .filter((one) => !one.matches('.invoice-day, .invoice-date'))
    .filter((one) => one.clientWidth > 2 && one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.innerText)`);

describe.skipIf(!hasChromium)(chromiumTitle('the console on a phone'), () => {
  let shop: Console;
  let paid: string;
  beforeAll(async () => {
    shop = await Console.start();
    const [business] = (await shop.call('business.list', {})).businesses;
    await shop.call('business.brand', { business: `${business!.id}`, currency: 'EUR' });
    paid = await shop.invoice(1_234_567.89);
    await shop.pay(paid);
    await shop.mine('LTC', 12);
    await until(
      'it is paid',
      async () => (await shop.call('invoice.show', { invoice: paid })).invoice.status === 'paid',
    );
  });
  afterAll(async () => {
    await shop.stop();
  });

  async function open(screen: string, language: 'en' | 'de'): Promise<Page> {
    const page = await shop.open(screen, NARROW);
    await page.evaluate((one) => localStorage.setItem('countinghouse-language', one), language);
    await page.reload();
    await page.locator('main').first().waitFor();
    await shown(page);
    return page;
  }

  it.each(['en', 'de'] as const)('cuts off none of its own words in %s', async (language) => {
    const page = await open('home', language);
    for (const screen of SCREENS) {
      await shop.go(page, screen);
      await shown(page);
      if (screen === 'invoices') {
        const sum = page.locator('.invoice-day', { hasText: language === 'en' ? '1 paid' : '1 bezahlt' });
        await sum.waitFor();
        const box = await sum.locator('span').last().boundingBox();
        expect(box!.x + box!.width).toBeLessThanOrEqual(NARROW.width - 16);
      }
      expect([screen, await cutIn(page), await overhangOf(page)]).toEqual([screen, [], 0]);
    }
    await shop.go(page, 'counter');
    await page.locator('.till-keys').waitFor();
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBe(NARROW.height);
    await page.context().close();
  });

  it('calls the link to a receipt as it reads', async () => {
    for (const language of ['en', 'de'] as const) {
      const page = await open(`invoices/${paid}`, language);
      await page.getByRole('link', { name: language === 'en' ? 'Receipt' : 'Beleg' }).waitFor();
      expect(await faultsOf(page)).toEqual([]);
      await page.context().close();
    }
  });

  const hasKey = (page: Page): Promise<boolean> =>
    page.evaluate<boolean>(`new Promise((resolve) => {
      const opening = indexedDB.open('countinghouse');
      opening.onsuccess = () => {
        const asked = opening.result.transaction('session').objectStore('session').count();
        asked.onsuccess = () => { resolve(asked.result > 0); opening.result.close(); };
      };
    })`);

  it.each([
    ['is cut off', (route: Route) => route.abort()],
    ['is never answered', () => {}],
  ])('forgets its key when it signs out, also if the call to the service %s', async (_, handle) => {
    const page = await open('settings', 'en');
    expect(await hasKey(page)).toBe(true);
    await page.route('**/session/end', handle);
    await page.getByRole('button', { name: 'Sign out' }).first().click();
    await page.getByText('You are not signed in here').waitFor();
    expect(await hasKey(page)).toBe(false);
    await page.context().close();
  });

  it('shows at once what the key that locks the wallet did', async () => {
    const page = await open('settings', 'en');
    const { heard, stop } = listen();
    await page.keyboard.press('Control+l');
    const isReadAfter = async (): Promise<boolean> => {
      const at = heard.findIndex((one) => one.startsWith('wallet.lock'));
      return at >= 0 && heard.slice(at).some((one) => one.startsWith('wallet.status'));
    };
    await until('its state is read', isReadAfter, READ_EVERY_MS / 2);
    stop();
    await page.context().close();
  });

  it('says that it is not locked to the counter if the service did not do it', async () => {
    const page = await open('counter', 'en');
    await page.route('**/session/lock', (route) => route.abort());
    await page.getByRole('button', { name: 'Lock to the counter' }).click();
    await page.getByRole('button', { name: 'Lock it' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect((await shop.call('console.list', {})).sessions.filter(({ scope }) => scope === 'counter')).toEqual([]);
    await page.unroute('**/session/lock');
    await page.getByRole('button', { name: 'Lock it' }).click();
    await page.getByRole('img', { name: 'Locked to the counter' }).waitFor();
    await page.context().close();
  });
});
