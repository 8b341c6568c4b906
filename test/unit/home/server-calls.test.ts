/** The calls of a program that shows the whole console of a server: what is answered, over how many connections, and what is asked again. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Call } from '../../../daemon/contract/operator.ts';
import { ServerCalls } from '../../../daemon/home/call.ts';
import type { Answering } from '../../../daemon/http/machines/machines.ts';
import { homeOf, serverIn, stage, stageEach, tunnel, walletAtHome } from './home-kit.ts';

stageEach();

const NOTHING_KNOWN = {
  valid: true,
  cost: null,
  since: null,
  paid: 0,
  unasked: 0,
  last: null,
  first_approved_at: null,
  most: null,
  lookalikes: [],
};
const ok = (body: unknown) => ({ status: 200, body });
/** Answers with what was asked, so that an answer to another question shows. */
const labelled: Answering = async (_, params) =>
  ok({ ...NOTHING_KNOWN, label: (params as { address: string }).address });
const refusal = { status: 404, body: { error: { code: 'withdrawal.not_found', message: 'There is none' } } };

/** A server and this computer's calls of it. `answers`: of each call, in turn; the last one for all that follow. */
async function pair(...answers: [Answering, ...Answering[]]) {
  const asked: string[] = [];
  const server = await serverIn('server', {
    answers: async (method, params) => {
      asked.push(method);
      return (answers.length > 1 ? answers.shift()! : answers[0])(method, params);
    },
  });
  const line = await tunnel(server.url);
  const { code } = await server.machines.invite();
  const folder = await homeOf(line.url, code);
  const before = server.greetings();
  const calls = new ServerCalls(folder, 'test');
  stage.undo.push(() => calls.renew());
  return { ...server, asked, calls, folder, line, connections: () => server.greetings() - before };
}

const place = { business: '1', crypto: 'LTC' };
const read = async (call: Call, address: string) =>
  (await call('withdrawal.recipient', { ...place, address })).label ?? '';
const change = async (call: Call) => JSON.stringify(await call('inbox.keep', { id: 7 }));
/** An answer, or the code or else the class of an error. */
const said = (answer: Promise<string>): Promise<string> =>
  answer.catch((error: Error & { code?: string }) => error.code ?? error.constructor.name);

afterEach(() => void vi.useRealTimers());

const silence: Answering = () => Promise.reject(new Error('the connection ends'));

describe.skipIf(process.platform === 'win32')('calls of a server', () => {
  it.each([
    { name: 'many at once', count: 20, connections: 6 },
    { name: 'as many as there are connections', count: 6, connections: 6 },
    { name: 'one', count: 1, connections: 1 },
  ])('get each its own answer: $name', async ({ count, connections }) => {
    let [now, most] = [0, 0];
    const full = Promise.withResolvers<void>();
    const made = await pair(async (method, params) => {
      now += 1;
      most = Math.max(most, now);
      if (now === connections) full.resolve();
      await full.promise;
      now -= 1;
      return labelled(method, params);
    });
    const addresses = Array.from({ length: count }, (_, at) => `address ${at}`);
    expect(await Promise.all(addresses.map((address) => read(made.calls.call, address)))).toEqual(addresses);
    expect([most, made.connections()]).toEqual([connections, connections]);
  });

  it.each([
    {
      name: 'an answer keeps its connection',
      answers: [labelled],
      says: ['a', 'b'],
      connections: 1,
    },
    {
      name: 'a refusal is told, and keeps its connection',
      answers: [async () => refusal, labelled],
      says: ['withdrawal.not_found', 'b'],
      connections: 1,
    },
    {
      name: 'an answer to another method is refused',
      answers: [async () => ok({ label: 'a' }), labelled],
      says: ['Error', 'b'],
      connections: 1,
    },
    {
      name: 'what is no answer ends its connection',
      answers: [async () => ({ status: 'fine', body: null }) as never, labelled],
      says: ['Unavailable', 'b'],
      connections: 2,
    },
    {
      name: 'an end without an answer is told, on a connection that was made for the call',
      answers: [silence, labelled],
      says: ['Unavailable', 'b'],
      connections: 2,
    },
  ] as { name: string; answers: [Answering]; says: string[]; connections: number }[])(
    'one after the other: $name',
    async ({ answers, says, connections }) => {
      const made = await pair(...answers);
      expect([await said(read(made.calls.call, 'a')), await said(read(made.calls.call, 'b'))]).toEqual(says);
      expect(made.connections()).toBe(connections);
    },
  );

  it.each([
    { name: 'reads is asked again', ask: (call: Call) => read(call, 'b'), says: 'b', asked: 1, connections: 2 },
    { name: 'changes something is asked once at most', ask: change, says: 'Unavailable', asked: 0, connections: 1 },
  ])('over a kept connection that had ended unnoticed: what $name', async ({ ask, says, asked, connections }) => {
    const made = await pair(labelled);
    await read(made.calls.call, 'a');
    made.asked.length = 0;
    made.line.cut();
    expect(await said(ask(made.calls.call))).toBe(says);
    expect([made.asked.length, made.connections()]).toEqual([asked, connections]);
  });

  it('wait for a method that takes long as the program on the server does', async () => {
    const [asked, waits] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const made = await pair(labelled, async () => {
      asked.resolve();
      await waits.promise;
      return refusal;
    });
    // its timers are real ones
    await read(made.calls.call, 'a');
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const proved = said(made.calls.call('ledger.prove', {}).then(String));
    await asked.promise;
    vi.advanceTimersByTime(50 * 60_000);
    waits.resolve();
    expect(await proved).toBe('withdrawal.not_found');
  });

  it('after a renewal tell the server of this computer anew, also where a call was under way', async () => {
    const waits = Promise.withResolvers<void>();
    const made = await pair(async (method, params) => {
      if ((params as { address: string }).address === 'slow') await waits.promise;
      return labelled(method, params);
    });
    const slow = read(made.calls.call, 'slow');
    expect(await read(made.calls.call, 'quick')).toBe('quick');
    expect(made.machines.machine()?.fingerprint).toBeNull();
    await walletAtHome(made.folder);
    made.calls.renew();
    waits.resolve();
    expect(await slow).toBe('slow');
    expect(await read(made.calls.call, 'after')).toBe('after');
    expect(made.connections()).toBe(3);
    expect(made.machines.machine()?.fingerprint).toMatch(/^[0-9a-f]{8}$/);
  });
});
