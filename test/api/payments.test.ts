/** Invoices when money comes, on the sandbox's chains: the whole daemon, a clock that the test moves. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

const INVALID =
  'The selected crypto is invalid: use BTC, BCH, LTC, XMR, ETH, BNB, USDT_ERC20, USDT_BEP20, XAUT or PAXG.';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type Payment = {
  status: string | null;
  address: string;
  amount: string;
  received: string;
  confirmed: string;
  remaining: string;
  confirmations: number;
  required_confirmations: number;
  quote_expires_at: string;
  transactions: { tx_id: string; amount: string; confirmations: number }[];
  underpaid: boolean;
  overpaid: boolean;
  late: boolean;
};
type Invoice = { id: string; status: string; payment: Payment };

let service: TestDaemon;
let hooks: Server;
let hookUrl: string;
type Notice = { method: string; body: string };
/** The shop's notices by the path of their test. */
const notices = new Map<string, Notice[]>();
/** Those of this test. */
let received: Notice[];
let tests = 0;

beforeEach(() => {
  received = [];
  notices.set(`/paid/${++tests}`, received);
});
beforeAll(async () => {
  hooks = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      notices.get(request.url ?? '')!.push({ method: request.method ?? '', body });
      response.end('ok');
    });
  });
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
  const { port } = hooks.address() as AddressInfo;
  hookUrl = `http://127.0.0.1:${port}/paid`;
  service = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
});
afterAll(async () => {
  await service.stop();
  hooks.closeAllConnections();
  await new Promise((resolve) => hooks.close(resolve));
  // each test has one invoice at most that is paid, and some are told of while a later one runs
  expect([...notices].filter(([, { length }]) => length > 1)).toEqual([]);
});

const get = async (id: string): Promise<Invoice> => (await service.call<Invoice>('GET', `/invoice/${id}`)).body;
const control = <Body = Record<string, string>>(name: string, body: unknown) =>
  service.call<Body>('POST', `/sandbox/${name}`, body);
const pay = (id: string, amount?: string) =>
  control<{ tx_id: string; amount: string }>('pay', { invoice_id: id, amount });
const mine = (crypto: string, blocks = 1) => control('mine', { crypto, blocks });
const when = (id: string, what: string, holds: (invoice: Invoice) => boolean): Promise<Invoice> =>
  until(what, async () => {
    const invoice = await get(id);
    return holds(invoice) ? invoice : null;
  });

async function requested(crypto = 'LTC', body: Record<string, unknown> = {}): Promise<Invoice> {
  const wanted = { amount: 100, webhook_url: `${hookUrl}/${tests}`, due_date: dayFromNow(service, 30), ...body };
  const made = await service.call<{ id: string }>('POST', '/invoice', wanted);
  await service.call('POST', `/invoice/rp/${made.body.id}`, { crypto });
  return get(made.body.id);
}

/** Half of a decimal amount with up to 8 digits after the point, rounded down. */
const half = (amount: string): string => {
  const [whole, fraction = ''] = amount.split('.');
  const units = BigInt(`${whole}${fraction.padEnd(8, '0')}`) / 2n;
  const digits = units.toString().padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
};

describe.each([
  ['BTC', 1],
  ['BCH', 1],
  ['LTC', 3],
  ['XMR', 10],
  ['ETH', 12],
  ['BNB', 15],
  ['USDT_ERC20', 12],
  ['USDT_BEP20', 15],
  ['XAUT', 12],
  ['PAXG', 12],
] as const)('%s', (crypto, confirmations) => {
  it(`is seen, confirmed ${confirmations} times, paid, and notified once`, async () => {
    const { id, payment } = await requested(crypto);
    expect(payment.required_confirmations).toBe(confirmations);
    const { body } = await pay(id);
    expect(body.amount).toBe(payment.amount);
    const seen = await when(id, 'the payment is seen', (invoice) => invoice.payment.received === payment.amount);
    expect(seen).toMatchObject({
      status: 'unpaid',
      payment: {
        status: 'pending',
        confirmed: '0',
        remaining: '0',
        confirmations: 0,
        transactions: [{ tx_id: body.tx_id, amount: payment.amount, confirmations: 0 }],
      },
    });
    if (confirmations > 1) {
      await mine(crypto, confirmations - 1);
      const almost = await when(id, 'it is nearly there', (i) => i.payment.confirmations === confirmations - 1);
      expect(almost.status).toBe('unpaid');
    }
    expect(received).toHaveLength(0);
    await mine(crypto);
    const paid = await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
    expect(paid.payment).toMatchObject({
      status: 'paid',
      confirmed: payment.amount,
      underpaid: false,
      overpaid: false,
      late: false,
    });
    await until('the shop is told', async () => received.length > 0);
    expect(received[0]).toMatchObject({ method: 'POST', body: '' });
    await mine(crypto, 5);
    await when(id, 'more blocks are seen', (invoice) => invoice.payment.confirmations >= confirmations + 5);
    expect(received).toHaveLength(1);
  });
});

describe('amounts', () => {
  it('two parts add up on one address', async () => {
    const { id, payment } = await requested();
    const first = half(payment.amount);
    await pay(id, first);
    await mine('LTC', 3);
    const part = await when(id, 'the part is confirmed', (invoice) => invoice.payment.confirmed !== '0');
    expect(part).toMatchObject({ status: 'unpaid', payment: { underpaid: true, address: payment.address } });
    const { body } = await pay(id);
    expect(body.amount).toBe(part.payment.remaining);
    await mine('LTC', 3);
    const paid = await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
    expect(paid.payment).toMatchObject({ confirmed: payment.amount, underpaid: false });
    expect(paid.payment.transactions).toHaveLength(2);
  });

  it('0.9 % less is enough, 1.1 % less is not', async () => {
    const ofAmount = (amount: string, percent: number): string => ((Number(amount) * percent) / 100).toFixed(8);
    const nearly = await requested();
    await pay(nearly.id, ofAmount(nearly.payment.amount, 99.1));
    const short = await requested();
    await pay(short.id, ofAmount(short.payment.amount, 98.9));
    await mine('LTC', 3);
    await when(nearly.id, 'the nearly full one is paid', (invoice) => invoice.status === 'paid');
    const still = await when(short.id, 'the short one is confirmed', (i) => i.payment.confirmed !== '0');
    expect(still).toMatchObject({ status: 'unpaid', payment: { underpaid: true } });
  });

  it('twice the amount is paid and flagged', async () => {
    const { id, payment } = await requested();
    await pay(id, (Number(payment.amount) * 2).toFixed(8));
    await mine('LTC', 3);
    const paid = await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
    expect(paid.payment).toMatchObject({ overpaid: true, underpaid: false, remaining: '0' });
  });

  it('a large one needs more confirmations', async () => {
    const { id, payment } = await requested('LTC', { amount: 12_000 });
    expect(payment.required_confirmations).toBe(12);
    await pay(id);
    await mine('LTC', 11);
    const almost = await when(id, 'it has eleven', (invoice) => invoice.payment.confirmations === 11);
    expect(almost.status).toBe('unpaid');
    await mine('LTC');
    await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
  });
});

describe('chains that change their mind', () => {
  it('a block that leaves takes its confirmations along', async () => {
    const { id } = await requested('LTC');
    await pay(id);
    await mine('LTC', 2);
    await when(id, 'it has two', (invoice) => invoice.payment.confirmations === 2);
    await control('reorg', { crypto: 'LTC', depth: 2 });
    const back = await when(id, 'it is unconfirmed again', (invoice) => invoice.payment.confirmations === 0);
    expect(back.payment.received).toBe(back.payment.amount);
    await mine('LTC', 3);
    await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
    await until('the shop is told', async () => received.length === 1);
  });

  it('a transaction that vanishes is no longer received', async () => {
    const { id } = await requested('BTC');
    await pay(id);
    await when(id, 'it is seen', (invoice) => invoice.payment.received !== '0');
    await mine('LTC');
    await control('reorg', { crypto: 'BTC', depth: 1, drop: true });
    const { body } = await service.call<{ message?: string }>('POST', '/sandbox/mine', { crypto: 'BTC' });
    expect(body.message).toBeUndefined();
    const paid = await when(id, 'the mempool one confirms', (invoice) => invoice.status === 'paid');
    expect(paid.payment.transactions).toHaveLength(1);
  });

  it('a double-spend takes an unconfirmed payment away', async () => {
    const { id } = await requested('BTC');
    const { body } = await pay(id);
    await when(id, 'it is seen', (invoice) => invoice.payment.received !== '0');
    const spent = await control<{ tx_id: string }>('double-spend', { tx_id: body.tx_id });
    expect(spent.status).toBe(200);
    expect(spent.body.tx_id).not.toBe(body.tx_id);
    const gone = await when(id, 'it is gone', (invoice) => invoice.payment.received === '0');
    expect(gone).toMatchObject({ status: 'unpaid', payment: { transactions: [], status: 'pending' } });
    await mine('BTC', 10);
    expect((await get(id)).status).toBe('unpaid');
    expect(received).toHaveLength(0);
  });

  it('a reorganisation after payment leaves it paid, and raises an alarm', async () => {
    const { id } = await requested('BTC');
    await pay(id);
    await mine('BTC', 1);
    await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
    await control('reorg', { crypto: 'BTC', depth: 1, drop: true });
    const undone = await when(id, 'the confirmation is gone', (invoice) => invoice.payment.confirmed === '0');
    expect(undone).toMatchObject({ status: 'paid', payment: { status: 'paid', undone: true, flags: ['undone'] } });
    await until('the shop was told, once', async () => received.length === 1);
  });
});

describe('time', () => {
  it('a quote that ended is renewed, to the same address', async () => {
    const { id, payment } = await requested();
    service.advance(HOUR + 1_000);
    // a chain that was last heard of an hour ago gives no quotes
    await mine('LTC');
    const fresh = await when(id, 'there is a new quote', (i) => i.payment.quote_expires_at > payment.quote_expires_at);
    expect(fresh.payment).toMatchObject({ address: payment.address, status: 'pending' });
    await pay(id);
    await mine('LTC', 3);
    await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
  });

  it('nothing by the due date is overdue, and can be paid late', async () => {
    const { id } = await requested();
    service.advance(70 * DAY);
    await service.restart();
    await mine('LTC');
    const gone = await when(id, 'it is canceled', (invoice) => invoice.status === 'canceled');
    expect(gone.payment.status).toBe('overdue');
  });

  it('in the time of grace late money still pays', async () => {
    const today = new Date(service.now());
    const { id } = await requested('LTC', { due_date: dayFromNow(service, 0) });
    const dueEnd = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() + 1);
    service.advance(dueEnd + HOUR - service.now());
    await mine('LTC');
    const overdue = await when(id, 'it is overdue', (invoice) => invoice.payment.status === 'overdue');
    expect(overdue.status).toBe('unpaid');
    await pay(id);
    await mine('LTC', 3);
    const paid = await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
    expect(paid.payment).toMatchObject({ status: 'paid', late: true });
    await until('the shop is told', async () => received.length === 1);
  });

  it('what was sent while the daemon was down is found', async () => {
    const { id, payment } = await requested();
    await pay(id);
    await service.restart();
    await mine('LTC', 3);
    const paid = await when(id, 'it is paid', (invoice) => invoice.status === 'paid');
    expect(paid.payment.confirmed).toBe(payment.amount);
  });
});

describe('sources that are away', () => {
  it('withhold their coin, and nothing else', async () => {
    await control('outage', { crypto: 'LTC', down: true });
    service.advance(2 * 60_000);
    const ltc = await service.call<{ id: string }>('POST', '/invoice', { amount: 20, crypto: 'LTC' });
    const refused = await until('the coin is withheld', async () => {
      const answer = await service.call('POST', `/invoice/rp/${ltc.body.id}`);
      return answer.status === 503 ? answer : null;
    });
    expect(refused.body).toEqual({ message: expect.stringContaining('LTC') });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await mine('BTC');
    const btc = await service.call<{ id: string }>('POST', '/invoice', { amount: 20, crypto: 'BTC' });
    await until('another coin is taken', async () => {
      const answer = await service.call('POST', `/invoice/rp/${btc.body.id}`);
      return answer.status === 201;
    });
    await control('outage', { crypto: 'LTC', down: false });
    await mine('LTC');
    await until('the coin is back', async () => {
      return (await service.call('POST', `/invoice/rp/${ltc.body.id}`)).status === 201;
    });
  });
});

describe('controls', () => {
  it.each<[string, unknown, number, string]>([
    ['pay', {}, 422, 'The invoice id field is required.'],
    ['pay', { invoice_id: 'AAAAAAAAAAAA' }, 404, 'Invoice not found'],
    ['mine', { crypto: 'DOGE' }, 422, INVALID],
    ['mine', { crypto: 'LTC', blocks: 101 }, 422, 'The blocks must be a whole number from 1 to 100.'],
    ['mine', { crypto: 'LTC', blocks: 1.5 }, 422, 'The blocks must be a whole number from 1 to 100.'],
    ['reorg', { crypto: 'LTC' }, 422, 'The depth must be a whole number from 1 to 100.'],
    ['double-spend', { tx_id: 'ff'.repeat(32) }, 400, ''],
    ['outage', { crypto: 'LTC' }, 422, 'The down must be true or false.'],
  ])('%s %j is refused', async (name, body, status, message) => {
    const answer = await control(name, body);
    expect(answer.status).toBe(status);
    expect(Object.values(answer.body)[0]).toContain(message);
  });
});
