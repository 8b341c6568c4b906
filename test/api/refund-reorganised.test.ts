/** Refunds after a reorganisation: no money goes back that is not there any more, and none instead of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { message } from '../../daemon/domain/messages.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

const CONFIRMATIONS = 3;
const ADDRESS = stranger('LTC', 7);

let service: TestDaemon;
let operator: Operator;
beforeAll(async () => {
  service = await startTestDaemon('trusted_proxies = ["127.0.0.1"]\n');
  operator = new Operator(service.dataDir);
  // buried deeper than any reorganisation here, and enough to pay a refund out of somebody else's money
  await deposit(service, 'LTC', 800);
  await mine(12);
});
afterAll(() => service.stop());

const mine = (blocks = CONFIRMATIONS) => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks });
const shown = async (invoice: string) => (await operator.call('invoice.show', { invoice })).invoice;
const itemOf = async (invoice: string) =>
  (await operator.call('inbox.list', {})).items.find((one) => one.invoice === invoice)!;
const pay = async (invoice_id: string, amount: string): Promise<string> =>
  (await service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id, amount })).body.tx_id;

/** A paid invoice of 80 USD, one LTC, with the transactions that paid these amounts of LTC, all in the last blocks. */
async function paid(...amounts: string[]): Promise<{ invoice: string; txs: string[] }> {
  const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
  await service.call('POST', `/invoice/rp/${body.id}`, {});
  const txs: string[] = [];
  for (const amount of amounts) txs.push(await pay(body.id, amount));
  await mine();
  await until('it is paid', async () => (await shown(body.id)).status === 'paid');
  return { invoice: body.id, txs };
}

const payment = async (invoice: string) =>
  (await service.call<{ payment: { received: string; confirmed: string } }>('GET', `/invoice/${invoice}`)).body.payment;

/** Takes the last blocks back: one transaction loses its place for good, the others are mined again. */
async function lose(invoice: string, tx_id: string, left: string): Promise<void> {
  await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: CONFIRMATIONS });
  expect((await service.call('POST', '/sandbox/double-spend', { tx_id })).status).toBe(200);
  await mine(CONFIRMATIONS + 2);
  await until(`${left} LTC are confirmed`, async () => {
    const { received, confirmed } = await payment(invoice);
    return received === left && confirmed === left;
  });
}

describe('an overpayment of which a deposit vanished', () => {
  it('is not sent back out of the price', async () => {
    const { invoice, txs } = await paid('1', '0.4');
    const { id } = await itemOf(invoice);
    expect((await shown(invoice)).over).toMatchObject({ amount: '0.4' });
    await lose(invoice, txs[0]!, '0.4');
    expect((await shown(invoice)).over).toBeNull();
    const refused = { code: 'refund.nothing' };
    await expect(operator.call('inbox.refund', { id, address: ADDRESS })).rejects.toMatchObject(refused);
    await expect(operator.call('refundLink.make', { inbox: id })).rejects.toMatchObject(refused);
    // a refund of what is there is the shop's decision, and decides nothing about the difference
    const { body } = await service.call<{ id: string }>('POST', `/invoice/${invoice}/refund`, { address: ADDRESS });
    expect((await itemOf(invoice)).state).toBe('open');
    await operator.call('withdrawal.reject', { id: body.id });
  });

  it('goes back as far as it stands', async () => {
    const { invoice, txs } = await paid('0.3', '1.1');
    const { id } = await itemOf(invoice);
    await lose(invoice, txs[0]!, '1.1');
    expect((await shown(invoice)).over).toMatchObject({ amount: '0.1' });
    const { withdrawal } = await operator.call('inbox.refund', { id, address: ADDRESS });
    expect(withdrawal.amount).toBe('0.1');
    await operator.call('withdrawal.reject', { id: `${withdrawal.id}` });
  });

  it('goes back less what went back before', async () => {
    const { invoice } = await paid('1.4');
    const { id } = await itemOf(invoice);
    const part = { address: ADDRESS, amount: '0.3' };
    const { body } = await service.call<{ id: string }>('POST', `/invoice/${invoice}/refund`, part);
    const { withdrawal } = await operator.call('inbox.refund', { id, address: ADDRESS });
    expect([withdrawal.amount, (await itemOf(invoice)).state]).toEqual(['0.1', 'refunding']);
    for (const one of [body.id, `${withdrawal.id}`]) await operator.call('withdrawal.reject', { id: one });
  });
});

describe('a refund link that is answered after a reorganisation', () => {
  const linkOf = async (id: number) =>
    (await operator.call('refundLink.list', { limit: 200 })).links.find((link) => link.id === id)!;
  const give = async (url: string, address: string): Promise<number> => {
    const body = new URLSearchParams({ address, mine: 'yes' });
    return (await fetch(url, { method: 'POST', body, redirect: 'manual' })).status;
  };

  it('waits until the overpayment is confirmed again, not the price alone, and goes on by itself', async () => {
    const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    await service.call('POST', `/invoice/rp/${body.id}`, {});
    await pay(body.id, '1');
    await mine(2);
    await pay(body.id, '0.4');
    await mine();
    const confirmed = (units: string) =>
      until(`${units} LTC are confirmed`, async () => (await payment(body.id)).confirmed === units);
    await confirmed('1.4');
    const { link } = await operator.call('refundLink.make', { inbox: (await itemOf(body.id)).id });
    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: CONFIRMATIONS });
    await confirmed('1');
    expect(await give(link.url, ADDRESS)).toBe(303);
    const locked = expect.objectContaining({ code: 'inbox.locked' });
    expect(await linkOf(link.id)).toMatchObject({
      state: 'given',
      address: ADDRESS,
      withdrawal: null,
      problem: locked,
    });
    // also while its turn comes
    await service.restart();
    await expect(operator.call('inbox.keep', { id: link.inbox! })).rejects.toMatchObject({ code: 'refund.link_open' });
    expect(await linkOf(link.id)).toMatchObject({ withdrawal: null, problem: locked });

    await mine();
    await confirmed('1.4');
    // the turn of every minute, which also comes at the start
    await service.restart();
    const { withdrawal } = await until('it is asked for', async () => {
      const now = await linkOf(link.id);
      return now.withdrawal === null ? null : now;
    });
    expect(await operator.show(withdrawal!)).toMatchObject({ amount: '0.4', address: ADDRESS, state: 'requested' });
    expect((await linkOf(link.id)).problem).toBeNull();
    expect((await itemOf(body.id)).state).toBe('refunding');
    await operator.call('withdrawal.reject', { id: `${withdrawal}` });
  });

  it.each([
    [
      'nothing of the overpayment is left',
      ['1', '0.4'],
      '0.4',
      'refund.nothing',
      'left the chain, or went back already',
    ],
    ['a part of it is left', ['0.3', '1.1'], '1.1', 'refund.too_much', 'Only 0.1 LTC of the overpayment'],
  ])('asks for nothing where %s', async (_, amounts, left, code, words) => {
    const { invoice, txs } = await paid(...amounts);
    const { link } = await operator.call('refundLink.make', { inbox: (await itemOf(invoice)).id });
    expect(link.amount).toBe('0.4');
    await lose(invoice, txs[0]!, left);
    expect(await give(link.url, ADDRESS)).toBe(303);
    const given = await linkOf(link.id);
    const problem = { code, values: { text: expect.stringContaining(words) } };
    expect(given).toMatchObject({ state: 'given', withdrawal: null, problem });
    await expect(operator.call('refundLink.prepare', { id: link.id })).resolves.toMatchObject({
      link: { withdrawal: null, problem: given.problem },
    });
    expect((await operator.call('refundLink.end', { id: link.id })).link.state).toBe('over');
  });
});

describe('a refund that was asked for before the reorganisation', () => {
  const ask = async (invoice: string, amount?: string): Promise<string> => {
    const body = { address: ADDRESS, ...(amount !== undefined && { amount }) };
    return (await service.call<{ id: string }>('POST', `/invoice/${invoice}/refund`, body)).body.id;
  };
  const approve = (id: string) => operator.carryOut({ kind: 'pay', id });
  const alertOf = async (id: string) =>
    (await operator.call('alert.list', {})).alerts.find(
      ({ kind, subject }) => kind === 'withdrawal.refused' && subject === id,
    );
  const held = async (id: string, problem: string): Promise<void> => {
    await until(`withdrawal ${id} is held`, async () => ((await operator.show(id)).problem ?? '').includes(problem));
    expect(await operator.show(id)).toMatchObject({ state: 'approved', tx_id: null });
    await until('the operator is told', async () => (await alertOf(id)) !== undefined);
    expect((await operator.alertsOf('withdrawal.refused')).join('\n')).toContain(
      `Withdrawal ${id} waits. It refunds invoice`,
    );
  };
  const isSent = async (id: string) => ['broadcast', 'completed'].includes((await operator.show(id)).state);
  const unconfirmed = async (invoice: string): Promise<void> => {
    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: CONFIRMATIONS });
    await until('nothing is confirmed', async () => (await payment(invoice)).confirmed === '0');
  };

  it('waits until its money is confirmed again, and then goes out by itself', async () => {
    const { invoice } = await paid('1');
    const id = await ask(invoice, '0.6');
    await unconfirmed(invoice);
    await approve(id);
    await held(id, 'its confirmed deposits are gone or unconfirmed');
    await mine();
    await until('it is sent', () => isSent(id));
    expect(await alertOf(id)).toBeUndefined();
  });

  it('takes what is left once, and the other one waits', async () => {
    const { invoice, txs } = await paid('0.5', '0.5');
    const ids = [await ask(invoice, '0.4'), await ask(invoice, '0.5')];
    await lose(invoice, txs[0]!, '0.5');
    await approve(ids[1]!);
    await until('it is sent', () => isSent(ids[1]!));
    await approve(ids[0]!);
    await held(ids[0]!, 'its confirmed deposits are gone or unconfirmed');
    await operator.call('withdrawal.reject', { id: ids[0]! });
    expect(await alertOf(ids[0]!)).toBeUndefined();
  });

  it('of an overpayment is not paid out of the price', async () => {
    const { invoice, txs } = await paid('0.9', '0.5');
    const { withdrawal } = await operator.call('inbox.refund', { id: (await itemOf(invoice)).id, address: ADDRESS });
    const id = `${withdrawal.id}`;
    await lose(invoice, txs[0]!, '0.5');
    const preview = await operator.preview(id);
    expect(preview.warnings).toContainEqual(
      expect.objectContaining({
        code: 'over_refund',
        text: message('warning.uncovered', { invoice, id: withdrawal.id }),
      }),
    );
    await approve(id);
    await held(id, 'its confirmed overpayment is gone or unconfirmed');
    await operator.call('withdrawal.reject', { id });
    expect((await itemOf(invoice)).state).toBe('open');
  });

  it('cannot join a batch', async () => {
    const [one, other] = [await paid('1'), await paid('1')];
    const ids = [await ask(one.invoice), await ask(other.invoice)];
    await lose(other.invoice, other.txs[0]!, '0');
    await expect(operator.propose({ kind: 'batch', ids })).rejects.toMatchObject({ code: 'spend.uncovered' });
    for (const id of ids) await operator.call('withdrawal.reject', { id });
  });
});
