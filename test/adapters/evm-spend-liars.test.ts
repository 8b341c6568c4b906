/** Money that left, and that is to leave, before an endpoint of Ethereum's family that lies about it beside an honest one. */
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import type { ChainUpdate } from '../../daemon/domain/chain.ts';
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import { chainIdOf } from '../../daemon/domain/evm.ts';
import { nonceKey } from '../../daemon/domain/spend.ts';
import { anvilTitle, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { type Behaviour, EndpointProxy } from '../nodes/evm/endpoint-proxy.ts';
import { EvmScene } from './evm-controls.ts';
import { FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';

type Fields = { [key: string]: Json };
const signal = () => AbortSignal.timeout(25_000);
const COIN = 10n ** 18n;

const notHere = (): never => {
  throw new Error('an account chain has no coins');
};

describe.skipIf(!hasAnvil)(anvilTitle('endpoints of an anvil that lie about what leaves'), () => {
  let scene: EvmScene;
  let second: EndpointProxy;
  let adapter: EvmAdapter;
  let book: FactBook;
  let nextIndex = 200;
  let from: string;
  let id: number;
  let isLarge = false;

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    second = await EndpointProxy.start(scene.anvil.url);
  });
  afterAll(async () => {
    await second?.close();
    await scene?.stop();
  });
  /** An address of ours with a coin, which the asked endpoint and one of another operator watch. */
  beforeEach(async () => {
    scene.proxy.behaviour = {};
    second.behaviour = {};
    book = new FactBook();
    adapter = scene.connect(book, [scene.proxy.url, second.url.replace('127.0.0.1', 'localhost')], () => isLarge);
    const target = await adapter.deriveAddress(testAccount, 0, nextIndex++);
    from = target.address;
    id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await scene.payCoins([{ address: from, units: COIN }]);
    await step();
    await scene.anvil.rpc('anvil_impersonateAccount', [from]);
  });
  afterEach(() => adapter.close());

  const step = async (): Promise<ChainUpdate> => {
    await scene.anvil.mine();
    return (await book.catchUp(adapter)).at(-1)!;
  };
  /** A payment of ours, in no block yet. */
  async function paying(): Promise<{ txid: string; key: string }> {
    const to = scene.anvil.accounts[6] ?? '';
    const txid = await scene.anvil.send({ from, to, value: COIN / 4n, gas: 21_000 });
    const key = nonceKey(from, 0n);
    const { script } = await adapter.deriveAddress(testAccount, 0, nextIndex - 1);
    book.nonces.push({ target: { id, script }, key, nonce: 0n, txids: [txid], usedIn: null });
    return { txid, key };
  }
  const changing = (method: string, change: (result: Fields | null, params: Json[]) => Json): Behaviour => ({
    changed: (request, result) =>
      request.method === method ? change(result as Fields | null, request.params) : result,
  });
  const failing = changing('eth_getTransactionReceipt', (receipt) => receipt && { ...receipt, status: '0x0' });

  it('believe nobody alone that a payment failed', async () => {
    const { txid, key } = await paying();
    scene.proxy.behaviour = failing;
    expect((await step()).spends).toEqual([]);
    scene.proxy.behaviour = {};
    const { spends } = await step();
    expect(spends).toMatchObject([{ outpoint: key, txid }]);
    expect(spends[0]).not.toHaveProperty('failed');
  });

  it('believe two who say so of a block that nothing proves', async () => {
    const { txid, key } = await paying();
    scene.proxy.behaviour = failing;
    second.behaviour = failing;
    expect((await step()).spends).toMatchObject([{ outpoint: key, txid, failed: true }]);
  });

  it('believe nobody alone that a payment is in a block, or that another transaction took its nonce', async () => {
    const { txid } = await paying();
    await scene.anvil.rpc('anvil_dropTransaction', [txid]);
    const pending = { hash: txid, from, nonce: '0x0', to: `0x${'ab'.repeat(20)}`, value: '0x1' };
    const forged = { ...pending, hash: `0x${'cd'.repeat(32)}` };
    const block = async (): Promise<Fields> => scene.anvil.rpc('eth_getBlockByNumber', ['latest', false]);
    const receipt = async (of: Json): Promise<Fields> => {
      const { number, hash } = await block();
      const found = { transactionHash: of, status: '0x1', blockNumber: number, blockHash: hash, gasUsed: '0x5208' };
      return { ...found, effectiveGasPrice: '0x1', logs: [], from, to: pending.to } as Fields;
    };
    const lies = (told: Fields, count: string): Behaviour => ({
      async instead({ method, params }) {
        if (method === 'eth_getTransactionReceipt') return { result: await receipt(params[0] ?? null) };
        if (method === 'eth_getTransactionByHash') return { result: told };
        if (method === 'eth_getTransactionCount') return { result: count };
        if (method !== 'eth_getBlockByHash') return undefined;
        return { result: { ...(await block()), transactions: [told] } };
      },
    });
    scene.proxy.behaviour = lies(pending, '0x0');
    expect((await step()).spends).toEqual([]);
    scene.proxy.behaviour = lies(forged, '0x1');
    expect((await step()).spends).toEqual([]);
  });

  it('believe one alone that a small payment is done while the other is silent, and not that a large one is', async () => {
    const { txid, key } = await paying();
    second.behaviour = { raw: (response) => Boolean(response.destroy()) };
    isLarge = true;
    expect((await step()).spends).toEqual([]);
    isLarge = false;
    expect((await step()).spends).toMatchObject([{ outpoint: key, txid }]);
  });

  it('take a transaction although the first of them keeps it to itself', async () => {
    const raw = await signedElsewhere();
    let kept = 0;
    scene.proxy.behaviour = {
      instead: ({ method }) => {
        if (method !== 'eth_sendRawTransaction') return undefined;
        kept++;
        return { result: `0x${'ef'.repeat(32)}` };
      },
    };
    const before = await pool();
    await adapter.spending.broadcast(raw, signal());
    expect([kept, (await pool()) - before]).toEqual([1, 1]);
    await scene.anvil.mine();
  });

  it('give the bytes of a transaction though the first of them changes it, or calls it of another kind', async () => {
    const txid = await scene.payTokens([{ address: from, units: 5n }]);
    await scene.anvil.mine();
    const read = (): Promise<string> => adapter.spending.transaction(txid, null, signal());
    const changed = (fields: Fields): Behaviour =>
      changing('eth_getTransactionByHash', (sending) => sending && { ...sending, ...fields });
    const raw = await read();
    expect(raw).toMatch(/^0x02/);
    const lies: Fields[] = [{ value: '0x1' }, { type: '0x3' }, { to: null }];
    for (const fields of lies) {
      scene.proxy.behaviour = changed(fields);
      expect([fields, await read()]).toEqual([fields, raw]);
    }
    second.behaviour = changed({ value: '0x1' });
    scene.proxy.behaviour = changed({ value: '0x2' });
    await expect(read()).rejects.toThrow(Unavailable);
    scene.proxy.behaviour = changed({ type: '0x3' });
    second.behaviour = changed({ type: '0x3' });
    await expect(read()).rejects.toMatchObject({ code: 'spend.malformed' });
  });

  it('give no nonce on which they do not agree, nor one that no block can reach', async () => {
    scene.proxy.behaviour = changing('eth_getTransactionCount', () => '0x9');
    await expect(plan()).rejects.toThrow(Unavailable);
    await expect(plan()).rejects.toThrow(/disagree about how many transactions/);
    scene.proxy.behaviour = {};
    expect(await plan()).toMatchObject({ nonce: 0n, lowestNonce: 0n });
    await expect(plan([nonceKey(from, 10n ** 15n)])).rejects.toThrow(Rejected);
  });

  it('give the nonce on which two of three agree, and count endpoints of one operator once', async () => {
    const third = await EndpointProxy.start(scene.anvil.url);
    const fourth = await EndpointProxy.start(scene.anvil.url);
    try {
      await adapter.close();
      const names = ['localhost', '[::ffff:127.0.0.1]', '[::ffff:127.0.0.1]'];
      const named = [second, third, fourth].map(({ url }, i) => url.replace('127.0.0.1', names[i] ?? ''));
      adapter = scene.connect(book, [scene.proxy.url, ...named], () => false);
      second.behaviour = changing('eth_getTransactionCount', () => '0x9');
      expect(await plan()).toMatchObject({ nonce: 0n });
      // two endpoints of one operator, which the other two contradict
      second.behaviour = {};
      scene.proxy.behaviour = changing('eth_getTransactionCount', () => '0x8');
      third.behaviour = changing('eth_getTransactionCount', () => '0x9');
      fourth.behaviour = third.behaviour;
      await expect(plan()).rejects.toThrow(/disagree about how many transactions \S+ has sent: 8 or 0 or 9/);
    } finally {
      await third.close();
      await fourth.close();
    }
  });

  const pool = async (): Promise<number> =>
    Number((await scene.anvil.rpc<{ pending: string }>('txpool_status', [])).pending);
  async function plan(conflictKeys: string[] = []) {
    const target = { ...(await adapter.deriveAddress(testAccount, 0, nextIndex - 1)), branch: 0 as const };
    const funds = { ...target, index: nextIndex - 1, units: { ETH: COIN } };
    const tank = { ...(await adapter.deriveAddress(testAccount, 1, 0)), index: 0 };
    const to = scene.anvil.accounts[5] ?? '';
    const holdings = { balances: () => [funds], balance: () => funds, nextNonce: (_: string, used: bigint) => used };
    const request = {
      accountNo: 0,
      asset: 'ETH' as const,
      payouts: [{ address: to, units: COIN / 10n }],
      conflictKeys,
      change: tank,
      feeRate: 10n ** 13n,
      feeMin: 0n,
      feeMax: COIN,
      inputsMax: null,
      tipHeight: 0,
      holdings: { ...holdings, coin: notHere, coins: () => [] },
    };
    return adapter.spending.plan(request, signal);
  }
  /** Signed bytes that no endpoint has. */
  async function signedElsewhere(): Promise<string> {
    const account = privateKeyToAccount(`0x${'42'.repeat(32)}`);
    await scene.anvil.rpc('anvil_setBalance', [account.address, `0x${COIN.toString(16)}`]);
    const fees = { gas: 21_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n };
    const chainId = chainIdOf('regtest', 'ETH');
    return account.signTransaction({ type: 'eip1559', chainId, nonce: 0, to: account.address, value: 1n, ...fees });
  }
});
