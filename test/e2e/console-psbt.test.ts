/**
 * Withdrawals of an account whose keys are in another wallet, in the console: real Chromium, a real litecoind, and the wallet of another
 * node that signs. The PSBT goes there as a file and as pictures, and comes back as a file and as text; an altered one is refused.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { joinQRs, splitQRs } from 'bbqr';
import type { Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Result } from '../../daemon/contract/operator.ts';
import type { Branch } from '../../daemon/domain/chain.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { otherWallet } from '../scenario/other-wallet.ts';
import { cameraOf, showCodes } from '../support/camera.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { litecoinConfig, startTestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { Console, englishIn, shown } from './console-kit.ts';
import { faultsOf, overhangOf, rulesIn } from './page-kit.ts';

const PICTURES = process.env.PSBT_PICTURES;
const WIDTHS = PICTURES ? [1280, 390, 320] : [1280, 320];
const COIN = 100_000_000n;
const SHOP = 'Corner Coffee';
/** The addresses that the other wallet knows, of each branch. */
const KEYS = 12;
const COINS = 5;

type Raw = {
  locktime: number;
  vin: { txid: string; vout: number; sequence: number }[];
  vout: { value: number; scriptPubKey: { addresses: string[] } }[];
};
type Coin = { value: number; scriptPubKey: { hex: string } };

describe.skipIf(!hasLitecoind || !hasChromium)(chromiumTitle(litecoindTitle('a PSBT in the console')), () => {
  let node: Litecoind;
  let signer: Litecoind;
  let shop: Console;
  /** What the browser's camera shows. */
  let seen = '';

  beforeAll(async () => {
    [node, signer] = await Promise.all([Litecoind.start(), Litecoind.start()]);
    await node.fund();
    const config = `[console]\nport = 0\n${litecoinConfig(`core_rpc = "${node.url}"`)}`;
    seen = join(await mkdtemp(join(tmpdir(), 'camera-')), 'seen.y4m');
    shop = await Console.start(() => startTestDaemon(config), cameraOf(seen));
    const other = otherWallet(7, 'p2wpkh');
    for (const branch of [0, 1] satisfies Branch[]) {
      for (let index = 0; index < KEYS; index++) {
        await signer.rpc('importprivkey', [other.wif(index, branch), '', false]);
      }
    }
    const account = ['--account', `LTC=${other.descriptor}`, '--no-wallet', '--json', '--yes'];
    const added = await cli(shop.daemon.dataDir, [
      'business',
      'add',
      '--name',
      SHOP,
      '--network',
      'regtest',
      ...account,
    ]);
    expect(added.code, added.err).toBe(0);
    await paid((JSON.parse(added.out) as Result<'business.add'>).key.key);
  });
  afterAll(async () => {
    await shop?.stop();
    await Promise.all([node?.remove(), signer?.remove(), rm(dirname(seen), { recursive: true, force: true })]);
  });

  /** 2 LTC arrive in each of a few coins. */
  async function paid(key: string): Promise<void> {
    const headers = { 'mb-api-key': key };
    const call = <Body>(path: string, body: object) => shop.daemon.call<Body>('POST', path, body, headers);
    for (let coin = 0; coin < COINS; coin++) {
      const { body } = await call<{ id: string }>('/invoice', { amount: 160, crypto: 'LTC' });
      const address = await until('litecoind is followed', async () => {
        const asked = await call<{ address: string }>(`/invoice/rp/${body.id}`, {});
        return asked.status === 201 && asked.body.address;
      });
      await node.pay([{ address, units: 2n * COIN }]);
    }
    await node.mine(6);
    await until('the payments are confirmed', async () => {
      const { body } = await shop.daemon.call<{ LTC: number }>('GET', '/balance', undefined, headers);
      return body.LTC === 2 * COINS;
    });
  }

  const show = async (id: string) => (await shop.call('withdrawal.show', { id })).withdrawal;
  const inState = (id: string, state: string) =>
    until(`withdrawal ${id} is ${state}`, async () => {
      const one = await show(id);
      return one.state === state && one;
    });
  const mempool = () => node.rpc<string[]>('getrawmempool', []);

  /** A withdrawal that waits for the wallet, and its page. */
  async function planned(amount: string): Promise<{ id: string; to: string; page: Page }> {
    const to = await node.newAddress();
    const asked = { business: SHOP, crypto: 'LTC', address: to, amount };
    const id = `${(await shop.call('withdrawal.add', asked)).withdrawal.id}`;
    const page = await shop.open(`withdrawals/${id}/approve`);
    await page.getByLabel(/I compared all \d+ groups/).check();
    await page.getByRole('button', { name: 'Approve, and sign in your wallet' }).click();
    await page.getByText('To sign in your wallet').waitFor();
    await shop.go(page, `withdrawals/${id}`);
    await page.getByRole('heading', { name: 'Sign it in your wallet' }).waitFor();
    await page.getByText('signs LTC').waitFor();
    return { id, to, page };
  }

  /** Looks at a page as it is, in both themes, wide and narrow: without faults, and no wider than the window. */
  async function looked(page: Page, name: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of WIDTHS) {
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

  const process = async (psbt: string): Promise<string> => {
    const done = await signer.rpc<{ psbt: string; complete: boolean }>('walletprocesspsbt', [psbt]);
    expect(done.complete).toBe(true);
    return done.psbt;
  };

  async function downloaded(page: Page): Promise<{ name: string; psbt: string }> {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download for your wallet' }).click(),
    ]);
    return { name: file.suggestedFilename(), psbt: (await readFile(await file.path())).toString('base64') };
  }

  const choose = (page: Page, name: string, bytes: Buffer) =>
    page.getByLabel('The signed file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer: bytes });

  it('goes to the wallet as a file and comes back as one', async () => {
    const { id, to, page } = await planned('0.5');
    const panel = page.locator('.outside-shows');
    expect((await panel.locator('dd.mono').innerText()).replaceAll(' ', '')).toBe(to);
    expect(await panel.locator('dd strong').innerText()).toBe('0.50000000 LTC');
    const hand = page.getByRole('button', { name: 'Hand in and send' });
    expect(await hand.isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Give it up' }).count()).toBe(0);
    await looked(page, 'planned');
    const file = await downloaded(page);
    expect(file).toEqual({ name: `withdrawal-${id}-1.psbt`, psbt: (await shop.call('withdrawal.psbt', { id })).psbt });
    await page.getByRole('button', { name: 'Give it up' }).waitFor();

    // the very file that was downloaded has no signature
    await choose(page, 'unsigned.psbt', Buffer.from(file.psbt, 'base64'));
    await hand.click();
    await page.getByText('Nothing was sent.').waitFor();
    expect(await page.getByText('Take the coins to safety').count()).toBe(0);
    await choose(page, 'signed.psbt', Buffer.from(await process(file.psbt), 'base64'));
    expect(await page.getByText('Nothing was sent.').count()).toBe(0);
    await hand.click();
    const { versions } = await inState(id, 'broadcast');
    expect(await mempool()).toEqual([versions[0]!.tx_id]);
    await page.getByRole('heading', { name: 'Sign it in your wallet' }).waitFor({ state: 'detached' });
    await node.mine(1);
    expect(await node.rpc<number>('getreceivedbyaddress', [to, 1])).toBe(0.5);
    await page.context().close();
  });

  /** The text of the code on a page, read from its squares. */
  async function codeOn(page: Page): Promise<string> {
    const code = page.locator('.outside-codes svg');
    const [box, path] = [await code.getAttribute('viewBox'), await code.locator('path').getAttribute('d')];
    const SCALE = 4;
    const size = Number(box?.split(' ')[2]) * SCALE;
    const pixels = new Uint8ClampedArray(size * size * 4).fill(255);
    for (const [, x, y] of path?.matchAll(/M(\d+) (\d+)h1v1h-1z/g) ?? []) {
      for (let dot = 0; dot < SCALE * SCALE; dot++) {
        const at = (Number(y) * SCALE + Math.floor(dot / SCALE)) * size + Number(x) * SCALE + (dot % SCALE);
        pixels.fill(0, at * 4, at * 4 + 3);
      }
    }
    return decodeQR({ width: size, height: size, data: pixels });
  }

  const place = async (page: Page): Promise<[number, number]> => {
    const label = await page.locator('.outside-codes svg').getAttribute('aria-label');
    const [n, of] = label?.match(/\d+/g)?.map(Number) ?? [];
    return [n ?? 0, of ?? 0];
  };

  it('goes to a camera as pictures that stand still for whoever wants that, and comes back as text', async () => {
    const { id, page } = await planned('6.5');
    await page.getByRole('button', { name: 'Show as QR codes' }).click();
    await page.locator('.outside-codes svg').waitFor();
    await looked(page, 'codes');
    const [first, of] = await place(page);
    expect([first, of > 1]).toEqual([1, true]);
    const parts: string[] = [];
    for (let n = 1; n <= of; n++) {
      expect(await place(page)).toEqual([n, of]);
      parts.push(await codeOn(page));
      await page.getByRole('button', { name: 'Next picture' }).click();
    }
    expect((await place(page))[0]).toBe(1);
    const read = joinQRs(parts.toReversed());
    const { psbt } = await shop.call('withdrawal.psbt', { id });
    expect([read.fileType, Buffer.from(read.raw).toString('base64')]).toEqual(['P', psbt]);

    // they change by themselves where nobody asked for rest, and pause
    await page.getByRole('button', { name: 'Let them change' }).click();
    await until('the next picture comes', async () => (await place(page))[0] === 2);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Next picture' }).waitFor();

    await page.getByText('Text', { exact: true }).click();
    const hand = page.getByRole('button', { name: 'Hand in and send' });
    await page.getByLabel('The signed text').fill('cHNidP8 nonsense');
    await hand.click();
    await page.getByText('Nothing was sent.').waitFor();
    await page.getByLabel('The signed text').fill(` ${await process(psbt)}\n`);
    await looked(page, 'text');
    await hand.click();
    await inState(id, 'broadcast');
    await node.mine(1);
    await inState(id, 'completed');
    await page.context().close();
  });

  it('comes back as the pictures that a device shows to the camera, and says why another kind is not read', async () => {
    const { id, page } = await planned('0.4');
    const signed = await process((await downloaded(page)).psbt);
    await showCodes(seen, ['ur:crypto-psbt/1-3/lpadaxcfaocy']);
    await page.getByText('Camera', { exact: true }).click();
    await page.getByText('This is a code of the kind UR').waitFor();
    await looked(page, 'camera');
    await page.getByRole('button', { name: 'Close the camera' }).click();
    expect(await page.locator('video').count()).toBe(0);

    const { parts } = splitQRs(Buffer.from(signed, 'base64'), 'P', { maxVersion: 8 });
    expect(parts.length).toBeGreaterThan(2);
    await showCodes(seen, parts);
    await page.getByText('Camera', { exact: true }).click();
    await page.getByText(`It was read: ${Buffer.from(signed, 'base64').length} bytes`).waitFor();
    expect(await page.locator('video').count()).toBe(0);
    await page.getByRole('button', { name: 'Hand in and send' }).click();
    await inState(id, 'broadcast');
    await node.mine(1);
    await inState(id, 'completed');
    await page.context().close();
  });

  /** The downloaded transaction, paying a stranger instead, signed by the same wallet. */
  async function altered(psbt: string, to: string): Promise<string> {
    const { tx } = await node.rpc<{ tx: Raw }>('decodepsbt', [psbt]);
    const thief = await node.newAddress();
    const outputs = tx.vout.map(({ value, scriptPubKey: { addresses } }) => {
      const [address = ''] = addresses;
      return { [address === to ? thief : address]: value };
    });
    const inputs = tx.vin.map(({ txid, vout, sequence }) => ({ txid, vout, sequence }));
    const raw = await node.rpc<string>('createrawtransaction', [inputs, outputs, tx.locktime]);
    const coins = await Promise.all(
      inputs.map(async ({ txid, vout }) => {
        const { scriptPubKey, value } = await node.rpc<Coin>('gettxout', [txid, vout]);
        return { txid, vout, scriptPubKey: scriptPubKey.hex, amount: value };
      }),
    );
    const signed = await signer.rpc<{ hex: string; complete: boolean }>('signrawtransactionwithwallet', [raw, coins]);
    expect(signed.complete).toBe(true);
    return signed.hex;
  }

  it('that was altered is refused, and the way out takes the same coins to an own address first', async () => {
    const { id, to, page } = await planned('0.6');
    const { name, psbt } = await downloaded(page);
    await choose(page, 'altered.txn', Buffer.from(await altered(psbt, to)));
    await page.getByRole('button', { name: 'Hand in and send' }).click();
    await page.getByText('This is not what you approved. It was not sent.').waitFor();
    expect(await mempool()).toEqual([]);
    await looked(page, 'refused');
    await page.getByRole('link', { name: 'Transfer them to yourself' }).click();
    await page.getByRole('button', { name: 'Approve, and sign in your wallet' }).click();
    await page.getByText('To sign in your wallet').waitFor();
    await shop.go(page, `withdrawals/${id}`);
    await page.getByText('nothing to anybody else').waitFor();
    await looked(page, 'canceling');
    const back = await downloaded(page);
    expect(back.name).toMatch(new RegExp(`^withdrawal-${id}-\\d+\\.psbt$`));
    expect(back.name).not.toBe(name);
    const { tx } = await node.rpc<{ tx: Raw }>('decodepsbt', [back.psbt]);
    expect(tx.vout).toHaveLength(1);
    await choose(page, 'back.psbt', Buffer.from(await process(back.psbt), 'base64'));
    await page.getByRole('button', { name: 'Hand in and send' }).click();
    await until('the cancellation is sent', async () => (await mempool()).length === 1);
    await node.mine(12);
    expect(await inState(id, 'failed')).toMatchObject({ reason: { code: 'ended.canceled' } });
    await page.context().close();
  });

  it('is given up in German, by one who is asked once more', async () => {
    const { id, page } = await planned('0.7');
    await page.evaluate("localStorage.setItem('countinghouse-language', 'de')");
    await page.reload();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Für Ihre Wallet herunterladen' }).click(),
    ]);
    await file.path();
    await page.getByRole('button', { name: 'Als QR-Codes zeigen' }).click();
    await page.locator('.outside-codes svg').waitFor();
    await shown(page);
    expect(await englishIn(page)).toEqual([]);
    await looked(page, 'codes-de');
    const { psbt } = await shop.call('withdrawal.psbt', { id });
    await page.getByLabel('Die unterschriebene Datei').setInputFiles({
      name: 'altered.txn',
      mimeType: 'text/plain',
      buffer: Buffer.from(await altered(psbt, (await show(id)).address)),
    });
    await page.getByRole('button', { name: 'Abgeben und senden' }).click();
    await page.getByText('Bringen Sie die Coins in Sicherheit').waitFor();
    expect(await englishIn(page)).toEqual([]);
    await looked(page, 'refused-de');
    await page.getByRole('button', { name: 'Aufgeben', exact: true }).click();
    await page.getByRole('button', { name: 'So lassen' }).click();
    expect((await show(id)).state).toBe('signed');
    await page.getByRole('button', { name: 'Aufgeben', exact: true }).click();
    await looked(page, 'giving-up-de');
    await page.getByRole('button', { name: 'Ja, aufgeben' }).click();
    expect(await inState(id, 'failed')).toMatchObject({ reason: { code: 'ended.unsigned' } });
    await page.getByRole('heading', { name: 'In Ihrer Wallet unterschreiben' }).waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('was complained about by no page', () =>
    // what is refused answers 400
    expect(shop.complaints.filter((text) => !/Failed to load resource.*status of 4(?:00|09)/.test(text))).toEqual([]));
});
