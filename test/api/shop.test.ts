/** Selling by hand: any amount, search by what somebody knows, the verdict on an unpaid invoice, takings, the counter. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { refusal, strictCaller } from './operator-raw.ts';

const RATES = 'BTC = "100000"\nLTC = "100"\nEUR = "0.5"';
let daemon: TestDaemon;
let call: ReturnType<typeof strictCaller>;
beforeAll(async () => {
  daemon = await startTestDaemon(`[networks.sandbox.rates]\n${RATES}\n`);
  call = strictCaller(daemon.dataDir);
});
afterAll(() => daemon.stop());

const make = async (amount: string, more: object = {}): Promise<string> =>
  (await call('invoice.create', { business: '1', amount, currency: 'EUR', ...more })).invoice.slug;
const pay = (invoice: string, crypto = 'LTC') =>
  call('sandbox.play', { action: 'pay', business: '1', invoice, crypto });
const mine = (crypto: string, blocks: number) =>
  call('sandbox.play', { action: 'mine', business: '1', crypto, blocks });
const verdict = async (invoice: string | null, text: string | null = null) =>
  call('invoice.explain', { invoice, text });
const verdictIs = (invoice: string, wanted: string): Promise<unknown> =>
  until(`the verdict is ${wanted}`, async () => (await verdict(invoice)).verdict === wanted);

describe('an invoice by hand', () => {
  it('may be of a cent, but of nothing less', async () => {
    expect((await call('invoice.show', { invoice: await make('0.01') })).invoice).toMatchObject({
      amount: '0.01',
      origin: 'operator',
    });
    const wanted = { business: '1', currency: 'EUR' };
    expect(await refusal(daemon.dataDir, 'invoice.create', { ...wanted, amount: '0' })).toMatchObject({
      code: 'validation',
    });
    expect(await refusal(daemon.dataDir, 'invoice.create', { ...wanted, amount: '1.001' })).toMatchObject({
      code: 'validation',
    });
    const shop = await daemon.call('POST', '/invoice', { amount: 1, currency: 'EUR' });
    expect(shop.status).toBe(422);
  });
});

describe('search', () => {
  it('finds an invoice by id, reference, address, transaction, amount and link', async () => {
    const slug = await make('61.25', { order_id: 'table 9' });
    const { tx_id: txid } = await pay(slug);
    await verdictIs(slug, 'unconfirmed');
    const { invoice } = await call('invoice.show', { invoice: slug });
    const ways = {
      id: [slug, invoice.uuid, invoice.uuid.toUpperCase(), invoice.invoice_url],
      reference: ['table 9'],
      address: [invoice.payment!.address, `litecoin:${invoice.payment!.address}?amount=1`],
      transaction: [txid!, txid!.toUpperCase(), ` ${txid!} `],
      amount: ['61.25', '61.25 EUR', '61.250 eur'],
    };
    for (const [way, texts] of Object.entries(ways)) {
      for (const text of texts) {
        const { invoices, as } = await call('invoice.find', { text });
        expect([text, as, invoices.map((one) => one.slug)]).toEqual([text, [way], [slug]]);
      }
    }
    expect((await call('invoice.find', { text: '61.25 USD' })).invoices).toEqual([]);
    expect((await call('invoice.find', { text: "' OR 1=1 --" })).invoices).toEqual([]);
  });

  it('pages the invoices of a state without a gap', async () => {
    const all = (await call('invoice.list', { business: '1', status: 'unpaid', limit: 200 })).invoices.map(
      ({ id }) => id,
    );
    const paged: number[] = [];
    for (let before: number | null | undefined; before !== null; ) {
      const page: Awaited<ReturnType<typeof call<'invoice.list'>>> = await call('invoice.list', {
        business: '1',
        status: 'unpaid',
        limit: 1,
        ...(before === undefined ? {} : { before }),
      });
      paged.push(...page.invoices.map(({ id }) => id));
      before = page.next;
    }
    expect(paged).toEqual(all);
    expect(all.length).toBeGreaterThan(1);
  });
});

describe("why isn't this paid", () => {
  it('says what happened, step by step', async () => {
    const slug = await make('40');
    expect((await verdict(slug)).verdict).toBe('not_chosen');
    await daemon.call('POST', `/invoice/rp/${slug}`, { crypto: 'BTC' });
    expect((await verdict(slug)).verdict).toBe('waiting');
    await daemon.call('POST', '/sandbox/pay', { invoice_id: slug, amount: '0.0005' });
    await verdictIs(slug, 'short');
    expect(await verdict(slug)).toMatchObject({
      received: '0.0005',
      missing: '0.0003',
      missing_value: '15',
      crypto: 'BTC',
    });
    const { tx_id: txid } = await call('sandbox.play', { action: 'pay', business: '1', invoice: slug });
    await verdictIs(slug, 'unconfirmed');
    await mine('BTC', 6);
    await verdictIs(slug, 'paid');
    expect(await verdict(null, txid)).toMatchObject({ verdict: 'paid', invoice: slug });
    await daemon.call('POST', '/sandbox/pay', { invoice_id: slug, amount: '0.0001' });
    await mine('BTC', 6);
    const { items } = await until('it is in the inbox', async () => {
      const found = await call('inbox.list', {});
      return found.items.length > 0 && found;
    });
    expect(await verdict(null, items[0]!.outpoint.split(':')[0]!)).toMatchObject({
      verdict: 'inbox',
      inbox: items[0]!.id,
    });
  });

  it.each([
    ['f'.repeat(64), 'unknown_transaction'],
    ['no address at all', 'unknown_address'],
    ['bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080', 'unknown_address'],
  ])('%s: %s', async (text, wanted) => {
    expect((await verdict(null, text)).verdict).toBe(wanted);
  });

  it('of a canceled one', async () => {
    const slug = await make('12');
    await call('invoice.cancel', { invoice: slug });
    expect((await verdict(slug)).verdict).toBe('canceled');
  });
});

describe('takings', () => {
  it('sum the confirmed money that counts, by day and month and coin', async () => {
    const today = new Date(daemon.now()).toISOString().slice(0, 10);
    const { periods } = await call('takings.list', { business: '1', by: 'day', periods: 30 });
    expect(periods).toEqual([
      // 40 EUR at two dollars each, in two payments; what went to the inbox is not counted
      {
        period: today,
        payments: 2,
        coins: [{ crypto: 'BTC', usd: '80', payments: 2 }],
        refunds: { count: 0, usd: '0' },
      },
    ]);
    const months = await call('takings.list', { business: '1', by: 'month', periods: 12 });
    expect(months.periods).toEqual([{ ...periods[0], period: today.slice(0, 7) }]);
  });
});

describe('the currency of a business', () => {
  it('is one of those that invoices can have, is used by the counter, and has a rate', async () => {
    expect((await call('counter.show', {})).currency).toBeNull();
    await expect(call('business.brand', { business: '1', currency: 'XXX' })).rejects.toThrow(
      'XXX is no currency that invoices can have',
    );
    const { business } = await call('business.brand', { business: '1', currency: 'EUR' });
    expect([business.brand.currency, business.brand.name]).toEqual(['EUR', null]);
    expect(await call('counter.show', {})).toMatchObject({ currency: 'EUR', currencies: ['EUR'] });
    const { currencies } = await call('rates.list', {});
    expect(currencies.find((one) => one.currency === 'USD')).toEqual({
      network: 'sandbox',
      currency: 'USD',
      per_dollar: '1',
    });
    const euro = currencies.find((one) => one.currency === 'EUR');
    expect(Number(euro?.per_dollar)).toBeGreaterThan(0);
    await call('business.brand', { business: '1', currency: null });
    expect((await call('counter.show', {})).currencies).toContain('USD');
  });
});

describe('the counter', () => {
  it('sells, and cancels its own sales only', async () => {
    const shop = await call('counter.show', {});
    expect(shop).toMatchObject({ business: 1, network: 'sandbox' });
    expect(
      shop.cryptos
        .filter(({ ready }) => ready)
        .map(({ crypto }) => crypto)
        .sort(),
    ).toEqual(expect.arrayContaining(['BTC', 'LTC']));
    const { invoice } = await call('counter.sell', { business: 1, amount: '4.20', currency: 'EUR' });
    const any = await call('counter.sale', { invoice });
    expect(any).toMatchObject({ code: `${daemon.url}/pay/${invoice}`, crypto: null });
    expect((await call('counter.sale', { invoice, crypto: 'LTC' })).code).toBe(any.code);
    await call('counter.choose', { invoice, crypto: 'LTC' });
    const one = await call('counter.sale', { invoice, crypto: 'LTC' });
    expect(one).toMatchObject({ crypto: 'LTC', crypto_amount: '0.084' });
    expect(one.code).toMatch(/^litecoin:rltc1[a-z0-9]+\?amount=0\.084$/);
    await call('counter.cancel', { invoice });
    // its address is for nobody any more
    const ended = await call('counter.sale', { invoice, crypto: 'LTC' });
    expect([ended.code, ended.sale.status]).toEqual([any.code, 'canceled']);
    const other = await make('13');
    const none = { code: 'invoice.not_found' };
    expect(await refusal(daemon.dataDir, 'counter.cancel', { invoice: other })).toMatchObject(none);
    expect(await refusal(daemon.dataDir, 'counter.sale', { invoice: other })).toMatchObject(none);
    expect(await refusal(daemon.dataDir, 'counter.choose', { invoice: other, crypto: 'LTC' })).toMatchObject(none);
    expect((await call('counter.show', {})).sales).toMatchObject([{ invoice, status: 'canceled', amount: '4.2' }]);
  });
});
