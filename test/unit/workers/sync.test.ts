/** How often the loop asks a source that cannot tell everything, and its alert about one that cannot be followed. */
import { describe, expect, it } from 'vitest';
import type { ChainUpdate, Checkpoint } from '../../../daemon/domain/chain.ts';
import { ChainAlert } from '../../../daemon/domain/errors.ts';
import { SyncLoop } from '../../../daemon/workers/sync.ts';
import { Bench } from '../app/bench.ts';

const WATCHED_MS = 1_000;

describe('a source whose mempool stays incomplete', () => {
  it.each([
    ['and that has nothing new is asked a few times a second', undefined, 2, 10],
    ['and that says it has more is asked at once', true, 50, Number.POSITIVE_INFINITY],
  ] as const)('%s', async (_, more, least, most) => {
    const bench = await Bench.open('LTC');
    let asked = 0;
    bench.chain.adapter.sync = async (since: Checkpoint): Promise<ChainUpdate> => {
      asked++;
      const facts = { credits: [], spends: [], orphaned: [], targets: 'all', mempool: 'unknown' } as const;
      const update = { ...facts, credits: [], spends: [], orphaned: [], since: since.at(-1)!, checkpoint: since };
      return more === undefined ? update : { ...update, more };
    };
    bench.chain.adapter.onHint = () => {};
    const loop = new SyncLoop(bench.app, bench.chain);
    await loop.start();
    const until = performance.now() + WATCHED_MS;
    while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
    await loop.stop();
    expect(asked).toBeGreaterThanOrEqual(least);
    expect(asked).toBeLessThanOrEqual(most);
  });
});

it('an alert about a source ends once the chain is followed again', async () => {
  const bench = await Bench.open('LTC');
  let isDivided = true;
  let asked = 0;
  bench.chain.adapter.sync = async (since: Checkpoint): Promise<ChainUpdate> => {
    asked++;
    if (isDivided) throw new ChainAlert('two endpoints disagree');
    const facts = { credits: [], spends: [], orphaned: [], targets: 'all', mempool: 'complete' } as const;
    return { ...facts, credits: [], spends: [], orphaned: [], since: since.at(-1)!, checkpoint: since };
  };
  bench.chain.adapter.onHint = () => {};
  const loop = new SyncLoop(bench.app, bench.chain);
  await loop.start();
  expect(bench.alerts()).toEqual(['chain.alert']);
  isDivided = false;
  loop.wake();
  await expect.poll(() => bench.alerts(), { timeout: 5_000 }).toEqual([]);
  await loop.stop();
  expect(asked).toBe(2);
});
