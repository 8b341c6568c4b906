/** Statements about the notices of alerts on the operator's channels. */
import { sql } from 'kysely';
import { insert, last, matching, page, remove, sqlite, statement } from '../statement.ts';

export const newestAlertId = last('alert', [], {}, ['id']);

export const alertsAbove = page('alert', [], {}, ['id', 'kind', 'subject', 'seen_at']);

export const openAlertOf = matching('alert', ['kind', 'subject'], { seen_at: null }, ['id', 'message', 'created_at']);

export const insertNotice = insert('alert_notice', ['channel', 'alert_id', 'state'], 'ignore');

/** Has every channel that sent an alert send it again. Its end is still sent, too. */
export const tellAgain = statement((p: { alert_id: number }) =>
  sqlite
    .insertInto('alert_notice')
    .orIgnore()
    .columns(['channel', 'alert_id', 'state'])
    .expression((from) =>
      from
        .selectFrom('alert_notice')
        .select(['channel', 'alert_id', sql.lit('new').as('state')])
        .where('state', '=', sql.lit('told'))
        .where('alert_id', '=', p.alert_id),
    ),
);

export const dropNotice = remove('alert_notice', 'channel', 'state', 'alert_id');

/** The notices of a channel in a state, with their alerts, oldest first. */
export const noticesOf = statement((p: { channel: string; state: string; limit: number }) =>
  sqlite
    .selectFrom('alert_notice')
    .innerJoin('alert', 'alert.id', 'alert_notice.alert_id')
    .select(['alert.id', 'kind', 'subject', 'message', 'created_at', 'changed_at', 'seen_at', 'ended_at', 'network'])
    .where('channel', '=', p.channel)
    .where('state', '=', p.state)
    .orderBy('alert_notice.alert_id')
    .limit(p.limit),
);

/** Those of them whose alerts were closed since. */
export const closedNotices = statement((p: { channel: string; state: string; limit: number }) =>
  sqlite
    .selectFrom('alert_notice')
    .innerJoin('alert', 'alert.id', 'alert_notice.alert_id')
    .select(['alert.id', 'kind', 'subject', 'message', 'created_at', 'changed_at', 'seen_at', 'ended_at', 'network'])
    .where('channel', '=', p.channel)
    .where('state', '=', p.state)
    .where('seen_at', 'is not', null)
    .orderBy('alert_notice.alert_id')
    .limit(p.limit),
);

/** Drops a channel's notices of all but the newest `kept` alerts. It does not report the end of those. */
export const dropOldNotices = statement((p: { channel: string; channel_again: string; kept: number }) =>
  sqlite
    .deleteFrom('alert_notice')
    .where('channel', '=', p.channel)
    .where('state', '=', sql.lit('told'))
    .where('alert_id', '<=', ({ selectFrom }) =>
      selectFrom('alert_notice')
        .select('alert_id')
        .where('channel', '=', p.channel_again)
        .where('state', '=', sql.lit('told'))
        .orderBy('alert_id', 'desc')
        .limit(1)
        .offset(p.kept),
    ),
);

export const toldAt = matching('alert_told', ['channel', 'kind', 'subject'], {}, ['at']);

export const saveTold = insert('alert_told', ['channel', 'kind', 'subject', 'at'], ['channel', 'kind', 'subject']);

export const dropTold = statement((p: { channel: string; before: number }) =>
  sqlite.deleteFrom('alert_told').where('channel', '=', p.channel).where('at', '<', p.before),
);
