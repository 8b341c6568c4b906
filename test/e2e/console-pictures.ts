/**
 * Pictures of every screen of the console and of its states, in both themes and at the widths that the design names. Made
 * only with CONSOLE_PICTURES=FOLDER, which leaves all other tests out (vitest.config.ts):
 * `CONSOLE_PICTURES=/tmp/pictures npm test`. CONSOLE_ONLY=home,counter makes those whose names begin so.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bech32 } from '@scure/base';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Method } from '../../daemon/contract/operator.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { message } from '../../daemon/domain/messages.ts';
import { until } from '../support/daemon.ts';
import { Console, englishIn, shown } from './console-kit.ts';
import { faultsOf, overhangOf } from './page-kit.ts';
import { instead } from './stand-in.ts';

const FOLDER = process.env.CONSOLE_PICTURES ?? '';
const ONLY = process.env.CONSOLE_ONLY?.split(',');
const WIDE = [1280, 800];
const ALL = [1280, 800, 390];
const HEIGHT = 860;
const DAY_MS = 86_400_000;
const DAYS = 30;
const SETTLED_MS = 300;
const CHAINS = ['BTC', 'LTC', 'BCH', 'XMR', 'ETH', 'BNB'];
const LONG = 'Gesellschaft für handgeröstete Kaffeespezialitäten und Feinbäckerei am Oberen Marktplatz mbH';

type Scene = {
  name: string;
  screen: string;
  widths?: readonly number[];
  german?: boolean;
  /** Before the screen is opened. */
  before?(page: Page): Promise<unknown>;
  /** On the screen, before the pictures. */
  act?(page: Page): Promise<unknown>;
  /** The whole page instead of the window. */
  tall?: boolean;
  /** The screen is not ready on purpose. */
  unready?: boolean;
};

describe('pictures of the console', () => {
  let shop: Console;
  const made: Record<string, string> = {};
  beforeAll(async () => {
    await mkdir(FOLDER, { recursive: true });
    shop = await Console.start();
  });
  afterAll(async () => {
    await shop.stop();
  });

  /** End what stands in for the service in one scene. */
  const ends: (() => void)[] = [];
  const answers = (method: Method, json: object) => async () => {
    ends.push(instead(method, () => json));
  };
  const fails = (method: Method) => async () => {
    ends.push(
      instead(method, () => {
        throw new Unavailable('the database is busy', 1);
      }),
    );
  };
  const hangs = (method: string) => (page: Page) => page.route(`**/call/${method}`, () => {});

  async function take(scene: Scene): Promise<void> {
    const { name, screen, widths = WIDE, german = false, before, act, tall = true, unready = false } = scene;
    if (ONLY && !ONLY.some((one) => name.startsWith(one))) return;
    const page = await shop.open('settings', { width: 1280, height: HEIGHT });
    await page.clock.setFixedTime(shop.daemon.now());
    await page.evaluate((on) => {
      if (on) localStorage.setItem('countinghouse-language', 'de');
    }, german);
    await before?.(page);
    await page.goto(`${new URL(page.url()).origin}/?again#/${screen}`);
    await page.locator('main').first().waitFor();
    if (!unready) {
      await shown(page);
      await page.waitForTimeout(SETTLED_MS);
    } else await page.locator('.still').first().waitFor();
    await act?.(page);
    for (const width of widths) {
      await page.setViewportSize({ width, height: HEIGHT });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const path = join(FOLDER, `${name}-${width}-${colorScheme}.png`);
        await page.screenshot({ path, fullPage: tall });
        expect.soft([path, await faultsOf(page)]).toEqual([path, []]);
      }
      expect.soft([name, width, await overhangOf(page)]).toEqual([name, width, 0]);
    }
    if (german) expect.soft([name, await englishIn(page)]).toEqual([name, []]);
    for (const end of ends.splice(0)) end();
    await page.context().close();
  }

  const takeAll = (scenes: Scene[]): void => {
    for (const scene of scenes) it(scene.name, () => take(scene), 120_000);
  };

  describe('before anything happened', () => {
    takeAll([
      { name: 'empty-home', screen: 'home', widths: ALL },
      { name: 'empty-invoices', screen: 'invoices' },
      { name: 'empty-inbox', screen: 'inbox' },
      { name: 'empty-withdrawals', screen: 'withdrawals' },
      { name: 'empty-withdrawals-new', screen: 'withdrawals/new' },
      { name: 'empty-gas', screen: 'gas' },
      { name: 'empty-alerts', screen: 'alerts' },
      { name: 'first-business', screen: 'first', widths: ALL },
      { name: 'first-coins', screen: 'first', act: (page) => next(page, 1) },
      { name: 'first-connect', screen: 'first', act: (page) => next(page, 2) },
      { name: 'first-payment', screen: 'first', act: (page) => next(page, 3), widths: ALL },
      { name: 'first-live', screen: 'first', act: (page) => next(page, 4) },
      { name: 'live-keys', screen: 'first/live', widths: ALL },
      { name: 'live-wallet', screen: 'first/live', widths: ALL, act: (page) => next(page, 1) },
      {
        name: 'live-words-typed',
        screen: 'first/live',
        act: async (page) => {
          await next(page, 1);
          await page.getByText('I have words already').click();
        },
      },
    ]);
  });

  async function next(page: Page, times: number): Promise<void> {
    for (let n = 0; n < times; n++) await page.locator('.first-foot .button.large').click();
    await page.waitForTimeout(300);
  }

  describe('a shop with a month of sales', () => {
    beforeAll(async () => {
      const { businesses } = await shop.call('business.list', {});
      const business = `${businesses[0]!.id}`;
      await shop.call('business.brand', {
        business,
        name: 'Corner Coffee',
        accent: null,
        contact: null,
        currency: 'EUR',
      });
      await shop.call('policy.set', { business, mode: 'manual', grants: [] });
      await seed(business);
    }, 600_000);

    async function paid(amount: number, coin: string, more: object = {}): Promise<string> {
      const slug = await shop.invoice(amount, null, more);
      // a coin is offered once its chain has caught up with the clock
      await until('the coin is offered', async () => {
        const { status } = await shop.daemon.call('POST', `/invoice/rp/${slug}`, { crypto: coin });
        return status === 201;
      });
      await shop.pay(slug);
      return slug;
    }

    const mined = (blocks: number): Promise<unknown> => Promise.all(CHAINS.map((chain) => shop.mine(chain, blocks)));

    async function settled(slugs: string[]): Promise<void> {
      await mined(30);
      for (const slug of slugs) {
        await until('it is paid', async () => {
          return (await shop.call('invoice.show', { invoice: slug })).invoice.status === 'paid';
        });
      }
    }

    async function seed(business: string): Promise<void> {
      const coins = ['BTC', 'LTC', 'BCH', 'XMR', 'USDT_ERC20'];
      for (let day = DAYS; day > 0; day--) {
        if (day % 7 !== 2) {
          const sales = coins.map((coin, at) =>
            paid(40 + ((day * 37 + at * 53) % 130), coin, { order_id: `${9_000 + day}` }),
          );
          await settled(await Promise.all(sales));
        }
        shop.daemon.advance(DAY_MS);
        await mined(2);
      }
      made.paid = await paid(16.9, 'LTC', { order_id: 'order 20416' });
      const eth = await paid(133.33, 'ETH');
      await settled([made.paid, eth]);
      await shop.pay(made.paid, '0.41');
      await withdraw(business);
      made.confirming = await paid(60, 'LTC', { order_id: 'order 20417' });
      await shop.mine('LTC', 2);
      made.short = await shop.invoice(18.9, 'LTC', { order_id: 'till 1' });
      await shop.pay(made.short, '0.2');
      made.seen = await paid(9.8, 'BTC', { order_id: 'till 2' });
      made.waiting = await shop.invoice(15.4, null);
      await until('the inbox has it', async () => (await shop.call('inbox.list', {})).items.length > 0);
    }

    async function withdraw(business: string): Promise<void> {
      const [roastery, stranger] = ['roastery', 'stranger'].map(litecoinOf) as [string, string];
      await shop.call('addressBook.add', { business, chain: 'LTC', address: roastery, label: 'Roastery' });
      const ask = async (amount: string, address: string): Promise<string> =>
        `${(await shop.call('withdrawal.add', { business, crypto: 'LTC', address, amount })).withdrawal.id}`;
      const one = await ask('0.5', roastery);
      const proposal = { kind: 'pay' as const, id: one };
      const { preview } = await shop.call('withdrawal.propose', proposal);
      const approvals = preview!.intents.map(({ uuid, feeMax }) => ({
        uuid,
        fee_max: feeMax,
        until: preview!.until,
        mac: null,
      }));
      await shop.call('withdrawal.approve', { proposal, approvals });
      made.moving = one;
      await until('it is sent', async () => {
        await shop.mine('LTC', 3);
        return (await shop.call('withdrawal.show', { id: one })).withdrawal.state === 'completed';
      });
      made.same = await ask('1.25', roastery);
      made.fresh = await ask('2', stranger);
      const { addresses: eth } = await shop.call('address.list', { business, chain: 'ETH', limit: 1 });
      const { withdrawal } = await shop.call('withdrawal.add', {
        business,
        crypto: 'ETH',
        address: eth[0]!.address,
        amount: '0.012345678901234567',
      });
      made.eth = `${withdrawal.id}`;
      const asked = { business, crypto: 'USDT_ERC20', address: eth[0]!.address, amount: '400' };
      made.collect = `${(await shop.call('withdrawal.add', asked)).withdrawal.id}`;
    }

    const lookalike = async (): Promise<void> => {
      const alike = ({ address }: { address: string }): object => {
        const middle = [...address.slice(8, -6)].map((letter) => (letter === 'q' ? 'p' : 'q')).join('');
        const other = `${address.slice(0, 8)}${middle}${address.slice(-6)}`;
        const lookalikes = [{ address: other, label: 'Cold storage', paid_at: '2026-11-07T10:00:00.000Z' }];
        return { valid: true, label: null, since: null, paid: 0, last: null, most: '0.5', lookalikes };
      };
      ends.push(instead('withdrawal.recipient', alike));
    };
    const refused = async (): Promise<void> => {
      const altered = instead('withdrawal.propose', async (_params, real) => {
        const answer = await real();
        answer.preview!.intents[0]!.address = 'rltc1qstranger';
        return answer;
      });
      ends.push(altered);
    };
    const till = async (page: Page): Promise<void> => {
      await page.keyboard.type('1240');
    };
    const code = async (page: Page): Promise<void> => {
      await till(page);
      await page.keyboard.press('Enter');
      await page.locator('.qr').waitFor();
    };
    const chosen = async (page: Page): Promise<void> => {
      await code(page);
      await page.getByRole('button', { name: 'LTC', exact: true }).click();
      await page.getByText('The price is held for').waitFor();
    };
    const seen = async (page: Page): Promise<void> => {
      await chosen(page);
      const { invoices } = await shop.call('invoice.list', { limit: 1 });
      await shop.pay(invoices[0]!.slug);
      await page.getByText('Payment seen').waitFor();
    };
    const done = async (page: Page): Promise<void> => {
      await seen(page);
      await shop.mine('LTC', 12);
      await page.locator('.till-done.paid').waitFor();
    };

    takeAll([
      { name: 'home', screen: 'home', widths: ALL },
      {
        name: 'home-table',
        screen: 'home',
        act: (page) => page.getByRole('button', { name: 'Show as table' }).click(),
      },
      { name: 'home-loading', screen: 'home', before: hangs('takings.list'), unready: true },
      { name: 'home-error', screen: 'home', before: fails('takings.list') },
      { name: 'home-de', screen: 'home', german: true, widths: ALL },
      { name: 'palette', screen: 'home', tall: false, act: palette },
      { name: 'counter', screen: 'counter', widths: ALL, tall: false },
      { name: 'counter-amount', screen: 'counter', widths: ALL, tall: false, act: till },
      { name: 'counter-code', screen: 'counter', widths: ALL, tall: false, act: code },
      { name: 'counter-coin', screen: 'counter', widths: ALL, tall: false, act: chosen },
      { name: 'counter-seen', screen: 'counter', widths: ALL, tall: false, act: seen },
      { name: 'counter-paid', screen: 'counter', widths: ALL, tall: false, act: done },
      { name: 'counter-de', screen: 'counter', widths: ALL, tall: false, german: true },
      { name: 'invoices', screen: 'invoices', widths: ALL, tall: false },
      { name: 'invoices-de', screen: 'invoices', german: true, tall: false },
      { name: 'invoices-none', screen: 'invoices?q=ltc1q8w4k', tall: false },
      { name: 'invoices-loading', screen: 'invoices', before: hangs('invoice.list'), unready: true, tall: false },
      { name: 'invoices-error', screen: 'invoices', before: fails('invoice.list'), tall: false },
      { name: 'invoices-new', screen: 'invoices/new', tall: false },
    ]);
    for (const kind of ['paid', 'confirming', 'short', 'seen', 'waiting'] as const) {
      it(`invoice-${kind}`, () => take({ name: `invoice-${kind}`, screen: `invoices/${made[kind]}`, tall: false }));
    }
    it('invoice-short-de', () =>
      take({ name: 'invoice-short-de', screen: `invoices/${made.short}`, tall: false, german: true }));
    it('invoice-refund', () =>
      take({
        name: 'invoice-refund',
        screen: `invoices/${made.paid}`,
        tall: false,
        act: (page) => page.getByRole('button', { name: 'Refund…' }).click(),
      }));
    takeAll([
      { name: 'inbox', screen: 'inbox', widths: ALL, act: openItem },
      { name: 'inbox-de', screen: 'inbox', german: true, act: openItem },
      { name: 'withdrawals', screen: 'withdrawals', widths: ALL },
      { name: 'withdrawals-all', screen: 'withdrawals', act: (page) => page.getByText('All', { exact: true }).click() },
      { name: 'withdrawals-de', screen: 'withdrawals', german: true },
      { name: 'withdrawals-new', screen: 'withdrawals/new' },
      { name: 'withdrawals-new-de', screen: 'withdrawals/new', german: true },
      { name: 'gas', screen: 'gas', widths: ALL },
      { name: 'gas-de', screen: 'gas', german: true },
      { name: 'wallet', screen: 'wallet' },
      { name: 'wallet-de', screen: 'wallet', german: true },
      { name: 'sources', screen: 'sources' },
      { name: 'sources-de', screen: 'sources', german: true },
      { name: 'rates', screen: 'rates' },
      { name: 'rates-de', screen: 'rates', german: true },
      { name: 'alerts-de', screen: 'alerts', german: true },
      { name: 'developers', screen: 'developers' },
      { name: 'developers-de', screen: 'developers', german: true },
      { name: 'settings', screen: 'settings', widths: ALL },
      { name: 'settings-open', screen: 'settings', widths: ALL, before: answers('reach.show', REACHED), act: paired },
      { name: 'settings-open-de', screen: 'settings', german: true, before: answers('reach.show', TESTING) },
      { name: 'settings-de', screen: 'settings', german: true },
      { name: 'first-de', screen: 'first', german: true },
      { name: 'live-keys-de', screen: 'first/live', widths: ALL, german: true },
      { name: 'live-de', screen: 'first/live', german: true, act: (page) => next(page, 1) },
      ...[1, 2, 3, 4].map(
        (step): Scene => ({ name: `first-de-${step}`, screen: 'first', german: true, act: (page) => next(page, step) }),
      ),
    ]);
    it('approve', async () => {
      const at = (id: string | undefined): string => `withdrawals/${id}/approve`;
      await take({ name: 'approve-same', screen: at(made.same), widths: ALL });
      await take({ name: 'approve-new', screen: at(made.fresh), widths: ALL });
      await take({ name: 'approve-eth', screen: at(made.eth), widths: ALL });
      await take({ name: 'approve-collect', screen: at(made.collect), widths: ALL });
      await take({ name: 'approve-collect-de', screen: at(made.collect), german: true });
      await take({ name: 'approve-lookalike', screen: at(made.fresh), widths: ALL, before: lookalike });
      await take({ name: 'approve-refused', screen: at(made.fresh), before: refused });
      await take({ name: 'approve-decided', screen: at(made.moving) });
      await take({ name: 'approve-de', screen: at(made.fresh), german: true, before: lookalike });
      await take({ name: 'approve-batch', screen: `withdrawals/batch?ids=${made.same},${made.fresh}` });
      await take({ name: 'withdrawal', screen: `withdrawals/${made.moving}` });
      await take({ name: 'withdrawal-de', screen: `withdrawals/${made.moving}`, german: true });
      await take({ name: 'withdrawal-waits-de', screen: `withdrawals/${made.fresh}`, german: true });
      await take({ name: 'approve-eth-de', screen: at(made.eth), german: true });
    });
    takeAll([
      {
        name: 'first-arrived',
        screen: 'first',
        widths: ALL,
        act: async (page) => {
          await next(page, 3);
          await page.getByRole('button', { name: 'Make an invoice of €25.00' }).click();
          await page.getByRole('button', { name: 'Pay as the customer' }).click();
          await page.getByText('Payment seen').first().waitFor();
          await shop.mine('LTC', 12);
          await page.getByText('Your first payment has arrived').waitFor();
        },
      },
      { name: 'long-name', screen: 'home', widths: ALL, before: longNames },
      { name: 'alerts', screen: 'alerts', before: answers('alert.list', ALERTS) },
      { name: 'alerts-de', screen: 'alerts', german: true, widths: ALL, before: answers('alert.list', ALERTS) },
    ]);
    async function paired(page: Page): Promise<void> {
      ends.push(instead('till.pair', () => PAIRING));
      await page.getByRole('button', { name: 'Pair a till' }).click();
      await page.getByText('Scan it with the tablet').waitFor();
    }
    async function openItem(page: Page): Promise<void> {
      await page.locator('.inbox-list a, .inbox-rows a, main li a').first().click();
      await page.waitForTimeout(300);
    }
    async function palette(page: Page): Promise<void> {
      await page.keyboard.press('Control+k');
      await page.keyboard.type('60');
      await page.waitForTimeout(300);
    }
    async function longNames(): Promise<void> {
      const long = instead('business.list', async (_params, real) => ({
        businesses: (await real()).businesses.map((one) => ({ ...one, brand: { ...one.brand, name: LONG } })),
      }));
      ends.push(long);
    }
    takeAll([
      { name: 'statement', screen: 'statement', widths: ALL },
      { name: 'statement-de', screen: 'statement', widths: ALL, german: true },
      { name: 'closing', screen: 'closing', widths: ALL, before: counterSale },
      { name: 'closing-de', screen: 'closing', widths: ALL, german: true },
      { name: 'closing-made', screen: 'closing/1', widths: ALL, before: closed },
      { name: 'closing-made-de', screen: 'closing/1', widths: ALL, german: true },
      { name: 'items', screen: 'items', before: manyItems },
      { name: 'items-de', screen: 'items', german: true },
      { name: 'counter-items', screen: 'counter', widths: ALL, tall: false, act: cart },
      { name: 'counter-items-de', screen: 'counter', widths: ALL, tall: false, german: true },
    ]);
    async function counterSale(): Promise<void> {
      const lines = [
        { item: null, price: '3.40', quantity: 2, vat: 700 },
        { item: null, price: '12.90', quantity: 1, vat: 1900 },
      ];
      const sale = { amount: '21.70', currency: 'EUR', note: null, tip: '2.00', request: randomUUID(), lines };
      const { invoice } = await shop.call('counter.sell', { business: 1, ...sale });
      await shop.call('invoice.markPaid', { invoice });
    }
    async function closed(): Promise<void> {
      const { number } = (await shop.call('closing.next', { business: '1' })).closing;
      await shop.call('closing.make', { business: '1', number, language: 'en' });
    }
    async function manyItems(): Promise<void> {
      const add = (name: string, price: string, category: string, vat: number) => ({ name, price, category, vat });
      const items = [
        add('Espresso', '2.40', 'Drinks', 700),
        add('Cappuccino doppio crema', '4.20', 'Drinks', 700),
        add('Apple cake', '3.90', 'Food', 1900),
        add(LONG, '12.00', 'Food', 1900),
      ];
      await shop.call('item.add', { business: '1', items });
    }
    async function cart(page: Page): Promise<void> {
      for (const name of [/^Espresso/, /^Espresso/, /^Apple cake/]) {
        await page.getByRole('button', { name }).first().click();
      }
      await page.getByText('3 items').waitFor();
    }
    it('large amounts', async () => {
      made.large = await paid(1_234_567.89, 'BTC', { order_id: LONG, description: LONG });
      await settled([made.large]);
      await take({ name: 'large-home', screen: 'home', widths: ALL });
      await take({ name: 'large-home-de', screen: 'home', widths: ALL, german: true });
      await take({ name: 'large-invoice', screen: `invoices/${made.large}`, tall: false });
    });
    it('signed-out', async () => {
      const page = await shop.open('home');
      await shop.call('console.end', {});
      await page.reload();
      await page.locator('.alone-note').waitFor();
      for (const width of WIDE) {
        await page.setViewportSize({ width, height: HEIGHT });
        await page.screenshot({ path: join(FOLDER, `signed-out-${width}-light.png`) });
      }
      await page.context().close();
    });
    it('offline', async () => {
      const pages = await Promise.all(
        ['home', 'invoices', `withdrawals/${made.fresh}/approve`].map((at) => shop.open(at)),
      );
      await Promise.all(pages.map((page) => page.waitForTimeout(SETTLED_MS)));
      await shop.daemon.daemon.stop();
      for (const [at, page] of pages.entries()) {
        await page.locator('.offline-bar').waitFor();
        await page.screenshot({ path: join(FOLDER, `offline-${at}-1280-light.png`) });
      }
      await shop.daemon.resume();
    });
  });
});

/** An address of the sandbox's Litecoin that is nobody's. */
function litecoinOf(name: string): string {
  const program = createHash('sha256').update(name).digest().subarray(0, 20);
  return bech32.encode('rltc', [0, ...bech32.toWords(program)]);
}

const OPENED = { at: '2026-11-20T12:30:00.000Z', network: 'internet' };
const PUBLIC = 'https://pay.cornercoffee.example';
const REACHED = {
  url: PUBLIC,
  reach: 'everybody',
  own_url: 'http://127.0.0.1:8480',
  network_url: null,
  addresses: ['192.168.1.20'],
  tested: OPENED,
  test: { url: `${PUBLIC}/pay/reach/x`, ends_at: '2026-11-20T12:40:00.000Z', opened: OPENED },
  till_urls: null,
};
const TESTING = {
  ...REACHED,
  url: 'http://192.168.1.20:8480',
  reach: 'network',
  network_url: 'http://192.168.1.20:8480',
  tested: null,
  test: { ...REACHED.test, opened: null },
};
const PAIRING = {
  urls: ['http://192.168.1.20:8482/#sign-in=7K3MX9TQ2HVB', 'http://10.0.0.5:8482/#sign-in=7K3MX9TQ2HVB'],
  code: '7K3MX9TQ2HVB',
  ends_at: '2026-11-20T12:40:00.000Z',
};
const WAITING = message('inbox.deposits', { business: 'Nordlicht', count: 3, amount: '1.2', asset: 'LTC' });

const ALERTS = {
  alerts: [
    {
      id: 2,
      kind: 'inbox.deposit',
      subject: '2',
      network: 'mainnet',
      message: WAITING,
      created_at: '2026-11-20T12:30:00.000Z',
    },
  ],
  next: null,
};
