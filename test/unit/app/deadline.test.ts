import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { deadline, within } from '../../../daemon/app/deadline.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

describe('a deadline', () => {
  it('ends with Unavailable, alone or with other signals', async () => {
    const reason = await aborted(AbortSignal.any([new AbortController().signal, deadline(20, 'mainnet:LTC')]));
    expect(reason).toBeInstanceOf(Unavailable);
    expect(reason).toMatchObject({ message: 'mainnet:LTC gave no answer within 0.02 seconds', retryAfterSeconds: 30 });
  });
});

describe('work within a time', () => {
  const untilAborted = (signal: AbortSignal): Promise<never> =>
    aborted(signal).then((reason) => {
      throw reason;
    });

  it('is aborted when the time is over, and when the signal around it is', async () => {
    const parent = new AbortController();
    await expect(within(20, 'mainnet:LTC', parent.signal, untilAborted)).rejects.toBeInstanceOf(Unavailable);
    const reason = new Error('the service stops');
    const running = within(60_000, 'mainnet:LTC', parent.signal, untilAborted);
    parent.abort(reason);
    await expect(running).rejects.toBe(reason);
    const afterwards = within(60_000, 'mainnet:LTC', parent.signal, async (signal) => signal.reason);
    expect(await afterwards).toBe(reason);
  });

  it('leaves neither a timer nor a listener behind, however it ends', async () => {
    vi.useFakeTimers();
    const { signal } = new AbortController();
    const failing = () => Promise.reject(new Error('no'));
    expect(
      await within(60_000, 'x', signal, async () => [vi.getTimerCount(), getEventListeners(signal, 'abort').length]),
    ).toEqual([1, 1]);
    await expect(within(60_000, 'x', signal, failing)).rejects.toThrow('no');
    expect([vi.getTimerCount(), getEventListeners(signal, 'abort')]).toEqual([0, []]);
    vi.useRealTimers();
  });
});
