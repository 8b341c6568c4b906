/** The counter's items, a sale that is sent twice, and closing the day. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { refusal, strictCaller } from './operator-raw.ts';

const RATES = '[networks.sandbox.rates]\nLTC = "80"\nBTC = "97000"\nEUR = "0.92"\n';
const HOSTILE = '\u202EKaffee <img src=x onerror=alert(1)>';
const BUSINESS = '1';

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon(RATES);
  await call()('business.brand', { business: BUSINESS, currency: 'EUR' });
});
afterAll(() => daemon.stop());
const call = () => strictCaller(daemon.dataDir);
const items = async () => (await call()('item.list', { business: BUSINESS })).items;

describe('items', () => {
  it('are added, changed, sold out and removed', async () => {
    const item = { name: HOSTILE, category: ' Drinks ', price: '2.40', vat: 700 };
    await call()('item.add', { business: BUSINESS, items: [item, { name: 'Croissant', price: '2.2' }] });
    const [first, second] = await items();
    expect(first).toMatchObject({ name: HOSTILE, category: 'Drinks', price: '2.4', vat: 700, sold_out: false });
    expect(second).toMatchObject({ category: '', vat: null });
    const { id } = first!;
    await call()('item.change', { business: BUSINESS, id, name: 'Espresso', price: '2.5', vat: 1900, sold_out: true });
    expect((await items())[0]).toMatchObject({ name: 'Espresso', category: '', price: '2.5', sold_out: true });
    for (const { id } of await items()) await call()('item.remove', { business: BUSINESS, id });
    expect(await items()).toEqual([]);
    expect(await refusal(daemon.dataDir, 'item.remove', { business: BUSINESS, id })).toMatchObject({ status: 404 });
  });

  it.each([
    [{ name: ' ', price: '1' }],
    [{ name: 'a\u0000b', price: '1' }],
    [{ name: 'x'.repeat(101), price: '1' }],
    [{ name: 'Tea', price: '1.234' }],
    [{ name: 'Tea', price: '-1' }],
    [{ name: 'Tea', price: '1', vat: 10_000 }],
  ])('%j is refused', async (item) => {
    const { status, code } = await refusal(daemon.dataDir, 'item.add', { business: BUSINESS, items: [item] });
    expect(['params 422', 'validation 400']).toContain(`${code} ${status}`);
  });

  it('are 10,000 at the most', async () => {
    const five = Array.from({ length: 500 }, (_, at) => ({ name: `Item ${at}`, price: '1', category: `${at % 9}` }));
    for (let n = 0; n < 20; n++) await call()('item.add', { business: BUSINESS, items: five });
    const all = await items();
    expect(all).toHaveLength(10_000);
    const more = { business: BUSINESS, items: [{ name: 'Tea', price: '1' }] };
    expect(await refusal(daemon.dataDir, 'item.add', more)).toMatchObject({ status: 409, code: 'item.too_many' });
    // this many are removed by a shop of its own
  }, 120_000);
});

describe('a day at the counter', () => {
  let shop: string;
  let espresso: number;
  let cake: number;
  beforeAll(async () => {
    const made = await call()('business.add', {
      name: 'Cafe',
      network: 'sandbox',
      time_zone: 'Europe/Berlin',
      key: { name: 'key', scopes: ['invoices'] },
    });
    shop = `${made.business.id}`;
    await call()('business.brand', { business: shop, currency: 'EUR' });
    await call()('item.add', {
      business: shop,
      items: [
        { name: 'Espresso', price: '2.40', vat: 700 },
        { name: 'Cake', price: '4.50', vat: 1900 },
      ],
    });
    [espresso, cake] = (await call()('item.list', { business: shop })).items.map(({ id }) => id) as [number, number];
  });

  const cart = (more: object = {}) => ({
    business: Number(shop),
    amount: '10.23',
    currency: 'EUR',
    note: null,
    tip: '0.93',
    request: randomUUID(),
    lines: [
      { item: espresso, price: '2.4', quantity: 2 },
      { item: cake, price: '4.50', quantity: 1 },
    ],
    ...more,
  });
  const sell = async (more: object = {}): Promise<string> => (await call()('counter.sell', cart(more))).invoice;
  const play = (action: object) => call()('sandbox.play', { business: shop, ...action } as never);
  const next = async () => (await call()('closing.next', { business: shop })).closing;
  async function pay(invoice: string): Promise<void> {
    await play({ action: 'pay', invoice, crypto: 'LTC' });
    await play({ action: 'mine', crypto: 'LTC', blocks: 12 });
    const status = async () => (await call()('invoice.show', { invoice })).invoice.status;
    await until('it is paid', async () => (await status()) === 'paid');
  }

  it('a sale that is sent again is the same one, also after a restart', async () => {
    const sale = cart();
    const { invoice } = await call()('counter.sell', sale);
    expect((await call()('counter.sell', sale)).invoice).toBe(invoice);
    await daemon.restart();
    const both = await Promise.all([call()('counter.sell', sale), call()('counter.sell', sale)]);
    expect(both.map((one) => one.invoice)).toEqual([invoice, invoice]);
    const { invoices } = await call()('invoice.list', { business: shop });
    expect(invoices.map(({ slug, amount }) => [slug, amount])).toEqual([[invoice, '10.23']]);
    const { tip, lines } = await call()('counter.sale', { invoice });
    expect([tip, lines.map(({ name, quantity }) => [name, quantity])]).toEqual([
      '0.93',
      [
        ['Espresso', 2],
        ['Cake', 1],
      ],
    ]);
    await call()('counter.cancel', { invoice });
  });

  it.each([
    ['another sum', { amount: '10.24' }, 'validation', 400],
    [
      'an old price',
      { lines: [{ item: 10_001, price: '2.3', quantity: 1 }], amount: '2.3', tip: '0' },
      'item.price',
      409,
    ],
    ['an unknown item', { lines: [{ item: 99_999, price: '1', quantity: 1 }] }, 'item.not_found', 404],
    ['an item of another shop', { lines: [{ item: 5, price: '1', quantity: 1 }] }, 'item.not_found', 404],
    ['no quantity', { lines: [{ item: 10_001, price: '2.4', quantity: 0 }] }, 'params', 422],
  ])('a sale with %s is not made', async (_name, more, code, status) => {
    const lines = (more as { lines?: { item: number }[] }).lines;
    for (const line of lines ?? []) if (line.item === 10_001) line.item = espresso;
    expect(await refusal(daemon.dataDir, 'counter.sell', cart(more) as never)).toMatchObject({ code, status });
    const { invoices } = await call()('invoice.list', { business: shop });
    expect(invoices).toHaveLength(1);
  });

  it('is closed by what was paid, in which every sum adds up; the next day begins at nothing', async () => {
    expect(await next()).toMatchObject({ number: 1, parts: [], waiting: [] });
    await pay(await sell());
    await pay(await sell({ amount: '2.40', tip: '0', lines: [{ item: espresso, price: '2.4', quantity: 1 }] }));
    await pay(await sell({ amount: '7.70', tip: '0', lines: [] }));
    const open = await sell();
    await play({ action: 'pay', invoice: open, crypto: 'LTC' });
    await until('it is seen', async () => (await next()).waiting.length === 1);
    const closing = await next();
    expect(closing.waiting).toEqual([{ invoice: open, amount: '10.23', currency: 'EUR' }]);
    expect(closing.books).toEqual({ agree: 3, differ: [] });
    expect(closing.parts).toEqual([
      {
        currency: 'EUR',
        sales: { count: 3, sum: '19.4' },
        tips: '0.93',
        refunds: { count: 0, sum: '0', unvalued: 0 },
        fees: [],
        taken: '20.33',
        items: [
          { name: '', price: '7.7', quantity: 1, sum: '7.7' },
          { name: 'Espresso', price: '2.4', quantity: 3, sum: '7.2' },
          { name: 'Cake', price: '4.5', quantity: 1, sum: '4.5' },
        ],
        coins: [{ crypto: 'LTC', payments: 3, sum: '20.33' }],
        difference: expect.stringMatching(/^0(\.0\d+)?$/),
        taxes: [
          { rate: 1900, net: '3.78', tax: '0.72', gross: '4.5' },
          { rate: 700, net: '6.73', tax: '0.47', gross: '7.2' },
          { rate: null, net: '7.7', tax: '0', gross: '7.7' },
        ],
        kept_tips: '0.93',
      },
    ]);
    const { rows } = await call()('export.page', { business: shop, from: '2020-01-01', to: '2100-01-01' });
    expect(rows.map((row) => [row.kind, row.currency, row.book_currency, row.vat])).toEqual([
      ['receipt', 'EUR', 'EUR', '7:4.8:0.31 19:4.5:0.72 tip:0.93:0'],
      ['receipt', 'EUR', 'EUR', '7:2.4:0.16'],
      ['receipt', 'EUR', 'EUR', 'none:7.7:0'],
    ]);
    // the quote's rate: 80 dollars a coin, 0.92 euros a dollar
    for (const { book_rate, book_value, value, book_rate_at } of rows) {
      expect([book_rate, book_value, book_rate_at]).toEqual(['73.6', value, expect.stringMatching(/Z$/)]);
    }
    const { closing: made } = await call()('closing.make', { business: shop, number: 1 });
    expect({ ...made, to: '' }).toEqual({ ...closing, to: '' });
    expect(await refusal(daemon.dataDir, 'closing.make', { business: shop, number: 1 })).toMatchObject({
      status: 409,
      code: 'closing.number',
    });
    const listed = (await call()('closing.list', { business: shop })).closings;
    expect(listed).toEqual([made]);
    expect(await next()).toMatchObject({ number: 2, parts: [], waiting: [{ invoice: open }] });
    await play({ action: 'mine', crypto: 'LTC', blocks: 12 });
    await until('it is in the next', async () => (await next()).parts[0]?.sales.count === 1);
  });

  it('has each refund once, taken off the rates of its sale', async () => {
    const slug = await sell();
    await pay(slug);
    const { addresses } = await call()('address.list', { business: shop, chain: 'LTC', limit: 1 });
    const { withdrawal } = await call()('invoice.refund', {
      invoice: slug,
      address: addresses[0]!.address,
      amount: '0.05',
    });
    expect((await next()).parts[0]!.refunds.count).toBe(0);
    const proposal = { kind: 'pay' as const, id: `${withdrawal.id}` };
    const { preview } = await call()('withdrawal.propose', proposal);
    const approvals = preview!.intents.map(({ uuid, feeMax }) => ({
      uuid,
      fee_max: feeMax,
      until: preview!.until,
      mac: null,
    }));
    await call()('withdrawal.approve', { proposal, approvals });
    await until('it is refunded', async () => {
      await play({ action: 'mine', crypto: 'LTC', blocks: 3 });
      return (await next()).parts[0]!.refunds.count === 1;
    });
    const { parts } = await next();
    const [part] = parts;
    const scaled = (text: string): bigint => {
      const [whole, cents = ''] = text.split('.');
      return BigInt(whole! + cents.padEnd(8, '0'));
    };
    const sum = (texts: string[]): bigint => texts.reduce((total, text) => total + scaled(text), 0n);
    expect(scaled(part!.refunds.sum)).toBeGreaterThan(0n);
    expect(sum([part!.kept_tips, ...part!.taxes.map(({ gross }) => gross)])).toBe(scaled(part!.taken));
    expect(part!.fees).toEqual([{ crypto: 'LTC', amount: expect.stringMatching(/^0\.\d+$/) }]);
    const { rows } = await call()('export.page', { business: shop, from: '2020-01-01', to: '2100-01-01' });
    const [refund] = rows.filter(({ refund_of }) => refund_of === slug);
    // 0.05 LTC at 73.6 euros, shared out as the sale was: 4.80, 4.50 and a tip of 0.93
    expect(refund).toMatchObject({ kind: 'withdrawal', amount: '0.05', value: '3.67999999', book_value: '3.68' });
    const cells = refund!.vat.split(' ').map((cell) => cell.split(':'));
    expect(cells.map(([rate, , tax]) => [rate, tax])).toEqual([
      ['7', '-0.11'],
      ['19', '-0.26'],
      ['tip', '0'],
    ]);
    expect(rows.find(({ kind }) => kind === 'fee')).toMatchObject({ book_currency: 'EUR', book_rate: '73.6' });
    // the month has the three sales that are closed, these two, and the refund, which went to an address of the shop
    const month = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' }).format(Date.now()).slice(0, 7);
    const { coins, values, taxes } = await call()('books.statement', { business: shop, month });
    expect(coins).toMatchObject([{ crypto: 'LTC', opening: '0', flows: { refunds: '0.05', withdrawals: '0' } }]);
    expect(values).toMatchObject([{ currency: 'EUR', unrated: 0, flows: { refunds: '3.68', received: '3.68' } }]);
    // what the coin's last digit brought above the price goes back first, without VAT
    const beyond = scaled(rows.find(({ reference }) => reference === slug)!.value) - scaled('10.23');
    const kept = scaled('40.79') - (scaled('3.67999999') - beyond);
    expect(sum(taxes.map(({ gross }) => gross))).toBe(kept);
    expect(taxes.map(({ currency, rate, tax }) => [currency, rate, tax])).toEqual([
      ['EUR', 1900, '1.9'],
      ['EUR', 700, '0.99'],
      ['EUR', null, '0'],
      ['EUR', 'tip', '0'],
    ]);
    const text = await cli(daemon.dataDir, ['statement', '--month', month, '--business', shop]);
    expect(text.out).toMatch(/^LTC +0 +[\d.]+ +0\.05 +0\.05 +0 +0\.0\d+ +0 +[\d.]+$/m);
    expect(text.out).toMatch(/^19 +EUR +[\d.]+ +1\.9 +[\d.]+$/m);
    const file = await cli(daemon.dataDir, ['statement', '--month', month, '--business', shop, '--csv']);
    expect(file.out.split('\r\n')).toEqual(
      expect.arrayContaining([
        'month,business,part,unit,name,amount,net,vat',
        `${month},Cafe,coin,LTC,opening,0,,`,
        `${month},Cafe,value,EUR,refunds,3.68,,`,
        expect.stringMatching(new RegExp(`^${month},Cafe,vat,EUR,19,[\\d.]+,[\\d.]+,1\\.9$`)),
      ]),
    );
    expect(await cli(daemon.dataDir, ['statement', '--month', '2026-13'])).toMatchObject({ code: 2 });
    const wrong = { business: shop, month: '2026-13' };
    expect(await refusal(daemon.dataDir, 'books.statement', wrong)).toMatchObject({ status: 422, code: 'params' });
    await call()('closing.make', { business: shop, number: 2 });
    await daemon.restart();
    expect(await next()).toMatchObject({ number: 3, parts: [] });
  });
});
