/** What the chain's facts make of signed withdrawals: the rows that stand for them are put there, the facts are told. */

import { beforeEach, describe, expect, it } from 'vitest';
import { availableUnits } from '../../../daemon/app/spends/coins.ts';
import { reportAddress } from '../../../daemon/app/withdrawals/known-addresses.ts';
import type { VersionKind } from '../../../daemon/domain/spend-state.ts';
import { insertTarget, targetIdByScript } from '../../../daemon/store/queries/credits.ts';
import {
  insertKey,
  insertPayout,
  insertSpend,
  insertVersion,
  insertWithdrawal,
  reservedKeys,
  signVersion,
  spendById,
  type WithdrawalRow,
  withdrawalById,
} from '../../../daemon/store/queries/withdrawals.ts';
import { Bench } from './bench.ts';

const COIN = 100_000_000n;
const BURIED = 6;

let bench: Bench;
let coin: string;
let change: number;
let made = 0;

beforeEach(async () => {
  made = 0;
  bench = await Bench.open('BTC');
  const target = bench.unassigned();
  await bench.tell({ blocks: 8, credits: () => [bench.credit(target, 2n * COIN, 7)] });
  coin = `tx${target}:0`;
  change = await changeTarget(0);
});

async function changeTarget(idx: number): Promise<number> {
  const script = Buffer.from(`change script ${idx}`);
  const fields = { account_id: bench.accountId, chain_key: bench.chain.key, script, address: `change ${idx}` };
  await bench.app.store.write((tx) => tx.run(insertTarget, { ...fields, branch: 1, idx, invoice_id: null }));
  return bench.app.store.get(targetIdByScript, { script, chain_key: bench.chain.key })!.id;
}

/** A signed withdrawal of 0.5 BTC; its fee may be 1,000. */
function signedRow(spend_id: number): Omit<WithdrawalRow, 'id' | 'may_be_paid' | 'refund_told' | 'speed'> {
  return {
    uuid: `uuid ${++made}`,
    business_id: bench.businessId,
    account_id: bench.accountId,
    chain_key: bench.chain.key,
    asset: 'BTC',
    origin: 'merchant',
    units: COIN / 2n,
    sweep: false,
    fee_held: 1_000n,
    fee_asset: 'BTC',
    address: 'somebody',
    lookalike_key: 'som…ody',
    outpoint: null,
    inbox_id: null,
    invoice_id: null,
    state: 'signed',
    held: true,
    reason: null,
    usd_value: null,
    approved_by: 'operator',
    approved_at: bench.at,
    approval: null,
    deadline_at: null,
    spend_id,
    cancel: false,
    fee: 600n,
    txid: null,
    problem: null,
    created_at: bench.at,
    updated_at: bench.at,
  };
}

/** A signed withdrawal that spends the coin `key` with the transaction `txid`. */
async function signed(key: string, txid: string): Promise<{ id: number; spendId: number }> {
  const place = {
    account_id: bench.accountId,
    chain_key: bench.chain.key,
    asset: 'BTC' as const,
    created_at: bench.at,
  };
  const spendId = await bench.app.store.write(
    (tx) => tx.run(insertSpend, { ...place, purpose: 'pay', subject: null, conflict_key: key, forwards: null }).id,
  );
  const id = await bench.app.store.write((tx) => tx.run(insertWithdrawal, signedRow(spendId)).id);
  await version(spendId, txid, [key], [id]);
  return { id, spendId };
}

/** A signed version of a spend; one that pays nobody is a cancellation. */
async function version(spendId: number, txid: string, inputs: string[], pays: number[], fee = 600n): Promise<void> {
  const { chain } = bench;
  await bench.app.store.write((tx) => {
    const kind: VersionKind = pays.length > 0 ? 'pay' : 'cancel';
    const fields = { spend_id: spendId, chain_key: chain.key, kind, plan: '{}', approval: null };
    const { id } = tx.run(insertVersion, { ...fields, fee, size: 140, created_at: bench.at });
    tx.run(signVersion, { id, txid, raw: '00', fee, size: 140, proof: null, signed_at: bench.at });
    for (const key of inputs) tx.run(insertKey, { conflict_key: key, chain_key: chain.key, version_id: id });
    for (const one of pays) tx.run(insertPayout, { version_id: id, withdrawal_id: one, units: 50_000_000n });
  });
}

const row = (id: number): WithdrawalRow => bench.app.store.get(withdrawalById, { id })!;
/** Spends up to now may be those of another program with the same words. */
const usedElsewhere = () =>
  bench.app.store.write((tx) =>
    tx.run({ sql: 'UPDATE account SET gap = 20, past_until = 1000000', bind: () => [] }, {}),
  );
const stateOf = (id: number): string => row(id).state;
const spendState = (id: number): string => bench.app.store.get(spendById, { id })!.state;
const available = (): bigint => availableUnits(bench.app.store, bench.accountId, 'BTC');
const reserved = (): string[] =>
  bench.app.store.all(reservedKeys, { chain_key: bench.chain.key }).map(({ conflict_key }) => conflict_key);
const spentBy = (txid: string, back: number | null, outpoint = coin) => ({
  outpoint,
  txid,
  block: back === null ? null : bench.block(back),
});

describe('a signed withdrawal', () => {
  it('is broadcast when the mempool shows it, completed in a block, and its coins stay reserved until it is buried', async () => {
    const { id, spendId } = await signed(coin, 'v1');
    expect(available()).toBe(2n * COIN - COIN / 2n - 1_000n);
    const back = { credits: () => [bench.credit(change, 149_999_400n, null, { txid: 'v1' })] };
    await bench.tell({ ...back, spends: () => [spentBy('v1', null)] });
    // our own change counts at once, and the withdrawal holds nothing any more
    expect([stateOf(id), row(id).held, available()]).toEqual(['broadcast', false, 149_999_400n]);
    await bench.tell({
      blocks: 1,
      credits: () => [bench.credit(change, 149_999_400n, 0, { txid: 'v1' })],
      spends: () => [spentBy('v1', 0)],
    });
    expect(row(id)).toMatchObject({ state: 'completed', txid: 'v1', fee: 600n });
    expect([reserved(), available()]).toEqual([[coin], 149_999_400n]);
    await bench.tell({ blocks: BURIED - 2 });
    expect(spendState(spendId)).toBe('open');
    await bench.tell({ blocks: 1 });
    expect([spendState(spendId), reserved()]).toEqual(['buried', []]);
    expect(bench.alerts()).toEqual([]);
  });

  it('goes back with its block, also from the depth at which it was buried', async () => {
    const { id, spendId } = await signed(coin, 'v1');
    await bench.tell({ blocks: BURIED, spends: () => [spentBy('v1', BURIED - 1)] });
    expect([stateOf(id), spendState(spendId)]).toEqual(['completed', 'buried']);
    await bench.tell({ orphan: BURIED, blocks: BURIED + 1 });
    expect(row(id)).toMatchObject({ state: 'broadcast', txid: null, held: true });
    expect([spendState(spendId), reserved()]).toEqual(['open', [coin]]);
    expect(bench.alerts()).toEqual(['withdrawal.undone']);
    await bench.tell({ blocks: 1, spends: () => [spentBy('v1', 0)] });
    expect(row(id)).toMatchObject({ state: 'completed', txid: 'v1', held: false });
    expect(bench.alerts()).toEqual([]);
  });

  it('is no longer said to be sent again once a reorganisation has undone it for good', async () => {
    await usedElsewhere();
    const { id } = await signed(coin, 'v1');
    await bench.tell({ blocks: 1, spends: () => [spentBy('v1', 0)] });
    await bench.tell({ orphan: 1, blocks: 2 });
    expect(bench.alerts()).toContain('withdrawal.undone');
    await bench.tell({ blocks: BURIED, spends: () => [spentBy('stranger', BURIED - 1)] });
    expect(stateOf(id)).toBe('failed');
    expect(bench.alerts()).not.toContain('withdrawal.undone');
  });

  it('fails only when what somebody else made of its coin is buried', async () => {
    await usedElsewhere();
    const { id, spendId } = await signed(coin, 'v1');
    await bench.tell({ blocks: BURIED - 1, spends: () => [spentBy('stranger', BURIED - 2)] });
    expect([stateOf(id), row(id).held, spendState(spendId)]).toEqual(['signed', true, 'open']);
    expect(bench.alerts()).toEqual(['withdrawal.conflict']);
    await bench.tell({ blocks: 1 });
    expect(row(id)).toMatchObject({
      state: 'failed',
      reason: { code: 'ended.conflict' },
      txid: null,
      held: false,
      fee: 0n,
    });
    expect(spendState(spendId)).toBe('buried');
  });

  it('that had failed and is in a block after all has paid, and the operator is told', async () => {
    await usedElsewhere();
    const { id } = await signed(coin, 'v1');
    await bench.tell({ blocks: BURIED, spends: () => [spentBy('stranger', BURIED - 1)] });
    expect(stateOf(id)).toBe('failed');
    await bench.tell({ orphan: BURIED, blocks: BURIED + 1, spends: () => [spentBy('v1', 0)] });
    expect(row(id)).toMatchObject({ state: 'completed', txid: 'v1', reason: null });
    expect(bench.alerts()).toContain('withdrawal.revived');
  });

  it('that had failed reserves the fee that was signed, once a reorganisation undoes what ended it', async () => {
    await usedElsewhere();
    const { id } = await signed(coin, 'v1');
    await bench.tell({ blocks: BURIED, spends: () => [spentBy('stranger', BURIED - 1)] });
    expect(row(id)).toMatchObject({ state: 'failed', fee: 0n });
    await bench.tell({ orphan: BURIED, blocks: BURIED + 1 });
    expect(row(id)).toMatchObject({ state: 'broadcast', held: true, fee: 600n });
  });

  it('of a batch shares the fee of a cancellation of all, rounded up, and pays nothing for its own', async () => {
    const { id, spendId } = await signed(coin, 'v1');
    const others: number[] = [];
    for (let count = 0; count < 2; count++) {
      others.push(await bench.app.store.write((tx) => tx.run(insertWithdrawal, signedRow(spendId)).id));
    }
    await version(spendId, 'v2', [coin], [id, ...others]);
    await version(spendId, 'v3', [coin], others, 700n);
    await version(spendId, 'v4', [coin], [], 1_000n);
    await bench.tell({ blocks: BURIED, spends: () => [spentBy('v3', BURIED - 1)] });
    expect([row(id), ...others.map(row)].map(({ state, fee }) => [state, fee])).toEqual([
      ['failed', 0n],
      ['completed', 350n],
      ['completed', 350n],
    ]);
    await bench.tell({ orphan: BURIED, blocks: BURIED + 1, spends: () => [spentBy('v4', BURIED - 1)] });
    for (const one of [id, ...others])
      expect(row(one)).toMatchObject({ state: 'failed', reason: { code: 'ended.canceled' }, fee: 334n });
  });

  it('has several versions: whichever is in a block pays, a buried cancellation ends it', async () => {
    const { id, spendId } = await signed(coin, 'v1');
    await version(spendId, 'v2', [coin, 'another:0'], [id]);
    await version(spendId, 'v3', [coin], [], 900n);
    expect(reserved().sort()).toEqual(['another:0', coin, coin, coin].sort());
    await bench.tell({ spends: () => [spentBy('v2', null)] });
    expect(stateOf(id)).toBe('broadcast');
    await bench.tell({ blocks: 1, spends: () => [spentBy('v1', 0)] });
    expect(row(id)).toMatchObject({ state: 'completed', txid: 'v1' });
    await bench.tell({ orphan: 1, blocks: BURIED, spends: () => [spentBy('v3', BURIED - 2)] });
    expect([stateOf(id), row(id).held]).toEqual(['broadcast', true]);
    await bench.tell({ blocks: 1 });
    expect(row(id)).toMatchObject({ state: 'failed', reason: { code: 'ended.canceled' }, fee: 900n });
    expect(reserved()).toEqual([]);
  });

  it('that was only planned is touched by nothing', async () => {
    await usedElsewhere();
    const { id } = await signed(coin, 'v1');
    const { store } = bench.app;
    // as before its bytes were stored
    await store.write((tx) => {
      tx.run({ sql: `UPDATE withdrawal SET state = 'approved'`, bind: () => [] }, {});
      tx.run({ sql: 'UPDATE spend_version SET txid = NULL, raw = NULL', bind: () => [] }, {});
    });
    await bench.tell({ blocks: BURIED, spends: () => [spentBy('stranger', BURIED - 1)] });
    expect(stateOf(id)).toBe('approved');
  });
});

describe('what is said of an address', () => {
  const report = (id: number) =>
    reportAddress(bench.app.store, { business: bench.businessId, chain: 'BTC' }, row(id).address);
  const rewrite = (id: number, set: string) =>
    bench.app.store.write((tx) => tx.run({ sql: `UPDATE withdrawal SET ${set} WHERE id = ${id}`, bind: () => [] }, {}));

  it.each<[state: string, by: string, isNew: boolean, unasked: number]>([
    ['requested', 'operator', true, 0],
    ['approved', 'operator', true, 0],
    ['broadcast', 'operator', true, 0],
    ['failed', 'operator', true, 0],
    ['completed', 'operator', false, 0],
    ['approved', 'policy', true, 0],
    ['broadcast', 'policy', true, 1],
    ['completed', 'policy', true, 1],
    ['completed', 'restore', true, 1],
    ['completed', 'sandbox', true, 1],
  ])('after one that is %s by the %s: new %s, unasked %i', async (state, by, isNew, unasked) => {
    const { id } = await signed(coin, 'v1');
    await rewrite(id, `state = '${state}', approved_by = '${by}'`);
    expect(report(id)).toMatchObject({ isNew, unasked, approved: isNew ? 0 : 1, lookalikes: [] });
  });

  it('no number of withdrawals to others hides what the operator approved', async () => {
    const { id } = await signed(coin, 'v1');
    await rewrite(id, `state = 'completed'`);
    const fake = await signed('other:0', 'v2');
    await rewrite(fake.id, `state = 'requested', approved_by = NULL, address = 'some 0 body'`);
    for (let number = 1; number <= 300; number++) {
      const { id: more } = await signed(`other:${number}`, `w${number}`);
      await rewrite(more, `state = 'requested', approved_by = NULL, address = 'some ${number} body'`);
    }
    expect(report(id)).toMatchObject({ isNew: false, approved: 1, lookalikes: [] });
    expect(report(fake.id).lookalikes[0]).toMatchObject({ address: 'somebody', approved: 1 });
  });

  it('it begins and ends like another one', async () => {
    const first = await signed(coin, 'v1');
    const second = await signed('other:0', 'v2');
    await rewrite(first.id, `address = 'someotherbody'`);
    expect(report(second.id)).toMatchObject({ label: null, isNew: true, lookalikes: [{ address: 'someotherbody' }] });
  });
});

describe('change', () => {
  it('of ours counts before it confirms; what a stranger sends there does not', async () => {
    await signed(coin, 'v1');
    const before = bench.balance();
    await bench.tell({ credits: () => [bench.credit(change, COIN, null, { txid: 'stranger' })] });
    expect(bench.balance()).toBe(before);
  });

  it('that was spent on falls with the transaction that made it', async () => {
    await usedElsewhere();
    const parent = await signed(coin, 'v1');
    const paidBack = () => [bench.credit(change, 149_999_400n, null, { txid: 'v1' })];
    await bench.tell({ credits: paidBack, spends: () => [spentBy('v1', null)] });
    const child = await signed('v1:0', 'w1');
    await bench.tell({
      credits: paidBack,
      spends: () => [spentBy('v1', null), spentBy('w1', null, 'v1:0')],
    });
    expect([stateOf(parent.id), stateOf(child.id)]).toEqual(['broadcast', 'broadcast']);
    await bench.tell({ blocks: BURIED - 1, spends: () => [spentBy('stranger', BURIED - 2)] });
    expect([stateOf(parent.id), stateOf(child.id)]).toEqual(['broadcast', 'broadcast']);
    await bench.tell({ blocks: 1 });
    expect([stateOf(parent.id), stateOf(child.id)]).toEqual(['failed', 'failed']);
    expect(row(child.id).reason?.code).toBe('ended.conflict');
  });
});
