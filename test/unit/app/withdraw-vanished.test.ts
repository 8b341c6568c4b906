/** Withdrawals whose coins leave the chain: what can still be done, what is reserved, and how it ends. */
import { describe, expect, it } from 'vitest';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { COIN, PayBench } from './pay-bench.ts';
import type { PayTx } from './pay-chain.ts';

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof Rejected ? error.code : String(error)),
  );

/** A withdrawal of two coins, one deep and one with a single confirmation, whose transaction is in the mempool. */
async function ofTwo(chain: 'BTC' | 'LTC' | 'BCH'): Promise<{ pay: PayBench; id: number; deep: PayTx; young: PayTx }> {
  const pay = await PayBench.open(chain);
  const [deep] = await pay.deposits([2n * COIN], 5);
  const [young] = await pay.deposits([COIN]);
  const id = await pay.withdraw((COIN * 5n) / 2n);
  await pay.round();
  expect(pay.row(id).state).toBe('broadcast');
  return { pay, id, deep: deep!, young: young! };
}

/** The last block is replaced by two others that do not have the deposit; `first`: what the first of them has. */
async function vanish(pay: PayBench, { txid }: PayTx, first: PayTx[] = []): Promise<void> {
  pay.chain.reorg({ depth: 1, drop: (tx) => tx.txid === txid, first });
  await pay.sync();
}

describe.each(['BTC', 'LTC', 'BCH'] as const)('%s: a deposit that a withdrawal spends leaves the chain', (chain) => {
  const buried = BURIED_BLOCKS[chain];

  it('the operator is told, and pays it with other coins; either of the two transactions confirms', async () => {
    const { pay, id, young, deep } = await ofTwo(chain);
    await vanish(pay, young);
    expect(pay.row(id).problem).toMatch(new RegExp(`${young.txid}:0.* left the chain. Speed it up`));
    expect(pay.alerts()).toEqual([expect.objectContaining({ kind: 'withdrawal.coin_missing', subject: `${id}` })]);
    await pay.deposits([COIN], 2);
    await pay.replace(id, 'speed-up');
    await pay.round();
    expect([pay.row(id).problem, pay.alerts()]).toEqual([null, []]);
    const [first, second] = pay.versions(id);
    expect(pay.chain.mempool.has(second!.txid!)).toBe(true);
    expect(pay.chain.mempool.get(second!.txid!)!.inputs).toContain(`${deep.txid}:0`);
    pay.chain.mine(buried);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: second!.txid });
    expect(pay.spend(id).state).toBe('buried');
    expect(pay.chain.isMined(first!.txid!)).toBe(false);
  });

  it('it is canceled with what is left, and that is free again', async () => {
    const { pay, id, young } = await ofTwo(chain);
    await vanish(pay, young);
    await pay.replace(id, 'cancel');
    await pay.round();
    pay.chain.mine(buried);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'canceled', problem: null });
    const next = await pay.withdraw(COIN);
    await pay.round();
    expect(pay.row(next).state).toBe('broadcast');
  });

  it('and comes back: the first transaction is sent again, and confirms', async () => {
    const { pay, id, young } = await ofTwo(chain);
    await vanish(pay, young);
    pay.chain.add(young);
    pay.chain.mine();
    await pay.round();
    const [first] = pay.versions(id);
    expect(pay.chain.mempool.has(first!.txid!)).toBe(true);
    pay.chain.mine(buried);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: first!.txid, problem: null });
    expect(pay.alerts()).toEqual([]);
  });

  it('and is spent elsewhere for good: it fails, and the other coin is free', async () => {
    const { pay, id, young } = await ofTwo(chain);
    await vanish(pay, young, [pay.chain.conflictWith(young)]);
    await pay.pass();
    await pay.sync();
    expect(pay.row(id).problem).toMatch(/can never be paid/);
    pay.chain.mine(buried - 3);
    await pay.sync();
    expect(pay.row(id).state).toBe('broadcast');
    pay.chain.mine();
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict', held: false });
    expect(pay.alerts()).toEqual([]);
    const next = await pay.withdraw((COIN * 3n) / 2n);
    await pay.round();
    expect(pay.row(next).state).toBe('broadcast');
  });

  it('and is spent elsewhere, where the source tells no bytes beside its deposits: it fails, too', async () => {
    const pay = await PayBench.open(chain);
    pay.chain.tellsBytes = false;
    const [only] = await pay.deposits([COIN]);
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
    await vanish(pay, only!, [pay.chain.conflictWith(only!)]);
    await pay.round();
    pay.chain.mine(buried);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict' });
  });

  it('with the one that it spent from, which is spent elsewhere: it fails, too', async () => {
    const pay = await PayBench.open(chain);
    const { script } = pay.app.store.get(targetById, { id: pay.bench.unassigned() })!;
    const first = pay.chain.payment(script, 2_000n, undefined, 2n * COIN);
    const second = pay.chain.payment(script, COIN, [`${first.txid}:1`]);
    for (const tx of [first, second]) pay.chain.add(tx);
    pay.chain.mine();
    await pay.sync();
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
    expect(pay.chain.mempool.get(pay.versions(id)[0]!.txid!)!.inputs).toEqual([`${second.txid}:0`]);
    pay.chain.reorg({
      depth: 1,
      drop: ({ txid }) => txid === first.txid || txid === second.txid,
      first: [pay.chain.conflictWith(first)],
    });
    await pay.round();
    pay.chain.mine(buried - 3);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    pay.chain.mine();
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict' });
  });

  it('and was the only coin: it waits and reserves nothing, and fails once the deposit is dead', async () => {
    const pay = await PayBench.open(chain);
    const [only] = await pay.deposits([COIN]);
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
    await vanish(pay, only!);
    expect(pay.spend(id).state).toBe('waiting');
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', held: false });
    expect(pay.row(id).problem).toMatch(/Nothing is reserved/);
    expect(await codeOf(pay.replace(id, 'speed-up'))).toBe('withdrawal.no_coin');
    expect(await codeOf(pay.replace(id, 'cancel'))).toBe('withdrawal.no_coin');
    // other money can be withdrawn, all of it
    await pay.deposits([COIN], 2);
    expect(pay.available()).toBe(COIN);
    const other = await pay.withdraw(null);
    await pay.round();
    expect(pay.row(other).state).toBe('broadcast');
    pay.chain.mineThese([pay.chain.conflictWith(only!)]);
    await pay.round();
    pay.chain.mine(buried - 2);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    pay.chain.mine();
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict' });
    expect(pay.spend(id).state).toBe('buried');
  });

  it('and was believed dead, until a reorganisation took back what killed it', async () => {
    const pay = await PayBench.open(chain);
    const [only] = await pay.deposits([COIN]);
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
    const [first] = pay.versions(id);
    await vanish(pay, only!, [pay.chain.conflictWith(only!)]);
    await pay.round();
    pay.chain.mine(buried);
    await pay.round();
    expect(pay.row(id).state).toBe('failed');
    pay.chain.reorg({ depth: buried + 2, drop: () => true });
    pay.chain.mineThese([only!]);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    pay.chain.mine();
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: first!.txid });
    expect(pay.alerts().map(({ kind }) => kind)).toEqual(['withdrawal.reopened']);
  });
});

describe('a chain of our own transactions', () => {
  it('whose beginning lacks a coin does not keep it from being replaced', async () => {
    const { pay, id, young } = await ofTwo('BTC');
    const child = await pay.withdraw(COIN / 10n);
    await pay.round();
    expect(await codeOf(pay.replace(id, 'speed-up'))).toBe('withdrawal.descendant');
    await vanish(pay, young);
    expect([pay.spend(id).state, pay.spend(child).state]).toEqual(['open', 'waiting']);
    await pay.replace(id, 'cancel');
    await pay.round();
    pay.chain.mine(6);
    await pay.sync();
    expect([pay.row(id).state, pay.row(child).state]).toEqual(['failed', 'failed']);
    expect([pay.row(id).reason, pay.row(child).reason]).toEqual(['canceled', 'conflict']);
    // deep reorganisation: both come back as they were
    pay.chain.reorg({ depth: 8, drop: () => true });
    await pay.sync();
    expect([pay.spend(id).state, pay.spend(child).state]).not.toContain('buried');
  });
});

describe('a coin that is not the anchor', () => {
  it('is spent by somebody else: the other is free once that is buried', async () => {
    const { pay, id, young, deep } = await ofTwo('LTC');
    expect(pay.spend(id).conflict_key).toBe(`${deep.txid}:0`);
    const thief = pay.chain.payment(Buffer.from(`0014${'11'.repeat(20)}`, 'hex'), 1_000n, [`${young.txid}:0`]);
    pay.chain.mineThese([thief]);
    await pay.sync();
    expect(pay.alerts().map(({ kind }) => kind)).toEqual(['withdrawal.conflict']);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', held: true });
    pay.chain.mine(BURIED_BLOCKS.LTC - 1);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict' });
    const next = await pay.withdraw((COIN * 3n) / 2n);
    await pay.round();
    expect(pay.row(next).state).toBe('broadcast');
  });
});
