/** The size of batches and the pace of requests, against endpoints that refuse in one way each. */
import { describe, expect, it } from 'vitest';
import { Pacing } from '../../../daemon/chains/evm/pacing.ts';
import { type Call, type Reply, RpcError, TooLarge } from '../../../daemon/chains/json-rpc.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

type Answer = (calls: readonly Call[], nth: number) => readonly Reply[];

const callsOf = (count: number): Call[] => Array.from({ length: count }, (_, i) => ['method', i]);
const echo = (calls: readonly Call[]): Reply[] => calls.map(([, n]) => ({ result: n }));
const tooMany = () => new Unavailable('label: host: HTTP 429', 5);
const never = new AbortController().signal;

/** An endpoint that answers as it is told to; what it was asked, and every wait, are written down. */
function endpoint(answer: Answer) {
  const sizes: number[] = [];
  const pauses: number[] = [];
  const clock = { ms: 0 };
  const asked = async (calls: readonly Call[]): Promise<Reply[]> => {
    sizes.push(calls.length);
    return [...answer(calls, sizes.length)];
  };
  const rpc = {
    source: 'host',
    batch: asked,
    async call(call: Call): Promise<unknown> {
      const [reply] = await asked([call]);
      if (reply && 'result' in reply) return reply.result;
      throw reply?.error;
    },
  };
  const pause = async (ms: number): Promise<void> => void pauses.push(ms);
  const pacing = new Pacing({ rpc, label: 'label', now: () => clock.ms, pause });
  return { pacing, sizes, pauses, clock };
}

/** Answers at most so many calls at once. */
const atMost =
  (max: number): Answer =>
  (calls) => {
    if (calls.length > max) throw tooMany();
    return echo(calls);
  };

describe('a refusal', () => {
  const asked = async (code: number, message: string): Promise<[number, Reply[] | null]> => {
    const { pacing, sizes } = endpoint((calls) => calls.map(() => ({ error: new RpcError(code, message) })));
    const replies = await pacing.many(callsOf(2), never).catch(() => null);
    return [sizes.length, replies];
  };

  it('of a contract is an answer, whatever words it has', async () => {
    for (const message of ['execution reverted: daily limit exceeded', 'execution reverted: batch over capacity']) {
      expect(await asked(3, message)).toMatchObject([1, [{ error: { message } }, { error: { message } }]]);
      expect((await asked(-32_000, message))[0]).toBe(1);
    }
  });

  it('for its cost is asked again, slower, in the words of each provider', async () => {
    for (const message of [
      '50/second request limit reached - reduce calls per second',
      'You have exceeded the RPS limit available on the current plan',
      'rate limited',
      'Exceeded the quota usage',
      "You've reached the usage limit for your current plan",
    ]) {
      expect([message, (await asked(-32_001, message))[1]]).toEqual([message, null]);
    }
  });

  it('by HTTP 413 is for its size', async () => {
    const tooLong = () => new Unavailable('label: no JSON-RPC is spoken at host (HTTP 413)', 5);
    const { pacing, sizes } = endpoint((calls) => {
      if (calls.length > 5) throw tooLong();
      return echo(calls);
    });
    expect(await pacing.many(callsOf(20), never)).toEqual(echo(callsOf(20)));
    expect(sizes.slice(0, 3)).toEqual([20, 10, 5]);
  });
});

describe('the size of a batch', () => {
  it('grows by one call a batch up to a hundred', async () => {
    const { pacing, sizes, pauses } = endpoint(echo);
    const calls = callsOf(6_000);
    expect(await pacing.many(calls, never)).toEqual(echo(calls));
    const grown = Array.from({ length: 81 }, (_, i) => 20 + i);
    expect(sizes.slice(0, 85)).toEqual([...grown, 100, 100, 100, 100]);
    expect(pauses).toEqual([]);
  });

  it('is halved by a refusal and stays below it for ten minutes', async () => {
    const { pacing, sizes, clock } = endpoint(atMost(22));
    const calls = callsOf(250);
    expect(await pacing.many(calls, never)).toEqual(echo(calls));
    expect(sizes).toEqual([20, 21, 22, 23, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 11]);
    sizes.length = 0;
    clock.ms = 10 * 60_000 - 1;
    await pacing.many(callsOf(66), never);
    expect(sizes).toEqual([22, 22, 22]);
    sizes.length = 0;
    clock.ms++;
    await pacing.many(callsOf(45), never);
    expect(sizes).toEqual([22, 23, 11, 12]);
  });

  it('does not grow by a batch that is smaller than it could be', async () => {
    const { pacing, sizes } = endpoint(echo);
    for (let i = 0; i < 5; i++) await pacing.many(callsOf(19), never);
    await pacing.many(callsOf(40), never);
    expect(sizes).toEqual([19, 19, 19, 19, 19, 20, 20]);
  });
});

describe('the pace', () => {
  it('doubles with each refusal, and is a tenth shorter after each answer until there is none', async () => {
    const { pacing, sizes, pauses } = endpoint((calls, nth) => {
      if (nth <= 3) throw tooMany();
      return echo(calls);
    });
    await pacing.many(callsOf(16), never);
    expect(sizes).toEqual([16, 8, 4, 2, 3, 3, 3, 3, 2]);
    expect(pauses.slice(0, 6)).toEqual([200, 20, 400, 40, 800, 80]);
    expect(pauses.slice(6).map(Math.round)).toEqual([72, 65, 58, 52, 47]);
    pauses.length = 0;
    for (let i = 0; i < 30; i++) await pacing.many(callsOf(1), never);
    for (const [i, ms] of pauses.slice(1).entries()) expect(ms).toBeCloseTo(pauses[i]! * 0.9, 9);
    expect(pauses.at(-1)).toBeGreaterThan(18);
    expect(pauses.at(-1)).toBeLessThanOrEqual(20);
  });

  it('gives an endpoint up that refuses a single call again and again', async () => {
    const { pacing, sizes, pauses } = endpoint(atMost(0));
    const refused = pacing.many(callsOf(40), never);
    await expect(refused).rejects.toThrow(new Unavailable('label: host limits how much it answers', 5));
    expect(sizes).toEqual([20, 10, 5, 2, 1, 1, 1, 1, 1]);
    const waits = pauses.filter((_, i) => i % 2 === 0);
    expect(waits).toEqual([200, 400, 800, 1_600, 1_600, 1_600, 1_600, 1_600]);
    const paces = pauses.filter((_, i) => i % 2 === 1);
    expect(paces).toEqual([20, 40, 80, 160, 320, 640, 1_000, 1_000]);
  });

  it('ends with the signal, also in the middle of a wait', async () => {
    const stop = new AbortController();
    const rpc = {
      source: 'host',
      call: () => Promise.reject(tooMany()),
      batch() {
        stop.abort();
        return Promise.reject(tooMany());
      },
    };
    const pacing = new Pacing({ rpc, label: 'label' });
    await expect(pacing.many(callsOf(2), stop.signal)).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('a refusal', () => {
  it.each([
    ['HTTP 429', () => tooMany()],
    ['a long answer', () => new TooLarge('label: host: the answer is too long', 5)],
    ['no batches', () => new Unavailable('label: host: the node refuses a batch: no array', 5)],
  ])('of a batch as such (%s) makes it ask for less', async (_, error) => {
    const { pacing, sizes } = endpoint((calls) => {
      if (calls.length > 1) throw error();
      return echo(calls);
    });
    const calls = callsOf(3);
    expect(await pacing.many(calls, never)).toEqual(echo(calls));
    expect(sizes).toEqual([3, 1, 2, 1, 1]);
  });

  it.each([
    [-32_005, 'no'],
    [-32_000, 'rate limit reached'],
    [-32_000, 'Too Many Requests'],
    [-32_000, 'your compute units are used up'],
  ])('of one call in a batch for its cost (%i, %s) makes it ask for less', async (code, words) => {
    const { pacing, sizes } = endpoint((calls) =>
      calls.length > 1 ? [...echo(calls.slice(1)), { error: new RpcError(code, words) }] : echo(calls),
    );
    const calls = callsOf(3);
    expect(await pacing.many(calls, never)).toEqual(echo(calls));
    expect(sizes).toEqual([3, 1, 2, 1, 1]);
  });

  it('for another reason is the answer of its call, alone and in a batch', async () => {
    const error = new RpcError(3, 'execution reverted');
    const { pacing, sizes } = endpoint((calls) => calls.map(([, n]) => (n === 1 ? { error } : { result: n })));
    expect(await pacing.many(callsOf(3), never)).toEqual([{ result: 0 }, { error }, { result: 2 }]);
    expect(await pacing.many([['method', 1]], never)).toEqual([{ error }]);
    expect(sizes).toEqual([3, 1]);
  });

  it.each([1, 2])('to connect is thrown at once (%i calls)', async (count) => {
    const away = new Unavailable('label: host: it cannot be reached', 5);
    const { pacing, sizes } = endpoint(() => {
      throw away;
    });
    await expect(pacing.many(callsOf(count), never)).rejects.toBe(away);
    expect(sizes).toEqual([count]);
  });

  it('of one call whose answer is too long is thrown, as no smaller request is left', async () => {
    const { pacing, sizes } = endpoint(() => {
      throw new TooLarge('label: host: the answer is too long', 5);
    });
    await expect(pacing.many(callsOf(2), never)).rejects.toBeInstanceOf(TooLarge);
    expect(sizes).toEqual([2, 1]);
  });

  it('for its cost is the answer of a call whose caller can ask for less', async () => {
    const limit = new RpcError(-32_005, 'query returned more than 10000 results');
    const refusing = endpoint((calls) => calls.map(() => ({ error: limit })));
    expect(await refusing.pacing.many(callsOf(1), never, 'pass limits on')).toEqual([{ error: limit }]);
    expect(refusing.pauses).toEqual([]);
    const long = endpoint(() => {
      throw new TooLarge('label: host: the answer is too long', 5);
    });
    const [reply] = await long.pacing.many(callsOf(1), never, 'pass limits on');
    expect(reply).toEqual({ error: new RpcError(-32_005, 'label: host: the answer is too long') });
  });
});

describe('a range of events', () => {
  const asked = async (code: number, message: string) => {
    const error = new RpcError(code, message);
    const { pacing, sizes, pauses } = endpoint((calls, nth) => (nth < 3 ? [{ error }] : echo(calls)));
    const replies = await pacing.many(callsOf(1), never, 'pass limits on');
    return { replies, asked: sizes.length, waits: pauses.length > 0 };
  };

  it.each([
    [-32_005, 'rate limit exceeded, retry in 1s'],
    [-32_005, 'project ID request rate exceeded'],
    [-32_005, 'daily request count exceeded, request rate limited'],
    [-32_007, '50/second request limit reached - reduce calls per second'],
    [-32_000, 'Too Many Requests'],
    [429, 'Your app has exceeded its compute units per second capacity'],
  ])('is asked for again, later, where requests are counted (%i, %s)', async (...refusal) => {
    expect(await asked(...refusal)).toEqual({ replies: [{ result: 0 }], asked: 3, waits: true });
  });

  it.each([
    [-32_005, 'query returned more than 10000 results'],
    [-32_005, 'block range limit exceeded'],
    [-32_005, 'the range exceeds the request limit of 100 blocks'],
    [-32_602, 'eth_getLogs is limited to a 10 block range'],
    [-32_000, 'logs matched by query exceeds limit of 10000'],
  ])('is told to be too wide at once (%i, %s)', async (...refusal) => {
    expect(await asked(...refusal)).toMatchObject({ replies: [{ error: { message: refusal[1] } }], asked: 1 });
  });
});
