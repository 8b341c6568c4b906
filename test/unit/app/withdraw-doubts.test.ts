/** After a restore: what may have been paid before it is not signed again before that is known, and the operator sees why. */
import { expect, it, vi } from 'vitest';
import { leftOn } from '../../../daemon/app/recovery/quarantine.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { reportedDebitsAbove } from '../../../daemon/store/queries/debits.ts';
import { saveSetting } from '../../../daemon/store/queries/settings.ts';
import { versionByTxid } from '../../../daemon/store/queries/withdrawals.ts';
import { COIN, PayBench } from './pay-bench.ts';
import { ETH } from './pay-families.ts';

/** A withdrawal that was approved anew after a restore, and a transaction in a block that paid it before. */
async function paidBefore(setting = 'restored') {
  const pay = await PayBench.open();
  const { app, bench, chain } = pay;
  const [deposit] = await pay.deposits([COIN, COIN]);
  const id = await pay.withdraw(COIN / 2n);
  const record = { since: 0, backup_made_at: 'then', last_withdrawal: id, heights: { [bench.chain.key]: 0 } };
  await app.store.write((tx) => {
    tx.run(saveSetting, { key: setting, value: JSON.stringify(record), updated_at: bench.at });
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

it.each([
  ['stands still', 0],
  ['jumps back', -3_600_000],
])('finds it after two syncs once every address was looked at, though the clock %s', async (_, ms) => {
  const { pay, id, paid } = await paidBefore('quarantine');
  const { app, bench, chain } = pay;
  let isLooking = true;
  Object.assign(chain.adapter, { rescan: () => {}, rescanning: () => isLooking });
  let asked = 0;
  let woken = 0;
  app.wake.on({
    chain: () => asked++,
    withdrawals: () => woken++,
  });
  await pay.round();
  await pay.pass();
  expect([pay.row(id).state, asked]).toEqual(['approved', 0]);
  isLooking = false;
  for (const syncs of [1, 2]) {
    await pay.pass();
    await pay.pass();
    // asked for once each, and what comes of it is looked at without a wait
    expect([pay.row(id).state, asked]).toEqual(['approved', syncs]);
    bench.advance(ms - 1_000);
    woken = 0;
    await pay.sync();
    expect(woken).toBeGreaterThan(0);
  }
  await pay.pass();
  await pay.sync();
  expect(pay.row(id)).toMatchObject({ state: 'completed', txid: paid.txid });
});

it('looks at it, too, once the withdrawal that it may have paid is no more, and nothing waits for that', async () => {
  const { pay, id, paid } = await paidBefore();
  const { app, chain, bench } = pay;
  const isKnown = (): boolean =>
    app.store.get(versionByTxid, { txid: paid.txid, chain_key: bench.chain.key }) !== undefined;
  await pay.sync();
  const reject = { sql: "UPDATE withdrawal SET state = 'rejected' WHERE id = ?", bind: () => [id] };
  await app.store.write((tx) => tx.run(reject, {}));
  const other = await pay.withdraw(COIN / 10n);
  const spending = chain.adapter.spending!;
  const { transaction } = spending;
  spending.transaction = () => Promise.reject(new Unavailable('no server has it', 1));
  await pay.pass();
  expect([pay.row(other).state, isKnown(), leftOn(app.store, bench.chain.key)]).toEqual(['broadcast', false, 1]);
  spending.transaction = transaction;
  await pay.pass();
  expect([isKnown(), leftOn(app.store, bench.chain.key)]).toEqual([true, 0]);
});

it('is asked for again until a source has it, although nothing else is to be done', async () => {
  const { pay, id } = await paidBefore();
  const { app, chain, bench } = pay;
  let woken = 0;
  app.wake.on({ withdrawals: () => woken++ });
  await pay.sync();
  expect(woken).toBeGreaterThan(0);
  const reject = { sql: "UPDATE withdrawal SET state = 'rejected' WHERE id = ?", bind: () => [id] };
  await app.store.write((tx) => tx.run(reject, {}));
  const spending = chain.adapter.spending!;
  const { transaction } = spending;
  spending.transaction = () => Promise.reject(new Unavailable('no server has it', 1));
  expect([await pay.pass(), leftOn(app.store, bench.chain.key)]).toEqual([true, 1]);
  spending.transaction = transaction;
  expect([await pay.pass(), leftOn(app.store, bench.chain.key)]).toEqual([false, 0]);
});

it('searches the debits of an account chain on from where it was, however many of its payments the backup knows nothing of', async () => {
  const PAYMENTS = 6;
  const pay = await ETH.open();
  const { app, bench, chain } = pay;
  await pay.deposits([chain.coin]);
  const ids: number[] = [];
  for (let i = 0; i < PAYMENTS; i++) ids.push(await pay.withdraw(chain.coin / 10n));
  await pay.round();
  await chain.mine();
  await pay.sync();
  const txids = ids.map((id) => pay.row(id).txid);
  const record = { since: 0, backup_made_at: 'then', last_withdrawal: ids.at(-1), heights: {}, last_debit: 0 };
  await app.store.write((tx) => {
    tx.run(saveSetting, { key: 'restored', value: JSON.stringify(record), updated_at: bench.at });
    for (const sql of [
      ...['spend', 'spend_version', 'spend_key', 'spend_payout'].map((table) => `DELETE FROM ${table}`),
      "UPDATE withdrawal SET state = 'approved', spend_id = NULL, txid = NULL, may_be_paid = 1, held = 1",
    ]) {
      tx.run({ sql, bind: () => [] }, {});
    }
  });
  const begun: number[] = [];
  const all = app.store.all.bind(app.store);
  vi.spyOn(app.store, 'all').mockImplementation((statement, parameters) => {
    if ((statement as unknown) === reportedDebitsAbove) begun.push((parameters as { id: number }).id);
    return all(statement, parameters);
  });
  await pay.round();
  expect(ids.map((id) => pay.row(id))).toMatchObject(txids.map((txid) => ({ state: 'completed', txid })));
  // each search begins where the one before ended
  expect(begun).toEqual(begun.toSorted((a, b) => a - b));
  expect(new Set(begun).size).toBeGreaterThanOrEqual(PAYMENTS);
});
