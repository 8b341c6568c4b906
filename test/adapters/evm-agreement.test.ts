/**
 * The adapter of Ethereum's family between endpoints of two operators: what one alone tells of a large payment does not count, and
 * a payment that waits for the other's word is neither lost nor counted twice.
 */
import { describe, expect, it } from 'vitest';
import type { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { anvilTitle, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { type Behaviour, EndpointProxy, type Request } from '../nodes/evm/endpoint-proxy.ts';
import { until } from './conformance.ts';
import { EndpointPair } from './evm-controls.ts';
import { testAccount } from './keys.ts';

type Fields = { [key: string]: Json };
const signal = () => AbortSignal.timeout(25_000);
const hexOf = (units: bigint): string => `0x${units.toString(16)}`;
const isLogs = ({ method }: Request): boolean => method === 'eth_getLogs';
/** More blocks than a checkpoint has. */
const LONG = 125;

describe.skipIf(!hasAnvil)(anvilTitle('two operators of an anvil'), () => {
  const pair = new EndpointPair();
  const watching = () => pair.watching(pair.urls, { needsAgreement: () => true });
  const pay = (address: string, units: bigint): Promise<string> => pair.pay(address, units);
  const payCoin = async (address: string, units: bigint): Promise<void> => {
    await pair.scene.payCoins([{ address, units }]);
    await pair.scene.anvil.mine();
  };
  const silence = (): void => {
    pair.second.behaviour = { instead: () => ({ error: { code: -32_000, message: 'not now' } }) };
  };
  const restart = async (): Promise<EvmAdapter> => {
    await pair.adapter?.close();
    pair.adapter = pair.scene.connect(pair.book, pair.urls, () => true);
    return pair.adapter;
  };
  const timeOf = async (hash: string): Promise<number> => {
    const block = await pair.scene.anvil.rpc<Fields>('eth_getBlockByHash', [hash, false]);
    return Number(block.timestamp) * 1_000;
  };
  /** Tells of each block that it was made an hour earlier. */
  const earlier = ({ method }: Request, result: Json): Json => {
    const block = result as Fields | null;
    if (!method.startsWith('eth_getBlockBy') || !block) return result;
    return { ...block, timestamp: hexOf(BigInt(block.timestamp as string) - 3_600n) };
  };
  /** A header whose fields do not make its hash, as after a fork that adds one. */
  const unknownFork = ({ method }: Request, result: Json): Json => {
    const block = result as Fields | null;
    return method.startsWith('eth_getBlockBy') && block ? { ...block, stateRoot: `0x${'77'.repeat(32)}` } : result;
  };
  /** Without the state of blocks below the checkpoint. */
  const pruned: Behaviour = {
    instead({ method, params }) {
      if (method !== 'eth_getBalance') return undefined;
      const { blockHash } = params[1] as Fields;
      if (pair.book.checkpoint.some(({ hash }) => hash === blockHash)) return undefined;
      return { error: { code: -32_000, message: 'missing trie node' } };
    },
  };
  /** Follows until the other operator was asked again. */
  const agreed = async (id: number, behaviour: Behaviour = {}): Promise<void> => {
    pair.second.behaviour = behaviour;
    await until(async () => {
      await pair.book.catchUp(pair.adapter!);
      return pair.book.paid(id).every(({ height }) => height !== null);
    }, 'the agreement');
  };

  it('lets a large payment count only once an endpoint of another operator has it in the same block', async () => {
    silence();
    const { adapter, address, id } = await watching();
    const txid = await pay(address, 7_000n);
    await pair.book.catchUp(adapter);
    expect(pair.book.creditOf(id)).toMatchObject({ txid, block: null, amount: { units: 7_000n } });
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    await agreed(id);
    expect(pair.book.paid(id)).toEqual([{ units: 7_000n, height: pair.book.tip.height - 1 }]);
  });

  describe('counts no large payment whose amount one operator alone tells', () => {
    const COIN = 10n ** 18n;
    /** Nobody tells what proves a block. */
    const unproved = (behaviour: Behaviour): Behaviour => ({
      ...behaviour,
      instead: ({ method }) =>
        method === 'eth_getBlockReceipts' ? { error: { code: -32_601, message: 'no such method' } } : undefined,
    });
    const isReceipt = ({ method }: Request): boolean => method === 'eth_getTransactionReceipt';
    /** A lie about balances, from the newest block on. */
    async function moreFromNow(units: bigint) {
      const from = Number(await pair.scene.anvil.rpc<string>('eth_blockNumber', []));
      const hashes = new Set<Json>();
      return ({ method, params }: Request, result: Json): Json => {
        const block = result as Fields | null;
        if (method === 'eth_getBlockByNumber' && Number(block?.number) >= from) hashes.add(block?.hash ?? '');
        if (method !== 'eth_getBalance' || !hashes.has((params[1] as Fields).blockHash ?? '')) return result;
        return hexOf(BigInt(result as string) + units);
      };
    }
    /** Follows the chain, and returns the credits that are in a block. */
    async function counted(adapter: EvmAdapter, id: number): Promise<bigint[]> {
      await pair.book.catchUp(adapter);
      await pair.scene.anvil.mine();
      await pair.book.catchUp(adapter);
      return pair.book.paid(id).flatMap(({ units, height }) => (height === null ? [] : [units]));
    }

    /** Nobody lies any more: what the lie was about counts with the amount that it has, and the lie goes. */
    async function isOnly(units: bigint, id: number): Promise<void> {
      pair.scene.proxy.behaviour = {};
      pair.second.behaviour = {};
      await until(
        async () => {
          await pair.book.catchUp(pair.adapter!);
          const [one, ...more] = pair.book.paid(id);
          return more.length === 0 && one?.units === units && one.height !== null;
        },
        'the true amount',
        20_000,
      );
    }

    it('of a token: the log and its receipt agree with each other', async () => {
      const { adapter, address, id } = await watching();
      await pay(address, 1n);
      const more = (log: Json): Json => ({ ...(log as Fields), data: `0x${'9'.padStart(64, '0')}` });
      pair.second.behaviour = unproved({});
      pair.scene.proxy.behaviour = unproved({
        changed(request, result) {
          if (isLogs(request)) return (result as Json[]).map(more);
          const receipt = result as Fields | null;
          return isReceipt(request) && receipt ? { ...receipt, logs: (receipt.logs as Json[]).map(more) } : result;
        },
      });
      expect(await counted(adapter, id)).toEqual([]);
      expect(pair.book.paid(id)).toContainEqual({ units: 9n, height: null });
      // nodes that were caught in a lie, or refused a proof, are asked again
      await restart();
      await isOnly(1n, id);
    });

    it('of the coin, sent by a transaction', async () => {
      const { adapter, address, id } = await watching();
      await pair.scene.payCoins([{ address, units: 1n }]);
      await pair.scene.anvil.mine();
      const balance = await moreFromNow(COIN - 1n);
      pair.second.behaviour = unproved({});
      pair.scene.proxy.behaviour = unproved({
        changed(request, result) {
          if (request.method !== 'eth_getBlockByHash') return balance(request, result);
          const block = result as { transactions: Fields[] };
          return { ...block, transactions: block.transactions.map((one) => ({ ...one, value: hexOf(COIN) })) };
        },
      });
      expect(await counted(adapter, id)).toEqual([]);
      expect(pair.book.creditOf(id)).toMatchObject({ id: expect.stringMatching(/:0$/), amount: { units: COIN } });
      await isOnly(1n, id);
    });

    it.each([
      ['while it runs', 0],
      ['that were read long before the next start', LONG],
    ])('of coins of a stranger, who is called an address of our own, in blocks %s', async (_, blocks) => {
      const { adapter, address, id } = await watching();
      const tank = await adapter.deriveAddress(testAccount, 1, 0);
      pair.book.watch(tank);
      const isOurs = (one: Json): Json => (one instanceof Object ? { ...one, from: tank.address.toLowerCase() } : one);
      pair.second.behaviour = unproved({});
      pair.scene.proxy.behaviour = unproved({
        changed({ method }, result) {
          if (method === 'eth_getTransactionByHash') return isOurs(result);
          const block = result as { transactions: Json[] };
          return method === 'eth_getBlockByHash' ? { ...block, transactions: block.transactions.map(isOurs) } : result;
        },
      });
      await pair.scene.payCoins([{ address, units: 1n }]);
      await pair.scene.anvil.mine();
      expect(await counted(adapter, id)).toEqual([]);
      expect(pair.book.creditOf(id)).toMatchObject({ id: expect.stringMatching(/:0$/), moved: true });
      if (blocks > 0) await pair.adapter?.close();
      if (blocks > 0) await pair.scene.anvil.mine(blocks);
      pair.scene.proxy.behaviour = {};
      if (blocks > 0) await restart();
      await isOnly(1n, id);
      expect(pair.book.creditOf(id)).toMatchObject({ id: expect.stringMatching(/:0:2$/) });
      expect(pair.book.creditOf(id).moved ?? false).toBe(false);
    });

    it('of the coin, sent from inside a contract: no earlier money proves it, and no transaction beside it', async () => {
      const { adapter, address, id } = await watching();
      const inside = [address, pair.scene.anvil.accounts[5] ?? ''].map((to) => ({ address: to, units: COIN }));
      await pair.scene.payCoins(inside);
      await pair.scene.anvil.mine();
      expect(await counted(adapter, id)).toEqual([COIN]);
      await pair.scene.payCoins([{ address, units: 2n * COIN }]);
      await pair.scene.anvil.mine();
      pair.scene.proxy.behaviour = { changed: await moreFromNow(COIN) };
      expect(await counted(adapter, id)).toEqual([COIN, 2n * COIN]);
      expect(pair.book.paid(id).map(({ units }) => units)).toEqual([COIN, COIN, 2n * COIN]);
    });
  });

  describe('dates no payment by one operator, who says that a block is an hour older than it is', () => {
    /** What is counted of two payments in blocks of their own, and the time of each block. */
    async function dated(urls = pair.urls) {
      const { adapter, address } = await pair.watching(urls, { needsAgreement: () => true });
      const lied = (behaviour: Behaviour): void => {
        pair.scene.proxy.behaviour = behaviour;
      };
      return {
        lied,
        paidAt: async (): Promise<[units: bigint, isConfirmed: boolean, isTrue: boolean | null][]> => {
          await pay(address, 7_050n);
          await payCoin(address, 61n);
          await pair.book.catchUp(adapter);
          const found: [bigint, boolean, boolean | null][] = [];
          for (const { amount, block, blockTime } of pair.book.credits.values()) {
            const isTrue = blockTime === undefined || !block ? null : blockTime === (await timeOf(block.hash));
            found.push([amount.units, block !== null, isTrue]);
          }
          return found.sort(([a], [b]) => Number(a - b));
        },
      };
    }

    /** Answers with the first block for the hash of any block. */
    const first = async ({ method, params }: Request) =>
      method === 'eth_getBlockByHash' && params[1] === false
        ? pair.scene.proxy.pass({ method: 'eth_getBlockByNumber', params: ['0x1', false] })
        : undefined;

    it.each<[string, RegExp, Behaviour]>([
      ['changes its time', /another header of a block/, { changed: earlier }],
      ['shows another block for its hash', /a block of another hash/, { changed: earlier, instead: first }],
    ])('and names the liar where the hash of the block proves its time, who %s', async (_, reason, behaviour) => {
      const third = await EndpointProxy.start(pair.scene.anvil.url);
      try {
        const { lied, paidAt } = await dated([...pair.urls, third.url.replace('127.0.0.1', '[::ffff:127.0.0.1]')]);
        lied(behaviour);
        expect(await paidAt()).toEqual([
          [61n, true, true],
          [7_050n, true, true],
        ]);
        expect(pair.scene.alerts).toMatchObject([{ message: expect.stringMatching(reason) }]);
      } finally {
        await pair.adapter?.close();
        await third.close();
      }
    });

    it('and blames who dates a payment wrongly, not who left it out', async () => {
      const { adapter, address, id } = await pair.watching(pair.urls);
      pair.scene.proxy.behaviour = { changed: (request, result) => (isLogs(request) ? [] : result) };
      pair.second.behaviour = { changed: earlier };
      await pay(address, 7_060n);
      await until(async () => {
        await pair.book.catchUp(adapter);
        return pair.scene.alerts.length > 0;
      }, 'the second look');
      expect(pair.scene.alerts).toMatchObject([
        { server: expect.stringMatching(/^localhost/), message: expect.stringMatching(/another header of a block/) },
      ]);
      expect(pair.book.paid(id)).toEqual([]);
    });

    it('and dates it not at all where no hash proves which of two is right', async () => {
      const { lied, paidAt } = await dated();
      pair.second.behaviour = { changed: unknownFork };
      lied({ changed: (request, result) => earlier(request, unknownFork(request, result)) });
      expect(await paidAt()).toEqual([
        [61n, true, null],
        [7_050n, true, null],
      ]);
      expect(pair.scene.alerts).toEqual([]);
    });

    it('and dates it by the word of two where their headers prove nothing', async () => {
      const { lied, paidAt } = await dated();
      pair.second.behaviour = { changed: unknownFork };
      lied({ changed: unknownFork });
      expect(await paidAt()).toEqual([
        [61n, true, true],
        [7_050n, true, true],
      ]);
    });
  });

  it('counts coins from inside a contract that its endpoint hid longer than blocks are searched', async () => {
    const units = 10n ** 18n;
    silence();
    const { adapter, address, id } = await watching();
    const hidden = ({ method }: Request, result: Json): Json => (method === 'eth_getBalance' ? '0x0' : result);
    pair.scene.proxy.behaviour = { changed: hidden };
    await pair.scene.payCoins([address, pair.scene.anvil.accounts[5] ?? ''].map((to) => ({ address: to, units })));
    await pair.scene.anvil.mine(2 * LONG);
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([]);
    pair.scene.proxy.behaviour = {};
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units, height: null }]);
    await agreed(id);
    expect(pair.book.paid(id)).toEqual([{ units, height: pair.book.checkpoint[0]?.height }]);
  });

  it('forgets nothing that waits for agreement when it is started anew', async () => {
    silence();
    const { adapter: first, address, id } = await watching();
    await pay(address, 7_100n);
    await pair.book.catchUp(first);
    pair.second.behaviour = {};
    await pair.book.catchUp(await restart());
    expect(pair.book.paid(id)).toEqual([{ units: 7_100n, height: pair.book.tip.height }]);
  });

  it('leaves in their blocks what the books have when it is started anew while the other operator is away', async () => {
    const { adapter: first, address, id } = await watching();
    await pay(address, 7_200n);
    await payCoin(address, 5_000n);
    await agreed(id);
    const counted = pair.book.paid(id);
    expect(counted).toHaveLength(2);
    silence();
    const again = await restart();
    expect(again).not.toBe(first);
    await pair.scene.anvil.mine();
    await pair.book.catchUp(again);
    expect(pair.book.paid(id)).toEqual(counted);
  });

  it('finds what was left out while the other operator was away, and while it caught up', async () => {
    const { adapter, address, id } = await pair.watching(pair.urls);
    const hidden = { changed: (request: Request, result: Json) => (isLogs(request) ? [] : result) };
    pair.scene.proxy.behaviour = hidden;
    silence();
    await pay(address, 6_100n);
    const paidAt = pair.book.tip.height + 1;
    await pair.book.catchUp(adapter);
    await pair.scene.anvil.mine(LONG);
    await pair.book.catchUp(adapter);
    pair.second.behaviour = {};
    await until(async () => {
      await pair.book.catchUp(adapter);
      return pair.book.paid(id).length > 0;
    }, 'the payment of the time when the other was away');
    await adapter.close();
    await pay(address, 6_200n);
    await pair.scene.anvil.mine(LONG);
    const again = pair.scene.connect(pair.book, pair.urls, () => false);
    pair.adapter = again;
    await until(async () => {
      await pair.book.catchUp(again);
      return pair.book.paid(id).length > 1;
    }, 'the payment of the time of the catching up');
    expect(pair.book.paid(id)).toEqual([
      { units: 6_100n, height: paidAt },
      { units: 6_200n, height: paidAt + LONG + 1 },
    ]);
    expect(pair.scene.alerts.at(-1)?.message).toMatch(/left out payments/);
  });

  /** A proxy of a node whose blocks above a height are others, with the same transactions. */
  const forkedAbove = (height: number): Behaviour => {
    const { proxy } = pair.scene;
    const fakes = new Map<string, string>();
    const real = new Map<string, string>();
    const fork = (hash: Json | undefined): void => {
      // another one, also of a block whose hash begins so
      const fake = `${String(hash).startsWith('0xff') ? '0xfe' : '0xff'}${String(hash).slice(4)}`;
      fakes.set(String(hash), fake);
      real.set(fake, String(hash));
    };
    const swapped = <T extends Json>(value: T, by: ReadonlyMap<string, string>): T =>
      JSON.parse(JSON.stringify(value).replace(/0x[0-9a-f]{64}(?![0-9a-f])/g, (hash) => by.get(hash) ?? hash)) as T;
    return {
      async instead({ method, params }) {
        const reply = await proxy.pass({ method, params: swapped(params, real) });
        if ('error' in reply) return reply;
        const block = reply.result as Fields | null;
        if (method.startsWith('eth_getBlockBy') && Number(block?.number) > height) fork(block?.hash);
        if (method.startsWith('eth_getBlockBy') && Number(block?.number) > height + 1) fork(block?.parentHash);
        return { result: swapped(reply.result, fakes) };
      },
    };
  };

  it('is not led so far onto a branch of one endpoint that there is no way back', async () => {
    const third = await EndpointProxy.start(pair.scene.anvil.url);
    try {
      const urls = [...pair.urls, third.url.replace('127.0.0.1', '[::ffff:127.0.0.1]')];
      const { adapter, address, id } = await pair.watching(urls);
      pair.scene.proxy.behaviour = forkedAbove(pair.book.tip.height);
      await pay(address, 7_400n);
      const paidAt = pair.book.tip.height + 1;
      await pair.book.catchUp(adapter);
      expect(pair.book.tip.hash).toMatch(/^0xf[ef]/);
      for (let blocks = 0; blocks < 5; blocks++) {
        await pair.scene.anvil.mine(LONG / 5);
        await until(async () => {
          await pair.book.catchUp(adapter).catch(() => null);
          return pair.book.tip.height >= paidAt + (blocks + 1) * (LONG / 5);
        }, 'the chain goes on');
      }
      const honest = await pair.scene.anvil.rpc<Fields>('eth_getBlockByNumber', ['latest', false]);
      expect(pair.book.tip).toEqual({ height: Number(honest.number), hash: honest.hash });
      expect(pair.book.paid(id)).toEqual([{ units: 7_400n, height: paidAt }]);
      const paidIn = await pair.scene.anvil.rpc<Fields>('eth_getBlockByNumber', [hexOf(BigInt(paidAt)), false]);
      expect(pair.book.creditOf(id).block?.hash).toBe(paidIn.hash);
      expect(pair.scene.alerts.at(-1)?.message).toMatch(/another block \d+ than all other endpoints have/);
    } finally {
      await pair.adapter?.close();
      await third.close();
    }
  });

  it('reports an agreement again until the books have it', async () => {
    silence();
    const { adapter, address, id } = await watching();
    await pay(address, 7_200n);
    await pair.book.catchUp(adapter);
    expect(pair.book.creditOf(id).block).toBeNull();
    pair.second.behaviour = {};
    // the disk is full: the update with the agreement is not stored
    const isAgreed = async () =>
      (await adapter.sync(pair.book.checkpoint, signal()))?.credits.some(({ block }) => block);
    await until(async () => (await isAgreed()) === true, 'the agreement', 20_000);
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 7_200n, height: pair.book.tip.height }]);
  });

  it('keeps what waits through a restart after more blocks than a checkpoint has, of a token and of the coin', async () => {
    silence();
    const { adapter, address, id } = await watching();
    await pay(address, 7_300n);
    const paidAt = pair.book.tip.height + 1;
    await payCoin(address, 31n);
    await pair.scene.payCoins([
      { address, units: 47n },
      { address: pair.scene.anvil.accounts[5] ?? '', units: 1n },
    ]);
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    await pair.scene.anvil.mine(LONG);
    await pair.book.catchUp(adapter);
    const all = [
      { units: 31n, height: paidAt + 1 },
      { units: 47n, height: paidAt + 2 },
      { units: 7_300n, height: paidAt },
    ];
    expect(pair.book.paid(id)).toEqual(all.map((one) => ({ ...one, height: null })));
    pair.scene.proxy.behaviour = pruned;
    await pair.book.catchUp(await restart());
    expect(pair.book.paid(id)).toEqual(all.map((one) => ({ ...one, height: null })));
    await agreed(id, pruned);
    expect(pair.book.paid(id)).toEqual(all);
  });

  it('counts no small payment that waited in an old block that one operator alone has: nothing links it to the chain', async () => {
    const { anvil, proxy } = pair.scene;
    const snapshot = await anvil.rpc<string>('evm_snapshot', []);
    const unproved: Behaviour = {
      instead: ({ method }) =>
        method === 'eth_getBlockReceipts' ? { error: { code: -32_601, message: 'no such method' } } : undefined,
    };
    proxy.behaviour = unproved;
    silence();
    const { adapter, address, id } = await pair.watching(pair.urls);
    const txid = await pay(address, 900n);
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 900n, height: null }]);
    await adapter.close();
    const { hash, height } = pair.book.tip;
    const asked: [method: string, ...params: Json[]][] = [
      ['eth_getBlockByNumber', hexOf(BigInt(height)), false],
      ['eth_getBlockByHash', hash, false],
      ['eth_getBlockByHash', hash, true],
      ['eth_getBlockReceipts', hash],
      ['eth_getTransactionReceipt', txid],
      ['eth_getTransactionByHash', txid],
    ];
    const told = new Map<string, Json>();
    for (const [method, ...params] of asked)
      told.set(JSON.stringify([method, params]), await anvil.rpc(method, params));
    // the block is none of the chain, which goes on without it
    await anvil.rpc('evm_revert', [snapshot]);
    await anvil.mine(LONG);
    proxy.behaviour = {
      instead({ method, params }) {
        const result = told.get(JSON.stringify([method, params]));
        return result === undefined ? undefined : { result };
      },
    };
    pair.second.behaviour = {};
    pair.adapter = pair.scene.connect(pair.book, pair.urls, () => false);
    pair.book.checkpoint = await pair.adapter.begin(null, signal());
    expect(pair.book.checkpoint[0]!.height).toBeGreaterThan(height);
    const update = await pair.adapter.sync(pair.book.checkpoint, signal());
    expect(update!.credits.map(({ id: of, block }) => [of.startsWith(txid), block])).toEqual([[true, null]]);
  });

  it('counts a coin that waits once, however long it waits', async () => {
    silence();
    const { adapter, address, id } = await watching();
    await payCoin(address, 53n);
    await pair.book.catchUp(adapter);
    await pair.scene.anvil.mine(LONG);
    await pair.book.catchUp(adapter);
    await pair.scene.anvil.mine();
    await pair.book.catchUp(adapter);
    expect(pair.book.paid(id)).toEqual([{ units: 53n, height: null }]);
    await payCoin(address, 59n);
    const last = pair.book.tip.height + 1;
    await pair.book.catchUp(adapter);
    await agreed(id);
    expect(pair.book.paid(id)).toEqual([
      { units: 53n, height: last - LONG - 2 },
      { units: 59n, height: last },
    ]);
  });
});
