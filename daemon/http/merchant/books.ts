/** The merchant API's lists of invoices, withdrawals and receipts, for external bookkeeping. */
import { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import {
  type BookFilter,
  type BookPage,
  bookInvoices,
  bookReceipts,
  bookWithdrawals,
  type ListCursor,
  RECEIPT_STATUSES,
  type Receipt,
  receiptStatus,
} from '../../app/books/lists.ts';
import { invalidCrypto } from '../../app/shops/cryptos.ts';
import type { Business } from '../../app/shops/directory.ts';
import { ASSETS, assetOf, findAsset } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { shownTransaction } from '../../domain/chain.ts';
import { shownRequired } from '../../domain/finality.ts';
import { formatUnits } from '../../domain/money.ts';
import { INVOICE_STATUSES } from '../../domain/payment.ts';
import type { Answer } from '../answers.ts';
import { onlyMethods } from '../errors.ts';
import { EXACT_PATHS } from '../requests.ts';
import { callerOf, type WithKey } from './auth.ts';
import { fiatText, presentInvoice } from './present.ts';
import { check, ORDER_ID_CHARACTERS_MAX } from './schemas.ts';
import { presentWithdrawal } from './withdraw.ts';

const SYMBOLS = [...ASSETS.map(({ symbol }) => symbol), 'ALL'];
const LIMIT_MAX = 200;
const LIMIT = 50;
const CURSOR_CHARACTERS_MAX = 60;

/** Each list's statuses. */
const LISTS = {
  invoices: INVOICE_STATUSES,
  withdrawals: ['pending', 'completed', 'failed'],
  transactions: RECEIPT_STATUSES,
} as const;
type ListName = keyof typeof LISTS;

/** The end of a page as an opaque word for the next request. It names its list, because places of different lists look alike. */
const cursorOf = (list: ListName, { at, id }: ListCursor): string =>
  Buffer.from(`${list[0]}${at}.${id}`).toString('base64url');

/** Null for what is no cursor of this list. Earlier releases did not write the list. */
function placeOf(list: ListName, cursor: string): ListCursor | null {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, of, at, id] = /^([a-z]?)(\d{1,16})\.(\d{1,16})$/.exec(text) ?? [];
  if (at === undefined || id === undefined || (of !== '' && of !== list[0])) return null;
  return { at: Number(at), id: Number(id) };
}

const instant = (field: string, description: string) =>
  z.iso
    .datetime({ offset: true, message: `The ${field} must be a time such as 2026-01-31T00:00:00Z.` })
    .transform((text) => Date.parse(text))
    .optional()
    .meta({ description, override: { type: 'string', format: 'date-time' } });

/** The query of a list. Unknown parameters are ignored, like unknown fields of a body. */
export function listSchema(list: ListName) {
  const statuses = LISTS[list];
  const many = `The limit must be a whole number from 1 to ${LIMIT_MAX}.`;
  return z.object({
    status: z.enum(statuses, `The status must be one of ${statuses.join(', ')}.`).optional(),
    order_id: z
      .string('The order id must be a string.')
      .max(ORDER_ID_CHARACTERS_MAX, `The order id may not be longer than ${ORDER_ID_CHARACTERS_MAX} characters.`)
      .optional(),
    crypto: z
      .string('The crypto must be a string.')
      .refine((symbol) => symbol === 'ALL' || findAsset(symbol) !== undefined, invalidCrypto(SYMBOLS))
      .optional()
      .meta({ override: { enum: SYMBOLS } }),
    created_from: instant('created from', 'At this time or later.'),
    created_to: instant('created to', 'Before this time.'),
    limit: z
      .string(many)
      .regex(/^\d{1,3}$/, many)
      .transform(Number)
      .refine((limit) => limit >= 1 && limit <= LIMIT_MAX, many)
      .optional()
      .meta({ override: { type: ['integer', 'string'], minimum: 1, maximum: LIMIT_MAX, default: LIMIT } }),
    cursor: z
      .string('The cursor is invalid.')
      .max(CURSOR_CHARACTERS_MAX, 'The cursor is invalid.')
      .refine((cursor) => placeOf(list, cursor) !== null, 'The cursor is invalid.')
      .optional(),
  });
}

function filterOf(list: ListName, query: unknown): BookFilter {
  const asked = check(listSchema(list), query);
  return {
    status: asked.status ?? null,
    orderId: asked.order_id ?? null,
    crypto: asked.crypto ?? null,
    from: asked.created_from ?? null,
    to: asked.created_to ?? null,
    limit: asked.limit ?? LIMIT,
    after: asked.cursor === undefined ? null : placeOf(list, asked.cursor),
  };
}

/** One receipt. `value`: in the invoice's currency, at the rate at which it counted. */
function presentReceipt(app: App, business: Business, row: Receipt): Answer<'Transaction'> {
  const asset = assetOf(row.asset);
  const chain = app.chains.find(row.chain_key);
  const confirmations = row.gone ? 0 : (chain?.confirmations(row.block_height) ?? 0);
  return {
    ...shownTransaction(row),
    crypto: row.asset,
    amount: formatUnits(row.units, asset),
    address: row.address,
    status: receiptStatus(row),
    confirmations,
    required_confirmations: shownRequired(row, confirmations),
    network: business.network,
    invoice_id: row.slug,
    order_id: row.order_id,
    counts_for_invoice: !row.gone && (row.claim === 'invoice' || (row.claim === null && row.slug !== null)),
    value: row.value === null || row.currency === null ? null : fiatText(row.value),
    currency: row.currency,
    value_usd: row.usd_value === null ? null : fiatText(row.usd_value),
    created_at: toIso(row.first_seen_at),
  };
}

export function booksRouter(app: App, withKey: WithKey): Router {
  const router = Router(EXACT_PATHS);
  const list = <Row>(
    name: ListName,
    read: (app: App, business: Business, filter: BookFilter) => Promise<BookPage<Row>>,
    present: (business: Business, row: Row) => unknown,
  ): RequestHandler => {
    return async (request, response) => {
      const business = callerOf(response);
      const { rows, next } = await read(app, business, filterOf(name, request.query));
      response.json({ items: rows.map((row) => present(business, row)), next: next && cursorOf(name, next) });
    };
  };
  const invoices = list('invoices', bookInvoices, (_, found) => presentInvoice(app, found));
  const withdrawals = list('withdrawals', bookWithdrawals, (_, row) => presentWithdrawal(app, row));
  const receipts = list('transactions', bookReceipts, (business, row) => presentReceipt(app, business, row));
  router
    .route('/invoices')
    .get(withKey(['invoices']), invoices)
    .all(onlyMethods('GET'));
  router
    .route('/withdrawals')
    .get(withKey(['withdraw']), withdrawals)
    .all(onlyMethods('GET'));
  router
    .route('/transactions')
    .get(withKey(['balance']), receipts)
    .all(onlyMethods('GET'));
  return router;
}
