/** A tablet of the shop's network, whose browser gives a page over HTTP no WebCrypto, no locks and no clipboard. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { strictCaller } from '../api/operator-raw.ts';
import { chromiumTitle, hasChromium, launchChromium, type Windows } from '../support/chromium.ts';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { faultsOf } from './page-kit.ts';

/** An address of a local network, which the browser of this test looks for on this machine. */
const ADDRESS = '10.20.30.40';
const TABLET = { width: 800, height: 1100 };

let daemon: TestDaemon;
let browser: Windows;
beforeAll(async () => {
  if (!hasChromium) return;
  buildConsole();
  const rates = '[networks.sandbox.rates]\nLTC = "84"\nBTC = "97000"\nEUR = "0.92"\n';
  daemon = await startTestDaemon(`[console]\nport = 0\n[till]\nhost = "127.0.0.1"\nport = 0\n${rates}`);
  browser = await launchChromium([`--host-resolver-rules=MAP ${ADDRESS} 127.0.0.1`]);
});
afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
});

async function tablet(complaints: string[] = []): Promise<Page> {
  const page = await (await browser.newContext({ viewport: TABLET })).newPage();
  page.on('pageerror', (error) => complaints.push(error.message));
  return page;
}

it.skipIf(!hasChromium)(chromiumTitle('is paired by a typed code, sells, and is closed from the console'), async () => {
  const call = strictCaller(daemon.dataDir);
  await call('business.brand', { business: '1', currency: 'EUR' });
  const { urls, code } = await call('till.pair', { business: '1' });
  const { port } = new URL(urls[0]!);
  const complaints: string[] = [];
  const page = await tablet(complaints);
  await page.goto(`http://${ADDRESS}:${port}/`);
  expect(await page.evaluate('[isSecureContext, typeof crypto.subtle, typeof navigator.locks]')).toEqual([
    false,
    'undefined',
    'undefined',
  ]);
  await page.getByRole('heading', { name: 'Pair this till' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.getByLabel('Code').fill('0000 0000 0000');
  await page.getByRole('button', { name: 'Pair it' }).click();
  await page.getByText('This code is wrong').waitFor();
  await page.getByLabel('Code').fill(`${code.slice(0, 4)} ${code.slice(4, 8).toLowerCase()}-${code.slice(8)}`);
  await page.getByRole('button', { name: 'Pair it' }).click();
  await page.getByRole('button', { name: 'Type an amount' }).waitFor();
  await page.keyboard.type('420');
  await page.getByRole('button', { name: 'Show QR code for €4.20' }).click();
  // customers cannot open the payment page, so the code is a coin's own
  await page.locator('.qr').waitFor();
  await page.getByText('The price is held for').waitFor();
  expect(await page.getByRole('button', { name: 'Any coin' }).count()).toBe(0);
  const { invoices } = await call('invoice.list', { limit: 1 });
  expect(invoices[0]).toMatchObject({ amount: '4.2', origin: 'counter', payment: { crypto: 'BTC' } });
  await daemon.call('POST', '/sandbox/pay', { invoice_id: invoices[0]!.slug });
  await page.getByText('Payment seen').waitFor();
  // the session and the sale outlive the page
  await page.reload();
  await page.getByText('Payment seen').waitFor();
  await page.getByRole('button', { name: 'Next sale' }).click();
  await page.getByRole('button', { name: 'Type an amount' }).waitFor();
  await call('console.end', {});
  await until('the till is closed', async () => (await call('reach.show', {})).till_urls === null);
  await page.locator('.alone-note, :text("does not answer")').first().waitFor();
  expect(complaints).toEqual([]);
});

it.skipIf(!hasChromium)(chromiumTitle('is paired by its link'), async () => {
  const call = strictCaller(daemon.dataDir);
  const { urls, code } = await call('till.pair', { business: '1' });
  const page = await tablet();
  await page.goto(`http://${ADDRESS}:${new URL(urls[0]!).port}/#sign-in=${code}`);
  await page.getByRole('button', { name: 'Type an amount' }).waitFor();
  expect(page.url()).not.toContain(code);
  const { sessions } = await call('console.list', {});
  expect(sessions.map(({ till, scope }) => [till, scope])).toEqual([[true, 'counter']]);
});
