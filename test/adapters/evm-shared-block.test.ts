/**
 * Payments of the coin that share a block with a sending of the same address. Until another operator has confirmed the sending, the
 * balance is lower than what came. Each payment must be told by its own transaction, and none may stay hidden.
 */
import { describe, expect, it } from 'vitest';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { nonceKey } from '../../daemon/domain/spend.ts';
import { anvilTitle, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { until } from './conformance.ts';
import { EndpointPair } from './evm-controls.ts';
import { testAccount } from './keys.ts';

type Fields = { [key: string]: Json };
const COIN = 10n ** 18n;
const STRANGER = `0x${'5e'.repeat(20)}`;

describe.skipIf(!hasAnvil)(anvilTitle('a block of an anvil with payments to an address and from it'), () => {
  const pair = new EndpointPair();
  let others = 9_100;

  /** Two addresses that have a coin each: one that sends, and one that moves money to it. */
  async function scene(needsAgreement = false, secondLookMs = 1_000) {
    const connecting = { needsAgreement: () => needsAgreement, secondLookMs };
    const { adapter, address, id } = await pair.watching(pair.urls, connecting);
    const deposit = await adapter.deriveAddress(testAccount, 0, others++);
    pair.book.watch(deposit);
    for (const to of [address, deposit.address]) {
      await pair.scene.payCoins([{ address: to, units: COIN }]);
      await pair.scene.anvil.rpc('anvil_impersonateAccount', [to]);
    }
    await pair.scene.anvil.mine();
    await until(async () => {
      await pair.book.catchUp(adapter);
      return pair.book.unitsAt(id, 'ETH') === COIN;
    }, 'the first coin');
    const [target] = pair.book.page(id - 1, 1);
    const send = async (units: bigint, isReserved: boolean): Promise<void> => {
      const txid = await pair.scene.anvil.send({ from: address, to: STRANGER, value: units, gas: 21_000 });
      const one = { target: target!, key: nonceKey(address, 0n), nonce: 0n, txids: [txid], usedIn: null };
      if (isReserved) pair.book.nonces.push(one);
    };
    const move = (units: bigint) =>
      pair.scene.anvil.send({ from: deposit.address, to: address, value: units, gas: 21_000 });
    const fill = (units: bigint) => pair.scene.payCoins([{ address, units }]);
    return { adapter, address, id, send, move, fill };
  }
  /** The other operator has the blocks, and no receipts yet. */
  const hesitate = (): void => {
    pair.second.behaviour = {
      changed: ({ method }, result) => (method === 'eth_getTransactionReceipt' ? null : result),
    };
  };
  const mined = async (adapter: EvmAdapter): Promise<void> => {
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
  };
  /** What came to an address since the first coin: its amount, and by a transaction or from inside a contract. */
  const came = (id: number) =>
    [...pair.book.credits.values()]
      .filter(({ targetId, block, amount }) => targetId === id && block !== null && amount.units !== COIN)
      .map(({ amount, txid, block, moved = false }) => [
        amount.units,
        txid === block?.hash ? 'inside' : moved ? 'moved' : 'direct',
      ])
      .sort(([a], [b]) => Number((a as bigint) - (b as bigint)));
  const balance = async (address: string): Promise<bigint> =>
    BigInt(await pair.scene.anvil.rpc<string>('eth_getBalance', [address, 'latest']));
  const agree = async (adapter: EvmAdapter, id: number): Promise<void> => {
    pair.second.behaviour = {};
    await until(async () => {
      await pair.book.catchUp(adapter);
      return [...pair.book.debits.values()].some(({ targetId, block }) => targetId === id && block !== null);
    }, 'the debit');
  };

  const [MOVED, FILL] = [COIN / 20n, COIN / 10n];
  it.each([
    ['small', COIN / 50n, true],
    ['larger than one of them', COIN / 6n, true],
    ['larger than all', COIN / 2n, true],
    ['small, of which nothing was reserved', COIN / 50n, false],
    ['larger than one of them, of which nothing was reserved', COIN / 6n, false],
  ])('tells each payment by its transaction, beside a sending that is %s', async (_, units, isReserved) => {
    const { adapter, address, id, send, move, fill } = await scene();
    hesitate();
    await move(MOVED);
    await fill(FILL);
    await fill(FILL);
    await send(units, isReserved);
    await mined(adapter);
    await agree(adapter, id);
    for (let block = 0; block < 3; block++) await mined(adapter);
    expect(came(id)).toEqual([
      [MOVED, 'moved'],
      [FILL, 'direct'],
      [FILL, 'direct'],
    ]);
    expect(pair.book.unitsAt(id, 'ETH')).toBe(await balance(address));
  });

  it.each([COIN / 50n, COIN / 6n])('tells one of the next block, while a sending of %s waits', async (units) => {
    const { adapter, address, id, send, fill } = await scene();
    hesitate();
    await send(units, true);
    await mined(adapter);
    await fill(FILL);
    await mined(adapter);
    expect(came(id)).toEqual([[FILL, 'direct']]);
    await agree(adapter, id);
    await mined(adapter);
    expect(came(id)).toEqual([[FILL, 'direct']]);
    expect(pair.book.unitsAt(id, 'ETH')).toBe(await balance(address));
  });

  /** The asked endpoint changes balances from the newest block on. It runs no program that tells several. */
  async function changed(units: bigint): Promise<void> {
    const { number, hash } = await pair.scene.anvil.rpc<Fields>('eth_getBlockByNumber', ['latest', false]);
    const hashes = new Set<Json>([hash ?? '']);
    pair.scene.proxy.behaviour = {
      instead: ({ method }) =>
        method === 'eth_call' ? { error: { code: -32_000, message: 'execution reverted' } } : undefined,
      changed({ method, params }, result) {
        const block = result as Fields | null;
        if (method.startsWith('eth_getBlockBy') && Number(block?.number) >= Number(number))
          hashes.add(block?.hash ?? '');
        if (method !== 'eth_getBalance' || !hashes.has((params[1] as Fields).blockHash ?? '')) return result;
        const more = BigInt(result as string) + units;
        return `0x${(more > 0n ? more : 0n).toString(16)}`;
      },
    };
  }

  it('counts the rest of what contracts sent, which an endpoint left out at first', async () => {
    // one that a second look has caught vouches for nothing
    const { adapter, address, id } = await scene(false, 3_600_000);
    const inside = [address, pair.scene.anvil.accounts[5] ?? ''].map((to) => ({ address: to, units: 2n * FILL }));
    await pair.scene.payCoins(inside);
    await pair.scene.anvil.mine();
    hesitate();
    await changed(-FILL);
    await pair.book.catchUp(adapter);
    expect(came(id)).toEqual([[FILL, 'inside']]);
    pair.scene.proxy.behaviour = {};
    await mined(adapter);
    expect(came(id)).toEqual([
      [FILL, 'inside'],
      [FILL, 'inside'],
    ]);
    expect(pair.book.unitsAt(id, 'ETH')).toBe(await balance(address));
  });

  it('counts no invented rest of them: what is known from inside proves nothing more', async () => {
    const { adapter, address, id } = await scene(true);
    const inside = [address, pair.scene.anvil.accounts[5] ?? ''].map((to) => ({ address: to, units: FILL }));
    await pair.scene.payCoins(inside);
    await pair.scene.anvil.mine();
    const counted = async (): Promise<boolean> => {
      await pair.book.catchUp(adapter);
      return came(id).length > 0;
    };
    await until(counted, 'what came');
    await changed(FILL);
    for (let block = 0; block < 3; block++) await mined(adapter);
    expect(came(id)).toEqual([[FILL, 'inside']]);
    expect([...pair.book.credits.values()].filter(({ targetId }) => targetId === id)).toHaveLength(3);
  });
});
