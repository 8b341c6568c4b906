/** The tables of events for shops, and of what deadlines wait for. See `schema.ts` for the other tables. */
import { int, json, made, maybe, text, time } from './columns.ts';

export const EVENT_TABLES = {
  /** The answers of servers of several operators about an invoice's addresses, before a deadline counts. */
  absence: {
    invoice_id: int,
    /** The chain of the invoice's coin when it was last wanted. */
    chain_key: text,
    /** Since when a deadline has been waiting for it; null: none does. */
    wanted_at: maybe(time),
    /** The last question; 0 before the first. */
    asked_at: time,
    /** Up to when they showed no further payment in a block; null: they were not asked yet. */
    until: maybe(time),
    /** Their names, a comma between them. */
    servers: text,
  },
  event_endpoint: {
    id: made(int),
    business_id: int,
    url: text,
    /** A JSON list of types; an empty one means all. */
    types: json<string[]>(),
    /** "whsec_" and base64: the key that signs events (Standard Webhooks). */
    secret: text,
    /** The secret before the last rotation. It signs beside the new one until the time below. */
    former_secret: maybe(text),
    former_until: maybe(time),
    /** Since when every attempt has failed; null after a success. */
    failing_since: maybe(time),
    disabled_at: maybe(time),
    disabled_why: maybe(text),
    created_at: time,
    removed_at: maybe(time),
  },
  shop_event: {
    id: made(int),
    /** The event's id for receivers, the same in every attempt. */
    uuid: text,
    business_id: int,
    type: text,
    /** The subject. Events of one subject are delivered in order. */
    subject: text,
    /** The whole JSON text that is signed and sent. */
    body: text,
    created_at: time,
  },
  event_delivery: {
    id: made(int),
    event_id: int,
    endpoint_id: int,
    subject: text,
    /** 'waiting', 'delivered' or 'failed'. */
    state: text,
    attempts: int,
    due_at: time,
    /** The HTTP status of the last attempt. */
    status: maybe(int),
    error: maybe(text),
    attempted_at: maybe(time),
  },
};
