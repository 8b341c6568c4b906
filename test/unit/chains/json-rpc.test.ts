/** The form of answers in a batch, which some servers and the proxies before them write in their own way. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { Pacing } from '../../../daemon/chains/evm/pacing.ts';
import { type Call, Rpc } from '../../../daemon/chains/json-rpc.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

type Asked = { id: number; method: string };

/** A client of a server that answers as it is told to. */
async function clientOf(answer: (calls: readonly Asked[]) => { status?: number; body: unknown }): Promise<Rpc> {
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const answered = answer([JSON.parse(body)].flat() as Asked[]);
      response.statusCode = answered.status ?? 200;
      response.end(JSON.stringify(answered.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const rpc = new Rpc({ url: `http://127.0.0.1:${port}`, label: 'rpc', responseBytesMax: 10_000, version: '2.0' });
  ends.push(() => {
    rpc.close();
    server.close();
  });
  return rpc;
}

const resultOf = ({ id, method }: Asked, as: unknown = id) => ({ jsonrpc: '2.0', id: as, result: `of ${method}` });

/** Asks a server for two methods in one batch, whose answers have their ids written by `idOf`. */
async function asked(idOf: (id: number) => unknown): Promise<unknown> {
  const rpc = await clientOf((calls) => ({ body: calls.map((one) => resultOf(one, idOf(one.id))).reverse() }));
  return rpc.batch([['first'], ['second']], AbortSignal.timeout(10_000));
}

it.each([
  ['numbers, as they were sent', (id: number) => id],
  ['texts', (id: number) => `${id}`],
])('answers of a batch are told apart by their ids as %s', async (_, idOf) => {
  expect(await asked(idOf)).toMatchObject([{ result: 'of first' }, { result: 'of second' }]);
});

it('answers of a batch whose ids are missing count as no answers', async () => {
  await expect(asked(() => null)).rejects.toThrow();
});

const tooLarge = (id: unknown) => ({ jsonrpc: '2.0', id, error: { code: -32_600, message: 'batch too large' } });
it.each([
  ['one error, under the id of its first call', () => ({ body: [tooLarge(0)] })],
  ['one error, under no id', () => ({ body: [tooLarge(null)] })],
  ['one error, without a list', () => ({ body: tooLarge(null) })],
  ['the first answer only', ([first]: readonly Asked[]) => ({ body: [resultOf(first!)] })],
  ['HTTP 413 and a reason', () => ({ status: 413, body: { message: 'the request is too long' } })],
  ['HTTP 429 and a reason', () => ({ status: 429, body: { message: 'slow down' } })],
])('a batch that is too large is refused by %s, and smaller ones are sent', async (_, refusal) => {
  const rpc = await clientOf((calls) =>
    calls.length > 5
      ? refusal(calls)
      : { body: calls.length === 1 ? resultOf(calls[0]!) : calls.map((one) => resultOf(one)) },
  );
  const pacing = new Pacing({ rpc, label: 'rpc', pause: async () => {} });
  const calls = Array.from({ length: 30 }, (_, i): Call => [`method ${i}`]);
  const replies = await pacing.many(calls, AbortSignal.timeout(10_000));
  expect(replies).toEqual(calls.map(([method]) => ({ result: `of ${method}` })));
});
