/** Which withdrawals, and which coins, come to their turn however many others there are. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { spendableCoins } from '../../../daemon/app/spends/coins.ts';
import { expireWithdrawals } from '../../../daemon/app/spends/pass.ts';
import { approve, previewWithdrawal, reject } from '../../../daemon/app/withdrawals/approve.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { message } from '../../../daemon/domain/messages.ts';
import { nonceOf } from '../../../daemon/domain/spend.ts';
import { insertCredit } from '../../../daemon/store/queries/credits.ts';
import { COIN, type CoinBench, PayBench } from './pay-bench.ts';
import { ETH, FAMILIES, TOKEN, XMR } from './pay-families.ts';

const DUST = 20_000;

it('dust, however much of it, hides no coin that is worth more', async () => {
  const pay = await PayBench.open();
  const { app, bench } = pay;
  const target = bench.unassigned();
  const [like] = await pay.deposits([5_000n]);
  const row = bench.row(`${like!.txid}:0`);
  await app.store.write((tx) => {
    for (let i = 0; i < DUST; i++) {
      const { id: _, ...fields } = row;
      tx.run(insertCredit, { ...fields, target_id: target, outpoint: `${i.toString(16).padStart(64, '0')}:0` });
    }
  });
  await pay.deposits([3n * COIN]);
  const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
  const { plain, undecided } = spendableCoins(app.store, bench.chain, account, 'BTC', false);
  expect([plain.length, undecided.map(({ units }) => units)]).toEqual([DUST - 2, [3n * COIN, 5_000n]]);
  const id = await pay.withdraw(2n * COIN);
  await pay.round();
  expect(pay.row(id).state).toBe('broadcast');
});

it.each(FAMILIES)('$name: a hundred withdrawals that cannot be claimed keep no other from its turn', async (family) => {
  const pay = await family.open();
  const { coin } = pay.chain;
  await pay.deposits([3n * coin], 1 + family.lockBlocks);
  const stuck: number[] = [];
  const fee_held = 5n * (await pay.feeRate());
  // refunds of deposits that are not on the chain any more
  for (let i = 0; i < 150; i++) {
    stuck.push(await pay.insert({ outpoint: `${'0'.repeat(63)}${i % 10}:${i}`, fee_held }));
  }
  await pay.pass();
  await pay.app.store.write((tx) => tx.run({ sql: 'UPDATE withdrawal SET held = 0', bind: () => [] }, {}));
  const late = await pay.withdraw(coin);
  await pay.pass();
  expect(pay.row(late)).toMatchObject({ state: 'broadcast', problem: null });
  // those that wait come to their turn one after the other, the last of them too
  const last = stuck.at(-1)!;
  const [deposit] = await pay.deposits([coin], 96);
  await pay.app.store.write((tx) =>
    tx.run(
      { sql: `UPDATE withdrawal SET outpoint = '${deposit!.txid}:0', sweep = 1 WHERE id = ${last}`, bind: () => [] },
      {},
    ),
  );
  for (let i = 0; i < 3; i++) await pay.pass();
  expect(pay.row(last)).toMatchObject({ state: 'broadcast', problem: null });
});

it('what has a transaction and was not signed in time keeps none from expiring', async () => {
  const pay = await PayBench.open();
  const { app } = pay;
  const old = { deadline_at: pay.bench.at - 2 };
  for (let i = 0; i < 1_001; i++) await pay.insert({ ...old, spend_id: 1_000 + i });
  const id = await pay.insert({ deadline_at: pay.bench.at - 1 });
  await app.store.write((tx) => expireWithdrawals(app, tx));
  expect(pay.row(id)).toMatchObject({ state: 'rejected', reason: 'expired' });
});

it('a withdrawal whose coins are all under way waits for a confirmation, and says so', async () => {
  const pay = await PayBench.open();
  await pay.deposits([COIN], 6);
  const first = await pay.withdraw(COIN / 10n);
  await pay.round();
  // a second version: until one of the two is in a block, their change cannot be spent
  await pay.replace(first, 'speed-up', 100_000n);
  await pay.round();
  expect(pay.available()).toBeGreaterThan(COIN / 2n);
  const next = await pay.withdraw(COIN / 10n);
  await pay.round();
  expect(pay.row(next)).toMatchObject({
    state: 'approved',
    problem: expect.stringMatching(/waits for a confirmation/),
  });
  pay.chain.mine();
  await pay.round();
  expect(pay.row(next)).toMatchObject({ state: 'broadcast', problem: null });
});

it('a withdrawal whose change is locked keeps the next one waiting until the lock ends, which it says', async () => {
  const pay = await XMR.open();
  const { coin } = pay.chain;
  await pay.deposits([coin], 10);
  const ids: number[] = [];
  for (let i = 0; i < 3; i++) ids.push(await pay.withdraw(coin / 10n));
  for (const [at, id] of ids.entries()) {
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
    for (const next of ids.slice(at + 1)) {
      expect(pay.row(next)).toMatchObject({
        state: 'approved',
        problem: expect.stringMatching(/waits for a confirmation/),
      });
    }
    await pay.chain.mine(9);
    await pay.round();
    expect(pay.row(ids[at + 1] ?? id).state).toBe(ids[at + 1] ? 'approved' : 'completed');
    await pay.chain.mine();
  }
});

it.each([ETH, TOKEN])(
  '$name: twenty-seven withdrawals from one address all go out at once, in the order of their nonces',
  async (family) => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits([coin], 6);
    const ids: number[] = [];
    for (let i = 0; i < 27; i++) ids.push(await pay.withdraw(coin / 100n));
    await pay.round();
    expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'broadcast'));
    expect(ids.map((id) => nonceOf(pay.spend(id).conflict_key)?.nonce)).toEqual(ids.map((_, at) => BigInt(at)));
    await pay.chain.mine();
    await pay.round();
    expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'completed'));
    expect(pay.available()).toBe(pay.chain.unspent());
  },
);

it.each([
  ['too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]'],
  // Bitcoin Core since 31
  ['too-large-cluster'],
])('twenty-seven withdrawals in a chain from one coin all go out, block by block: %s', async (tooMany) => {
  const pay = await PayBench.open();
  await pay.deposits([COIN], 6);
  pay.chain.ancestorsMax = 25;
  pay.chain.tooMany = tooMany;
  const ids: number[] = [];
  for (let i = 0; i < 27; i++) {
    ids.push(await pay.withdraw(COIN / 100n));
    await pay.round();
  }
  expect(pay.row(ids[25]!).state).toBe('signed');
  expect(pay.row(ids[26]!).problem).toMatch(/waits for a confirmation/);
  expect(pay.alerts()).toEqual([]);
  pay.chain.mine();
  await pay.round();
  await pay.round();
  expect(ids.map((id) => pay.row(id).state).filter((state) => state !== 'completed')).toEqual([
    'broadcast',
    'broadcast',
  ]);
});

/** Approves a sweep as it is shown now. */
async function approveAsShown(pay: CoinBench, id: number): Promise<void> {
  const { preview } = await previewWithdrawal(pay.app, `${id}`);
  const units = BigInt(preview!.intents[0]!.units);
  const until = pay.app.now() + 86_400_000;
  await pay.app.store.write((tx) =>
    approve(pay.app, tx, `${id}`, { until, mac: 'mac', feeMax: preview!.feeMax, units }),
  );
}

function inputsOf(pay: CoinBench, id: number): string[] {
  expect(pay.row(id).state).toBe('broadcast');
  const [version] = pay.versions(id);
  return pay.chain.mempool.get(version!.txid!)!.inputs;
}

it('coins that a sweep leaves alone, as they are worth less than their fee, take no part of what was approved', async () => {
  const pay = await PayBench.open();
  await pay.deposits(
    Array.from({ length: 40 }, () => 100n),
    10,
  );
  const [young] = await pay.deposits([COIN]);
  const id = await pay.request(null);
  await approveAsShown(pay, id);
  await pay.round();
  expect(inputsOf(pay, id)).toEqual([`${young!.txid}:0`]);
});

it('old dust that a lower fee rate makes worth its fee, and a new deposit, take no place in an approved sweep', async () => {
  const pay = await PayBench.open();
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['performance'] });
  pay.chain.feeRate = 40_000n;
  await pay.deposits([1_000n, 1_834n, 600n], 10);
  const shown = await pay.deposits([2_000_000n, 3_000n, COIN]);
  const id = await pay.request(null);
  await approveAsShown(pay, id);
  pay.chain.feeRate = 1_000n;
  // the rate of before is not kept for so long
  vi.advanceTimersByTime(60_000);
  await pay.deposits([COIN - 1n]);
  await pay.round();
  expect(inputsOf(pay, id).toSorted()).toEqual(shown.map(({ txid }) => `${txid}:0`).toSorted());
});

it.each(FAMILIES)('$name: a withdrawal that is rejected while it is prepared is not signed', async (family) => {
  const pay = await family.open();
  const { app } = pay;
  const { coin } = pay.chain;
  await pay.deposits([3n * coin], 1 + family.lockBlocks);
  const id = await pay.withdraw(coin);
  const spending = pay.chain.adapter.spending!;
  const unsigned = spending.unsigned.bind(spending);
  const asked = vi.spyOn(spending, 'unsigned').mockImplementation(async (...given) => {
    await app.store.write((tx) => reject(app, tx, `${id}`, null));
    return unsigned(...given);
  });
  await pay.pass();
  expect(asked).toHaveBeenCalledOnce();
  asked.mockRestore();
  expect([pay.row(id).state, pay.signer.signed.size]).toEqual(['rejected', 0]);
  const next = await pay.withdraw(2n * coin);
  await pay.pass();
  expect(pay.row(next)).toMatchObject({ state: 'broadcast', problem: null });
});

it('what the signer refuses, however often, uses up no address for change, as it gives change only so far', async () => {
  const pay = await PayBench.open();
  await pay.deposits([COIN, COIN, COIN]);
  pay.signer.refuses = () => new Rejected('signer.limit', 'It needs the operator');
  const ids = await Promise.all([1, 2, 3].map(() => pay.withdraw(COIN / 2n)));
  for (let i = 0; i < 2; i++) {
    await pay.pass();
    expect(ids.map((id) => pay.row(id).state)).toEqual(ids.map(() => 'requested'));
    for (const id of ids) await pay.approve(id);
  }
  // somebody was paid at one of them
  const { app, bench } = pay;
  const { id: _, ...like } = bench.row(`${(await pay.deposits([COIN]))[0]!.txid}:0`);
  const used = app.store.all({ sql: 'SELECT id FROM target WHERE branch = 1 AND idx = 1', bind: () => [] }, {});
  const target_id = Number((used as { id: number }[])[0]!.id);
  await app.store.write((tx) => tx.run(insertCredit, { ...like, target_id, outpoint: `${'ab'.repeat(32)}:0` }));
  pay.signer.refuses = () => null;
  await pay.pass();
  const changes = pay.signer.orders.flatMap(({ plan }) =>
    plan.outputs.flatMap((output) => (output.kind === 'change' ? [output.index] : [])),
  );
  expect(changes.toSorted()).toEqual([0, 2, 3]);
});

it('a withdrawal whose fee is approved lower while it is prepared takes no higher one', async () => {
  const pay = await PayBench.open();
  await pay.deposits([COIN]);
  const id = await pay.insert({ units: COIN / 2n, problem: message('wait.block') });
  const { spending } = pay.bench.chain;
  const plan = spending.plan.bind(spending);
  const asked = vi.spyOn(spending, 'plan').mockImplementationOnce(async (...given) => {
    await pay.approve(id, 1n);
    return plan(...given);
  });
  await pay.pass();
  asked.mockRestore();
  expect(pay.row(id)).toMatchObject({ state: 'approved', fee_held: 1n, problem: expect.stringContaining('limit') });
  expect(pay.signer.orders).toEqual([]);
});
