/** The notification on the wire, against real servers on loopback that behave badly in every way there is. */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { sendWebhook, type WebhookOptions, type WebhookResult } from '../../daemon/workers/notify/send.ts';

const TIMEOUT_MS = 300;
/** How much later than its time an attempt may end on a busy machine. */
const SLACK_MS = 8_000;
const ONION = `${'b'.repeat(56)}.onion`;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that hands over each connection's first bytes, as text. */
function rawServer(onHead: (socket: Socket, head: string) => void): Server {
  return createServer((socket) => socket.once('data', (data) => onHead(socket, data.toString('latin1'))));
}

const options = (port: number, changes: Partial<WebhookOptions> = {}): WebhookOptions => ({
  allowHosts: [`127.0.0.1:${port}`],
  ownPorts: [],
  nodeHosts: [],
  fromMerchant: true,
  socksProxy: null,
  timeoutMs: 5_000,
  ...changes,
});

const send = (port: number, changes?: Partial<WebhookOptions>, path = '/hook'): Promise<WebhookResult> =>
  sendWebhook(`http://127.0.0.1:${port}${path}`, options(port, changes));

describe('the request', () => {
  it('is one POST without a body', async () => {
    const heads: string[] = [];
    const port = await listen(
      rawServer((socket, head) => {
        heads.push(head);
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      }),
    );
    const result = await send(port, {}, '/hook?order=1#part');
    expect(result).toEqual({ status: 200, error: null, ms: expect.any(Number) });
    expect(heads).toHaveLength(1);
    const lines = heads[0]?.split('\r\n') ?? [];
    expect(lines[0]).toBe('POST /hook?order=1 HTTP/1.1');
    expect(lines.slice(1, -2).sort()).toEqual([
      'Accept: */*',
      'Connection: close',
      'Content-Length: 0',
      `Host: 127.0.0.1:${port}`,
      'User-Agent: Countinghouse',
    ]);
    expect(heads[0]?.endsWith('\r\n\r\n')).toBe(true);
  });

  it.each([200, 204, 299, 400, 404, 418, 500, 503])('records the status %i', async (status) => {
    const port = await listen(createHttpServer((_, response) => response.writeHead(status).end('ignored')));
    expect(await send(port)).toMatchObject({ status, error: null });
  });

  it.each([301, 302, 303, 307, 308])('follows no %i', async (status) => {
    const paths: string[] = [];
    const port = await listen(
      createHttpServer((request, response) => {
        paths.push(request.url ?? '');
        response.writeHead(status, { Location: '/elsewhere' }).end();
      }),
    );
    expect(await send(port)).toMatchObject({ status, error: null });
    expect(paths).toEqual(['/hook']);
  });

  it('does not wait for the rest of the answer', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<string>();
    const port = await listen(
      createHttpServer((_, response) => {
        response.on('close', () => resolve('closed'));
        response.writeHead(200).write('never ends');
      }),
    );
    const result = await send(port);
    expect(result.status).toBe(200);
    expect(await closed).toBe('closed');
    expect(result.ms).toBeLessThan(SLACK_MS);
  });

  it('takes a change of protocol for an answer', async () => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
    const port = await listen(rawServer((socket) => socket.write(head)));
    expect(await send(port)).toMatchObject({ status: 101, error: null });
  });
});

/** Writes `text` every few milliseconds until the connection is gone. */
function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}

describe('the time limit holds against a server that', () => {
  const silent = (): Server => createServer(() => undefined);
  it.each<[string, () => Server, string]>([
    ['never answers', silent, 'http'],
    ['never finishes TLS', silent, 'https'],
    [
      'drips its headers',
      () =>
        rawServer((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n');
          drip(socket, 'x');
        }),
      'http',
    ],
    ['sends interim answers for ever', () => rawServer((socket) => drip(socket, 'HTTP/1.1 103 E\r\n\r\n')), 'http'],
  ])('%s', async (_, server, scheme) => {
    const port = await listen(server());
    const result = await sendWebhook(`${scheme}://127.0.0.1:${port}/`, options(port, { timeoutMs: TIMEOUT_MS }));
    expect(result).toMatchObject({ status: null, error: 'no answer within 0.3 s' });
    expect(result.ms).toBeGreaterThanOrEqual(TIMEOUT_MS - 5);
    expect(result.ms).toBeLessThan(TIMEOUT_MS + SLACK_MS);
  });

  it('never answers, and its connection is closed then', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<string>();
    const port = await listen(createServer((socket) => socket.resume().on('close', () => resolve('closed'))));
    expect(await send(port, { timeoutMs: TIMEOUT_MS })).toMatchObject({ error: 'no answer within 0.3 s' });
    expect(await closed).toBe('closed');
  });

  it('resolves for ever', async () => {
    const resolve: WebhookOptions['resolve'] = () => new Promise(() => undefined);
    const result = await sendWebhook('http://slow.test/', options(80, { timeoutMs: TIMEOUT_MS, resolve }));
    expect(result).toMatchObject({ status: null, error: 'no answer within 0.3 s' });
    expect(result.ms).toBeLessThan(TIMEOUT_MS + SLACK_MS);
  });
});

describe('failures in words', () => {
  const cut = 'the connection was cut before an answer';
  it.each<[string, () => Server, string]>([
    ['a reset', () => createServer((socket) => socket.resetAndDestroy()), cut],
    ['a reset after the request', () => rawServer((socket) => socket.resetAndDestroy()), cut],
    ['a close without an answer', () => rawServer((socket) => socket.end()), cut],
    ['half a head', () => rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nA: b')), cut],
    ['another protocol', () => rawServer((socket) => socket.end('SSH-2.0-OpenSSH_9\r\n')), 'the answer was not HTTP'],
    [
      'an endless head',
      () => rawServer((socket) => socket.write(`HTTP/1.1 200 OK\r\nA: ${'x'.repeat(100_000)}`)),
      'the answer was not HTTP',
    ],
  ])('%s', async (_, server, error) => {
    const port = await listen(server());
    expect(await send(port)).toMatchObject({ status: null, error });
  });

  it('a closed port', async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await send(port)).toMatchObject({ status: null, error: 'the connection was refused' });
  });

  it('an end of the daemon', async () => {
    const stop = new AbortController();
    const port = await listen(rawServer(() => stop.abort()));
    expect(await send(port, { signal: stop.signal })).toMatchObject({
      status: null,
      error: 'stopped before an answer',
    });
    expect(await send(port, { signal: stop.signal })).toMatchObject({
      status: null,
      error: 'stopped before an answer',
    });
  });
});

describe('what the guard refuses is not connected to', () => {
  const refusals: [string, (port: number) => Partial<WebhookOptions>, string][] = [
    ['unlisted', () => ({ allowHosts: [] }), 'not sent: the address is loopback'],
    [
      'from a browser',
      () => ({ fromMerchant: false }),
      'not sent: the address is loopback; webhook.allow_hosts holds for invoices of the merchant API only',
    ],
    ['its own port', (port) => ({ ownPorts: [port] }), "not sent: the target is one of the appliance's own ports"],
    ['a node', (port) => ({ nodeHosts: [`127.0.0.1:${port}`] }), 'not sent: the target is a configured node or proxy'],
  ];
  it.each(refusals)('%s', async (_, changes, error) => {
    let connections = 0;
    const server = createHttpServer((_request, response) => response.end());
    server.on('connection', () => {
      connections += 1;
    });
    const port = await listen(server);
    expect(await send(port, changes(port))).toMatchObject({ status: null, error });
    expect(connections).toBe(0);
    expect(await send(port)).toMatchObject({ status: 200 });
    expect(connections).toBe(1);
  });
});

describe('the checked address is the one connected to', () => {
  it('even when the name resolves to another a moment later', async () => {
    const hits: string[] = [];
    const respond = (name: string) =>
      createHttpServer((_, response) => {
        hits.push(name);
        response.end();
      });
    const port = await listen(respond('checked'));
    // Not every system gives loopback a second address; then nobody listens there, and reaching it still fails.
    await listen(respond('rebound'), '127.0.0.2', port).catch(() => undefined);
    let asked = 0;
    const resolve: WebhookOptions['resolve'] = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2' }];
    };
    const url = `http://rebind.test:${port}/`;
    expect(await sendWebhook(url, options(port, { resolve }))).toMatchObject({ status: 200 });
    expect(asked).toBe(1);
    expect(await sendWebhook(url, options(port, { resolve }))).toMatchObject({
      status: null,
      error: 'not sent: the address is loopback',
    });
    expect(hits).toEqual(['checked']);
  });

  it('and the next address serves when the first does not', async () => {
    const port = await listen(createHttpServer((request, response) => response.end(request.headers.host)));
    const resolve: WebhookOptions['resolve'] = async () => [{ address: '::1' }, { address: '127.0.0.1' }];
    const result = await sendWebhook(`http://both.test:${port}/`, options(port, { resolve }));
    expect(result).toMatchObject({ status: 200, error: null });
  });

  it('while TLS asks for the name', async () => {
    const names: string[] = [];
    const server = createTlsServer({
      SNICallback: (name, done) => {
        names.push(name);
        done(new Error('no certificate'));
      },
    });
    server.on('tlsClientError', () => undefined);
    const port = await listen(server);
    const resolve: WebhookOptions['resolve'] = async () => [{ address: '127.0.0.1' }];
    const result = await sendWebhook(`https://shop.test.:${port}/`, options(port, { resolve }));
    expect(result.status).toBeNull();
    expect(names).toEqual(['shop.test']);
  });
});

/** A SOCKS5 proxy that connects everything to `port` and says where it was asked to go; `reply` 0 means granted. */
function socksServer(port: number, asked: string[], reply = 0): Server {
  return createServer((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]));
      socket.once('data', (request: Buffer) => {
        const length = request[4] ?? 0;
        asked.push(`${request[3]} ${request.subarray(5, 5 + length).toString()}:${request.readUInt16BE(5 + length)}`);
        socket.write(Buffer.from([5, reply, 0, 1, 127, 0, 0, 1, 0, 80]));
        if (reply !== 0) return void socket.end();
        const onward = connect(port, '127.0.0.1');
        onward.on('error', () => undefined);
        socket.pipe(onward).pipe(socket);
      });
    });
  });
}

describe('onion services', () => {
  it('are reached through the proxy, which gets the name', async () => {
    const hosts: (string | undefined)[] = [];
    const shop = await listen(
      createHttpServer((request, response) => {
        hosts.push(`${request.method} ${request.headers.host}${request.url}`);
        response.writeHead(202).end();
      }),
    );
    const asked: string[] = [];
    const proxy = await listen(socksServer(shop, asked));
    const socksProxy = `socks5://127.0.0.1:${proxy}`;
    const result = await sendWebhook(`http://${ONION}/hook`, options(shop, { socksProxy, fromMerchant: false }));
    expect(result).toMatchObject({ status: 202, error: null });
    expect(asked).toEqual([`3 ${ONION}:80`]);
    expect(hosts).toEqual([`POST ${ONION}/hook`]);
  });

  it('fail in words when the proxy refuses, is silent or is gone', async () => {
    const url = `http://${ONION}/`;
    const refusing = await listen(socksServer(1, [], 5));
    const silent = await listen(createServer(() => undefined));
    const gone = createServer();
    const gonePort = await listen(gone);
    await new Promise((resolve) => gone.close(resolve));
    const through = (port: number) =>
      sendWebhook(url, options(1, { socksProxy: `socks5://127.0.0.1:${port}`, timeoutMs: TIMEOUT_MS }));
    expect(await through(refusing)).toMatchObject({ status: null, error: 'the proxy could not connect' });
    expect(await through(gonePort)).toMatchObject({ status: null, error: 'the proxy could not connect' });
    const late = await through(silent);
    expect(late.status).toBeNull();
    expect(late.error).toMatch(/^(no answer within 0\.3 s|the proxy could not connect)$/);
    expect(late.ms).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    expect(await sendWebhook(url, options(1))).toMatchObject({
      error: 'not sent: an onion service needs webhook.socks_proxy',
    });
  });
});

it('never throws, whatever the URL', async () => {
  const resolve: WebhookOptions['resolve'] = async () => [{ address: '10.0.0.1' }];
  const urls = fc.oneof(
    fc.string(),
    fc.webUrl(),
    fc.ipV6().map((ip) => `http://[fc00::${ip.slice(0, 4)}]/`),
  );
  await fc.assert(
    fc.asyncProperty(urls, async (url) => {
      const result = await sendWebhook(url, options(1, { allowHosts: [], resolve }));
      expect(result.status).toBeNull();
      expect(result.error).toMatch(/^not sent: /);
    }),
    { numRuns: 200 },
  );
});
