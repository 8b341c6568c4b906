import { describe, expect, it } from 'vitest';
import { deadline } from '../../../daemon/app/deadline.ts';
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
