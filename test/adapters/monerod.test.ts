/** The adapter of Monero on a real monerod: the conformance suite, and what only Monero has. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { ScriptList } from '../../daemon/chains/adapter.ts';
import { MoneroAdapter } from '../../daemon/chains/xmr/adapter.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { hasMonerod, Monerod, monerodTitle } from '../nodes/monerod.ts';
import { MonerodProxy } from '../nodes/monerod-proxy.ts';
import { type ChainControls, conformance } from './conformance.ts';

const account = accountKey(Buffer.alloc(64, 7), 'XMR', 'regtest', 0);

describe.skipIf(!hasMonerod)(monerodTitle('on a real monerod'), () => {
  let node: Monerod;
  let proxy: MonerodProxy;
  beforeAll(async () => {
    node = await Monerod.start();
    proxy = await MonerodProxy.start(node.url);
  }, 180_000);
  afterAll(async () => {
    await proxy?.close();
    await node?.remove();
  });

  const connect = (list: ScriptList, urls: readonly string[] = [proxy.url]): MoneroAdapter =>
    new MoneroAdapter({
      network: 'regtest',
      urls,
      list,
      accounts: () => [account],
      needsAgreement: () => true,
      alert: () => {},
      pollMs: 100,
    });

  const controls = async (): Promise<ChainControls> => ({
    account,
    connect,
    mine: (count) => node.mine(count),
    pay: (outputs) => node.pay(outputs),
    reorg: (depth, drop) => node.reorg(depth, drop),
    replace: async (txid) => {
      await node.flush([txid]);
    },
    evictAll: () => node.flush(),
    spend: async () => {
      throw new Error('a view key sees no spend');
    },
    lag: async () => {
      const { height } = await node.rpc<{ height: number }>('get_info', {});
      await proxy.fallBehind(height - 2);
    },
    catchUp: async () => {
      proxy.change = () => undefined;
    },
    disconnect: () => proxy.close(),
    reconnect: () => proxy.listen(),
    stop: async () => {},
  });
  conformance({ name: 'monerod', start: controls, spendsUnseen: true, awayBlocks: 60 });
});
