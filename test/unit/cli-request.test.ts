/**
 * The requests of commands to the service. `withdrawal add` and `sweep` when the answer is lost: the withdrawal may be there, and a
 * policy may have paid it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NoDaemon, OperatorError } from '../../daemon/contract/client.ts';
import { GAP, JUMPS_SEARCHED } from '../../daemon/domain/indices.ts';
import { cheapWallet } from '../support/wallet.ts';
import { cli } from './cli-kit.ts';

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;
const calls: Record<string, unknown>[] = [];
let answer: (method: string) => unknown;

vi.mock('../../daemon/contract/client.ts', async (original) => ({
  ...(await original<typeof import('../../daemon/contract/client.ts')>()),
  operatorClient: () => async (method: string, params: Record<string, unknown>) => {
    calls.push(params);
    return answer(method);
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

  it.each([
    ['add', ['add', '1', '0.5', 'ltc', 'ltc1']],
    ['sweep', ['sweep', '1', ' Ltc ', 'ltc1']],
  ])('may name its coin in small letters: %s', async (_, argv) => {
    expect(await run(...argv)).toMatchObject({ code: 0 });
    expect(calls[0]).toMatchObject({ crypto: 'LTC', address: 'ltc1' });
  });

  it.each([
    [['refund-link', 'make', 'abc', '--crypto', 'ltc'], { crypto: 'LTC' }],
    [['ledger', 'mainnet:ltc'], { chain: 'mainnet:LTC' }],
    [['ledger', 'bsc'], { chain: 'BSC' }],
  ])('is no exception: %j', async (argv, params) => {
    answer = () => ({ chains: [], refund_link: {} });
    await cli('/nowhere', argv);
    expect(calls[0]).toMatchObject(params);
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

it('a search of the words looks behind the default number of restores and addresses', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
  try {
    const words = `${'abandon '.repeat(11)}about`;
    await cheapWallet(join(folder, 'vault'), { words, passphrase: 'correct horse battery' });
    await writeFile(join(folder, 'words'), words);
    answer = (method) => {
      if (method === 'wallet.discover') throw new NoDaemon(folder);
      return { account_no: 0, accounts: 0, machines: [] };
    };
    const search = ['--network', 'regtest', '--birthday', '2026-01-01', '--words-file', join(folder, 'words')];
    expect((await cli(folder, ['restore', 'words', ...search])).err).toContain('no Countinghouse is running');
    expect(calls.at(-1)).toMatchObject({ network: 'regtest', gap: GAP, restores: JUMPS_SEARCHED });
  } finally {
    await rm(folder, { recursive: true });
  }
});
