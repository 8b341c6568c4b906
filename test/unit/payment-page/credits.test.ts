/** Which price sources the payment page names, on the model of a stored invoice. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { readInvoice } from '../../../daemon/app/invoices/views.ts';
import { invoicePage } from '../../../daemon/payment-page/model.ts';
import { Bench } from '../app/bench.ts';

const ONE = 100_000_000n;
const GECKO = 'Price data by CoinGecko';
const EXCHANGE = 'Rates By Exchange Rate API';

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open('LTC');
});
afterEach(() => bench.app.store.close());

function quote(name: 'coingecko' | 'er-api', code: string): void {
  const kind = name === 'er-api' ? 'fiat' : 'coin';
  bench.app.rates.record({ name, kind }, [{ code, scaled: 6_000_000_000_000n, quotedIn: 'USD' }], bench.at);
}

async function named(slug: string): Promise<[state: string, names: string[]]> {
  const found = await readInvoice(bench.app, null, slug);
  const place = { root: '', query: '', plays: false, isLocal: false, change: false, watch: false };
  const { state, credits } = invoicePage(bench.app, found, place);
  return [state.is, credits.map(({ text }) => text)];
}

it('names those that quoted the coin of the payment, also on its receipt, and nobody for a dollar', async () => {
  const { slug, targetId, units } = await bench.invoice();
  expect(await named(slug)).toEqual(['waiting', []]);
  quote('coingecko', 'BTC');
  quote('er-api', 'EUR');
  expect(await named(slug)).toEqual(['waiting', []]);
  quote('coingecko', 'LTC');
  expect(await named(slug)).toEqual(['waiting', [GECKO]]);
  await bench.tell({ credits: () => [bench.credit(targetId, units)] });
  expect(await named(slug)).toEqual(['detected', []]);
  await bench.tell({ blocks: 12, credits: () => [bench.credit(targetId, units, 11)] });
  expect(await named(slug)).toEqual(['paid', [GECKO]]);
});

it('names those of the offered coins and of the currency before a coin is chosen', async () => {
  for (const name of ['one fiat', 'two fiat']) {
    bench.app.rates.record({ name, kind: 'fiat' }, [{ code: 'EUR', scaled: ONE, quotedIn: 'USD' }], bench.at);
  }
  const wanted = {
    amount: 100n * ONE,
    currency: 'EUR',
    crypto: 'ALL',
    dueAt: null,
    closeUrl: null,
    redirectUrl: null,
    webhookUrl: null,
    automaticRedirect: false,
    origin: 'merchant',
  } as const;
  const { app, businessId } = bench;
  const { slug } = await app.store.write((tx) => createInvoice(app, app.directory.business(businessId), wanted, tx));
  expect(await named(slug)).toEqual(['choose', []]);
  quote('er-api', 'EUR');
  expect(await named(slug)).toEqual(['choose', [EXCHANGE]]);
  quote('coingecko', 'LTC');
  expect(await named(slug)).toEqual(['choose', [GECKO, EXCHANGE]]);
});
