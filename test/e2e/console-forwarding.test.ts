/** Plans that send the takings on, in the console: made with a preview, shown at home, changed, and ended. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinServer } from '../../daemon/home/dial.ts';
import { forwardKeyOf } from '../../daemon/wallet/forward-key.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Console, englishIn, shown } from './console-kit.ts';
import { faultsOf, overhangOf, rulesIn } from './page-kit.ts';

const PICTURES = process.env.FORWARDING_PICTURES;
const COLD = stranger('LTC', 700);
const OTHER = stranger('LTC', 701);
const FROZEN = stranger('ETH', 702);
/** The account m/84h/1h/0h of "abandon … about", and a private key. */
const VPUB =
  'vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc';
const XPRV =
  'xprv9s21ZrQH143K3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSnRRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfUu';
const business = '1';

describe.skipIf(!hasChromium)(chromiumTitle('forwarding in the console'), () => {
  let shop: Console;
  const plans = async () => (await shop.call('forwarding.list', { business })).plans;
  const preview = () => shop.call('forwarding.preview', { business, crypto: 'LTC' });

  beforeAll(async () => {
    shop = await Console.start();
    await shop.call('policy.set', { business, mode: 'manual' });
    const slug = await shop.invoice(200, 'LTC');
    await shop.pay(slug);
    await shop.mine('LTC', 12);
    for (const [address, label] of [
      [COLD, 'Cold storage'],
      [OTHER, 'Second safe'],
    ] as const) {
      await shop.call('addressBook.add', { business, chain: 'LTC', address, label });
    }
    await until('the payment is confirmed', async () => {
      const { businesses } = await shop.call('business.list', {});
      return businesses[0]?.balances.some(({ crypto, amount }) => crypto === 'LTC' && Number(amount) > 1);
    });
  });
  afterAll(async () => {
    await shop?.stop();
  });

  /** Looks at a page as it is: without faults, and in no width wider than the window. */
  async function looked(page: Awaited<ReturnType<Console['open']>>, name: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 800, 320]) {
        await page.setViewportSize({ width, height: 860 });
        if (PICTURES)
          await page.screenshot({ path: `${PICTURES}/${name}-${width}-${colorScheme}.png`, fullPage: true });
        expect([name, width, await faultsOf(page, rulesIn(colorScheme))]).toEqual([name, width, []]);
        expect([name, width, await overhangOf(page)]).toEqual([name, width, 0]);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 860 });
  }

  it('shows what a plan would send before it is saved, and home what is sent next', async () => {
    const page = await shop.open('withdrawals');
    await page.getByText('Forwarding', { exact: true }).click();
    await page.getByText('Nothing is sent on').waitFor();
    await looked(page, 'empty');
    await page.getByRole('link', { name: 'New plan' }).first().click();
    await page.getByLabel('Coin', { exact: true }).selectOption('LTC');
    await page.getByText('Fill in the plan').waitFor();
    await page.getByLabel('Address', { exact: true }).selectOption(COLD);
    await page.getByLabel('Always keep here, in LTC').fill('0,25');
    await page.getByLabel('Of the amount, in %').fill('150');
    await page.getByText('A share is above 0 and at most 100 %').waitFor();
    await page.getByLabel('Of the amount, in %').fill('5');
    await page.getByText('Free to be sent').waitFor();
    const terms = {
      address: COLD,
      every: 'day',
      at: '03:00',
      keep: '0.25',
      fee_share: '0.05',
      fee_day: '0.05',
    } as const;
    const told = await shop.call('forwarding.preview', { business, crypto: 'LTC', terms });
    await page.locator('.forward-sum', { hasText: told.amount! }).waitFor();
    expect((await page.locator('.forward-preview .cell-text').allInnerTexts()).join('')).toBe(COLD);
    await looked(page, 'editor');
    await page.getByRole('button', { name: 'Save the plan' }).click();
    await page.getByText('each day at 03:00, 0.25').waitFor();
    expect(await plans()).toMatchObject([
      { crypto: 'LTC', address: COLD, keep: '0.25', every: 'day', at: '03:00', fee_share: '0.05', fee_day: '0.05' },
    ]);
    await shown(page);
    await looked(page, 'list');
    await shop.go(page, 'home');
    await page.getByRole('heading', { name: 'Sent next' }).waitFor();
    await page.locator('.forward-next', { hasText: `${(await preview()).amount} LTC to Cold storage` }).waitFor();
    await looked(page, 'home');
    const before = Date.parse((await plans())[0]!.next_at!);
    await page.getByRole('button', { name: 'Skip the next run of LTC' }).click();
    await until('a run is left out', async () => Date.parse((await plans())[0]!.next_at!) === before + 86_400_000);
    await page.context().close();
  });

  it('compares a new destination with that of now, in groups, by the keyboard too', async () => {
    const page = await shop.open('withdrawals/forwarding');
    await page.getByRole('link', { name: 'Change LTC' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Address', { exact: true }).selectOption(OTHER);
    await page.getByText('The upper line is the new destination').waitFor();
    const cells = page.locator('.forward-preview .cell:not(.end)');
    const differs = await page.locator('.forward-preview .cell.differs').count();
    expect([differs > 0, differs < (await cells.count())]).toEqual([true, true]);
    expect((await page.locator('.forward-preview .cell-text.other').allInnerTexts()).join('')).toBe(COLD);
    await looked(page, 'compare');
    await page.getByRole('button', { name: 'Save the plan' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Second safe').first().waitFor();
    expect((await plans())[0]).toMatchObject({ address: OTHER, keep: '0.25' });
    await page.context().close();
  });

  it('takes an extended public key, whose addresses it derives itself to compare, and no private key', async () => {
    const { text, at } = forwardKeyOf(VPUB, 'LTC', 'sandbox');
    const page = await shop.open('withdrawals/forwarding/LTC');
    await page.getByLabel('Address', { exact: true }).selectOption('The next address of an extended public key');
    const key = page.getByLabel('Extended public key or output descriptor');
    await key.fill(XPRV);
    await page.getByText('That is secret').waitFor();
    await page.getByText('Fill in the plan').waitFor();
    await key.fill(VPUB);
    await page.getByLabel('First address, by its number').fill('7');
    await page.getByText('Compare these addresses').waitFor();
    const derived = await page.locator('.forward-terms ol code').allInnerTexts();
    expect(derived.map((one) => one.replaceAll(' ', ''))).toEqual([at(7), at(8), at(9)]);
    await page.getByText('Free to be sent').waitFor();
    await looked(page, 'key');
    await page.getByRole('button', { name: 'Save the plan' }).click();
    await page.getByText('address number 7').waitFor();
    expect((await plans())[0]).toMatchObject({ address: text, next_index: 7, next_address: at(7) });
    await looked(page, 'key-list');
    await page.context().close();
  });

  it('says why a plan cannot run, in German as well, sends by hand, and ends it', async () => {
    const terms = { address: OTHER, every: 'reached', least: '1', fee_max: '0.00000001', fee_day: '1' } as const;
    await shop.call('forwarding.set', { business, crypto: 'LTC', terms, signed: null });
    await until('it waits', async () => (await plans())[0]?.problem?.code === 'forward.dear');
    const page = await shop.open('withdrawals/forwarding');
    await page.getByText('Cannot run:').waitFor();
    await page.evaluate("localStorage.setItem('countinghouse-language', 'de')");
    await page.reload();
    await page.getByText('Kann nicht laufen:').waitFor();
    await shown(page);
    expect(await englishIn(page)).toEqual([]);
    await looked(page, 'cannot-de');
    await page.getByRole('link', { name: 'Ändern LTC' }).click();
    await page.locator('main form').first().waitFor();
    await shown(page);
    expect(await englishIn(page)).toEqual([]);
    await looked(page, 'editor-de');
    await shop.call('forwarding.set', {
      business,
      crypto: 'LTC',
      terms: { address: OTHER, every: 'week', weekday: 'monday', fee_share: '0.05', fee_day: '1' },
      signed: null,
    });
    await shop.go(page, 'withdrawals/forwarding');
    await page.getByText('jede Woche, Montag um 03:00').waitFor();
    await page.getByRole('button', { name: 'Jetzt senden' }).click();
    await page.getByRole('button', { name: 'Ja, senden' }).click();
    await page.getByText('Unterwegs', { exact: true }).first().waitFor();
    await page.getByRole('link', { name: 'Ändern LTC' }).click();
    await page.getByRole('button', { name: 'Plan beenden' }).click();
    await page.getByRole('button', { name: 'Ja, beenden' }).click();
    await page.getByText('Nichts wird weitergeleitet').waitFor();
    expect(await plans()).toEqual([]);
    await page.getByRole('heading', { name: 'Weitergeleitet', exact: true }).waitFor();
    await page.context().close();
  });

  it('waits for a cheap hour of gas where that is ticked, which only coins with gas offer', async () => {
    await shop.call('addressBook.add', { business, chain: 'ETH', address: FROZEN, label: 'Ice' });
    const page = await shop.open('withdrawals/forwarding/new');
    const cheap = page.getByRole('checkbox', { name: 'Wait for an hour in which gas is cheap' });
    const coin = page.getByLabel('Coin', { exact: true });
    await coin.selectOption('ETH');
    await cheap.check();
    await coin.selectOption('LTC');
    await page.getByText('Fill in the plan').waitFor();
    expect(await cheap.count()).toBe(0);
    // what was typed for a coin is not taken over for another one
    await coin.selectOption('ETH');
    expect(await cheap.isChecked()).toBe(false);
    await page.getByLabel('Address', { exact: true }).selectOption(FROZEN);
    await cheap.focus();
    await page.keyboard.press('Space');
    expect(await cheap.isChecked()).toBe(true);
    await looked(page, 'cheap');
    await page.getByRole('button', { name: 'Save the plan' }).click();
    await page.getByText('each day at 03:00, in a cheap hour').waitFor();
    expect(await plans()).toMatchObject([{ crypto: 'ETH', address: FROZEN, every: 'day', cheap: true }]);
    await page.getByRole('link', { name: 'Change ETH' }).click();
    await cheap.waitFor();
    expect(await cheap.isChecked()).toBe(true);
    await cheap.uncheck();
    await page.getByRole('button', { name: 'Save the plan' }).click();
    await page.getByText('each day at 03:00', { exact: true }).waitFor();
    expect(await plans()).toMatchObject([{ crypto: 'ETH', cheap: false }]);
    await page.context().close();
    await shop.call('forwarding.end', { business, crypto: 'ETH' });
  });

  it('asks for no passphrase where the keys are on another machine, and says where to approve', async () => {
    const { server, code } = await shop.call('signer.invite', {});
    await joinServer(server, code, 'Laptop');
    const page = await shop.open('withdrawals/forwarding/new');
    await page.getByLabel('Coin', { exact: true }).selectOption('LTC');
    await page.getByLabel('Address', { exact: true }).selectOption(COLD);
    await page.getByText('The keys are on Laptop').waitFor();
    await page.getByText('countinghouse --server NAME forward set').waitFor();
    expect(await page.getByRole('button', { name: 'Save the plan' }).count()).toBe(0);
    await looked(page, 'at-home');
    await shop.go(page, 'first/live');
    expect(await page.getByRole('radio', { name: 'On my computer at home' }).isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('The keys are on another machine').waitFor();
    expect(await page.locator('input[type=password]').count()).toBe(0);
    await page.context().close();
    await shop.call('signer.remove', { name: 'Laptop' });
  });

  it('was complained about by no page', () => expect(shop.complaints).toEqual([]));
});
