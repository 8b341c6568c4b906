/**
 * Requests that no route hears: Node's parser refuses them, or Node answers them without a body. They get the contract's form of an
 * error. And those of one connection that come faster than their answers go.
 */
import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { API_HEADERS, send } from './send.ts';

/** Requests of one connection that wait for their answers. Browsers and proxies send the next after the answer. */
const PIPELINED_MAX = 8;

/** By the code of Node's error: status, message. Any other is `BAD`. */
const REFUSED: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions of the body are too large'],
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large: at most 16 KiB are accepted'],
};
const BAD = [400, 'The request could not be read as HTTP'] as const;

/** Pass it to the server, too: Node would answer such requests without a body. */
export const UNHEARD_OPTIONS = { requireHostHeader: false } as const;

const CLOSES = ['Connection', 'close'] as const;
const refuse = (response: ServerResponse, status: number, message: string): void =>
  send(response, { status, body: JSON.stringify({ message }) }, CLOSES);

/** The bytes of an answer that ends its connection. */
function ending(status: number, message: string): string {
  const body = JSON.stringify({ message });
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`];
  for (let at = 0; at < API_HEADERS.length; at += 2) lines.push(`${API_HEADERS[at]}: ${API_HEADERS[at + 1]}`);
  lines.push('Content-Type: application/json; charset=utf-8', `Content-Length: ${Buffer.byteLength(body)}`);
  return [...lines, 'Connection: close', '', body].join('\r\n');
}

/**
 * The path with its query in the target of a request (RFC 9112, 3.2); null: there is none. Express leaves a whole URL that it cannot
 * read without an answer.
 */
function pathIn(target: string): string | null {
  if (target.startsWith('/') || target === '*') return target;
  const whole = /^https?:\/\/[^/?#]+(\/[^?#]*)?(\?[^#]*)?$/i.exec(target);
  return whole && `${whole[1] ?? '/'}${whole[2] ?? ''}`;
}

/** Serves the requests of a server with `UNHEARD_OPTIONS`. */
export function serve(server: Server, handler: RequestListener): void {
  const { limited, isAnswering } = limitPipelining();
  server.on(
    'request',
    limited((request, response) => {
      // RFC 9112, 3.2
      const lacksHost = request.headers.host === undefined && request.httpVersion === '1.1';
      const path = pathIn(request.url!);
      if (lacksHost) refuse(response, 400, 'The Host header is required');
      else if (path === null) refuse(response, 400, 'The path is not valid');
      else {
        request.url = path;
        handler(request, response);
      }
    }),
  );
  server.on(
    'checkExpectation',
    limited((_request, response) => refuse(response, 417, 'Expect may only be 100-continue')),
  );
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // bytes in the middle of another answer would be taken for a part of it
    if (socket.writable && !isAnswering(socket)) socket.write(ending(...(REFUSED[error.code ?? ''] ?? BAD)));
    socket.destroy(error);
  });
}

/** The answers of a connection that are not sent. `isFull`: the last of them ends it. */
type Queue = { answers: Set<ServerResponse>; isFull: boolean };

/**
 * Serves at most `PIPELINED_MAX` requests that wait on one connection; the answer to the last one closes it (RFC 9112,
 * 9.6). Without this, one packet of 64 KiB would hold the event loop for a second, and all its answers in memory.
 * `isAnswering`: whether an answer has begun and not ended.
 */
function limitPipelining(): {
  limited(handler: RequestListener): RequestListener;
  isAnswering(socket: Socket): boolean;
} {
  const queues = new WeakMap<Socket, Queue>();
  const limited =
    (handler: RequestListener): RequestListener =>
    (request: IncomingMessage, response) => {
      const queue = queues.get(request.socket) ?? { answers: new Set(), isFull: false };
      queues.set(request.socket, queue);
      if (queue.isFull) return;
      queue.answers.add(response);
      response.once('close', () => queue.answers.delete(response));
      if (queue.answers.size === PIPELINED_MAX) {
        queue.isFull = true;
        response.setHeader('Connection', 'close');
      }
      handler(request, response);
    };
  const isAnswering = (socket: Socket): boolean =>
    [...(queues.get(socket)?.answers ?? [])].some(({ headersSent }) => headersSent);
  return { limited, isAnswering };
}
