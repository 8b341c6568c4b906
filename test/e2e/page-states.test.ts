/**
 * Every state of the payment page in a real browser: what it says, that it fits the narrowest phone, and that axe finds
 * nothing in light and dark, on a phone and on a desktop. With PAGE_PICTURES=FOLDER it also leaves pictures of all of
 * them there, which are to be looked at.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { dayFromNow, until } from '../support/daemon.ts';
import { DESKTOP, faultsOf, LOOK_RULES, NARROWEST, overhangOf, PHONE, Stage, type Visit } from './page-kit.ts';

const PICTURES = process.env.PAGE_PICTURES;
const HOUR = 3_600_000;
/** What the shop calls the sale. */
const SALE = { order_id: 'A-1042', description: 'Two bags of espresso, 1 kg, and a ceramic cup' };
const LOOKS = [
  { name: 'phone-light', viewport: PHONE, colorScheme: 'light' },
  { name: 'phone-dark', viewport: PHONE, colorScheme: 'dark' },
  { name: 'desktop-light', viewport: DESKTOP, colorScheme: 'light' },
  { name: 'desktop-dark', viewport: DESKTOP, colorScheme: 'dark' },
] as const;

/** A round mark, as a shop's logo would be; drawn by the browser itself. */
async function drawLogo(visit: Visit): Promise<string> {
  await visit.page.setContent(
    '<div id="logo" style="width:96px;height:96px;border-radius:50%;background:#0f766e;color:#fff;font:700 56px/96px sans-serif;text-align:center">C</div>',
  );
  const picture = await visit.page.locator('#logo').screenshot({ omitBackground: true });
  return picture.toString('base64');
}

async function take(page: Page, name: string): Promise<void> {
  if (!PICTURES) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

describe.skipIf(!hasChromium)(chromiumTitle('the payment page in Chromium'), () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
    const visit = await stage.visit();
    const { businesses } = await stage.operator('business.list', {});
    const business = String(businesses[0]!.id);
    await stage.operator('business.brand', {
      business,
      name: 'Corner Coffee',
      accent: '#0f766e',
      logo: await drawLogo(visit),
      contact: 'hello@corner-coffee.example',
    });
    await visit.end();
  });
  afterAll(() => stage?.close());

  /** Goes over the page in every look, and ends the visit. */
  async function examine(visit: Visit, name: string, expected?: RegExp): Promise<void> {
    const { page } = visit;
    const faults: string[] = [];
    // what it was on looks different under it
    await page.mouse.move(0, 0);
    for (const look of LOOKS) {
      await page.setViewportSize(look.viewport);
      await page.emulateMedia({ colorScheme: look.colorScheme, reducedMotion: 'reduce' });
      await take(page, `${name}-${look.name}`);
      const found = await faultsOf(page, look === LOOKS[0] ? undefined : LOOK_RULES);
      faults.push(...found.map((fault) => `${look.name}: ${fault}`));
    }
    expect(faults).toEqual([]);
    await page.setViewportSize(NARROWEST);
    await take(page, `${name}-narrow`);
    expect(await overhangOf(page)).toBe(0);
    await visit.end(expected ? { expected } : {});
  }

  const flags = (page: Page): Promise<string | null> => page.locator('#view').getAttribute('data-flags');
  /** Without the spaces at which no line ends. */
  const plain = (shown: string): string => shown.replaceAll('\u00a0', ' ');
  const text = async (page: Page): Promise<string> => plain(await page.locator('main').innerText());

  async function opened(slug: string): Promise<Visit> {
    const visit = await stage.visit();
    await visit.open(slug);
    return visit;
  }

  it('a choice of everything', async () => {
    const visit = await opened(await stage.invoice({ crypto: 'ALL', close_url: 'https://shop.example/cart', ...SALE }));
    await visit.shows('choose');
    const offers = visit.page.locator('.choose > .offers > li');
    // Tether is one row
    expect(await offers.count()).toBe(9);
    expect(await visit.page.locator('[value="USDT_ERC20"]').isVisible()).toBe(false);
    expect(plain(await offers.first().innerText())).toMatch(/Bitcoin[\s\S]*0\.\d+ BTC[\s\S]*1 BTC = \$[\d,.]+/);
    expect(await visit.page.locator('.return a').getAttribute('href')).toBe('https://shop.example/cart');
    expect(
      await visit.page.locator('.logo').evaluate((logo) => (logo as unknown as { naturalWidth: number }).naturalWidth),
    ).toBe(96);
    await visit.page.locator('.networks summary').click();
    await visit.page.locator('[value="USDT_BEP20"]').waitFor();
    await examine(visit, 'choose');
  });

  it('a choice of one', async () => {
    const visit = await opened(await stage.invoice({ crypto: 'BTC' }));
    await visit.shows('choose');
    expect(await visit.page.getByRole('button', { name: 'Pay with Bitcoin' }).count()).toBe(1);
    await examine(visit, 'choose-one');
  });

  it('a choice of which one cannot be had', async () => {
    await stage.outage('LTC', true);
    stage.service.advance(3 * 60_000);
    const slug = await stage.invoice({ crypto: 'ALL' });
    await stage.post('/sandbox/mine', { crypto: 'BTC' });
    await until('BTC is followed again', async () => {
      const page = await (await fetch(`${stage.service.url}/pay/${slug}`)).text();
      return page.includes('name="crypto" value="BTC"');
    });
    const visit = await opened(slug);
    const shut = visit.page.locator('.shut[data-crypto="LTC"]');
    expect(await shut.innerText()).toContain('our connection to its network is behind');
    expect(await visit.page.locator('.choose > .offers > li').last().getAttribute('class')).toContain('shut');
    expect(await visit.page.locator('[value="LTC"]').count()).toBe(0);
    await stage.outage('LTC', false);
    await examine(visit, 'choose-withheld');
  });

  it('waiting', async () => {
    const slug = await stage.requested({ ...SALE, close_url: 'https://shop.example/cart' });
    const { address, amount } = await stage.payment(slug);
    const visit = await opened(slug);
    const { page } = visit;
    await visit.shows('waiting');
    expect((await page.locator('[data-part="address"]').textContent())!.trim()).toBe(address);
    expect(await page.locator('[data-part="amount"]').textContent()).toBe(amount);
    expect(await page.locator('[data-part="network"]').innerText()).toContain('Litecoin');
    const wallet = page.getByRole('link', { name: 'Open in wallet' });
    expect(await wallet.getAttribute('href')).toBe(`litecoin:${address}?amount=${amount}`);
    expect(await page.locator('.left-text').textContent()).toMatch(/^(?:59:\d\d|1:00:00)$/);
    // who holds the phone that pays has no use for the code: the way to pay without it comes first
    const topOf = async (part: string): Promise<number> => (await page.locator(part).boundingBox())!.y;
    const tops = await Promise.all(['.bar', '.amount', '[data-part="network"]', '.open', '.address', '.qr'].map(topOf));
    expect(tops).toEqual(tops.toSorted((a, b) => a - b));
    expect(await page.locator('.about').innerText()).toMatch(/espresso[\s\S]*A-1042[\s\S]*shop\.example[\s\S]*hello@/);
    await examine(visit, 'waiting');
  });

  it('another coin instead', async () => {
    const slug = await stage.invoice({ crypto: 'ALL', ...SALE });
    // The clock was moved: a chain is offered once its source was heard after that.
    for (const crypto of ['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BNB']) await stage.post('/sandbox/mine', { crypto });
    await until('every chain is followed again', async () => {
      const page = await (await fetch(`${stage.service.url}/pay/${slug}`)).text();
      return ['BTC', 'BCH', 'LTC', 'XMR', 'ETH', 'BNB'].every((crypto) => page.includes(`value="${crypto}"`));
    });
    const visit = await opened(slug);
    const { page } = visit;
    await visit.shows('choose');
    await page.locator('button[value="BTC"]').click();
    await visit.shows('waiting');
    const { address } = await stage.payment(slug);
    await page.locator('.change summary').click();
    const offered = await page.locator('.change button').allInnerTexts();
    expect(offered).toHaveLength(9);
    expect(offered).toContain('Tether USD\nBNB Smart Chain (BEP-20)');
    expect(offered.join()).not.toContain('Bitcoin\n');
    await page.locator('.change button[value="LTC"]').click();
    await page.getByText('on Litecoin').waitFor();
    const changed = await stage.payment(slug);
    expect(changed.address).not.toBe(address);
    expect((await page.locator('[data-part="address"]').textContent())!.trim()).toBe(changed.address);
    await page.locator('.change summary').click();
    await examine(visit, 'change');
  });

  it('waiting for a token, whose full code is behind a switch', async () => {
    const slug = await stage.requested({ crypto: 'USDT_ERC20' });
    const { address } = await stage.payment(slug);
    const visit = await opened(slug);
    const { page } = visit;
    expect((await page.locator('[data-part="address"]').textContent())!.trim()).toBe(address);
    expect(await page.locator('.contract .mono').textContent()).toBe('0xdAC17F958D2ee523a2206206994597C13D831ec7');
    expect(await page.locator('.qr.plain').isVisible()).toBe(true);
    expect(await page.locator('.qr.full').isVisible()).toBe(false);
    await page.getByRole('checkbox').check();
    expect(await page.locator('.qr.plain').isVisible()).toBe(false);
    expect(await page.locator('.qr.full').isVisible()).toBe(true);
    const wallet = page.getByRole('link', { name: 'Open in wallet' });
    expect(await wallet.getAttribute('href')).toMatch(
      new RegExp(
        `^ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@\\d+/transfer\\?address=${address}&uint256=\\d+$`,
      ),
    );
    await page.getByRole('checkbox').uncheck();
    await examine(visit, 'waiting-token');
  });

  it('waiting for Monero, whose addresses are the longest', async () => {
    const visit = await opened(await stage.requested({ crypto: 'XMR', close_url: 'https://shop.example/' }));
    await visit.shows('waiting');
    expect(await visit.page.getByRole('link', { name: 'Open in wallet' }).getAttribute('href')).toMatch(
      /^monero:[1-9A-HJ-NP-Za-km-z]{95,}\?tx_amount=0\.\d+$/,
    );
    await examine(visit, 'waiting-monero');
  });

  it('partly paid: what is missing, with a code of its own', async () => {
    const visit = await opened(await stage.requested());
    await visit.shows('waiting');
    const before = await visit.page.locator('.qr > path').getAttribute('d');
    await visit.press('half');
    await visit.shows('partial');
    expect(await text(visit.page)).toMatch(/0\.375 LTC arrived\. Please send 0\.375 LTC more, to the same address/);
    expect(await visit.page.locator('.qr > path').getAttribute('d')).not.toBe(before);
    expect(await visit.page.getByRole('link', { name: 'Open in wallet' }).getAttribute('href')).toMatch(
      /\?amount=0\.375$/,
    );
    await examine(visit, 'partial');
  });

  it('found, and confirmed once', async () => {
    const visit = await opened(await stage.requested());
    await visit.press('exact');
    await visit.shows('detected');
    const count = visit.page.locator('[data-part="confirmations"]');
    expect(await count.innerText()).toBe('0 of 3 confirmations');
    await visit.press('mine');
    await count.filter({ hasText: '1 of 3 confirmations' }).waitFor();
    expect(await visit.page.locator('[data-part="address"]').count()).toBe(0);
    await examine(visit, 'detected');
  });

  it('found while the source is away', async () => {
    const visit = await opened(await stage.requested());
    await visit.press('exact');
    await visit.shows('detected');
    await visit.press('down');
    stage.service.advance(3 * 60_000);
    await visit.page.reload();
    await visit.page.locator('[data-note="behind"]').waitFor();
    expect(await flags(visit.page)).toBe('behind');
    await stage.outage('LTC', false);
    await examine(visit, 'detected-behind');
  });

  it('the price has run out while the source is away', async () => {
    const visit = await opened(await stage.requested());
    await visit.press('down');
    stage.service.advance(HOUR + 1_000);
    await visit.page.reload();
    await visit.shows('withheld');
    expect(await text(visit.page)).toContain('Do not send anything now');
    expect(await visit.page.locator('[data-part="address"], .qr, [data-copy]').count()).toBe(0);
    await examine(visit, 'withheld');
    await stage.outage('LTC', false);
  });

  it('overdue', async () => {
    const slug = await stage.requested({ due_date: dayFromNow(stage.service, 0) });
    const { due_date } = (await stage.service.call<{ due_date: string }>('GET', `/invoice/${slug}`)).body;
    stage.service.advance(Date.parse(due_date) + HOUR - stage.service.now());
    await stage.post('/sandbox/mine', { crypto: 'LTC' });
    const visit = await opened(slug);
    await until('it is overdue', async () => {
      await visit.page.reload();
      return (await flags(visit.page))?.includes('overdue');
    });
    await visit.shows('waiting');
    // the price ends first, and is the one deadline that is named
    expect(await visit.page.locator('[data-note="overdue"]').innerText()).toBe(
      'The payment is overdue. Please pay soon.',
    );
    await examine(visit, 'overdue');
  });

  it('late', async () => {
    const visit = await opened(await stage.requested());
    await visit.press('late');
    await visit.page.locator('[data-note="late"]').waitFor();
    await visit.shows('detected');
    await examine(visit, 'late');
  });

  it('paid, with too much', async () => {
    const visit = await opened(await stage.requested({ crypto: 'BCH', close_url: 'https://shop.example/thanks' }));
    await visit.press('double');
    await visit.page.locator('[data-note="overpaid"]').waitFor();
    await visit.shows('detected');
    await visit.press('mine');
    await visit.shows('paid');
    expect(await flags(visit.page)).toBe('overpaid');
    expect(await text(visit.page)).toMatch(/More than the amount due has arrived: [\d.]+ BCH in total/);
    await examine(visit, 'paid-overpaid');
  });

  it('paid, with a receipt and the way back', async () => {
    const slug = await stage.requested({ close_url: 'https://shop.example/thanks', ...SALE });
    const visit = await opened(slug);
    const { page } = visit;
    await visit.press('exact');
    await visit.shows('detected');
    for (let block = 0; block < 3; block++) await visit.press('mine');
    await visit.shows('paid');
    const { transactions } = await stage.payment(slug);
    const receipt = plain(await page.locator('.receipt').innerText());
    for (const part of [
      'Corner Coffee',
      'shop.example',
      SALE.order_id,
      SALE.description,
      slug,
      '$60.00',
      '0.75 LTC',
      transactions[0]!.tx_id,
      'UTC',
    ])
      expect(receipt).toContain(part);
    expect(await page.title()).toBe('✓ $60.00 – Corner Coffee');
    const back = page.locator('main').getByRole('link', { name: 'Back to the shop' });
    expect(await back.getAttribute('href')).toBe('https://shop.example/thanks');
    await examine(visit, 'paid');
  });

  it('paid without a payment, by the operator’s word', async () => {
    const slug = await stage.invoice();
    await stage.operator('invoice.markPaid', { invoice: slug });
    const visit = await opened(slug);
    await visit.shows('paid');
    expect(await visit.page.locator('.receipt').innerText()).not.toContain('LTC');
    await examine(visit, 'paid-cash');
  });

  it('paid, with every word of what was bought on the receipt, however long', async () => {
    const slug = await stage.invoice({ description: 'A bag of coffee, freshly roasted. '.repeat(12).trim() });
    await stage.operator('invoice.markPaid', { invoice: slug });
    const visit = await opened(slug);
    await visit.shows('paid');
    const cut = await visit.page.evaluate<string[]>(`[...document.querySelectorAll('.receipt dd *')]
      .filter((one) => one.scrollHeight > one.clientHeight + 1 && getComputedStyle(one).overflowY !== 'visible')
      .map((one) => one.innerText)`);
    expect(cut).toEqual([]);
    await examine(visit, 'paid-long');
  });

  it('canceled, before and after something came', async () => {
    const untouched = await stage.invoice({ close_url: 'https://shop.example/cart' });
    await stage.operator('invoice.cancel', { invoice: untouched });
    const visit = await opened(untouched);
    await visit.shows('canceled');
    expect(await text(visit.page)).toContain('ask the shop for a new invoice');
    const back = visit.page.locator('main').getByRole('link', { name: 'Back to the shop' });
    expect(await back.getAttribute('href')).toBe('https://shop.example/cart');
    await examine(visit, 'canceled');

    const begun = await opened(await stage.requested());
    await begun.press('half');
    await begun.shows('partial');
    await stage.operator('invoice.cancel', { invoice: begun.page.url().slice(-12) });
    await begun.shows('canceled');
    expect(await text(begun.page)).toContain('0.375 LTC had arrived: please ask the shop about it.');
    await examine(begun, 'canceled-partial');
  });

  it('deleted, and never there', async () => {
    const slug = await stage.invoice();
    const visit = await opened(slug);
    await visit.shows('choose');
    expect((await stage.service.call('DELETE', `/invoice/${slug}`)).status).toBe(200);
    const heading = visit.page.getByRole('heading', { name: 'There is no such invoice' });
    await visit.page.reload();
    await heading.waitFor();
    await examine(visit, 'not-found', /404/);
  });
});
