/** The WooCommerce gateway in Debian's WordPress, with a running service behind it and a stand-in for WooCommerce. */
import { runInNewContext } from 'node:vm';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { strictCaller } from '../api/operator-raw.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';
import { type Between, standBetween } from './between.ts';
import { fieldOf, freePort, hasShop, type Order, type Shop, shopTitle, startShop, Visitor } from './shop.ts';

type Checkout = { answer: { result: string; redirect?: string }; notices: [string, string][] };
type Withdrawal = { id: string; invoice_id: string | null; status: string; tx_id: string | null };
type Invoice = Record<string, unknown> & {
  id: string;
  status: string;
  payment: { status: string | null; received?: string; undone?: boolean };
};

const SETTINGS = '/wp-admin/admin.php?page=wc-settings&tab=checkout&section=countinghouse';
const field = (name: string): string => `woocommerce_countinghouse_${name}`;

describe.skipIf(!hasShop)(shopTitle('The WooCommerce gateway'), () => {
  let shop: Shop;
  let service: TestDaemon;
  let between: Between;
  let admin: Visitor;
  let endpoint: number;
  let secret: string;
  let operate: ReturnType<typeof strictCaller>;
  let operator: Operator;

  /** Saves the settings as an administrator does, and returns the page. */
  async function save(values: Record<string, string>): Promise<string> {
    const page = (await admin.go(SETTINGS)).text;
    const form = { _wpnonce: fieldOf(page, '_wpnonce'), save: '1' };
    const now = {
      [field('enabled')]: '1',
      [field('title')]: 'Coins',
      [field('days')]: '2',
      [field('base_url')]: between.url,
      [field('api_key')]: service.apiKey,
      [field('endpoint_secret')]: secret,
    };
    return (await admin.go(SETTINGS, { ...form, ...now, ...values })).text;
  }

  beforeAll(async () => {
    const port = await freePort();
    service = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
    operate = strictCaller(service.dataDir);
    operator = new Operator(service.dataDir);
    between = await standBetween(() => service.url);
    shop = await startShop(port);
    admin = new Visitor(shop);
    await admin.logIn();
    const url = shop.rest('/countinghouse/v1/events');
    ({ id: endpoint, secret } = (await operate('endpoint.add', { business: 'Sandbox', url, types: [] })).endpoint);
    await save({});
  });
  afterAll(async () => {
    await shop?.stop();
    between?.stop();
    await service?.stop();
  });

  afterEach(() => {
    if (between) between.away = false;
  });

  const create = async (total = '80.00', currency = 'USD'): Promise<number> =>
    (await shop.call<Order>('POST', '/orders', { total, currency })).id;
  const checkout = (order: number) => shop.call<Checkout>('POST', `/checkout/${order}`);
  const change = (order: number, what: object) => shop.call<Order>('POST', `/change/${order}`, what);
  /** What WooCommerce asks about an order that nobody paid for as long as it holds stock. */
  const mayBeCanceled = async (order: number) =>
    (await shop.call<{ may_be_canceled: boolean }>('GET', `/held/${order}`)).may_be_canceled;
  /** What WordPress does once an hour. */
  const look = () => shop.run("do_action('countinghouse_look');");
  const invoicesOf = async (order: number): Promise<Invoice[]> =>
    (await service.call<{ items: Invoice[] }>('GET', `/invoices?order_id=${order}`)).body.items;
  const pay = (id: string) => service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id: id });
  const mine = (blocks: number) => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks });
  const read = async (id: string) => (await service.call<Invoice>('GET', `/invoice/${id}`)).body;
  const reaches = (order: number, status: string) =>
    until(`order ${order} is ${status}`, async () => {
      const found = await shop.order(order);
      return found.status === status && found;
    });
  const notes = (order: number, text: string, status: string) =>
    until(`order ${order} is ${status} and says "${text}"`, async () => {
      const found = await shop.order(order);
      return found.status === status && found.notes.some((note) => note.includes(text)) && found;
    });

  /** An order whose invoice waits for litecoins. */
  async function requested(total?: string): Promise<{ order: number; id: string }> {
    const order = await create(total);
    const { redirect } = (await checkout(order)).answer;
    const id = redirect!.split('/').at(-1)!;
    await service.call('POST', `/invoice/rp/${id}`, { crypto: 'LTC' });
    return { order, id };
  }

  /** An order that is paid. */
  async function paid(): Promise<{ order: number; id: string }> {
    const made = await requested();
    await pay(made.id);
    await mine(12);
    await reaches(made.order, 'processing');
    return made;
  }

  /** An order with what another one has noted of its invoice, as a renewal gets it. */
  async function copied(from: number, total?: string): Promise<number> {
    const order = await create(total);
    await shop.run(`
      list($from, $to) = array(wc_get_order(${from}), wc_get_order(${order}));
      foreach (array('invoice', 'invoices', 'state', 'payment', 'paid_by') as $name) {
        $to->update_meta_data('_countinghouse_' . $name, $from->get_meta('_countinghouse_' . $name));
      }
      $to->save();`);
    return order;
  }
  /** An order that is paid, of which the shop has not heard: the service sends nothing until the endpoint is enabled. */
  async function paidUnheard(): Promise<{ order: number; id: string; received_url: string }> {
    await operate('endpoint.pause', { id: endpoint });
    const made = await requested();
    await pay(made.id);
    await mine(12);
    await until('it is paid', async () => (await read(made.id)).status === 'paid');
    await until('nothing is asked', async () => between.held === 0);
    return { ...made, received_url: (await shop.order(made.order)).received_url };
  }
  /** Until a request waits for its turn with an order. */
  const queued = () =>
    until('a request waits for an order', async () => {
      const code = `global $wpdb; echo count(preg_grep('/^SELECT GET_LOCK/', $wpdb->get_col('SHOW PROCESSLIST', 7)));`;
      return (await shop.run(code)) === '1';
    });

  /** Sends an event that is signed with a secret. */
  async function send(type: string, data: object, { key = secret, at = new Date(), id = `evt_${Math.random()}` } = {}) {
    const body = JSON.stringify({ type, timestamp: at.toISOString(), network: 'sandbox', data });
    const response = await fetch(shop.rest('/countinghouse/v1/events'), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': `${Math.floor(at.getTime() / 1_000)}`,
        'webhook-signature': new Webhook(key).sign(id, at, body),
      },
      body,
    });
    return response.status;
  }
  const about = (order: number, id: string, more: object = {}) => ({
    id,
    metadata: { woocommerce_order: `${order}` },
    ...more,
  });

  describe('settings', () => {
    it('are not enough without a secret, and refuse what would send the key in the clear', async () => {
      const offered = async () => (await shop.call<{ available: boolean }>('GET', '/gateway')).available;
      const stored = () => shop.run('echo Countinghouse\\Settings::base_url();');
      expect(await save({ [field('base_url')]: 'http://pay.example.com' })).toContain('must be an https address');
      expect(await stored()).toBe(between.url);
      await save({ [field('base_url')]: '' });
      expect(await offered()).toBe(false);
      await save({ [field('endpoint_secret')]: '' });
      expect(await offered()).toBe(false);
      expect(await save({ [field('endpoint_secret')]: 'whsec_short' })).toContain('as the command printed it');
      expect(await offered()).toBe(false);
      await save({});
      expect(await offered()).toBe(true);
    });

    it('take an address without its path, and none that would carry the key over the Internet in the clear', async () => {
      const cases = {
        'https://pay.example.com': 'https://pay.example.com',
        'https://pay.example.com:8443/api/v1/': 'https://pay.example.com:8443',
        'http://127.0.0.1:8480': 'http://127.0.0.1:8480',
        'http://[::1]:8480': 'http://[::1]:8480',
        'http://localhost:8480/': 'http://localhost:8480',
        'http://10.0.0.7': 'http://10.0.0.7',
        'http://8.8.8.8': '',
        'http://pay.example.com': '',
        'https://user:word@pay.example.com': '',
        'ftp://pay.example.com': '',
        'javascript:alert(1)': '',
        'pay.example.com': '',
      };
      const all = `json_decode('${JSON.stringify(Object.keys(cases))}')`;
      const checked = `echo wp_json_encode(array_map('Countinghouse\\Settings::checked_url', ${all}));`;
      expect(JSON.parse(await shop.run(checked))).toEqual(Object.values(cases));
    });

    it('check the connection, and show the command that makes the endpoint', async () => {
      const { text } = await admin.go(SETTINGS);
      expect(text).toContain(`endpoint add &quot;My shop&quot; &#039;${shop.rest('/countinghouse/v1/events')}&#039;`);
      expect(text).toContain('--scopes invoices,refund\n');
      const link = /href="([^"]*countinghouse_check[^"]*)"/.exec(text)![1]!.replaceAll('&#038;', '&');
      expect((await admin.go(link)).text).toMatch(/notice-success"><p>Connected\. The business takes [^<]*LTC/);
      expect((await admin.go(`${SETTINGS}&countinghouse_check=1`)).text).not.toContain('notice inline');
      await save({ [field('api_key')]: 'ch_wrong' });
      expect((await admin.go(link)).text).toContain('The service answered 401: Invalid API key');
      await save({});
    });
  });

  describe('checkout', () => {
    it('makes one invoice of a double click, with what the order says, and leads to its page', async () => {
      const order = await create('80.00', 'EUR');
      const [one, two] = await Promise.all([checkout(order), checkout(order)]);
      expect(one.answer).toEqual(two.answer);
      expect((await checkout(order)).answer).toEqual(one.answer);
      const found = await invoicesOf(order);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({
        amount: '80',
        currency: 'EUR',
        crypto: 'ALL',
        order_id: `${order}`,
        description: `Order ${order} at Rosa & Co`,
        metadata: { woocommerce_order: `${order}` },
        invoice_url: one.answer.redirect,
      });
      expect(Date.parse(found[0]!.due_date as string) - Date.now()).toBeGreaterThan(86_400_000);
      expect((await shop.order(order)).status).toBe('pending');
    });

    it('finds the invoice again whose answer was lost', async () => {
      const order = await create();
      between.lose = 1;
      const lost = await checkout(order);
      expect(lost.answer).toEqual({ result: 'failure' });
      expect(lost.notices[0]![1]).toContain('does not work at the moment');
      const { answer } = await checkout(order);
      const found = await invoicesOf(order);
      expect(found.map(({ invoice_url }) => invoice_url)).toEqual([answer.redirect]);
    });

    it('tells the payer what is wrong with the amount, and nothing else', async () => {
      const order = await create('2.00');
      const { answer, notices } = await checkout(order);
      expect(answer).toEqual({ result: 'failure' });
      expect(notices).toEqual([['error', expect.stringContaining('10 USD')]]);
      expect((await shop.order(order)).status).toBe('pending');
    });

    it('makes another invoice when the order changed, and ends the former one', async () => {
      const order = await create();
      const former = (await checkout(order)).answer.redirect;
      await change(order, { total: '95.50' });
      const { redirect } = (await checkout(order)).answer;
      expect(redirect).not.toBe(former);
      expect(await invoicesOf(order)).toEqual([expect.objectContaining({ amount: '95.5', invoice_url: redirect })]);
    });

    it('leads back to the shop when the invoice is paid already', async () => {
      const { order } = await paid();
      expect((await checkout(order)).answer.redirect).toContain(`order-received=${order}`);
    });
  });

  describe('an order', () => {
    it('is on hold while money is seen, and processing once it is paid, once', async () => {
      const { order, id } = await requested();
      expect(await mayBeCanceled(order)).toBe(false);
      await pay(id);
      expect((await reaches(order, 'on-hold')).transaction_id).toBeUndefined();
      await mine(12);
      await reaches(order, 'processing');
      for (const event of ['evt_a', 'evt_a', 'evt_b']) {
        expect(await send('invoice.paid', about(order, id), { id: event })).toBe(204);
      }
      const done = await notes(order, `Invoice ${id} is paid with`, 'processing');
      expect(done).toMatchObject({ completed: 1, transaction_id: id });
      expect(done.notes.filter((note) => note.includes('is paid with'))).toHaveLength(1);
    });

    it.each([
      { what: 'amount', total: '80.01' },
      { what: 'amount', total: '8000' },
    ])('is not marked paid by an invoice over another $what ($total)', async ({ total }) => {
      const { order, id } = await requested();
      await change(order, { total });
      await pay(id);
      await mine(12);
      const held = await notes(order, `NOT marked paid: invoice ${id} was paid with 80 USD`, 'on-hold');
      expect(held.completed).toBe(0);
    });

    it('is not marked paid by an invoice in another currency', async () => {
      const { order, id } = await requested();
      await change(order, { currency: 'EUR' });
      await pay(id);
      await mine(12);
      expect((await notes(order, 'the order costs 80 EUR', 'on-hold')).completed).toBe(0);
    });

    it('is canceled with its invoice', async () => {
      const { order, id } = await requested();
      await operate('invoice.cancel', { invoice: id });
      const gone = await reaches(order, 'cancelled');
      expect(gone.notes.join()).toContain('was canceled: nothing came');
    });

    it.each([
      { status: 'on-hold', method: 'bacs' },
      { status: 'pending', method: 'card' },
    ])('that is $status for another method ($method) stays so when its invoice is canceled', async (other) => {
      const { order, id } = await requested();
      await change(order, other);
      await operate('invoice.cancel', { invoice: id });
      expect(await send('invoice.canceled', about(order, id))).toBe(204);
      await notes(order, `Invoice ${id} was canceled: nothing came`, other.status);
    });

    it('that waits for another method does so beside coins that are seen, and is paid once they are confirmed', async () => {
      const { order, id } = await requested();
      await change(order, { status: 'pending', method: 'card' });
      await pay(id);
      await notes(order, 'seen, not confirmed yet', 'pending');
      await mine(12);
      await reaches(order, 'processing');
    });

    it('that was marked paid by hand is not said to be paid twice, and hears when its payment is undone', async () => {
      const { order, id } = await requested();
      await pay(id);
      await reaches(order, 'on-hold');
      await change(order, { status: 'processing' });
      await mine(12);
      // the last of its notes: each is stored by itself
      const done = await notes(order, 'marked paid by hand before', 'processing');
      expect(done.completed).toBe(0);
      expect(done.notes.join()).toContain(`Invoice ${id} is paid with`);
      expect(done.notes.join()).toContain('delete the refund that is booked for the order');
      expect(done.notes.join()).not.toContain('nothing is owed');
      await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 12 });
      await notes(order, 'UNDONE', 'on-hold');
      await mine(12);
      await reaches(order, 'processing');
    });

    it('that was in the trash when its money came is paid once it is taken out', async () => {
      const { order, id } = await requested();
      await shop.run(`wc_get_order(${order})->delete();`);
      await pay(id);
      await mine(12);
      const trashed = await notes(order, `Invoice ${id} is paid, and the order is in the trash`, 'trash');
      expect(trashed.completed).toBe(0);
      await shop.run(`wc_get_order(${order})->untrash();`);
      await until('it is paid by a look', async () => {
        await look();
        return (await shop.order(order)).completed === 1;
      });
      expect((await shop.order(order)).status).toBe('processing');
    });

    it('is paid once where another plug-in fails after that', async () => {
      const { order, id } = await paidUnheard();
      await shop.run(`
        add_action('woocommerce_payment_complete', static function () { throw new Exception('it fails'); });
        Countinghouse\\Orders::refresh(${order}, '${id}');`);
      expect(await send('invoice.paid', about(order, id))).toBe(204);
      const done = await notes(order, `Invoice ${id} is paid with`, 'processing');
      expect(done.notes.join()).not.toMatch(/by hand|nothing is owed/);
      await operate('endpoint.enable', { id: endpoint });
    });

    it('that was paid in another way says that its invoice was paid too', async () => {
      const { order, id } = await requested();
      await change(order, { status: 'processing', method: 'card' });
      await pay(id);
      await mine(12);
      await notes(order, `Invoice ${id} was paid too, though nothing is owed`, 'processing');
    });

    it('has failed when what was seen did not come through', async () => {
      const { order, id } = await requested();
      const { tx_id } = (await pay(id)).body;
      await reaches(order, 'on-hold');
      await service.call('POST', '/sandbox/double-spend', { tx_id });
      await until('it is gone', async () => Number((await read(id)).payment.received) === 0);
      await operate('invoice.cancel', { invoice: id });
      await reaches(order, 'failed');
      const { redirect } = (await checkout(order)).answer;
      expect(redirect).toMatch(/\/pay\//);
      expect(redirect).not.toContain(id);
    });

    it('says when its invoice is overdue', async () => {
      const { order, id } = await requested();
      expect(await send('invoice.overdue', about(order, id))).toBe(204);
      expect((await shop.order(order)).notes.join()).toContain(`Invoice ${id} is overdue`);
    });

    it('goes back on hold when its payment is undone, and on when it is confirmed again', async () => {
      const { order, id } = await paid();
      await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 12 });
      await notes(order, 'UNDONE', 'on-hold');
      await mine(12);
      await until('it holds again', async () => (await read(id)).payment.undone === false);
      expect(await reaches(order, 'processing')).toMatchObject({ completed: 1 });
    });

    it('that is canceled in the shop ends its invoice, or says why it could not', async () => {
      const fresh = await create();
      await checkout(fresh);
      await change(fresh, { status: 'cancelled' });
      expect(await invoicesOf(fresh)).toEqual([]);
      const { order } = await requested();
      await change(order, { status: 'cancelled' });
      expect((await shop.order(order)).notes.join()).toContain('can still be paid');
    });

    it('that is canceled in the shop though it is paid does not say that it can still be paid', async () => {
      const { order } = await paid();
      await change(order, { status: 'cancelled' });
      expect((await shop.order(order)).notes.join()).not.toContain('can still be paid');
    });

    it('is completed once when the payer comes back while an event completes it', async () => {
      const { order, id, received_url } = await paidUnheard();
      const goOn = between.hold();
      const event = send('invoice.paid', about(order, id));
      await until('the event asks for it', async () => between.held === 1);
      const visit = new Visitor(shop).go(received_url);
      await queued();
      goOn();
      expect(await event).toBe(204);
      expect((await visit).text).not.toContain('not paid');
      const done = await shop.order(order);
      expect(done).toMatchObject({ status: 'processing', completed: 1 });
      expect(done.notes.filter((note) => note.includes('is paid with'))).toHaveLength(1);
      await operate('endpoint.enable', { id: endpoint });
    });

    it('is not paid by the invoice of the order that it is a copy of', async () => {
      const { order, id } = await requested();
      const copy = await copied(order);
      await pay(id);
      await mine(12);
      await reaches(order, 'processing');
      await new Visitor(shop).go((await shop.order(copy)).received_url);
      expect(await change(copy, { action: 'countinghouse_refresh' })).toMatchObject({
        status: 'pending',
        completed: 0,
      });
      const { redirect } = (await checkout(copy)).answer;
      expect(redirect).toMatch(/\/pay\//);
      expect(redirect).not.toContain(id);
      expect(await shop.order(copy)).toMatchObject({ status: 'pending', completed: 0, notes: [] });
    });

    it('that is a copy is paid by its own invoice, and leaves that of the other order alone', async () => {
      const order = await create();
      const first = (await checkout(order)).answer.redirect;
      await change(await copied(order), { status: 'cancelled' });
      const copy = await copied(order, '95.00');
      const { redirect } = (await checkout(copy)).answer;
      expect((await invoicesOf(order)).map(({ invoice_url }) => invoice_url)).toEqual([first]);
      const { order: former } = await paid();
      const again = await copied(former);
      const id = (await checkout(again)).answer.redirect!.split('/').at(-1)!;
      await service.call('POST', `/invoice/rp/${id}`, { crypto: 'LTC' });
      await pay(id);
      await mine(12);
      expect(await reaches(again, 'processing')).toMatchObject({ transaction_id: id });
      expect(redirect).not.toBe(first);
    });

    it('catches up by the order action when events were missed', async () => {
      const { order, id } = await requested();
      between.away = true;
      await pay(id);
      await mine(12);
      await until('it is paid', async () => (await read(id)).status === 'paid');
      between.away = false;
      expect(await change(order, { action: 'countinghouse_refresh' })).toMatchObject({ status: 'processing' });
    });
  });

  describe('an order whose events do not arrive', () => {
    beforeAll(() => operate('endpoint.pause', { id: endpoint }));
    afterAll(() => operate('endpoint.enable', { id: endpoint }));

    it('is not canceled once its payer has an address, nor while the service is away', async () => {
      const { order } = await requested();
      expect(await mayBeCanceled(order)).toBe(false);
      const idle = await create();
      await checkout(idle);
      between.away = true;
      expect(await mayBeCanceled(idle)).toBe(false);
      between.away = false;
      expect(await mayBeCanceled(idle)).toBe(true);
      expect(await mayBeCanceled(await create())).toBe(true);
    });

    it('is canceled though the service is away once its days to pay are over', async () => {
      const order = await create();
      await checkout(order);
      const savedBefore = (days: number) =>
        shop.run(`list($order, $at) = array(wc_get_order(${order}), time() - ${days} * DAY_IN_SECONDS + 60);
          $order->set_date_modified($at);
          $order->save();
          // WordPress saves a post with the present time, whatever WooCommerce says
          $GLOBALS['wpdb']->update($GLOBALS['wpdb']->posts, array('post_modified_gmt' => gmdate('Y-m-d H:i:s', $at)), array('ID' => ${order}));
          clean_post_cache(${order});`);
      between.away = true;
      await savedBefore(3);
      expect(await mayBeCanceled(order)).toBe(false);
      await savedBefore(4);
      expect(await mayBeCanceled(order)).toBe(true);
      between.away = false;
    });

    it('is not canceled while somebody works on it, and others are asked about then', async () => {
      const [busy, idle] = [await create(), await create()];
      for (const order of [busy, idle]) await checkout(order);
      const may = await shop.run(`
        $other = new wpdb(DB_USER, DB_PASSWORD, DB_NAME, DB_HOST);
        $name  = substr(md5(DB_NAME . $GLOBALS['wpdb']->prefix), 0, 12) . '-countinghouse-${busy}';
        $other->get_var($other->prepare('SELECT GET_LOCK(%s, 0)', $name));
        foreach (array(${busy}, ${idle}) as $id) {
          echo apply_filters('woocommerce_cancel_unpaid_order', true, wc_get_order($id)) ? 'yes ' : 'no ';
        }`);
      expect(may).toBe('no yes ');
    });

    it('is canceled once, with the invoice that the service canceled', async () => {
      const order = await create();
      const { redirect } = (await checkout(order)).answer;
      await operate('invoice.cancel', { invoice: redirect!.split('/').at(-1)! });
      expect(await mayBeCanceled(order)).toBe(false);
      expect((await shop.order(order)).status).toBe('cancelled');
    });

    it('is on hold and paid by the look of each hour, which goes on with other orders where the service was away', async () => {
      const { order, id } = await requested();
      await pay(id);
      await until('it is seen', async () => Number((await read(id)).payment.received) > 0);
      await look();
      expect((await shop.order(order)).status).toBe('on-hold');
      await mine(12);
      await until('it is paid', async () => (await read(id)).status === 'paid');
      between.away = true;
      await look();
      between.away = false;
      // it is looked at last now, and a look ends after some time
      await until('it is paid by a look', async () => {
        await look();
        return (await shop.order(order)).status !== 'on-hold';
      });
      expect(await shop.order(order)).toMatchObject({ status: 'processing', completed: 1, transaction_id: id });
      expect(await shop.run("echo wp_get_schedule('countinghouse_look');")).toBe('hourly');
    });

    it.each(['failed', 'cancelled'])('is paid by a look though it is %s', async (status) => {
      const { order, id } = await requested();
      await look();
      await change(order, { status });
      await pay(id);
      await mine(12);
      await until('it is paid', async () => (await read(id)).status === 'paid');
      await until('it is paid by a look', async () => {
        await look();
        return (await shop.order(order)).status === 'processing';
      });
    });

    it.each([
      ['pending', 'is marked paid', 'Invoice %s is paid', 'processing', 1],
      ['processing', 'is not marked paid twice', 'Invoice %s was paid too', 'processing', 0],
      ['refunded', 'stays so', 'Invoice %s was paid too', 'refunded', 0],
    ])('is looked at with another method by now: %s, it %s', async (status, _, note, then, completed) => {
      const { order, id } = await requested();
      await look();
      await change(order, { method: 'bacs', status });
      await pay(id);
      await mine(12);
      await until('it is paid', async () => (await read(id)).status === 'paid');
      const told = note.replace('%s', id);
      await until('a look notices it', async () => {
        await look();
        return (await shop.order(order)).notes.some((one) => one.includes(told));
      });
      await look();
      const now = await shop.order(order);
      expect(now).toMatchObject({ status: then, completed });
      expect(now.notes.filter((one) => one.includes(told))).toHaveLength(1);
    });

    it('is left alone by a copy of the shop at another address, until the settings are saved there', async () => {
      const { order, id } = await paidUnheard();
      const unpaid = await create();
      const { redirect } = (await checkout(unpaid)).answer;
      const left = redirect!.split('/').at(-1)!;
      const notice = 'another address than the one that its settings';
      await shop.run("update_option('countinghouse_site', hash('sha256', 'shop.example'));");
      await look();
      await change(unpaid, { status: 'cancelled' });
      expect(await mayBeCanceled(order)).toBe(true);
      expect((await shop.order(order)).status).toBe('pending');
      expect((await read(left)).status).toBe('unpaid');
      expect((await admin.go('/wp-admin/index.php')).text).toContain(notice);
      const refund = `/wp-admin/admin.php?page=countinghouse-refund&order=${order}`;
      const page = (await admin.go(refund)).text;
      const given = Object.fromEntries(
        ['_wpnonce', 'action', 'order', 'key'].map((name) => [name, fieldOf(page, name)]),
      );
      const answer = await admin.go('/wp-admin/admin-post.php', {
        ...given,
        invoice: id,
        address: stranger('LTC'),
        amount: '',
      });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(notice)]);
      await save({});
      expect((await admin.go('/wp-admin/index.php')).text).not.toContain(notice);
      await until('it is paid by a look', async () => {
        await look();
        return (await shop.order(order)).status === 'processing';
      });
    });

    it('is not saved by a look that finds nothing new', async () => {
      const { order } = await requested();
      await look();
      const code = `add_action('woocommerce_after_order_object_save', static function ($saved) { echo $saved->get_id() === ${order} ? 'saved' : ''; });`;
      expect(await shop.run(`${code} do_action('countinghouse_look');`)).toBe('');
    });

    it('is paid, and is not canceled, where it was left waiting for money by another plug-in', async () => {
      const { order } = await paidUnheard();
      await change(order, { action: 'countinghouse_refresh' });
      await change(order, { status: 'pending' });
      expect(await mayBeCanceled(order)).toBe(false);
    });
  });

  describe('an event', () => {
    it('that is not signed, too old, or signed by somebody else moves nothing', async () => {
      const { order, id } = await requested();
      const stranger = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
      expect(await send('invoice.paid', about(order, id), { key: stranger })).toBe(401);
      expect(await send('invoice.paid', about(order, id), { at: new Date(Date.now() - 400_000) })).toBe(401);
      const bare = await fetch(shop.rest('/countinghouse/v1/events'), { method: 'POST', body: '{}' });
      expect(bare.status).toBe(401);
      expect((await shop.order(order)).completed).toBe(0);
    });

    it('is believed only as far as the service bears it out', async () => {
      const { order, id } = await requested();
      expect(await send('invoice.paid', about(order, id, { status: 'paid' }))).toBe(204);
      expect((await shop.order(order)).status).toBe('pending');
    });

    it('about an invoice of another order moves nothing', async () => {
      const other = await create();
      const { id } = await paid();
      expect(await send('invoice.paid', about(other, id))).toBe(204);
      expect(await shop.order(other)).toMatchObject({ status: 'pending', notes: [] });
    });

    it('is to be sent again while the service is away, and no log has the key', async () => {
      const { order, id } = await requested();
      between.away = true;
      expect(await send('invoice.paid', about(order, id))).toBe(503);
      between.away = false;
      const { log } = await shop.call<{ log: string[] }>('GET', '/gateway');
      expect(log.at(-1)).toContain('The service answered 502');
      expect(JSON.stringify(log)).not.toContain(service.apiKey);
    });
  });

  describe('a refund', () => {
    const ADDRESS = stranger('LTC', 7);
    const form = (order: number) => `/wp-admin/admin.php?page=countinghouse-refund&order=${order}`;

    /** Fills in the form of the order screen; `own` replaces fields. */
    async function filledIn(order: number, id: string, own: Record<string, string> = {}) {
      const { text } = await admin.go(form(order));
      const hidden = ['_wpnonce', 'action', 'order', 'key'].map((name) => [name, fieldOf(text, name)]);
      return { ...Object.fromEntries(hidden), invoice: id, address: ADDRESS, amount: '', ...own } as Record<
        string,
        string
      >;
    }
    const submit = (visitor: Visitor, values: Record<string, string>) => visitor.go('/wp-admin/admin-post.php', values);

    /** What the service was asked for, newest first. */
    const asked = async (id: string) =>
      (await service.call<{ items: Withdrawal[] }>('GET', '/withdrawals')).body.items.filter(
        ({ invoice_id }) => invoice_id === id,
      );

    /** Approves a refund, and waits until it has a confirmation. */
    async function sentBack(id: string, refund: string): Promise<void> {
      await operator.approve(refund);
      await until('it is sent back', async () => {
        await mine(1);
        return (await asked(id)).find((one) => one.id === refund)?.status === 'completed';
      });
    }

    /** Books what a payment of an invoice over 80 says went back. */
    const booked = (order: number, id: string, payment: Record<string, string>) =>
      shop.run(`$order = wc_get_order(${order});
        $payment = json_decode('${JSON.stringify(payment)}', true);
        Countinghouse\\Refunds::book($order, array('id' => '${id}', 'amount' => '80'), $payment); $order->save();`);
    /** Of a payment of 1 LTC. */
    const sent = (order: number, id: string, refunded: string) =>
      booked(order, id, { crypto: 'LTC', amount: '1', confirmed: '1', refunded });
    const refundsOf = async (order: number) =>
      (await shop.order(order)).refunds.map(Number).sort((one, other) => one - other);

    // something to pay fees from
    beforeAll(() => deposit(service, 'LTC', 400));

    it('that was asked for where the service runs is in the books of WooCommerce, too', async () => {
      const { order, id } = await paid();
      const ask = { invoice: id, address: ADDRESS, amount: '0.4', crypto: 'LTC' };
      const { withdrawal } = await operate('invoice.refund', ask);
      await sentBack(id, `${withdrawal.id}`);
      const part = await until('it is booked', async () => {
        const found = await shop.order(order);
        // WooCommerce makes the post of a refund before it notes the amount
        return found.refunds.some((amount) => Number(amount) > 0) && found;
      });
      expect(part).toMatchObject({ status: 'processing', refunds: ['32.00'] });
      const rest = await operate('invoice.refund', { ...ask, amount: '0.6' });
      await sentBack(id, `${rest.withdrawal.id}`);
      const whole = await reaches(order, 'refunded');
      expect(whole.refunds.map(Number).sort((a, b) => a - b)).toEqual([32, 48]);
    });

    it('of a payment in another coin is worth what the invoice counts for it, and one that the chain undoes is noted', async () => {
      const { order, id } = await paid();
      const book = (refunded: string) =>
        booked(order, id, { crypto: 'BTC', amount: '0.001', confirmed: '0.001', refunded });
      await book('0.00025');
      await book('0.00025');
      expect((await shop.order(order)).refunds).toEqual(['20.00']);
      await book('0');
      await book('0.00025');
      const { notes, refunds } = await shop.order(order);
      expect(notes.filter((note) => note.includes('only 0 BTC went back by now'))).toHaveLength(1);
      expect(refunds).toEqual(['20.00']);
      const other = await paid();
      await booked(other.order, other.id, { crypto: 'LTC', amount: '1', confirmed: '0.5', refunded: '0.5' });
      expect((await shop.order(other.order)).refunds).toEqual(['40.00']);
      await book('0.00099999999');
      expect((await reaches(order, 'refunded')).refunds.map(Number).sort((a, b) => a - b)).toEqual([20, 60]);
    });

    it('that the merchant booked while a former version did not is not booked again', async () => {
      const { order, id } = await paid();
      await shop.run(`$order = wc_get_order(${order});
        $order->delete_meta_data('_countinghouse_booked');
        $order->update_meta_data('_countinghouse_sent_back', '3');
        $order->save();
        wc_create_refund(array('order_id' => ${order}, 'amount' => '30.00'));`);
      for (const refunded of ['0', '0.4', '0.4']) await sent(order, id, refunded);
      expect(await refundsOf(order)).toEqual([2, 30]);
      const { notes } = await shop.order(order);
      const taken = notes.filter((note) =>
        note.includes('worth 32.00 USD. The refunds that the order has already, 30.00'),
      );
      expect(taken).toHaveLength(1);
      expect(notes.join()).not.toContain('the blockchain undid');
      await sent(order, id, '0.5');
      expect(await refundsOf(order)).toEqual([2, 8, 30]);
    });

    it('is booked beside one of WooCommerce that has nothing to do with coins', async () => {
      const { order, id } = await paid();
      await shop.run(`wc_create_refund(array('order_id' => ${order}, 'amount' => '5.00'));`);
      await sent(order, id, '0.5');
      expect(await refundsOf(order)).toEqual([5, 40]);
    });

    it('after one that the chain undid and the merchant deleted is booked, but not one that he only deleted', async () => {
      const { order, id } = await paid();
      const removed = () =>
        shop.run(`foreach (wc_get_order(${order})->get_refunds() as $refund) { $refund->delete(true); }`);
      await sent(order, id, '0.25');
      await sent(order, id, '0');
      await removed();
      expect(await refundsOf(order)).toEqual([]);
      await sent(order, id, '0.25');
      expect(await refundsOf(order)).toEqual([20]);
      await removed();
      await sent(order, id, '0.25');
      expect(await refundsOf(order)).toEqual([]);
    });

    it('is worth what the payer paid, though the order costs something else by now', async () => {
      const { order, id } = await paid();
      await change(order, { total: '160.00' });
      await sent(order, id, '0.5');
      await sent(order, id, '1');
      expect(await refundsOf(order)).toEqual([40, 40]);
      const other = await paid();
      await change(other.order, { total: '50.00' });
      await sent(other.order, other.id, '1');
      expect(await reaches(other.order, 'refunded')).toMatchObject({ refunds: ['50.00'] });
    });

    it('is asked for once from the order screen, waits for approval, and refunds the order when it is paid', async () => {
      const { order, id } = await paid();
      const { text } = await admin.go((await shop.order(order)).edit_url);
      expect(text).toContain(`page=countinghouse-refund&#038;order=${order}`);
      const values = await filledIn(order, id);
      for (const _ of ['once', 'twice']) {
        const { status, location } = await submit(admin, values);
        expect(status).toBe(302);
        expect(location).toMatch(new RegExp(`(page=wc-orders.*&id=|post=)${order}\\b`));
      }
      const [refund, ...more] = await asked(id);
      expect(refund).toMatchObject({ status: 'pending', amount: '1', address: ADDRESS });
      expect(more).toEqual([]);
      const number = refund!.id;
      const waiting = (await shop.order(order)).notes.filter((note) => note.includes('waits for approval'));
      expect(waiting).toEqual([expect.stringContaining(`withdrawal approve ${number}`)]);

      const data = { id: number, address: 'ltc1qsomebodyelse', amount: '1', crypto: 'LTC' };
      expect(await send('withdrawal.completed', data)).toBe(204);
      expect((await shop.order(order)).status).toBe('processing');
      await operator.approve(number);
      await until('the order is refunded', async () => {
        await mine(1);
        return (await shop.order(order)).status === 'refunded';
      });
      const [{ tx_id } = { tx_id: '' }] = await asked(id);
      expect(await send('withdrawal.completed', { ...data, address: ADDRESS, tx_id })).toBe(204);
      const { notes } = await shop.order(order);
      expect(notes.filter((note) => note.includes(`is paid: 1 LTC, transaction ${tx_id}`))).toHaveLength(1);
    });

    it('of a part leaves the order as it is, and one that failed is noted', async () => {
      const { order, id } = await paid();
      await submit(admin, await filledIn(order, id, { amount: '0.25' }));
      const [refund] = await asked(id);
      expect(refund).toMatchObject({ status: 'pending', amount: '0.25' });
      await operate('withdrawal.reject', { id: refund!.id });
      await notes(order, `Refund ${refund!.id} failed: nothing was sent`, 'processing');
    });

    it('is booked once, though the event of its payment comes twice at a time, and again after another', async () => {
      const { order, id } = await paidUnheard();
      await change(order, { action: 'countinghouse_refresh' });
      await submit(admin, await filledIn(order, id, { amount: '0.25' }));
      const [refund] = await asked(id);
      const data = { id: refund!.id, address: ADDRESS, amount: '0.25', crypto: 'LTC', tx_id: 'tx' };
      expect(await send('withdrawal.completed', data)).toBe(204);
      expect((await shop.order(order)).refunds).toEqual([]);
      await sentBack(id, refund!.id);
      const goOn = between.hold();
      const first = send('withdrawal.completed', data);
      await until('it is asked what it is worth', async () => between.held === 1);
      const second = send('withdrawal.completed', data);
      await queued();
      goOn();
      expect(await Promise.all([first, second])).toEqual([204, 204]);
      expect((await shop.order(order)).refunds).toEqual(['20.00']);
      for (const type of ['withdrawal.failed', 'withdrawal.completed']) expect(await send(type, data)).toBe(204);
      expect((await shop.order(order)).refunds).toEqual(['20.00']);
      await operate('endpoint.enable', { id: endpoint });
    });

    it('is refused without the form, to strangers, and for what is no address, amount or invoice of the order', async () => {
      const { order, id } = await paid();
      const values = await filledIn(order, id);
      expect((await submit(admin, { ...values, _wpnonce: 'wrong' })).status).toBe(403);
      expect((await submit(new Visitor(shop), values)).status).not.toBe(302);
      const wrong: Record<string, string>[] = [
        { address: '<script>' },
        { address: '' },
        { amount: '-1' },
        { amount: '1e9' },
        { invoice: 'other' },
      ];
      for (const own of wrong) {
        expect((await submit(admin, { ...values, ...own })).status, JSON.stringify(own)).toBe(400);
      }
      const copy = await copied(order);
      expect((await submit(admin, await filledIn(copy, id))).text).toContain('the order that this one is a copy of');
      expect(await asked(id)).toEqual([]);
      expect((await new Visitor(shop).go(form(order))).status).toBe(302);
    });

    it('that the service refuses shows its words', async () => {
      const { order, id } = await paid();
      const { status, text } = await submit(admin, await filledIn(order, id, { amount: '7' }));
      expect(status).toBe(400);
      expect(text).toContain('The amount may not be more than 1 LTC, what is left to refund.');
    });
  });

  it('offers itself to a checkout of blocks, by their documented interface', async () => {
    const told = JSON.parse(
      await shop.run(`
        $real = 'Automattic\\WooCommerce\\Blocks\\Payments\\PaymentMethodRegistry';
        class_exists($real) || eval('namespace Automattic\\WooCommerce\\Blocks\\Payments\\Integrations;
          abstract class AbstractPaymentMethodType { protected $settings; }');
        $registry = class_exists($real) ? new $real() : new class() {
          public $method;
          public function register($method) { $this->method = $method; }
          public function get_registered() { return $this->method; }
        };
        do_action('woocommerce_blocks_payment_method_type_registration', $registry);
        $method = $registry->get_registered('countinghouse');
        $method->initialize();
        $handles = $method->get_payment_method_script_handles();
        echo wp_json_encode(array(
          'data' => $method->get_payment_method_data(),
          'script' => wp_scripts()->registered[$handles[0]]->src,
        ));`),
    ) as { data: Record<string, unknown>; script: string };
    expect(told.data).toMatchObject({ title: 'Coins', supports: ['products'] });
    const icon = await fetch(`${told.data.icon}`);
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(await shop.run(`echo WC()->payment_gateways()->payment_gateways()['countinghouse']->icon;`)).toBe(
      told.data.icon,
    );
    const script = await fetch(told.script);
    expect(script.status).toBe(200);
    const registered: { name: string; ariaLabel: string; canMakePayment(): boolean }[] = [];
    const window = {
      wc: {
        wcBlocksRegistry: { registerPaymentMethod: (method: (typeof registered)[0]) => registered.push(method) },
        wcSettings: { getSetting: (name: string) => (name === 'countinghouse_data' ? told.data : null) },
      },
      wp: { element: { createElement: (...parts: unknown[]) => parts }, htmlEntities: { decodeEntities: String } },
    };
    runInNewContext(await script.text(), { window });
    expect(registered).toMatchObject([{ name: 'countinghouse', ariaLabel: 'Coins' }]);
    expect(registered[0]!.canMakePayment()).toBe(true);
  });

  it('does nothing and breaks nothing without WooCommerce', async () => {
    const plugins = await shop.run("echo wp_json_encode(get_option('active_plugins'));");
    await shop.run("update_option('active_plugins', array('countinghouse/countinghouse.php'));");
    expect((await fetch(shop.rest('/'))).status).toBe(200);
    expect((await fetch(shop.rest('/countinghouse/v1/events'), { method: 'POST' })).status).toBe(404);
    expect((await admin.go('/wp-admin/index.php')).text).toContain('does nothing until WooCommerce is active');
    await shop.run(`update_option('active_plugins', json_decode('${plugins}', true));`);
  });

  it('takes its settings, and the key among them, away when it is removed', async () => {
    const left = await shop.run(`
      define('WP_UNINSTALL_PLUGIN', true);
      require WP_PLUGIN_DIR . '/countinghouse/uninstall.php';
      global $wpdb;
      echo $wpdb->get_var("SELECT COUNT(*) FROM $wpdb->options WHERE option_name LIKE 'countinghouse%' OR option_name LIKE 'woocommerce_countinghouse%'");`);
    expect(left).toBe('0');
  });

  it('complains of nothing', async () => {
    expect(await shop.complaints()).toEqual([]);
  });
});
