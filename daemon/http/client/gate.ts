/** Checks of a request to the browser API: rate limits by address, then the client ID, then the origin. */
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { App } from '../../app/app.ts';
import type { Business, Client } from '../../app/shops/directory.ts';
import { NetworkBuckets } from '../limits.ts';
import { mayUse, refuseOrigin } from './origins.ts';

const ADDRESSES_MAX = 10_000;

export type Caller = { client: Client; business: Business };

/** The client ID of a request and its business; set by `identify`. */
export function callerOf(response: Response): Caller {
  return response.locals.caller as Caller;
}

/** Middleware that limits the requests of an address. */
export function limit(app: App, perMinute: number, burst: number): RequestHandler {
  const buckets = new NetworkBuckets({ perMinute, burst, now: app.now, bucketsMax: ADDRESSES_MAX });
  return (request, response, next) => {
    const taken = buckets.take(request.ip ?? '');
    if (taken.ok) {
      next();
      return;
    }
    response.status(429).set('Retry-After', String(taken.retryAfterSeconds));
    response.json({ message: 'Too many requests from this address' });
  };
}

/** Middleware that accepts requests with a valid client ID from an origin that it allows. */
export function identify(app: App): RequestHandler {
  return (request: Request, response: Response, next: NextFunction): void => {
    const publicId = request.headers['mb-client-id'];
    if (typeof publicId !== 'string' || publicId === '') {
      response.status(401).json({ message: 'Client ID not provided' });
      return;
    }
    const client = app.directory.client(publicId);
    if (!client) {
      response.status(401).json({ message: 'Invalid client ID' });
    } else if (!mayUse(app, client, request)) {
      refuseOrigin(response);
    } else {
      response.locals.caller = { client, business: app.directory.business(client.businessId) } satisfies Caller;
      next();
    }
  };
}
