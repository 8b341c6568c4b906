/** Requests of tests over HTTP, on connections that are kept. `fetch` takes three times the processor time for one. */
import http from 'node:http';

const agent = new http.Agent({ keepAlive: true });

/** `agent`: false: on a connection that is not kept, as to a service that is killed meanwhile, so that nothing is sent twice. */
type Asked = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  agent?: false;
};
export type Exchange = { status: number; headers: http.IncomingHttpHeaders; body: Buffer };

/** The whole answer. Rejects if there is none. */
export async function exchange(url: string, asked: Asked = {}): Promise<Exchange> {
  for (;;) {
    const request = http.request(url, {
      method: asked.method ?? 'GET',
      headers: asked.headers,
      signal: asked.signal,
      agent: asked.agent ?? agent,
    });
    try {
      return await answerTo(request, asked.body);
    } catch (error) {
      // a server may end an idle connection in the moment in which it is used again
      if (!request.reusedSocket || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    }
  }
}

function answerTo(request: http.ClientRequest, body: Asked['body']): Promise<Exchange> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
  request.once('error', reject);
  request.once('response', (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.once('error', reject);
    response.once('end', () =>
      resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }),
    );
  });
  request.end(body);
  return promise;
}

/** Posts JSON, and resolves to the answer's. */
export async function postJson(url: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await exchange(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  return JSON.parse(answer.body.toString());
}
