/** The adapter of Ethereum's family before endpoints that lie, leave out, lag, limit, change their mind, or are broken. */
import { describe, expect, it } from 'vitest';
import { GENESIS } from '../../daemon/chains/evm/params.ts';
import { TRANSFER } from '../../daemon/chains/evm/transfers.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { slowness, turnsOf } from '../bench/turns.ts';
import { anvilTitle, callOf, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { behindAt, type Request } from '../nodes/evm/endpoint-proxy.ts';
import { until } from './conformance.ts';
import { EndpointPair, type EvmScene } from './evm-controls.ts';
import { testAccount } from './keys.ts';

const signal = () => AbortSignal.timeout(120_000);
type Fields = { [key: string]: Json };
const isLogs = ({ method }: Request): boolean => method === 'eth_getLogs';

describe.skipIf(!hasAnvil)(anvilTitle('endpoints of an anvil that cannot be trusted'), () => {
  const pair = new EndpointPair();
  const watching = (urls: 'one' | 'two' = 'one', needsAgreement = () => false) =>
    pair.watching(urls === 'one' ? [pair.scene.proxy.url] : pair.urls, { needsAgreement });
  const pay = (address: string, units: bigint): Promise<string> => pair.pay(address, units);
  const changingLogs = (change: (log: Fields) => Fields) => {
    pair.scene.proxy.behaviour = {
      changed: (request, result) =>
        isLogs(request) && Array.isArray(result) ? result.map((log) => change(log as Fields)) : result,
    };
  };

  it.each<{ lie: string; change: Fields }>([
    { lie: 'a larger amount', change: { data: `0x${'f'.repeat(64)}` } },
    { lie: 'another transaction', change: { transactionHash: `0x${'ab'.repeat(32)}` } },
    { lie: 'another block', change: { blockHash: `0x${'cd'.repeat(32)}` } },
    { lie: 'another place', change: { logIndex: '0x7' } },
  ])('believes no log that names $lie', async ({ change }) => {
    const { adapter, address, id } = await watching();
    await pay(address, 5_000n);
    changingLogs((log) => ({ ...log, ...change }));
    await expect(adapter.sync(pair.book.checkpoint, signal())).rejects.toThrow(Unavailable);
    expect(adapter.health().error).toMatch(/the endpoint sent|the endpoint lacks|refuses/);
    pair.scene.proxy.behaviour = {};
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 5_000n, height: pair.book.tip.height }]);
  });

  it('believes no log that its block does not admit, though the receipt has it', async () => {
    const { adapter, address, id } = await watching();
    const forger = await pair.scene.anvil.deploy('Forger');
    await pair.scene.anvil.send({ to: forger, data: callOf('Forger', 'forge', [address, 9_000n]), gas: 200_000 });
    await pair.scene.anvil.mine();
    const asToken = (log: Fields): Fields => (log.address === forger ? { ...log, address: pair.scene.token } : log);
    pair.scene.proxy.behaviour = {
      async instead(request) {
        // nothing but the filter is there to tell it
        if (request.method === 'eth_getBlockReceipts') return { result: null };
        if (!isLogs(request)) return undefined;
        const [filter] = request.params as [Fields];
        const reply = await pair.scene.proxy.pass({ method: 'eth_getLogs', params: [{ ...filter, address: forger }] });
        return 'error' in reply ? reply : { result: (reply.result as Fields[]).map(asToken) };
      },
      changed(request, result) {
        if (request.method !== 'eth_getTransactionReceipt' || result === null) return result;
        const receipt = result as Fields;
        return { ...receipt, logs: (receipt.logs as Fields[]).map(asToken) };
      },
    };
    await expect(adapter.sync(pair.book.checkpoint, signal())).rejects.toThrow(/a log that its block does not admit/);
    pair.scene.proxy.behaviour = {};
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([]);
  });

  it('counts nothing of a contract that imitates the event', async () => {
    const { adapter, address, id } = await watching();
    const forger = await pair.scene.anvil.deploy('Forger');
    await pair.scene.anvil.send({ to: forger, data: callOf('Forger', 'forge', [address, 9_000n]), gas: 200_000 });
    await pair.scene.anvil.mine();
    pair.scene.proxy.behaviour = {
      async instead(request) {
        if (!isLogs(request)) return undefined;
        const [filter] = request.params as [Fields];
        const { address: _, ...open } = filter;
        return pair.scene.proxy.pass({ method: 'eth_getLogs', params: [open] });
      },
    };
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([]);
    await pay(address, 77n);
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 77n, height: pair.book.tip.height }]);
  });

  it('credits what arrived of a token that keeps a fee, and an amount of 256 bits', async () => {
    const token = await pair.scene.anvil.deploy('FeeOnTransfer');
    const most = 2n ** 256n - 1n;
    const { adapter: opened, address, id } = await watching();
    await opened.close();
    const feeing = Object.assign(Object.create(pair.scene) as EvmScene, { token });
    const adapter = feeing.connect(pair.book, [pair.scene.proxy.url]);
    pair.adapter = adapter;
    await pair.scene.anvil.send({
      to: token,
      data: callOf('FeeOnTransfer', 'mint', [pair.scene.anvil.payer, 1_000_000n]),
    });
    await pair.scene.anvil.send({ to: token, data: callOf('FeeOnTransfer', 'transfer', [address, 1_000_000n]) });
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 990_000n, height: pair.book.tip.height }]);
    const huge = await pair.scene.anvil.deploy('FeeOnTransfer');
    await adapter.close();
    const second = Object.assign(Object.create(pair.scene) as EvmScene, { token: huge }).connect(pair.book, [
      pair.scene.proxy.url,
    ]);
    pair.adapter = second;
    await pair.scene.anvil.send({ to: huge, data: callOf('FeeOnTransfer', 'mint', [address, most]) });
    await pair.scene.anvil.mine();
    await pair.book.catchUp(second);
    expect(pair.book.paid(id).at(-1)).toEqual({ units: most, height: pair.book.tip.height });
  });

  it('finds what the asked endpoint left out, through another operator, and leaves the first alone', async () => {
    const { adapter, address, id } = await watching('two');
    pair.scene.proxy.behaviour = { changed: (request, result) => (isLogs(request) ? [] : result) };
    const txid = await pay(address, 6_000n);
    await pair.book.catchUp(adapter);
    await until(async () => {
      await pair.book.catchUp(adapter);
      return pair.book.paid(id).length > 0;
    }, 'the payment that was left out');
    expect(pair.book.creditOf(id)).toMatchObject({
      txid,
      amount: { units: 6_000n },
      block: { height: pair.book.tip.height },
    });
    expect(pair.scene.alerts).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/left out payments/) }),
    ]);
  });

  it('is not blamed for coins that one look had no room to explain', async () => {
    const { adapter } = await pair.watching(pair.urls, { secondLookMs: 0 });
    const ids: number[] = [];
    for (let index = 7_000; index < 7_060; index++) {
      const target = await adapter.deriveAddress(testAccount, 0, index);
      ids.push(pair.book.watch(target));
      await pair.scene.anvil.send({ to: target.address, value: 5n });
    }
    await pair.scene.anvil.mine();
    await until(async () => {
      await pair.book.catchUp(adapter);
      return ids.every((id) => pair.book.paid(id).length === 1);
    }, 'each is paid');
    expect(pair.scene.alerts).toEqual([]);
  });

  it('goes on with another endpoint when one dies, lags, or sends garbage', async () => {
    const { adapter, address, id } = await watching('two');
    await pair.scene.proxy.close();
    await pay(address, 100n);
    await pair.book.catchUp(adapter);
    await pair.scene.proxy.listen();
    pair.scene.proxy.behaviour = behindAt(pair.scene.proxy, pair.book.tip.height - 1);
    await pay(address, 200n);
    await pair.book.catchUp(adapter);
    pair.scene.proxy.behaviour = {
      raw: (response) => {
        response.end('<html>502</html>');
        return true;
      },
    };
    await pay(address, 300n);
    await pair.book.catchUp(adapter);
    const { height } = pair.book.tip;
    expect(pair.book.paid(id)).toEqual([
      { units: 100n, height: height - 2 },
      { units: 200n, height: height - 1 },
      { units: 300n, height },
    ]);
    expect(adapter.health()).toMatchObject({ source: expect.stringContaining('localhost'), error: null });
  });

  it('stops reading an answer without an end', async () => {
    const { adapter } = await watching();
    const before = process.memoryUsage().rss;
    pair.scene.proxy.behaviour = {
      raw(response) {
        const chunk = Buffer.alloc(1_000_000, 32);
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
        return true;
      },
    };
    await expect(adapter.sync(pair.book.checkpoint, signal())).rejects.toThrow(/larger than/);
    expect(process.memoryUsage().rss - before).toBeLessThan(300e6);
  });

  it('reads what an endpoint limits in parts', async () => {
    const { adapter, address, id } = await watching();
    let refusals = 0;
    pair.scene.proxy.behaviour = {
      instead({ method, params }) {
        if (method !== 'eth_getLogs') return undefined;
        const [{ fromBlock, toBlock }] = params as [Fields];
        if (fromBlock === undefined || Number(toBlock) - Number(fromBlock) < 20) return undefined;
        refusals++;
        return { error: { code: -32_602, message: 'block range is too wide' } };
      },
    };
    await pay(address, 400n);
    await pair.scene.anvil.mine(250);
    await pay(address, 500n);
    await pair.book.catchUp(adapter);
    expect(refusals).toBeGreaterThan(0);
    expect(pair.book.paid(id)).toEqual([
      { units: 400n, height: pair.book.tip.height - 251 },
      { units: 500n, height: pair.book.tip.height },
    ]);
  });

  it('asks for fewer blocks where an answer would be too long', async () => {
    const { adapter, address, id } = await watching();
    let long = 0;
    pair.scene.proxy.behaviour = {
      async instead({ method, params }) {
        if (method !== 'eth_getLogs') return undefined;
        const [{ fromBlock, toBlock }] = params as [Fields];
        if (fromBlock === undefined || Number(toBlock) - Number(fromBlock) < 30) return undefined;
        long++;
        return { result: [' '.repeat(17_000_000)] };
      },
    };
    await pay(address, 450n);
    await pair.scene.anvil.mine(120);
    await pair.book.catchUp(adapter);
    expect(long).toBeGreaterThan(0);
    expect(pair.book.paid(id)).toEqual([{ units: 450n, height: pair.book.tip.height - 120 }]);
  });

  it.each<{ event: string; change: Fields }>([
    {
      event: 'another name',
      change: { topics: [`0x${'8c'.repeat(32)}`, `0x${'0'.repeat(64)}`, `0x${'0'.repeat(64)}`] },
    },
    { event: 'an amount beyond 256 bits', change: { data: `0x01${'00'.repeat(32)}` } },
    { event: 'an amount of fewer bytes', change: { data: '0xff' } },
  ])('takes an event of $event for no transfer', async ({ change }) => {
    const { adapter, address, id } = await watching();
    await pay(address, 800n);
    changingLogs((log) => ({ ...log, ...change }));
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([]);
  });

  it.each(['0x1'.padEnd(67, '0'), '-0x1', '1000'])('takes no balance of %s', async (balance) => {
    const { adapter, id } = await watching();
    pair.scene.proxy.behaviour = {
      changed: ({ method }, result) => (method === 'eth_getBalance' ? balance : result),
    };
    await pair.scene.anvil.mine();
    await expect(adapter.sync(pair.book.checkpoint, signal())).rejects.toThrow(/a bad balance/);
    expect(pair.book.paid(id)).toEqual([]);
  });

  it('says that it lags when its newest block is old, and does not take silence for absence', async () => {
    const old = `0x${Math.floor(Date.now() / 1_000 - 3_600).toString(16)}`;
    pair.scene.proxy.behaviour = {
      instead: ({ method }) => (method === 'eth_chainId' ? { result: '0xaa36a7' } : undefined),
      changed({ method, params }, result) {
        if (method !== 'eth_getBlockByNumber' || result === null) return result;
        const block = { ...(result as Fields), timestamp: old };
        return params[0] === '0x0' ? { ...block, hash: GENESIS.testnet?.ETH ?? '' } : block;
      },
    };
    const stale = pair.scene.connect(pair.book, [pair.scene.proxy.url], () => false, 100, 'testnet');
    pair.adapter = stale;
    pair.book.checkpoint = await stale.begin(null, signal());
    const update = await stale.sync(pair.book.checkpoint, signal());
    expect(update).toMatchObject({ mempool: 'unknown', credits: [] });
    expect(stale.health()).toMatchObject({ lagging: true });
  });

  it('sends smaller batches to an endpoint that takes no large ones', async () => {
    const { adapter, address, id } = await watching();
    let largest = 0;
    pair.scene.proxy.behaviour = {
      async instead({ id: place }) {
        largest = Math.max(largest, place + 1);
        return place >= 4 ? { error: { code: -32_005, message: 'limit exceeded' } } : undefined;
      },
    };
    await pay(address, 600n);
    await pair.scene.anvil.mine(30);
    await pair.book.catchUp(adapter);
    expect(largest).toBeGreaterThan(4);
    expect(pair.book.paid(id)).toEqual([{ units: 600n, height: pair.book.tip.height - 30 }]);
  });

  it('slows down for an endpoint that counts requests', async () => {
    const { adapter, address, id } = await watching();
    let asked = 0;
    pair.scene.proxy.behaviour = {
      raw(response) {
        if (++asked % 3 > 0) return false;
        response.statusCode = 429;
        response.end('too many');
        return true;
      },
    };
    await pay(address, 650n);
    await pair.book.catchUp(adapter);
    expect(asked).toBeGreaterThan(3);
    expect(pair.book.paid(id)).toEqual([{ units: 650n, height: pair.book.tip.height }]);
    expect(adapter.health().error).toBeNull();
  });

  it('takes a receipt that changes as a reorganisation only when its block left the chain', async () => {
    const { adapter, address, id } = await watching();
    const txid = await pay(address, 700n);
    await pair.book.catchUp(adapter);
    const { height } = pair.book.tip;
    pair.scene.proxy.behaviour = {
      changed: (request, result) =>
        request.method === 'eth_getTransactionReceipt' && request.params[0] === txid ? null : result,
    };
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 700n, height }]);
    pair.scene.proxy.behaviour = {};
    await pair.scene.reorg(2, true);
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([]);
  });

  it('takes 10,000 transfers of one unit to an address without holding up the event loop', async () => {
    // each needs an agreement, as a small payment for a large invoice does
    const { adapter, address, id } = await watching('two', () => true);
    const forger = await pair.scene.anvil.deploy('Forger');
    await pair.scene.anvil.send({ to: pair.scene.token, data: callOf('TetherLike', 'mint', [forger, 100_000n]) });
    const times = 500;
    for (let i = 0; i < 10_000 / times; i++) {
      await pair.scene.anvil.send({
        to: forger,
        data: callOf('Forger', 'flood', [pair.scene.token, address, BigInt(times)]),
        gas: 30_000_000,
      });
      await pair.scene.anvil.mine();
    }
    let longest = 0;
    for (let done = false; !done; ) {
      const work = adapter.sync(pair.book.checkpoint, signal());
      longest = Math.max(longest, (await turnsOf(work)).longest);
      const update = await work;
      if (update) pair.book.apply(update);
      done = update?.mempool === 'complete';
    }
    expect(longest / slowness()).toBeLessThan(50);
    expect(pair.book.paid(id)).toHaveLength(10_000);
    expect(new Set(pair.book.paid(id).map(({ units }) => units))).toEqual(new Set([1n]));
    expect(pair.book.paid(id).every(({ height }) => height !== null)).toBe(true);
    expect(pair.scene.alerts).toEqual([]);
  });

  it('refuses an endpoint of another chain, and a contract that counts in other units', async () => {
    pair.scene.proxy.behaviour = {
      instead: ({ method }) => (method === 'eth_chainId' ? { result: '0x38' } : undefined),
    };
    const other = pair.scene.connect(pair.book);
    pair.adapter = other;
    await expect(other.begin(null, signal())).rejects.toThrow(
      /^\[networks\.regtest\.ETH\] rpc: 127\.0\.0\.1:\d+ is of the chain with the id 56, not 1337$/,
    );
    expect(other.health().error).toMatch(/the id 56/);
    await other.close();
    const eighteen = await pair.scene.anvil.deploy('Standard', [18, 'USDT']);
    pair.scene.proxy.behaviour = {};
    const finer = Object.assign(Object.create(pair.scene) as EvmScene, { token: eighteen }).connect(pair.book);
    await expect(finer.begin(null, signal())).rejects.toThrow(/USDT_ERC20 at 0x\w+ has 18 decimals there, not 6/);
    await finer.close();
    pair.adapter = Object.assign(Object.create(pair.scene) as EvmScene, { token: `0x${'11'.repeat(20)}` }).connect(
      pair.book,
    );
    await expect(pair.adapter.begin(null, signal())).rejects.toThrow(/is no token there/);
  });

  it('names no event but a transfer', () => {
    expect(TRANSFER).toBe('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef');
  });
});
