/** The tables of the counter. See `schema.ts` for the other tables. */
import type { Message } from '../domain/messages.ts';
import { flag, int, json, made, maybe, only, text, time, units } from './columns.ts';

/** `sending`: since before its first byte. `unknown`: it may have arrived. */
type MailState = 'waiting' | 'sending' | 'sent' | 'unknown' | 'failed';

export const COUNTER_TABLES = {
  item: {
    id: made(int),
    business_id: int,
    name: text,
    /** Empty: none. */
    category: text,
    /** 1e-8 of the business's currency, VAT included. */
    price: units,
    /** Hundredths of a percent; null: none was given. */
    vat: maybe(int),
    sold_out: flag,
    removed_at: maybe(time),
  },
  /** `number`: from 1 in each business. `report`: as it was when the day was closed. */
  closing: { id: made(int), business_id: int, number: int, report: json<object>(), closed_at: time },
  /** The e-mail about a closed day. `subject`, `body`, `file`, `next_at`: null once it was sent or given up. `problem`: of the last try. */
  closing_mail: {
    closing_id: int,
    recipients: json<readonly string[]>(),
    subject: maybe(text),
    body: maybe(text),
    /** Comma-separated values. */
    file: maybe(text),
    state: only<MailState>(),
    problem: maybe(json<Message>()),
    tries: int,
    asked_at: time,
    changed_at: time,
    next_at: maybe(time),
  },
  /** `request`: the till's own id of the sale. `tip`: 1e-8 of the invoice's currency, a part of its amount. */
  sale: { invoice_id: int, business_id: int, request: text, tip: units, closing_id: maybe(int) },
  /** An item as it was sold, or an amount that was typed: without an item and a name. */
  sale_line: {
    id: made(int),
    invoice_id: int,
    item_id: maybe(int),
    name: text,
    price: units,
    quantity: int,
    vat: maybe(int),
  },
  closed_refund: { withdrawal_id: int, closing_id: int },
};
