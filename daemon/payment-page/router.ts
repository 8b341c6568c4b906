/**
 * The hosted payment page over HTTP: pages, their status, a stream of hints and two forms, without cookies. An
 * invoice's slug is the only credential, so requests are limited by address, and all pages that do not exist look
 * alike.
 */
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import helmet from 'helmet';
import { withAddress } from '../app/addresses/pool.ts';
import type { App } from '../app/app.ts';
import { findInvoice } from '../app/invoices/invoices.ts';
import { changeCoin, requestPayment } from '../app/invoices/payments.ts';
import type { SandboxControls } from '../app/invoices/sandbox.ts';
import { readInvoice } from '../app/invoices/views.ts';
import { askReceipt } from '../app/notifications/receipts.ts';
import { findLogo } from '../app/shops/branding.ts';
import { Rejected, Unavailable } from '../domain/errors.ts';
import { answersTo } from '../domain/rejections.ts';
import { type Asset, makeAsset, serveAsset } from '../http/assets/asset.ts';
import { networksOf } from '../http/limits.ts';
import { isLocal, mayPlay } from '../http/requests.ts';
import {
  fieldOf,
  limiter,
  localeOf,
  onlyMethods,
  queryOf,
  redirectToPage,
  rootOf,
  SLUG,
  send,
  sendProblem,
} from './answer.ts';
import { askLink } from './choose.ts';
import { frameAncestors, setPolicy } from './csp.ts';
import { eventStreams } from './events.ts';
import { addLinkRoutes } from './links/router.ts';
import { invoicePage, type Notice } from './model.ts';
import { reachPage } from './reach.ts';
import { receiptMail } from './receipt-mail.ts';
import { addRefundRoutes } from './refunds/router.ts';
import { renderPage, renderView } from './render.ts';
import { press } from './sandbox.ts';
import { SCRIPT, SCRIPT_PATH } from './script.ts';
import { LINK_STYLE, LINK_STYLE_PATH, STYLE, STYLE_PATH } from './style.ts';

const READS_PER_MINUTE = 120;
const READS_BURST = 60;
/** Status requests of open pages: a few payers behind one address, each polling every few seconds. */
const LOOKS_PER_MINUTE = 600;
const LOOKS_BURST = 120;
const WRITES_PER_MINUTE = 10;
const WRITES_BURST = 10;
const PRESSES_PER_MINUTE = 120;
const PRESSES_BURST = 40;
const BODY_BYTES_MAX = 1_024;
const FIELDS_MAX = 8;
const YEAR_SECONDS = 31_536_000;

const LOGO_ID = /^[0-9a-f]{32}$/;

/** The headers of every answer; each page adds its own policy (see `csp.ts`). */
const HEADERS = helmet({
  contentSecurityPolicy: false,
  referrerPolicy: { policy: 'no-referrer' },
  xFrameOptions: { action: 'deny' },
  // the proxy that ends TLS decides about the whole domain
  strictTransportSecurity: false,
});

/** The slug in the path. Throws the error of an unknown invoice if it is no slug, for example a record's id. */
function slugOf(request: Request): string {
  const { slug } = request.params;
  if (typeof slug !== 'string' || !SLUG.test(slug)) throw new Rejected('invoice.not_found', 'Invoice not found');
  return slug;
}

/** `ask`: what the page shows besides, without scripts. */
function toInvoice(request: Request, response: Response, slug: string, ask: 'watch' | null = null): void {
  const page = { root: rootOf(request), slug, query: queryOf(localeOf(request)) };
  const address = ask === null ? `${page.root}${slug}${page.query}` : askLink(page, ask);
  response.status(303).location(address).end();
}

/** Styles and the script: their names change with their content, so they may be kept. */
function addAssets(router: Router): void {
  const styles = [
    { path: STYLE_PATH, style: STYLE },
    { path: LINK_STYLE_PATH, style: LINK_STYLE },
  ];
  for (const { path, style } of styles) {
    const asset = (): Asset => makeAsset('text/css; charset=utf-8', style);
    router.get(`/${path}`, serveAsset(asset, YEAR_SECONDS));
  }
  const script = (): Asset => makeAsset('text/javascript; charset=utf-8', SCRIPT);
  router.get(`/${SCRIPT_PATH}`, serveAsset(script, YEAR_SECONDS));
}

/** Mounted at the path of the payment pages. `controls`: null without a sandbox. */
export function pageRouter(app: App, controls: SandboxControls | null): Router {
  // a typed slash at the end redirects to the page
  const router = Router({ caseSensitive: true });
  const form = express.urlencoded({ extended: false, limit: BODY_BYTES_MAX, parameterLimit: FIELDS_MAX });
  const reads = limiter(app, READS_PER_MINUTE, READS_BURST);
  const looks = limiter(app, LOOKS_PER_MINUTE, LOOKS_BURST);
  const writes = limiter(app, WRITES_PER_MINUTE, WRITES_BURST);
  const presses = limiter(app, PRESSES_PER_MINUTE, PRESSES_BURST);

  router.use(HEADERS, (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    setPolicy(response, []);
    next();
  });
  addAssets(router);
  router.get('/logo/:id', reads, sendLogo(app));

  const show = async (request: Request, response: Response, status = 200, notice: Notice = null): Promise<void> => {
    const found = await readInvoice(app, null, slugOf(request));
    const locale = localeOf(request);
    const plays = mayPlay(app, found.business, request);
    const view = { root: rootOf(request), query: queryOf(locale), plays, ...asksOf(request) };
    const model = invoicePage(app, found, view, notice);
    const render = (nonce: string): string => renderPage(model, locale, nonce);
    await send(request, response, status, { render, ancestors: frameAncestors(app, found.invoice, plays) });
  };
  const read: RequestHandler = async (request, response) => {
    if (request.path.endsWith('/')) redirectToPage(request, response, slugOf(request));
    else await show(request, response);
  };
  const choose: RequestHandler = async (request, response) => {
    const slug = slugOf(request);
    const notice = await ask(app, slug, request, response);
    if (notice === null) toInvoice(request, response, slug);
    else await show(request, response, notice === 'notNow' ? 503 : 422, notice);
  };
  const control: RequestHandler = async (request, response) => {
    const slug = slugOf(request);
    const playing = mayPlay(app, { network: 'sandbox' }, request) ? controls : null;
    await press(app, playing, slug, fieldOf(request, 'do')).catch((error: unknown) => {
      // pressed twice, or on an old page: the page shows the current state
      if (!(error instanceof Rejected) || typeof answersTo(error.code).page === 'number') throw error;
    });
    // what was pressed may take a moment
    toInvoice(request, response, slug, 'watch');
  };

  const mail: RequestHandler = async (request, response) => {
    const slug = slugOf(request);
    const notice = await askMail(app, slug, request);
    if (notice === null) toInvoice(request, response, slug);
    else await show(request, response, 422, notice);
  };

  addLinkRoutes(router, app, reads);
  router.route('/reach/:code').get(reads, reachPage(app, rootOf)).all(onlyMethods('GET, HEAD'));
  addRefundRoutes(router, app, reads);
  router.route('/:slug').get(reads, read).post(writes, form, choose).all(onlyMethods('GET, HEAD, POST'));
  router.route('/:slug/status').get(looks, status(app)).all(onlyMethods('GET, HEAD'));
  router.route('/:slug/events').get(looks, eventStreams(app, slugOf)).all(onlyMethods('GET, HEAD'));
  router.route('/:slug/receipt').post(writes, form, mail).all(onlyMethods('POST'));
  router.route('/:slug/sandbox').post(presses, form, control).all(onlyMethods('POST'));
  router.use((request, response) => sendProblem(request, response, 404, 'notFound'));
  router.use(problemHandler(app));
  return router;
}

/** The page that a request asks for, and whether it comes from this machine. */
const asksOf = (request: Request) => ({
  isLocal: isLocal(request),
  change: request.query.change !== undefined,
  watch: request.query.watch !== undefined,
});

/** The view for an open page, unless the page already has it. Its links are relative to the page's own address. */
function status(app: App): RequestHandler {
  return async (request, response) => {
    const found = await readInvoice(app, null, slugOf(request));
    const locale = localeOf(request);
    const plays = mayPlay(app, found.business, request);
    const place = { root: `../${request.baseUrl.slice(1)}/`, query: queryOf(locale) };
    const model = invoicePage(app, found, { ...place, plays, isLocal: isLocal(request), change: false, watch: false });
    const { view, version } = renderView(model, locale);
    const { invoice } = found;
    const known = request.query.version === version;
    // an open page looks again while a payment that was undone may return
    const isUndone = invoice.status === 'paid' && model.state.is !== 'paid';
    response.json({
      status: isUndone ? 'unpaid' : invoice.status,
      version,
      build: SCRIPT_PATH,
      now: model.now,
      ...(known ? {} : { view: view.markup }),
    });
  };
}

function sendLogo(app: App): RequestHandler {
  return (request, response) => {
    const { id } = request.params;
    const logo = typeof id === 'string' && LOGO_ID.test(id) ? findLogo(app, id) : undefined;
    if (!logo) throw new Rejected('invoice.not_found', 'There is no such picture');
    response.set({ 'Cache-Control': `public, max-age=${YEAR_SECONDS}, immutable`, 'Content-Type': logo.type });
    response.send(Buffer.from(logo.bytes));
  };
}

/**
 * Requests the payment, or changes its coin if the form says so. Returns null if there is a payment now, or if nothing can be
 * chosen any more, which the page shows; otherwise the message for the payer.
 */
async function ask(app: App, slug: string, request: Request, response: Response): Promise<Notice> {
  const asker = networksOf(request.ip ?? '');
  const symbol = fieldOf(request, 'crypto');
  const change = fieldOf(request, 'change');
  try {
    await withAddress(app, (tx, waited) => {
      const invoice = findInvoice(tx, slug);
      const business = app.directory.business(invoice.business_id);
      if (change !== undefined) return changeCoin(app, business, invoice, change, tx, waited);
      return requestPayment(app, business, invoice, () => symbol, tx, waited, asker);
    });
    return null;
  } catch (error) {
    if (error instanceof Unavailable) {
      response.setHeader('Retry-After', String(error.retryAfterSeconds));
      return 'notNow';
    }
    if (!(error instanceof Rejected)) throw error;
    const { page } = answersTo(error.code);
    if (typeof page === 'number') throw error;
    if (error.code === 'link.sold_out') return 'soldOut';
    return page === 'shows' ? null : 'mustChoose';
  }
}

/** Stores the receipt that a payer asks for, as it is now and in the payer's language. Returns what was wrong, or null. */
async function askMail(app: App, slug: string, request: Request): Promise<Notice> {
  const found = await readInvoice(app, null, slug);
  const locale = localeOf(request);
  const plays = mayPlay(app, found.business, request);
  const asked = { isLocal: isLocal(request), change: false, watch: false };
  const model = invoicePage(app, found, { root: rootOf(request), query: queryOf(locale), plays, ...asked });
  const text = receiptMail(model, locale);
  if (text === null || model.mail === null) return 'mailNotNow';
  const email = fieldOf(request, 'email')?.trim() ?? '';
  try {
    await app.store.write((tx) => askReceipt(app, tx, findInvoice(tx, slug), { email, ...text }));
    return null;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return error.code === 'receipt.email' ? 'mailInvalid' : 'mailNotNow';
  }
}

function problemHandler(app: App): ErrorRequestHandler {
  return async (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const status = (error as { status?: unknown } | null)?.status;
    if (error instanceof Rejected) {
      const isMissing = answersTo(error.code).page === 404;
      await sendProblem(request, response, isMissing ? 404 : 400, isMissing ? 'notFound' : 'refused');
    } else if (error instanceof Unavailable) {
      response.setHeader('Retry-After', String(error.retryAfterSeconds));
      await sendProblem(request, response, 503, 'unavailable');
    } else if (error instanceof URIError || (status === 400 && request.method === 'GET')) {
      await sendProblem(request, response, 404, 'notFound');
    } else if (typeof status === 'number' && status >= 400 && status < 500) {
      await sendProblem(request, response, status, 'request');
    } else {
      app.log.error({ error, method: request.method, path: request.path }, 'a payment page failed by a bug');
      await sendProblem(request, response, 500, 'bug');
    }
  };
}
