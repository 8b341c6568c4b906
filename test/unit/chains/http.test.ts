import http from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { codeOf, keepAliveAgent, type PostRequest, post } from '../../../daemon/chains/http.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server on loopback and a request to it. */
async function requestTo(handle: http.RequestListener, options: Partial<PostRequest> = {}) {
  const server = http.createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(`http://user:secret@127.0.0.1:${address.port}/path`);
  const agent = keepAliveAgent(url, 2);
  closing.push(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  let connections = 0;
  const request: PostRequest = {
    url,
    agent,
    headers: { 'content-type': 'application/json' },
    body: '{}',
    timeoutMs: 5_000,
    responseBytesMax: 1_000,
    signal: new AbortController().signal,
    onNewConnection: () => connections++,
    ...options,
  };
  return { request, server, connections: () => connections };
}

const failing = async (request: PostRequest): Promise<string> => {
  try {
    await post(request);
  } catch (error) {
    return codeOf(error);
  }
  return 'no failure';
};

describe('post', () => {
  it('sends to the path, keeps its connection, and counts new ones', async () => {
    const { request, connections } = await requestTo((received, response) => {
      received.resume().on('end', () => response.end(`${received.method} ${received.url}`));
    });
    for (let i = 0; i < 3; i++) {
      expect(await post(request)).toMatchObject({ status: 200, body: Buffer.from('POST /path') });
    }
    expect(connections()).toBe(1);
  });

  it('counts no connection that a request waited for', async () => {
    const { request, connections } = await requestTo((received, response) => {
      received.resume().on('end', () => response.end('{}'));
    });
    await Promise.all(Array.from({ length: 10 }, () => post(request)));
    expect(connections()).toBe(2);
  });

  it('sends again when the kept connection had been closed', async () => {
    let served = 0;
    const { request, connections } = await requestTo((received, response) => {
      received.resume();
      // The second request of a connection is cut off, as an idle one that the server just closed would be.
      if (++served === 2) received.socket.destroy();
      else response.end(String(served));
    });
    await post(request);
    expect((await post(request)).body.toString()).toBe('3');
    expect(connections()).toBe(2);
  });

  it('does not wait longer than its limit', async () => {
    const { request } = await requestTo((received) => received.resume(), { timeoutMs: 60 });
    expect(await failing(request)).toBe('ETIMEDOUT');
  });

  it('does not wait longer than its limit, nor for what was aborted, where it never gets a connection', async () => {
    const { request } = await requestTo((received) => received.resume());
    request.agent.createConnection = () => undefined;
    expect(await failing({ ...request, timeoutMs: 60 })).toBe('ETIMEDOUT');
    const ended = new AbortController();
    const aborted = failing({ ...request, signal: ended.signal });
    ended.abort();
    expect(await aborted).toBe('ABORTED');
  });

  it('does not wait longer than its limit for the rest of an answer', async () => {
    const { request } = await requestTo((_received, response) => response.write('x'), { timeoutMs: 60 });
    expect(await failing(request)).toBe('ETIMEDOUT');
  });

  it('takes no more than its limit of bytes', async () => {
    const { request } = await requestTo((_received, response) => response.end('x'.repeat(1_001)));
    expect(await failing(request)).toBe('TOO_LARGE');
  });

  it('tells an answer that was cut off from a whole one', async () => {
    const { request } = await requestTo((_received, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('x', () => response.destroy());
    });
    expect(await failing(request)).toBe('ECONNRESET');
  });

  it('ends when it is told to', async () => {
    const stop = new AbortController();
    const { request } = await requestTo(() => stop.abort(), { signal: stop.signal });
    expect(await failing(request)).toBe('ABORTED');
  });

  it('says that nothing answers', async () => {
    const { request, server } = await requestTo(() => {});
    await new Promise((resolve) => server.close(resolve));
    expect(await failing(request)).toBe('ECONNREFUSED');
  });
});
