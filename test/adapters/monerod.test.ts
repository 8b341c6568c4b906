/** The adapter of Monero on a real monerod: the conformance suite, and what only Monero has. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptList } from '../../daemon/chains/adapter.ts';
import { MoneroAdapter, type MoneroOptions } from '../../daemon/chains/xmr/adapter.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { hasMonerod, type Json, Monerod, monerodTitle } from '../nodes/monerod.ts';
import { MonerodProxy } from '../nodes/monerod-proxy.ts';
import { type ChainControls, conformance, until } from './conformance.ts';
import { FactBook } from './fact-book.ts';

const signal = () => AbortSignal.timeout(25_000);
/** Above those that the conformance suite uses. */
let nextIndex = 1_000;
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

  const connect = (
    list: ScriptList,
    urls: readonly string[] = [proxy.url],
    options: Partial<MoneroOptions> = {},
  ): MoneroAdapter =>
    new MoneroAdapter({
      network: 'regtest',
      urls,
      list,
      accounts: () => [account],
      needsAgreement: () => true,
      alert: () => {},
      pollMs: 100,
      blocksPerStep: 5,
      ...options,
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

  /** An adapter at the tip, and an address that it watches. */
  async function watching(urls?: readonly string[], needsAgreement = () => false) {
    const book = new FactBook();
    const alerts: string[] = [];
    const adapter = connect(book, urls, { needsAgreement, alert: (_, message) => void alerts.push(message) });
    const target = await adapter.deriveAddress(account, 0, nextIndex++);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    return { adapter, book, id, address: target.address, alerts };
  }
  const asLocalhost = (url: string): string => url.replace('127.0.0.1', 'localhost');

  describe('nodes that cannot be trusted', () => {
    afterEach(() => {
      proxy.change = () => undefined;
      proxy.raw = () => false;
    });

    it('believes no transaction and no block that has not the hash that was asked for', async () => {
      const { adapter, book, id, address } = await watching();
      const other = await node.pay([{ address, units: 1_000n }]);
      await book.catchUp(adapter);
      await node.mine(1);
      const [raw] = await node.raw([other]);
      proxy.change = ({ name }, answer) => {
        if (name !== '/get_transactions') return undefined;
        const txs = (answer.txs ?? []) as { [key: string]: Json }[];
        return { ...answer, txs: txs.map((tx) => ({ ...tx, pruned_as_hex: '', as_hex: `${raw?.slice(0, -2)}00` })) };
      };
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/another transaction than was asked for/);
      proxy.change = ({ name }, answer) =>
        name === 'get_block' ? { ...answer, blob: String(answer.blob).replace(/..$/, '01') } : undefined;
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(Unavailable);
      proxy.change = () => undefined;
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([{ units: 1_000n, height: book.tip.height }]);
      await adapter.close();
    });

    it('lets a large payment count once a node of another operator has its block', async () => {
      const urls = [node.url, asLocalhost(proxy.url)];
      proxy.raw = (response) => response.destroy() !== undefined;
      const { adapter, book, id, address } = await watching(urls, () => true);
      await node.pay([{ address, units: 2_000n }]);
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([{ units: 2_000n, height: null }]);
      proxy.raw = () => false;
      await until(async () => {
        await book.catchUp(adapter);
        return book.creditOf(id).block !== null;
      }, 'the agreement');
      expect(book.paid(id)).toEqual([{ units: 2_000n, height: book.tip.height }]);
      await adapter.close();
    });

    it('goes on with another node when one dies, freezes, or sends garbage without an end', async () => {
      const { adapter, book, id, address } = await watching([proxy.url, asLocalhost(node.url)]);
      await proxy.close();
      await node.pay([{ address, units: 3_000n }]);
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([{ units: 3_000n, height: null }]);
      await proxy.listen();
      const chunk = Buffer.alloc(1_000_000, 32);
      proxy.raw = (response) => {
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
        return true;
      };
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([{ units: 3_000n, height: book.tip.height }]);
      expect(adapter.health()).toMatchObject({ error: null, source: expect.stringContaining('localhost') });
      await adapter.close();
    });

    it('says which setting is wrong when a node is of another network, or is none', async () => {
      proxy.change = ({ name }, answer) => (name === 'get_info' ? { ...answer, nettype: 'mainnet' } : undefined);
      const adapter = connect(new FactBook());
      await expect(adapter.begin(null, signal())).rejects.toThrow(
        /^\[networks\.regtest\.XMR\] monerod: 127\.0\.0\.1:\d+ is on mainnet, not on fakechain$/,
      );
      proxy.change = () => undefined;
      proxy.raw = (response) => response.end('<html>') !== undefined;
      await expect(adapter.begin(null, signal())).rejects.toThrow(/no monerod answers at/);
      await adapter.close();
    });

    it('finds 20 outputs of two transactions to one address, each once', async () => {
      const { adapter, book, id, address } = await watching();
      for (const sum of [10n, 20n]) {
        await node.pay(Array.from({ length: 10 }, (_, i) => ({ address, units: sum + BigInt(i) })));
      }
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(id).map(({ units }) => units)).toEqual(Array.from({ length: 20 }, (_, i) => BigInt(10 + i)));
      await adapter.close();
    });
  });

  it('logs in by digest, and says when it is refused', async () => {
    const own = await Monerod.start({ login: 'user:p@ss', funded: false });
    try {
      const url = own.url.replace('http://', 'http://user:p%40ss@');
      const adapter = connect(new FactBook(), [url]);
      expect((await adapter.begin(null, signal())).at(-1)?.height).toBe(0);
      await adapter.close();
      const stranger = connect(new FactBook(), [own.url.replace('http://', 'http://user:wrong@')]);
      await expect(stranger.begin(null, signal())).rejects.toThrow(/refuses the user name or password/);
      expect(JSON.stringify(stranger.health())).not.toContain('wrong');
      await stranger.close();
    } finally {
      await own.remove();
    }
  });

  conformance({ name: 'monerod', start: controls, spendsUnseen: true, awayBlocks: 8 });
});
