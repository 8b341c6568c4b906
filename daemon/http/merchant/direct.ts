/**
 * The operations that shops call all day (Create invoice, Request payment, Get invoice), without Express: its routers and its
 * body parser take longer than the operations. A request that is unusual in any way is handed to Express, whose routes have the
 * same operations: one that will be refused, a path with an escape or a query, a body in chunks, compressed or in another encoding.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { App } from '../../app/app.ts';
import type { Answer } from '../../app/idempotency.ts';
import type { Business } from '../../app/shops/directory.ts';
import { BODY_BYTES_MAX, readJson } from '../body.ts';
import { refusalFor } from '../errors.ts';
import { MERCHANT_API, type RequestParts } from '../requests.ts';
import { send } from '../send.ts';
import { unlimitedCaller } from './auth.ts';
import type { InvoiceOperations } from './router.ts';

const INVOICE = `${MERCHANT_API}/invoice`;
const JSON_TYPES: ReadonlySet<string | undefined> = new Set(['application/json', 'application/json; charset=utf-8']);
/** A slug or a UUID, after `/` or `/rp/`. */
const NAMED = /^\/(rp\/)?([A-Za-z0-9-]{12,36})$/;

type Work = (business: Business, sent: RequestParts) => Promise<Answer>;
type Call = { hasBody: boolean; work: Work };

/** `otherwise` gets the requests that are not answered here. */
export function directly(app: App, invoices: InvoiceOperations, otherwise: RequestListener): RequestListener {
  const find = ({ method, url = '' }: IncomingMessage): Call | null => {
    if (!url.startsWith(INVOICE)) return null;
    if (url.length === INVOICE.length) return method === 'POST' ? { hasBody: true, work: invoices.create } : null;
    const [, rp, name = ''] = NAMED.exec(url.slice(INVOICE.length)) ?? [];
    if (name === '' || method !== (rp ? 'POST' : 'GET')) return null;
    if (!rp) return { hasBody: false, work: (business) => invoices.get(business, name) };
    return { hasBody: true, work: (business, sent) => invoices.request(business, sent, name) };
  };
  return (request, response) => {
    const call = find(request);
    let business: Business | null = null;
    try {
      if (call && hasBody(request) === call.hasBody) business = unlimitedCaller(app, request);
    } catch {
      // keys cannot be read at the moment: Express meets the same error, and answers it
    }
    if (call === null || business === null) otherwise(request, response);
    else void answer(app, request, response, business, call);
  };
}

/** Whether a request has a body that is read here; null if it has one that is not. */
function hasBody({ headers }: IncomingMessage): boolean | null {
  if (headers['transfer-encoding'] !== undefined) return null;
  const length = Number(headers['content-length'] ?? 0);
  if (length === 0) return false;
  const isPlain = headers['content-encoding'] === undefined && JSON_TYPES.has(headers['content-type']);
  return isPlain && length <= BODY_BYTES_MAX ? true : null;
}

async function answer(
  app: App,
  request: IncomingMessage,
  response: ServerResponse,
  business: Business,
  { hasBody, work }: Call,
): Promise<void> {
  try {
    const { method, headers } = request;
    const body = hasBody ? readJson(await bytesOf(request)) : undefined;
    send(response, await work(business, { method, headers, body }));
  } catch (error) {
    const isBrokenOff = request.destroyed && !request.complete;
    if (isBrokenOff || response.headersSent) return;
    const { status, body, retryAfterSeconds } = refusalFor(error, app.log, {
      method: request.method!,
      path: request.url!,
    });
    const more = retryAfterSeconds === undefined ? [] : ['Retry-After', `${retryAfterSeconds}`];
    send(response, { status, body: JSON.stringify(body) }, more);
  }
}

/** The body, whose length the HTTP parser has limited to `Content-Length`. Rejects if the request is broken off. */
function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  return new Promise((resolve, reject) => {
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
    request.on('error', reject);
  });
}
