/** What the operator is told of a transaction that was asked for just now: waited for, and no longer than a few seconds. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { App } from '../../../daemon/app/app.ts';
import { outcomeOf } from '../../../daemon/app/withdrawals/propose.ts';
import { message, messageOf } from '../../../daemon/domain/messages.ts';
import type { VersionRow } from '../../../daemon/store/queries/withdrawals.ts';

let version: Partial<VersionRow> | undefined;
const app = { store: { get: () => version } } as unknown as App;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  version = { sent_at: null, problem: null };
});
afterEach(() => vi.useRealTimers());

/** The answer after so many milliseconds, or undefined while it is waited for. */
async function after(ms: number, begun: ReturnType<typeof outcomeOf>) {
  let answer: Awaited<typeof begun> | undefined;
  void begun.then((outcome) => {
    answer = outcome;
  });
  await vi.advanceTimersByTimeAsync(ms);
  return answer;
}

it('waits for the node to take it', async () => {
  const begun = outcomeOf(app, 1, () => null);
  expect(await after(2_000, begun)).toBeUndefined();
  version = { sent_at: 1, problem: null };
  expect(await after(50, begun)).toEqual({ sent: true, problem: null });
});

it('says why the node refused it', async () => {
  const begun = outcomeOf(app, 1, () => null);
  expect(await after(4_000, begun)).toBeUndefined();
  version = { sent_at: null, problem: messageOf('insufficient fee') };
  expect(await after(50, begun)).toEqual({ sent: false, problem: messageOf('insufficient fee') });
});

it.each([
  ['the signer would not sign it', message('wait.locked')],
  [null, message('wait.needless')],
])('says why there is none: %s', async (problem, said) => {
  const begun = outcomeOf(app, 1, () => (problem === null ? null : message('wait.locked')));
  version = undefined;
  expect(await after(50, begun)).toMatchObject({ sent: false, problem: said });
});

it('says after five seconds that nothing is known yet', async () => {
  const begun = outcomeOf(app, 1, () => null);
  expect(await after(4_950, begun)).toBeUndefined();
  expect(await after(150, begun)).toEqual({ sent: false, problem: null });
});
