/** Checks of a request to the merchant API: its key, the required scope, and a limit on guesses. */
import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { App } from '../../app/app.ts';
import { SLEEPING_SCOPES } from '../../app/recovery/sleeping-keys.ts';
import type { Business } from '../../app/shops/directory.ts';
import { type Caller, KEYS_MAX } from '../../app/shops/keys.ts';
import type { Scope } from '../../domain/merchant.ts';
import { TokenBuckets } from '../limits.ts';

const GUESSES_PER_MINUTE = 10;
const ADDRESSES_MAX = 10_000;
const KEY_CHARACTERS_MAX = 200;
const ASLEEP_RETRY_SECONDS = 300;
const ASLEEP =
  'This API key neither withdraws nor refunds until the operator has kept it: this service was restored from older data';

/** Fields that an endpoint adds to a 401. */
type RefusalExtra = Record<string, string>;

/** The business of a request's key; set by `withKey`. */
export function callerOf(response: Response): Business {
  return response.locals.business as Business;
}

export const hasScope = (response: Response, scope: Scope): boolean =>
  (response.locals.scopes as Caller['scopes']).has(scope);

/** The business of a key that may make invoices, as many as it likes; null for a request that needs a closer look. */
export function unlimitedCaller(app: App, { headers }: IncomingMessage): Business | null {
  const key = headers['mb-api-key'];
  if (typeof key !== 'string' || key === '' || key.length > KEY_CHARACTERS_MAX) return null;
  const caller = app.keys.caller(key);
  if (caller?.perMinute !== null || !caller.scopes.has('invoices')) return null;
  return app.directory.business(caller.businessId);
}

/** Whether a sleeping key asks for money. It may read what it asked for before. */
function isRefusedAsleep(caller: Caller, scopes: readonly Scope[], { method }: Request): boolean {
  const needed = scopes.filter((scope) => caller.scopes.has(scope));
  const asksForMoney = needed.length > 0 && needed.every((scope) => SLEEPING_SCOPES.includes(scope));
  return caller.asleep && method !== 'GET' && asksForMoney;
}

export type WithKey = ReturnType<typeof authenticator>;

/** Makes the authentication middleware; once per server, because it counts requests. */
export function authenticator(app: App) {
  const guesses = new TokenBuckets({
    perMinute: GUESSES_PER_MINUTE,
    burst: GUESSES_PER_MINUTE,
    now: app.now,
    bucketsMax: ADDRESSES_MAX,
  });
  /** By requests per minute; keys with the same limit share an entry. */
  const paces = new Map<number, TokenBuckets>();

  /** Whether a key has a request left. If not, sends the refusal. */
  function isInPace(caller: Caller, response: Response): boolean {
    const { perMinute, keyId } = caller;
    if (perMinute === null) return true;
    const pace =
      paces.get(perMinute) ?? new TokenBuckets({ perMinute, burst: perMinute, now: app.now, bucketsMax: KEYS_MAX });
    paces.set(perMinute, pace);
    const taken = pace.takeFrom(`${keyId}`);
    if (taken.ok) return true;
    response.status(429).set('Retry-After', String(taken.retryAfterSeconds));
    response.json({ message: `Too many requests with this API key: it may make ${perMinute} a minute` });
    return false;
  }

  function refuse(request: Request, response: Response, text: string, extra: RefusalExtra): void {
    const guess = guesses.take(request.ip ?? '');
    if (guess.ok) {
      response.status(401).json({ message: text, ...extra });
      return;
    }
    response.status(429).set('Retry-After', String(guess.retryAfterSeconds));
    response.json({ message: 'Too many requests without a valid API key' });
  }

  /**
   * Middleware that accepts keys with one of these scopes; with none, every valid key. To be placed before the body parser, so that
   * strangers' bodies are not read.
   */
  return function withKey(scopes: readonly Scope[], extra: RefusalExtra = {}): RequestHandler {
    return (request: Request, response: Response, next: NextFunction): void => {
      const key = request.headers['mb-api-key'];
      if (typeof key !== 'string' || key === '') {
        response.status(401).json({ message: 'API key not provided', ...extra });
        return;
      }
      const caller = key.length <= KEY_CHARACTERS_MAX ? app.keys.caller(key) : null;
      if (!caller) {
        refuse(request, response, 'Invalid API key', extra);
        return;
      }
      if (scopes.length > 0 && !scopes.some((scope) => caller.scopes.has(scope))) {
        const names = scopes.map((scope) => `"${scope}"`).join(' or ');
        response.status(403).json({ message: `This API key does not have the scope ${names}` });
        return;
      }
      if (isRefusedAsleep(caller, scopes, request)) {
        response.status(503).set('Retry-After', String(ASLEEP_RETRY_SECONDS));
        response.json({ message: ASLEEP });
        return;
      }
      // an endpoint may check twice: the key, then its scope
      if (response.locals.business === undefined && !isInPace(caller, response)) return;
      response.locals.business = app.directory.business(caller.businessId);
      response.locals.scopes = caller.scopes;
      next();
    };
  };
}
