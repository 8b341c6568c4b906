/** What a spending of Monero reads of the chain for its rings: pages that stay, and outputs that can be spent. */
import { expect, it } from 'vitest';
import type { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { pickDecoys } from '../../../daemon/chains/xmr/spend/decoys.ts';
import { NodeSource } from '../../../daemon/chains/xmr/spend/source.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const HEIGHT = 180_000;
const PER_BLOCK = 3;

it('goes on with the outputs of the chain where it failed, and reads the newest blocks again', async () => {
  const asked: number[] = [];
  let left = 2;
  let limits = 0;
  const node = {
    head: async () => ({ height: HEIGHT }),
    outputCounts: async (from: number, to: number) => {
      if (left-- === 0) throw new Unavailable('the node is away', 5);
      asked.push(from);
      return { base: 0, counts: new Array<number>(to - from + 1).fill(PER_BLOCK) };
    },
  } as unknown as MoneroNode;
  const source = new NodeSource({ first: (use) => use(node), each: async (use) => [await use(node)] });
  const limit = () => {
    limits++;
    return AbortSignal.timeout(1_000);
  };
  await expect(source.distribution(limit)).rejects.toThrow('the node is away');
  const { counts } = await source.distribution(limit);
  expect(asked).toEqual([0, 50_000, 100_000, 150_000]);
  // each request has a time limit of its own
  expect(limits).toBe(4 + 1 + 2);
  expect(counts.length).toBe(HEIGHT + 1);
  expect(counts.at(-1)).toBe((HEIGHT + 1) * PER_BLOCK);
  asked.length = 0;
  expect((await source.distribution(limit)).counts.at(-1)).toBe((HEIGHT + 1) * PER_BLOCK);
  expect(asked).toEqual([HEIGHT + 1 - 720]);
  const decoys = pickDecoys({ startHeight: 0, counts }, 74);
  expect(new Set(decoys).size).toBe(74);
  // ten blocks are locked
  expect(Math.max(...decoys)).toBeLessThan((HEIGHT - 8) * PER_BLOCK);
});
