/** The tables of the events that shops are sent, as `schema.ts` has the others. */
import { int, json, made, maybe, text, time } from './columns.ts';

export const EVENT_TABLES = {
  event_endpoint: {
    id: made(int),
    business_id: int,
    url: text,
    /** A JSON list of types; an empty one means all. */
    types: json<string[]>(),
    /** "whsec_" and base64: what events are signed with (Standard Webhooks). */
    secret: text,
    /** The secret before the last rotation: it signs beside the new one until then. */
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
    /** What a receiver knows it by, however often it comes. */
    uuid: text,
    business_id: int,
    type: text,
    /** What it is about: events of one subject arrive in their order. */
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
    /** Of the last attempt. */
    status: maybe(int),
    error: maybe(text),
    attempted_at: maybe(time),
  },
};
