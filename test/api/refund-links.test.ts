/** Refund links: a payer types the address on a page of the shop, once, and the merchant approves. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../../daemon/domain/messages.ts';
import { LANGUAGES } from '../../daemon/payment-page/languages/index.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

const DAY = 86_400_000;
const BYTES_MAX = 60_000;

let service: TestDaemon;
let operator: Operator;
beforeAll(async () => {
  service = await startTestDaemon('trusted_proxies = ["127.0.0.1"]\n');
  operator = new Operator(service.dataDir);
  // a reserve, so that the fees of refunds can be paid
  await paid(400);
});
afterAll(() => service.stop());

/** A paid invoice of so many dollars, in LTC at 80 dollars. `sent`: what the payer sends instead, in LTC. */
async function paid(amount: number, sent?: string): Promise<string> {
  const { id } = (await service.call<{ id: string }>('POST', '/invoice', { amount, crypto: 'LTC' })).body;
  await service.call('POST', `/invoice/rp/${id}`, {});
  await service.call('POST', '/sandbox/pay', { invoice_id: id, ...(sent === undefined ? {} : { amount: sent }) });
  await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
  await until('it is paid', async () => (await show(id)).status === 'paid');
  return id;
}
const show = async (invoice: string) => (await operator.call('invoice.show', { invoice })).invoice;
const make = async (invoice: string, rest: { amount?: string; days?: number } = {}) =>
  (await operator.call('refundLink.make', { invoice, ...rest })).link;
const linkOf = async (id: number) =>
  (await operator.call('refundLink.list', { limit: 200 })).links.find((link) => link.id === id)!;

let requests = 0;
type Page = { status: number; text: string };
async function fetchPage(url: string, fields?: Record<string, string>): Promise<Page> {
  // each from another address, as a proxy tells, so that the limit of one does not matter here
  const headers = { 'x-forwarded-for': `198.51.${++requests >> 8}.${requests & 255}` };
  const init = fields && { method: 'POST', body: new URLSearchParams(fields) };
  const response = await fetch(url, { redirect: 'manual', headers, ...init });
  return { status: response.status, text: await response.text() };
}
const give = (url: string, address: string): Promise<Page> => fetchPage(url, { address, mine: 'yes' });

describe('a refund by link', () => {
  it('goes from the link to the money, with an approval and nothing else', async () => {
    const invoice = await paid(80);
    const address = stranger('LTC', 11);
    const link = await make(invoice);
    expect(link).toMatchObject({
      state: 'waits',
      invoice,
      amount: '1',
      crypto: 'LTC',
      address: null,
      withdrawal: null,
    });
    expect((await fetchPage(link.url)).text).toContain('Where should it go?');

    // typed in groups, as wallets show it
    const compared = await fetchPage(link.url, { address: address.replace(/(.{4})/g, '$1 ') });
    expect(compared.status).toBe(200);
    const groups = [...compared.text.matchAll(/<b class="mono">([^<]+)<\/b>/g)].map(([, group]) => group);
    expect(groups.join('')).toBe(address);
    expect((await linkOf(link.id)).state).toBe('waits');

    expect((await give(link.url, address)).status).toBe(303);
    const given = await linkOf(link.id);
    expect(given).toMatchObject({ state: 'given', address, problem: null });
    const row = await operator.show(given.withdrawal!);
    expect(row).toMatchObject({ address, amount: '1', crypto: 'LTC', state: 'requested', origin: 'refund' });
    const preview = await operator.preview(given.withdrawal!);
    expect(preview.warnings.map(({ code }) => code)).toContain('new_address');
    expect(preview.notes.map(textOf)).toContainEqual(expect.stringContaining('The payer typed the address'));
    expect((await fetchPage(link.url)).text).toContain('has your address');

    await operator.carryOut({ kind: 'pay', id: `${given.withdrawal}` });
    await until('it is sent', async () => (await linkOf(link.id)).state === 'sent');
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 1 });
    await until('it is done', async () => (await linkOf(link.id)).state === 'done');
    expect((await show(invoice)).refunded).toEqual([{ crypto: 'LTC', amount: '1' }]);
  });

  it('takes one address, whoever types first', async () => {
    const link = await make(await paid(80));
    const [first, second] = [stranger('LTC', 12), stranger('LTC', 13)];
    const answers = await Promise.all([give(link.url, first), give(link.url, second)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
    const { address } = await linkOf(link.id);
    expect(address).toBe(answers[0]!.status === 303 ? first : second);
    const loser = answers.find(({ status }) => status === 409)!;
    expect(loser.text).toContain('has your address');
    expect((await give(link.url, second)).status).toBe(409);
  });

  it('is the same one for the same amount, however it is written, also once the shop takes the coin no more', async () => {
    const invoice = await paid(80);
    const ask = async (body: object): Promise<string> => {
      const { status, body: answer } = await service.call('POST', `/invoice/${invoice}/refund`, body);
      return status === 201 ? (answer as { refund_url: string }).refund_url : `${status} ${answer.message}`;
    };
    const link = await ask({ amount: '0.25' });
    expect([await ask({ amount: '0.250' }), await ask({ amount: '25e-2' })]).toEqual([link, link]);
    expect(await ask({ amount: '0.26' })).not.toBe(link);
    await operator.call('business.change', { business: '1', disable: ['LTC'] });
    expect([await ask({ amount: '0.25' }), await ask({ crypto: 'LTC', amount: '0.25' })]).toEqual([link, link]);
    await operator.call('business.change', { business: '1', enable: ['LTC'] });
  });

  it('holds the money: a second person is told', async () => {
    const invoice = await paid(80);
    const link = await make(invoice);
    const direct = { invoice, address: stranger('LTC', 14) };
    await expect(operator.call('invoice.refund', direct)).rejects.toMatchObject({ code: 'refund.link_open' });
    const { status, body } = await service.call('POST', `/invoice/${invoice}/refund`, { address: direct.address });
    expect([status, body.message]).toEqual([400, expect.stringContaining('A refund link holds this money')]);
    // the same is asked for again: it is the same link
    expect((await make(invoice)).id).toBe(link.id);
    await operator.call('refundLink.end', { id: link.id });
    expect((await fetchPage(link.url)).text).toContain('This refund link has ended');
    expect((await give(link.url, direct.address)).status).toBe(409);
    expect((await operator.call('invoice.refund', direct)).withdrawal.state).toBe('requested');
    await expect(make(invoice)).rejects.toMatchObject({ code: 'refund.nothing' });
  });

  it('may be of a part, and the rest stays refundable', async () => {
    const invoice = await paid(80);
    await make(invoice, { amount: '0.4' });
    expect((await show(invoice)).refundable).toEqual([{ crypto: 'LTC', amount: '0.6' }]);
    await expect(make(invoice, { amount: '0.7' })).rejects.toMatchObject({ code: 'refund.too_much' });
    await expect(make(invoice, { amount: '0.00000001' })).rejects.toMatchObject({ code: 'refund.too_small' });
  });

  it('says when the merchant rejects it, and the money can be refunded anew', async () => {
    const invoice = await paid(80);
    const link = await make(invoice);
    await give(link.url, stranger('LTC', 16));
    await operator.call('withdrawal.reject', { id: `${(await linkOf(link.id)).withdrawal}` });
    expect((await fetchPage(link.url)).text).toContain('The shop did not send it');
    expect((await make(invoice)).id).not.toBe(link.id);
  });

  it('keeps the address where the withdrawal cannot be asked for, and goes on later', async () => {
    const own = await startTestDaemon();
    try {
      const boss = new Operator(own.dataDir);
      const { id } = (await own.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body;
      await own.call('POST', `/invoice/rp/${id}`, {});
      await own.call('POST', '/sandbox/pay', { invoice_id: id });
      await own.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
      await until('paid', async () => (await boss.call('invoice.show', { invoice: id })).invoice.status === 'paid');
      const { link } = await boss.call('refundLink.make', { invoice: id });
      // the fee comes on top, and there is nothing to pay it with
      expect((await give(link.url, stranger('LTC', 17))).status).toBe(303);
      const read = async () => (await boss.call('refundLink.list', {})).links[0]!;
      expect(await read()).toMatchObject({
        state: 'given',
        withdrawal: null,
        problem: { code: 'withdrawal.insufficient', values: { text: expect.stringContaining('Insufficient') } },
      });
      await own.restart();
      const again = await boss.call('refundLink.prepare', { id: link.id });
      expect(again.link.problem?.code).toBe('withdrawal.insufficient');
      const other = (await own.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body.id;
      await own.call('POST', `/invoice/rp/${other}`, {});
      await own.call('POST', '/sandbox/pay', { invoice_id: other });
      await own.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
      await until('paid', async () => (await boss.call('invoice.show', { invoice: other })).invoice.status === 'paid');
      // by itself within a minute, or when it is told to
      await boss.call('refundLink.prepare', { id: link.id }).catch(() => undefined);
      expect(await read()).toMatchObject({ withdrawal: expect.any(Number), problem: null });
    } finally {
      await own.stop();
    }
  });
});

describe('the address', () => {
  it.each([
    ['another chain', () => stranger('BTC', 1)],
    ['another network', () => 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9'],
    ['a typing error', () => stranger('LTC', 1).replace(/.$/, (end) => (end === 'q' ? 'p' : 'q'))],
    ['nothing', () => ''],
    ['a part', () => stranger('LTC', 1).slice(0, 20)],
    ['markup', () => '<script>alert(1)</script>'],
    ['a long text', () => 'x'.repeat(500)],
  ])('of %s is refused, and can be typed again', async (_, addressOf) => {
    const link = await make(await paid(80));
    for (const more of [{}, { mine: 'yes' }] as Record<string, string>[]) {
      const fields: Record<string, string> = { address: addressOf(), ...more };
      const answer = await fetchPage(link.url, fields);
      expect([answer.status, answer.text.includes('This is not a complete address for Litecoin')]).toEqual([422, true]);
      expect(answer.text).not.toContain('<script>alert');
    }
    expect((await linkOf(link.id)).state).toBe('waits');
  });

  it('of the shop itself is refused, by that name', async () => {
    const invoice = await paid(80);
    const { address } = (await show(invoice)).payment!;
    const { url } = await make(invoice);
    for (const more of [{}, { mine: 'yes' }] as Record<string, string>[]) {
      const { status, text } = await fetchPage(url, { address, ...more });
      const [says, calls] = ['This is an address of the shop.', 'not a complete address'].map((one) =>
        text.includes(one),
      );
      expect([status, says, calls]).toEqual([422, true, false]);
    }
  });
});

describe('money that no invoice counts', () => {
  /** A second payment to a paid invoice; the number of its item in the inbox. */
  async function extra(invoice: string): Promise<number> {
    await service.call('POST', '/sandbox/pay', { invoice_id: invoice, amount: '0.5' });
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
    const found = await until('it is in the inbox', async () => {
      const { items } = await operator.call('inbox.list', {});
      return items.find((item) => item.invoice === invoice && item.confirmed);
    });
    return found.id;
  }

  it('is sent back by a link, less the fee', async () => {
    const inbox = await extra(await paid(80));
    const { link } = await operator.call('refundLink.make', { inbox });
    expect(link).toMatchObject({ inbox, invoice: null, amount: null, state: 'waits' });
    for (const [method, params] of [
      ['inbox.keep', { id: inbox }],
      ['inbox.accept', { id: inbox }],
      ['inbox.refund', { id: inbox, address: stranger('LTC', 18) }],
    ] as const) {
      await expect(operator.call(method, params as never)).rejects.toMatchObject({ code: 'refund.link_open' });
    }
    expect((await fetchPage(link.url)).text).toContain('The network fee is taken from the amount.');
    expect((await give(link.url, stranger('LTC', 19))).status).toBe(303);
    const { withdrawal } = await linkOf(link.id);
    // also in the sandbox, whose policy approves by itself
    expect(await operator.show(withdrawal!)).toMatchObject({ state: 'requested', origin: 'inbox' });
    const item = (await operator.call('inbox.list', {})).items.find(({ id }) => id === inbox)!;
    expect(item).toMatchObject({ state: 'refunding', refund: { id: withdrawal } });
    await operator.call('withdrawal.reject', { id: `${withdrawal}` });
    await operator.call('inbox.keep', { id: inbox });
    await expect(operator.call('refundLink.make', { inbox })).rejects.toMatchObject({ code: 'inbox.decided' });
  });

  it('is the difference of an overpaid invoice', async () => {
    const invoice = await paid(80, '1.5');
    const { over } = await until('it is overpaid', async () => {
      const now = await show(invoice);
      return now.over ? now : null;
    });
    const { link } = await operator.call('refundLink.make', { inbox: over!.inbox });
    expect(link).toMatchObject({ invoice, inbox: over!.inbox, amount: '0.5' });
    expect((await give(link.url, stranger('LTC', 20))).status).toBe(303);
    const item = (await operator.call('inbox.list', {})).items.find(({ id }) => id === over!.inbox)!;
    expect(item.state).toBe('refunding');
  });
});

describe('the merchant API', () => {
  it('answers a refund without an address with a link, once for each Idempotency-Key', async () => {
    const invoice = await paid(80);
    const headers = { 'idempotency-key': 'refund-1' };
    const first = await service.call('POST', `/invoice/${invoice}/refund`, { amount: '0.25' }, headers);
    expect([first.status, first.body]).toEqual([
      201,
      {
        refund_url: expect.stringMatching(/\/pay\/r\/[A-Za-z0-9]{12}$/),
        invoice_id: invoice,
        amount: '0.25',
        crypto: 'LTC',
        expires_at: expect.any(String),
        created_at: expect.any(String),
      },
    ]);
    const again = await service.call('POST', `/invoice/${invoice}/refund`, { amount: '0.25' }, headers);
    expect(again.body).toEqual(first.body);
    const more = await service.call('POST', `/invoice/${invoice}/refund`, { amount: '0.9' });
    expect([more.status, more.body.message]).toEqual([400, expect.stringContaining('0.75 LTC')]);
    expect((await service.call('POST', `/invoice/${invoice}/refund`, { address: '' })).status).toBe(400);
  });
});

describe('the page', () => {
  it.each(LANGUAGES.map(({ language, words }) => [language, words] as const))('speaks %s', async (language, words) => {
    const link = (await operator.call('refundLink.list', {})).links.find(({ state }) => state === 'waits')!;
    const { text } = await fetchPage(`${link.url}?lang=${language}`);
    expect(text).toContain(`<html lang="${language}"`);
    expect(text).toContain(words.refundWhere);
    expect(text).not.toContain('<script');
    expect(text.length).toBeLessThan(BYTES_MAX);
  });

  it.each(['AAAAAAAAAAAA', 'x', '1'])('is not there for %s', async (slug) => {
    expect((await fetchPage(`${service.url}/pay/r/${slug}`)).status).toBe(404);
  });
});

it('a link ends by itself', async () => {
  const invoice = await paid(80);
  const link = await make(invoice, { days: 1 });
  service.advance(DAY + 1_000);
  expect((await linkOf(link.id)).state).toBe('over');
  expect((await give(link.url, stranger('LTC', 15))).status).toBe(409);
  expect((await show(invoice)).refundable).toEqual([{ crypto: 'LTC', amount: '1' }]);
});
