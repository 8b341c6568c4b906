/** The counter with items in a real browser: a sale, one that is cut off in the middle, and closing the day. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { Console, englishIn, shown } from './console-kit.ts';
import { faultsOf, overhangOf, rulesIn } from './page-kit.ts';
import { instead } from './stand-in.ts';

const HOSTILE = '\u202EKuchen <img src=x onerror=alert(1)>';
const SIZES = [
  { width: 1280, height: 860 },
  { width: 800, height: 860 },
  { width: 390, height: 844 },
];

describe.skipIf(!hasChromium)(chromiumTitle('the counter with items'), () => {
  let shop: Console;
  beforeAll(async () => {
    shop = await Console.start();
    await shop.call('business.brand', { business: '1', currency: 'EUR' });
  });
  afterAll(() => shop.stop());

  async function sound(page: Page): Promise<void> {
    for (const size of SIZES) {
      await page.setViewportSize(size);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect([size, await faultsOf(page, rulesIn(colorScheme))]).toEqual([size, []]);
      }
      expect([size, await overhangOf(page)]).toEqual([size, 0]);
    }
    await page.setViewportSize(SIZES[0]!);
  }
  const sales = async () => (await shop.call('invoice.list', { limit: 50 })).invoices;

  it('gets its items, one and many at once', async () => {
    const page = await shop.open('items');
    await page.getByLabel('Name').fill('Espresso');
    await page.getByLabel('Price').fill('2,40');
    await page.getByLabel('Category').fill('Drinks');
    await page.getByLabel('VAT in %').fill('7');
    await page.getByRole('button', { name: 'Add it' }).click();
    await page.getByRole('cell', { name: 'Espresso' }).waitFor();
    await page.getByRole('textbox', { name: 'Many at once' }).fill(`${HOSTILE}; 4.50; Food; 19\nTea; x`);
    await page.getByText('These lines cannot be read: 2').waitFor();
    await page.getByRole('textbox', { name: 'Many at once' }).fill(`${HOSTILE}; 4.50; Food; 19\nTea; 2.70; Drinks; 7`);
    await page.getByRole('button', { name: 'Add 2 items' }).click();
    await page.getByRole('cell', { name: 'Tea' }).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await sound(page);
    await page.getByRole('row', { name: /Tea/ }).getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Sold out').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /Tea Sold out/ }).waitFor();
    await page.context().close();
  });

  it('sells three items with four clicks, and the next sale begins with the fifth', async () => {
    const page = await shop.open('counter');
    expect(await page.getByRole('button', { name: /Tea/ }).isDisabled()).toBe(true);
    await sound(page);
    let clicks = 0;
    const click = async (name: string | RegExp): Promise<void> => {
      clicks++;
      await page.getByRole('button', { name }).first().click();
    };
    await click(/^Espresso/);
    await click(/^Espresso/);
    await click(/Kuchen/);
    await page.getByText('3 items').waitFor();
    await sound(page);
    await click('Show QR code');
    await page.locator('.qr').waitFor();
    const [sold] = await sales();
    expect(sold).toMatchObject({ amount: '9.3', currency: 'EUR', origin: 'counter' });
    const { lines } = await shop.call('counter.sale', { invoice: sold!.slug });
    expect(lines.map(({ name, quantity, vat }) => [name, quantity, vat])).toEqual([
      ['Espresso', 2, 700],
      [HOSTILE, 1, 1900],
    ]);
    await page.getByText('The price is held for').waitFor();
    await shop.pay(sold!.slug);
    await page.getByText('Payment seen').waitFor();
    await click('Next sale');
    expect(clicks).toBe(5);
    await page.getByRole('button', { name: 'Last sale again, €9.30' }).click();
    await page.getByRole('button', { name: 'Type an amount' }).click();
    await page.keyboard.type('250');
    await page.keyboard.press('Enter');
    await page.getByText('4 items').waitFor();
    await page.getByText('€11.80').first().waitFor();
    await page.context().close();
    await shop.mine('BTC', 6);
  });

  it('keeps a sale that is cut off in the middle, and makes it once', async () => {
    const page = await shop.open('counter');
    const before = (await sales()).length;
    let cut = 0;
    // the service takes the first one, and the answer is lost on its way
    const end = instead('counter.sell', async (_params, real) => {
      const answer = await real();
      cut++;
      if (cut === 1) throw Object.assign(new Error('the line was cut'), { cut: true });
      return answer;
    });
    await page.getByRole('button', { name: /^Espresso/ }).click();
    await page.getByRole('button', { name: 'Show QR code' }).click();
    await page.getByText('The sale is kept on this device').waitFor();
    // also over a reload
    await page.reload();
    await page.locator('.qr').waitFor();
    end();
    expect(cut).toBeGreaterThan(1);
    expect((await sales()).length).toBe(before + 1);
    await page.getByRole('button', { name: 'Cancel sale' }).click();
    await page.getByText('Last sale again').waitFor();
    // a canceled one has no code, whoever looks at it
    await page
      .getByRole('button', { name: /Cancelled/ })
      .first()
      .click();
    await page.getByRole('status').filter({ hasText: 'Cancelled' }).waitFor();
    expect(await page.locator('.qr').count()).toBe(0);
    await page.getByRole('button', { name: 'Next sale' }).click();
    await page.context().close();
  });

  it('says that a price ended and that there is no new one, until there is one', async () => {
    const page = await shop.open('counter');
    await page.getByRole('button', { name: /^Espresso/ }).click();
    await page.getByRole('button', { name: 'Show QR code' }).click();
    await page.locator('.qr').waitFor();
    const [sold] = await sales();
    // what the service answers while it has no rate for the coin
    const over = { code: `http://127.0.0.1/pay/${sold!.slug}`, price_until: '2020-01-01T00:00:00.000000Z' };
    const end = instead('counter.sale', async (_params, real) => ({ ...(await real()), ...over }));
    await page.getByText(/^The price in .+ ran out, and there is no new one yet/).waitFor();
    expect(await page.getByText('Asking for an address').count()).toBe(0);
    expect(await page.getByText('Waiting for the payment').count()).toBe(0);
    await sound(page);
    end();
    await page.locator('.qr').waitFor();
    await page.getByRole('button', { name: 'Cancel sale' }).click();
    await page.context().close();
  });

  it('asks for an address again if the service gave none, and changes no coin of a sale by showing it', async () => {
    const page = await shop.open('counter');
    let refusals = 0;
    const end = instead('counter.choose', () => {
      refusals++;
      throw new Unavailable('No exchange rate at the moment', 1);
    });
    await page.getByRole('button', { name: /^Espresso/ }).click();
    await page.getByRole('button', { name: 'Show QR code' }).click();
    await page.getByText('There is no address yet.').waitFor();
    await sound(page);
    const asked = refusals;
    end();
    expect(asked).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.qr').waitFor();
    await page.getByRole('button', { name: /^(LTC|Litecoin)$/ }).click();
    await page.getByText(/ LTC$/).waitFor();
    const [sold] = await sales();
    // another till's last coin
    await page.evaluate(() => localStorage.setItem('countinghouse-till-coin', 'BTC'));
    await page.reload();
    await page.locator('.qr').waitFor();
    expect((await shop.call('counter.sale', { invoice: sold!.slug })).crypto).toBe('LTC');
    await page.getByRole('button', { name: 'Cancel sale' }).click();
    await page.context().close();
  });

  it('goes on after a sale that is not there any more', async () => {
    const page = await shop.open('counter');
    await page.evaluate(() => localStorage.setItem('countinghouse-till-sale', 'AAAAAAAAAAAA'));
    await page.reload();
    await page.getByRole('button', { name: 'Next sale' }).click();
    await page.getByRole('button', { name: /^Espresso/ }).waitFor();
    await page.context().close();
  });

  it('closes the day with two clicks, and has the closing afterwards', async () => {
    await until('the sale is paid', async () => (await sales()).some(({ status }) => status === 'paid'));
    const page = await shop.open('counter');
    await page.getByRole('link', { name: 'Close the day' }).click();
    await page.getByText('The books agree').waitFor();
    await sound(page);
    await page.getByRole('button', { name: 'Close the day' }).click();
    await page.getByText('The day is closed, number 1').waitFor();
    const { closings } = await shop.call('closing.list', { business: '1' });
    expect(closings.map(({ number, parts }) => [number, parts[0]?.taken])).toEqual([[1, '9.3']]);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    expect((await saved).suggestedFilename()).toBe('closing-1.csv');
    await page.evaluate(() => localStorage.setItem('countinghouse-language', 'de'));
    for (const screen of ['closing', 'closing/1', 'items', 'counter']) {
      await shop.go(page, screen);
      await page.reload();
      await shown(page);
      await page.locator('main').first().waitFor();
      expect([screen, await englishIn(page)]).toEqual([screen, []]);
    }
    await page.context().close();
  });
});
