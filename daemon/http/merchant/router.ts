/** The merchant API without withdrawals: each route checks its request, calls one use case and presents the result. */
import { type Request, type RequestHandler, Router } from 'express';
import { withAddress } from '../../app/addresses/pool.ts';
import type { App } from '../../app/app.ts';
import { balances } from '../../app/books/balance.ts';
import { type Answer, once } from '../../app/idempotency.ts';
import {
  createInvoice,
  deleteInvoice,
  findInvoiceOf,
  leastAmount,
  type NewInvoice,
} from '../../app/invoices/invoices.ts';
import { requestPayment } from '../../app/invoices/payments.ts';
import { readInvoice, view } from '../../app/invoices/views.ts';
import type { Business } from '../../app/shops/directory.ts';
import { type AssetId, findAsset } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import type { Tx } from '../../store/store.ts';
import { jsonBody } from '../body.ts';
import { onlyMethods } from '../errors.ts';
import { exactNumber } from '../json.ts';
import { EXACT_PATHS, idempotent, type RequestParts } from '../requests.ts';
import { send } from '../send.ts';
import { callerOf, type WithKey } from './auth.ts';
import { presentCreated, presentInvoice, presentPayment } from './present.ts';
import {
  balanceSchema,
  check,
  createInvoiceSchema,
  dueAt,
  fiatAmount,
  minimumSchema,
  requestPaymentSchema,
} from './schemas.ts';

/** The operations of invoices for one business. `name`: a slug or a UUID. */
export type InvoiceOperations = {
  create(business: Business, sent: RequestParts): Promise<Answer>;
  request(business: Business, sent: RequestParts, name: string): Promise<Answer>;
  get(business: Business, name: string): Promise<Answer>;
};

export const invoiceOperations = (app: App): InvoiceOperations => ({
  create: create(app),
  request: request(app),
  get: get(app),
});

const nameIn = (request: Request): string => (request.params as { invoice: string }).invoice;

const answered =
  (work: (request: Request, business: Business) => Promise<Answer>): RequestHandler =>
  async (request, response) =>
    send(response, await work(request, callerOf(response)));

export function merchantRouter(app: App, withKey: WithKey, invoices: InvoiceOperations): Router {
  const router = Router(EXACT_PATHS);
  const withBody = [withKey(['invoices']), ...jsonBody];
  const create = answered((req, business) => invoices.create(business, req));
  const request = answered((req, business) => invoices.request(business, req, nameIn(req)));
  const get = answered((req, business) => invoices.get(business, nameIn(req)));
  router.route('/invoice').post(withBody, create).all(onlyMethods('POST'));
  router.route('/invoice/rp/:invoice').post(withBody, request).all(onlyMethods('POST'));
  router
    .route('/invoice/:invoice')
    .get(withKey(['invoices']), get)
    .delete(withKey(['invoices']), remove(app))
    .all(onlyMethods('GET', 'DELETE'));
  addReads(app, router, withKey);
  return router;
}

function create(app: App): InvoiceOperations['create'] {
  const schemas = new WeakMap<Business, ReturnType<typeof createInvoiceSchema>>();
  const schemaFor = (business: Business): ReturnType<typeof createInvoiceSchema> => {
    const known = schemas.get(business) ?? createInvoiceSchema(app, business);
    schemas.set(business, known);
    return known;
  };
  const wanted = (business: Business, json: unknown): NewInvoice => {
    const body = check(schemaFor(business), json);
    return {
      amount: fiatAmount(body),
      currency: body.currency,
      crypto: body.crypto,
      dueAt: dueAt(body, business),
      closeUrl: body.close_url ?? null,
      redirectUrl: null,
      webhookUrl: body.webhook_url ?? null,
      automaticRedirect: body.automatic_redirect,
      origin: 'merchant',
      orderId: body.order_id ?? null,
      description: body.description ?? null,
      metadata: body.metadata,
    };
  };
  return (business, sent) => {
    app.ignored.note(business.id, 'createInvoice', sent.body, schemaFor(business).shape);
    return app.store.write((tx: Tx) =>
      once(app, tx, idempotent(business, sent, '/invoice'), () => {
        const invoice = createInvoice(app, business, wanted(business, sent.body), tx);
        return { status: 201, body: JSON.stringify(presentCreated(app, invoice)) };
      }),
    );
  };
}

function request(app: App): InvoiceOperations['request'] {
  return (business, sent, name) => {
    app.ignored.note(business.id, 'requestPayment', sent.body, requestPaymentSchema.shape);
    const choice = () => check(requestPaymentSchema, sent.body).crypto;
    return withAddress(app, (tx, waited) => {
      const invoice = findInvoiceOf(tx, business, name);
      return once(app, tx, idempotent(business, sent, `/invoice/rp/${invoice.slug}`), () => {
        const row = requestPayment(app, business, invoice, choice, tx, waited);
        const { payment } = view(app, business, invoice, row);
        return { status: 201, body: JSON.stringify(presentPayment(invoice, payment!)) };
      });
    });
  };
}

function get(app: App): InvoiceOperations['get'] {
  return async (business, name) => {
    const found = await readInvoice(app, business, name);
    return { status: 200, body: JSON.stringify(presentInvoice(app, found)) };
  };
}

function remove(app: App): RequestHandler {
  return async (req, response) => {
    const business = callerOf(response);
    await app.store.write((tx) => deleteInvoice(app, findInvoiceOf(tx, business, nameIn(req)), tx));
    response.status(200).json({ message: 'Invoice deleted' });
  };
}

/** Cryptos, rates and balance. */
function addReads(app: App, router: Router, withKey: WithKey): void {
  const cryptos: RequestHandler = (_req, response) => {
    response.json(callerOf(response).enabled.map(({ id, name, symbol }) => ({ id, name, symbol })));
  };

  const rates: RequestHandler = (req, response) => {
    const asset = findAsset((req.params as { crypto: string }).crypto);
    if (!asset) throw new Rejected('rates.unknown', 'Crypto not found');
    response.json(app.rates.shown(callerOf(response).network, asset.symbol, app.now()));
  };

  const balance: RequestHandler = (req, response) => {
    const business = callerOf(response);
    const options = check(balanceSchema, { ...req.query, ...req.body });
    const entries = balances(app, business)
      .filter(({ units, withheld }) => withheld === null && (units > 0n || !options.with_balance))
      .flatMap(({ asset, units }): [string, unknown][] => {
        const number = exactNumber(formatUnits(units, asset));
        if (!options.with_rates) return [[asset.symbol, number]];
        const rates = lastRates(app, business, asset.symbol);
        return rates === null ? [] : [[asset.symbol, { balance: number, rates }]];
      });
    response.json(Object.fromEntries(entries));
  };

  const minimum: RequestHandler = (req, response) => {
    const { currency } = check(minimumSchema, req.query);
    const amount = leastAmount(app, callerOf(response), currency);
    response.json({ amount: formatDecimal(amount, FIAT_DECIMALS), currency });
  };

  const unauthorized = { error: 'Unauthorized' };
  router
    .route('/minimum')
    .get(withKey(['invoices']), minimum)
    .all(onlyMethods('GET'));
  router
    .route('/cryptos')
    .get(withKey(['invoices']), cryptos)
    .all(onlyMethods('GET'));
  router
    .route('/rates/:crypto')
    .get(withKey(['invoices']), rates)
    .all(onlyMethods('GET'));
  router
    .route('/balance')
    .get(withKey(['balance'], unauthorized), balance)
    .post(withKey(['balance'], unauthorized), jsonBody, balance)
    .all(onlyMethods('GET', 'POST'));
}

/** A coin's last good rates as exact numbers. Null, and absent from the answer, if it never had any. */
function lastRates(app: App, business: Business, symbol: AssetId) {
  const known = app.rates.lastShown(business.network, symbol, app.now());
  return known && { USD: exactNumber(known.usd), EUR: exactNumber(known.eur), GBP: exactNumber(known.gbp) };
}
