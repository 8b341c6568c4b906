/** Which blocks an endpoint is asked for by their hashes, because one of its servers may not have them yet. */
import { expect, it, vi } from 'vitest';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { Header } from '../../../daemon/chains/evm/answers.ts';
import type { EvmEndpoint } from '../../../daemon/chains/evm/endpoint.ts';
import { ASKED_BY_HASH, BLOCK_MS } from '../../../daemon/chains/evm/params.ts';
import { newestOf, type Step } from '../../../daemon/chains/evm/step.ts';
import { TRANSFER, Transfers } from '../../../daemon/chains/evm/transfers.ts';

const LAG_MS = 15_000;
const blocks = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ height: from + i, hash: `block ${from + i}` }));
const step = (from: number, to: number, isFar = false): Step => ({
  from,
  to,
  isFar,
  headers: blocks(from, to) as Header[],
});
const [head] = blocks(1_000, 1_000);

it.each(['ETH', 'BSC'] as const)('those of %s that are younger than the lag of a server', (chain) => {
  expect(ASKED_BY_HASH[chain] * BLOCK_MS[chain]).toBeGreaterThan(LAG_MS);
});

it('those that are so close below the head, in whatever step', () => {
  expect(newestOf(step(901, 1_000), head!, 40)).toEqual(blocks(961, 1_000));
  expect(newestOf(step(999, 1_000), head!, 40)).toEqual(blocks(999, 1_000));
  expect(newestOf(step(861, 960), head!, 40)).toEqual([]);
  expect(newestOf(step(1_000, 1_000, true), head!, 40)).toEqual([]);
});

it('eight of them at a time', async () => {
  const asked: number[][] = [];
  const logsIn = vi.fn(async (some: readonly { height: number }[]) => {
    asked.push(some.map(({ height }) => height));
    return [];
  });
  const contract = `0x${'11'.repeat(20)}`;
  const transfers = new Transfers([{ asset: 'USDT_BEP20', decimals: 18, contract }], {} as ScriptList);
  const endpoint = { logsIn } as unknown as EvmEndpoint;
  const signal = new AbortController().signal;
  await transfers.findIn(endpoint, blocks(1, 18), () => undefined, signal);
  expect(asked).toEqual([
    [1, 2, 3, 4, 5, 6, 7, 8],
    [9, 10, 11, 12, 13, 14, 15, 16],
    [17, 18],
  ]);
  expect(logsIn).toHaveBeenCalledWith(blocks(17, 18), [contract], TRANSFER, signal);
});
