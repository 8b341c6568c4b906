/** The console's screens in a real browser, on a daemon's sandbox. */
import { readdir, readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BOOK_COLUMNS } from '../../daemon/operator/book-columns.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Console, englishIn, shown } from './console-kit.ts';
import { faultsOf } from './page-kit.ts';
import { instead, listen } from './stand-in.ts';

const HOSTILE = '\u202Eevil\u2066 <img src=x onerror=alert(1)>\u200B';
/** Every screen; the states of approving have the same check in console-approve.test.ts. */
const SCREENS = [
  'home',
  'counter',
  'invoices',
  'invoices/new',
  'inbox',
  'withdrawals',
  'withdrawals/new',
  'gas',
  'wallet',
  'sources',
  'rates',
  'alerts',
  'developers',
  'settings',
  'first',
  'first/live',
  'items',
  'closing',
  'statement',
];
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** Of a wallet that was made elsewhere. */
const MONERO_WORDS =
  'tavern judge beyond bifocals deepest mural onward dummy eagle diode gained vacation rally cause firm idled jerseys moat ' +
  'vigilant upload bobsled jobs cunning doing jobs';
const PASSPHRASE = 'four words in a row';
const PHONE = { width: 390, height: 844 };
const EVENT_TO_SCREEN_MS_MAX = 100;
const INTERACTIVE_MS_MAX = 500;
const PACKED_BYTES_MAX = 300_000;
const TRIES_MAX = 12;
const YARDSTICK_CPU_MS = 60;

/**
 * The shortest of some tries, in ms, each divided by how much longer than its processor time a loop beside it took: other tests
 * run on the same cores. Ends early below a limit.
 */
async function fastest(limitMs: number, measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES_MAX && least >= limitMs; n++) least = Math.min(least, (await measure()) / slowness());
  return least;
}

function slowness(): number {
  const [from, used] = [performance.now(), process.cpuUsage()];
  const spent = (): number => {
    const { user, system } = process.cpuUsage(used);
    return (user + system) / 1_000;
  };
  while (spent() < YARDSTICK_CPU_MS);
  return Math.max(1, (performance.now() - from) / spent());
}

describe.skipIf(!hasChromium)(chromiumTitle('the console'), () => {
  let shop: Console;
  beforeAll(async () => {
    shop = await Console.start();
  });
  afterAll(async () => {
    await shop.stop();
  });

  it('shows a payment as it arrives, with takings, balance and what needs a decision', async () => {
    const page = await shop.open('home');
    await page.getByRole('heading', { name: 'Start here' }).waitFor();
    const slug = await shop.invoice(25, 'LTC', { order_id: 'order 1' });
    const row = page.locator('tr', { hasText: '€25.00' });
    await row.getByText('Waiting').waitFor();
    await shop.pay(slug);
    await row.getByText('Seen').waitFor();
    await shop.mine('LTC', 12);
    await row.getByText('Paid').waitFor();
    await page.locator('.home-figures', { hasText: '1 payment' }).waitFor();
    await page.getByText('Nothing needs you').waitFor();
    await shop.pay(slug, '0.02');
    await shop.mine('LTC', 12);
    await page.getByText('Money came that no invoice claims.').waitFor();
    await page.getByRole('link', { name: 'Decide' }).click();
    await page.getByText('It looks as if a customer paid twice.').last().waitFor();
    await page.getByText('Keep it', { exact: true }).first().click();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByText('Kept as income').first().waitFor();
    await page.context().close();
  });

  it('says on Home that a restored service waits, and calls nothing fine that it has not read', async () => {
    await shop.invoice(25, 'LTC');
    const held = Promise.withResolvers<void>();
    const ends = [
      instead('alert.list', async (_params, real) => {
        await held.promise;
        return real();
      }),
      instead('rates.list', async (_params, real) => {
        await held.promise;
        return real();
      }),
      instead('restore.status', async (_params, real) => ({ ...(await real()), quarantined: true })),
      instead('withdrawal.list', () => ({ withdrawals: [], next: null })),
    ];
    try {
      const page = await shop.open('home');
      const things = page.locator('.things');
      await things.getByText('This Countinghouse was restored and waits for you.').waitFor();
      await page.context().close();
      ends.splice(2, 1)[0]!();
      const before = await shop.open('home');
      await before.getByRole('heading', { name: 'Latest invoices' }).waitFor();
      await before.locator('tr', { hasText: '€25.00' }).first().waitFor();
      expect(await before.getByText('Nothing needs you').count()).toBe(0);
      expect(await before.locator('.home-figures').innerText()).not.toContain('0');
      expect(await before.getByText('no rate').count()).toBe(0);
      held.resolve();
      await before
        .getByText(/Nothing needs you|needs? you$/)
        .first()
        .waitFor();
      await before.context().close();
    } finally {
      held.resolve();
      for (const end of ends) end();
    }
  });

  it('opens the approval of a refund by itself, and says that nothing is sent before it is', async () => {
    const slug = await shop.invoice(25, 'LTC');
    await shop.pay(slug);
    await shop.mine('LTC', 12);
    await shop.pay(slug, '0.03');
    await shop.mine('LTC', 12);
    const item = await until('the inbox has it', async () => {
      const { items } = await shop.call('inbox.list', {});
      return items.find(({ state, amount, confirmed }) => state === 'open' && amount === '0.03' && confirmed);
    });
    const { policy } = await shop.call('policy.show', { business: '1' });
    await shop.call('policy.set', { business: '1', mode: 'manual', grants: [] });
    const page = await shop.open(`inbox/${item.id}`);
    // the list is read anew before the answer comes, as it happens when the service tells of the decision first
    await page.route('**/call/inbox.refund', async (route) => {
      const answer = await route.fetch();
      await page.getByText('Waits for your approval').first().waitFor();
      await route.fulfill({ response: answer });
    });
    await page.getByRole('radio', { name: 'Send it back' }).check();
    await page.getByLabel('Customer’s LTC address').fill(stranger('LTC', 77));
    await page.getByRole('button', { name: 'Prepare the refund' }).click();
    const { refund } = await until('it is decided', async () => {
      const { items } = await shop.call('inbox.list', {});
      return items.find(({ id, refund }) => id === item.id && refund !== null);
    });
    await page.waitForURL(`**/#/withdrawals/${refund!.id}/approve`);
    await shop.go(page, `inbox/${item.id}`);
    const decided = page.locator('.inbox-decided');
    await decided.getByText('Waits for your approval').waitFor();
    expect(await page.getByText('Sent back').count()).toBe(0);
    const review = decided.getByRole('link', { name: `Review withdrawal ${refund!.id}` });
    expect(await review.getAttribute('href')).toBe(`#/withdrawals/${refund!.id}/approve`);
    await decided.getByRole('button', { name: 'Decide anew' }).click();
    await page.getByText('What shall happen with it?').first().waitFor();
    expect((await shop.call('withdrawal.show', { id: `${refund!.id}` })).withdrawal.state).toBe('rejected');
    await shop.call('policy.set', { business: '1', mode: policy.mode, grants: [] });
    await page.context().close();
  });

  it('finds an invoice by anything and says why it is not paid', async () => {
    const page = await shop.open('invoices');
    const slug = await shop.invoice(60, 'BTC', { order_id: HOSTILE, description: 'x'.repeat(200) });
    const { invoice } = await shop.call('invoice.show', { invoice: slug });
    await shop.pay(slug, '0.0003');
    await until('the payment is seen', async () => {
      const { credits } = (await shop.call('invoice.show', { invoice: slug })).invoice;
      return credits.length > 0;
    });
    const { tx_id: txid } = (await shop.call('invoice.show', { invoice: slug })).invoice.credits[0]!;
    for (const text of [slug, invoice.uuid, invoice.payment!.address, txid, '60 EUR', invoice.invoice_url]) {
      await page.keyboard.press('/');
      await page.getByRole('searchbox').fill(text);
      await page.keyboard.press('Enter');
      await page.locator(`[data-slug="${slug}"]`).waitFor();
    }
    for (const text of [txid, HOSTILE]) {
      await page.keyboard.press('Control+k');
      await page
        .getByRole('dialog')
        .getByRole('searchbox')
        .or(page.getByRole('dialog').getByRole('textbox'))
        .fill(text);
      await page.getByRole('menuitem', { name: `${slug} €60.00` }).click();
      await page.locator('.invoice-panel').getByText('€60.00').first().waitFor();
      await shop.go(page, 'invoices');
    }
    await page.getByRole('searchbox').fill('ltc1qnothing');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing matches').waitFor();
    await shop.go(page, `invoices/${slug}`);
    await page.locator('.why strong', { hasText: 'is missing.' }).waitFor();
    // text from outside neither runs nor turns the line around, in whichever list it is
    for (const list of [`invoices/${slug}`, 'home', 'invoices', 'inbox', 'wallet', 'withdrawals', 'developers']) {
      await shop.go(page, list);
      await shown(page);
      expect([list, await page.locator('img[src="x"]').count()]).toEqual([list, 0]);
      expect(await page.locator('main').innerText()).not.toMatch(/[\u202E\u2066\u200B]/);
    }
    await shop.go(page, `invoices/${slug}`);
    await page.getByLabel('Transaction, address or link').fill('f'.repeat(64));
    await page.getByRole('button', { name: 'Look for it' }).click();
    await page.getByText('No source knows a payment to you in this transaction.').waitFor();
    await page.context().close();
  });

  it('makes an invoice by hand, and cancels it, which can be undone for ten seconds', async () => {
    const page = await shop.open('home');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('14.20');
    await page.getByRole('menuitem', { name: 'New invoice for 14.20' }).click();
    await page.getByLabel('Reference, if you like').fill('table 4');
    await page.getByRole('button', { name: 'Make the invoice' }).click();
    await page.getByText('The customer has not chosen a coin.').waitFor();
    await page.getByRole('button', { name: 'QR code' }).click();
    await page.getByRole('dialog').locator('.qr').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Cancel the invoice' }).click();
    await page.getByText('It will be cancelled.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Cancel the invoice' }).waitFor();
    const { invoices } = await shop.call('invoice.list', { limit: 1 });
    expect(invoices[0]).toMatchObject({ amount: '14.2', status: 'unpaid', order_id: 'table 4' });
    await page.getByRole('button', { name: 'Cancel the invoice' }).click();
    // leaving does it at once
    await page.getByRole('link', { name: 'Close' }).click();
    await until('it is cancelled', async () => {
      return (await shop.call('invoice.show', { invoice: invoices[0]!.slug })).invoice.status === 'canceled';
    });
    await shop.go(page, `invoices/${invoices[0]!.slug}`);
    await page.getByText('It was cancelled.').waitFor();
    await page.context().close();
  });

  it('filters and exports the list, and refunds a paid invoice up to its approval', async () => {
    const paid = await shop.invoice(40, 'BCH', { order_id: '=1+1', description: HOSTILE });
    await shop.pay(paid);
    await shop.mine('BCH', 6);
    await until('it is paid', async () => {
      return (await shop.call('invoice.show', { invoice: paid })).invoice.status === 'paid';
    });
    const page = await shop.open('invoices');
    await page.locator('.invoice-row').nth(1).waitFor();
    await page.getByLabel('Coin', { exact: true }).selectOption('BCH');
    await page.getByText('1 shown').waitFor();
    await page.getByLabel('From').fill('2001-01-01');
    await page.keyboard.press('Enter');
    await page.getByLabel('To').fill('2001-12-31');
    await page.keyboard.press('Enter');
    await page.getByText('No invoice is like this').waitFor();
    await page.getByLabel('To').fill('2099-12-31');
    await page.keyboard.press('Enter');
    await page.locator(`[data-slug="${paid}"]`).click();
    await page.locator('.timeline').waitFor();
    await page.getByText('1 shown').waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const text = await readFile(await (await coming).path(), 'utf8');
    const [heads, line = '', ...rest] = text.trim().split('\r\n');
    expect(heads).toMatch(/^invoice,created_at,status,amount,currency,coin,/);
    expect([line.includes(paid), line.includes("'=1+1"), rest]).toEqual([true, true, []]);
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByText('For the books').click();
    await page.getByLabel('Days', { exact: true }).selectOption({ index: 1 });
    const booksComing = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const books = await booksComing;
    const month = /^books-(\d{4}-\d{2})\.csv$/.exec(books.suggestedFilename())?.[1];
    const [columns, ...days] = (await readFile(await books.path(), 'utf8')).trim().split('\r\n');
    expect(columns).toBe(BOOK_COLUMNS.join(','));
    expect(days.filter((one) => one.split(',')[1]?.startsWith(`${month}-`)).length).toBe(days.length);
    expect(days.some((one) => one.includes('receipt,') && one.includes(',BCH,'))).toBe(true);
    await page.getByRole('button', { name: 'Refund…' }).click();
    const { refundable } = (await shop.call('invoice.show', { invoice: paid })).invoice;
    expect(await page.getByLabel('Amount in BCH').inputValue()).toBe(refundable[0]!.amount);
    await page.getByLabel('Amount in BCH').fill('0,01');
    await page.getByRole('radio', { name: 'I have the customer’s address' }).check();
    await page.getByLabel('The customer’s BCH address').fill('nothing of the kind');
    await page.getByText('This is no address that BCH can be sent to').waitFor();
    const other = await shop.invoice(20, 'BCH');
    const { address } = (await shop.call('invoice.show', { invoice: other })).invoice.payment!;
    await page.getByLabel('The customer’s BCH address').fill(address);
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Review the refund' }).click();
    await page.getByText('Before you sign').or(page.getByText('was decided')).first().waitFor();
    const { withdrawals } = await shop.call('withdrawal.list', { limit: 1 });
    expect(withdrawals[0]).toMatchObject({ amount: '0.01', address, refund_of: { invoice: paid }, state: 'requested' });
    await shop.go(page, `invoices/${paid}`);
    await page.getByRole('link', { name: '0.01000000 BCH' }).click();
    await page
      .getByRole('link', { name: /Review/ })
      .first()
      .click();
    await page.getByLabel(/I compared all \d+ groups/).check();
    await page.getByRole('button', { name: 'Approve and send 0.01 BCH' }).click();
    await page.getByText('It is on the way').waitFor();
    await page.context().close();
  });

  it('sells at the counter: keypad, code, seen without code, green when paid, and locked to itself', async () => {
    const page = await shop.open('settings', PHONE);
    await page.getByLabel('Offer a tip of 5, 10 or 15 % at the counter').check();
    await shop.go(page, 'counter');
    await page.evaluate(`(() => {
      window.tones = [];
      const param = { setValueAtTime() {}, exponentialRampToValueAtTime() {} };
      const gain = { gain: param, connect() {} };
      window.AudioContext = class {
        currentTime = 0;
        createGain = () => gain;
        close() {}
        createOscillator() {
          const tone = { frequency: {}, connect: (to) => to, start: () => tones.push(tone.frequency.value), stop() {} };
          return tone;
        }
      };
    })()`);
    await page.keyboard.type('4150');
    await page.keyboard.press('Backspace');
    await page.getByRole('button', { name: 'Show QR code for €4.15' }).waitFor();
    await page.getByText('10 %').click();
    await page.getByText('tip €0.41').waitFor();
    await page.getByRole('button', { name: 'Show QR code for €4.56' }).click();
    await page.locator('.qr').waitFor();
    await page.getByRole('button', { name: 'LTC', exact: true }).click();
    await page.getByText('The price is held for').waitFor();
    const { invoices } = await shop.call('invoice.list', { limit: 1 });
    expect(invoices[0]).toMatchObject({ amount: '4.56', origin: 'counter', description: null });
    expect(await shop.call('counter.sale', { invoice: invoices[0]!.slug })).toMatchObject({ tip: '0.41' });
    await shop.pay(invoices[0]!.slug);
    await page.getByText('Payment seen').waitFor();
    expect(await page.locator('.qr').count()).toBe(0);
    expect(await page.evaluate('tones')).toEqual([]);
    await shop.mine('LTC', 12);
    await page.locator('.till-done.paid').waitFor();
    expect(await page.evaluate('tones')).toEqual([660, 990]);
    const colour = await page.evaluate("getComputedStyle(document.querySelector('.till-done.paid')).backgroundColor");
    expect(colour).toBe('rgb(13, 107, 60)');
    await page.getByRole('button', { name: 'Next sale' }).click();
    await page.getByRole('button', { name: 'Lock to the counter' }).click();
    const reloaded = page.waitForEvent('load');
    await page.getByRole('button', { name: 'Lock it' }).click();
    await reloaded;
    await shop.go(page, 'settings');
    await page.getByRole('button', { name: 'Type an amount' }).waitFor();
    await page.context().close();
  });

  let looked: Page | null = null;
  it.each(SCREENS)('%s passes axe in light and dark, wide and on a phone', async (screen) => {
    // one window for all of them: each sign-in and load takes longer than the look
    looked ??= await shop.open(screen);
    const page = looked;
    await shop.go(page, screen);
    await shown(page);
    for (const [colorScheme, size] of [
      ['light', { width: 1280, height: 860 }],
      ['dark', { width: 800, height: 860 }],
      ['light', PHONE],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(size);
      expect(await faultsOf(page)).toEqual([]);
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([screen, size.width, wide]).toEqual([screen, size.width, 0]);
    }
    if (screen === SCREENS.at(-1)) await page.context().close();
  });

  it('says of money on another network what can be done, and lists tokens of strangers by their contracts', async () => {
    const { businesses } = await shop.call('business.list', {});
    const [{ id: business_id, name: business }] = businesses as [(typeof businesses)[number]];
    const place = { business_id, business, invoice: 'Abcdefghijkl', address: `0x${'1'.repeat(40)}` };
    const time = '2030-01-01T00:00:00.000Z';
    const item = {
      ...place,
      id: 1,
      reason: 'wrong-network',
      advice: null,
      state: 'open',
      chain: 'sandbox:BSC',
      crypto: 'USDT_BEP20',
      amount: '30',
      usd_value: '30',
      outpoint: `0x${'2'.repeat(64)}:1`,
      block_height: 1,
      confirmed: true,
      gone: false,
      created_at: time,
    };
    // one transaction made many
    const together = Array.from({ length: 150 }, (_, i) => ({
      ...item,
      id: 1_000 - i,
      reason: 'extra',
      amount: '0.5',
      outpoint: `0x${'3'.repeat(64)}:${i}`,
    }));
    const names = ['USDT', '<img src=x onerror=alert(1)>', `${'W'.repeat(23)}…`, null];
    const tokens = names.map((symbol, id) => ({
      ...place,
      id,
      chain: 'sandbox:ETH',
      contract: `0x${'a'.repeat(39)}${id}`,
      symbol,
      decimals: 6,
      units: '5',
      transfers: 1,
      tx_id: 't',
      first_seen_at: time,
      last_seen_at: time,
    }));
    const page = await shop.open('home');
    const ends = [
      instead('inbox.list', () => ({ items: [item, ...together], next: null })),
      instead('inbox.unknownTokens', () => ({ tokens, next: null })),
    ];
    await shop.go(page, 'inbox');
    await page.getByText('It came on another network.').first().waitFor();
    await page.getByText('open the invoice and mark it as paid').waitFor();
    // a link for the payer, an address, and to keep it
    expect(await page.getByRole('radio').count()).toBe(3);
    const shown = page.locator('.inbox-list a').filter({ visible: true });
    // what home has read of the shop's own inbox stays until both lists are read again
    await until('one is shown beside those together', async () => (await shown.count()) === 1);
    expect((await page.locator('.inbox-together summary').allInnerTexts()).join()).toMatch(
      /75(?:\.0+)?\s+USDT\s+150 payments in one transaction\s+It looks as if a customer paid twice\./,
    );
    await page.getByText('150 payments in one transaction').click();
    expect(await shown.count()).toBe(151);
    await page.getByText('150 payments in one transaction').click();
    await page.getByText('4 tokens that nobody knows').click();
    expect((await page.locator('.inbox-tokens tbody td:first-child').allInnerTexts()).join(' ')).toBe(
      `“USDT” “<img src=x onerror=alert(1)>” “${names[2]}” no name`,
    );
    for (const size of [{ width: 1280, height: 860 }, PHONE]) {
      await page.setViewportSize(size);
      expect(await faultsOf(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      const pictures = process.env.PICTURES;
      if (pictures) await page.screenshot({ path: `${pictures}/inbox-tokens-${size.width}.png`, fullPage: true });
    }
    for (const end of ends) end();
    await page.context().close();
  });

  it('says at the gas desk what is missing and what collecting costs, begins a plan and stops it', async () => {
    const slug = await shop.invoice(60, 'USDT_ERC20');
    await shop.pay(slug);
    await shop.mine('ETH', 20);
    const desks = async () => (await shop.call('gas.status', {})).desks;
    const desk = await until('the tokens are confirmed and gas is missing', async () =>
      (await desks()).find(({ chain, needs }) => chain === 'ETH' && needs !== null),
    );
    const forecast = await shop.call('gas.forecast', { business: `${desk.business_id}`, chain: 'ETH' });
    const needs = forecast.needs!;
    const page = await shop.open('home');
    await page.getByRole('link', { name: 'Gas desk' }).click();
    await page.getByText(`First, send ${needs.amount} ETH`).waitFor();
    expect((await page.locator('.gas-address').innerText()).replace(/\s/g, '')).toBe(needs.address);
    await page.getByText(`at most ${forecast.cost} ETH for 1 address`).waitFor();
    expect(await page.getByLabel('Highest cost on Ethereum, in ETH').inputValue()).toBe(forecast.fee_max_coin);
    await page.getByText('Cost of each address').click();
    for (const size of [{ width: 1280, height: 860 }, PHONE]) {
      await page.setViewportSize(size);
      expect(await faultsOf(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    }
    await page.getByLabel('Highest cost on Ethereum, in ETH').fill('0');
    expect(await page.getByRole('button', { name: 'Collect now' }).isDisabled()).toBe(true);
    await page.getByLabel('Highest cost on Ethereum, in ETH').fill('0,25');
    await page.getByRole('button', { name: 'Collect now' }).click();
    await page.getByRole('heading', { name: 'Plan for Ethereum' }).waitFor();
    expect((await desks()).find(({ chain }) => chain === 'ETH')!.plan).toMatchObject({
      state: 'open',
      fee_max: '0.25',
    });
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Stop the plan' }).click();
    await page.getByRole('button', { name: 'Yes, stop it' }).click();
    await page.getByText('The last plan for Ethereum was stopped').waitFor();
    await page.context().close();
  });

  it('tries calls of the API reference in the sandbox, with a key that ends with the call', async () => {
    const page = await shop.open('developers/reference');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`));
    const call = (summary: string) => page.locator('details', { has: page.getByText(summary, { exact: true }) });
    const before = (await shop.call('key.list', { revoked: true })).keys.length;
    await call('Create invoice').locator('summary').click();
    await page.getByLabel('Body').fill('{"amount": 17, "currency": "EUR", "description": "tried"}');
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('201').waitFor();
    const { invoices } = await shop.call('invoice.list', { limit: 1 });
    expect(invoices[0]).toMatchObject({ amount: '17', currency: 'EUR' });
    await page.getByText(`"id": "${invoices[0]!.slug}"`).waitFor();
    await page.getByLabel('Body').fill('{"amount": ');
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('400').waitFor();
    await call('Create invoice').locator('summary').click();
    await call('Get invoice').locator('summary').click();
    const send = page.getByRole('button', { name: 'Send it' });
    expect(await send.isDisabled()).toBe(true);
    await page.getByLabel('invoice_id').fill(invoices[0]!.slug);
    await page.getByLabel('API key of the sandbox').fill(shop.daemon.apiKey);
    await send.click();
    await page.getByText('"description": "tried"').waitFor();
    expect((await shop.call('key.list', { revoked: true })).keys.length).toBe(before);
    // the typed key goes to the service with the call, which nobody reads on its way, and stays nowhere
    expect([asked.length > 3, asked.filter((text) => text.includes(shop.daemon.apiKey))]).toEqual([true, []]);
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(
      'ch_test_',
    );
    await page.context().close();
  });

  it('names a field that was ignored, and says where signed events go: added with a secret that is shown once, tried, paused and removed', async () => {
    await shop.daemon.call('POST', '/invoice', { amount: 25, orderid: 'A-1' });
    const page = await shop.open('developers/log');
    await page.getByText('Did you mean order_id?').waitFor();
    const url = 'https://shop.example/events';
    const address = page.getByLabel('New address of your shop’s server');
    const make = page.getByRole('button', { name: 'Make it' });
    await address.fill('http://10.0.0.1/events');
    await make.click();
    await page.getByText('Nothing would be sent to http://10.0.0.1/events').waitFor();
    await address.fill(url);
    await page.getByText('Only some events').click();
    await page.getByLabel('withdrawal.failed').check();
    await make.click();
    const secret = await page.locator('.code code', { hasText: /^whsec_/ }).textContent();
    const { endpoints } = await shop.call('endpoint.list', {});
    expect(endpoints).toMatchObject([{ url, types: ['withdrawal.failed'], disabled_at: null }]);
    await page.getByText('Nothing sent yet').waitFor();
    // no name is looked up in a test
    const answers = [
      { status: 204, error: null, milliseconds: 12 },
      { status: null, error: 'ECONNREFUSED', milliseconds: 3 },
    ];
    const end = instead('endpoint.test', () => answers.shift());
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('It answered 204 after 12 ms.').waitFor();
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('It did not take the test event: ECONNREFUSED').waitFor();
    end();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused since').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Nothing sent yet').waitFor();
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByText('Make a new secret?').locator('..').getByRole('button', { name: 'Make it' }).click();
    await page.locator('.code code', { hasNotText: secret! }).waitFor();
    await page.reload();
    await page.getByText(url).waitFor();
    expect(await page.getByText('whsec_').count()).toBe(0);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('No address is told yet.').waitFor();
    expect((await shop.call('endpoint.list', {})).endpoints).toEqual([]);
    await page.context().close();
  });

  it('shows which price sources are asked, and gives the lines by which others are', async () => {
    const page = await shop.open('rates');
    const source = (name: string) => page.getByRole('checkbox', { name, exact: true });
    await source('kraken').waitFor();
    // the configuration of this service names none
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0);
    await source('kraken').check();
    await page.getByText('One source has no other to agree with.').waitFor();
    expect(await page.locator('.code').count()).toBe(0);
    await source('coinbase').check();
    const lines = await page.locator('.code code').innerText();
    expect(lines).toBe('[rates]\nsources = ["kraken", "coinbase"]');
    expect(await faultsOf(page)).toEqual([]);
    await page.context().close();
  });

  it('finds screens and commands by other words, before invoices, as one types', async () => {
    const page = await shop.open('home');
    const first = page.getByRole('menuitem').first();
    for (const [typed, name, address] of [
      ['price', 'Rates', '#/rates'],
      ['send back', 'Inbox', '#/inbox'],
      ['back up', 'Backup and drill', '#/wallet/backup'],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(typed);
      await page.locator('.palette-item[data-focused]', { hasText: name }).waitFor();
      expect(await first.innerText()).toContain(name);
      await page.keyboard.press('Enter');
      await until('its screen is open', async () => page.url().includes(address));
    }
    await page.context().close();
  });

  it('searches invoices as one types, and moves between them by the arrow keys at once', async () => {
    // an earlier try has left its own
    const [nine, ten] = [`${Date.now()}-nine`, `${Date.now()}-ten`];
    await shop.invoice(11, null, { order_id: `table-${nine}` });
    const latest = await shop.invoice(12, null, { order_id: `table-${ten}` });
    const page = await shop.open('invoices');
    await page.locator(`.invoice-row[data-slug="${latest}"]`).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('.invoice-row:focus', { hasText: ten }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('.invoice-row:focus', { hasText: nine }).waitFor();
    await page.keyboard.press('/');
    // with a pause in the middle, after which the search goes on: still one entry of the history
    await page.keyboard.type('table');
    await until('the search has begun', async () => page.url().includes('q=table'));
    await page.keyboard.type(`-${nine}`);
    await until('only one is listed', async () => (await page.locator('.invoice-row').count()) === 1);
    await page.locator('.invoice-row', { hasText: nine }).waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe(`table-${nine}`);
    await page.keyboard.press('ArrowDown');
    await page.locator('.invoice-row:focus', { hasText: nine }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.invoice-panel').waitFor();
    // one step back leaves the invoice, the next the whole search
    await page.goBack();
    await page.goBack();
    await page.locator('.invoice-row', { hasText: ten }).waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('');
    // a search that is given up at once finds nothing later
    await page.keyboard.press('/');
    await page.keyboard.type('nothing');
    await page.keyboard.press('Escape');
    await page.goto(page.url().replace(/#.*/, `#/invoices/${latest}`));
    await page.locator('.invoice-panel').waitFor();
    expect(page.url()).not.toContain('nothing');
    await page.context().close();
  });

  it('leads through the first steps to a payment that arrives', async () => {
    const page = await shop.open('first');
    await page.getByLabel('Currency').selectOption('CHF');
    for (const step of ['Which coins do you take?', 'Connect your shop', 'Watch a payment arrive']) {
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByRole('heading', { name: step }).waitFor();
      if (step === 'Connect your shop') await page.getByText(`clientId: '${shop.daemon.clientId}'`).waitFor();
    }
    // the currency of the business, wherever it sells or reckons, in any language
    await page.getByRole('button', { name: 'Make an invoice of CHF 25.00' }).click();
    await page.getByRole('button', { name: 'Pay as the customer' }).click();
    await page.getByText('Payment seen').first().waitFor();
    await shop.mine('LTC', 12);
    await page.getByText('Your first payment has arrived').waitFor();
    await shop.go(page, 'home');
    await page.locator('.home-figures', { hasText: 'CHF' }).first().waitFor();
    await shop.go(page, 'invoices/new');
    expect(await page.getByLabel('Currency').inputValue()).toBe('CHF');
    await shop.call('business.brand', { business: '1', name: null, currency: null });
    await page.context().close();
  });

  it('makes a wallet whose words it asks back, and a business with a Monero wallet, while the service reads neither', async () => {
    const page = await shop.open('first/live');
    const { heard, stop } = listen();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('New passphrase').fill(PASSPHRASE);
    await page.getByLabel('Once more').fill('another one');
    await page.getByText('The two are not equal').waitFor();
    expect(await page.getByRole('button', { name: 'Make the wallet' }).isDisabled()).toBe(true);
    await page.getByLabel('Once more').fill(PASSPHRASE);
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Write these 24 words on paper' }).waitFor();
    const words = await page.locator('.words strong').allTextContents();
    expect(new Set(words).size).toBeGreaterThan(12);
    for (const size of [
      { width: 1280, height: 860 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(size);
      expect(await faultsOf(page)).toEqual([]);
    }
    // a closed window loses nothing: the passphrase shows them again
    await page.reload();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('whose words you have not proved yet').waitFor();
    await page.getByLabel('Wallet passphrase').fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Hide the words' }).click();
    expect(await page.locator('.words strong').allTextContents()).not.toContain(words[0]);
    await page.getByRole('button', { name: 'I have written them down' }).click();
    const type = async (wrong: boolean): Promise<void> => {
      for (const label of await page.locator('.field label').allTextContents()) {
        const word = words[Number(/\d+/.exec(label)?.[0]) - 1] ?? '';
        await page.getByLabel(label, { exact: true }).fill(wrong ? `${word}s` : word.toUpperCase());
      }
      await page.keyboard.press('Enter');
    };
    await type(true);
    await page.getByText('It is not this word').first().waitFor();
    expect((await shop.call('wallet.status', {})).wallet.words_unproved).toBe(true);
    await type(false);
    await page.getByLabel('Name').fill('Corner Coffee');
    await page.getByLabel('Money', { exact: true }).selectOption('regtest');
    await page.getByLabel('Address of your shop’s page').fill('https://coffee.example');
    const add = page.getByRole('button', { name: 'Add the business' });
    await page.getByLabel('I have a Monero wallet of 25 words').check();
    expect(await add.isDisabled()).toBe(true);
    await page.getByLabel('The 25 words').fill(MONERO_WORDS.replace('tavern', 'zzzzzz'));
    await add.click();
    await page.getByRole('alert').waitFor();
    expect((await shop.call('business.list', {})).businesses.map(({ network }) => network)).not.toContain('regtest');
    await page.getByLabel('The 25 words').fill(` ${MONERO_WORDS.toUpperCase()}`);
    expect(await faultsOf(page)).toEqual([]);
    await add.click();
    await page.getByRole('heading', { name: 'Where payments are seen' }).waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Where should the takings go?' }).waitFor();
    await page.getByText('Leave them in this wallet').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Only this computer can open the payment page').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText(/^ch_test_/).waitFor();
    await page.getByText('Client ID of your shop’s page').waitFor();
    await page.getByRole('button', { name: 'Plan where the takings go' }).waitFor();
    expect((await shop.call('wallet.status', {})).wallet).toMatchObject({ state: 'unlocked', words_unproved: false });
    const { businesses } = await shop.call('business.list', {});
    expect(businesses.at(-1)).toMatchObject({ name: 'Corner Coffee', network: 'regtest' });
    stop();
    const sent = heard.join('\n');
    expect(sent).toContain('wallet.custody');
    // three whole words: two of them may stand in a sentence, such as "unknown address"
    const isSaid = (some: readonly string[]): boolean => new RegExp(`\\b${some.join(' ')}\\b`).test(sent);
    expect(isSaid(['Corner', 'Coffee'])).toBe(true);
    const seen = words.filter((_, at) => at + 3 <= words.length && isSaid(words.slice(at, at + 3)));
    expect([seen, sent.includes(PASSPHRASE), /tavern judge/i.test(sent)]).toEqual([[], false, false]);
    await shop.go(page, 'wallet');
    await page.getByText('No backup was proved yet.').waitFor();
    expect(await shop.call('backup.drillStatus', {})).toEqual({ drill: null, last_good_at: null });
    await page.context().close();
  });

  it('shows the words behind the passphrase, downloads a backup and drills it, and lists the addresses', async () => {
    const page = await shop.open('wallet');
    await page.getByLabel('Wallet passphrase, to show the words').fill('not the passphrase');
    await page.keyboard.press('Enter');
    await page.getByText('This passphrase does not open the wallet.').waitFor();
    // not later, when the next one is typed
    expect(await page.getByLabel('Wallet passphrase, to show the words').inputValue()).toBe('');
    await page.getByLabel('Wallet passphrase, to show the words').fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    await page.locator('.words li').nth(23).waitFor();
    await page.getByRole('button', { name: 'Hide the words' }).click();
    expect(await page.locator('.words').count()).toBe(0);
    const real = (await shop.call('business.list', {})).businesses.at(-1)!;
    await page.evaluate((id) => localStorage.setItem('countinghouse-business', `${id}`), real.id);
    await page.reload();
    await page.getByLabel('Wallet passphrase, to show the words').fill(PASSPHRASE);
    await page.getByRole('button', { name: 'Show Monero’s 25 words' }).click();
    await page.locator('.words li').nth(24).waitFor();
    expect((await page.locator('.words strong').allTextContents()).join(' ')).toBe(MONERO_WORDS);
    await page.evaluate(() => localStorage.removeItem('countinghouse-business'));
    await page.reload();
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download a backup' }).click();
    const download = await coming;
    expect(download.suggestedFilename()).toMatch(/^countinghouse-\d{4}-\d{2}-\d{2}\.backup$/);
    const file = await download.path();
    await page.getByText('The backup is among your downloads').waitFor();
    // an address of a download works once, and nothing of it stays behind
    const again = await page.request.get(download.url());
    expect(again.status()).toBe(404);
    expect((await readdir(shop.daemon.dataDir)).filter((name) => name.startsWith('download-'))).toEqual([]);
    // none, unless this test was begun before
    const before = await shop.call('backup.drillStatus', {});
    const begin = async (passphrase: string): Promise<void> => {
      await page.getByLabel('Wallet passphrase, to open the backup').fill(passphrase);
      await page.keyboard.press('Enter');
    };
    const backup = await readFile(file);
    const sent = (buffer: Buffer) => ({ name: 'my.backup', mimeType: 'application/octet-stream', buffer });
    const choose = (buffer: Buffer) => page.getByLabel('Backup file').setInputFiles(sent(buffer));
    await choose(Buffer.from('holiday pictures'.repeat(9)));
    await begin(PASSPHRASE);
    await page.getByText('This file is no backup that this release can read').waitFor();
    await choose(backup.subarray(0, -1));
    await begin(PASSPHRASE);
    await page.getByText('This backup is damaged').waitFor();
    await choose(backup);
    await begin('not the passphrase');
    await page.getByText('This passphrase does not open the wallet.').waitFor();
    expect(await shop.call('backup.drillStatus', {})).toEqual(before);
    let pieces = 0;
    page.on('request', (request) => {
      if (request.url().includes('/session/upload')) pieces++;
    });
    await begin(PASSPHRASE);
    await until('it is proved', async () => {
      return (await shop.call('backup.drillStatus', {})).last_good_at !== before.last_good_at;
    });
    await page.getByText('This backup brings everything back').waitFor();
    // a wrong passphrase does not have the file sent again
    expect(pieces).toBe(0);
    const { drill, last_good_at } = await shop.call('backup.drillStatus', {});
    expect(drill).toMatchObject({ running: false, error: null, report: { problems: [] } });
    expect(last_good_at).toBe(drill!.ended_at);
    await page.getByText('On the computer of Countinghouse', { exact: true }).click();
    await page.getByLabel('Backup on the computer of Countinghouse').fill(`${file}.gone`);
    await begin(PASSPHRASE);
    await page.getByText(`There is no file ${file}.gone`).waitFor();
    expect(drill!.report!.addresses).toBeGreaterThan(0);
    const slug = await shop.invoice(31, 'BTC');
    const { address } = (await shop.call('invoice.show', { invoice: slug })).invoice.payment!;
    await page.locator('.wallet-find select').selectOption('BTC');
    await page.getByRole('link', { name: slug }).waitFor();
    await page.getByLabel('An address or an invoice').fill(address);
    await page.keyboard.press('Enter');
    // the longer list has it as well, and stays until the answer comes
    await expect.poll(() => page.locator('#addresses tbody tr').count(), { timeout: 90_000 }).toBe(1);
    await page.getByRole('link', { name: slug }).waitFor();
    for (const size of [
      { width: 1280, height: 860 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(size);
      expect(await faultsOf(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    }
    await page.context().close();
  });

  it('takes a logo for payers away again, and speaks German', async () => {
    const page = await shop.open('settings');
    const logo = async () => (await shop.call('business.list', {})).businesses[0]!.brand.logo;
    const choose = (name: string, buffer: Buffer) =>
      page.getByLabel('Logo').setInputFiles({ name, mimeType: 'image/png', buffer });
    await choose('logo.png', Buffer.from('<svg onload=alert(1)>'));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('A logo is a PNG, JPEG or WebP picture').waitFor();
    await choose('logo.png', PIXEL);
    await page.getByRole('button', { name: 'Save' }).click();
    await until('it has a logo', async () => (await logo()) !== null);
    await page.reload();
    await page.getByRole('button', { name: 'Take the logo away' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await until('it has none', async () => (await logo()) === null);
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('de');
    for (const screen of SCREENS) {
      await shop.go(page, screen);
      await shown(page);
      if (screen === 'sources') expect(await page.locator('main [lang=en]').allInnerTexts()).toEqual([]);
      expect([screen, await englishIn(page)]).toEqual([screen, []]);
    }
    await page.context().close();
  });

  it('keeps its content when the service stops, says since when, and goes on when it is back', async () => {
    const page = await shop.open('invoices');
    await page.locator('.invoice-row').first().waitFor();
    const origin = new URL(page.url()).origin;
    await shop.daemon.daemon.stop();
    await page.locator('.offline-bar').waitFor();
    expect(await page.locator('.invoice-row').count()).toBeGreaterThan(0);
    await shop.daemon.resume();
    // with port 0 it has another address now; the page stays as it is and says so
    expect(new URL(page.url()).origin).toBe(origin);
    await page.context().close();
  });

  it('tells a browser without a session how to get one', async () => {
    const { url } = await shop.call('console.open', {});
    const page = await shop.browser.newPage();
    await page.goto(new URL(url).origin);
    await page.getByText('You are not signed in here').waitFor();
    await page.getByText('countinghouse console', { exact: true }).waitFor();
    await page.close();
    // a link that was stolen after its use opens nothing, not even once the thief has the page
    const owner = await shop.browser.newContext();
    await (await owner.newPage()).goto(url);
    await owner.pages()[0]!.locator('.frame').waitFor();
    const thief = await shop.browser.newContext();
    await (await thief.newPage()).goto(url);
    await thief.pages()[0]!.getByText('You are not signed in here').waitFor();
    await Promise.all([owner.close(), thief.close()]);
  });

  it(`is interactive within ${INTERACTIVE_MS_MAX} ms, and shows an event within ${EVENT_TO_SCREEN_MS_MAX} ms`, async () => {
    const page = await shop.open('invoices');
    await page.locator('.invoice-row').first().waitFor();
    const bytes = new Map<string, number>();
    page.on('response', (response) => {
      const { 'content-length': length = '0' } = response.headers();
      if (response.request().method() === 'GET') bytes.set(response.url(), Number(length));
    });
    const load = await fastest(INTERACTIVE_MS_MAX, async () => {
      await page.reload();
      await page.locator('.invoice-row').first().waitFor();
      return page.evaluate(() => performance.now());
    });
    let amount = 20;
    const event = await fastest(EVENT_TO_SCREEN_MS_MAX, async () => {
      const slug = await shop.invoice(amount++, null);
      const from = performance.now();
      await page.locator(`[data-slug="${slug}"]`).waitFor();
      return performance.now() - from;
    });
    const packed = [...bytes.values()].reduce((sum, one) => sum + one, 0);
    expect(packed).toBeGreaterThan(50_000);
    expect(packed).toBeLessThan(PACKED_BYTES_MAX);
    process.stdout.write(
      `console: ${Math.round(packed / 1_000)} kB packed, interactive after ${Math.round(load)} ms, event to screen ${Math.round(event)} ms\n`,
    );
    expect(load).toBeLessThan(INTERACTIVE_MS_MAX);
    expect(event).toBeLessThan(EVENT_TO_SCREEN_MS_MAX);
    await page.context().close();
  });

  it('was complained about by no page', () => {
    const expected = /Failed to load resource|net::ERR/;
    expect(shop.complaints.filter((text) => !expected.test(text))).toEqual([]);
  });
});
