/** Shared by the routers of the payment pages: the language, relative paths, limits by address, and answers as pages. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, RequestHandler, Response } from 'express';
import type { App } from '../app/app.ts';
import { NetworkBuckets } from '../http/limits.ts';
import { setPolicy } from './csp.ts';
import { type Locale, localeFor } from './locale.ts';
import type { Problem } from './model.ts';
import { renderPage } from './render.ts';

const ADDRESSES_MAX = 10_000;
/** The public name of an invoice, and of a refund. */
export const SLUG = /^[A-Za-z0-9]{12}$/;
const packed = promisify(gzip);

export const localeOf = (request: Request): Locale => localeFor(request.query.lang, request.headers['accept-language']);
export const queryOf = ({ chosen, language }: Locale): string => (chosen ? `?lang=${language}` : '');

/** The relative path from the answered page to the payment pages, so that a proxy may serve them below another path. */
export function rootOf(request: Request): string {
  const path = request.originalUrl.split('?', 1)[0]!;
  return `${'../'.repeat(path.split('/').length - 2)}${request.baseUrl.slice(1)}/`;
}

/** Sends a page with a slash at its end to the address that it has, in the language that was chosen. `page`: below the payment pages. */
export function redirectToPage(request: Request, response: Response, page: string): void {
  // one address per page, because its links are relative
  response.redirect(308, `${rootOf(request)}${page}${queryOf(localeOf(request))}`);
}

type Answer = { render: (nonce: string) => string; ancestors: readonly string[] };

/** Answers with a page under its own policy. `render`: makes it, with the nonce of that policy. */
export async function send(
  request: Request,
  response: Response,
  status: number,
  { render, ancestors }: Answer,
): Promise<void> {
  const markup = render(setPolicy(response, ancestors));
  response.status(status).type('html').vary('Accept-Encoding').vary('Accept-Language');
  if (request.acceptsEncodings('gzip') === false) response.send(markup);
  else response.set('Content-Encoding', 'gzip').send(await packed(markup));
}

export function sendProblem(request: Request, response: Response, status: number, problem: Problem): Promise<void> {
  const slug = request.params?.slug;
  const known = typeof slug === 'string' && SLUG.test(slug) && problem !== 'notFound';
  const locale = localeOf(request);
  const place = { page: 'problem', problem, root: rootOf(request), query: queryOf(locale) } as const;
  const model = { ...place, slug: known ? slug : null };
  return send(request, response, status, { render: (nonce) => renderPage(model, locale, nonce), ancestors: [] });
}

/** Middleware that limits the requests of an address. */
export function limiter(app: App, perMinute: number, burst: number): RequestHandler {
  const buckets = new NetworkBuckets({ perMinute, burst, now: app.now, bucketsMax: ADDRESSES_MAX });
  return async (request, response, next) => {
    const taken = buckets.take(request.ip ?? '');
    if (taken.ok) {
      next();
      return;
    }
    response.setHeader('Retry-After', String(taken.retryAfterSeconds));
    await sendProblem(request, response, 429, 'tooMany');
  };
}

export const onlyMethods =
  (methods: string): RequestHandler =>
  async (request, response) => {
    response.setHeader('Allow', methods);
    await sendProblem(request, response, 405, 'method');
  };

/** A field of a form; undefined if it is missing, empty or repeated. */
export function fieldOf(request: Request, name: string): string | undefined {
  const value = (request.body as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
