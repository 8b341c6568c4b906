/** Serves the console's built files under the shell's own scheme, each with the policy of pages. */
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type Protocol, protocol } from 'electron';
import { SCHEME } from './limits.ts';
import { isOwnPage, PAGE_POLICY } from './security.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};
/** No folder above, no hidden file, nothing percent-encoded. */
const PATH = /^\/(?:[\w-]+\/)*[\w-]+(?:\.[\w-]+)*$/;

/** Before the program is ready: the scheme has its own origin, and the rights of a secure one. */
export function registerScheme(): void {
  protocol.registerSchemesAsPrivileged([{ scheme: SCHEME, privileges: { standard: true, secure: true } }]);
}

/** `protocols`: of the session whose pages are served. */
export function servePages(folder: string, protocols: Protocol = protocol): void {
  protocols.handle(SCHEME, async ({ url, method }) => {
    const { pathname } = new URL(url);
    const type = TYPES[extname(pathname)];
    if (method !== 'GET' || !isOwnPage(url) || !PATH.test(pathname) || type === undefined) return missing();
    const body = await readFile(join(folder, pathname)).catch(() => null);
    if (body === null) return missing();
    const headers = {
      'content-type': type,
      'content-security-policy': PAGE_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    };
    return new Response(new Uint8Array(body), { headers });
  });
}

const missing = (): Response => new Response('Not found', { status: 404 });
