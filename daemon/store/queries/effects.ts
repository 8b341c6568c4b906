/** Statements about webhooks, alerts, idempotency keys, chain checkpoints and rate history. */
import { sql } from 'kysely';
import { FLAG } from '../../domain/payment.ts';
import type { Row } from '../schema.ts';
import { below, columnsBut, find, insert, last, sqlite, statement, update } from '../statement.ts';

export type WebhookRow = Row<'webhook'>;
export type WebhookAttemptRow = Row<'webhook_attempt'>;
export type AlertRow = Row<'alert'>;

/** Once per invoice: the unique key makes a second notification impossible. */
export const insertWebhook = insert('webhook', columnsBut('webhook', 'id'), 'ignore');

/** A turn: those of one business to one host. */
export type WebhookTurn = Pick<WebhookRow, 'business_id' | 'host'>;

/** The oldest waiting one of the first turn behind another. */
export const nextWebhookTurn = statement((p: WebhookTurn & { lane: string; live: boolean }) =>
  sqlite
    .selectFrom('webhook')
    .select(['business_id', 'host'])
    .where('lane', '=', p.lane)
    .where('live', '=', p.live)
    .where('state', '=', sql.lit('waiting'))
    .where((eb) => eb(eb.refTuple('business_id', 'host'), '>', eb.tuple(p.business_id, p.host)))
    .orderBy('business_id')
    .orderBy('host')
    .limit(1),
);

/** The oldest waiting one of a turn whose chain is none of `held`, a JSON list of keys, or whose invoice the operator decided. */
export const nextOfTurn = statement((p: WebhookTurn & { lane: string; live: boolean; held: string }) =>
  sqlite
    .selectFrom('webhook')
    .selectAll()
    .where('lane', '=', p.lane)
    .where('live', '=', p.live)
    .where('business_id', '=', p.business_id)
    .where('host', '=', p.host)
    .where('state', '=', sql.lit('waiting'))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('payment')
            .select('payment.invoice_id')
            .whereRef('payment.invoice_id', '=', 'webhook.invoice_id')
            .where('payment.chain_key', 'in', sql<string>`(select value from json_each(${p.held}))`)
            .where(sql<boolean>`flags & ${sql.lit(FLAG.markedPaid)} = 0`),
        ),
      ),
    )
    .orderBy('id')
    .limit(1),
);

export const webhookById = find('webhook', 'id');

export const webhooksBelow = below('webhook');

export const webhookOf = find('webhook', 'invoice_id');

/** Changes the state of a webhook if it is still `from`. */
export const stepWebhook = statement((p: { id: number; from: string; to: string }) =>
  sqlite.updateTable('webhook').set({ state: p.to }).where('id', '=', p.id).where('state', '=', p.from),
);

export const insertWebhookAttempt = insert('webhook_attempt', ['webhook_id', 'by_operator', 'started_at']);

export const finishWebhookAttempt = update('webhook_attempt', ['finished_at', 'status', 'error'], 'id');

export const webhookAttemptById = find('webhook_attempt', 'id');

/** One open alert per kind and subject. */
export const insertAlert = insert('alert', columnsBut('alert', 'id', 'seen_at', 'ended_at', 'changed_at'), 'ignore');

/** 0 for alerts about real money or the appliance itself, 1 for the rest. Written as in the index. */
const RANK = sql<number>`(network IS NOT NULL AND network <> 'mainnet')`;

/** Open alerts of a rank below an id, newest first. */
export const openAlerts = statement((p: { rank: number; id: number; limit: number }) =>
  sqlite
    .selectFrom('alert')
    .selectAll()
    .where('seen_at', 'is', null)
    .where(RANK, '=', p.rank)
    .where('id', '<', p.id)
    .orderBy('id', 'desc')
    .limit(p.limit),
);

export const newestAlert = last('alert', [], { seen_at: null }, ['id', 'message']);

/** Returns a row if such an alert was raised between two times, seen or not. */
export const alertSince = statement((p: { kind: string; subject: string; since: number; until: number }) =>
  sqlite
    .selectFrom('alert')
    .select('id')
    .where('kind', '=', p.kind)
    .where('subject', '=', p.subject)
    .where('created_at', '>', p.since)
    .where('created_at', '<=', p.until)
    .limit(1),
);

export const closeAlert = update('alert', ['seen_at'], 'id', { seen_at: null });

/** Corrects the text of an open alert. */
export const rewordAlert = update('alert', ['message'], 'id');

/** Gives an open alert another cause. */
export const changeAlert = update('alert', ['message', 'changed_at'], 'id');

/** Closes the alerts of a subject whose cause is over. */
export const closeAlertsOf = statement((p: { kind: string; subject: string; seen_at: number }) =>
  sqlite
    .updateTable('alert')
    .set({ seen_at: p.seen_at, ended_at: p.seen_at })
    .where('kind', '=', p.kind)
    .where('subject', '=', p.subject)
    .where('seen_at', 'is', null),
);

export const chainState = find('chain_state', 'chain_key');

export const saveChainState = insert('chain_state', columnsBut('chain_state'), ['chain_key']);

export const idempotentAnswer = find('idempotency', 'business_id', 'route', 'key');

export const insertIdempotentAnswer = insert('idempotency', columnsBut('idempotency'), ['business_id', 'route', 'key']);

/** Drops up to `limit` expired answers. */
export const expireIdempotentAnswers = statement((p: { now: number; limit: number }) =>
  sqlite
    .deleteFrom('idempotency')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('business_id', 'route', 'key'),
        'in',
        selectFrom('idempotency')
          .select(['business_id', 'route', 'key'])
          .where('expires_at', 'is not', null)
          .where('expires_at', '<=', p.now)
          .limit(p.limit)
          .$asTuple('business_id', 'route', 'key'),
      ),
    ),
);

export const rateSnapshots = statement((p: { since: number; until: number }) =>
  sqlite.selectFrom('rate_snapshot').selectAll().where('at', '>=', p.since).where('at', '<=', p.until).orderBy('at'),
);

export const insertRateSnapshot = statement((p: { at: number; body: string }) =>
  sqlite.replaceInto('rate_snapshot').values({ at: p.at, body: p.body }),
);

export const dropRateSnapshots = statement((p: { before: number; after: number }) =>
  sqlite.deleteFrom('rate_snapshot').where((eb) => eb.or([eb('at', '<', p.before), eb('at', '>', p.after)])),
);
