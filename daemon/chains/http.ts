/**
 * One POST over a keep-alive connection, with limits on time and size. Failures are Node's own errors with a `code`:
 * the system's, and ETIMEDOUT, TOO_LARGE and ABORTED.
 */
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

export type Answer = { status: number; headers: http.IncomingHttpHeaders; body: Buffer };

export type PostRequest = {
  url: URL;
  agent: http.Agent;
  headers: Record<string, string>;
  body: string | Uint8Array;
  timeoutMs: number;
  /** How long the answer may take to begin once there is a connection; absent: as long as the whole request. */
  beginMs?: number;
  responseBytesMax: number;
  signal: AbortSignal;
  /** Called if the request used a new connection. */
  onNewConnection: () => void;
};

/** The transport of an http(s) URL, and an agent with at most `connectionsMax` open connections. */
export function keepAliveAgent(url: URL, connectionsMax: number): http.Agent {
  const options = { keepAlive: true, maxSockets: connectionsMax };
  return url.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
}

/** The `code` of an error, or a text for its absence. Never the message, which may contain an address. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown reason';
}

const codedError = (code: string): Error => Object.assign(new Error(code), { code });

/** Sends an idempotent request, again if the other side had just closed the idle connection. */
export async function post(request: PostRequest): Promise<Answer> {
  const first = await once(request);
  if (first !== 'stale connection') return first;
  const second = await once(request);
  if (second === 'stale connection') throw codedError('ECONNRESET');
  return second;
}

/** Connections that have carried a request: Node tells that of a kept one (`reusedSocket`), not of one that a request waited for. */
const used = new WeakSet<Socket>();

function once(options: PostRequest): Promise<Answer | 'stale connection'> {
  const { url, agent, signal } = options;
  let isReused = false;
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? https : http).request({
      agent,
      method: 'POST',
      // a URL has IPv6 hosts in brackets, a socket's address does not
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: `${url.pathname}${url.search}`,
      headers: { ...options.headers, 'content-length': Buffer.byteLength(options.body) },
    });
    // a request that waits for a connection tells nobody that it is destroyed
    const end = (error: Error): void => {
      fail(error);
      request.destroy(error);
    };
    const late = () => end(codedError('ETIMEDOUT'));
    const deadline = setTimeout(late, options.timeoutMs);
    let beginning: NodeJS.Timeout | undefined;
    const abort = () => end(codedError('ABORTED'));
    const settled = () => {
      clearTimeout(deadline);
      clearTimeout(beginning);
      signal.removeEventListener('abort', abort);
    };
    const fail = (error: Error) => {
      settled();
      if (isReused && codeOf(error) === 'ECONNRESET') resolve('stale connection');
      else reject(error);
    };
    signal.addEventListener('abort', abort, { once: true });
    request.on('socket', (socket) => {
      isReused = used.has(socket);
      used.add(socket);
      if (!isReused) options.onNewConnection();
      if (options.beginMs !== undefined) beginning = setTimeout(late, options.beginMs);
    });
    request.on('error', fail);
    request.on('response', (response) => {
      clearTimeout(beginning);
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length <= options.responseBytesMax) {
          chunks.push(chunk);
          return;
        }
        // counted here, because the end of the answer may already be queued for its listener
        end(codedError('TOO_LARGE'));
      });
      response.on('end', () => {
        settled();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks, length) });
      });
      // a connection cut in the middle of an answer is an error of the response, not of the request
      response.on('error', fail);
    });
    request.end(options.body);
  });
}
