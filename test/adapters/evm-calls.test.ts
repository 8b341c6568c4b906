/** The calls that one block costs at an endpoint: as many with ten thousand addresses as with ten, and no more than six. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { balancesCall } from '../../daemon/chains/evm/balances-call.ts';
import { BLOCK_MS } from '../../daemon/chains/evm/params.ts';
import { anvilTitle, compiledYul, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { type Behaviour, EndpointProxy } from '../nodes/evm/endpoint-proxy.ts';
import { until } from './conformance.ts';
import { EvmScene } from './evm-controls.ts';
import { FactBook } from './fact-book.ts';

const COIN = 10n ** 18n;
const BLOCKS = 10;
const CALLS_OF_A_BLOCK_MAX = 6;
/** The service looks so often without a hint. */
const PASS_MS = 10_000;
/** On test chains each step asks for the final block and for unknown tokens, too, which it does once a minute elsewhere. */
const CALLS_OF_A_STEP_MAX = 5;
const signal = () => AbortSignal.timeout(60_000);

const isProgram = (params: Json[]): boolean => (params[0] as { to?: Json }).to === undefined;
const REFUSED = { error: { code: -32_602, message: 'missing "to"' } };
const withoutPrograms: Behaviour = {
  instead: ({ method, params }) => (method === 'eth_call' && isProgram(params) ? REFUSED : undefined),
};
/** An endpoint that gives a call less gas than hundreds of balances cost. */
const withLittleGas = (most: number): Behaviour => ({
  instead: ({ method, params }) =>
    method === 'eth_call' && isProgram(params) && String((params[0] as { data?: Json }).data).length > most * 40
      ? { error: { code: -32_000, message: 'out of gas' } }
      : undefined,
});

describe.skipIf(!hasAnvil)(anvilTitle('the calls that a block costs'), () => {
  let scene: EvmScene;
  beforeAll(async () => {
    scene = await EvmScene.start('BSC');
  });
  afterAll(() => scene?.stop());

  /** An adapter that watches so many addresses, after some blocks. */
  async function watching(addresses: number) {
    const book = new FactBook();
    const targets = Array.from({ length: addresses }, (_, i) => {
      const script = Buffer.alloc(20, 0x77);
      script.writeUInt32BE(i);
      script.writeUInt32BE(addresses, 4);
      return { script, address: checksumAddress(script) };
    });
    const ids = targets.map((target) => book.watch(target));
    const adapter = scene.connect(book, [scene.proxy.url], () => false, 3_600_000);
    book.checkpoint = await adapter.begin(null, signal());
    for (let i = 0; i < 3; i++) {
      await scene.anvil.mine();
      await book.catchUp(adapter);
    }
    return { adapter, book, targets, ids };
  }

  async function callsOfABlock(adapter: Awaited<ReturnType<typeof watching>>): Promise<number> {
    scene.proxy.calls.clear();
    for (let i = 0; i < BLOCKS; i++) {
      await scene.anvil.mine();
      await adapter.book.catchUp(adapter.adapter);
    }
    return [...scene.proxy.calls.values()].reduce((sum, calls) => sum + calls, 0) / BLOCKS;
  }

  it.each([10, 1_000])('are few with %s addresses, and payments to any of them are found', async (count) => {
    scene.proxy.behaviour = {};
    const watched = await watching(count);
    expect(await callsOfABlock(watched)).toBeLessThanOrEqual(CALLS_OF_A_STEP_MAX);
    const last = watched.targets.at(-1)!;
    await scene.payCoins([
      { address: watched.targets[0]!.address, units: 3n },
      { address: last.address, units: COIN },
    ]);
    await scene.anvil.mine();
    await watched.book.catchUp(watched.adapter);
    expect(watched.book.unitsAt(watched.ids[0]!, 'BNB')).toBe(3n);
    expect(watched.book.unitsAt(watched.ids.at(-1)!, 'BNB')).toBe(COIN);
    await watched.adapter.close();
  });

  it.each([
    ['runs no programs', withoutPrograms],
    ['has little gas', withLittleGas(100)],
  ])('find the same at an endpoint that %s', async (_, behaviour) => {
    scene.proxy.behaviour = behaviour;
    const watched = await watching(300);
    const before = watched.book.unitsAt(watched.ids[299]!, 'BNB');
    await scene.payCoins([{ address: watched.targets[299]!.address, units: 7n }]);
    await scene.anvil.mine();
    await watched.book.catchUp(watched.adapter);
    expect(watched.book.unitsAt(watched.ids[299]!, 'BNB') - before).toBe(7n);
    await watched.adapter.close();
  });

  it('are the head and the final block where nothing is new', async () => {
    scene.proxy.behaviour = {};
    const { adapter, book } = await watching(10);
    scene.proxy.calls.clear();
    await book.catchUp(adapter);
    expect([...scene.proxy.calls]).toEqual([['eth_getBlockByNumber', 2]]);
    await adapter.close();
  });
});

describe.skipIf(!hasAnvil)(anvilTitle("the calls of a block at mainnet's pace, two operators together"), () => {
  it.each([
    ['ETH' as const, 10, 4, 3_000],
    ['BSC' as const, 10, 40, 0],
    ['BSC' as const, 10_000, 40, 0],
  ])('are six at most on %s with %s addresses', async (chain, addresses, blocks, lateMs) => {
    const scene = await EvmScene.start(chain);
    const second = await EndpointProxy.start(scene.anvil.url);
    const book = new FactBook();
    for (let i = 0; i < addresses; i++) {
      const script = Buffer.alloc(20, 0x55);
      script.writeUInt32BE(i);
      book.watch({ script, address: checksumAddress(script) });
    }
    const adapter = scene.paced(book, [scene.proxy.url, second.url.replace('127.0.0.1', 'localhost')]);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    const blockMs = BLOCK_MS[chain];
    let isOver = false;
    let wake = (): void => undefined;
    adapter.onHint(() => wake());
    const following = (async () => {
      while (!isOver) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        await Promise.race([woken, sleep(PASS_MS)]);
        await book.catchUp(adapter);
      }
    })();
    const mine = async (): Promise<void> => {
      const time = Math.floor((Date.now() - lateMs) / 1_000);
      await scene.anvil.rpc('anvil_setNextBlockTimestamp', [`0x${time.toString(16)}`]).catch(() => null);
      await Promise.all([scene.anvil.mine(), sleep(blockMs)]);
    };
    await mine();
    for (const { calls } of [scene.proxy, second]) calls.clear();
    const began = Date.now();
    for (let i = 0; i < blocks; i++) await mine();
    // a slow machine makes fewer blocks in the time in which it polls
    const slots = (Date.now() - began) / blockMs;
    const calls = [scene.proxy, second].flatMap((one) => [...one.calls.values()]).reduce((sum, each) => sum + each, 0);
    expect(calls / slots).toBeLessThanOrEqual(CALLS_OF_A_BLOCK_MAX);
    isOver = true;
    wake();
    await following;
    await adapter.close();
    await second.close();
    await scene.stop();
  });
});

describe.skipIf(!hasAnvil)(anvilTitle('an endpoint without EIP-1898'), () => {
  let scene: EvmScene;
  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
  });
  afterAll(() => scene?.stop());

  const isByHash = ({ params }: { params: Json[] }): boolean => typeof params.at(-1) === 'object';
  const refusing = (code: number, text: string): Behaviour => ({
    instead: (request) => (isByHash(request) ? { error: { code, message: text } } : undefined),
  });
  const ignoring: Behaviour = {
    instead: ({ method, params }) =>
      method === 'eth_getBalance' ? scene.proxy.pass({ method, params: [params[0] ?? null, 'latest'] }) : undefined,
  };

  it.each<[string, RegExp, Behaviour]>([
    [
      'refuses hashes',
      /takes no hash of a block for the state \(EIP-1898\), so that it cannot be used: invalid argument 1/,
      refusing(-32_602, 'invalid argument 1: hex string expected'),
    ],
    [
      'refuses them with another code',
      /does not tell the state of its newest block by its hash \(EIP-1898\): invalid block tag/,
      refusing(-32_000, 'invalid block tag'),
    ],
    ['ignores them', /ignores the hash of a block for the state \(EIP-1898\)/, ignoring],
  ])('that %s is refused when it is connected, with the reason in its state', async (_, reason, behaviour) => {
    scene.proxy.behaviour = behaviour;
    const adapter = scene.connect(new FactBook(), [scene.proxy.url]);
    await expect(adapter.begin(null, signal())).rejects.toThrow(reason);
    expect(adapter.servers()).toMatchObject([{ error: expect.stringMatching(reason) }]);
    scene.proxy.behaviour = {};
    await until(
      () =>
        adapter.begin(null, signal()).then(
          () => true,
          () => false,
        ),
      'the endpoint that answers now',
    );
    expect(adapter.servers()).toMatchObject([{ error: null }]);
    await adapter.close();
  });
});

describe('the program that tells balances', () => {
  it('is compiled from its source, and only its own answers are read', () => {
    expect(balancesCall([]).data).toBe(compiledYul('balances.yul'));
    const { read } = balancesCall([`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`]);
    const word = (units: bigint): string => units.toString(16).padStart(24, '0');
    expect(read(`0x01${word(7n)}${word(COIN)}`)).toEqual([7n, COIN]);
    const full = (1n << 96n) - 1n;
    const wrong = ['0x', '0x01', `0x00${word(7n)}${word(7n)}`, `0x01${word(7n)}`, `0x01${word(7n)}${word(full)}`, null];
    for (const answer of wrong) expect([answer, read(answer)]).toEqual([answer, null]);
  });
});
