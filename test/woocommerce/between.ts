/** Stands between a shop and the service: it can lose answers, keep questions waiting, and be away. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Between = {
  readonly url: string;
  /** How many of the next answers are lost after the service acted. */
  lose: number;
  /** Whether everything is answered with 502. */
  away: boolean;
  /** Keeps questions waiting; they are handed on once the function that it returns is called. */
  hold(): () => void;
  /** How many questions wait. */
  held: number;
  stop(): void;
};

export async function standBetween(target: () => string): Promise<Between> {
  let gate = Promise.resolve();
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  const self = { url: '', lose: 0, away: false, held: 0, hold, stop: () => server.close() };
  const server: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = 'GET', url = '/' } = request;
    const key = `${request.headers['idempotency-key'] ?? ''}`;
    if (self.away) {
      response.writeHead(502).end();
      return;
    }
    self.held += 1;
    await gate;
    self.held -= 1;
    const headers = { 'mb-api-key': `${request.headers['mb-api-key']}`, 'content-type': 'application/json' };
    const answer = await fetch(new URL(url, target()), {
      method,
      headers: { ...headers, ...(key === '' ? {} : { 'idempotency-key': key }) },
      ...(body === '' ? {} : { body }),
    });
    const text = await answer.text();
    if (self.lose > 0) {
      self.lose -= 1;
      response.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  self.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return self;
}
