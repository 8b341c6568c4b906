/**
 * Accounts of a hardware wallet or another wallet in the console: where the keys live, each key compared before it is taken, each wrong one told
 * with its reason, the key images of Monero, and a withdrawal that the other wallet alone can make.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check, hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { splitQRs } from 'bbqr';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveAddress } from '../../daemon/chains/derive.ts';
import { IMAGES_MAX } from '../../daemon/domain/key-images.ts';
import { inGroups } from '../../daemon/domain/policy.ts';
import { descriptorChecksum, readWatchOnly } from '../../daemon/wallet/watch-only.ts';
import { readEvmWatchOnly } from '../../daemon/wallet/watch-only-evm.ts';
import { cameraOf, showCodes } from '../support/camera.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { Console, englishIn, shown } from './console-kit.ts';
import { faultsOf, overhangOf, rulesIn } from './page-kit.ts';
import { instead, listen } from './stand-in.ts';

const PICTURES = process.env.ACCOUNT_PICTURES;
const WIDTHS = [1280, 390];

const MAINNET = { public: 0x0488b21e, private: 0x0488ade4 };
const root = HDKey.fromMasterSeed(new Uint8Array(32).fill(9), MAINNET);
const at = (path: string): HDKey => root.derive(path);
const base58check = createBase58check(sha256);
const withVersion = (key: string, version: string): string => {
  const bytes = base58check.decode(key);
  bytes.set(hex.decode(version));
  return base58check.encode(bytes);
};
const BTC = at("m/84'/0'/0'");
const ZPUB = withVersion(BTC.publicExtendedKey, '04b24746');
const ORIGIN = `wpkh([73c5da0a/84h/0h/0h]${BTC.publicExtendedKey}/<0;1>/*)`;
const DESCRIPTOR = `${ORIGIN}#${descriptorChecksum(ORIGIN)}`;
const ETH = at("m/44'/60'/0'").publicExtendedKey;
/** A wallet of monero-wallet-rpc. */
const XMR = {
  address: '46NFLGmf5meFAG6dzzptiwH7J4Cwmrg54P2SL9YGCLRhi3pCUUgYNNDYJoMw87hRHx9246gfgt81NW5wtZ1enDLE25WGS6p',
  viewKey: '5088cdacb99f3585c184a78fccf44cf369d3564f2bac767d65689458326b530e',
  spendKey: '232dc2a8258040226082d9a43ece719be2e3a9be08d64cc3fa2a8f3d12903a0b',
  subaddress: '84XeLbpZsoHTf6NxmTxtVN9uBXjh7eic6ECb5wvbSVvQcBqtxVNMvwgFkdw4sDXcbz9VDjs2Txhr5bjscW7hG2x4Bw5Hoq1',
  integrated:
    '4G4vM5b9h3AFAG6dzzptiwH7J4Cwmrg54P2SL9YGCLRhi3pCUUgYNNDYJoMw87hRHx9246gfgt81NW5wtZ1enDLE2WMZAr69qxgU2haMTq',
};
const SECRET = 'This is secret';
const changedAt = (text: string, index: number): string =>
  `${text.slice(0, index)}${text[index] === '2' ? '3' : '2'}${text.slice(index + 1)}`;

describe.skipIf(!hasChromium)(chromiumTitle('accounts of another wallet in the console'), () => {
  let shop: Console;
  /** What the browser's camera shows. */
  let seen = '';
  beforeAll(async () => {
    seen = join(await mkdtemp(join(tmpdir(), 'camera-')), 'seen.y4m');
    shop = await Console.start(undefined, cameraOf(seen));
  });
  afterAll(async () => {
    await shop.stop();
    await rm(dirname(seen), { recursive: true, force: true });
  });

  /** Looks at a page in both themes, wide and narrow: without faults, and no wider than the window. */
  async function looked(page: Page, name: string): Promise<void> {
    await shown(page);
    for (const width of WIDTHS) {
      // all of the page, with nothing under its foot
      await page.setViewportSize({ width, height: 2_400 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        if (PICTURES)
          await page.screenshot({ path: `${PICTURES}/${name}-${width}-${colorScheme}.png`, fullPage: true });
        expect([name, width, await faultsOf(page, rulesIn(colorScheme))]).toEqual([name, width, []]);
        expect([name, width, await overhangOf(page)]).toEqual([name, width, 0]);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 860 });
  }

  async function opened(german = false): Promise<Page> {
    const page = await shop.open('home');
    if (german) {
      await page.evaluate("localStorage.setItem('countinghouse-language', 'de')");
      await page.reload();
    }
    await shop.go(page, 'first/live');
    await page.getByRole('radio').first().waitFor();
    return page;
  }

  /** Where the accounts of a business are given. */
  async function accounts(name: string, network = 'mainnet'): Promise<Page> {
    const page = await opened();
    await page.getByText('In a hardware wallet').click();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Money', { exact: true }).selectOption(network);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Accounts of your other wallet' }).waitFor();
    return page;
  }

  const coin = (page: Page, chain: string) => page.getByLabel('Coin', { exact: true }).selectOption(chain);
  const keyField = (page: Page) => page.locator('textarea');
  const addresses = async (page: Page): Promise<string[]> =>
    (await page.locator('.account-addresses code').allTextContents()).map((text) => text.trim());
  const takeButton = (page: Page) => page.getByRole('button', { name: 'Take this account' });
  const addButton = (page: Page) => page.getByRole('button', { name: 'Add the business' });

  async function compared(page: Page): Promise<void> {
    for (const box of await page.locator('.account-addresses input').all()) await box.check();
  }

  it('asks where the keys live, and says of each answer what a thief of the server can do', async () => {
    const page = await opened();
    const card = (name: string) => page.locator('.where', { hasText: name });
    expect(await page.getByRole('radio').count()).toBe(3);
    expect(await card('On this computer').locator('.state').innerText()).toBe('can take everything');
    for (const name of ['On my computer at home', 'In a hardware wallet'])
      expect(await card(name).locator('.state').innerText()).toBe('cannot take what you have');
    expect(await page.getByRole('radio', { name: 'On this computer' }).isChecked()).toBe(true);
    await looked(page, 'keys');
    await page.getByText('it calls this server by itself').click();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Connect your computer at home' }).waitFor();
    expect(await page.locator('.where-steps code').allTextContents()).toEqual([
      'countinghouse signer invite',
      'countinghouse signer join SERVER',
      'countinghouse --server SERVER business add --name "My shop" --network mainnet',
      'countinghouse --server SERVER signer run',
      'countinghouse --server SERVER wallet unlock',
    ]);
    expect(await page.locator('input[type=password]').count()).toBe(0);
    await looked(page, 'at-home');
    await page.getByRole('button', { name: 'Back' }).click();
    expect(await page.getByRole('radio', { name: 'On my computer at home' }).isChecked()).toBe(true);
    await page.context().close();
  });

  it('reads the accounts of a file, and of the codes that a device shows', async () => {
    const page = await accounts('Read Coffee');
    const open = async (text: string): Promise<void> => {
      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Open a file' }).click();
      await (await chooser).setFiles({ name: 'export.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    };
    await open('{"no": "key"}');
    await page.getByText('There is no account of Bitcoin in it').waitFor();
    await open('x'.repeat(1_000_001));
    await page.getByText('The file is larger than a megabyte').waitFor();
    await open(JSON.stringify({ bip44: { xprv: at("m/44'/0'/0'").privateExtendedKey }, bip84: { desc: DESCRIPTOR } }));
    await page.getByText(SECRET).waitFor();
    expect(await keyField(page).inputValue()).toBe('');

    const nested = `sh(wpkh([73c5da0a/49h/0h/0h]${at("m/49'/0'/0'").publicExtendedKey}/<0;1>/*))`;
    await open(JSON.stringify({ bip49: { desc: nested }, bip84: { _pub: ZPUB, desc: DESCRIPTOR } }));
    const choice = page.getByLabel('The file has several accounts');
    expect(await choice.locator('option').allTextContents()).toEqual([
      'Choose one',
      'nested segwit (P2SH-P2WPKH), m/49h/0h/0h',
      'native segwit (P2WPKH), m/84h/0h/0h',
    ]);
    // what another file had is told no longer
    expect(await page.getByText(SECRET).count()).toBe(0);
    await looked(page, 'accounts-several');
    await choice.selectOption('native segwit (P2WPKH), m/84h/0h/0h');
    expect(await keyField(page).inputValue()).toBe(DESCRIPTOR);
    await page.getByText('3 addresses are not compared yet').waitFor();

    const exported = Buffer.from(JSON.stringify({ chain: 'BTC', padding: 'x'.repeat(2_000), bip49: { desc: nested } }));
    const { parts } = splitQRs(exported, 'J', { encoding: '2', maxVersion: 15 });
    expect(parts.length).toBeGreaterThan(2);
    await showCodes(seen, parts);
    await page.getByRole('button', { name: 'Scan a QR code' }).click();
    await page.locator('video').waitFor();
    await page.locator('video').waitFor({ state: 'detached' });
    expect(await keyField(page).inputValue()).toBe(nested);
    expect(await choice.count()).toBe(0);

    await coin(page, 'XMR');
    await showCodes(seen, [`monero_wallet:${XMR.address}?view_key=${XMR.viewKey}&height=3000000`]);
    await page.getByRole('button', { name: 'Scan a QR code' }).click();
    await page
      .getByLabel('Private view key')
      .and(page.locator(`[value="${XMR.viewKey}"]`))
      .waitFor();
    expect(await keyField(page).inputValue()).toBe(XMR.address);
    await page.context().close();
  });

  it('takes a key only after its first three addresses were compared, and adds the business with those keys alone', async () => {
    const page = await accounts('Cold Coffee');
    await looked(page, 'accounts-empty');
    expect(await addButton(page).isDisabled()).toBe(true);
    await page.getByText('Compare and take an account first').waitFor();
    await keyField(page).fill(DESCRIPTOR);
    const bitcoin = readWatchOnly(DESCRIPTOR, 'BTC', 'mainnet');
    const expected = [0, 1, 2].map((index) => deriveAddress('BTC', 'mainnet', bitcoin, 0, index).address);
    expect((await addresses(page)).map((text) => text.replaceAll(' ', ''))).toEqual(expected);
    expect((await addresses(page))[0]).toBe(inGroups(expected[0]!).join(' '));
    await page.getByText('native segwit (P2WPKH), the first begins with bc1q').waitFor();
    await page.getByText('fingerprint 73c5da0a, path m/84h/0h/0h').waitFor();
    for (const [number, left] of [
      [0, '2 addresses are not compared yet'],
      [1, '1 address is not compared yet'],
    ] as const) {
      expect(await takeButton(page).isDisabled()).toBe(true);
      await page.getByLabel(`Address ${number} is the same on the device`).check();
      await page.getByText(left).waitFor();
    }
    await looked(page, 'accounts-compare');
    // another key is compared anew
    await keyField(page).fill(ZPUB);
    await page.getByText('3 addresses are not compared yet').waitFor();
    await page.getByText('Take the account that you began').waitFor();
    await keyField(page).fill(DESCRIPTOR);
    await compared(page);
    await takeButton(page).click();
    await coin(page, 'ETH');
    await keyField(page).fill(ETH);
    const ether = readEvmWatchOnly(ETH, 'ETH', 'mainnet');
    expect((await addresses(page)).map((text) => text.replaceAll(' ', ''))).toEqual(
      [0, 1, 2].map((index) => deriveAddress('ETH', 'mainnet', ether, 0, index).address),
    );
    expect(await page.getByLabel('Receive on BNB Smart Chain with the same key, too').isChecked()).toBe(true);
    await compared(page);
    await takeButton(page).click();
    await coin(page, 'XMR');
    await keyField(page).fill(XMR.address);
    const viewKey = page.getByLabel('Private view key');
    expect([await viewKey.getAttribute('autocomplete'), await viewKey.getAttribute('type')]).toEqual([
      'off',
      'password',
    ]);
    await viewKey.fill(XMR.viewKey);
    expect((await addresses(page))[0]?.replaceAll(' ', '')).toBe(XMR.subaddress);
    await looked(page, 'accounts-monero');
    await compared(page);
    await takeButton(page).click();
    expect(await page.locator('.account-list li > span').allTextContents()).toEqual([
      'Bitcoin',
      'Ethereum',
      'BNB Smart Chain',
      'Monero',
    ]);
    await page.getByRole('button', { name: 'Remove BNB Smart Chain' }).click();
    expect(await page.locator('.account-list li').count()).toBe(3);
    expect(await page.getByLabel('Coin', { exact: true }).locator('option').allTextContents()).toEqual([
      'Litecoin',
      'Bitcoin Cash',
      'BNB Smart Chain',
    ]);
    await looked(page, 'accounts-taken');
    // the name can be looked at again
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('heading', { name: 'Your business' }).waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('Cold Coffee');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Remove Monero' }).waitFor();
    expect(await page.locator('.account-list li').count()).toBe(3);
    const { heard, stop } = listen();
    await addButton(page).click();
    await page.getByRole('heading', { name: 'Where payments are seen' }).waitFor();
    stop();
    const { businesses } = await shop.call('business.list', {});
    expect(businesses.at(-1)).toMatchObject({ name: 'Cold Coffee', network: 'mainnet' });
    expect(businesses.at(-1)?.watch_only.toSorted()).toEqual(['BTC', 'ETH', 'XMR']);
    // the service needs the view key to see payments, and answers nobody with it
    const asked = heard.filter((line) => line.startsWith('business.add '));
    expect(asked.length).toBe(1);
    const [params, answer] = JSON.parse(asked[0]!.slice('business.add '.length)) as [
      { accounts: Record<string, object> },
      object,
    ];
    expect(params.accounts.BTC).toEqual(bitcoin);
    expect(params.accounts.XMR).toMatchObject({ privateViewKey: XMR.viewKey, watch: true });
    const others = heard.filter((line) => !line.startsWith('business.add '));
    expect([JSON.stringify(answer), ...others].some((line) => line.includes(XMR.viewKey))).toBe(false);
    expect(await page.content()).not.toContain(XMR.viewKey);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Can customers reach you?' }).waitFor();
    await page.context().close();
  });

  it('says of a key in use which business has it, and adds nothing', async () => {
    const page = await accounts('Twin');
    await keyField(page).fill(ZPUB);
    await compared(page);
    await takeButton(page).click();
    const before = (await shop.call('business.list', {})).businesses.length;
    await addButton(page).click();
    await page.getByRole('alert').getByText('This key is in use already').waitFor();
    await page.getByText('The key is that of Cold Coffee already').waitFor();
    expect((await shop.call('business.list', {})).businesses.length).toBe(before);
    await looked(page, 'accounts-in-use');
    await page.context().close();
  });

  it('tells of each wrong key why it is wrong, and sends none of it', async () => {
    const wrong = [
      ['BTC', BTC.privateExtendedKey, SECRET],
      ['BTC', `${'test '.repeat(11)}junk`, SECRET],
      ['BTC', changedAt(ZPUB, 50), 'The last characters do not fit the rest'],
      ['BTC', `${DESCRIPTOR.slice(0, -1)}q`, 'The last characters do not fit the rest'],
      ['BTC', withVersion(BTC.publicExtendedKey, '043587cf'), 'This is for another network or another coin'],
      ['BTC', withVersion(BTC.publicExtendedKey, '01b26ef6'), 'This is for another network or another coin'],
      ['BTC', 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', 'This is no public key of an account'],
      ['BTC', BTC.publicExtendedKey, 'The key does not say which addresses its wallet makes'],
      ['LTC', `tr(${BTC.publicExtendedKey})`, 'These addresses do not fit'],
      ['BCH', ZPUB, 'This is for another network or another coin'],
      ['ETH', ZPUB, 'These addresses do not fit'],
      ['ETH', at('m').publicExtendedKey, 'This is not the key of an account'],
      ['XMR', XMR.subaddress, 'This is a subaddress'],
      ['XMR', XMR.integrated, 'This is an integrated address'],
      ['XMR', changedAt(XMR.address, 60), 'The last characters do not fit the rest'],
      ['XMR', XMR.spendKey, SECRET],
    ] as const;
    const page = await accounts('Trial');
    const { heard, stop } = listen();
    const notice = page.locator('.account-form .notice');
    for (const [chain, text, title] of wrong) {
      await coin(page, chain);
      await keyField(page).fill('');
      await keyField(page).fill(text);
      expect([text, await notice.locator('.notice-title').innerText()]).toEqual([text, expect.stringContaining(title)]);
      expect([text, await takeButton(page).count()]).toEqual([text, 0]);
      // a secret leaves the page at once
      expect([text, await keyField(page).inputValue()]).toEqual([text, title === SECRET ? '' : text]);
      expect(heard.filter((line) => line.includes(text))).toEqual([]);
    }
    stop();
    await coin(page, 'BTC');
    await keyField(page).fill(BTC.privateExtendedKey);
    await looked(page, 'accounts-private');
    await page.context().close();
  });

  it('refuses a spend key in place of the view key, and one of another address', async () => {
    const page = await accounts('Trial');
    await coin(page, 'XMR');
    await keyField(page).fill(XMR.address);
    const viewKey = page.getByLabel('Private view key');
    await viewKey.fill(XMR.spendKey);
    await page.getByText('This is secret').waitFor();
    expect([await viewKey.inputValue(), await keyField(page).inputValue()]).toEqual(['', '']);
    await keyField(page).fill(XMR.address);
    await viewKey.fill(XMR.viewKey.replace('5088', '6088'));
    await page.getByText('The view key is not that of the address').waitFor();
    expect(await takeButton(page).count()).toBe(0);
    await page.context().close();
  });

  it('asks which addresses a plain key makes, and shows those of the answer', async () => {
    const page = await accounts('Trial');
    await keyField(page).fill(BTC.publicExtendedKey);
    await page.getByLabel('Addresses of that wallet').selectOption('p2tr');
    const key = readWatchOnly(BTC.publicExtendedKey, 'BTC', 'mainnet', 'p2tr');
    expect((await addresses(page))[2]?.replaceAll(' ', '')).toBe(deriveAddress('BTC', 'mainnet', key, 0, 2).address);
    await page.context().close();
  });

  it('is German where the reader is', async () => {
    const page = await opened(true);
    await looked(page, 'keys-de');
    expect(await englishIn(page)).toEqual([]);
    await page.getByText('oder in einer anderen Wallet').click();
    await page.getByRole('button', { name: 'Weiter' }).click();
    await page.getByLabel('Name').fill('Nordlicht');
    await page.getByRole('button', { name: 'Weiter' }).click();
    await keyField(page).fill(DESCRIPTOR);
    await page.getByText('3 Adressen sind noch nicht verglichen').waitFor();
    await looked(page, 'accounts-de');
    expect(await englishIn(page)).toEqual([]);
    await compared(page);
    await page.getByRole('button', { name: 'Dieses Konto nehmen' }).click();
    await page.getByRole('button', { name: 'Geschäft anlegen' }).click();
    await page.getByText('Dieser Schlüssel wird schon benutzt').waitFor();
    await page.getByText('Ein anderes Geschäft hat diesen Schlüssel schon').waitFor();
    expect(await englishIn(page)).toEqual([]);
    await page.context().close();
  });

  describe('whose money is Monero', () => {
    const ends: (() => void)[] = [];
    const balance = (crypto: string, amount: string, unproven: string | null) => ({
      crypto,
      amount,
      withheld: null,
      unproven,
      locked: null,
    });
    let unproven = '1.25';
    beforeAll(() => {
      ends.push(
        instead('business.list', async (_, real) => ({
          businesses: (await real()).businesses.map((one) =>
            one.name === 'Cold Coffee'
              ? { ...one, balances: [balance('XMR', '3.5', unproven), balance('LTC', '2', null)] }
              : one,
          ),
        })),
      );
    });
    afterAll(() => {
      for (const end of ends) end();
    });

    it('has a form for key images, which hands in what a file has and tells what it was', async () => {
      const parts: unknown[] = [];
      ends.push(
        instead('business.keyImages', ({ part }) => {
          parts.push(part);
          unproven = '0';
          return { learned: parts.length === 1 ? IMAGES_MAX : 2, known: 1, unmatched: 3, unproven: '0' };
        }),
      );
      const page = await shop.open('settings');
      await page.getByRole('heading', { name: 'Monero in another wallet' }).waitFor();
      await page.getByText('1.25 XMR may have been spent in the wallet that has the keys').waitFor();
      const hand = page.getByRole('button', { name: 'Hand in' });
      expect(await hand.isDisabled()).toBe(true);
      const file = page.getByLabel('File of the key images');
      const give = (text: string) =>
        file.setInputFiles({ name: 'key-images', mimeType: 'application/json', buffer: Buffer.from(text) });
      await give('{"signed_key_images":[]}');
      await hand.click();
      await page.getByText('There is no key image in it').waitFor();
      await give('no images');
      await hand.click();
      await page.getByText('This is no export of key images.').waitFor();
      expect(parts).toEqual([]);
      const signed = Array.from({ length: IMAGES_MAX + 2 }, (_, n) => ({
        key_image: n.toString(16).padStart(64, '0'),
        signature: 'ab'.repeat(64),
      }));
      await give(JSON.stringify({ result: { signed_key_images: signed } }));
      await hand.click();
      await page.getByText(`${IMAGES_MAX + 2} new, 2 known, 6 of no coin that is known here.`).waitFor();
      expect(parts).toEqual([{ signed: signed.slice(0, IMAGES_MAX) }, { signed: signed.slice(IMAGES_MAX) }]);
      await page.getByText('Every coin has its key image').waitFor();
      await looked(page, 'key-images');
      await page.context().close();
    });

    it('says at a new withdrawal that the wallet with the keys sends it, and does not offer it', async () => {
      const page = await shop.open('withdrawals/new');
      await page.getByText('Money of XMR is moved by the wallet that has the keys: send it from there.').waitFor();
      expect(await page.getByLabel('Coin', { exact: true }).locator('option').allTextContents()).toEqual(['LTC: 2']);
      await looked(page, 'withdrawal-elsewhere');
      await page.context().close();
    });
  });

  it('was complained about by no page but for the keys in use', () =>
    expect(shop.complaints).toEqual(Array(2).fill(expect.stringContaining('status of 400'))));
});
