/** Native coins at an address whose difference is explained in part, because the endpoint loses the state of blocks, or there are many. */
import { expect, it } from 'vitest';
import type { ListedScript, ScriptList } from '../../../daemon/chains/adapter.ts';
import type { Sending } from '../../../daemon/chains/evm/answers.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { firstAbove } from '../../../daemon/chains/evm/located.ts';
import { NativeCoin } from '../../../daemon/chains/evm/native.ts';
import type { BlockId, Credit } from '../../../daemon/domain/chain.ts';

const UNITS = 10n ** 17n;
const OURS: ListedScript = { id: 1, script: Buffer.alloc(20, 1) };
const SIGNAL = new AbortController().signal;

const hashAt = (height: number): string => `0x${`${height}`.padStart(64, '0')}`;
const blockAt = (height: number): BlockId => ({ height, hash: hashAt(height) });
const blocks = (from: number, to: number): BlockId[] =>
  Array.from({ length: to - from + 1 }, (_, i) => blockAt(from + i));

/** An address that receives an amount in each of some blocks, `paid`, by transactions of their own or from inside a contract. */
function scene(paid: readonly number[], by: 'transaction' | 'contract') {
  const found = new Map<string, Credit>();
  const received = (height: number): bigint => BigInt(paid.filter((one) => one <= height).length) * UNITS;
  const sendingsIn = (height: number): Sending[] => {
    const one = {
      txid: `0x${`${height}`.padStart(64, 'a')}`,
      from: '0xpayer',
      to: hexOfScript(OURS.script),
      value: UNITS,
    };
    return by === 'transaction' && paid.includes(height) ? [one as unknown as Sending] : [];
  };
  let hasState = (_: number, __: number): boolean => true;
  let questions = 0;
  const endpoint: Partial<EvmEndpoint> = {
    balances: async (_, { height }) => [hasState(height, ++questions) ? received(height) : null],
    sendings: async ({ height }) => sendingsIn(height),
    wholeBlocks: async (heights) =>
      heights.map((height) => ({
        ...blockAt(height),
        parent: hashAt(height - 1),
        timeMs: 0,
        sendings: sendingsIn(height),
      })) as never,
    receipts: async (txids) =>
      txids.map(
        (txid) => ({ blockHash: hashAt(Number(txid.replace(/^0xa*/u, ''))), succeeded: true, fee: 0n }) as never,
      ),
    payerInside: async () => null,
  };
  const parts: Partial<ScriptList> = {
    active: () => [[OURS]],
    page: () => [],
    unitsAt: () => [...found.values()].reduce((sum, { amount }) => sum + amount.units, 0n),
    coinsOf: () =>
      [...found.values()].map(({ id, txid, targetId, amount, block }) => ({
        targetId,
        outpoint: id,
        txid,
        ...amount,
        blockHeight: block?.height ?? null,
        blockHash: block?.hash ?? null,
        locked: false,
        spentTxid: null,
        spentBlockHeight: null,
        spentBlockHash: null,
      })),
    underId: () => [],
    debitsAt: () => [],
    targetIdOf: () => undefined,
  };
  const coin = new NativeCoin('ETH', parts as ScriptList);
  const look = async (checkpoint: BlockId[]): Promise<(number | undefined)[]> => {
    questions = 0;
    const view = { checkpoint, atHead: true, orphaned: new Set<string>(), timeOf: () => 0, debits: [], held: [] };
    const credits = (await coin.look(endpoint as EvmEndpoint, view, () => undefined, SIGNAL)) ?? [];
    for (const one of credits) found.set(one.id, one);
    return credits.map(({ block }) => block?.height);
  };
  coin.begin(2, false);
  return {
    coin,
    look,
    found,
    state: (one: typeof hasState) => {
      hasState = one;
    },
  };
}

it('wait where all state is lost in the middle of the search, and are found in their blocks later', async () => {
  const { coin, look, found, state } = scene([9], 'transaction');
  // the list, and the tip alone
  state((_, question) => question <= 2);
  expect(await look(blocks(3, 12))).toEqual([]);
  expect([coin.isUntold(1), coin.hasLeftFirst]).toEqual([true, true]);
  state((height) => height >= 24);
  expect(await look(blocks(20, 27))).toEqual([9]);
  expect([...found.values()]).toMatchObject([{ txid: `0x${'9'.padStart(64, 'a')}` }]);
  expect([coin.isUntold(1), coin.hasLeftFirst]).toEqual([false, false]);
});

it('wait in part where the state is lost after the first of them', async () => {
  const { coin, look, state } = scene([5, 9], 'contract');
  // the list, the tip, and three to locate the first
  state((_, question) => question <= 5);
  expect(await look(blocks(3, 12))).toEqual([5]);
  expect([coin.isUntold(1), coin.isDue(), coin.hasLeftFirst]).toEqual([true, false, false]);
  state(() => true);
  expect(await look(blocks(3, 12))).toEqual([9]);
  expect(coin.isUntold(1)).toBe(false);
});

it('wait in part where they came in more blocks than one look explains', async () => {
  const paid = Array.from({ length: 25 }, (_, i) => 5 + i);
  const { coin, look } = scene(paid, 'contract');
  expect(await look(blocks(3, 40))).toEqual(paid.slice(0, 20));
  expect([coin.isUntold(1), coin.isDue(), coin.hasLeftFirst]).toEqual([true, false, false]);
  expect(await look(blocks(3, 40))).toEqual(paid.slice(20));
  expect([coin.isUntold(1), coin.hasLeftFirst]).toEqual([false, false]);
});

it('are located by the answer that showed them, although its block has no state any more', async () => {
  const asked = new Set<number>();
  const once = async ({ height }: BlockId): Promise<bigint | null> => {
    if (asked.has(height)) return null;
    asked.add(height);
    return height >= 5 ? UNITS : 0n;
  };
  expect(await firstAbove(once, 0n, blocks(3, 12), 0)).toEqual({ at: 2, came: UNITS, after: 1 });
});
