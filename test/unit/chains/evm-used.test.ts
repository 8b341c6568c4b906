/** Which addresses a search of the words calls used on a chain of accounts, where endpoints say different things. */
import { expect, it } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import { Endpoints } from '../../../daemon/chains/endpoints.ts';
import { EvmBalances } from '../../../daemon/chains/evm/balances.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const SCRIPTS = [1, 2, 3].map((byte) => new Uint8Array(20).fill(byte));
const TIP = { height: 9, hash: `0x${'09'.repeat(32)}` };

/** Endpoints of so many operators: the numbers of the addresses that each calls used; null: it does not answer. */
function searching(...operators: (readonly number[] | null)[]) {
  const asked: string[] = [];
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
      head: async () => TIP as Awaited<ReturnType<EvmEndpoint['head']>>,
      usedAmong: async (_, wanted) => wanted.map((address) => addresses?.includes(address) === true),
    };
    return endpoint as EvmEndpoint;
  };
  const urls = operators.map((_, i) => `http://rpc${i}.operator${i}.example`);
  const endpoints = new Endpoints('a setting', urls, open, () => {});
  const balances = new EvmBalances({ endpoints, list: {} as ScriptList, native: 'ETH', tokens: [], hasMore: () => {} });
  return { asked, find: () => balances.areUsed(SCRIPTS, AbortSignal.timeout(5_000)) };
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
