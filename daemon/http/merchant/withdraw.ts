/** Withdraw, Get withdrawal and Refund invoice. Every error is `{"message": …, "status": "error"}`, a refusal a 400. */

import { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { once } from '../../app/idempotency.ts';
import { findInvoiceOf } from '../../app/invoices/invoices.ts';
import { makeInvoiceLink, REFUND_LINK_DAYS } from '../../app/refunds/links.ts';
import { cryptoRejected } from '../../app/shops/cryptos.ts';
import type { Business } from '../../app/shops/directory.ts';
import { findWithdrawalOf, withdrawalNotFound } from '../../app/spends/rows.ts';
import { refundedInvoice, refundWanted } from '../../app/withdrawals/refund.ts';
import {
  estimateHighestFee,
  feeAssetFor,
  type NewWithdrawal,
  requestWithdrawal,
  withdrawable,
  withdrawables,
} from '../../app/withdrawals/request.ts';
import { assetOf, findAsset } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { exactDecimal, formatUnits } from '../../domain/money.ts';
import { answersTo } from '../../domain/rejections.ts';
import { apiStatus } from '../../domain/withdrawal.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { Answer } from '../answers.ts';
import { JsonNumber, jsonBody } from '../body.ts';
import { onlyMethods } from '../errors.ts';
import { EXACT_PATHS, idempotent } from '../requests.ts';
import { callerOf, hasScope, type WithKey } from './auth.ts';
import { presentRefundLink } from './refund-link.ts';
import { check } from './schemas.ts';

const ADDRESS_CHARACTERS_MAX = 255;
/** More digits than the amount of any asset can have. */
const NUMBER_CHARACTERS_MAX = 60;
const STATUS_ERROR = { status: 'error' };

const isNumberText = (text: string): boolean =>
  text.length <= NUMBER_CHARACTERS_MAX && /^\d+(\.\d+)?([eE][+-]?\d{1,2})?$/.test(text);

const textOf = (value: unknown): string | null =>
  value instanceof JsonNumber ? value.source : typeof value === 'string' ? value : null;

const AMOUNT_JSON = { oneOf: [{ type: 'number' }, { type: 'string', pattern: '^\\d+(\\.\\d+)?$' }] };

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

function checkAmount(value: unknown, context: z.RefinementCtx): void {
  const fail = (message: string): void => context.addIssue({ code: 'custom', message });
  const text = textOf(value);
  if (text === null) fail('The amount must be a number.');
  else if (!isNumberText(text) || /^[0.]+([eE].*)?$/.test(text)) fail('The amount must be a positive number.');
}

/** In the order of the contract's table, one message per rule. */
export const withdrawSchema = z.object({
  amount: z
    .unknown()
    .optional()
    .superRefine((value, context) => {
      if (isAbsent(value)) context.addIssue({ code: 'custom', message: 'The amount field is required.' });
      else checkAmount(value, context);
    })
    .transform((value) => textOf(value) ?? '')
    .meta({
      required: true,
      description: 'In units of the crypto, worth at least 10 USD: what the recipient gets; the fee comes on top.',
      override: AMOUNT_JSON,
    }),
  crypto: z
    .string('The crypto field is required.')
    .min(1, 'The crypto field is required.')
    .meta({ required: true, override: { type: 'string', examples: ['BTC', 'BCH', 'LTC', 'XMR'] } }),
  address: z
    .string('The address field is required.')
    .min(1, 'The address field is required.')
    .max(ADDRESS_CHARACTERS_MAX, 'The address is invalid.')
    .meta({ required: true, override: { type: 'string', maxLength: ADDRESS_CHARACTERS_MAX } }),
});

export const refundSchema = z.object({
  address: withdrawSchema.shape.address
    .nullish()
    .transform((value) => value ?? null)
    .meta({
      description:
        'Without it the answer has a refund_url: a page on which the payer types the address, once. Give it to the payer alone.',
    }),
  amount: z
    .unknown()
    .optional()
    .superRefine((value, context) => {
      if (!isAbsent(value)) checkAmount(value, context);
    })
    .transform((value) => (isAbsent(value) ? null : textOf(value)))
    .meta({
      description:
        'In units of the crypto that the invoice was paid in: what the recipient gets; the fee comes on top. By default ' +
        'what is confirmed and was not refunded yet; all refunds together are never more.',
      override: AMOUNT_JSON,
    }),
  crypto: z
    .string('The crypto must be a text.')
    .nullish()
    .transform((value) => value ?? null)
    .meta({
      description:
        'Only where the payer changed the coin and sent several (the transactions of the payment name theirs): which of ' +
        'them. By default the one of the payment.',
      override: { type: 'string', examples: ['BTC'] },
    }),
});

/** Checks the fields of a body in their order. Throws `Rejected`. */
function wanted(app: App, business: Business, json: unknown): NewWithdrawal {
  const { amount, crypto } = check(withdrawSchema.pick({ amount: true, crypto: true }), json);
  const asset = findAsset(crypto);
  if (!asset || !withdrawable(app, business, asset)) throw cryptoRejected(withdrawables(app, business));
  const units = exactDecimal(amount, asset.decimals);
  if (units === null) {
    throw new Rejected('validation', `The amount may have at most ${asset.decimals} decimals.`, 'amount');
  }
  const { address } = check(withdrawSchema.pick({ address: true }), json);
  return { asset, units, address, origin: 'merchant' };
}

export function withdrawRouter(app: App, withKey: WithKey): Router {
  const router = Router(EXACT_PATHS);
  const scoped = withKey(['withdraw']);
  const forRefunds = withKey(['refund', 'withdraw']);
  // without parameters: a path that cannot be decoded gets the shape, too
  const paths = ['/withdraw', '/withdrawal', /^\/invoice\/[^/]+\/refund(?=\/|$)/];
  router.use(paths, shaped);
  router
    .route('/withdraw')
    .post(scoped, ...jsonBody, withdraw(app))
    .all(onlyMethods('POST'));
  router.route('/withdrawal/:id').get(forRefunds, get(app)).all(onlyMethods('GET'));
  router
    .route('/invoice/:invoice/refund')
    .post(forRefunds, ...jsonBody, refund(app))
    .all(onlyMethods('POST'));
  router.use(paths, refusal);
  return router;
}

/** Makes later error handlers use the shape of these endpoints. */
const shaped: RequestHandler = (_request, response, next) => {
  const json = response.json.bind(response);
  response.json = (body: { message?: unknown }) =>
    json(response.statusCode < 400 ? body : { message: body.message, ...STATUS_ERROR });
  next();
};

/** A refusal of the program is a 400, and so is a missing rate. A disk error is not the caller's fault. */
function refusal(error: unknown, _request: Request, response: Response, next: NextFunction): void {
  if (error instanceof Rejected) {
    response.status(answersTo(error.code).withdrawal).json({ message: error.message });
  } else if (error instanceof Unavailable && error.cause === undefined) {
    response.status(400).set('Retry-After', String(error.retryAfterSeconds)).json({ message: error.message });
  } else next(error);
}

function withdraw(app: App): RequestHandler {
  return async (request, response) => {
    const business = callerOf(response);
    app.ignored.note(business.id, 'withdraw', request.body, withdrawSchema.shape);
    const asked = { ...idempotent(business, request, '/withdraw'), forever: true };
    const fee = await estimateHighestFee(app, business, () => wanted(app, business, request.body));
    const answer = await app.store.write((tx) =>
      once(app, tx, asked, () => {
        const row = requestWithdrawal(app, tx, business, wanted(app, business, request.body), fee);
        const body = { id: `${row.id}`, status: apiStatus(row.state) };
        return { status: 201, body: JSON.stringify(body) };
      }),
    );
    response.status(answer.status).type('application/json').send(answer.body);
  };
}

function refund(app: App): RequestHandler {
  return async (request, response) => {
    const business = callerOf(response);
    const name = (request.params as { invoice: string }).invoice;
    app.ignored.note(business.id, 'refundInvoice', request.body, refundSchema.shape);
    const given = check(refundSchema, request.body);
    const { address } = given;
    const wanted = (reader: Reader): NewWithdrawal => {
      const invoice = findInvoiceOf(reader, business, name);
      return refundWanted(app, reader, business, invoice, { ...given, address: address ?? '' });
    };
    const fee = address === null ? 0n : await estimateHighestFee(app, business, () => wanted(app.store));
    const answer = await app.store.write((tx) => {
      const { slug } = findInvoiceOf(tx, business, name);
      const asked = { ...idempotent(business, request, `/invoice/${slug}/refund`), forever: true };
      return once(app, tx, asked, () => {
        const body =
          address === null
            ? linkFor(app, tx, slug, given)
            : presentWithdrawal(app, requestWithdrawal(app, tx, business, wanted(tx), fee));
        return { status: 201, body: JSON.stringify(body) };
      });
    });
    response.status(answer.status).type('application/json').send(answer.body);
  };
}

/** A page for the payer, where the shop does not know the address. */
function linkFor(
  app: App,
  tx: Tx,
  invoice: string,
  { amount, crypto }: { amount: string | null; crypto: string | null },
) {
  return presentRefundLink(app, makeInvoiceLink(app, tx, { invoice, amount, crypto }, REFUND_LINK_DAYS.usual), invoice);
}

function get(app: App): RequestHandler {
  return (request, response) => {
    const row = findWithdrawalOf(app.store, callerOf(response), (request.params as { id: string }).id);
    // a key that may only ask for refunds sees nothing else
    if (row.invoice_id === null && !hasScope(response, 'withdraw')) throw withdrawalNotFound();
    response.status(201).json(presentWithdrawal(app, row));
  };
}

export function presentWithdrawal(app: App, row: WithdrawalRow): Answer<'Withdrawal'> {
  const asset = assetOf(row.asset);
  const status = apiStatus(row.state);
  return {
    id: `${row.id}`,
    status,
    tx_id: status === 'completed' ? row.txid : null,
    amount: formatUnits(row.units, asset),
    crypto: asset.symbol,
    address: row.address,
    invoice_id: refundedInvoice(app.store, row)?.slug ?? null,
    fee: row.fee === null ? null : formatUnits(row.fee, feeAssetFor(row)),
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
  };
}
