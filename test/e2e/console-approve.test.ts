/**
 * Money that leaves through the console: real Chromium, the built page, the real signer, a real litecoind. One withdrawal
 * goes from the form to its first confirmation; the others show how the screen warns.
 */
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SignedGasGrant } from '../../daemon/app/gas/plans.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import { limitsHeldIn } from '../../daemon/wallet/signer/register.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { chromiumTitle, hasChromium, launchChromium, type Windows } from '../support/chromium.ts';
import { buildConsole } from '../support/console.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import type { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';
import { busyClock, endPlan } from './console-kit.ts';
import { instead } from './stand-in.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const COIN = 100_000_000n;
/** A folder for pictures of what was looked at; absent: none are made. */
const REST_MS = 1_000;
const BUSY_AT_REST_MAX = 0.2;
const PICTURES = process.env.CONSOLE_PICTURES;
const WIDTHS = [1280, 800, 390];

const title = chromiumTitle(litecoindTitle('approving in the console'));

describe.skipIf(!hasLitecoind || !hasChromium)(title, () => {
  let node: Litecoind;
  let service: TestDaemon;
  let operator: Operator;
  let browser: Windows;
  let page: Page;
  const errors: string[] = [];

  beforeAll(async () => {
    buildConsole();
    node = await Litecoind.start();
    await node.fund();
    const litecoin = litecoinConfig(`core_rpc = "${node.url}"`);
    service = await startTestDaemon(`[console]
port = 0
${litecoin}`);
    const opened = await openShop(service, ['invoices', 'balance', 'withdraw'], 'Corner Coffee');
    operator = opened.operator;
    const call = <Body>(path: string, body?: unknown) =>
      service.call<Body>('POST', path, body, { 'mb-api-key': opened.key });
    for (const units of [10n, 5n]) {
      const invoice = await call<{ id: string }>('/invoice', { amount: 80, crypto: 'LTC' });
      const address = await until('litecoind is followed', async () => {
        const paid = await call<{ address: string }>(`/invoice/rp/${invoice.body.id}`);
        return paid.status === 201 && paid.body.address;
      });
      await node.pay([{ address, units: units * COIN }]);
    }
    await node.mine(12);
    browser = await launchChromium();
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
    page = await context.newPage();
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.goto((await operator.call('console.open', {})).url);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    const { businesses } = await operator.call('business.list', {});
    const shop = businesses.find(({ network }) => network === 'regtest');
    await page.evaluate((id) => localStorage.setItem('countinghouse-business', id), `${shop!.id}`);
    await page.reload();
    await until('the deposits are spendable', async () => {
      const { businesses } = await operator.call('business.list', {});
      return businesses.some(({ balances }) =>
        balances.some(({ crypto, amount }) => crypto === 'LTC' && amount === '15'),
      );
    });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await node?.remove();
  });

  async function pictures(name: string): Promise<void> {
    if (!PICTURES) return;
    await mkdir(PICTURES, { recursive: true });
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.screenshot({ path: join(PICTURES, `${name}-${width}-${scheme}.png`), fullPage: true });
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  /** Serious faults by the rules of WCAG 2.2 AA. */
  async function faults(): Promise<string[]> {
    // evaluated by the debugger, because the page's policy lets no script in
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        axe?: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      };
      return axe
        ? (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
        : ['axe did not load'];
    });
    return found;
  }

  /** The share of the time that the page's thread uses the processor while nobody does anything. */
  async function busyShare(): Promise<number> {
    const busyMs = await busyClock(page);
    const [before, from] = [await busyMs(), performance.now()];
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    return ((await busyMs()) - before) / (performance.now() - from);
  }

  const open = async (place: string): Promise<void> => {
    await page.goto(`${new URL(page.url()).origin}/#/${place}`);
  };
  const panel = () => page.locator('.decision');
  const asked = async (amount: string, address: string): Promise<number> =>
    (await operator.call('withdrawal.add', { business: 'Corner Coffee', crypto: 'LTC', address, amount })).withdrawal
      .id;

  it('sends a withdrawal from the form to its confirmation, with the keyboard alone', async () => {
    const address = await node.rpc<string>('getnewaddress', []);
    await open('withdrawals/new');
    await page.getByLabel('Amount in LTC').focus();
    await page.keyboard.type('1.25');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type(address);
    await page.getByText('An address to which you never approved a payment').waitFor();
    await pictures('new');
    await page.keyboard.press('Enter');

    await page.getByText('Before you sign').waitFor();
    const cells = await page.locator('.cell:not(.end) .cell-text').allTextContents();
    expect(cells.join('')).toBe(address);
    expect(await page.locator('.headline-sum').textContent()).toBe('1.25000000 LTC');
    await adds();
    await panel().getByText('The transaction was read and compared here').waitFor();
    const send = panel().getByRole('button', { name: 'Approve and send 1.25 LTC' });
    await page.getByLabel('Wallet passphrase').fill('not the passphrase');
    expect(await send.isDisabled()).toBe(true);
    await page.getByLabel(/I compared all \d+ groups/).check();
    await page.getByLabel('Wallet passphrase').focus();
    await page.keyboard.press('Enter');
    await panel().getByText('This passphrase does not open the wallet. Nothing was approved.').waitFor();
    await pictures('approve-new');
    expect(await faults()).toEqual([]);
    await page.getByLabel('Wallet passphrase').fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    await panel().getByText('It is on the way').waitFor();
    await pictures('sent');
    await node.mine(1);
    await panel().getByText('It is in a block.').waitFor();
    expect(await node.rpc<number>('getreceivedbyaddress', [address, 1])).toBe(1.25);
  });

  /** What is taken is the sum of what the lines below it say. */
  async function adds(): Promise<void> {
    const rows: string[][] = [];
    for (const row of await page.locator('.sums tr').all()) {
      rows.push((await row.locator('td').allTextContents()).map((text) => text.replace(/[^\d.]/g, '')));
    }
    for (const column of [0, 1]) {
      const units = rows.map((row) => BigInt((row[column] ?? '').replace('.', '')));
      const [takes = 0n, ...rest] = units;
      expect(
        rest.reduce((sum, one) => sum + one, 0n),
        JSON.stringify(rows),
      ).toBe(takes);
    }
  }

  it('compares the address with the last one, and tells what it costs to be faster', async () => {
    const [paid] = (await operator.call('withdrawal.list', { business: 'Corner Coffee' })).withdrawals;
    const { address } = paid!;
    await operator.call('addressBook.add', { business: 'Corner Coffee', chain: 'LTC', address, label: 'Roastery' });
    const id = await asked('2', address);
    await open(`withdrawals/${id}/approve`);
    await page.getByText(/Same address as last time: all \d+ groups equal .* First approved by you on /).waitFor();
    expect(await page.locator('.cell.differs').count()).toBe(0);
    await panel().getByText('More than ever before.').waitFor();
    expect(await busyShare()).toBeLessThan(BUSY_AT_REST_MAX);
    expect(await page.locator('.speed').count()).toBe(3);
    await page.getByLabel(/^Fast/).check();
    await page.locator('.speeds[aria-busy=false]').waitFor();
    await adds();
    await pictures('approve-same');
    expect(await faults()).toEqual([]);
  });

  it('turns into a warning for a lookalike, and asks for two groups of it', async () => {
    const address = await node.rpc<string>('getnewaddress', []);
    const id = await asked('0.5', address);
    // the middle differs, as in an address that a thief made
    const other = `${address.slice(0, 8)}${[...address.slice(8, -6)].map((letter) => (letter === 'q' ? 'p' : 'q')).join('')}${address.slice(-6)}`;
    // whatever else speaks for it
    const at = '2026-11-08T10:00:00.000Z';
    const known = {
      valid: true,
      label: 'Roastery',
      since: at,
      paid: 1,
      last: { address, at },
      first_approved_at: at,
      unasked: 1,
      most: '2',
    };
    const alike = [{ address: other, label: 'Cold storage', paid_at: '2026-11-07T10:00:00.000Z' }];
    const end = instead('withdrawal.recipient', () => ({ ...known, lookalikes: alike }));
    await open(`withdrawals/${id}/approve`);
    await page.getByText('Do not approve this').waitFor();
    expect(await page.locator('.cell.differs').count()).toBeGreaterThan(4);
    expect(await page.locator('.filled').allTextContents()).toEqual(['Reject this withdrawal']);
    expect(await page.getByLabel('Wallet passphrase').count()).toBe(0);
    await pictures('lookalike');
    expect(await faults()).toEqual([]);
    const goOn = page.getByRole('button', { name: 'Go on to the passphrase' });
    for (const field of await page.locator('.doubt-groups .field').all()) {
      expect(await goOn.isDisabled()).toBe(true);
      const number = Number(/\d+/.exec((await field.textContent()) ?? '')?.[0]);
      await field.locator('input').fill(address.slice(4 * (number - 1), 4 * number));
    }
    await goOn.click();
    await page.getByLabel('Wallet passphrase').waitFor();
    await page.getByRole('button', { name: 'Reject this withdrawal' }).click();
    await page.getByRole('button', { name: 'Yes, reject it' }).click();
    await page.getByText('Rejected').first().waitFor();
    end();
    expect((await operator.show(id)).state).toBe('rejected');
  });

  it('approves nothing when the service shows other bytes than it has the operator approve', async () => {
    const id = await asked('0.25', await node.rpc<string>('getnewaddress', []));
    const stranger = await node.rpc<string>('getnewaddress', []);
    const end = instead('withdrawal.propose', async (_params, real) => {
      const answer = await real();
      answer.preview!.intents[0]!.address = stranger;
      return answer;
    });
    await open(`withdrawals/${id}/approve`);
    await page.getByText('Do not approve anything').waitFor();
    await pictures('refused');
    expect(await page.getByLabel('Wallet passphrase').count()).toBe(0);
    end();
  });

  it('says what a service that ends in the middle means for the money, and then what became of it', async () => {
    const [waiting] = (await operator.call('withdrawal.list', { state: 'requested' })).withdrawals;
    await open('withdrawals');
    await page.getByRole('link', { name: 'Review' }).first().waitFor();
    await pictures('list');
    expect(await faults()).toEqual([]);
    // read before the approval, which says nothing of it
    await open(`withdrawals/${waiting!.id}`);
    await page.getByRole('heading', { name: `Withdrawal ${waiting!.id}` }).waitFor();
    await open(`withdrawals/${waiting!.id}/approve`);
    await page.getByLabel(/I compared all \d+ groups/).check();
    let carried = false;
    await page.route('**/call/withdrawal.approve', async (route) => {
      // carried out, and the answer is lost
      await route.fetch();
      carried = true;
      await route.abort();
    });
    await page.route('**/call/withdrawal.show', (route) => route.abort());
    await page.getByLabel('Wallet passphrase').fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    // at once: until the service answers, nothing is claimed
    const notice = panel().locator('.notice-title');
    await notice.waitFor();
    expect(await notice.innerText()).toContain('Countinghouse stopped in the middle of it');
    await page.getByText(/It cannot be paid twice/).waitFor();
    await pictures('stopped');
    expect(carried).toBe(true);
    await page.unroute('**/call/withdrawal.show');
    await page.getByText('Your approval arrived', { exact: true }).waitFor();
    await page.unroute('**/call/withdrawal.approve');
    await page.getByRole('link', { name: /To withdrawal/ }).click();
    await page.getByText('Transactions').first().waitFor();
    await pictures('one');
  });

  it('grants gas with one passphrase for the highest cost and the end that the screen shows', async () => {
    const { businesses } = await operator.call('business.list', {});
    const business_id = businesses.find(({ network }) => network === 'regtest')!.id;
    const tank = { address: `0x${'1'.repeat(40)}`, amount: '0' };
    const prices = Array.from({ length: 30 }, (_, hour) => {
      const low = 12 + ((hour * 7) % 24);
      return { at: new Date(Date.UTC(2030, 0, 1, hour)).toISOString(), low: `${low}`, high: `${low + 9.5}` };
    });
    const desk = {
      business_id,
      business: 'Corner Coffee',
      network: 'regtest',
      account_no: 0,
      tank,
      former_tanks: [],
      price: '30',
      prices,
    };
    const desks = [
      { ...desk, chain: 'ETH', coin: 'ETH', assets: [], needs: null, plan: null },
      { ...desk, chain: 'BSC', coin: 'BNB', assets: [], needs: null, plan: null },
    ];
    const forecast = { worth: 1, items: [], price: '30', cost: '0.001', cost_usd: null, needs: null };
    const feeMax = { fee_max: '2000000000000000', fee_max_coin: '0.002' };
    const collected: { chain: string; fee_max: string; ends_at: number; signed: SignedGasGrant }[] = [];
    const ends = [
      instead('gas.status', () => ({ desks })),
      instead('gas.forecast', () => ({ ...forecast, coin: '', ...feeMax })),
      instead('gas.collect', (params) => {
        collected.push(params as (typeof collected)[number]);
        return { plan: null };
      }),
    ];
    await open('gas');
    const drawn = page.getByRole('img', { name: 'Price of gas by the hour, in gwei' });
    await drawn.first().waitFor();
    expect(await drawn.first().locator('rect').count()).toBe(60);
    await pictures('gas-prices');
    await page.getByRole('button', { name: 'Show as table' }).first().click();
    await page.getByRole('cell', { name: '44.5' }).first().waitFor();
    await page.getByLabel('Highest cost on BNB Smart Chain, in BNB').fill('0.5');
    await page.getByLabel('It ends').selectOption('7');
    // the folded forms for a new tank have fields of this name too
    const passphrase = page.getByRole('textbox', { name: 'Wallet passphrase' });
    await passphrase.fill('not the passphrase');
    await page.keyboard.press('Enter');
    await page.getByText('This passphrase does not open the wallet. Nothing was approved.').waitFor();
    expect(collected).toEqual([]);
    await passphrase.fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    await until('both networks are asked to collect', async () => collected.length === 2);
    const limits = { kind: 'gas', network: 'regtest', accountNo: 0 };
    expect(collected.map(({ signed }) => signed.grant)).toMatchObject([
      { ...limits, chain: 'ETH', feeMax: '2000000000000000' },
      { ...limits, chain: 'BSC', feeMax: '500000000000000000' },
    ]);
    for (const { ends_at, signed } of collected) {
      expect(signed.grant.until).toBe(ends_at);
      const wanted = { approvals: [], change: null, grants: [signed.grant] };
      expect((await authorized(join(service.dataDir, 'vault'), PASSPHRASE, wanted)).grants).toEqual([signed.mac]);
    }
    for (const end of ends) end();
  });

  it('grants a forwarding plan with the passphrase, for the destination and fees that the screen shows, and ends it', async () => {
    const cold = await node.rpc<string>('getnewaddress', []);
    const entry = { business: 'Corner Coffee', chain: 'LTC', address: cold, label: 'Cold safe' } as const;
    await operator.call('addressBook.add', entry);
    const forwards = async () => (await limitsHeldIn(join(service.dataDir, 'vault'), Date.now())).forwards;
    await open('withdrawals/forwarding/new');
    await page.getByLabel('Coin', { exact: true }).selectOption('LTC');
    await page.getByLabel('Address', { exact: true }).selectOption(cold);
    await page.getByText('Each week', { exact: true }).click();
    await page.getByLabel('Always keep here, in LTC').fill('0.5');
    await page.getByLabel('Of the amount, in %').fill('0.25');
    await page.getByLabel('Of one payment, in LTC').fill('0.01');
    const save = page.getByRole('button', { name: 'Save the plan' });
    const passphrase = page.getByRole('textbox', { name: 'Wallet passphrase' });
    await passphrase.waitFor();
    expect(await save.isDisabled()).toBe(true);
    await passphrase.fill('not the passphrase');
    await page.keyboard.press('Enter');
    await page.getByText('This passphrase does not open the wallet. Nothing was approved.').waitFor();
    expect(await forwards()).toEqual([]);
    expect(await faults()).toEqual([]);
    await passphrase.fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    await page.getByText('each Monday at 03:00, 0.5').waitFor();
    expect((await forwards()).map(({ grant }) => grant)).toMatchObject([
      { asset: 'LTC', network: 'regtest', address: cold, feeSharePpm: 2_500, feeMax: '1000000', feeDay: '5000000' },
    ]);
    await endPlan(page, PASSPHRASE);
    expect(await forwards()).toEqual([]);
    expect((await operator.call('forwarding.list', { business: 'Corner Coffee' })).plans).toEqual([]);
  });

  it('has a wallet that is opened, closed and proved', async () => {
    await operator.call('wallet.lock', {});
    await open('wallet');
    await page.getByLabel('Wallet passphrase', { exact: true }).fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    await page.getByText('Unlocked: approved withdrawals are signed').waitFor();
    await page.getByRole('button', { name: 'Prove the books' }).click();
    await page
      .getByText(/Proved at block/)
      .first()
      .waitFor();
    const file = join(service.dataDir, 'by-hand.age');
    await page.getByLabel('File on the computer of Countinghouse').fill(file);
    await page.getByRole('button', { name: 'Back up now' }).click();
    await page.getByText(`Backed up: ${file}`).waitFor();
    await pictures('wallet');
    expect(await faults()).toEqual([]);
    await page.getByRole('button', { name: 'Lock now' }).click();
    await page.getByText('Locked: withdrawals wait, everything else goes on').waitFor();
  });

  it('searches the chain again, says how far it is, and goes on while another screen is open', async () => {
    await open('sources');
    const search = page.getByRole('button', { name: 'Search the chain again' });
    const end = instead('source.list', async (_params, real) => ({
      sources: (await real()).sources.map((source) => ({ ...source, rescan_percent: 37 })),
    }));
    await page.getByText('37 %').waitFor();
    expect(await search.isDisabled()).toBe(true);
    expect(await faults()).toEqual([]);
    await open('home');
    await open('sources');
    await page.getByText('37 %').waitFor();
    end();
    await until('no search is running', () => search.isEnabled());
    await search.click();
    await page.getByText('It was searched again.').waitFor();
    const { sources } = await operator.call('source.list', {});
    expect(sources.find(({ network }) => network === 'regtest')?.rescan_percent).toBeNull();
  });

  it('waits after wrong passphrases, and counts them for good', async () => {
    const id = await asked('0.1', await node.rpc<string>('getnewaddress', []));
    await open(`withdrawals/${id}/approve`);
    await page.getByLabel(/I compared all \d+ groups/).check();
    for (let tries = 1; tries <= 5; tries++) {
      await page.getByLabel('Wallet passphrase').fill(`wrong ${tries}`);
      await page.keyboard.press('Enter');
      await panel()
        .getByText(/does not open the wallet|Too many wrong passphrases/)
        .waitFor();
      if (
        (await panel()
          .getByText(/Too many wrong passphrases/)
          .count()) > 0
      )
        break;
    }
    // both at once, because the wait is short
    await panel()
      .filter({ hasText: /Too many wrong passphrases: try again in \d+ seconds?/ })
      .locator('button:disabled', { hasText: 'Approve and send' })
      .waitFor();
    expect((await operator.show(id)).state).toBe('requested');
    await pictures('tries');
  });

  it('had no error in the page', () => {
    // the requests that the tests cut off
    expect(errors.filter((text) => !/Failed to load resource|ERR_FAILED|status of (?:400|422|503)/.test(text))).toEqual(
      [],
    );
  });
});
