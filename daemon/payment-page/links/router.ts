/** The pages of payment links over HTTP. Anybody may order there, so the limits of browser clients hold. */
import express, { type Request, type RequestHandler, type Router } from 'express';
import type { App } from '../../app/app.ts';
import { buy, type Order } from '../../app/links/buy.ts';
import { findLink, viewOf } from '../../app/links/links.ts';
import { FIAT } from '../../domain/currencies.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { LINK_ITEMS_MAX, LINK_QUANTITY_MAX } from '../../domain/links.ts';
import { FIAT_DECIMALS, parseDecimal } from '../../domain/money.ts';
import type { RejectCode } from '../../domain/rejections.ts';
import { fieldOf, limiter, localeOf, onlyMethods, queryOf, redirectToPage, rootOf, send } from '../answer.ts';
import { type Filled, linkPage, type OrderFault } from './model.ts';
import { renderLink } from './render.ts';

const BODY_BYTES_MAX = 8_192;
const FIELDS_MAX = LINK_ITEMS_MAX + 4;
const AMOUNT_CHARACTERS_MAX = 16;
const QUANTITY_FIELD = /^q([1-9]\d{0,14})$/;

/** The fault of an order, by the rejection. `validation`: below a cent. */
const FAULTS: { readonly [code in RejectCode]?: OrderFault } = {
  'link.order': 'needItem',
  'link.least': 'needAmount',
  'link.too_much': 'tooMuch',
  'link.sold_out': 'soldOut',
  validation: 'needAmount',
};

/** Adds the pages of links. `reads`: limits the requests of an address. */
export function addLinkRoutes(router: Router, app: App, reads: RequestHandler): void {
  const { creationsPerMinute, creationsBurst } = app.config.browser;
  const writes = limiter(app, creationsPerMinute, creationsBurst);
  const form = express.urlencoded({ extended: false, limit: BODY_BYTES_MAX, parameterLimit: FIELDS_MAX });
  router.route('/l/:link').get(reads, read(app)).post(writes, form, order(app)).all(onlyMethods('GET, HEAD, POST'));
}

const nameOf = (request: Request): string => String(request.params.link);

function read(app: App): RequestHandler {
  return async (request, response) => {
    const link = findLink(app.store, nameOf(request));
    if (request.path.endsWith('/')) redirectToPage(request, response, `l/${link.slug}`);
    else await show(app, 200, request, response);
  };
}

async function show(
  app: App,
  status: number,
  request: Request,
  response: Parameters<RequestHandler>[1],
  filled?: Filled,
  fault: OrderFault | null = null,
): Promise<void> {
  const locale = localeOf(request);
  const place = { root: rootOf(request), query: queryOf(locale) };
  const view = viewOf(app, app.store, findLink(app.store, nameOf(request)));
  const page = linkPage(app, view, place, filled, fault);
  await send(request, response, status, { render: (nonce) => renderLink(page, locale, nonce), ancestors: [] });
}

function order(app: App): RequestHandler {
  return async (request, response) => {
    const link = findLink(app.store, nameOf(request));
    const filled = filledIn(request);
    const wanted = orderOf(filled, link.currency);
    const refused = wanted === null ? (link.kind === 'open' ? 'needAmount' : 'needItem') : null;
    if (wanted === null || refused) return show(app, 422, request, response, filled, refused);
    try {
      const { slug } = await app.store.write((tx) => buy(app, tx, link.slug, wanted));
      const place = `${rootOf(request)}${slug}${queryOf(localeOf(request))}`;
      response.status(303).location(place).end();
    } catch (error) {
      if (error instanceof Unavailable) {
        response.setHeader('Retry-After', String(error.retryAfterSeconds));
        return show(app, 503, request, response, filled, 'notNow');
      }
      if (!(error instanceof Rejected)) throw error;
      // the page itself says that it has ended
      if (error.code === 'link.ended') return show(app, 410, request, response);
      const fault = error.code === 'link.order' && link.kind === 'open' ? 'needAmount' : FAULTS[error.code];
      if (!fault) throw error;
      return show(app, 422, request, response, filled, fault);
    }
  };
}

function filledIn(request: Request): Filled {
  const body = (request.body ?? {}) as Record<string, unknown>;
  const quantities = new Map<number, string>();
  for (const [name, value] of Object.entries(body)) {
    const id = QUANTITY_FIELD.exec(name)?.[1];
    if (id !== undefined && typeof value === 'string') quantities.set(Number(id), value.trim());
  }
  const amount = (fieldOf(request, 'amount') ?? '').trim().slice(0, AMOUNT_CHARACTERS_MAX);
  return { amount, suggested: fieldOf(request, 'suggested') ?? '', quantities };
}

/** The order that a form means; null if a figure is none. A typed amount goes before a suggested one. */
function orderOf({ amount, suggested, quantities }: Filled, currency: string): Order | null {
  const counts = new Map<number, number>();
  for (const [id, text] of quantities) {
    if (text === '') continue;
    if (!/^\d{1,6}$/.test(text) || Number(text) > LINK_QUANTITY_MAX) return null;
    counts.set(id, Number(text));
  }
  const text = amount === '' ? suggested : amount;
  const decimals = FIAT[currency] ?? 2;
  const value = text === '' ? null : typedAmount(text, decimals);
  if (text !== '' && (value === null || value === 0n)) return null;
  const scale = 10n ** BigInt(FIAT_DECIMALS - decimals);
  return { amount: value === null ? null : value * scale, quantities: counts };
}

/** The first digit of each set that payers type: Arabic, Persian, Devanagari. */
const ZEROS = [0x0660, 0x06f0, 0x0966];

/**
 * A typed amount in units of 10^-decimals, with a point or a comma before the decimals; null: it is none. "1,000" is refused where the
 * currency has two decimals, because it means a thousand to some and one to others.
 */
function typedAmount(text: string, decimals: number): bigint | null {
  const latin = text.replace(/[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f]/g, (digit) => {
    const code = digit.codePointAt(0)!;
    return `${code - ZEROS.findLast((zero) => zero <= code)!}`;
  });
  const match = /^(\d{1,12})(?:[.,\u066b](\d{1,8}))?$/.exec(latin.trim());
  if (!match || (match[2] ?? '').length > decimals) return null;
  return parseDecimal(match[2] === undefined ? match[1]! : `${match[1]}.${match[2]}`, decimals);
}
