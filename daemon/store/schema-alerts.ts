/** The tables of alerts. See `schema.ts` for the other tables. */
import type { Message } from '../domain/messages.ts';
import { int, json, made, maybe, text, time } from './columns.ts';

export const ALERT_TABLES = {
  alert: {
    id: made(int),
    kind: text,
    subject: text,
    /** Its code and values. */
    message: json<Message>(),
    created_at: time,
    seen_at: maybe(time),
    /** Null: it is about the appliance itself. */
    network: maybe(text),
    /** When the cause ended, which closed the alert; null if the operator marked it as seen, or it is open. */
    ended_at: maybe(time),
    /** When its cause last changed while it was open; null: never. */
    changed_at: maybe(time),
  },
  /** The notices of alerts that a channel must send or has sent. A row is deleted when no further notice can follow. */
  alert_notice: {
    channel: text,
    alert_id: int,
    /** 'new': to be sent. 'told': sent; the end of the alert is sent later. */
    state: text,
  },
  /** When a channel last sent a notice of a kind and subject. */
  alert_told: { channel: text, kind: text, subject: text, at: time },
};
