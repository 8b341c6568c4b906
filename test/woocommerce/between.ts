/** Stands between a shop and the service: it can lose answers, be away, and answer in place of the service. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Between = {
  readonly url: string;
  /** Requests as "METHOD /path". */
  readonly seen: { what: string; key: string; body: string }[];
  /** How many of the next answers are lost after the service acted. */
  lose: number;
  /** Answers in place of the service, where it gives something. */
  instead: (what: string, key: string) => { status: number; body: object } | null;
  /** Whether everything is answered with 502. */
  away: boolean;
  stop(): void;
};

export async function standBetween(target: () => string): Promise<Between> {
  const self = {
    url: '',
    seen: [],
    lose: 0,
    away: false,
    instead: (): null => null,
    stop: () => server.close(),
  } as Between & { url: string };
  const server: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = 'GET', url = '/' } = request;
    const key = `${request.headers['idempotency-key'] ?? ''}`;
    self.seen.push({ what: `${method} ${url}`, key, body });
    if (self.away) {
      response.writeHead(502).end();
      return;
    }
    const own = self.instead(`${method} ${url}`, key);
    if (own) {
      response.writeHead(own.status, { 'content-type': 'application/json' }).end(JSON.stringify(own.body));
      return;
    }
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
