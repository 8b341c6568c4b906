/** Which facts count by one endpoint's word, which need another operator's, and how long they are asked about. */
import { expect, it } from 'vitest';
import { Agreement, type Fact } from '../../../daemon/chains/agreement.ts';
import { type Endpoint, Endpoints } from '../../../daemon/chains/endpoints.ts';

const signal = AbortSignal.timeout(5_000);
const block = (height: number, hash = `block ${height}`) => ({ height, hash });
const fact = (units: bigint, height: number | null): Fact => ({
  ...{ id: `${units} in ${height}`, txid: 'a'.repeat(64), targetId: 1, amount: { asset: 'XMR' as const, units } },
  block: height === null ? null : block(height),
});
const heights = (facts: Fact[]) => facts.map((one) => [one.amount.units, one.block?.height ?? null]);

/** Two operators' endpoints, of which the second knows the blocks of `known`. Amounts from 100 on need both. */
function agreeing(known: Set<string>) {
  const open = (url: string): Endpoint => ({ name: url, identify: async () => {}, close: () => {} });
  const endpoints = new Endpoints('a setting', ['http://one.example', 'http://two.example'], open, () => {});
  const isNeeded = (facts: readonly { units: bigint }[]) => facts.some(({ units }) => units >= 100n);
  const agreement = new Agreement<Endpoint, Fact>(endpoints, isNeeded, async (_, facts) =>
    facts.map((one) => known.has(one.block!.hash)),
  );
  const judge = async (facts: Fact[], checkpoint = [block(8), block(9)]) =>
    heights(await agreement.judge([{ credits: facts, teller: endpoints.asked }], checkpoint, signal));
  return { judge };
}

it('reports what is large as unconfirmed until another operator has its block', async () => {
  const known = new Set<string>();
  const { judge } = agreeing(known);
  expect(await judge([fact(99n, 9), fact(100n, 9), fact(500n, null)])).toEqual([
    [99n, 9],
    [500n, null],
    [100n, null],
  ]);
  expect(await judge([])).toEqual([[100n, null]]);
  known.add('block 9');
  expect(await judge([])).toEqual([[100n, 9]]);
  expect(await judge([])).toEqual([]);
});

it('forgets a block that left the chain, but none because the past is read meanwhile', async () => {
  const { judge } = agreeing(new Set());
  await judge([fact(100n, 9)]);
  expect(await judge([], [block(3), block(4)])).toEqual([[100n, null]]);
  expect(await judge([], [block(8), block(9)])).toEqual([[100n, null]]);
  expect(await judge([], [block(8), block(9, 'another')])).toEqual([]);
});
