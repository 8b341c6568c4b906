/** Properties of a request that several routers need: its exact path, its origin, and its idempotency key. */
import type { IncomingHttpHeaders } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { App } from '../app/app.ts';
import type { IdempotentRequest } from '../app/idempotency.ts';
import type { Business } from '../app/shops/directory.ts';

/** Paths are case-sensitive and have no slash at the end. */
export const EXACT_PATHS = { caseSensitive: true, strict: true } as const;

export const MERCHANT_API = '/api/v1/merchant';

/** A request whose body was read. */
export type RequestParts = { method?: string | undefined; headers: IncomingHttpHeaders; body?: unknown };

/**
 * A request in the form in which `once` stores it. `operation` is the canonical path with the record's own id, so that
 * two spellings of one request are equal.
 */
export function idempotent(
  business: Business,
  { method, headers, body }: RequestParts,
  operation: string,
): IdempotentRequest {
  const key = headers['idempotency-key'];
  return {
    businessId: business.id,
    route: `${method} ${MERCHANT_API}${operation}`,
    key: typeof key === 'string' ? key : null,
    body,
  };
}

/** A proxy adds at least one of these headers. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';

/**
 * Whether the host of a request, without its port, is loopback. An onion service or a tunnel forwards bytes unchanged,
 * so that its requests come from loopback; only the host distinguishes them.
 */
function namesLoopback(host: string): boolean {
  const name = host.replace(/:\d{1,5}$/, '').replace(/^\[|\]$/g, '');
  return name === 'localhost' || name.endsWith('.localhost') || isLoopback(name);
}

type Where = { headers: IncomingHttpHeaders; socket: { remoteAddress?: string | undefined } };

/** Whether a request was made on this machine, to this machine, and not forwarded by a proxy. */
export function isLocal({ headers, socket }: Where): boolean {
  if (!isLoopback(socket.remoteAddress ?? '')) return false;
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return namesLoopback(headers.host ?? '');
}

/**
 * Whether the sandbox's tools (example shop, page buttons, any origin, any URL) are available to this request. They are
 * for the developer on this machine, not for strangers.
 */
export function mayPlay(app: App, business: Pick<Business, 'network'>, request: Where): boolean {
  return business.network === 'sandbox' && (app.config.sandbox.public || isLocal(request));
}
