/** How often the loop asks a source that cannot tell everything, and its alert about one that cannot be followed. */
import { describe, expect, it, vi } from 'vitest';
import type { ChainUpdate, Checkpoint } from '../../../daemon/domain/chain.ts';
import { ChainAlert, Unavailable } from '../../../daemon/domain/errors.ts';
import { WakeablePause } from '../../../daemon/kit/async.ts';
import { SyncLoop } from '../../../daemon/workers/sync.ts';
import { Bench } from '../app/bench.ts';

describe('a source whose mempool stays incomplete', () => {
  it.each([
    ['and that has nothing new is asked again after a fifth of a second', undefined, [200]],
    ['and that says it has more is asked at once', true, []],
  ] as const)('%s', async (_, more, pauses) => {
    const bench = await Bench.open('LTC');
    let asked = 0;
    bench.chain.adapter.sync = async (since: Checkpoint): Promise<ChainUpdate> => {
      asked++;
      const facts = { credits: [], spends: [], orphaned: [], targets: 'all', mempool: 'unknown' } as const;
      const update = { ...facts, credits: [], spends: [], orphaned: [], since: since.at(-1)!, checkpoint: since };
      return more === undefined ? update : { ...update, more };
    };
    bench.chain.adapter.onHint = () => {};
    const waited = vi.spyOn(WakeablePause.prototype, 'wait');
    const loop = new SyncLoop(bench.app, bench.chain);
    await loop.start();
    await expect.poll(() => asked, { timeout: 90_000 }).toBeGreaterThan(3);
    await loop.stop();
    expect([...new Set(waited.mock.calls.flat())]).toEqual(pauses);
    waited.mockRestore();
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
  await expect.poll(() => bench.alerts(), { timeout: 90_000 }).toEqual([]);
  await loop.stop();
  expect(asked).toBe(2);
});

it('a source that cannot tell its state for a moment is asked on', async () => {
  const bench = await Bench.open('LTC');
  let asked = 0;
  bench.chain.adapter.sync = async (since: Checkpoint): Promise<ChainUpdate> => {
    asked++;
    const facts = { credits: [], spends: [], orphaned: [], targets: 'all', mempool: 'complete' } as const;
    return { ...facts, credits: [], spends: [], orphaned: [], since: since.at(-1)!, checkpoint: since };
  };
  bench.chain.adapter.onHint = () => {};
  const { health } = bench.chain.adapter;
  // the sandbox's is in the database
  bench.chain.adapter.health = () => {
    throw new Unavailable('The database cannot be read', 1);
  };
  const loop = new SyncLoop(bench.app, bench.chain);
  await loop.start();
  bench.chain.adapter.health = () => ({ ...health.call(bench.chain.adapter), lagging: true });
  loop.wake();
  await expect.poll(() => bench.chain.lagging, { timeout: 90_000 }).toBe(true);
  await loop.stop();
  expect(asked).toBe(2);
});
