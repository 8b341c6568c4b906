/** Refund invoice: what it refuses, that it always waits for the operator, and that an invoice gives back no more than it got. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../../daemon/domain/messages.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, type Shown, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';
import { cli } from '../unit/cli-kit.ts';

type Refund = Shown & { invoice_id: string | null };
type Body = Partial<Refund>;

let service: TestDaemon;
let operator: Operator;
beforeAll(async () => {
  service = await startTestDaemon('[webhook]\nallow_hosts = ["127.0.0.1:9"]\n');
  operator = new Operator(service.dataDir);
  // something to pay fees from
  await deposit(service, 'LTC', 400);
});
afterAll(() => service.stop());

const ADDRESS = stranger('LTC', 7);
const refund = (invoice: string, body: unknown = { address: ADDRESS }, headers: Record<string, string> = {}) =>
  service.call<Body>('POST', `/invoice/${invoice}/refund`, body, headers);
const mine = (blocks = 3) => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks });

/** A paid invoice of 80 USD: one LTC. */
async function paid(): Promise<string> {
  const { body } = await service.call<{ id: string }>('POST', '/invoice', {
    amount: 80,
    crypto: 'LTC',
    order_id: 'A-1001',
    description: 'Two loaves',
    metadata: { customer: '42' },
  });
  // a clock that was moved leaves the chain behind until it was asked again
  await until('a payment can be requested', async () => {
    return (await service.call('POST', `/invoice/rp/${body.id}`, {})).status === 201;
  });
  await service.call('POST', '/sandbox/pay', { invoice_id: body.id });
  await mine();
  await until('it is paid', async () => {
    return (await service.call<{ status: string }>('GET', `/invoice/${body.id}`)).body.status === 'paid';
  });
  return body.id;
}

describe('an overpayment', () => {
  /** An invoice of 80 USD, one LTC, that got 1.4 LTC. */
  async function overpaid(): Promise<string> {
    const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${body.id}`, {});
    await service.call('POST', '/sandbox/pay', { invoice_id: body.id, amount: '1.4' });
    await mine();
    await until('it is paid', async () => (await shown(body.id)).status === 'paid');
    return body.id;
  }
  const shown = async (invoice: string) => (await operator.call('invoice.show', { invoice })).invoice;
  const item = async (invoice: string) =>
    (await operator.call('inbox.list', {})).items.find((one) => one.invoice === invoice)!;

  it('is the difference in the inbox and on its invoice, with an event, and goes back as a refund', async () => {
    const { endpoint } = await operator.call('endpoint.add', {
      business: '1',
      url: 'http://127.0.0.1:9/events',
      types: ['invoice.paid', 'invoice.overpaid'],
    });
    const invoice = await overpaid();
    const found = await item(invoice);
    expect(found).toMatchObject({ reason: 'overpaid', state: 'open', amount: '0.4', usd_value: '32', crypto: 'LTC' });
    expect(await shown(invoice)).toMatchObject({
      status: 'paid',
      over: { crypto: 'LTC', amount: '0.4', inbox: found.id },
      refundable: [{ crypto: 'LTC', amount: '1.4' }],
    });
    const { deliveries } = await operator.call('delivery.list', { limit: 50 });
    const told = deliveries.filter((one) => one.endpoint_id === endpoint.id).map(({ type }) => type);
    expect(told.sort()).toEqual(['invoice.overpaid', 'invoice.paid']);
    await operator.call('endpoint.remove', { id: endpoint.id });
    const { out } = await cli(service.dataDir, ['inbox', 'list']);
    expect(out).toMatch(new RegExp(`^ +${found.id} .* 0\\.4 LTC +32 +overpaid +open +${invoice} `, 'm'));
    await expect(operator.call('inbox.accept', { id: found.id })).rejects.toMatchObject({ code: 'inbox.no_invoice' });

    const { withdrawal } = await operator.call('inbox.refund', { id: found.id, address: ADDRESS });
    expect(withdrawal).toMatchObject({ amount: '0.4', origin: 'refund', refund_of: { invoice }, state: 'requested' });
    expect(await item(invoice)).toMatchObject({ state: 'refunding', refund: { id: withdrawal.id } });
    expect(await shown(invoice)).toMatchObject({ over: null, refundable: [{ crypto: 'LTC', amount: '1' }] });
    await expect(operator.call('inbox.refund', { id: found.id, address: ADDRESS })).rejects.toMatchObject({
      code: 'inbox.decided',
    });
    await operator.call('withdrawal.reject', { id: `${withdrawal.id}` });
    expect(await shown(invoice)).toMatchObject({ over: { amount: '0.4' } });
    await operator.call('inbox.keep', { id: found.id });
    expect([(await shown(invoice)).over, (await item(invoice)).state]).toEqual([null, 'kept']);
  });

  it('is not sent back out of the price while it is unconfirmed itself, neither at once nor by a link', async () => {
    const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${body.id}`, {});
    await service.call('POST', '/sandbox/pay', { invoice_id: body.id });
    await mine(2);
    await service.call('POST', '/sandbox/pay', { invoice_id: body.id, amount: '1.5' });
    await mine(1);
    await until('it is paid', async () => (await shown(body.id)).status === 'paid');
    const found = await item(body.id);
    expect(found).toMatchObject({ reason: 'overpaid', amount: '1.5', confirmed: false });
    expect((await shown(body.id)).over).toMatchObject({ amount: '1.5' });
    await expect(operator.call('inbox.refund', { id: found.id, address: ADDRESS })).rejects.toMatchObject({
      code: 'inbox.locked',
    });
    await expect(operator.call('refundLink.make', { inbox: found.id })).rejects.toMatchObject({ code: 'inbox.locked' });
    // the price goes back if the shop wants it, and decides nothing about the difference
    const price = await refund(body.id);
    expect([price.body.amount, (await item(body.id)).state]).toEqual(['1', 'open']);
    await operator.call('withdrawal.reject', { id: price.body.id! });
    await mine();
    await until('all is confirmed', async () => (await item(body.id)).confirmed);
    const { withdrawal } = await operator.call('inbox.refund', { id: found.id, address: ADDRESS });
    expect(withdrawal.amount).toBe('1.5');
    await operator.call('withdrawal.reject', { id: `${withdrawal.id}` });
  });

  it('is decided by a refund of the invoice that sends at least the difference, and only by such a one', async () => {
    const invoice = await overpaid();
    const less = await refund(invoice, { address: ADDRESS, amount: '0.3' });
    expect([less.status, (await item(invoice)).state]).toEqual([201, 'open']);
    const all = await refund(invoice, { address: ADDRESS, amount: '0.5' });
    expect(await item(invoice)).toMatchObject({ state: 'refunding', refund: { id: Number(all.body.id) } });
    for (const { body } of [less, all]) await operator.call('withdrawal.reject', { id: body.id! });
    expect((await item(invoice)).state).toBe('open');
  });
});

describe('a refund', () => {
  it('of what an invoice received waits for the operator, whatever the policy, and then goes out', async () => {
    const invoice = await paid();
    const asked = await refund(invoice);
    expect([asked.status, asked.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^\d+$/),
        status: 'pending',
        tx_id: null,
        amount: '1',
        crypto: 'LTC',
        address: ADDRESS,
        invoice_id: invoice,
        fee: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    const id = asked.body.id!;
    expect(await operator.show(id)).toMatchObject({
      state: 'requested',
      origin: 'refund',
      approved_by: null,
      refund_of: { invoice, order_id: 'A-1001' },
      problem: `a refund of invoice ${invoice}: every refund is approved by hand`,
    });
    const shown = await cli(service.dataDir, ['withdrawal', 'show', id]);
    expect(shown.out).toMatch(new RegExp(`^Refund of +invoice ${invoice}, order A-1001$`, 'm'));
    expect((await cli(service.dataDir, ['withdrawal', 'list'])).out).toContain(`a refund of invoice ${invoice}`);
    const { out } = await cli(service.dataDir, ['invoice', 'show', invoice]);
    expect(out).toMatch(/^Order +A-1001$/m);
    expect(out).toMatch(/^Metadata customer +42$/m);
    expect(out).toMatch(new RegExp(`^Refunds\\n.*\\n +${id} +1 LTC +requested$`, 'm'));

    const approved = await cli(service.dataDir, ['withdrawal', 'approve', id, '--yes']);
    expect(approved.err).toContain(`Withdrawal ${id} is a refund of invoice ${invoice}, order A-1001`);
    expect(approved.code).toBe(0);
    await until('it is completed', async () => {
      await mine(1);
      return (await operator.show(id)).state === 'completed';
    });
    const { body } = await service.call<{ items: Refund[] }>('GET', '/withdrawals');
    expect(body.items.find((one) => one.id === id)).toMatchObject({ status: 'completed', invoice_id: invoice });
    const ofOrder = async (order: string): Promise<string[]> => {
      const { body } = await service.call<{ items: Refund[] }>('GET', `/withdrawals?order_id=${order}`);
      return body.items.map((one) => one.id);
    };
    expect(await ofOrder('A-1001')).toContain(id);
    expect(await ofOrder('A-1002')).toEqual([]);

    const today = new Date(service.now()).toISOString().slice(0, 10);
    const books = await cli(service.dataDir, ['export', '--business', '1', '--to', today]);
    const back = `,withdrawal,.*,LTC,1,USD,80,80,${id},${ADDRESS},[0-9a-f]{64},A-1001,Two loaves,${invoice},.*\r\n`;
    expect(books.out).toMatch(new RegExp(back));
    expect(books.out).toMatch(new RegExp(`,receipt,.*,LTC,1,USD,80,80,${invoice},.*,A-1001,Two loaves,,.*\r\n`));
    const { invoice: after } = await operator.call('invoice.show', { invoice });
    expect(after).toMatchObject({ status: 'paid', refunded: [{ crypto: 'LTC', amount: '1' }] });
    expect(after.refunds).toEqual([
      expect.objectContaining({
        state: 'completed',
        amount: '1',
        approved_at: expect.any(String),
        tx_id: expect.any(String),
      }),
    ]);
    const { invoices } = await operator.call('invoice.list', { limit: 50 });
    expect(invoices.find(({ slug }) => slug === invoice)?.refunded).toEqual([{ crypto: 'LTC', amount: '1' }]);
    const { periods } = await operator.call('takings.list', { business: '1', by: 'day', periods: 1 });
    expect(periods.map(({ refunds }) => refunds)).toEqual([{ count: 1, usd: '80' }]);
    const receipt = await (await fetch(`${service.url}/pay/${invoice}`)).text();
    expect(receipt.replace(/\s+/g, ' ')).toMatch(/<dt>Refunded<\/dt> ?<dd><bdi dir="ltr">1 LTC<\/bdi><\/dd>/);
  });

  it('in parts takes no more than there was, and one that was rejected gives its part back', async () => {
    const invoice = await paid();
    const first = await refund(invoice, { address: ADDRESS, amount: '0.6' });
    expect(first.status).toBe(201);
    const more = await refund(invoice, { address: ADDRESS, amount: 0.5 });
    const message = 'The amount may not be more than 0.4 LTC, what is left to refund.';
    expect([more.status, more.body]).toEqual([400, { message, status: 'error' }]);
    const rest = await refund(invoice);
    expect([rest.status, rest.body.amount]).toEqual([201, '0.4']);
    const none = await refund(invoice);
    const nothing = { message: 'No confirmed amount of this invoice is left to refund.', status: 'error' };
    expect([none.status, none.body]).toEqual([400, nothing]);
    await operator.call('withdrawal.reject', { id: first.body.id! });
    const again = await refund(invoice);
    expect([again.status, again.body.amount]).toEqual([201, '0.6']);
    for (const { body } of [rest, again]) await operator.call('withdrawal.reject', { id: body.id! });
  });

  it('that fifty ask for at once is one', async () => {
    const invoice = await paid();
    const answers = await Promise.all(Array.from({ length: 50 }, () => refund(invoice)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const thirds = await paid();
    const parts = await Promise.all(
      Array.from({ length: 20 }, () => refund(thirds, { address: ADDRESS, amount: '0.3' })),
    );
    expect(parts.filter(({ status }) => status === 201)).toHaveLength(3);
  });

  it('that is asked for again under its key is the same one, for ever and by either name of the invoice', async () => {
    const invoice = await paid();
    const key = { 'idempotency-key': 'refund 1' };
    const first = await refund(invoice, { address: ADDRESS }, key);
    expect(first.status).toBe(201);
    service.advance(40 * 24 * 3_600_000);
    const again = await refund(invoice, { address: ADDRESS }, key);
    expect([again.status, again.body]).toEqual([201, first.body]);
    const { invoice: shown } = await operator.call('invoice.show', { invoice });
    const byUuid = await refund(shown.uuid, { address: ADDRESS }, key);
    expect([byUuid.status, byUuid.body]).toEqual([201, first.body]);
    const other = await refund(invoice, { address: stranger('LTC', 8) }, key);
    const message = 'Idempotency-Key was already used with another body';
    expect([other.status, other.body]).toEqual([409, { message, status: 'error' }]);
  });

  it('of money that a reorganisation took back is shown as more than there is', async () => {
    const invoice = await paid();
    const asked = await refund(invoice);
    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 3, drop: true });
    await until('the payment is undone', async () => {
      const { body } = await service.call<{ payment: { flags: string[] } }>('GET', `/invoice/${invoice}`);
      return body.payment.flags.includes('undone');
    });
    const preview = await operator.preview(asked.body.id!);
    expect(preview.notes.map(textOf)).toContain(
      `Withdrawal ${asked.body.id} is a refund of invoice ${invoice}, order A-1001`,
    );
    expect(preview.warnings).toContainEqual({
      code: 'over_refund',
      text: { code: 'warning.over_refund', values: { invoice } },
    });
    expect((await refund(invoice)).status).toBe(400);
    await operator.call('withdrawal.reject', { id: asked.body.id! });
  });
});

const INVALID = 'The address is invalid for LTC';

describe('what was sent back', () => {
  const payment = async (invoice: string) =>
    (await service.call<{ payment: Record<string, unknown> }>('GET', `/invoice/${invoice}`)).body.payment;
  const completed = (id: string) =>
    until(`withdrawal ${id} is completed`, async () => {
      await mine(1);
      return (await operator.show(id)).state === 'completed';
    });

  it('is told with the first confirmation, once for each refund, and a reorganisation takes it back', async () => {
    const { endpoint } = await operator.call('endpoint.add', {
      business: '1',
      url: 'http://127.0.0.1:9/refunded',
      types: ['invoice.refunded'],
    });
    const told = async () =>
      (await operator.call('delivery.list', { limit: 50 })).deliveries.filter(
        (one) => one.endpoint_id === endpoint.id && one.type === 'invoice.refunded',
      ).length;
    const invoice = await paid();
    expect(await payment(invoice)).toMatchObject({ confirmed: '1', refunded: '0' });

    const first = (await refund(invoice, { address: ADDRESS, amount: '0.25' })).body.id!;
    const other = (await refund(invoice, { address: ADDRESS, amount: '0.5' })).body.id!;
    expect((await cli(service.dataDir, ['withdrawal', 'approve', first, '--yes'])).code).toBe(0);
    await until('it is in the mempool', async () => (await operator.show(first)).state === 'broadcast');
    expect([(await payment(invoice)).refunded, await told()]).toEqual(['0', 0]);
    await completed(first);
    expect([(await payment(invoice)).refunded, await told()]).toEqual(['0.25', 1]);

    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 1 });
    await until('it is taken back', async () => (await payment(invoice)).refunded === '0');
    await completed(first);
    expect([(await payment(invoice)).refunded, await told()]).toEqual(['0.25', 1]);

    expect((await cli(service.dataDir, ['withdrawal', 'approve', other, '--yes'])).code).toBe(0);
    await completed(other);
    expect([(await payment(invoice)).refunded, await told()]).toEqual(['0.75', 2]);
    const { body } = await service.call<{ items: { id: string; payment: object }[] }>('GET', '/invoices');
    expect(body.items.find(({ id }) => id === invoice)?.payment).toMatchObject({ refunded: '0.75' });
    await operator.call('endpoint.remove', { id: endpoint.id });
  });
});

it('that an operator asks for again with the same id is the same one, also by what is left of all', async () => {
  const invoice = await paid();
  const [same, other, rest] = ['0', '1', '2'].map((end) => `0b7c1d6e-5a51-4b5e-9b52-3f1d2c4b6b7${end}`);
  const ask = async (request?: string, amount?: string): Promise<number> => {
    const asked = { invoice, address: ADDRESS, ...(amount && { amount }), ...(request && { request }) };
    return (await operator.call('invoice.refund', asked)).withdrawal.id;
  };
  const [first, second] = await Promise.all([ask(same, '0.25'), ask(same, '0.25')]);
  expect([second, await ask(same, '0.25'), await ask(other, '0.25')]).toEqual([first, first, first + 1]);
  await expect(ask(same, '0.5')).rejects.toMatchObject({ code: 'idempotency.conflict' });
  expect([await ask(rest), await ask(rest)]).toEqual([first + 2, first + 2]);
  await expect(ask()).rejects.toMatchObject({ code: 'refund.nothing' });
  const { refunds } = (await operator.call('invoice.show', { invoice })).invoice;
  expect(refunds.map(({ amount }) => amount).sort()).toEqual(['0.25', '0.25', '0.5']);
  for (const { id } of refunds) await operator.call('withdrawal.reject', { id: `${id}` });
});

describe('a refund is refused', () => {
  it.each<[what: string, body: unknown, message: string]>([
    ['to an empty address', { address: '' }, 'The address field is required.'],
    [
      'to an address of nobody',
      { address: 'rltc1qnobody' },
      `${INVALID}: its checksum is wrong, so a character was mistyped, or its end is missing.`,
    ],
    ['to one of another chain', { address: stranger('BTC') }, `${INVALID}: it is an address of Bitcoin on regtest.`],
    ['of nothing', { address: ADDRESS, amount: 0 }, 'The amount must be a positive number.'],
    ['of less than nothing', { address: ADDRESS, amount: '-1' }, 'The amount must be a positive number.'],
    ['of words', { address: ADDRESS, amount: 'all' }, 'The amount must be a positive number.'],
    ['of a truth', { address: ADDRESS, amount: true }, 'The amount must be a number.'],
    ['of parts of a unit', { address: ADDRESS, amount: '0.123456789' }, 'The amount may have at most 8 decimals.'],
    ['of dust', { address: ADDRESS, amount: '0.00000001' }, 'The amount is too small for the network to carry.'],
  ])('%s', async (_, body, message) => {
    const answer = await refund(await paidOnce(), body);
    expect([answer.status, answer.body]).toEqual([400, { message, status: 'error' }]);
  });

  let kept: string | undefined;
  const paidOnce = async (): Promise<string> => (kept ??= await paid());

  it('where nothing was paid, of an invoice that is not there, and for a key that may not pay out', async () => {
    const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    const unpaid = await refund(body.id);
    const message = 'Only a paid invoice can be refunded: this one is unpaid.';
    expect([unpaid.status, unpaid.body]).toEqual([400, { message, status: 'error' }]);
    await operator.call('invoice.markPaid', { invoice: body.id });
    const marked = await refund(body.id);
    expect([marked.status, marked.body.message]).toEqual([
      400,
      'No confirmed amount of this invoice is left to refund.',
    ]);
    const missing = await refund('AAAAAAAAAAAA');
    expect([missing.status, missing.body]).toEqual([404, { message: 'Invoice not found', status: 'error' }]);
    const { key } = await operator.call('key.add', { business: '1', name: 'checkout', scopes: ['invoices'] });
    const scoped = await refund(await paidOnce(), { address: ADDRESS }, { 'mb-api-key': key.key });
    expect([scoped.status, scoped.body]).toEqual([
      403,
      { message: 'This API key does not have the scope "refund" or "withdraw"', status: 'error' },
    ]);
    const { key: refunds } = await operator.call('key.add', { business: '1', name: 'shop', scopes: ['refund'] });
    const by = { 'mb-api-key': refunds.key };
    const asked = await refund(await paidOnce(), { address: ADDRESS, amount: '0.5' }, by);
    expect([asked.status, asked.body.amount]).toEqual([201, '0.5']);
    const get = (id: string) => service.call('GET', `/withdrawal/${id}`, undefined, by);
    expect((await get(asked.body.id!)).status).toBe(201);
    // it sees no other withdrawal, and makes none
    const body2 = { amount: '0.5', crypto: 'LTC', address: ADDRESS };
    const other = await service.call<Shown>('POST', '/withdraw', body2);
    expect(other.status).toBe(201);
    expect((await get(other.body.id)).status).toBe((await get('999999')).status);
    expect((await service.call('POST', '/withdraw', body2, by)).status).toBe(403);
    expect((await service.call('GET', '/withdrawals', undefined, by)).status).toBe(403);
    await operator.call('withdrawal.reject', { id: asked.body.id! });
    const wrong = await service.call('GET', `/invoice/${await paidOnce()}/refund`);
    expect([wrong.status, wrong.body]).toEqual([405, { message: expect.any(String), status: 'error' }]);
  });
});
