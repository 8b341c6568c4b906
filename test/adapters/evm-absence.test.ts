/** Whether endpoints of two operators vouch for it that an address got nothing more, so that a deadline may end an invoice. */
import { describe, expect, it } from 'vitest';
import { ABSENCE_AHEAD } from '../../daemon/chains/evm/params.ts';
import { CHECKPOINT_BLOCKS_MAX } from '../../daemon/domain/chain.ts';
import { anvilTitle, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { type Behaviour, behindAt, type EndpointProxy, type Request } from '../nodes/evm/endpoint-proxy.ts';
import { until } from './conformance.ts';
import { EndpointPair } from './evm-controls.ts';

const COIN = 10n ** 18n;
const NEVER_MS = 3_600_000;
const ZERO = `0x${'0'.repeat(64)}`;
const signal = () => AbortSignal.timeout(25_000);
const REFUSED = { error: { code: -32_602, message: 'missing "to"' } };

const isProgram = ({ method, params }: Request): boolean =>
  method === 'eth_call' && (params[0] as { to?: Json }).to === undefined;
/** An endpoint that has no events, and no balance of the coin or of tokens anywhere. */
const hiding: Behaviour = {
  instead: (request) => {
    const { method, params } = request;
    if (method === 'eth_getLogs') return { result: [] };
    if (isProgram(request)) return REFUSED;
    if (method === 'eth_getBalance') return { result: '0x0' };
    const data = String((params[0] as { data?: Json } | undefined)?.data ?? '');
    return method === 'eth_call' && data.startsWith('0x70a08231') ? { result: ZERO } : undefined;
  },
};
const withoutPrograms: Behaviour = { instead: (request) => (isProgram(request) ? REFUSED : undefined) };

describe.skipIf(!hasAnvil)(anvilTitle('what endpoints show of an address of an invoice'), () => {
  const pair = new EndpointPair();
  const names = (): string[] => pair.urls.map((url) => new URL(url).host);
  const watching = async (secondLookMs = NEVER_MS) => {
    const watched = await pair.watching(pair.urls, { pollMs: NEVER_MS, secondLookMs });
    const script = { id: watched.id, script: Buffer.from(watched.address.slice(2), 'hex') };
    const shown = () => watched.adapter.absence?.showNothing(script, signal());
    return { ...watched, shown };
  };
  const mined = async (): Promise<void> => {
    await pair.scene.anvil.mine();
    await pair.book.catchUp(pair.adapter!);
  };
  const hide = (proxy: EndpointProxy): void => {
    proxy.behaviour = hiding;
  };

  it.each([
    ['by one call at each', {}],
    ['where they run no programs', withoutPrograms],
  ])('is nothing, by the word of two, %s', async (_, behaviour) => {
    const { shown } = await watching();
    pair.scene.proxy.behaviour = behaviour;
    pair.second.behaviour = behaviour;
    expect(await shown()).toEqual(names());
  });

  it('costs one call at each', async () => {
    const { shown } = await watching();
    for (const { calls } of [pair.scene.proxy, pair.second]) calls.clear();
    await shown();
    expect([pair.scene.proxy, pair.second].map(({ calls }) => calls.get('eth_call'))).toEqual([1, 1]);
  });

  it.each([
    ['coins', 'ETH' as const, (address: string) => pair.scene.payCoins([{ address, units: COIN }])],
    ['tokens', 'USDT_ERC20' as const, (address: string) => pair.scene.payTokens([{ address, units: 5_000n }])],
  ])('is vouched for by nobody while one keeps back %s, which are found then', async (_, asset, pay) => {
    const { shown, address, id } = await watching();
    hide(pair.scene.proxy);
    await pay(address);
    await mined();
    expect(pair.book.unitsAt(id, asset)).toBe(0n);
    expect(await shown()).toBe(null);
    await pair.book.catchUp(pair.adapter!);
    expect(pair.book.unitsAt(id, asset) > 0n).toBe(true);
    expect(pair.scene.alerts).toEqual([
      { server: names()[0], message: 'it left out payments that another endpoint has in the same blocks' },
    ]);
    // whoever was caught vouches for nothing
    expect(await shown()).toBe(null);
  });

  it('is vouched for by nobody while another one keeps something back that one has', async () => {
    const { shown, address } = await watching();
    hide(pair.second);
    await pair.scene.payTokens([{ address, units: 5_000n }]);
    await pair.scene.anvil.mine();
    // it is not read yet
    expect(await shown()).toEqual(names());
    await pair.book.catchUp(pair.adapter!);
    // the books have it by one, and the other has less than they
    expect(await shown()).toEqual(names());
  });

  it('is vouched for by nobody while one keeps back more than a minute of its newest blocks', async () => {
    const { shown, address, id } = await watching();
    pair.scene.proxy.behaviour = behindAt(pair.scene.proxy, pair.book.tip.height);
    await pair.scene.payCoins([{ address, units: COIN }]);
    await pair.scene.anvil.mine(ABSENCE_AHEAD.ETH);
    await pair.book.catchUp(pair.adapter!);
    expect(await shown()).toEqual(names());
    await pair.scene.anvil.mine();
    await pair.book.catchUp(pair.adapter!);
    expect(await shown()).toBe(null);
    pair.scene.proxy.behaviour = {};
    await pair.book.catchUp(pair.adapter!);
    expect(pair.book.unitsAt(id, 'ETH')).toBe(COIN);
    expect(await shown()).toEqual(names());
  });

  it('is not known while only one operator answers, or before anything was read', async () => {
    const { shown } = await watching();
    await pair.second.close();
    expect(await shown()).toBe(null);
    await pair.second.listen();
    const alone = await pair.watching([pair.scene.proxy.url]);
    expect(alone.adapter.absence).toBe(undefined);
    await alone.adapter.close();
  });

  it('is nothing more where money came that the books have', async () => {
    const { shown, address, id } = await watching();
    await pair.scene.payTokens([{ address, units: 7_000n }]);
    await pair.scene.payCoins([{ address, units: 3n }]);
    await mined();
    expect([pair.book.unitsAt(id, 'ETH'), pair.book.unitsAt(id, 'USDT_ERC20')]).toEqual([3n, 7_000n]);
    expect(await shown()).toEqual(names());
  });

  it('comes to the books when the proof has seen more than these', async () => {
    const { adapter, address, id } = await watching();
    pair.scene.proxy.behaviour = { changed: ({ method }, result) => (method === 'eth_getLogs' ? [] : result) };
    await pair.pay(address, 7_000n);
    await pair.scene.anvil.mine(CHECKPOINT_BLOCKS_MAX);
    await pair.book.catchUp(adapter);
    pair.scene.proxy.behaviour = {};
    await pair.pay(address, 2n);
    await pair.book.catchUp(adapter);
    expect(pair.book.unitsAt(id, 'USDT_ERC20')).toBe(2n);
    const { held } = await adapter.balances.read(signal());
    expect(held).toContainEqual(expect.objectContaining({ targetId: id, asset: 'USDT_ERC20', units: 7_002n }));
    await until(async () => {
      await pair.book.catchUp(adapter);
      return pair.book.unitsAt(id, 'USDT_ERC20') === 7_002n;
    }, 'the payment that was left out');
    expect(pair.book.paid(id).map(({ units }) => units)).toEqual([2n, 7_000n]);
  });
});
