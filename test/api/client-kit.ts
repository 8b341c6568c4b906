/** The browser API as a page calls it, without a browser: the headers that one sends, and the answer as it is. */
import type { Answer, TestDaemon } from '../support/daemon.ts';

/** Limits that a test's own requests never reach. */
export const NO_LIMITS = `
[browser]
reads_per_minute = 60000
reads_burst = 10000
creations_per_minute = 6000
creations_burst = 1000
`;

export type PageCall = <Body = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer<Body>>;

/** A page of `origin` (undefined: no browser) that holds a client ID (undefined: none). */
export function pageOf(service: TestDaemon, clientId: string | undefined, origin?: string): PageCall {
  return async <Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.url}/api/v1/sdk${path}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(clientId === undefined ? {} : { 'mb-client-id': clientId }),
        ...(origin === undefined ? {} : { origin }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? null : JSON.parse(text)) as Body,
    };
  };
}
