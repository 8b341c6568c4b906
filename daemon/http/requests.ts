/** What every router asks of a request: its exact path, where it came from, and under which key it may be repeated. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import type { App } from '../app/app.ts';
import type { IdempotentRequest } from '../app/idempotency.ts';
import type { Business } from '../app/shops/directory.ts';

/** Paths are case-sensitive and have no slash at the end. */
export const EXACT_PATHS = { caseSensitive: true, strict: true } as const;

const MERCHANT_API = '/api/v1/merchant';

/**
 * A request as `once` keeps it. `operation` is the path as this service would write it, with the invoice that was found
 * in place of the name that the caller used: two spellings of one request are one.
 */
export function idempotent(business: Business, request: Request, operation: string): IdempotentRequest {
  const key = request.headers['idempotency-key'];
  return {
    businessId: business.id,
    route: `${request.method} ${MERCHANT_API}${operation}`,
    key: typeof key === 'string' ? key : null,
    body: request.body as unknown,
  };
}

/** A proxy adds at least one of these to what it forwards. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';

/**
 * The host that a request names, without its port. An onion service or a tunnel forwards bytes as they are: its requests
 * come from loopback, and only this tells them.
 */
function namesLoopback(host: string): boolean {
  const name = host.replace(/:\d{1,5}$/, '').replace(/^\[|\]$/g, '');
  return name === 'localhost' || name.endsWith('.localhost') || isLoopback(name);
}

/** What of a request tells where it came from. */
type Where = { headers: IncomingHttpHeaders; socket: { remoteAddress?: string | undefined } };

/** Whether a request was made on this machine, to this machine, and forwarded by no proxy. */
export function isLocal({ headers, socket }: Where): boolean {
  if (!isLoopback(socket.remoteAddress ?? '')) return false;
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return namesLoopback(headers.host ?? '');
}

/**
 * Whether the sandbox's own tools (the example shop, the page's buttons, any origin, any URL) answer this request:
 * they are the developer's on this machine, not a stranger's.
 */
export function mayPlay(app: App, business: Pick<Business, 'network'>, request: Where): boolean {
  return business.network === 'sandbox' && (app.config.sandbox.public || isLocal(request));
}
