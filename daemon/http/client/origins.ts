/**
 * Which pages may call the browser API (CORS, the Fetch standard). A preflight names no client ID, so it is answered for
 * every origin that some client ID allows; the request itself is answered only for those of its client ID.
 *
 * Invariant: an answer can be read by a page only if some client ID allows its origin and, once a valid one is named,
 * only if that one does. No answer depends on cookies.
 */
import type { NextFunction, Request, Response } from 'express';
import type { App } from '../../app/app.ts';
import type { Client } from '../../app/shops/directory.ts';
import { mayPlay } from '../requests.ts';

const PREFLIGHT_SECONDS = 3_600;
const METHODS = 'GET, HEAD, POST';
const HEADERS = 'MB-CLIENT-ID, Accept, Content-Type';

const ALLOW = 'Access-Control-Allow-Origin';

/** Refuses a request from a page whose origin is not allowed. Only its developer can read the text. */
export function refuseOrigin(response: Response): void {
  response.removeHeader(ALLOW);
  response.status(403).json({ message: 'Origin not allowed' });
}

/** Whether a client ID may be used from the origin of a request. Only browsers send an origin, and they always do. */
export function mayUse(app: App, client: Client, request: Request): boolean {
  const { origin } = request.headers;
  if (origin === undefined || client.origins.has(origin)) return true;
  return mayPlay(app, app.directory.business(client.businessId), request);
}

/** Middleware that answers preflights, and states for other answers which page may read them. */
export function crossOrigin(app: App) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const { origin } = request.headers;
    response.vary('Origin');
    const known = origin !== undefined && app.directory.clients().some((client) => mayUse(app, client, request));
    if (known) {
      response.set({ [ALLOW]: origin, 'Access-Control-Expose-Headers': 'Retry-After' });
    }
    const preflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (!preflight || origin === undefined) {
      next();
    } else if (!known) {
      refuseOrigin(response);
    } else {
      response.set({
        'Access-Control-Allow-Methods': METHODS,
        'Access-Control-Allow-Headers': HEADERS,
        'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
      });
      response.status(204).end();
    }
  };
}
