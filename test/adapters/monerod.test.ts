/** The adapter of Monero on a real monerod: the conformance suite, and what only Monero has. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { NeedsAgreement } from '../../daemon/chains/agreement.ts';
import { Pins } from '../../daemon/chains/utxo/electrum/servers/pins.ts';
import type { MoneroOptions } from '../../daemon/chains/xmr/adapter.ts';
import { straight } from '../../daemon/chains/xmr/reach.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { parseTransaction } from '../../daemon/monero/transaction.ts';
import { hasMonerod, Monerod, monerodTitle } from '../nodes/monerod.ts';
import type { MonerodProxy } from '../nodes/monerod-proxy.ts';
import { SocksProxy } from '../nodes/socks-proxy.ts';
import { conformance, until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { MoneroScene } from './monerod-controls.ts';
import { spendingConformance } from './spending-conformance.ts';

const signal = () => AbortSignal.timeout(25_000);
/** Above those that the conformance suite uses. */
let nextIndex = 1_000;

describe.skipIf(!hasMonerod)(monerodTitle('on a real monerod'), () => {
  let scene: MoneroScene;
  let node: Monerod;
  let proxy: MonerodProxy;
  beforeAll(async () => {
    scene = await MoneroScene.start();
    ({ node, proxy } = scene);
  });
  afterAll(() => scene?.stop());

  /** An adapter at the tip, and an address that it watches. */
  async function watching(
    urls?: readonly string[],
    needsAgreement: NeedsAgreement = () => false,
    limits: Pick<MoneroOptions, 'requestTimeoutMs' | 'infoBeginsMs'> = {},
  ) {
    const book = new FactBook();
    const adapter = scene.connect(book, urls, { needsAgreement, ...limits });
    const target = await adapter.deriveAddress(scene.account, 0, nextIndex++);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    return { adapter, book, id, address: target.address };
  }
  /** Has a book take a transaction of the payer's for the spend of a coin. Real key images are known by the signer only. */
  async function spendsWith(book: FactBook, spender: string, coin: string): Promise<void> {
    const [raw = ''] = await node.raw([spender]);
    const [image] = parseTransaction(Buffer.from(raw, 'hex')).keyImages;
    Object.assign(book, { coinOfKeyImage: (one: string) => (one === image ? coin : undefined) });
  }
  const asLocalhost = (url: string): string => url.replace('127.0.0.1', 'localhost');

  describe('nodes that cannot be trusted', () => {
    afterEach(() => {
      proxy.change = () => undefined;
      proxy.changeBytes = (_, answer) => answer;
      proxy.raw = () => false;
    });

    it('believes no transaction and no block that has not the hash that was asked for', async () => {
      const { adapter, book, id, address } = await watching();
      const other = await node.pay([{ address, units: 1_000n }]);
      await book.catchUp(adapter);
      await node.mine(1);
      const [raw = ''] = await node.raw([other]);
      const { blob } = await node.rpc<{ blob: string }>('get_block', { height: book.tip.height + 1 });
      /** The answer with one byte of something else, from its end. */
      const spoilt = (part: string, fromEnd: number) => (_: string, answer: Buffer) => {
        const bytes = Buffer.from(part, 'hex');
        const at = answer.indexOf(bytes) + bytes.length - fromEnd;
        answer[at] = (answer[at] as number) ^ 1;
        return answer;
      };
      proxy.changeBytes = spoilt(raw, 1);
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/another transaction than was asked for/);
      // another list of transactions is another block
      proxy.changeBytes = spoilt(blob, 1);
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/another transaction than was asked for/);
      // the block before it; the parts of its header in front of that have one byte each, and five for the time
      proxy.changeBytes = spoilt(blob, blob.length / 2 - 10);
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/the chain changed while it was read/);
      proxy.changeBytes = (_, answer) => answer.subarray(0, -1);
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/bytes that end too early/);
      proxy.changeBytes = (_, answer) => answer;
      proxy.change = () => undefined;
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([{ units: 1_000n, height: book.tip.height }]);
      await adapter.close();
    });

    it('lets a large payment, and the spend of a large coin, count once a node of another operator has its block', async () => {
      const urls = [node.url, asLocalhost(proxy.url)];
      const isDown: typeof proxy.raw = (response) => response.destroy() !== undefined;
      proxy.raw = isDown;
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
      const paidAt = book.tip.height;
      expect(book.paid(id)).toEqual([{ units: 2_000n, height: paidAt }]);

      proxy.raw = isDown;
      const coin = book.creditOf(id).id;
      const spender = await node.pay([{ address, units: 2_100n }]);
      await spendsWith(book, spender, coin);
      await node.mine(1);
      await book.catchUp(adapter);
      const waiting = [
        { units: 2_000n, height: paidAt },
        { units: 2_100n, height: null },
      ];
      expect(book.paid(id)).toEqual(waiting);
      expect(book.spentBy(coin)).toEqual([{ txid: spender, height: null }]);

      // the service ends, and its checkpoint has left these blocks behind
      await adapter.close();
      await node.mine(1);
      const again = scene.connect(book, urls, { needsAgreement: () => true });
      book.checkpoint = (await again.begin(null, signal())).slice(-1);
      await book.catchUp(again);
      expect(book.paid(id)).toEqual(waiting);
      expect(book.spentBy(coin)).toEqual([{ txid: spender, height: null }]);
      proxy.raw = () => false;
      await until(async () => {
        await book.catchUp(again);
        return book.spentBy(coin).every(({ height }) => height !== null);
      }, 'the agreement on the spend');
      expect(book.spentBy(coin)).toEqual([{ txid: spender, height: paidAt + 1 }]);
      expect(book.paid(id)).toEqual([
        { units: 2_000n, height: paidAt },
        { units: 2_100n, height: paidAt + 1 },
      ]);
      await again.close();
    });

    it('lets a small payment count at once, and the spend of its coin once a node of another operator has its block', async () => {
      proxy.raw = (response) => response.destroy() !== undefined;
      const { adapter, book, id, address } = await watching([node.url, asLocalhost(proxy.url)]);
      await node.pay([{ address, units: 2_200n }]);
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([{ units: 2_200n, height: book.tip.height }]);
      const coin = book.creditOf(id).id;
      const spender = await node.pay([{ address: await node.newAddress(), units: 2_300n }]);
      await spendsWith(book, spender, coin);
      await node.mine(1);
      await book.catchUp(adapter);
      const spentAt = book.tip.height;
      expect(book.spentBy(coin)).toEqual([{ txid: spender, height: null }]);
      proxy.raw = () => false;
      await until(async () => {
        await book.catchUp(adapter);
        return book.spentBy(coin).every(({ height }) => height !== null);
      }, 'the agreement on the spend');
      expect(book.spentBy(coin)).toEqual([{ txid: spender, height: spentAt }]);
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

    it('is given up within seconds when it freezes and another can be asked, and not when it is only slow', async () => {
      const urls = [proxy.url, asLocalhost(node.url)];
      // below the program's own limit, and far above what a slow node takes
      const { adapter, book } = await watching(urls, undefined, { infoBeginsMs: 2_000 });
      proxy.change = () => new Promise((resolve) => setTimeout(() => resolve(undefined), 200));
      await node.mine(1);
      await book.catchUp(adapter);
      const [slow] = adapter.servers();
      expect(slow).toMatchObject({ asked: true, failures: 0, error: null });
      proxy.raw = () => true;
      await node.mine(1);
      const began = performance.now();
      await book.catchUp(adapter);
      // without it after a minute
      expect(performance.now() - began).toBeLessThan(20_000);
      expect(adapter.servers()).toMatchObject([
        { error: expect.stringMatching(/not answer in time/) },
        { asked: true },
      ]);
      await adapter.close();
    });

    it('says which setting is wrong when a node is of another network, or is none', async () => {
      proxy.change = ({ name }, answer) => (name === 'get_info' ? { ...answer, nettype: 'mainnet' } : undefined);
      const adapter = scene.connect(new FactBook());
      await expect(adapter.begin(null, signal())).rejects.toThrow(
        /^\[networks\.regtest\.XMR\] monerod: 127\.0\.0\.1:\d+ is on mainnet, not on fakechain$/,
      );
      proxy.change = () => undefined;
      proxy.raw = (response) => response.end('<html>') !== undefined;
      await expect(adapter.begin(null, signal())).rejects.toThrow(/no monerod answers at/);
      await adapter.close();
    });

    it('is not believed about its height, and another one is asked', async () => {
      const { adapter, book, id, address } = await watching([proxy.url, asLocalhost(node.url)]);
      proxy.change = ({ name }, answer) =>
        name === 'get_info' ? { ...answer, height: Number(answer.height) + 100 } : undefined;
      await node.pay([{ address, units: 3_100n }]);
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([{ units: 3_100n, height: book.tip.height }]);
      const { height } = await node.rpc<{ height: number }>('get_info', {});
      expect(book.tip.height).toBe(height - 1);
      expect(adapter.servers()).toMatchObject([{ error: expect.stringMatching(/another head/) }, { error: null }]);
      await adapter.close();
    });

    it('may be down when the program starts', async () => {
      await proxy.close();
      const book = new FactBook();
      const adapter = scene.connect(book);
      await expect(adapter.begin(null, signal())).rejects.toThrow(
        /127\.0\.0\.1:\d+: nothing answers there \(connection refused\)$/,
      );
      await proxy.listen();
      book.checkpoint = await adapter.begin(null, signal());
      await book.catchUp(adapter);
      expect(adapter.health()).toMatchObject({ tip: book.tip, error: null });
      await adapter.close();
    });
  });

  describe('payments of strange kinds', () => {
    it('finds each of several outputs of two transactions to one address', async () => {
      const { adapter, book, id, address } = await watching();
      for (const sum of [10n, 20n]) await node.pay([0n, 1n, 2n].map((more) => ({ address, units: sum + more })));
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(id).map(({ units }) => units)).toEqual([10n, 11n, 12n, 20n, 21n, 22n]);
      await adapter.close();
    });

    it('says that an output is locked, in the pool and in its block', async () => {
      const { adapter, book, id, address } = await watching();
      const { height } = await node.rpc<{ height: number }>('get_info', {});
      await node.pay([{ address, units: 4_000n }], { unlock_time: height + 3_000_000 });
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({ locked: true, block: null });
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({ locked: true, block: book.tip });
      await adapter.close();
    });

    it('says that the node saw another transaction with the same money', async () => {
      const { adapter, book, id, address } = await watching();
      const [paying, rival] = await node.rivals([address, await node.newAddress()]);
      await node.submit(paying!.raw);
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({ replaceable: false, block: null, amount: { units: paying!.units } });
      expect(await node.offer(rival!.raw)).toMatchObject({ status: 'Failed', double_spend: true });
      // nothing hints at it: the pool is the same
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({ replaceable: true, block: null });
      // the rival is mined by somebody else
      await node.flush();
      await node.submit(rival!.raw);
      await node.mine(1);
      await book.catchUp(adapter);
      expect(book.paid(id)).toEqual([]);
      await adapter.close();
    });
  });

  it("follows two nodes: the second has to have a large payment's block, and is asked when the first freezes", async () => {
    const twin = await node.twin();
    try {
      const urls = [node.url, asLocalhost(twin.url)];
      const needsAgreement: NeedsAgreement = (credits) => credits.some(({ units }) => units >= 5_000n);
      const { adapter, book, id, address } = await watching(urls, needsAgreement, { requestTimeoutMs: 1_000 });
      const raw = async (txid: string): Promise<string> => (await node.raw([txid]))[0]!;
      const paying = await raw(await node.pay([4_999n, 5_000n].map((units) => ({ address, units }))));
      await node.mine(1);
      await book.catchUp(adapter);
      const { height } = book.tip;
      // the block may be an invention of the first
      expect(book.paid(id)).toEqual([
        { units: 4_999n, height },
        { units: 5_000n, height: null },
      ]);
      await twin.submit(paying);
      await twin.takeBlock(node);
      await book.catchUp(adapter);
      expect(book.paid(id).map((one) => one.height)).toEqual([height, height]);

      await twin.submit(await raw(await node.pay([{ address, units: 6n }])));
      await twin.mine(1);
      node.freeze();
      await book.catchUp(adapter);
      expect(book.paid(id)[0]).toEqual({ units: 6n, height: height + 1 });
      expect(adapter.health()).toMatchObject({ source: expect.stringContaining('localhost'), error: null });
      node.thaw();

      // the first has no such block, and others in its place later
      await twin.die();
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(Unavailable);
      await node.mine(2);
      await book.catchUp(adapter);
      expect(book.tip.height).toBe(height + 2);
      expect(book.paid(id)[0]).toEqual({ units: 6n, height: height + 1 });
      await adapter.close();
    } finally {
      node.thaw();
      await twin.remove();
    }
  });

  describe('a node of the public test network, with a login and TLS', () => {
    const ONION = `${'m'.repeat(56)}.onion:18081`;
    let stagenet: Monerod;
    beforeAll(async () => {
      stagenet = await Monerod.stagenet('user:p@ss');
    });
    afterAll(() => stagenet?.remove());

    const at = (host: string, password = 'p%40ss'): string[] => [`https://user:${password}@${host}`];
    const reached = async (urls: string[], options: Partial<MoneroOptions> = {}): Promise<number | undefined> => {
      const adapter = scene.connect(new FactBook(), urls, { network: 'testnet', ...options });
      try {
        return (await adapter.begin(null, signal())).at(-1)?.height;
      } finally {
        expect(JSON.stringify(adapter.health())).not.toContain('wrong');
        await adapter.close();
      }
    };
    const here = (): string => `127.0.0.1:${stagenet.port}`;

    it('logs in by digest, says when it is refused, and takes no node of another network', async () => {
      expect(await reached(at(here()))).toBe(0);
      await expect(reached(at(here(), 'wrong'))).rejects.toThrow(/refuses the user name or password/);
      const other = reached(at(here()), { network: 'regtest' });
      await expect(other).rejects.toThrow(/^\[networks\.regtest\.XMR\] monerod: .* is on stagenet, not on fakechain$/);
    });

    it('remembers its certificate, and sends nothing to one that shows another', async () => {
      const pins = new Pins(null);
      await pins.check(here(), '00'.repeat(32), false);
      const changed = reached(at(here()), { reach: { ...straight(), pins } });
      await expect(changed).rejects.toThrow(
        /is not used: it shows another certificate than before \(SHA-256 [0-9a-f]{64}\)/,
      );
    });

    it('is reached through a SOCKS proxy as an onion service, whose name is not looked up here', async () => {
      const tor = await SocksProxy.to(stagenet.port);
      try {
        const reach = { ...straight(), proxy: tor.url };
        expect(await reached(at(ONION), { reach })).toBe(0);
        expect(new Set(tor.asked)).toEqual(new Set([ONION]));
        const asked = tor.asked.length;
        expect(await reached(at(here()), { reach })).toBe(0);
        expect(tor.asked.length).toBe(asked);
        expect(await reached(at(`localhost:${stagenet.port}`), { reach: { ...reach, proxyForAll: true } })).toBe(0);
        expect(tor.asked.length).toBeGreaterThan(asked);
      } finally {
        await tor.close();
      }
      await expect(reached(at(ONION))).rejects.toThrow(/an onion service needs a proxy: set monero\.socks_proxy$/);
    });
  });

  conformance({ name: 'monerod', start: async () => scene.controls, spendsUnseen: true, awayBlocks: 8 });
  spendingConformance({ name: 'monerod', start: async () => scene.spending, ripeAfter: 10 });
});
