/**
 * The browser API: a part of the merchant API's operations, for pages with a public client ID. Anybody can call it, so
 * invoices are named by slug only. An unknown slug, one of another business and a record's id get the same answer.
 */
import { type Request, type RequestHandler, Router } from 'express';
import { withAddress } from '../../app/addresses/pool.ts';
import type { App } from '../../app/app.ts';
import { createInvoice, findInvoiceOf } from '../../app/invoices/invoices.ts';
import { requestPayment } from '../../app/invoices/payments.ts';
import { readInvoice, view } from '../../app/invoices/views.ts';
import type { Client } from '../../app/shops/directory.ts';
import { Rejected } from '../../domain/errors.ts';
import { jsonBody } from '../body.ts';
import { onlyMethods } from '../errors.ts';
import { networksOf } from '../limits.ts';
import { presentCreated } from '../merchant/present.ts';
import { check, dueAt, fiatAmount, requestPaymentSchema } from '../merchant/schemas.ts';
import { EXACT_PATHS, mayPlay } from '../requests.ts';
import { type Caller, callerOf, identify, limit } from './gate.ts';
import { crossOrigin } from './origins.ts';
import { presentPayersInvoice, presentPayersPayment, presentRates, presentStatus } from './present.ts';
import { clientInvoiceSchema } from './schemas.ts';

const SLUG = /^[A-Za-z0-9]{12}$/;

/** The slug in the path. Throws the error of an unknown invoice if the path has no slug. */
function slugOf(request: Request): string {
  const { slug } = request.params;
  if (typeof slug !== 'string' || !SLUG.test(slug)) throw new Rejected('invoice.not_found', 'Invoice not found');
  return slug;
}

/** Mounted at `{sdk_base_url}`. */
export function clientRouter(app: App): Router {
  const router = Router(EXACT_PATHS);
  const { readsPerMinute, readsBurst, creationsPerMinute, creationsBurst } = app.config.browser;
  const known = identify(app);
  const reading = [limit(app, readsPerMinute, readsBurst), known];
  const writing = () => [limit(app, creationsPerMinute, creationsBurst), known, ...jsonBody];

  router.use(crossOrigin(app));
  router.route('/cryptos').get(reading, cryptos).all(onlyMethods('GET'));
  router.route('/rates').get(reading, rates(app)).all(onlyMethods('GET'));
  router.route('/invoice').post(writing(), create(app)).all(onlyMethods('POST'));
  router.route('/invoice/rp/:slug').post(writing(), request(app)).all(onlyMethods('POST'));
  router.route('/invoice/status/:slug').get(reading, status(app)).all(onlyMethods('GET'));
  router.route('/invoice/:slug').get(reading, get(app)).all(onlyMethods('GET'));
  return router;
}

const cryptos: RequestHandler = (_request, response) => {
  response.json(callerOf(response).business.enabled.map(({ id, name, symbol }) => ({ id, name, symbol })));
};

function rates(app: App): RequestHandler {
  return (_request, response) => {
    response.json(presentRates(app, callerOf(response).business));
  };
}

function create(app: App): RequestHandler {
  // a change of a client ID or a business makes a new object
  type Schemas = WeakMap<Client, ReturnType<typeof clientInvoiceSchema>>;
  const listed: Schemas = new WeakMap();
  const anywhere: Schemas = new WeakMap();
  const schemaFor = ({ client, business }: Caller, anyUrl: boolean): ReturnType<typeof clientInvoiceSchema> => {
    const schemas = anyUrl ? anywhere : listed;
    const made = schemas.get(client) ?? clientInvoiceSchema(app, business, client, anyUrl);
    schemas.set(client, made);
    return made;
  };
  return async (req, response) => {
    const caller = callerOf(response);
    const body = check(schemaFor(caller, mayPlay(app, caller.business, req)), req.body);
    const wanted = {
      amount: fiatAmount(body),
      currency: body.currency,
      crypto: body.crypto,
      dueAt: dueAt(body, caller.business),
      closeUrl: body.close_url ?? null,
      redirectUrl: body.redirect_url ?? null,
      webhookUrl: body.webhook_url ?? null,
      automaticRedirect: body.automatic_redirect,
      origin: 'client',
      clientId: caller.client.id,
      orderId: body.order_id ?? null,
      description: body.description ?? null,
    } as const;
    const invoice = await app.store.write((tx) => createInvoice(app, caller.business, wanted, tx));
    response.status(201).json(presentCreated(app, invoice));
  };
}

function request(app: App): RequestHandler {
  return async (req, response) => {
    const { business } = callerOf(response);
    const slug = slugOf(req);
    const choice = () => check(requestPaymentSchema, req.body).crypto;
    const asker = networksOf(req.ip ?? '');
    const body = await withAddress(app, (tx, waited) => {
      const invoice = findInvoiceOf(tx, business, slug);
      const row = requestPayment(app, business, invoice, choice, tx, waited, asker);
      return presentPayersPayment(invoice, view(app, business, invoice, row).payment!);
    });
    response.status(201).json(body);
  };
}

function get(app: App): RequestHandler {
  return async (req, response) => {
    response.json(presentPayersInvoice(app, await readInvoice(app, callerOf(response).business, slugOf(req))));
  };
}

function status(app: App): RequestHandler {
  return async (req, response) => {
    response.json(presentStatus(await readInvoice(app, callerOf(response).business, slugOf(req))));
  };
}
