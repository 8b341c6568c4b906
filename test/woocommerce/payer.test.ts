/** What a payer and the shop's books see of a payment that is short, taken back, small or sent back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strictCaller } from '../api/operator-raw.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';
import { fieldOf, freePort, hasShop, type Order, type Shop, shopTitle, startShop, Visitor } from './shop.ts';

type Payment = { amount: string; received: string; remaining: string };
type Mail = { to: string | string[]; text: string };

describe.skipIf(!hasShop)(shopTitle('The payer of a WooCommerce order'), () => {
  let shop: Shop;
  let service: TestDaemon;
  let admin: Visitor;
  let operator: Operator;
  beforeAll(async () => {
    const port = await freePort();
    service = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
    operator = new Operator(service.dataDir);
    shop = await startShop(port);
    const url = shop.rest('/countinghouse/v1/events');
    const { endpoint } = await strictCaller(service.dataDir)('endpoint.add', { business: 'Sandbox', url, types: [] });
    const settings = {
      enabled: 'yes',
      base_url: service.url,
      api_key: service.apiKey,
      endpoint_secret: endpoint.secret,
      days: '2',
    };
    const text = Buffer.from(JSON.stringify(settings)).toString('base64');
    await shop.run(`update_option('woocommerce_countinghouse_settings', json_decode(base64_decode('${text}'), true));`);
    admin = new Visitor(shop);
    await admin.logIn();
  });
  afterAll(async () => {
    await shop?.stop();
    await service?.stop();
  });

  const create = (total: string, currency = 'USD') => shop.call<Order>('POST', '/orders', { total, currency });
  const checkout = (order: number) =>
    shop.call<{ answer: { redirect: string } }>('POST', `/checkout/${order}`).then(({ answer }) => answer.redirect);
  const pay = (id: string, amount?: string) =>
    service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id: id, ...(amount ? { amount } : {}) });
  const mine = () => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
  const invoice = async (id: string) =>
    (await service.call<Record<string, unknown> & { payment: Payment }>('GET', `/invoice/${id}`)).body;
  const becomes = (order: number, what: string, is: (order: Order) => boolean) =>
    until(`order ${order} ${what}`, async () => {
      const now = await shop.order(order);
      return is(now) && now;
    });
  const says = (order: number, text: string) =>
    becomes(order, `says "${text}"`, ({ notes }) => notes.some((note) => note.includes(text)));
  const thanks = async (order: number) => (await new Visitor(shop).go((await shop.order(order)).received_url)).text;

  const orderPage = async (order: number) => (await shop.call<{ html: string }>('GET', `/page/${order}`)).html;

  async function requested(total = '80.00'): Promise<{ order: number; id: string; url: string; amount: string }> {
    const order = (await create(total)).id;
    const url = await checkout(order);
    const id = url.split('/').at(-1)!;
    const { amount } = (await service.call<Payment>('POST', `/invoice/rp/${id}`, { crypto: 'LTC' })).body;
    return { order, id, url, amount };
  }

  async function paid(): Promise<{ order: number; id: string; amount: string }> {
    const made = await requested();
    await pay(made.id);
    await mine();
    await becomes(made.order, 'is processing', ({ status }) => status === 'processing');
    return made;
  }

  it('who has not paid reads so after the checkout, and finds the payment page', async () => {
    const { order, url } = await requested();
    const page = await thanks(order);
    expect(page).toContain('This order is not paid yet.');
    expect(page).toContain(`href="${url}"`);
    expect(page).toContain('Order not paid yet');
    expect(page).not.toContain('has been received');
  });

  it('who paid too little reads what is missing, in the email too, and can pay the rest', async () => {
    const { order, id, url } = await requested();
    await pay(id, '0.4');
    const held = await becomes(order, 'is on hold', ({ status }) => status === 'on-hold');
    expect(held.needs_payment).toBe(true);
    expect(held.pay_url).toBe(url);
    await mine();
    const { remaining } = (await invoice(id)).payment;
    const missing = `0.4 LTC came for this order. ${remaining} LTC is still missing.`;
    const page = await thanks(order);
    for (const shown of [page, await orderPage(order)]) {
      expect(shown).toContain(missing);
      expect(shown).toContain(`href="${url}"`);
    }
    const mails = (await shop.call<Mail[]>('GET', '/mails')).filter(({ text }) => text.includes(url));
    expect(mails.some(({ text, to }) => text.includes(missing) && `${to}` === 'payer@example.com')).toBe(true);
    const { notes } = await says(order, `${remaining} LTC is missing`);
    expect(notes.join()).not.toContain('not confirmed yet');
    expect(await checkout(order)).toBe(url);
    await pay(id);
    await mine();
    await becomes(order, 'is processing', ({ status, needs_payment }) => status === 'processing' && !needs_payment);
  });

  it('whose payment waits for confirmations is not asked to pay again', async () => {
    const { order, id } = await requested();
    await pay(id);
    const held = await becomes(order, 'is on hold', ({ status }) => status === 'on-hold');
    expect(held.needs_payment).toBe(false);
    expect(await thanks(order)).toContain('Your payment was seen.');
  });

  it('whose payment was double-spent reads so, gets an email, and can pay again', async () => {
    const { order, id, url } = await requested();
    const { tx_id } = (await pay(id)).body;
    await becomes(order, 'is on hold', ({ status }) => status === 'on-hold');
    await service.call('POST', '/sandbox/double-spend', { tx_id });
    await until('it is gone', async () => Number((await invoice(id)).payment.received) === 0);
    for (const shown of [await thanks(order), await orderPage(order)]) {
      expect(shown).toContain('Your payment was taken back before it was confirmed');
      expect(shown).toContain(`href="${url}"`);
    }
    expect((await shop.order(order)).needs_payment).toBe(true);
    await thanks(order);
    const told = (await shop.call<Mail[]>('GET', '/mails')).filter(
      ({ text }) => text.includes('was taken back') && text.includes(url),
    );
    expect(told).toHaveLength(1);
  });

  it.each([
    { total: '9.99', currency: 'USD', offered: false },
    { total: '10.00', currency: 'USD', offered: true },
    { total: '1.00', currency: 'EUR', offered: false },
    { total: '80.00', currency: 'KWD', offered: true },
    { total: '80.00', currency: 'BTC', offered: false },
  ])(
    'with $total $currency is offered the method, which needs the least amount of the contract: $offered',
    async ({ total, currency, offered }) => {
      const { id } = await create(total, currency);
      expect((await shop.call<{ available: boolean }>('GET', `/offered/${id}`)).available).toBe(offered);
    },
  );

  it.each([
    ['19.999', 'USD', '20'],
    ['19.990', 'KWD', '19.99'],
    ['19.991', 'KWD', '20'],
    ['99.9999', 'BHD', '100'],
    ['1999', 'JPY', '1999'],
    ['1999.01', 'JPY', '2000'],
    ['0.07', 'USD', '0.07'],
    ['1000000', 'USD', '1000000'],
  ])('of %s %s is asked for %s', async (total, currency, asked) => {
    const code = `update_option('woocommerce_price_num_decimals', 4); $order = wc_create_order(); $order->set_total('${total}'); $order->set_currency('${currency}');
      echo Countinghouse\\Orders::asked($order); update_option('woocommerce_price_num_decimals', 2);`;
    expect(await shop.run(code)).toBe(asked);
  });

  it('of an order with three decimals pays the rounded amount, and the order is paid', async () => {
    await shop.run("update_option('woocommerce_price_num_decimals', 3);");
    const { order, id } = await requested('19.999');
    expect(await invoice(id)).toMatchObject({ amount: '20', currency: 'USD' });
    await says(order, 'asks for 20 USD: 19.999 rounded up');
    await pay(id);
    await mine();
    await becomes(order, 'is processing', ({ status }) => status === 'processing');
    await shop.run("update_option('woocommerce_price_num_decimals', 2);");
  });

  describe('who gets money back', () => {
    const ADDRESS = stranger('LTC', 9);
    const form = (order: number): string => `/wp-admin/admin.php?page=countinghouse-refund&order=${order}`;
    // something to pay fees from
    beforeAll(() => deposit(service, 'LTC', 400));

    async function refund(order: number, id: string, amount: string): Promise<void> {
      const { text } = await admin.go(form(order));
      const hidden = ['_wpnonce', 'action', 'order', 'key'].map((name) => [name, fieldOf(text, name)]);
      const values = { ...Object.fromEntries(hidden), invoice: id, address: ADDRESS, amount };
      expect((await admin.go('/wp-admin/admin-post.php', values)).status).toBe(302);
      const { items } = (await service.call<{ items: { id: string }[] }>('GET', '/withdrawals')).body;
      await operator.approve(items[0]!.id);
    }

    it('is sent it from a page that has its title, in the browser too', async () => {
      const { order } = await requested();
      const { text } = await admin.go(form(order));
      expect(/<title>([^<]*)/.exec(text)?.[1]).toMatch(/^Refund in cryptocurrency\b/);
      expect(text).toContain('<h1>Refund in cryptocurrency</h1>');
    });

    it('is in the books of WooCommerce, part by part, and the order refunded with the last one', async () => {
      const { order, id, amount } = await paid();
      expect(amount).toBe('1');
      await refund(order, id, '0.25');
      const part = await becomes(order, 'has a refund', ({ refunds }) => {
        void mine();
        return refunds.length === 1;
      });
      expect(part).toMatchObject({ status: 'processing', refunds: ['20.00'] });
      await refund(order, id, '');
      const whole = await becomes(order, 'is refunded', ({ status }) => {
        void mine();
        return status === 'refunded';
      });
      expect(whole.refunds.map(Number).sort((a, b) => a - b)).toEqual([20, 60]);
      expect(whole.notes.join('\n')).not.toContain('To return funds to the customer');
    });
  });

  it('meets a plug-in that complains of nothing, on any page', async () => {
    expect(await shop.complaints()).toEqual([]);
    expect(await shop.complaints(/PHP Deprecated.*(strip_tags|str_replace|strpos)/)).toEqual([]);
  });
});
