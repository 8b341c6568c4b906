/** The pages of refund links over HTTP. The link's name is the only credential; an address is taken once. */
import express, { type Request, type RequestHandler, type Router } from 'express';
import type { App } from '../../app/app.ts';
import { giveRefundAddress } from '../../app/refunds/answered.ts';
import {
  checkRefundAddress,
  depositUnits,
  findRefundLink,
  isOurs,
  refundLinkFacts,
  refundLinkState,
} from '../../app/refunds/links.ts';
import { assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import type { RefundLinkRow } from '../../store/queries/refund-links.ts';
import { fieldOf, limiter, localeOf, onlyMethods, queryOf, redirectToPage, rootOf, SLUG, send } from '../answer.ts';
import { type RefundPage, renderRefund } from './render.ts';

const WRITES_PER_MINUTE = 10;
const BODY_BYTES_MAX = 2_048;
const FIELDS_MAX = 4;

/** Adds the pages of refund links. `reads`: limits the requests of an address. */
export function addRefundRoutes(router: Router, app: App, reads: RequestHandler): void {
  const writes = limiter(app, WRITES_PER_MINUTE, WRITES_PER_MINUTE);
  const form = express.urlencoded({ extended: false, limit: BODY_BYTES_MAX, parameterLimit: FIELDS_MAX });
  router.route('/r/:refund').get(reads, read(app)).post(writes, form, take(app)).all(onlyMethods('GET, HEAD, POST'));
}

function linkOf(app: App, request: Request): RefundLinkRow {
  const { refund } = request.params;
  if (typeof refund !== 'string' || !SLUG.test(refund)) {
    throw new Rejected('refund_link.not_found', 'There is no such refund link');
  }
  return findRefundLink(app.store, refund);
}

/** `address`: that was just typed. */
function pageOf(app: App, request: Request, address: string | null, fault: RefundPage['fault']): RefundPage {
  const link = linkOf(app, request);
  const business = app.directory.business(link.business_id);
  const { order, txid } = refundLinkFacts(app.store, link);
  return {
    root: rootOf(request),
    query: queryOf(localeOf(request)),
    slug: link.slug,
    business: { ...business.brand, name: business.brand.name ?? business.name },
    network: business.network,
    asset: assetOf(link.asset),
    units: link.units ?? depositUnits(app.store, link),
    isWhole: link.units === null,
    state: refundLinkState(app, app.store, link),
    endsAt: link.ends_at,
    order,
    address: link.address ?? address,
    fault,
    givenAt: link.given_at,
    txid,
  };
}

async function show(
  app: App,
  status: number,
  request: Request,
  response: Parameters<RequestHandler>[1],
  address: string | null = null,
  fault: RefundPage['fault'] = null,
): Promise<void> {
  const page = pageOf(app, request, address, fault);
  const locale = localeOf(request);
  await send(request, response, status, { render: (nonce) => renderRefund(page, locale, nonce), ancestors: [] });
}

function read(app: App): RequestHandler {
  return async (request, response) => {
    const { slug } = linkOf(app, request);
    if (request.path.endsWith('/')) redirectToPage(request, response, `r/${slug}`);
    else await show(app, 200, request, response);
  };
}

/** The first form shows the address in groups; the second, with `mine`, takes it. */
function take(app: App): RequestHandler {
  return async (request, response) => {
    const link = linkOf(app, request);
    if (refundLinkState(app, app.store, link) !== 'waits') return show(app, 409, request, response);
    const address = addressIn(fieldOf(request, 'address') ?? '');
    try {
      checkRefundAddress(app, link, address);
      if (fieldOf(request, 'mine') === undefined) return show(app, 200, request, response, address);
      await giveRefundAddress(app, link.slug, address);
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      // somebody else was first: the page shows what became of it
      if (error.code === 'refund_link.over') return show(app, 409, request, response);
      if (error.code !== 'withdrawal.address') throw error;
      return show(app, 422, request, response, address, isOurs(app, link, address) ? 'ours' : 'invalid');
    }
    const place = `${rootOf(request)}r/${link.slug}${queryOf(localeOf(request))}`;
    response.status(303).location(place).end();
  };
}

/** Without the blanks of groups and lines, and without a wallet's URI around it. */
function addressIn(text: string): string {
  const plain = text.replace(/\s+/g, '');
  return plain.replace(/^(?:bitcoin|litecoin|monero|ethereum):/i, '').replace(/\?.*$/, '');
}
