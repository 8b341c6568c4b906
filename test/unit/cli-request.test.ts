/** `withdrawal add` and `sweep` when the answer is lost: the withdrawal may be there, and a policy may have paid it. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NoDaemon, OperatorError } from '../../daemon/contract/client.ts';
import { cli } from './cli-kit.ts';

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;
const calls: Record<string, unknown>[] = [];
let answer: () => unknown;

vi.mock('../../daemon/contract/client.ts', async (original) => ({
  ...(await original<typeof import('../../daemon/contract/client.ts')>()),
  operatorClient: () => async (_: string, params: Record<string, unknown>) => {
    calls.push(params);
    return answer();
  },
}));

beforeEach(() => {
  answer = () => ({ withdrawal: { id: 7, state: 'approved' } });
});
afterEach(() => {
  calls.length = 0;
});

const run = (...argv: string[]) => cli('/nowhere', ['withdrawal', ...argv]);
const ADD = ['add', '1', '0.5', 'LTC', 'ltc1'];

describe('a withdrawal that is asked for by a command', () => {
  it.each([
    ['add', ADD, { business: '1', amount: '0.5', crypto: 'LTC', address: 'ltc1' }],
    ['sweep', ['sweep', '1', 'LTC', 'ltc1'], { business: '1', amount: null, crypto: 'LTC', address: 'ltc1' }],
  ])('has an id of its own each time: %s', async (_, argv, wanted) => {
    expect(await run(...argv)).toMatchObject({ code: 0, out: 'Withdrawal 7 is approved.\n' });
    await run(...argv);
    const [first, second] = calls.map(({ request }) => `${request}`);
    expect(first).toMatch(UUID);
    expect(second).not.toBe(first);
    expect(calls[0]).toEqual({ ...wanted, request: first });
  });

  it('is named when the answer is lost, and asked for under the same id when the command is repeated with it', async () => {
    answer = () => {
      throw new Error('the daemon did not answer: ECONNRESET');
    };
    const { code, err } = await run(...ADD);
    expect(code).toBe(1);
    expect(err).toContain('the daemon did not answer: ECONNRESET. The withdrawal may have been asked for.');
    const [told = ''] = UUID.exec(err) ?? [];
    expect(calls[0]!.request).toBe(told);
    await run(...ADD, '--request', told.toUpperCase());
    expect(calls[1]!.request).toBe(told);
  });

  it.each([
    ['refused', () => new OperatorError(400, { code: 'withdrawal.amount', message: 'too small' })],
    ['not heard', () => new NoDaemon('/nowhere')],
  ])('may not be there when it was %s', async (_, error) => {
    answer = () => {
      throw error();
    };
    const { code, err } = await run(...ADD);
    expect([code === 0, err.includes('--request')]).toEqual([false, false]);
  });

  it('takes no other id than a UUID, and asks for nothing then', async () => {
    const { code, err } = await run(...ADD, '--request', 'again');
    expect([code, calls.length]).toEqual([2, 0]);
    expect(err).toContain('It must be a UUID');
  });
});
