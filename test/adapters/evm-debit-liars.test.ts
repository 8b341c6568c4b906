/**
 * An endpoint of Ethereum's family that invents money that left, beside honest ones: a false debit explains money that never came. It
 * lies in several ways at once and for a short time. Afterwards the books must be what the chain says.
 */
import { describe, expect, it } from 'vitest';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { anvilTitle, callOf, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { inventedSending } from '../nodes/evm/inventions.ts';
import { until } from './conformance.ts';
import { EndpointPair } from './evm-controls.ts';
import { testAccount } from './keys.ts';

type Fields = { [key: string]: Json };
const COIN = 10n ** 18n;
/** More blocks than endpoints keep the state of. */
const LONG = 130;

describe.skipIf(!hasAnvil)(anvilTitle('endpoints of an anvil that invent what left'), () => {
  const pair = new EndpointPair();
  const watching = (urls = pair.urls) => pair.watching(urls, { needsAgreement: () => false });

  const invented = (address: string, fee: bigint) =>
    inventedSending(pair.scene.anvil, pair.scene.token, { address, fee });
  const booked = (id: number) => ({
    credits: pair.book.paid(id).filter(({ height }) => height !== null),
    debits: [...pair.book.debits.values()].filter(({ targetId, block }) => targetId === id && block),
    units: pair.book.unitsAt(id, 'ETH'),
  });
  const nothing = { credits: [], debits: [], units: 0n };
  /** Follows so many blocks. */
  async function follow(adapter: EvmAdapter, blocks: number): Promise<void> {
    for (let left = blocks; left > 0; left -= 40) {
      await pair.scene.anvil.mine(Math.min(40, left));
      await until(async () => {
        await pair.book.catchUp(adapter).catch(() => null);
        const { number } = await pair.scene.anvil.rpc<Fields>('eth_getBlockByNumber', ['latest', false]);
        return pair.book.tip.height === Number(number);
      }, 'the chain is followed');
    }
  }

  it('take nothing off the books, and make no payment of what never came', async () => {
    const { adapter, address, id } = await watching();
    await pair.scene.anvil.mine();
    pair.scene.proxy.behaviour = await invented(address, 20n * COIN);
    await follow(adapter, 2);
    expect(booked(id)).toEqual(nothing);
    pair.scene.proxy.behaviour = {};
    await follow(adapter, LONG);
    expect(booked(id)).toEqual(nothing);
    expect(pair.book.spends.size).toBe(0);
  });

  it('do so while the other operator is silent, too', async () => {
    const { adapter, address, id } = await watching();
    await pair.scene.anvil.mine();
    pair.scene.proxy.behaviour = await invented(address, 20n * COIN);
    pair.second.behaviour = { raw: (response) => Boolean(response.destroy()) };
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter).catch(() => null);
    pair.scene.proxy.behaviour = {};
    pair.second.behaviour = {};
    await follow(adapter, 3);
    expect(booked(id)).toEqual(nothing);
  });

  it('keep back no debit that is true: it counts once another operator has it, after a restart, too', async () => {
    const { adapter, address, id } = await watching();
    await pair.scene.payCoins([{ address, units: COIN }]);
    await pair.pay(address, 5_000n);
    await pair.book.catchUp(adapter);
    await pair.scene.anvil.rpc('anvil_impersonateAccount', [address]);
    pair.second.behaviour = { raw: (response) => Boolean(response.destroy()) };
    const data = callOf('TetherLike', 'transfer', [`0x${'5e'.repeat(20)}`, 2_000n]);
    const txid = await pair.scene.anvil.send({ from: address, to: pair.scene.token, data, gas: 100_000 });
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    expect(booked(id).debits).toEqual([]);
    await adapter.close();
    const again = pair.scene.connect(pair.book, pair.urls, () => false);
    pair.adapter = again;
    await pair.book.catchUp(again);
    expect(booked(id).debits).toEqual([]);
    pair.second.behaviour = {};
    await until(async () => {
      await pair.book.catchUp(again);
      return booked(id).debits.length > 0;
    }, 'the debit');
    expect(booked(id).debits.map(({ txid: of, kind }) => [of, kind])).toEqual([
      [txid, 'fee'],
      [txid, 'paid'],
    ]);
    expect(pair.book.unitsAt(id, 'USDT_ERC20')).toBe(3_000n);
  });

  it('of one transaction take from each address of ours what left it', async () => {
    const { adapter, address, id } = await watching();
    const other = await adapter.deriveAddress(testAccount, 0, 9_000);
    const otherId = pair.book.watch(other);
    await pair.pay(address, 500n);
    await pair.pay(other.address, 700n);
    await pair.book.catchUp(adapter);
    await pair.scene.anvil.send({
      to: pair.scene.token,
      data: callOf('Standard', 'takeAll', [
        [address, other.address],
        [500n, 700n],
      ]),
      gas: 500_000,
    });
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    expect([id, otherId].map((one) => pair.book.unitsAt(one, 'USDT_ERC20'))).toEqual([0n, 0n]);
  });

  it('do not keep a payment away by telling it in another block', async () => {
    const { adapter, address, id } = await pair.watching(pair.urls, { needsAgreement: () => true });
    const { anvil, proxy } = pair.scene;
    const newest = () => anvil.rpc<Fields>('eth_getBlockByNumber', ['latest', false]);
    const before = await newest();
    await pair.scene.payCoins([{ address, units: COIN }]);
    await anvil.mine();
    const paid = await newest();
    // the state of the block before, so that the payment seems to come in the next block
    proxy.behaviour = {
      instead({ method, params }) {
        const at = params.at(-1) as Fields;
        const isState = method === 'eth_call' || method === 'eth_getBalance';
        if (!isState || at.blockHash !== paid.hash) return undefined;
        return proxy.pass({ method, params: [...params.slice(0, -1), { ...at, blockHash: before.hash ?? '' }] });
      },
    };
    await pair.book.catchUp(adapter);
    await anvil.mine();
    await pair.book.catchUp(adapter);
    expect(booked(id).credits).toEqual([]);
    proxy.behaviour = {};
    await until(async () => {
      await anvil.mine();
      await pair.book.catchUp(adapter);
      return booked(id).credits.length > 0;
    }, 'the payment');
    expect(booked(id).credits.map(({ units, height }) => [units, height])).toEqual([[COIN, Number(paid.number)]]);
    expect(pair.book.paid(id)).toHaveLength(1);
  });
});
