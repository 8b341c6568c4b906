/** Which facts count by one endpoint's word, which need another operator's, and how long they are asked about. */
import { expect, it } from 'vitest';
import { Agreement, type Fact } from '../../../daemon/chains/agreement.ts';
import { type Endpoint, Endpoints } from '../../../daemon/chains/endpoints.ts';

const signal = AbortSignal.timeout(5_000);
const block = (height: number, hash = `block ${height}`) => ({ height, hash });
const fact = (units: bigint, height: number | null): Fact => ({
  id: `${units} in ${height}`,
  txid: 'a'.repeat(64),
  targetId: 1,
  amount: { asset: 'XMR' as const, units },
  block: height === null ? null : block(height),
});
const heights = (facts: Fact[]) => facts.map((one) => [one.amount.units, one.block?.height ?? null]);

/** Two operators' endpoints, of which the second knows the blocks of `known`. Amounts from 100 on need both. */
function agreeing(known: Set<string>) {
  const open = (url: string): Endpoint => ({ name: url, identify: async () => {}, close: () => {} });
  const endpoints = new Endpoints('a setting', ['http://one.example', 'http://two.example'], open, () => {});
  const isNeeded = (facts: readonly { units: bigint }[]) => facts.some(({ units }) => units >= 100n);
  const stored = new Set<string>();
  const agreement = new Agreement<Endpoint, Fact>(endpoints, isNeeded, {
    areThere: async (_, facts) => facts.map((one) => known.has(one.block!.hash)),
    isStored: ({ id }) => stored.has(id),
  });
  const judge = async (facts: Fact[], checkpoint = [block(8), block(9)]) =>
    heights(await agreement.judge([{ facts, teller: endpoints.asked }], checkpoint, signal));
  return { judge, stored };
}

it('reports what is large as unconfirmed until another operator has its block, and then until it is stored', async () => {
  const known = new Set<string>();
  const { judge, stored } = agreeing(known);
  expect(await judge([fact(99n, 9), fact(100n, 9), fact(500n, null)])).toEqual([
    [99n, 9],
    [500n, null],
    [100n, null],
  ]);
  expect(await judge([])).toEqual([[100n, null]]);
  known.add('block 9');
  expect(await judge([])).toEqual([[100n, 9]]);
  known.clear();
  expect(await judge([])).toEqual([[100n, 9]]);
  stored.add('100 in 9');
  expect(await judge([])).toEqual([]);
});

it('keeps what waits when too many large payments come at once', async () => {
  const known = new Set<string>();
  const { judge } = agreeing(known);
  expect(await judge([fact(100n, 9)])).toEqual([[100n, null]]);
  const flood = Array.from({ length: 20_001 }, (_, i) => ({ ...fact(100n, 8), id: `${i}` }));
  await expect(judge(flood)).rejects.toThrow('Too many large payments');
  expect(await judge([])).toEqual([[100n, null]]);
  known.add('block 8');
  expect(await judge(flood)).toHaveLength(20_002);
});

it('forgets a block that left the chain, but none because the past is read meanwhile', async () => {
  const { judge } = agreeing(new Set());
  await judge([fact(100n, 9)]);
  expect(await judge([], [block(3), block(4)])).toEqual([[100n, null]]);
  expect(await judge([], [block(8), block(9)])).toEqual([[100n, null]]);
  expect(await judge([], [block(8), block(9, 'another')])).toEqual([]);
});
