/**
 * The hosted payment page over HTTP: pages and two forms, without scripts and without cookies. An invoice's slug is all
 * that a payer needs and has, so guessing is limited by address, and every page that is none looks alike.
 */
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import helmet from 'helmet';
import type { App } from '../../app/app.ts';
import { findInvoice } from '../../app/invoices.ts';
import { requestPayment } from '../../app/payments.ts';
import { withAddress } from '../../app/pool.ts';
import type { SandboxControls } from '../../app/sandbox.ts';
import { readInvoice } from '../../app/views.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { formatUnits } from '../../domain/money.ts';
import { TokenBuckets } from '../limits.ts';
import { invoicePage, type Notice, type PageModel } from './model.ts';
import { renderPage } from './render.ts';
import { STYLE, STYLE_PATH } from './style.ts';
import type { Problem } from './texts.ts';

const READS_PER_MINUTE = 120;
const READS_BURST = 60;
const WRITES_PER_MINUTE = 10;
const WRITES_BURST = 10;
const ADDRESSES_MAX = 10_000;
const BODY_BYTES_MAX = 1_024;
const FIELDS_MAX = 8;
const YEAR_SECONDS = 31_536_000;

const SLUG = /^[A-Za-z0-9]{12}$/;

/** Nothing may be loaded but our own style, nothing may frame the page, and forms lead back here only. */
const HEADERS = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'form-action': ["'self'"],
      'frame-ancestors': ["'none'"],
      'base-uri': ["'none'"],
    },
  },
  referrerPolicy: { policy: 'no-referrer' },
  xFrameOptions: { action: 'deny' },
  // whoever ends TLS in front of this service decides about the whole domain
  strictTransportSecurity: false,
});

/**
 * The path of the payment pages relative to the page that is answered, so that it also works where a proxy serves them
 * below a path of its own.
 */
function rootOf(request: Request): string {
  const path = request.originalUrl.split('?', 1)[0]!;
  return `${'../'.repeat(path.split('/').length - 2)}${request.baseUrl.slice(1)}/`;
}

function send(response: Response, status: number, model: PageModel): void {
  response.status(status).type('html').send(renderPage(model));
}

function sendProblem(request: Request, response: Response, status: number, problem: Problem): void {
  const slug = request.params?.slug;
  const known = typeof slug === 'string' && SLUG.test(slug) && problem !== 'notFound';
  send(response, status, { page: 'problem', root: rootOf(request), problem, slug: known ? slug : null });
}

/** The slug of the path. Throws like an invoice that does not exist: the record's own id is none of a payer's. */
function slugOf(request: Request): string {
  const { slug } = request.params;
  if (typeof slug !== 'string' || !SLUG.test(slug)) throw new Rejected('invoice.not_found', 'Invoice not found');
  return slug;
}

const toInvoice = (request: Request, response: Response, slug: string): void => {
  response
    .status(303)
    .location(`${rootOf(request)}${slug}`)
    .end();
};

function limiter(app: App, perMinute: number, burst: number): RequestHandler {
  const buckets = new TokenBuckets({ perMinute, burst, now: app.now, addressesMax: ADDRESSES_MAX });
  return (request, response, next) => {
    const taken = buckets.take(request.ip ?? '');
    if (taken.ok) {
      next();
      return;
    }
    response.setHeader('Retry-After', String(taken.retryAfterSeconds));
    sendProblem(request, response, 429, 'tooMany');
  };
}

const onlyMethods =
  (methods: string): RequestHandler =>
  (request, response) => {
    response.setHeader('Allow', methods);
    sendProblem(request, response, 405, 'method');
  };

/** Mounted at the path of the payment pages. `controls`: null where there is no sandbox. */
export function pageRouter(app: App, controls: SandboxControls | null): Router {
  const router = Router();
  const form = express.urlencoded({ extended: false, limit: BODY_BYTES_MAX, parameterLimit: FIELDS_MAX });
  const reads = limiter(app, READS_PER_MINUTE, READS_BURST);
  const writes = (): RequestHandler => limiter(app, WRITES_PER_MINUTE, WRITES_BURST);

  router.use(HEADERS, (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    next();
  });
  router.get(`/${STYLE_PATH}`, (_request, response) => {
    response.setHeader('Cache-Control', `public, max-age=${YEAR_SECONDS}, immutable`);
    response.type('css').send(STYLE);
  });

  const show = async (request: Request, response: Response, status = 200, notice: Notice = null): Promise<void> => {
    const found = await readInvoice(app, null, slugOf(request));
    send(response, status, invoicePage(app, found, rootOf(request), notice));
  };
  const read: RequestHandler = (request, response) => show(request, response);
  const choose: RequestHandler = async (request, response) => {
    const slug = slugOf(request);
    const notice = await ask(app, slug, fieldOf(request, 'crypto'), response);
    if (notice === null) toInvoice(request, response, slug);
    else await show(request, response, notice === 'notNow' ? 503 : 422, notice);
  };
  const control: RequestHandler = async (request, response) => {
    const slug = slugOf(request);
    await press(app, controls, slug, fieldOf(request, 'do')).catch((error: unknown) => {
      // pressed twice, or on a page that is older than the invoice: the page shows how it stands
      if (!(error instanceof Rejected && error.code === 'validation')) throw error;
    });
    toInvoice(request, response, slug);
  };

  router.route('/:slug').get(reads, read).post(writes(), form, choose).all(onlyMethods('GET, HEAD, POST'));
  router.route('/:slug/sandbox').post(writes(), form, control).all(onlyMethods('POST'));
  router.use((request, response) => sendProblem(request, response, 404, 'notFound'));
  router.use(problemHandler(app));
  return router;
}

/** A field of a form that was sent; undefined when it is missing, empty or there twice. */
function fieldOf(request: Request, name: string): string | undefined {
  const value = (request.body as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Requests the payment. Null when there is one now, whoever asked for it, or the invoice is decided: its page says so.
 * Otherwise what to tell the payer.
 */
async function ask(app: App, slug: string, symbol: string | undefined, response: Response): Promise<Notice> {
  try {
    await withAddress(app, (tx, waited) => {
      const invoice = findInvoice(tx, slug);
      const business = app.directory.business(invoice.business_id);
      return requestPayment(app, business, invoice, () => symbol, tx, waited);
    });
    return null;
  } catch (error) {
    if (error instanceof Unavailable) {
      response.setHeader('Retry-After', String(error.retryAfterSeconds));
      return 'notNow';
    }
    if (!(error instanceof Rejected)) throw error;
    if (error.code === 'payment.requested' || error.code === 'invoice.not_unpaid') return null;
    if (error.code === 'payment.crypto_missing' || error.code === 'validation') return 'mustChoose';
    throw error;
  }
}

const HALF = 2n;
const DOUBLE = 2n;

/** Carries out one of the sandbox's buttons. On every other network they do not exist. */
async function press(
  app: App,
  controls: SandboxControls | null,
  slug: string,
  what: string | undefined,
): Promise<unknown> {
  const { business, payment } = await readInvoice(app, null, slug);
  if (!controls || business.network !== 'sandbox') throw new Rejected('invoice.not_found', 'Invoice not found');
  if (!payment) throw new Rejected('sandbox.no_payment', 'No payment was requested for this invoice yet');
  const { asset, remaining } = payment;
  switch (what) {
    case 'exact':
      return controls.pay(business, slug);
    case 'half':
      return controls.pay(business, slug, formatUnits(remaining > 1n ? remaining / HALF : remaining, asset));
    case 'double':
      return controls.pay(business, slug, formatUnits(remaining * DOUBLE, asset));
    case 'mine':
      return controls.mine(business, asset.symbol, 1);
    default:
      throw new Rejected('sandbox.control', 'There is no such control');
  }
}

/** Every error as a page. */
function problemHandler(app: App): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const status = (error as { status?: unknown } | null)?.status;
    if (error instanceof Rejected) {
      if (error.code === 'invoice.not_found') sendProblem(request, response, 404, 'notFound');
      else sendProblem(request, response, 400, 'refused');
    } else if (error instanceof Unavailable) {
      response.setHeader('Retry-After', String(error.retryAfterSeconds));
      sendProblem(request, response, 503, 'unavailable');
    } else if (error instanceof URIError || (status === 400 && request.method === 'GET')) {
      sendProblem(request, response, 404, 'notFound');
    } else if (typeof status === 'number' && status >= 400 && status < 500) {
      sendProblem(request, response, status, 'request');
    } else {
      app.log.error({ error, method: request.method, path: request.path }, 'a payment page failed by a bug');
      sendProblem(request, response, 500, 'bug');
    }
  };
}
