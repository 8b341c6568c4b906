/** The tables of the events that shops are sent, as `schema.ts` has the others. */
import type { Generated } from 'kysely';

export type EventTables = {
  event_endpoint: {
    id: Generated<number>;
    business_id: number;
    url: string;
    /** A JSON list of types; an empty one means all. */
    types: string;
    /** "whsec_" and base64: what events are signed with (Standard Webhooks). */
    secret: string;
    /** The secret before the last rotation: it signs beside the new one until then. */
    former_secret: string | null;
    former_until: number | null;
    /** Since when every attempt has failed; null after a success. */
    failing_since: number | null;
    disabled_at: number | null;
    disabled_why: string | null;
    created_at: number;
    removed_at: number | null;
  };
  shop_event: {
    id: Generated<number>;
    /** What a receiver knows it by, however often it comes. */
    uuid: string;
    business_id: number;
    type: string;
    /** What it is about: events of one subject arrive in their order. */
    subject: string;
    /** The whole JSON text that is signed and sent. */
    body: string;
    created_at: number;
  };
  event_delivery: {
    id: Generated<number>;
    event_id: number;
    endpoint_id: number;
    subject: string;
    /** 'waiting', 'delivered' or 'failed'. */
    state: string;
    attempts: number;
    due_at: number;
    /** Of the last attempt. */
    status: number | null;
    error: string | null;
    attempted_at: number | null;
  };
};
