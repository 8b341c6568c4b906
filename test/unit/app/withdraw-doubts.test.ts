/** After a restore: what may have been paid before it is not signed again before that is known, and the operator sees why. */
import { expect, it } from 'vitest';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { saveSetting } from '../../../daemon/store/queries/settings.ts';
import { COIN, PayBench } from './pay-bench.ts';

/** A withdrawal that was approved anew after a restore, and a transaction in a block that paid it before. */
async function paidBefore() {
  const pay = await PayBench.open();
  const { app, bench, chain } = pay;
  const [deposit] = await pay.deposits([COIN, COIN]);
  const id = await pay.withdraw(COIN / 2n);
  const record = { since: 0, backup_made_at: 'then', last_withdrawal: id, heights: { [bench.chain.key]: 0 } };
  await app.store.write((tx) => {
    tx.run(saveSetting, { key: 'restored', value: JSON.stringify(record), updated_at: bench.at });
    tx.run({ sql: 'UPDATE withdrawal SET may_be_paid = 1', bind: () => [] }, {});
  });
  const paid = chain.payment(chain.scriptOf(pay.row(id).address), COIN / 2n, [`${deposit!.txid}:0`]);
  chain.mineThese([paid]);
  return { pay, id, paid };
}

it('waits, with the reason shown, while a transaction cannot be read that may have paid it', async () => {
  const { pay, id, paid } = await paidBefore();
  await pay.sync();
  const other = await pay.withdraw(COIN / 10n);
  const spending = pay.chain.adapter.spending!;
  const { transaction } = spending;
  spending.transaction = () => Promise.reject(new Unavailable(`no server has the transaction ${paid.txid}`, 1));
  await pay.pass();
  for (const held of [id, other]) {
    const { state, spend_id, problem } = pay.row(held);
    expect([state, spend_id]).toEqual(['approved', null]);
    expect(problem).toMatch(/after the backup cannot be read.*no server has the transaction/);
    expect(problem).toContain(paid.txid);
  }
  expect(pay.signer.orders).toEqual([]);
  spending.transaction = transaction;
  await pay.round();
  expect(pay.row(id)).toMatchObject({ state: 'completed', txid: paid.txid, problem: null });
  expect(pay.row(other)).toMatchObject({ state: 'broadcast', problem: null });
});

it.each(['start', 'outage'])('waits after a(n) %s until the chain was looked at', async (when) => {
  const { pay, id, paid } = await paidBefore();
  if (when === 'start') pay.bench.chain.syncedAt = 0;
  else pay.bench.chain.away = true;
  await pay.pass();
  expect(pay.row(id)).toMatchObject({
    state: 'approved',
    spend_id: null,
    problem: expect.stringContaining('until the chain was looked at again'),
  });
  expect(pay.signer.orders).toEqual([]);
  await pay.round();
  expect(pay.row(id)).toMatchObject({ state: 'completed', txid: paid.txid, problem: null });
});
