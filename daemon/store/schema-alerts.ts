/** The tables of alerts, as `schema.ts` has the others. */
import { int, made, maybe, text, time } from './columns.ts';

export const ALERT_TABLES = {
  alert: {
    id: made(int),
    kind: text,
    subject: text,
    message: text,
    created_at: time,
    seen_at: maybe(time),
    /** Null: it is about the appliance itself. */
    network: maybe(text),
    /** When what it says was over, which closes it; null when the operator marked it as seen, or nobody did. */
    ended_at: maybe(time),
  },
  /** What a channel has to tell or has told of an alert; a row goes when there is nothing more to tell of it. */
  alert_notice: {
    channel: text,
    alert_id: int,
    /** 'new': to be told. 'told': its end is to be told, should it come. */
    state: text,
  },
  /** When a channel last told anything of a kind and subject. */
  alert_told: { channel: text, kind: text, subject: text, at: time },
};
