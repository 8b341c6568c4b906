/** Withdrawals whose coins leave the chain: what can still be done, what is reserved, and how it ends. */
import { describe, expect, it } from 'vitest';
import { deriveSkipped } from '../../../daemon/app/addresses/skipped.ts';
import { checkpointOf } from '../../../daemon/app/chains/checkpoint.ts';
import { takeOver } from '../../../daemon/app/spends/restored-spends.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { COIN, PayBench } from './pay-bench.ts';
import { BCH, BTC, ETH, LTC, type PayFamily, TOKEN, XMR } from './pay-families.ts';
import type { Deposit } from './pay-network.ts';

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof Rejected ? error.code : String(error)),
  );

const COINS = [BTC, LTC, BCH, XMR];

/** A withdrawal of two coins, of which the younger can just be spent; its transaction is in the mempool. */
async function ofTwo(family: PayFamily) {
  const pay = await family.open();
  const { coin } = pay.chain;
  const [deep] = await pay.deposits([2n * coin], 5);
  const [young] = await pay.deposits([coin], 1 + family.lockBlocks);
  const id = await pay.withdraw((coin * 5n) / 2n);
  await pay.round();
  expect(pay.row(id).state).toBe('broadcast');
  return { pay, id, deep: deep!, young: young! };
}

/** The last blocks are replaced by others that do not have the deposit; `killed`: the first of them makes it impossible. */
async function vanish<D extends Deposit>(pay: PayBench<D>, deposit: D, { killed = false } = {}): Promise<void> {
  await pay.chain.undo(pay.chain.depthOf(deposit.txid), [deposit], killed ? [deposit] : []);
  await pay.sync();
}

describe.each(COINS)('$name: a deposit that a withdrawal spends leaves the chain', (family) => {
  it('the operator is told, and pays it with other coins; either of the two transactions confirms', async () => {
    const { pay, id, young, deep } = await ofTwo(family);
    await vanish(pay, young);
    expect(pay.row(id).problem).toMatch(new RegExp(`${young.txid}:0.* left the chain. Speed it up`));
    expect(pay.alerts()).toEqual([expect.objectContaining({ kind: 'withdrawal.coin_missing', subject: `${id}` })]);
    await pay.deposits([pay.chain.coin], 2 + family.lockBlocks);
    await pay.replace(id, 'speed-up');
    await pay.round();
    expect([pay.row(id).problem, pay.alerts()]).toEqual([null, []]);
    const [first, second] = pay.versions(id);
    expect(pay.chain.waiting()).toContain(second!.txid);
    expect(pay.keys(second!.id)).toContain(`${deep!.txid}:0`);
    await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: second!.txid });
    expect(pay.spend(id).state).toBe('buried');
    expect(pay.chain.depthOf(first!.txid!)).toBe(0);
  });

  it('it is canceled with what is left, and that is free again', async () => {
    const { pay, id, young } = await ofTwo(family);
    await vanish(pay, young);
    await pay.replace(id, 'cancel');
    await pay.round();
    await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'canceled', problem: null });
    const next = await pay.withdraw(pay.chain.coin);
    await pay.round();
    expect(pay.row(next).state).toBe('broadcast');
  });

  it('and comes back: the first transaction is sent again, and confirms', async () => {
    const { pay, id, young } = await ofTwo(family);
    await vanish(pay, young);
    await pay.chain.again(young);
    await pay.chain.mine(1 + family.lockBlocks);
    await pay.round();
    const [first] = pay.versions(id);
    expect(pay.chain.waiting()).toContain(first!.txid);
    await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: first!.txid, problem: null });
    expect(pay.alerts()).toEqual([]);
  });

  it('and was the only coin: it waits, and reserves nothing of what comes then', async () => {
    const { pay, id } = await ofOne(family);
    expect(pay.spend(id).state).toBe('waiting');
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', held: false });
    expect(pay.row(id).problem).toMatch(/Nothing is reserved/);
    expect(await codeOf(pay.replace(id, 'speed-up'))).toBe('withdrawal.no_coin');
    expect(await codeOf(pay.replace(id, 'cancel'))).toBe('withdrawal.no_coin');
    const { coin } = pay.chain;
    await pay.deposits([coin], 2 + family.lockBlocks);
    expect(pay.available()).toBe(coin);
    const other = await pay.withdraw(null);
    await pay.round();
    expect(pay.row(other).state).toBe('broadcast');
  });
});

/** A withdrawal whose only coin has left the chain. */
async function ofOne(family: PayFamily) {
  const pay = await family.open();
  const { coin } = pay.chain;
  const [only] = await pay.deposits([coin], 1 + family.lockBlocks);
  const id = await pay.withdraw(coin / 2n);
  await pay.round();
  await vanish(pay, only!);
  return { pay, id, only: only! };
}

describe('XMR: another output has the place of a coin that left the chain', () => {
  it('the payment that was signed fails once that is buried, and other money pays', async () => {
    const { pay, id, only } = await ofOne(XMR);
    const [version] = pay.versions(id);
    const asked: string[] = [];
    const block = checkpointOf(pay.app.store, pay.bench.chain)!.at(-1)!;
    pay.bench.chain.spending.displacedAt = async ({ raw, key }) => {
      asked.push(`${raw} ${key}`);
      return block;
    };
    await pay.pass();
    await pay.sync();
    expect(asked).toEqual([`${version!.raw} ${only.txid}:0`]);
    expect(pay.row(id).problem).toMatch(/can never be paid by what was signed/);
    await pay.chain.mine(BURIED_BLOCKS.XMR - 2);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    await pay.chain.mine();
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict', held: false, problem: null });
    expect(pay.spend(id).state).toBe('buried');
    expect(pay.alerts()).toEqual([]);
    // what is decided is not asked for again
    expect(asked).toHaveLength(1);
    await pay.deposits([pay.chain.coin], 2 + XMR.lockBlocks);
    const other = await pay.withdraw(pay.chain.coin / 2n);
    await pay.round();
    expect(pay.row(other).state).toBe('broadcast');
  });
});

// that a deposit can never return shows in the inputs of its transaction, which Monero hides
describe.each(['BTC', 'LTC', 'BCH'] as const)('%s: a deposit that a withdrawal spends can never return', (chain) => {
  const buried = BURIED_BLOCKS[chain];
  const family = [BTC, LTC, BCH].find(({ name }) => name === chain)!;

  it('it fails, and the other coin is free', async () => {
    const { pay, id, young } = await ofTwo(family);
    await vanish(pay, young, { killed: true });
    await pay.pass();
    await pay.sync();
    expect(pay.row(id).problem).toMatch(/can never be paid/);
    await pay.chain.mine(buried - 3);
    await pay.sync();
    expect(pay.row(id).state).toBe('broadcast');
    await pay.chain.mine();
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict', held: false });
    expect(pay.alerts()).toEqual([]);
    const next = await pay.withdraw((COIN * 3n) / 2n);
    await pay.round();
    expect(pay.row(next).state).toBe('broadcast');
  });

  it('where the source tells no bytes beside its deposits: it fails, too', async () => {
    const pay = await PayBench.open(chain);
    pay.chain.tellsBytes = false;
    const [only] = await pay.deposits([COIN]);
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
    await vanish(pay, only!, { killed: true });
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
    pay.chain.undo(1, [second], [first]);
    await pay.round();
    pay.chain.mine(buried - 3);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    pay.chain.mine();
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'conflict' });
  });

  it('and was the only coin: it fails once the deposit is dead', async () => {
    const { pay, id, only } = await ofOne(family);
    await pay.chain.kill(only);
    await pay.round();
    await pay.chain.mine(buried - 2);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    await pay.chain.mine();
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
    await vanish(pay, only!, { killed: true });
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

describe.each([ETH, TOKEN])('$name: money that a payment needs leaves the chain', (family) => {
  /** Two payments of one address, which has nothing any more. */
  async function ofNothing() {
    const pay = await family.open();
    const { coin } = pay.chain;
    const [only] = await pay.deposits([coin]);
    const ids = [await pay.withdraw(coin / 4n), await pay.withdraw(coin / 4n)];
    await pay.round();
    expect(ids.map((id) => pay.row(id).state)).toEqual(['broadcast', 'broadcast']);
    for (const id of ids) await pay.chain.forget(pay.versions(id)[0]!.txid!);
    await vanish(pay, only!);
    for (const id of ids) await pay.chain.forget(pay.versions(id)[0]!.txid!);
    await pay.sync();
    return { pay, ids, only: only! };
  }

  it('and comes back: both are sent again, in the order of their nonces', async () => {
    const { pay, ids, only } = await ofNothing();
    await pay.round();
    expect(pay.chain.waiting().filter((txid) => ids.some((id) => pay.versions(id)[0]!.txid === txid))).toEqual([]);
    expect(pay.available()).toBe(0n);
    await pay.chain.again(only);
    await pay.chain.mine();
    await pay.round();
    await pay.chain.mine();
    await pay.round();
    expect(ids.map((id) => pay.row(id))).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
    expect(ids.map((id) => pay.versions(id).length)).toEqual([1, 1]);
    expect(pay.available()).toBe(pay.chain.unspent());
    expect(pay.alerts()).toEqual([]);
  });

  it('for good: other money at the address pays them, or cancels one', async () => {
    const { pay, ids } = await ofNothing();
    await pay.round();
    await pay.round();
    expect(pay.alerts().map(({ kind }) => kind)).toContain('withdrawal.not_sent');
    // the second deposit is at another address
    await pay.deposits([pay.chain.coin, pay.chain.coin]);
    await pay.replace(ids[0]!, 'cancel');
    await pay.round();
    await pay.round();
    await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
    await pay.round();
    expect(ids.map((id) => pay.row(id))).toMatchObject([
      { state: 'failed', reason: 'canceled', held: false },
      { state: 'completed', held: false },
    ]);
    expect(pay.available()).toBe(pay.chain.unspent());
    expect(pay.alerts()).toEqual([]);
  });
});

describe('a chain of our own transactions', () => {
  it('whose beginning lacks a coin does not keep it from being replaced', async () => {
    const { pay, id, young, deep } = await ofTwo(BTC);
    const child = await pay.withdraw(COIN / 10n);
    await pay.round();
    expect(await codeOf(pay.replace(id, 'speed-up'))).toBe('withdrawal.descendant');
    await vanish(pay, young);
    expect([pay.spend(id).state, pay.spend(child).state]).toEqual(['open', 'waiting']);
    await pay.replace(id, 'cancel');
    await pay.round();
    await pay.chain.mine(6);
    await pay.sync();
    expect([pay.row(id).state, pay.row(child).state]).toEqual(['failed', 'failed']);
    expect([pay.row(id).reason, pay.row(child).reason]).toEqual(['canceled', 'conflict']);
    // deep reorganisation: both come back as they were
    await pay.chain.undo(8, [deep!, young!]);
    await pay.sync();
    expect([pay.spend(id).state, pay.spend(child).state]).not.toContain('buried');
  });
});

describe('a coin that is not the preferred conflict key', () => {
  it('is spent by somebody else: the other is free once that is buried', async () => {
    const pay = await PayBench.open('LTC');
    const [deep] = await pay.deposits([2n * COIN], 5);
    const [young] = await pay.deposits([COIN]);
    const id = await pay.withdraw((COIN * 5n) / 2n);
    await pay.round();
    expect(pay.spend(id).conflict_key).toBe(`${deep!.txid}:0`);
    const thief = pay.chain.payment(Buffer.from(`0014${'11'.repeat(20)}`, 'hex'), 1_000n, [`${young!.txid}:0`]);
    pay.chain.mineThese([thief]);
    await pay.sync();
    // nobody else has the keys: another machine, or data that is older than the chain
    expect(pay.alerts().map(({ kind }) => kind)).toEqual(['data.older']);
    expect(pay.row(id).state).toBe('broadcast');
    for (const account of pay.app.directory.accounts()) await deriveSkipped(pay.app, account, () => false);
    await pay.round();
    await takeOver(pay.app);
    expect(pay.alerts().map(({ kind }) => kind)).toEqual(['withdrawal.coin_missing', 'restore.unknown_spend']);
    pay.chain.mine(BURIED_BLOCKS.LTC - 1);
    await pay.sync();
    const reason = expect.stringContaining(`conflict: transaction ${thief.txid}, which another machine`);
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason });
    const next = await pay.withdraw((COIN * 3n) / 2n);
    await pay.round();
    expect(pay.row(next).state).toBe('broadcast');
  });
});
