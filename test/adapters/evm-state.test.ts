/**
 * The adapter of Ethereum's family beside payments: finality, hints, balances as a record for the books, the search for used
 * addresses, tokens that nobody here knows, and coins from inside contracts.
 */
import { describe, expect, it } from 'vitest';
import { AccountDiscovery } from '../../daemon/app/recovery/account-discovery.ts';
import { usedCall } from '../../daemon/chains/evm/used.ts';
import type { AccountKey, ChainUpdate } from '../../daemon/domain/chain.ts';
import { nonceKey } from '../../daemon/domain/spend.ts';
import { anvilTitle, callOf, compiledYul, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import type { EndpointProxy } from '../nodes/evm/endpoint-proxy.ts';
import { until } from './conformance.ts';
import { EndpointPair } from './evm-controls.ts';
import { testAccount } from './keys.ts';

const signal = () => AbortSignal.timeout(25_000);
const COIN = 10n ** 18n;
/** Payments of an address, more than one search finds. */
const SENT = 27;

describe.skipIf(!hasAnvil)(anvilTitle('what an anvil tells beside payments'), () => {
  const pair = new EndpointPair();
  const watching = (urls = [pair.scene.proxy.url], pollMs?: number) => pair.watching(urls, { pollMs });
  const pay = async (address: string, units: bigint): Promise<void> => {
    await pair.pay(address, units);
  };
  const step = async (): Promise<ChainUpdate> => {
    await pair.scene.anvil.mine();
    const updates = await pair.book.catchUp(pair.adapter!);
    return updates.at(-1)!;
  };
  const finalAt = (proxy: EndpointProxy, height: number | null): void => {
    proxy.behaviour = {
      async instead({ method, params }) {
        if (method !== 'eth_getBlockByNumber' || params[0] !== 'finalized') return undefined;
        if (height === null) return { error: { code: -32_602, message: 'invalid block tag' } };
        return proxy.pass({ method, params: [`0x${height.toString(16)}`, false] });
      },
    };
  };

  it('tells the final block, the lower of two operators’, and none where one of them tells none', async () => {
    await watching(pair.urls);
    const { height } = pair.book.tip;
    finalAt(pair.scene.proxy, height - 1);
    finalAt(pair.second, height - 2);
    expect((await step()).finalized).toBe(height - 2);
    pair.second.behaviour = { raw: (response) => Boolean(response.destroy()) };
    expect((await step()).finalized).toBe(height - 2);
    await pair.adapter!.close();
    await watching(pair.urls);
    finalAt(pair.second, null);
    expect((await step()).finalized).toBeNull();
    // of the only operator
    await pair.adapter!.close();
    await watching();
    expect((await step()).finalized).toBe(height - 1);
    finalAt(pair.scene.proxy, null);
    expect((await step()).finalized).toBeNull();
    // beyond its own newest block, or of another chain
    finalAt(pair.scene.proxy, pair.book.tip.height + 1);
    pair.second.behaviour = {
      changed: ({ params }, result) =>
        params[0] === 'finalized' ? { ...(result as { [key: string]: Json }), hash: `0x${'ab'.repeat(32)}` } : result,
    };
    await pair.scene.anvil.mine(70);
    const updates = await pair.book.catchUp(pair.adapter!);
    expect(updates.at(-1)?.finalized).toBeLessThan(pair.book.tip.height - 60);
  });

  it('looks at once after a hint, and goes on beside a socket that nothing answers', async () => {
    const socket = pair.scene.anvil.url.replace('http:', 'ws:');
    const { adapter } = await watching([pair.scene.proxy.url, socket, 'ws://127.0.0.1:9'], 60_000);
    let wakes = 0;
    adapter.onHint(() => wakes++);
    // the poller itself would look in a minute
    await until(
      async () => {
        await pair.scene.anvil.mine();
        return wakes > 0;
      },
      'the hint that wakes',
      50_000,
    );
    expect(adapter.health().error).toBeNull();
  });

  it('reads the balances of every address that had money as of one block, from the other operator', async () => {
    const { adapter, address, id } = await watching(pair.urls);
    await pay(address, 5_000n);
    await pair.scene.payCoins([{ address, units: COIN / 2n }]);
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    const before = pair.second.requests;
    const { tip, held } = await adapter.balances.read(signal());
    expect(pair.second.requests).toBeGreaterThan(before);
    expect(tip).toEqual(pair.book.tip);
    const told = [
      { targetId: id, address, asset: 'ETH', units: COIN / 2n },
      { targetId: id, address, asset: 'USDT_ERC20', units: 5_000n },
    ];
    expect(held).toEqual(told);
    // a payment of which the books know nothing
    const unseen = await adapter.deriveAddress(testAccount, 0, 900_001);
    const empty = await adapter.deriveAddress(testAccount, 0, 900_002);
    await pay(unseen.address, 77n);
    const targetId = pair.book.watch(unseen);
    pair.book.watch(empty);
    expect((await adapter.balances.read(signal())).held).toEqual([
      told[0],
      { targetId, address: unseen.address, asset: 'ETH', units: 0n },
      told[1],
      { targetId, address: unseen.address, asset: 'USDT_ERC20', units: 77n },
    ]);
    const none = { instead: () => ({ error: { code: -32_000, message: 'missing trie node' } }) };
    pair.scene.proxy.behaviour = none;
    pair.second.behaviour = none;
    await expect(adapter.balances.read(signal())).rejects.toThrow(/refuses|no longer has/);
  });

  it('reports what left an address without this program, tokens and coins', async () => {
    const { address, id } = await watching();
    await pay(address, 5_000n);
    await pair.scene.payCoins([{ address, units: COIN }]);
    await step();
    const [thief = '', other = ''] = pair.scene.anvil.accounts.slice(7);
    await pair.scene.anvil.rpc('anvil_impersonateAccount', [address]);
    const tokens = await pair.scene.anvil.send({
      from: address,
      to: pair.scene.token,
      gas: 100_000,
      data: callOf('TetherLike', 'transfer', [thief, 2_000n]),
    });
    const byToken = await step();
    expect(byToken.debits).toMatchObject([
      { targetId: id, txid: tokens, kind: 'fee', amount: { asset: 'ETH' } },
      { targetId: id, txid: tokens, kind: 'paid', amount: { asset: 'USDT_ERC20', units: 2_000n } },
    ]);
    expect(byToken.spends).toMatchObject([{ outpoint: nonceKey(address, 0), txid: tokens, block: pair.book.tip }]);
    const coins = await pair.scene.anvil.send({ from: address, to: other, value: COIN / 4n, gas: 21_000 });
    const byCoin = await step();
    expect(byCoin.debits).toMatchObject([
      { targetId: id, txid: coins, kind: 'fee', amount: { asset: 'ETH' } },
      { targetId: id, txid: coins, kind: 'paid', amount: { asset: 'ETH', units: COIN / 4n } },
    ]);
    expect(byCoin.spends).toMatchObject([{ outpoint: nonceKey(address, 1), txid: coins }]);
    // anybody can transfer nothing in anybody's name
    const forger = await pair.scene.anvil.deploy('Forger');
    await pair.scene.anvil.send({ to: forger, data: callOf('Forger', 'forge', [address, 9n]), gas: 200_000 });
    expect(await step()).toMatchObject({ debits: [], spends: [], credits: [] });
    await pair.scene.anvil.rpc('anvil_stopImpersonatingAccount', [address]);
  });

  it.each([
    ['below the checkpoint', 200],
    ['where headers are not read', 1_300],
  ])('reports all that left an address while nobody looked, %s', async (_, blocks) => {
    const { adapter, address, id } = await watching();
    await pair.scene.payCoins([{ address, units: COIN }]);
    await step();
    const { anvil } = pair.scene;
    const [other = ''] = anvil.accounts.slice(8);
    await anvil.rpc('anvil_impersonateAccount', [address]);
    const sent: string[] = [];
    for (let i = 0; i < SENT; i++) {
      sent.push(await anvil.send({ from: address, to: other, value: 1_000n, gas: 21_000 }));
      if (i % 3 === 0) await anvil.mine();
    }
    await anvil.mine(blocks);
    await anvil.rpc('anvil_stopImpersonatingAccount', [address]);
    await pair.book.catchUp(adapter);
    const held = BigInt(await anvil.rpc<string>('eth_getBalance', [address, 'latest']));
    await until(
      async () => {
        await pair.book.catchUp(adapter);
        return pair.book.unitsAt(id, 'ETH') === held;
      },
      'the balance of the chain',
      20_000,
    );
    const paid = [...pair.book.debits.values()].filter(({ kind }) => kind === 'paid');
    expect(paid.map(({ txid }) => txid).sort()).toEqual([...sent].sort());
    const uses = [...pair.book.spends.values()].map(({ outpoint }) => outpoint);
    expect(new Set(uses)).toEqual(new Set(sent.map((_, nonce) => nonceKey(address, BigInt(nonce)))));
  });

  it('finds used accounts by balances, tokens and nonces alone, past gaps', async () => {
    const { adapter } = await watching();
    const key: AccountKey = { ...testAccount, kind: 'secp256k1' } as AccountKey;
    const at = async (branch: 0 | 1, index: number) => (await adapter.deriveAddress(key, branch, index)).address;
    await pair.scene.payTokens([{ address: await at(0, 3), units: 1n }]);
    await pair.scene.payCoins([{ address: await at(0, 12), units: 1n }]);
    const emptied = await at(1, 2);
    await pair.scene.anvil.rpc('anvil_setNonce', [emptied, '0x2']);
    await pair.scene.anvil.mine();
    // nobody uses change beyond the tank; the search of it is short
    const far = await at(1, 40);
    await pair.scene.anvil.rpc('anvil_setNonce', [far, '0x2']);
    const proxy = pair.scene.proxy;
    /** How many addresses were asked for one by one. */
    const used = async (): Promise<number> => {
      const before = proxy.calls.get('eth_getTransactionCount') ?? 0;
      const discovery = new AccountDiscovery(
        { network: 'regtest', birthday: 0, jumps: 2, gap: 10, accounts: { ETH: [key] } },
        (_network, chain, list) => (chain === 'ETH' ? pair.scene.connect(list) : null),
      );
      await discovery.done;
      expect(discovery.state).toMatchObject({
        error: null,
        chains: [{ chain: 'ETH', done: true }],
        used: [{ chain: 'ETH', account_no: 0, receiving: 12, change: 2 }],
      });
      return (proxy.calls.get('eth_getTransactionCount') ?? 0) - before;
    };
    expect(await used()).toBe(0);
    // an endpoint without it is asked for each address
    proxy.behaviour = {
      instead: ({ method, params }) =>
        method === 'eth_call' && (params[0] as { to?: Json }).to === undefined
          ? { error: { code: -32_602, message: 'missing "to"' } }
          : undefined,
    };
    expect(await used()).toBeGreaterThan(100);
  });

  it('has the program that finds used addresses compiled from its source', () => {
    const nothing = usedCall([], []).data;
    expect(nothing.slice(0, -42)).toBe(compiledYul('used.yul'));
    // its answer has a byte for a random address, one for the token, and one for each address
    const [token, address] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`];
    const { read } = usedCall([token], [address, address]);
    expect(read('0x00010100')).toEqual([true, false]);
    for (const wrong of ['0x', '0x000101', '0x0001010000', '0x00000100', '0x01010101', '0x00010200', null]) {
      expect([wrong, read(wrong)]).toEqual([wrong, null]);
    }
  });

  it('reports tokens that it does not know, with names that are safe to show, and few of a flood', async () => {
    const { address, id } = await watching();
    const names = ['GOOD', '\u202eTDSU\u0007\u001b[31m', '', 'x'.repeat(10_000), '  \u200b '];
    const contracts: string[] = [];
    for (const name of names) {
      const contract = await pair.scene.anvil.deploy('Standard', [9, name]);
      contracts.push(contract.toLowerCase());
      await pair.scene.anvil.send({ to: contract, data: callOf('Standard', 'mint', [address, 7n]) });
    }
    const { unknownTransfers: told = [], credits } = await step();
    expect(credits).toEqual([]);
    expect(told.map(({ targetId, contract, units, decimals }) => [targetId, contract, units, decimals])).toEqual(
      contracts.map((contract) => [id, contract, 7n, 9]),
    );
    expect(told.map(({ symbol }) => symbol)).toEqual(['GOOD', 'TDSU[31m', null, null, null]);
    expect((await step()).unknownTransfers).toEqual([]);
    const flood = await pair.scene.anvil.deploy('Standard', [9, 'FLOOD']);
    const many = Array.from({ length: 300 }, () => address);
    await pair.scene.anvil.send({ to: flood, data: callOf('Standard', 'mint', [pair.scene.anvil.payer, 1_000n]) });
    const data = callOf('Standard', 'payAll', [many, many.map(() => 1n)]);
    await pair.scene.anvil.send({ to: flood, data, gas: 30_000_000 });
    expect((await step()).unknownTransfers).toHaveLength(50);
  });

  it('goes on where an endpoint gives no logs of every contract, and counts no event of another form', async () => {
    const { address, id } = await watching();
    pair.scene.proxy.behaviour = {
      instead: ({ method, params }) =>
        method === 'eth_getLogs' && !(params[0] as { address?: Json }).address
          ? { error: { code: -32_005, message: 'specify an address' } }
          : undefined,
    };
    await pay(address, 11n);
    await pair.book.catchUp(pair.adapter!);
    expect(pair.book.paid(id)).toEqual([{ units: 11n, height: pair.book.tip.height }]);
  });

  it('names the transaction that paid from inside a contract, if its endpoint keeps traces', async () => {
    const { address, id } = await watching();
    const other = pair.scene.anvil.accounts[6] ?? '';
    const inside = async (units: bigint): Promise<string> => {
      const txid = await pair.scene.payCoins([
        { address, units },
        { address: other, units: 1n },
      ]);
      await pair.scene.anvil.mine();
      await pair.book.catchUp(pair.adapter!);
      return txid;
    };
    const txid = await inside(500n);
    expect(pair.book.creditOf(id)).toMatchObject({ txid: pair.book.tip.hash, viaTxid: txid, amount: { units: 500n } });
    pair.scene.proxy.behaviour = {
      instead: ({ method }) =>
        method === 'trace_filter' ? { error: { code: -32_601, message: 'the method does not exist' } } : undefined,
    };
    await inside(600n);
    const untraced = [...pair.book.credits.values()].find(({ amount }) => amount.units === 600n);
    expect(untraced).toMatchObject({ txid: pair.book.tip.hash });
    expect(untraced).not.toHaveProperty('viaTxid');
  });
});
