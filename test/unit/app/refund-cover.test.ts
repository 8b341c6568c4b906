/** A refund whose deposit leaves the chain between its claim and its signature, and one whose deposit is in no block. */
import { expect, it } from 'vitest';
import { refundDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import { COIN, PayBench } from './pay-bench.ts';
import { PaySandbox } from './pay-sandbox.ts';

const CONFIRMED = 6;

it('is not signed, waits for the deposit, and goes out once it is back', async () => {
  const pay = await PayBench.open();
  await pay.deposits([40n * COIN], CONFIRMED);
  const invoice = await pay.bench.invoice();
  const { script, address } = pay.app.store.get(targetById, { id: invoice.targetId })!;
  const deposit = pay.chain.deposit({ script, address }, invoice.units);
  await pay.sync();
  await pay.chain.mine(CONFIRMED);
  await pay.sync();
  expect(pay.bench.invoiceStatus(invoice.id)).toBe('paid');

  const id = await pay.insert({ origin: 'refund', invoice_id: invoice.id, units: invoice.units });
  pay.signer.refuses = () => new Rejected('signer.locked', 'the wallet is locked');
  await pay.pass();
  expect(pay.row(id).spend_id).not.toBeNull();
  pay.chain.undo(CONFIRMED, [deposit]);
  await pay.sync();
  pay.signer.refuses = () => null;
  pay.signer.orders.length = 0;
  await pay.pass();
  expect(pay.signer.orders).toEqual([]);
  expect(pay.row(id)).toMatchObject({
    state: 'approved',
    spend_id: null,
    problem: expect.stringContaining('its confirmed deposits are gone or unconfirmed'),
  });
  await pay.pass();
  const told = () => pay.alerts().map(({ kind }) => kind);
  expect(told()).toContain('withdrawal.refused');

  pay.chain.again(deposit);
  await pay.chain.mine(CONFIRMED);
  await pay.round();
  expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  expect(told()).not.toContain('withdrawal.refused');
});

it('takes from the balance only what its deposit brought there', async () => {
  const pay = await PayBench.open();
  await pay.deposits([2n * COIN], CONFIRMED);
  await pay.deposit(5n * COIN);
  await pay.sync();
  const [item] = pay.app.store.all(inboxBelow, { id: Number.MAX_SAFE_INTEGER, limit: 1 });
  const { units } = await refundDeposit(pay.app, item!.id, pay.recipient());
  expect([units, pay.available()]).toEqual([5n * COIN, 2n * COIN]);
  await pay.chain.mine(1);
  await pay.sync();
  expect(pay.available()).toBe(2n * COIN);
});

it('of Monero waits until its deposit can be spent, although fewer confirmations were enough for it to count', async () => {
  const pay = await PayBench.on(new PaySandbox('XMR', { 'networks.mainnet.XMR.confirmations': '0:2' }));
  await pay.deposits([2n * pay.chain.coin], 10);
  await pay.deposit(5n * pay.chain.coin);
  await pay.chain.mine(3);
  await pay.sync();
  const [item] = pay.app.store.all(inboxBelow, { id: Number.MAX_SAFE_INTEGER, limit: 1 });
  const { id } = await refundDeposit(pay.app, item!.id, pay.recipient());
  await pay.approve(id);
  await pay.round();
  // every node would refuse it, and another signature would show which output of the ring is the real one
  expect(pay.signer.orders).toEqual([]);
  expect(pay.row(id)).toMatchObject({ state: 'approved', problem: expect.stringContaining('confirmations') });
  await pay.chain.mine(7);
  await pay.round();
  expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
});
