/** Withdraw and Get withdrawal over HTTP: every rule of the contract, and what becomes of a withdrawal in the sandbox. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, type Shown, stranger, withdrawal } from '../support/money.ts';

const INVALID =
  'The selected crypto is invalid: use BTC, BCH, LTC, XMR, ETH, BNB, USDT_ERC20, USDT_BEP20, XAUT or PAXG.';

let service: TestDaemon;
beforeAll(async () => {
  service = await startTestDaemon();
  await deposit(service, 'LTC', 1_000);
  await deposit(service, 'BTC', 500);
});
afterAll(() => service.stop());

type Body = Partial<Shown> & { message?: string };
const withdraw = (body: unknown, headers: Record<string, string> = {}) =>
  service.call<Body>('POST', '/withdraw', body, headers);
const operator = () => operatorClient(service.dataDir);
const balance = async (crypto: string): Promise<number> => {
  const { body } = await service.call<Record<string, number>>('GET', '/balance');
  return body[crypto]!;
};

const GOOD = { amount: 0.5, crypto: 'LTC', address: stranger('LTC') };
const BASE58 = 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn';

const NONE = 'it is no address of this network';
const BITCOIN = 'it is an address of Bitcoin';
const CHECKSUM = 'its checksum is wrong, so a character was mistyped, or its end is missing';

describe('a request is refused, always as a 400 with a message and the status "error"', () => {
  it.each<[what: string, body: unknown, message: string]>([
    ['nothing', {}, 'The amount field is required.'],
    ['no amount', { ...GOOD, amount: null }, 'The amount field is required.'],
    ['an amount that is no number', { ...GOOD, amount: true }, 'The amount must be a number.'],
    ['an amount in words', { ...GOOD, amount: 'much' }, 'The amount must be a positive number.'],
    ['an amount below zero', { ...GOOD, amount: -1 }, 'The amount must be a positive number.'],
    ['an amount of zero', { ...GOOD, amount: 0 }, 'The amount must be a positive number.'],
    ['an amount of zero in text', { ...GOOD, amount: '0.000' }, 'The amount must be a positive number.'],
    ['an endless amount', { ...GOOD, amount: `0.${'1'.repeat(80)}` }, 'The amount must be a positive number.'],
    ['no crypto', { ...GOOD, crypto: undefined }, 'The crypto field is required.'],
    ['an empty crypto', { ...GOOD, crypto: '' }, 'The crypto field is required.'],
    ['an unknown crypto', { ...GOOD, crypto: 'DOGE' }, INVALID],
    ['a crypto that is none', { ...GOOD, crypto: 'ALL' }, INVALID],
    ['more digits than there are', { ...GOOD, amount: '0.123456789' }, 'The amount may have at most 8 decimals.'],
    ['no address', { ...GOOD, address: undefined }, 'The address field is required.'],
    ['an address of nobody', { ...GOOD, address: 'rltc1qnobody' }, `The address is invalid for LTC: ${CHECKSUM}.`],
    [
      'an address of another chain',
      { ...GOOD, address: stranger('BTC') },
      `The address is invalid for LTC: ${BITCOIN} on regtest.`,
    ],
    [
      'an address in the wrong case',
      { ...GOOD, address: `${GOOD.address}A` },
      `The address is invalid for LTC: ${CHECKSUM}.`,
    ],
    [
      'a legacy form on Bitcoin Cash',
      { ...GOOD, crypto: 'BCH', address: BASE58 },
      `The address is invalid for BCH: ${BITCOIN} on testnet.`,
    ],
    ['an endless address', { ...GOOD, address: 'x'.repeat(256) }, 'The address is invalid.'],
    ['less than 10 USD', { ...GOOD, amount: '0.12499999' }, 'The amount must be worth at least 10 USD.'],
    ['more than there is', { ...GOOD, amount: 12.5 }, 'Insufficient balance'],
    ['all of it, with nothing left for the fee', { ...GOOD, amount: '12.5' }, 'Insufficient balance'],
    ['of a crypto that there is none of', { ...GOOD, crypto: 'XMR', address: stranger('XMR') }, 'Insufficient balance'],
    ['amount before crypto', { amount: 'x', crypto: 'x', address: 'x' }, 'The amount must be a positive number.'],
    [
      'all of amount before address',
      { amount: '0.123456789', crypto: 'LTC' },
      'The amount may have at most 8 decimals.',
    ],
    ['crypto before address', { amount: 1, crypto: 'x', address: 'x' }, INVALID],
    ['address before minimum', { ...GOOD, amount: 0.01, address: 'x' }, `The address is invalid for LTC: ${NONE}.`],
    [
      'minimum before balance',
      { ...GOOD, crypto: 'XMR', amount: 0.01, address: stranger('XMR') },
      'The amount must be worth at least 10 USD.',
    ],
  ])('%s', async (_, body, message) => {
    const answer = await withdraw(body);
    expect([answer.status, answer.body]).toEqual([400, { message, status: 'error' }]);
  });

  it('none of them left anything behind', async () => {
    expect((await operator()('withdrawal.list', {})).withdrawals).toEqual([]);
    expect(await balance('LTC')).toBe(12.5);
  });

  it('malformed, too large, of another type, by another method', async () => {
    const shape = { message: expect.any(String), status: 'error' };
    const malformed = await withdraw('{"amount":');
    expect([malformed.status, malformed.body]).toEqual([400, shape]);
    const large = await withdraw({ ...GOOD, note: 'x'.repeat(70_000) });
    expect([large.status, large.body]).toEqual([413, shape]);
    const text = await withdraw('amount=1', { 'content-type': 'text/plain' });
    expect([text.status, text.body]).toEqual([415, shape]);
    const put = await service.call('PUT', '/withdraw', GOOD);
    expect([put.status, put.body]).toEqual([405, shape]);
    const deleted = await service.call('DELETE', '/withdrawal/1');
    expect([deleted.status, deleted.body]).toEqual([405, shape]);
  });
});

describe('who may', () => {
  it.each<[what: string, headers: Record<string, string>, status: number, message: string]>([
    ['no key', { 'mb-api-key': '' }, 401, 'API key not provided'],
    ['an unknown key', { 'mb-api-key': 'ch_test_nobody' }, 401, 'Invalid API key'],
  ])('%s', async (_, headers, status, message) => {
    for (const [method, path] of [
      ['POST', '/withdraw'],
      ['GET', '/withdrawal/1'],
    ] as const) {
      const answer = await service.call(method, path, method === 'POST' ? GOOD : undefined, headers);
      expect([answer.status, answer.body]).toEqual([status, { message, status: 'error' }]);
    }
  });

  it('a key without the scope may not', async () => {
    const { key } = await operator()('key.add', { business: '1', name: 'checkout', scopes: ['invoices'] });
    const headers = { 'mb-api-key': key.key };
    const refused = { message: 'This API key does not have the scope "withdraw"', status: 'error' };
    expect(await withdraw(GOOD, headers)).toMatchObject({ status: 403, body: refused });
    // Who may ask for refunds may follow those.
    const unread = { message: 'This API key does not have the scope "refund" or "withdraw"', status: 'error' };
    expect(await service.call('GET', '/withdrawal/1', undefined, headers)).toMatchObject({ status: 403, body: unread });
  });

  it("another business's withdrawals do not exist", async () => {
    const added = await operator()('business.add', {
      name: 'Other',
      network: 'sandbox',
      key: { name: 'k', scopes: ['invoices', 'balance', 'withdraw'] },
    });
    const mine = await withdraw({ ...GOOD, amount: '0.2' });
    const answer = await service.call('GET', `/withdrawal/${mine.body.id}`, undefined, { 'mb-api-key': added.key.key });
    expect([answer.status, answer.body]).toEqual([404, { message: 'Withdrawal not found', status: 'error' }]);
  });

  it.each(['0', '999999', '01', '-1', 'x', '9'.repeat(30)])('there is no withdrawal %s', async (id) => {
    const answer = await service.call('GET', `/withdrawal/${id}`);
    expect([answer.status, answer.body]).toEqual([404, { message: 'Withdrawal not found', status: 'error' }]);
  });
});

describe('a withdrawal', () => {
  it('is accepted, sent and completed, and the balance goes along', async () => {
    await until('earlier ones are completed', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
      const { withdrawals } = await operator()('withdrawal.list', {});
      return withdrawals.every(({ state }) => state === 'completed');
    });
    const before = await balance('LTC');
    const left = (fee: string | null): number => Number((before - 1.25 - Number(fee)).toFixed(8));
    const asked = await withdraw({ ...GOOD, amount: '1.25' });
    expect([asked.status, asked.body]).toEqual([201, { id: expect.stringMatching(/^\d+$/), status: 'pending' }]);
    const id = asked.body.id!;
    // what it can cost at the most is off the balance at once
    expect(await balance('LTC')).toBeLessThan(before - 1.25);
    const sent = await until('it is signed', async () => {
      const shown = await withdrawal(service, id);
      return shown.fee !== null && shown;
    });
    expect(sent).toMatchObject({
      status: 'pending',
      tx_id: null,
      amount: '1.25',
      crypto: 'LTC',
      address: GOOD.address,
    });
    await until('it is on the chain', async () => (await balance('LTC')) === left(sent.fee));

    await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
    const done = await until('it is completed', async () => {
      const shown = await withdrawal(service, id);
      return shown.status === 'completed' && shown;
    });
    expect(done).toEqual({
      ...sent,
      status: 'completed',
      tx_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      updated_at: expect.any(String),
    });
    const answer = await service.call('GET', `/withdrawal/${id}`);
    expect(answer.status).toBe(201);
    expect(await balance('LTC')).toBe(left(sent.fee));
  });

  it('takes a number exactly, as JSON writes it', async () => {
    const { body } = await withdraw(`{"amount":2.5e-1,"crypto":"LTC","address":"${GOOD.address}"}`);
    expect((await withdrawal(service, body.id!)).amount).toBe('0.25');
  });

  it('ids count up', async () => {
    const first = await withdraw({ ...GOOD, amount: '0.2' });
    const second = await withdraw({ ...GOOD, amount: '0.2' });
    expect(Number(second.body.id)).toBe(Number(first.body.id) + 1);
  });

  it('a reorganisation takes a completed one back to pending, with an alert, and it completes again', async () => {
    const { body } = await withdraw({ ...GOOD, amount: '0.3' });
    const id = body.id!;
    await until('it is signed', async () => (await withdrawal(service, id)).fee !== null);
    const status = (wanted: string) =>
      until(`it is ${wanted}`, async () => (await withdrawal(service, id)).status === wanted);
    await until('it is sent', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
      return (await withdrawal(service, id)).status === 'completed';
    });
    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 3 });
    await status('pending');
    const { alerts } = await operator()('alert.list', {});
    // play money is nobody's alarm
    expect(alerts).toEqual([]);
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
    await status('completed');
  });

  it('what left the mempool is sent again', async () => {
    const { body } = await withdraw({ ...GOOD, amount: '0.31' });
    const id = body.id!;
    const shown = async () => (await operator()('withdrawal.show', { id })).withdrawal;
    await until('it is sent', async () => (await shown()).state === 'broadcast');
    await until('it is mined', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
      return (await shown()).state === 'completed';
    });
    const { tx_id } = await shown();
    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 4, drop: true });
    await until('it is back on the chain', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
      const { state, tx_id: now } = await shown();
      return state === 'completed' && now === tx_id;
    });
  });

  it.each(['XMR', 'ETH', 'USDT_ERC20', 'BCH'] as const)('works with %s too', async (crypto) => {
    const chain = crypto === 'USDT_ERC20' ? 'ETH' : crypto;
    await deposit(service, crypto, 100, 15);
    const amount = { XMR: '0.2', ETH: '0.01', USDT_ERC20: '50', BCH: '0.1' }[crypto];
    const { status, body } = await withdraw({ amount, crypto, address: stranger(chain) });
    expect(status).toBe(201);
    await until(`${crypto} is sent`, async () => {
      // a token may wait for gas and for its collection, which take blocks
      if (crypto === 'USDT_ERC20') await service.call('POST', '/sandbox/mine', { crypto });
      return (await withdrawal(service, body.id!)).fee !== null;
    });
    await until(`${crypto} is completed`, async () => {
      await service.call('POST', '/sandbox/mine', { crypto });
      return (await withdrawal(service, body.id!)).status === 'completed';
    });
    expect((await withdrawal(service, body.id!)).amount).toBe(amount);
  });

  it('of a token needs the coin that its gas is paid in', async () => {
    await deposit(service, 'USDT_BEP20', 100, 16);
    const before = await balance('USDT_BEP20');
    const wanted = { amount: '50', crypto: 'USDT_BEP20', address: stranger('BSC') };
    const { status, body } = await withdraw(wanted);
    expect([status, body.message]).toEqual([400, expect.stringMatching(/^Not enough gas: .* BNB is missing$/)]);
    await deposit(service, 'BNB', 100, 16);
    const gas = await balance('BNB');
    const { body: taken } = await withdraw(wanted);
    await until('it is completed', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'USDT_BEP20' });
      return (await withdrawal(service, taken.id!)).status === 'completed';
    });
    const { fee } = await withdrawal(service, taken.id!);
    expect(await balance('USDT_BEP20')).toBe(before - 50);
    // the gas came from another address, and the token was collected or paid from where it was
    const cost = gas - (await balance('BNB'));
    expect(cost).toBeGreaterThanOrEqual(Number(fee) - 1e-12);
    expect(cost).toBeLessThan(10 * Number(fee));
    const { items } = (await service.call('GET', '/transactions?crypto=BNB')).body as { items: { amount: string }[] };
    // what moves between our addresses is no receipt
    expect(items).toHaveLength(1);
    const report = await operator()('ledger.prove', { chain: 'sandbox:BSC' });
    expect(report.chains).toMatchObject([{ problems: [] }]);
  });

  it('of XMR locks its change for ten blocks', async () => {
    await deposit(service, 'XMR', 100, 11);
    const before = await balance('XMR');
    const { body } = await withdraw({ amount: '0.1', crypto: 'XMR', address: stranger('XMR') });
    const isLocked = async () => (await balance('XMR')) < before - 0.15;
    await until('its change is locked', isLocked);
    const isSent = async () => (await operator()('withdrawal.show', { id: body.id! })).withdrawal.state === 'broadcast';
    await until('it is sent', isSent);
    await service.call('POST', '/sandbox/mine', { crypto: 'XMR', blocks: 9 });
    await until('it is completed', async () => (await withdrawal(service, body.id!)).status === 'completed');
    expect(await isLocked()).toBe(true);
    await service.call('POST', '/sandbox/mine', { crypto: 'XMR' });
    await until('it is free again', async () => (await balance('XMR')) > before - 0.11);
  });

  it('waits while the source is down, and goes out when it is back', async () => {
    await service.call('POST', '/sandbox/outage', { crypto: 'BTC', down: true });
    const { status, body } = await withdraw({ amount: '0.001', crypto: 'BTC', address: stranger('BTC') });
    expect([status, body.status]).toEqual([201, 'pending']);
    await until('its bytes are stored', async () => (await withdrawal(service, body.id!)).fee !== null);
    expect((await withdrawal(service, body.id!)).status).toBe('pending');
    await service.call('POST', '/sandbox/outage', { crypto: 'BTC', down: false });
    await until('it is completed', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'BTC' });
      return (await withdrawal(service, body.id!)).status === 'completed';
    });
  });
});

describe('a repeated request', () => {
  it('has one effect and one answer, for ever', async () => {
    const key = { 'idempotency-key': 'payout 1' };
    const first = await withdraw({ ...GOOD, amount: '0.2' }, key);
    service.advance(40 * 24 * 3_600_000);
    const again = await withdraw({ ...GOOD, amount: '0.2' }, key);
    expect([again.status, again.body]).toEqual([201, first.body]);
    const other = await withdraw({ ...GOOD, amount: '0.3' }, key);
    expect([other.status, other.body]).toEqual([
      409,
      { message: 'Idempotency-Key was already used with another body', status: 'error' },
    ]);
  });

  it('a refused one keeps nothing: the same key may try again', async () => {
    const key = { 'idempotency-key': 'payout 2' };
    expect((await withdraw({ ...GOOD, amount: 5_000 }, key)).status).toBe(400);
    expect((await withdraw({ ...GOOD, amount: '0.2' }, key)).status).toBe(201);
  });

  it('from fifty callers at once makes one withdrawal', async () => {
    const key = { 'idempotency-key': 'payout 3' };
    const before = await operator()('withdrawal.list', { limit: 1 });
    const answers = await Promise.all(Array.from({ length: 50 }, () => withdraw({ ...GOOD, amount: '0.21' }, key)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
    const after = await operator()('withdrawal.list', { limit: 1 });
    expect(after.withdrawals[0]!.id).toBe(before.withdrawals[0]!.id + 1);
    expect(answers[0]!.body.id).toBe(`${after.withdrawals[0]!.id}`);
  });

  it('fifty different ones for more than there is: only what there is goes out', async () => {
    const before = await balance('LTC');
    const answers = await Promise.all(Array.from({ length: 50 }, () => withdraw({ ...GOOD, amount: '1' })));
    const taken = answers.filter(({ status }) => status === 201).length;
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThanOrEqual(Math.floor(before));
    for (const { status, body } of answers) if (status !== 201) expect(body.message).toBe('Insufficient balance');
    await until('all that were taken are sent', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
      const shown = await Promise.all(
        answers.filter(({ status }) => status === 201).map(({ body }) => withdrawal(service, body.id!)),
      );
      return shown.every(({ status }) => status === 'completed');
    });
    expect(await balance('LTC')).toBeLessThan(before - taken);
  });
});
