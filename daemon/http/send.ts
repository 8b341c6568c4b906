/** Sends an answer of the API past Express, which would parse the content type again and copy the body. */
import type { ServerResponse } from 'node:http';
import type { Answer } from '../app/idempotency.ts';

/** Headers of every answer of the API: name, value. */
export const API_HEADERS = ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store'] as const;

/** `more`: further headers, names and values in turn. */
export function send(response: ServerResponse, { status, body }: Answer, more: readonly string[] = []): void {
  const length = `${Buffer.byteLength(body)}`;
  const type = 'application/json; charset=utf-8';
  response.writeHead(status, [...API_HEADERS, ...more, 'Content-Type', type, 'Content-Length', length]);
  response.end(body);
}
