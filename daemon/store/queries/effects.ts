/** Statements about webhooks, alerts, idempotency keys, chain checkpoints and rate history. */
import { type Selectable, sql } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

export type WebhookRow = Selectable<Schema['webhook']>;
export type WebhookAttemptRow = Selectable<Schema['webhook_attempt']>;
export type AlertRow = Selectable<Schema['alert']>;

/** Once per invoice: the unique key makes a second notification impossible. */
export const insertWebhook = statement((p: { invoice_id: number; url: string; created_at: number; lane: string }) =>
  sqlite
    .insertInto('webhook')
    .values({ invoice_id: p.invoice_id, url: p.url, state: 'waiting', created_at: p.created_at, lane: p.lane })
    .onConflict((conflict) => conflict.doNothing()),
);

export const waitingWebhooks = statement((p: { lane: string; limit: number }) =>
  sqlite
    .selectFrom('webhook')
    .selectAll()
    .where('lane', '=', p.lane)
    .where('state', '=', sql.lit('waiting'))
    .orderBy('id')
    .limit(p.limit),
);

export const webhookById = statement((p: { id: number }) =>
  sqlite.selectFrom('webhook').selectAll().where('id', '=', p.id),
);

export const webhooksBelow = statement((p: { id: number; limit: number }) =>
  sqlite.selectFrom('webhook').selectAll().where('id', '<', p.id).orderBy('id', 'desc').limit(p.limit),
);

export const webhookOf = statement((p: { invoice_id: number }) =>
  sqlite.selectFrom('webhook').selectAll().where('invoice_id', '=', p.invoice_id),
);

/** Moves a webhook on, if it is still where the caller believes it to be. */
export const stepWebhook = statement((p: { id: number; from: string; to: string }) =>
  sqlite.updateTable('webhook').set({ state: p.to }).where('id', '=', p.id).where('state', '=', p.from),
);

export const insertWebhookAttempt = statement((p: { webhook_id: number; by_operator: number; started_at: number }) =>
  sqlite.insertInto('webhook_attempt').values({
    webhook_id: p.webhook_id,
    by_operator: p.by_operator,
    started_at: p.started_at,
    finished_at: null,
    status: null,
    error: null,
  }),
);

export const finishWebhookAttempt = statement(
  (p: { id: number; finished_at: number; status: number | null; error: string | null }) =>
    sqlite
      .updateTable('webhook_attempt')
      .set({ finished_at: p.finished_at, status: p.status, error: p.error })
      .where('id', '=', p.id),
);

export const webhookAttemptById = statement((p: { id: number }) =>
  sqlite.selectFrom('webhook_attempt').selectAll().where('id', '=', p.id),
);

export const webhookAttempts = statement((p: { webhook_id: number }) =>
  sqlite.selectFrom('webhook_attempt').selectAll().where('webhook_id', '=', p.webhook_id).orderBy('id'),
);

/** One open alert per kind and subject. */
export const insertAlert = statement((p: Omit<AlertRow, 'id' | 'seen_at'>) =>
  sqlite
    .insertInto('alert')
    .values({
      kind: p.kind,
      subject: p.subject,
      message: p.message,
      created_at: p.created_at,
      seen_at: null,
      network: p.network,
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** 0 for what is about real money or the appliance itself, 1 for the rest. Spelled as the index has it. */
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

export const newestAlert = statement((_: Record<never, never>) =>
  sqlite.selectFrom('alert').select(['id', 'message']).where('seen_at', 'is', null).orderBy('id', 'desc').limit(1),
);

/** Whether such an alert was raised since an instant, seen or not: a row, or none. */
export const alertSince = statement((p: { kind: string; subject: string; since: number }) =>
  sqlite
    .selectFrom('alert')
    .select('id')
    .where('kind', '=', p.kind)
    .where('subject', '=', p.subject)
    .where('created_at', '>', p.since)
    .limit(1),
);

export const closeAlert = statement((p: { id: number; seen_at: number }) =>
  sqlite.updateTable('alert').set({ seen_at: p.seen_at }).where('id', '=', p.id).where('seen_at', 'is', null),
);

/** Closes what was said of a subject: it is over. */
export const closeAlertsOf = statement((p: { kind: string; subject: string; seen_at: number }) =>
  sqlite
    .updateTable('alert')
    .set({ seen_at: p.seen_at })
    .where('kind', '=', p.kind)
    .where('subject', '=', p.subject)
    .where('seen_at', 'is', null),
);

export const chainState = statement((p: { chain_key: string }) =>
  sqlite.selectFrom('chain_state').selectAll().where('chain_key', '=', p.chain_key),
);

export const saveChainState = statement(
  (p: { chain_key: string; checkpoint: string; synced_at: number; ahead: string }) =>
    sqlite
      .insertInto('chain_state')
      .values({ chain_key: p.chain_key, checkpoint: p.checkpoint, synced_at: p.synced_at, ahead: p.ahead })
      .onConflict((conflict) =>
        conflict.column('chain_key').doUpdateSet({ checkpoint: p.checkpoint, synced_at: p.synced_at, ahead: p.ahead }),
      ),
);

export const idempotentAnswer = statement((p: { business_id: number; route: string; key: string }) =>
  sqlite
    .selectFrom('idempotency')
    .selectAll()
    .where('business_id', '=', p.business_id)
    .where('route', '=', p.route)
    .where('key', '=', p.key),
);

export const insertIdempotentAnswer = statement(
  (p: {
    business_id: number;
    route: string;
    key: string;
    body_hash: Uint8Array;
    status: number;
    body: string;
    created_at: number;
    expires_at: number | null;
  }) =>
    sqlite.replaceInto('idempotency').values({
      business_id: p.business_id,
      route: p.route,
      key: p.key,
      body_hash: p.body_hash,
      status: p.status,
      body: p.body,
      created_at: p.created_at,
      expires_at: p.expires_at,
    }),
);

/** Drops some of those that have expired. */
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
