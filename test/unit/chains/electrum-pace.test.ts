/** How many requests a server is given at once. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pace } from '../../../daemon/chains/utxo/electrum/servers/pace.ts';

const never = () => false;

describe('the pace of a server', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Makes requests that take so long each; returns how many were under way at the most. */
  async function ask(
    pace: Pace,
    requests: number,
    tookMs: number,
    haste: 'news' | 'passing' = 'news',
  ): Promise<number> {
    let underWay = 0;
    let most = 0;
    const answer = async () => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, tookMs));
      underWay--;
    };
    const all = Promise.all(Array.from({ length: requests }, () => pace.run(haste, never, answer)));
    await vi.runAllTimersAsync();
    await all;
    return most;
  }

  it('rises while answers come in good time, further where the server is near', async () => {
    const [near, far] = [new Pace(), new Pace()];
    await ask(near, 5_000, 5);
    await ask(far, 5_000, 100);
    expect([near.limit('news'), far.limit('news')]).toEqual([512, 64]);
    expect([near.isSlowed, far.isSlowed]).toEqual([false, false]);
  });

  it('halves once for a round of late answers, and never ends', async () => {
    const pace = new Pace();
    await ask(pace, 5_000, 100);
    expect(await ask(pace, 64, 3_000)).toBe(64);
    expect(pace.limit('news')).toBe(32);
    expect(pace.isSlowed).toBe(true);
    for (let i = 0; i < 20; i++) await ask(pace, 4, 3_000);
    expect(pace.limit('news')).toBe(2);
  });

  it('is delayed as long as answers take longer than they can, for hours, too', async () => {
    const pace = new Pace();
    await ask(pace, 100, 5);
    expect(pace.isDelayed).toBe(false);
    for (let i = 0; i < 4; i++) await ask(pace, 5_000, 200);
    expect([pace.isDelayed, pace.isSlowed]).toEqual([true, false]);
    await ask(pace, 100, 5);
    expect(pace.isDelayed).toBe(false);
  });

  it('leaves half to what somebody waits for', async () => {
    const pace = new Pace();
    await ask(pace, 5_000, 100);
    expect(await ask(pace, 200, 100, 'passing')).toBe(32);
  });
});
