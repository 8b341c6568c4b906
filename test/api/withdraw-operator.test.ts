/** The operator's decisions in the sandbox: approvals and their races, policies, deposits, other versions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperatorError } from '../../daemon/contract/client.ts';
import { textIn } from '../../daemon/domain/messages.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, type Shown, stranger, withdrawal } from '../support/money.ts';
import { Operator } from '../support/operator.ts';
import { cli } from '../unit/cli-kit.ts';

const HOUR = 3_600_000;
const BUSINESS = '1';

let service: TestDaemon;
let operator: Operator;

beforeAll(async () => {
  service = await startTestDaemon();
  operator = new Operator(service.dataDir);
  for (const usd of [400, 400, 400, 400]) await deposit(service, 'LTC', usd);
  await manual();
});
afterAll(() => service.stop());

const manual = () => operator.call('policy.set', { business: BUSINESS, mode: 'manual' });
let recipients = 100;
const fresh = (): string => stranger('LTC', recipients++);
const mine = (blocks = 1) => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks });

async function request(amount = '0.25', address = fresh()): Promise<string> {
  const { status, body } = await service.call<Shown>('POST', '/withdraw', { amount, crypto: 'LTC', address });
  expect(status).toBe(201);
  return body.id;
}
const stateOf = async (id: string): Promise<string> => (await operator.show(id)).state;
const when = (id: string, state: string) =>
  until(`withdrawal ${id} is ${state}`, async () => (await stateOf(id)) === state);
const balance = async (): Promise<number> => {
  return (await service.call<{ LTC: number }>('GET', '/balance')).body.LTC;
};

/** The codes of what failed, and '' for what did not. */
async function outcomes(calls: Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => (one.status === 'fulfilled' ? '' : (one.reason as OperatorError).code)).sort();
}
const refusal = async (call: Promise<unknown>): Promise<string> => (await outcomes([call]))[0]!;

async function approval(id: string) {
  const approvals = await operator.approvals(await operator.preview(id));
  return { proposal: { kind: 'pay' as const, id }, approvals };
}

describe('asking', () => {
  const same = '0b7c1d6e-5a51-4b5e-9b52-3f1d2c4b6a70';
  const other = '0b7c1d6e-5a51-4b5e-9b52-3f1d2c4b6a71';

  it('with the same id gets the same withdrawal, at once and one after the other; with another one, or none, another', async () => {
    const asked = { business: BUSINESS, crypto: 'LTC', address: fresh(), amount: '0.25' };
    const ask = async (request?: string): Promise<number> =>
      (await operator.call('withdrawal.add', { ...asked, ...(request && { request }) })).withdrawal.id;
    const [first, second] = await Promise.all([ask(same), ask(same)]);
    const ids = [first, second, await ask(same), await ask(other), await ask(), await ask()];
    expect(ids).toEqual([first, first, first, ...[1, 2, 3].map((more) => first + more)]);
    const changed = operator.call('withdrawal.add', { ...asked, amount: '0.5', request: same });
    expect(await refusal(changed)).toBe('idempotency.conflict');
    for (const id of new Set(ids)) await operator.call('withdrawal.reject', { id: `${id}` });
    expect(await ask(same)).toBe(first);
  });
});

describe('deciding', () => {
  it('two who approve at once: one of them does, and the recipient is paid once', async () => {
    const address = fresh();
    const id = await request('0.25', address);
    const given = await approval(id);
    const both = [operator.call('withdrawal.approve', given), operator.call('withdrawal.approve', given)];
    expect(await outcomes(both)).toEqual(['', 'withdrawal.state']);
    await when(id, 'broadcast');
    expect((await operator.show(id)).versions).toHaveLength(1);
    await mine();
    await when(id, 'completed');
  });

  it('one who approves and one who rejects at once: one of them decides', async () => {
    for (const first of ['approve', 'reject'] as const) {
      const id = await request();
      const given = await approval(id);
      const calls = {
        approve: () => operator.call('withdrawal.approve', given),
        reject: () => operator.call('withdrawal.reject', { id }),
      };
      const second = first === 'approve' ? 'reject' : 'approve';
      const results = await Promise.allSettled([calls[first](), calls[second]()]);
      // who rejects what was just approved may still be in time: nothing is signed then
      const done = results.filter(({ status }) => status === 'fulfilled').length;
      expect(done).toBeGreaterThanOrEqual(1);
      await until('it is decided', async () => ['rejected', 'broadcast'].includes(await stateOf(id)));
      if ((await stateOf(id)) === 'rejected') expect((await operator.show(id)).versions).toEqual([]);
    }
  });

  it('what was rejected is failed for the merchant, and its money is free again', async () => {
    const before = await balance();
    const id = await request('0.5');
    expect(await balance()).toBeLessThan(before - 0.5);
    await operator.call('withdrawal.reject', { id, reason: 'not today' });
    expect(await balance()).toBe(before);
    expect(await withdrawal(service, id)).toMatchObject({ status: 'failed', tx_id: null });
    expect((await operator.show(id)).reason).toBe('rejected: not today');
    const { reason } = (await operator.call('withdrawal.show', { id })).withdrawal;
    expect(reason).toEqual({ code: 'ended.rejected_why', values: { reason: 'not today' } });
    expect(await refusal(operator.call('withdrawal.reject', { id }))).toBe('withdrawal.state');
  });

  it('nobody decides for seven days: it has failed', async () => {
    const id = await request();
    service.advance(7 * 24 * HOUR - 60_000);
    await service.restart();
    await until('the minute’s work is done', async () => (await operator.call('status', {})).uptime_seconds >= 0);
    expect(await stateOf(id)).toBe('requested');
    service.advance(61_000);
    await service.restart();
    await when(id, 'rejected');
    expect(await operator.show(id)).toMatchObject({ reason: 'expired' });
  });

  it('an approval that is over, or holds for too long, is none', async () => {
    const id = await request();
    const given = await approval(id);
    const at = service.now();
    for (const until of [at - 1, at + 9 * 24 * HOUR]) {
      expect(
        await refusal(
          operator.call('withdrawal.approve', {
            ...given,
            approvals: given.approvals.map((one) => ({ ...one, until })),
          }),
        ),
      ).toBe('withdrawal.approval');
    }
    await operator.call('withdrawal.reject', { id });
  });

  it.each(['999999', '1234567890'])('there is no withdrawal %s', async (id) => {
    for (const method of ['withdrawal.show', 'withdrawal.reject'] as const) {
      expect(await refusal(operator.call(method, { id }))).toBe('withdrawal.not_found');
    }
    expect(await refusal(operator.call('withdrawal.propose', { kind: 'pay', id }))).toBe('withdrawal.not_found');
  });
});

describe('a policy', () => {
  const automatic = (limits: { per_withdrawal_usd?: string; per_day_usd?: string; address_book_only?: boolean }) =>
    operator.call('policy.set', { business: BUSINESS, mode: 'automatic', ...limits });
  const problem = async (id: string): Promise<string | null> => (await operator.show(id)).problem;

  afterAll(async () => {
    await manual();
    await mine(3);
  });

  it('lets go what is within its limits, and asks for the rest', async () => {
    await automatic({ per_withdrawal_usd: '20', per_day_usd: '50' });
    const within = await request('0.25');
    expect(await stateOf(within)).not.toBe('requested');
    const above = await request('0.26');
    expect(await stateOf(above)).toBe('requested');
    expect(await problem(above)).toMatch(/limit per withdrawal/);
    const second = await request('0.25');
    expect(await stateOf(second)).not.toBe('requested');
    // 20 + 20 of 50 are used: another 20 are too much, 10 are not
    const third = await request('0.25');
    expect(await problem(third)).toMatch(/24 hours/);
    expect(await stateOf(await request('0.125'))).not.toBe('requested');
    const { policy } = await operator.call('policy.show', { business: BUSINESS });
    expect(policy).toMatchObject({ mode: 'automatic', per_withdrawal_usd: '20', per_day_usd: '50', used_usd: '50' });
  });

  it('remembers 24 hours, to the minute, and a clock that was set back forgets nothing', async () => {
    service.advance(24 * HOUR - 120_000);
    expect(await stateOf(await request('0.125'))).toBe('requested');
    service.advance(-2 * HOUR);
    expect(await stateOf(await request('0.125'))).toBe('requested');
    service.advance(2 * HOUR + 240_000);
    expect(await stateOf(await request('0.125'))).not.toBe('requested');
  });

  it('pays only whom the address book has, if so set', async () => {
    await automatic({ per_withdrawal_usd: '1000', per_day_usd: '1000', address_book_only: true });
    const address = fresh();
    const first = await request('0.2', address);
    expect(await problem(first)).toMatch(/address book/);
    const entry = { business: BUSINESS, chain: 'LTC' as const, address, label: 'Cold storage' };
    const added = await operator.call('addressBook.add', entry);
    expect(await refusal(operator.call('addressBook.add', entry))).toBe('address_book.known');
    expect(await stateOf(await request('0.2', address))).not.toBe('requested');
    expect((await operator.call('addressBook.list', { business: BUSINESS })).addresses).toEqual([added.address]);
    await operator.call('addressBook.remove', { id: added.address.id });
    expect(await stateOf(await request('0.2', address))).toBe('requested');
  });

  it('an address book takes addresses of the chain alone', async () => {
    const entry = { business: BUSINESS, chain: 'LTC' as const, address: stranger('BTC'), label: 'Somebody' };
    expect(await refusal(operator.call('addressBook.add', entry))).toBe('address_book.address');
  });
});

describe('deposits in the inbox', () => {
  /** A second payment of a paid invoice: its inbox item. */
  async function extra(amount = '0.5') {
    const { invoice } = await deposit(service, 'LTC', 20);
    const { body } = await service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id: invoice, amount });
    const item = await until('it is in the inbox', async () => {
      const { items } = await operator.call('inbox.list', {});
      return items.find(({ outpoint }) => outpoint.startsWith(body.tx_id));
    });
    return { invoice, item };
  }

  it('counts for its invoice, once', async () => {
    const { invoice, item } = await extra('0.1');
    const accept = () => operator.call('inbox.accept', { id: item.id });
    expect(await outcomes([accept(), accept()])).toEqual(['', 'inbox.decided']);
    const { body } = await service.call<{ payment: { received: string } }>('GET', `/invoice/${invoice}`);
    expect(body.payment.received).toBe('0.35');
    await mine(3);
  });

  it('an invoice that was canceled for want of it is paid', async () => {
    const { body: made } = await service.call<{ id: string }>('POST', '/invoice', { amount: 20, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${made.id}`, {});
    await operator.call('invoice.cancel', { invoice: made.id });
    await service.call('POST', '/sandbox/pay', { invoice_id: made.id, amount: '0.25' });
    await mine(3);
    const item = await until('it is in the inbox', async () => {
      const { items } = await operator.call('inbox.list', {});
      return items.find(({ invoice, confirmed }) => invoice === made.id && confirmed);
    });
    expect(await operator.call('inbox.accept', { id: item.id })).toEqual({ invoice: made.id, status: 'paid' });
  });

  it('goes back to an address, from its own coin, once it has its confirmations', async () => {
    const { item } = await extra();
    const address = fresh();
    const { withdrawal: drafted } = await operator.call('inbox.refund', { id: item.id, address });
    const id = `${drafted.id}`;
    expect(await refusal(operator.call('inbox.keep', { id: item.id }))).toBe('inbox.decided');
    const { preview, why } = await operator.call('withdrawal.propose', { kind: 'pay', id });
    expect([preview, textIn(why)]).toEqual([null, 'The deposit does not have its confirmations yet']);
    // decided is not sent: what is shown follows the withdrawal
    const listed = async () => {
      const { items } = await operator.call('inbox.list', {});
      const found = items.find((one) => one.id === item.id)!;
      const line = (await cli(service.dataDir, ['inbox', 'list'])).out
        .split('\n')
        .find((text) => text.includes(item.outpoint));
      return { state: found.state, refund: found.refund?.state, id: found.refund?.id, tx: found.refund?.tx_id, line };
    };
    const waits = { state: 'refunding', refund: 'requested', id: Number(id), tx: null };
    expect(await listed()).toEqual({
      ...waits,
      line: expect.stringContaining(`waits for your approval: withdrawal ${id}, unconfirmed`),
    });
    await mine(3);
    const shown = await until('it can be shown', async () => {
      return (await operator.call('withdrawal.propose', { kind: 'pay', id })).preview;
    });
    expect(shown.inputs).toEqual([item.outpoint]);
    expect(shown.outputs).toEqual([expect.objectContaining({ address, change: false })]);
    await operator.approve(id);
    await when(id, 'broadcast');
    const sent = { id: Number(id) };
    const way = expect.stringContaining(`on the way: withdrawal ${id} `);
    expect(await listed()).toEqual({ ...sent, tx: null, state: 'refunding', refund: 'broadcast', line: way });
    await mine();
    await when(id, 'completed');
    const back = expect.stringContaining(`sent back: withdrawal ${id} `);
    expect(await listed()).toEqual({
      ...sent,
      tx: expect.stringMatching(/^[0-9a-f]{64}$/),
      state: 'refunded',
      refund: 'completed',
      line: back,
    });
    expect((await operator.show(id)).conflict_key).toBe(item.outpoint);
  });

  it('a refund that is rejected leaves the deposit to be decided about again', async () => {
    const { item } = await extra();
    const { withdrawal: drafted } = await operator.call('inbox.refund', { id: item.id, address: fresh() });
    await operator.call('withdrawal.reject', { id: `${drafted.id}` });
    await operator.call('inbox.keep', { id: item.id });
    const { items } = await operator.call('inbox.list', {});
    expect(items.find(({ id }) => id === item.id)?.state).toBe('kept');
    await mine(3);
  });

  it('cannot be refunded to nowhere, and there is no deposit 999', async () => {
    const { item } = await extra();
    expect(await refusal(operator.call('inbox.refund', { id: item.id, address: 'nowhere' }))).toBe(
      'withdrawal.address',
    );
    expect(await refusal(operator.call('inbox.keep', { id: 999 }))).toBe('inbox.not_found');
    await mine(3);
  });
});

describe('other versions', () => {
  beforeAll(async () => {
    await manual();
  });

  it('a batch is of what waits, of one crypto, and of more than one', async () => {
    const [a, b] = [await request(), await request()];
    const preview = (ids: string[]) => refusal(operator.propose({ kind: 'batch', ids }));
    expect(await preview([a, a])).toBe('withdrawal.batch');
    expect(await preview([a, '999999'])).toBe('withdrawal.not_found');
    const proposal = { kind: 'batch' as const, ids: [a, b] };
    const shown = await operator.propose(proposal);
    expect(await refusal(operator.call('withdrawal.approve', { proposal, approvals: [] }))).toBe('withdrawal.approval');
    const approvals = await operator.approvals(shown);
    const twice = [
      operator.call('withdrawal.approve', { proposal, approvals }),
      operator.call('withdrawal.approve', { proposal, approvals }),
    ];
    expect((await outcomes(twice)).filter((code) => code === '')).toHaveLength(1);
    await when(a, 'broadcast');
    const both = [await operator.show(a), await operator.show(b)];
    expect(both[0]!.conflict_key).toBe(both[1]!.conflict_key);
    expect(both[0]!.versions).toEqual(both[1]!.versions);

    // one of the two is canceled: the other is still paid
    await operator.replace(a, 'cancel');
    await until('the replacement is sent', async () => (await operator.show(b)).versions[1]?.sent_at);
    await mine();
    await when(b, 'completed');
    expect(await stateOf(a)).toBe('broadcast');
    await mine(12);
    await when(a, 'failed');
    expect(await stateOf(b)).toBe('completed');
  });

  it('nothing is replaced that a later transaction spends from', async () => {
    // one coin alone: the second withdrawal spends the first one's change
    const everything = await operator
      .call('withdrawal.add', {
        business: BUSINESS,
        crypto: 'BCH',
        address: stranger('BCH'),
        amount: '1',
      })
      .catch((error: OperatorError) => error.code);
    expect(everything).toBe('withdrawal.insufficient');
    await deposit(service, 'BTC', 500);
    const ask = async (amount: string, index: number): Promise<string> => {
      const { body } = await service.call<Shown>('POST', '/withdraw', {
        amount,
        crypto: 'BTC',
        address: stranger('BTC', index),
      });
      if (!body.id) throw new Error(JSON.stringify(body));
      await operator.approve(body.id);
      await when(body.id, 'broadcast');
      return body.id;
    };
    const first = await ask('0.001', 50);
    const second = await until('its change can be spent', () => ask('0.001', 51).catch(() => null));
    expect((await operator.show(second)).conflict_key).toContain((await operator.show(first)).versions[0]!.tx_id);
    expect(await refusal(operator.replace(first, 'speed-up'))).toBe('withdrawal.descendant');
    expect(await refusal(operator.replace(first, 'cancel'))).toBe('withdrawal.descendant');
    await operator.replace(second, 'speed-up', '100');
    await until('the second is replaced', async () => (await operator.show(second)).versions[1]?.sent_at);
    await service.call('POST', '/sandbox/mine', { crypto: 'BTC' });
    await when(first, 'completed');
    await when(second, 'completed');
  });

  describe.each([
    ['LTC', '0.5', true],
    ['ETH', '0.004', true],
    ['XMR', '0.1', false],
  ] as const)('of %s', (crypto, amount, hasReplacement) => {
    it('is sent again after its block left the chain, and sped up or canceled where that is possible', async () => {
      await deposit(service, crypto, 100, 15);
      const wanted = { amount, crypto, address: stranger(crypto) };
      const { body } = await service.call<Shown>('POST', '/withdraw', wanted);
      await operator.approve(body.id);
      await when(body.id, 'broadcast');
      const { replacements } = (await operator.call('withdrawal.show', { id: body.id })).withdrawal;
      expect(replacements).toEqual(hasReplacement ? ['speed-up', 'cancel'] : []);
      if (hasReplacement) await operator.replace(body.id, 'speed-up');
      else expect(await refusal(operator.replace(body.id, 'speed-up'))).toBe('withdrawal.no_replacement');
      await service.call('POST', '/sandbox/mine', { crypto });
      await when(body.id, 'completed');
      await service.call('POST', '/sandbox/reorg', { crypto, depth: 1, drop: true });
      await when(body.id, 'broadcast');
      if (hasReplacement) await operator.replace(body.id, 'cancel');
      await until('it is decided', async () => {
        await service.call('POST', '/sandbox/mine', { crypto });
        return ['completed', 'failed'].includes(await stateOf(body.id));
      });
      expect((await operator.show(body.id)).state).toBe(hasReplacement ? 'failed' : 'completed');
      expect((await operator.call('withdrawal.show', { id: body.id })).withdrawal.replacements).toEqual([]);
    });
  });

  it('Bitcoin Cash knows no replacement', async () => {
    await deposit(service, 'BCH', 100);
    const { body } = await service.call<Shown>('POST', '/withdraw', {
      amount: '0.1',
      crypto: 'BCH',
      address: stranger('BCH'),
    });
    await operator.approve(body.id);
    await when(body.id, 'broadcast');
    expect(await refusal(operator.replace(body.id, 'speed-up'))).toBe('withdrawal.no_replacement');
    await service.call('POST', '/sandbox/mine', { crypto: 'BCH' });
    await when(body.id, 'completed');
    expect(await refusal(operator.replace(body.id, 'cancel'))).toBe('withdrawal.no_replacement');
  });

  it('what is confirmed, or not signed, is not replaced', async () => {
    const waiting = await request();
    expect(await refusal(operator.replace(waiting, 'speed-up'))).toBe('withdrawal.state');
    await operator.approve(waiting);
    await when(waiting, 'broadcast');
    await mine();
    await when(waiting, 'completed');
    expect(await refusal(operator.replace(waiting, 'cancel'))).toBe('withdrawal.state');
  });
});
