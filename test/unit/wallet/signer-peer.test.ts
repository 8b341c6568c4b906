/** The connection to a signer: how long it waits, and for which of several requests. */
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Channel } from '../../../daemon/wallet/signer/channel.ts';
import { Peer } from '../../../daemon/wallet/signer/peer.ts';

const LIMIT_MS = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function signer() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let told: (code: number | null) => void = () => {};
  const seen = { killed: 0 };
  const channel: Channel = {
    input,
    output,
    said: null,
    lost: 'it ended',
    locksItself: true,
    kill() {
      seen.killed += 1;
      told(null);
    },
    onEnd(tell) {
      told = tell;
    },
  };
  let next = 1;
  return {
    peer: new Peer(channel, () => {}),
    seen,
    end: (code: number | null) => told(code),
    answer: () => output.write(`${JSON.stringify({ id: next++, end: 'ok', result: null })}\n`),
  };
}

it('gives a request its whole time from when the one before it was answered, and ends a signer that takes longer', async () => {
  const { peer, seen, answer } = signer();
  const asked = Array.from({ length: 4 }, () => peer.ask({ call: 'status' }, LIMIT_MS));
  const last = expect(asked[3]).rejects.toThrow('it ended');
  for (const one of asked.slice(0, 3)) {
    vi.advanceTimersByTime(LIMIT_MS - 1);
    answer();
    expect(await one).toBeNull();
  }
  vi.advanceTimersByTime(LIMIT_MS - 1);
  expect(seen.killed).toBe(0);
  vi.advanceTimersByTime(1);
  expect(seen.killed).toBe(1);
  await last;
});

it('does not end a signer at work because a short request waits behind a long one', async () => {
  const { peer, seen, answer } = signer();
  const long = peer.ask({ call: 'revoke', next: '', mac: '' }, 5 * LIMIT_MS);
  const short = peer.ask({ call: 'status' }, LIMIT_MS);
  vi.advanceTimersByTime(5 * LIMIT_MS - 1);
  expect(seen.killed).toBe(0);
  answer();
  await long;
  vi.advanceTimersByTime(LIMIT_MS - 1);
  expect(seen.killed).toBe(0);
  answer();
  expect(await short).toBeNull();
});

it.each<[number | null, string]>([
  [0, 'The wallet is locked'],
  [1, 'it ended'],
])('settles a request that comes after the end with code %s', async (code, message) => {
  const { peer, end } = signer();
  end(code);
  await expect(peer.ask({ call: 'revoke', next: '', mac: '' }, LIMIT_MS)).rejects.toThrow(message);
});

it.each<[string, number | null, string]>([
  ['locked itself', 0, 'The wallet is locked'],
  ['failed', 1, 'it ended'],
  ['was killed', null, 'it ended'],
])('tells a request that was open when the process %s', async (_, code, message) => {
  const { peer, end } = signer();
  const [revoking, looking] = [
    peer.ask({ call: 'revoke', next: '', mac: '' }, LIMIT_MS),
    peer.ask({ call: 'status' }, LIMIT_MS),
  ];
  const both = Promise.all([
    expect(revoking).rejects.toThrow(message),
    expect(looking, 'which a locked wallet answers').rejects.toThrow('it ended'),
  ]);
  end(code);
  await both;
});
