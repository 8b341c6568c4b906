/** Which addresses a search of the words calls used on a chain of accounts, where endpoints say different things. */
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { EvmBalances } from '../../../daemon/chains/evm/balances.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { HEAD_AGE_MS_MAX } from '../../../daemon/chains/evm/params.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const SCRIPTS = [1, 2, 3].map((byte) => new Uint8Array(20).fill(byte));
const tip = (ageMs: number) => ({ height: 9, hash: `0x${'09'.repeat(32)}`, timeMs: Date.now() - ageMs });

/**
 * Endpoints of so many operators: the numbers of the addresses that each calls used; null: it does not answer. `old`: those whose newest
 * block is old.
 */
function searching(...operators: (readonly number[] | null)[]) {
  const asked: string[] = [];
  const old = new Set<string>();
  const open = (url: string): EvmEndpoint => {
    const name = new URL(url).hostname;
    const used = operators[Number(name.slice(3, 4))];
    const addresses = used?.map((byte) => hexOfScript(new Uint8Array(20).fill(byte)));
    const endpoint: Partial<EvmEndpoint> = {
      name,
      async identify() {
        asked.push(name);
        if (!addresses) throw new Unavailable(`${name} does not answer`, 1);
      },
      head: async () =>
        tip(old.has(name) ? HEAD_AGE_MS_MAX.ETH + 1_000 : 0) as Awaited<ReturnType<EvmEndpoint['head']>>,
      usedAmong: async (_, wanted) => wanted.map((address) => addresses?.includes(address) === true),
    };
    return endpoint as EvmEndpoint;
  };
  const urls = operators.map((_, i) => `http://rpc${i}.operator${i}.example`);
  const endpoints = new Endpoints('a setting', urls, open, () => {});
  const parts = { endpoints, list: {} as ScriptList, tokens: [], hasMore: () => {} };
  const balances = new EvmBalances({ ...parts, network: 'mainnet', chain: 'ETH' });
  return { asked, old, find: () => balances.areUsed(SCRIPTS, AbortSignal.timeout(5_000)) };
}

it('are unused only where two operators say so', async () => {
  const { asked, find } = searching([], [2], [3]);
  expect(await find()).toEqual([false, true, false]);
  expect(asked).toHaveLength(2);
  expect(await searching([1], [1, 3]).find()).toEqual([true, false, true]);
});

it('are those that one operator calls so while no other one answers', async () => {
  expect(await searching([2]).find()).toEqual([false, true, false]);
  expect(await searching(null, [2], null).find()).toEqual([false, true, false]);
  await expect(searching(null, null).find()).rejects.toThrow('rpc1.operator1.example does not answer');
});

it('are not told by an endpoint whose newest block is old, until it has newer ones', async () => {
  const { old, find } = searching([]);
  old.add('rpc0.operator0.example');
  await expect(find()).rejects.toThrow('rpc0.operator0.example is behind: its newest block is 10 minutes old');
  old.clear();
  expect(await find()).toEqual([false, false, false]);
  const several = searching([], [2], []);
  several.old.add('rpc0.operator0.example').add('rpc2.operator2.example');
  expect(await several.find()).toEqual([false, true, false]);
});
