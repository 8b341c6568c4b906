/**
 * The payment page on a real litecoind: from a shop's page by the SDK to the payment page, through the node's wallet to
 * paid, and back to the shop; and what the page shows where there is no price.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { liveClient } from '../support/shop.ts';
import { faultsOf, Site, Stage } from './page-kit.ts';

const HOUR = 3_600_000;
const RATES = '[networks.regtest.rates]\nLTC = "80"\n';
const TITLE = chromiumTitle(litecoindTitle('the payment page on litecoind'));

describe.skipIf(!hasChromium || !hasLitecoind)(TITLE, () => {
  let node: Litecoind;
  let stage: Stage;
  let shop: Site;
  let clientId: string;
  beforeAll(async () => {
    [node, shop] = await Promise.all([Litecoind.start(), Site.open()]);
    await node.fund();
    stage = await Stage.open(`[networks.regtest.LTC]\ncore_rpc = "${node.url}"\n${RATES}`);
    clientId = (await liveClient(stage.operator, [shop.origin], 'Corner Coffee')).client_id;
    shop.pages.set('/thanks', '<!doctype html><title>Thanks</title><h1>Thank you</h1>');
    shop.pages.set(
      '/cart',
      `<!doctype html><title>Cart</title><script src="${stage.service.url}/js/sdk.js"></script>
<button id="pay">Pay</button><script>
const shop = Countinghouse.createClient({ clientId: '${clientId}' });
pay.onclick = () => shop.createInvoice({ amount: 80, redirect_url: location.origin + '/thanks', automatic_redirect: true })
  .then((invoice) => location.assign(invoice.invoice_url));</script>`,
    );
  });
  afterAll(async () => {
    await stage?.close();
    await node?.remove();
    shop?.close();
  });

  it('goes from the cart to the thank-you page with coins of a node', async () => {
    // with a header of its own a shop's page would have to be allowed to send it
    const visit = await stage.visit({ extraHTTPHeaders: {} });
    const { page } = visit;
    await page.goto(`${shop.origin}/cart`);
    await page.getByRole('button', { name: 'Pay' }).click();
    await visit.shows('choose');
    expect(await page.locator('[data-part="banner"]').innerText()).toBe('Test network: the coins here have no value');
    const open = page.locator('button[name="crypto"]');
    await until('litecoind is followed', async () => (await page.reload()) && (await open.count()) > 0);
    expect(await open.count()).toBe(1);
    await page.getByRole('button', { name: /Litecoin/ }).click();
    await visit.shows('waiting');
    expect(await page.locator('.sandbox').count()).toBe(0);
    const wallet = (await page.getByRole('link', { name: 'Open in wallet' }).getAttribute('href'))!;
    const [, address, amount] = /^litecoin:(rltc1[a-z0-9]+)\?amount=(\d+)$/.exec(wallet)!;
    expect(amount).toBe('1');
    const txid = await node.pay([{ address: address!, units: 100_000_000n }]);
    await visit.shows('detected');
    const count = page.locator('[data-part="confirmations"]');
    expect(await count.innerText()).toBe('0 of 3 confirmations');
    await node.mine(1);
    await count.filter({ hasText: '1 of 3' }).waitFor();
    await node.reorg(1, false);
    await node.mine(1);
    await count.filter({ hasText: '1 of 3' }).waitFor();
    await node.mine(2);
    await visit.shows('paid');
    expect(await page.locator('.receipt').innerText()).toContain(txid);
    await page.waitForURL(`${shop.origin}/thanks`);
    await visit.end({ others: [shop.origin] });
  });

  it('without a price it offers nothing, and asks nobody to send anything', async () => {
    const call = (path: string, body = {}): Promise<{ id: string }> =>
      fetch(`${stage.service.url}/api/v1/sdk${path}`, {
        method: 'POST',
        headers: { 'mb-client-id': clientId, origin: shop.origin, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then((response) => response.json() as Promise<{ id: string }>);
    const begun = await call('/invoice', { amount: 80, crypto: 'LTC' });
    await call(`/invoice/rp/${begun.id}`);
    const open = await call('/invoice', { amount: 80 });
    const file = join(stage.service.dataDir, 'countinghouse.toml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(RATES, ''));
    await stage.service.restart();
    stage.service.advance(HOUR + 60_000);
    await node.mine(1);

    const visit = await stage.visit();
    await visit.open(begun.id);
    await visit.page.getByText('there is no current exchange rate. Do not send anything now').waitFor();
    expect(await visit.page.locator('[data-part="address"], .qr').count()).toBe(0);
    expect(await faultsOf(visit.page)).toEqual([]);
    await visit.open(open.id);
    await visit.page.locator('.shut[data-crypto="LTC"]').getByText('no current exchange rate').waitFor();
    await visit.page.getByText('No cryptocurrency can be used at the moment').waitFor();
    expect(await visit.page.locator('button[name="crypto"]').count()).toBe(0);
    expect(await faultsOf(visit.page)).toEqual([]);
    await visit.end();
  });
});
