/** A refund that a till asks for: the customer types the address, somebody else approves, and the till can do neither. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isMethod, OPERATOR, rulesOf } from '../../daemon/contract/operator.ts';
import { buildConsole } from '../support/console.ts';
import { ConsolePage } from '../support/console-page.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

const RATES = '[networks.sandbox.rates]\nLTC = "80"\nEUR = "0.92"\n';

let daemon: TestDaemon;
let operator: Operator;
let till: ConsolePage;
beforeAll(async () => {
  buildConsole();
  daemon = await startTestDaemon(`[console]\nport = 0\n[till]\nhost = "127.0.0.1"\nport = 0\n${RATES}`);
  operator = new Operator(daemon.dataDir);
  till = await ConsolePage.signIn((await operator.call('till.pair', { business: '1' })).urls[0]!);
  // a reserve, so that the fees of refunds can be paid
  await sold('200');
});
afterAll(() => daemon?.stop());

type Refund = { url: string; crypto: string; amount: string; state: string };
type Told = { status: number; body: { error?: { code: string }; refund?: Refund | null; invoice?: string } };
const ask = (method: string, params: object): Promise<Told> => till.ask(`/call/${method}`, params) as Promise<Told>;

/** A sale of the till that is paid in LTC. */
async function sold(amount: string): Promise<string> {
  const sale = { business: 1, amount, currency: 'EUR', note: null, request: randomUUID() };
  const invoice = (await ask('counter.sell', sale)).body.invoice!;
  await until('its coin is asked for', async () => {
    return (await ask('counter.choose', { invoice, crypto: 'LTC' })).status === 200;
  });
  await operator.call('sandbox.play', { action: 'pay', business: '1', invoice, crypto: 'LTC' });
  await operator.call('sandbox.play', { action: 'mine', business: '1', crypto: 'LTC', blocks: 12 });
  await until('it is paid', async () => (await operator.call('invoice.show', { invoice })).invoice.status === 'paid');
  return invoice;
}
const refundOf = async (invoice: string) => (await ask('counter.sale', { invoice })).body.refund;
const types = async (url: string, address: string): Promise<number> => {
  const body = new URLSearchParams({ address, mine: 'yes' });
  return (await fetch(url, { method: 'POST', redirect: 'manual', body })).status;
};

describe('a till', () => {
  it('asks for a refund, sees how far it is, and never the address', async () => {
    const invoice = await sold('9.20');
    expect(await refundOf(invoice)).toBeNull();
    const asked = await ask('counter.refund', { invoice });
    expect(asked.body.refund).toMatchObject({ crypto: 'LTC', amount: '0.125', state: 'waits' });
    const { url } = asked.body.refund!;
    const address = stranger('LTC', 41);
    expect(await types(url, address)).toBe(303);
    const given = await refundOf(invoice);
    expect(given!.state).toBe('given');
    expect(JSON.stringify(given)).not.toContain(address);
    const { withdrawals } = await operator.call('withdrawal.list', { limit: 5 });
    const row = withdrawals.find((one) => one.address === address)!;
    expect([row.state, row.origin]).toEqual(['requested', 'refund']);
    await operator.carryOut({ kind: 'pay', id: `${row.id}` });
    await until('the till sees that it was sent', async () => (await refundOf(invoice))?.state === 'sent');
    await operator.call('sandbox.play', { action: 'mine', business: '1', crypto: 'LTC', blocks: 1 });
    await until('the till sees that it is done', async () => (await refundOf(invoice))?.state === 'done');
    expect((await ask('counter.refund', { invoice })).body.error?.code).toBe('refund.nothing');
  });

  it('that asks twice, because the line was cut, asks once', async () => {
    const invoice = await sold('4.60');
    const [first, second] = await Promise.all([ask('counter.refund', { invoice }), ask('counter.refund', { invoice })]);
    await daemon.restart();
    const urls = (await operator.call('reach.show', {})).till_urls;
    till = await ConsolePage.signIn((await operator.call('till.pair', { business: '1' })).urls[0]!);
    expect(urls).not.toBeNull();
    const third = await ask('counter.refund', { invoice });
    // the service has another port after a restart
    const names = [first, second, third].map(({ body }) => new URL(body.refund!.url).pathname);
    expect(new Set(names).size).toBe(1);
    expect((await operator.call('refundLink.list', { invoice, limit: 9 })).links).toHaveLength(1);
  });

  it('and the console do not refund the same money', async () => {
    const invoice = await sold('4.60');
    await ask('counter.refund', { invoice });
    const direct = { invoice, address: stranger('LTC', 42) };
    await expect(operator.call('invoice.refund', direct)).rejects.toMatchObject({ code: 'refund.link_open' });
    const [link] = (await operator.call('refundLink.list', { invoice, limit: 9 })).links;
    await operator.call('refundLink.end', { id: link!.id });
    expect(await refundOf(invoice)).toBeNull();
    await operator.call('invoice.refund', direct);
    expect((await ask('counter.refund', { invoice })).body.error?.code).toBe('refund.nothing');
  });

  it('asks for none of a sale that is not paid, and of no other invoice', async () => {
    const sale = { business: 1, amount: '5', currency: 'EUR', note: null };
    const invoice = (await ask('counter.sell', sale)).body.invoice!;
    expect((await ask('counter.refund', { invoice })).body.error?.code).toBe('refund.not_paid');
    const { invoice: web } = await operator.call('invoice.create', { business: '1', amount: '9', currency: 'EUR' });
    expect((await ask('counter.refund', { invoice: web.slug })).body.error?.code).toBe('invoice.not_found');
  });

  it('may call nothing by which money could leave', () => {
    const ofTill = Object.keys(OPERATOR)
      .filter(isMethod)
      .filter((method) => rulesOf(method).counter !== undefined);
    expect(ofTill).toContain('counter.refund');
    expect(ofTill.filter((method) => rulesOf(method).approves != null)).toEqual([]);
  });
});
