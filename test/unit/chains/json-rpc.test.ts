/** The form of answers in a batch, which some servers and the proxies before them write in their own way. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { Rpc } from '../../../daemon/chains/json-rpc.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Asks a server for two methods in one batch, whose answers have their ids written by `idOf`. */
async function asked(idOf: (id: number) => unknown): Promise<unknown> {
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const calls = JSON.parse(body) as { id: number; method: string }[];
      const answers = calls.map(({ id, method }) => ({ jsonrpc: '2.0', id: idOf(id), result: `of ${method}` }));
      response.end(JSON.stringify(answers.reverse()));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const rpc = new Rpc({ url: `http://127.0.0.1:${port}`, label: 'rpc', responseBytesMax: 10_000, version: '2.0' });
  ends.push(() => {
    rpc.close();
    server.close();
  });
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
