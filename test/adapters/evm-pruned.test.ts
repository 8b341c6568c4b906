/**
 * Coins that came in an outage, at an endpoint that has the state of its newest blocks only: each direct payment is credited under its own
 * transaction, in its own block and at its time.
 */
import { describe, expect, it } from 'vitest';
import type { Credit } from '../../daemon/domain/chain.ts';
import { nonceKey } from '../../daemon/domain/spend.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import type { Request } from '../nodes/evm/endpoint-proxy.ts';
import { EndpointPair } from './evm-controls.ts';

const COIN = 10n ** 18n;
/** Blocks whose state the endpoint keeps. */
const STATES = 12;

type Block = { number: string; hash: string; timestamp: string };

describe.skipIf(!hasAnvil)(anvilTitle('an endpoint that forgets old states'), () => {
  const pair = new EndpointPair();
  const watching = async () => {
    pair.scene.proxy.behaviour = pair.scene.pruned(STATES);
    return pair.watching([pair.scene.proxy.url]);
  };
  /** Pays in a block of its own. Returns how the books should have it. */
  const pay = async (address: string, units: bigint) => {
    const txid = await pair.scene.payCoins([{ address, units }]);
    await pair.scene.anvil.mine();
    const { number, hash, timestamp } = await pair.scene.anvil.rpc<Block>('eth_getBlockByNumber', ['latest', false]);
    const block = { height: Number(number), hash };
    return { id: `${txid}:0`, txid, amount: { asset: 'ETH', units }, block, blockTime: Number(timestamp) * 1_000 };
  };
  const creditsOf = (id: number): Credit[] =>
    [...pair.book.credits.values()]
      .filter(({ targetId }) => targetId === id)
      .sort((a, b) => (a.block?.height ?? 0) - (b.block?.height ?? 0));

  it.each([
    ['shorter than a checkpoint', 40],
    ['longer than a checkpoint', 260],
    ['so long that its headers are not read', 1_300],
  ])('tells the direct payments of an outage that was %s', async (_, blocks) => {
    const { adapter, address, id } = await watching();
    await pair.scene.anvil.mine(10);
    const first = await pay(address, COIN);
    const second = await pay(address, COIN / 2n);
    await pair.scene.anvil.mine(blocks);
    await pair.book.catchUp(adapter);
    expect(creditsOf(id)).toMatchObject([first, second]);
    expect(creditsOf(id)).toHaveLength(2);
    expect(pair.book.unitsAt(id, 'ETH')).toBe((COIN * 3n) / 2n);
    // what comes afterwards is a payment of its own
    const third = await pay(address, 7n);
    await pair.book.catchUp(adapter);
    expect(creditsOf(id)).toMatchObject([first, second, third]);
  });

  it('dates what contracts paid in the outage in the first block whose state it has, and nothing else', async () => {
    const { adapter, address, id } = await watching();
    const other = pair.scene.anvil.accounts[6] ?? '';
    const direct = await pay(address, COIN);
    await pair.scene.payCoins([
      { address, units: 500n },
      { address: other, units: 1n },
    ]);
    await pair.scene.anvil.mine(40);
    const newest = Number(await pair.scene.anvil.rpc<string>('eth_blockNumber', []));
    await pair.book.catchUp(adapter);
    const lit = await pair.scene.anvil.rpc<Block>('eth_getBlockByNumber', [
      `0x${(newest - STATES + 1).toString(16)}`,
      false,
    ]);
    expect(creditsOf(id)).toMatchObject([
      direct,
      {
        txid: lit.hash,
        amount: { units: 500n },
        block: { height: newest - STATES + 1 },
        blockTime: Number(lit.timestamp) * 1_000,
      },
    ]);
  });

  it.each([
    ['an endpoint of another operator has', 1_000, true],
    ['nobody has', STATES, false],
  ])(
    'finds the stranger that used a reserved nonce in an outage, if its state is one that %s',
    async (_, kept, isFound) => {
      pair.scene.proxy.behaviour = pair.scene.pruned(STATES);
      pair.second.behaviour = pair.scene.pruned(kept);
      const { adapter, address, id } = await pair.watching(pair.urls, { needsAgreement: () => true });
      await pay(address, COIN);
      await pair.book.catchUp(adapter);
      const { script } = pair.book.page(0, 1)[0] as { script: Uint8Array };
      const key = nonceKey(address, 0n);
      pair.book.nonces.push({ target: { id, script }, key, nonce: 0n, txids: [`0x${'ab'.repeat(32)}`], usedIn: null });
      await pair.scene.anvil.rpc('anvil_impersonateAccount', [address]);
      const txid = await pair.scene.anvil.send({ from: address, to: address, value: 1n, gas: 21_000 });
      await pair.scene.anvil.mine();
      const height = Number(await pair.scene.anvil.rpc<string>('eth_blockNumber', []));
      await pair.scene.anvil.mine(260);
      await pair.book.catchUp(adapter);
      expect(pair.book.spentBy(key)).toEqual(isFound ? [{ txid, height }] : []);
      expect(
        [...pair.book.debits.values()]
          .filter((debit) => debit.txid === txid)
          .map(({ kind }) => kind)
          .sort(),
      ).toEqual(isFound ? ['fee', 'moved'] : []);
    },
  );

  it('reads no whole blocks while it has no outage behind it', async () => {
    const { adapter, address, id } = await watching();
    let whole = 0;
    const { instead } = pair.scene.pruned(STATES);
    pair.scene.proxy.behaviour = {
      instead(request) {
        if (request.method === 'eth_getBlockByNumber' && request.params[1] === true) whole++;
        return instead?.(request);
      },
    };
    for (let i = 0; i < 3; i++) {
      await pay(address, COIN);
      await pair.book.catchUp(adapter);
    }
    expect(pair.book.paid(id)).toHaveLength(3);
    expect(whole).toBe(0);
  });

  it('does not have another endpoint asked for few events at a time, whose own answers are whole', async () => {
    const { adapter, address, id } = await pair.watching(pair.urls);
    const token = pair.scene.token;
    await pair.scene.anvil.send({ to: token, data: callOf('Standard', 'transfer', [address, 600n]) });
    await pair.scene.anvil.mine(1_300);
    const widths: number[] = [];
    const widthOf = ({ method, params }: Request): number | null => {
      const [{ fromBlock, toBlock }] = method === 'eth_getLogs' ? (params as [Record<string, string>]) : [{}];
      return fromBlock === undefined ? null : Number(toBlock) - Number(fromBlock) + 1;
    };
    pair.scene.proxy.behaviour = {
      instead: (request) =>
        widthOf(request) === null ? undefined : { error: { code: 4_444, message: 'pruned history unavailable' } },
    };
    pair.second.behaviour = {
      instead(request) {
        const width = widthOf(request);
        if (width !== null) widths.push(width);
        return undefined;
      },
    };
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toMatchObject([{ units: 600n }]);
    expect(widths[0]).toBe(500);
    expect(widths.length).toBeLessThan(20);
  });
});
