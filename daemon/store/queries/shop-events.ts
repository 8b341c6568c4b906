/** Statements about the events that shops are sent. */
import { type Selectable, sql } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

export type EndpointRow = Selectable<Schema['event_endpoint']>;
export type DeliveryRow = Selectable<Schema['event_delivery']>;

type Nothing = Record<never, never>;

export const endpoints = statement((_: Nothing) =>
  sqlite.selectFrom('event_endpoint').selectAll().where('removed_at', 'is', null).orderBy('id'),
);

export const endpointById = statement((p: { id: number }) =>
  sqlite.selectFrom('event_endpoint').selectAll().where('id', '=', p.id).where('removed_at', 'is', null),
);

export const insertEndpoint = statement(
  (p: { business_id: number; url: string; types: string; secret: string; created_at: number }) =>
    sqlite.insertInto('event_endpoint').values({
      business_id: p.business_id,
      url: p.url,
      types: p.types,
      secret: p.secret,
      former_secret: null,
      former_until: null,
      failing_since: null,
      disabled_at: null,
      disabled_why: null,
      created_at: p.created_at,
      removed_at: null,
    }),
);

export const updateEndpoint = statement((p: Omit<EndpointRow, 'business_id' | 'created_at'>) =>
  sqlite
    .updateTable('event_endpoint')
    .set({
      url: p.url,
      types: p.types,
      secret: p.secret,
      former_secret: p.former_secret,
      former_until: p.former_until,
      failing_since: p.failing_since,
      disabled_at: p.disabled_at,
      disabled_why: p.disabled_why,
      removed_at: p.removed_at,
    })
    .where('id', '=', p.id),
);

export const insertShopEvent = statement((p: Omit<Selectable<Schema['shop_event']>, 'id'>) =>
  sqlite.insertInto('shop_event').values({
    uuid: p.uuid,
    business_id: p.business_id,
    type: p.type,
    subject: p.subject,
    body: p.body,
    created_at: p.created_at,
  }),
);

export const insertDelivery = statement(
  (p: { event_id: number; endpoint_id: number; subject: string; due_at: number }) =>
    sqlite.insertInto('event_delivery').values({
      event_id: p.event_id,
      endpoint_id: p.endpoint_id,
      subject: p.subject,
      state: 'waiting',
      attempts: 0,
      due_at: p.due_at,
      status: null,
      error: null,
      attempted_at: null,
    }),
);

/** What an endpoint is to be sent now: of each subject the oldest that waits, and only once that is due. */
export const dueDeliveries = statement((p: { endpoint_id: number; now: number; limit: number }) =>
  sqlite
    .selectFrom('event_delivery')
    .innerJoin('shop_event', 'shop_event.id', 'event_delivery.event_id')
    .selectAll('event_delivery')
    .select(['shop_event.uuid', 'shop_event.body'])
    .where('event_delivery.state', '=', sql.lit('waiting'))
    .where('event_delivery.endpoint_id', '=', p.endpoint_id)
    .where('event_delivery.due_at', '<=', p.now)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('event_delivery as earlier')
            .select('earlier.id')
            .where('earlier.state', '=', sql.lit('waiting'))
            .whereRef('earlier.endpoint_id', '=', 'event_delivery.endpoint_id')
            .whereRef('earlier.subject', '=', 'event_delivery.subject')
            .whereRef('earlier.id', '<', 'event_delivery.id'),
        ),
      ),
    )
    .orderBy('event_delivery.due_at')
    .limit(p.limit),
);

/** When an endpoint has something to be sent next: the earliest that waits. */
export const nextDue = statement((p: { endpoint_id: number }) =>
  sqlite
    .selectFrom('event_delivery')
    .select('due_at')
    .where('state', '=', sql.lit('waiting'))
    .where('endpoint_id', '=', p.endpoint_id)
    .orderBy('due_at')
    .limit(1),
);

export const deliveryById = statement((p: { id: number }) =>
  sqlite.selectFrom('event_delivery').selectAll().where('id', '=', p.id),
);

export const updateDelivery = statement((p: Omit<DeliveryRow, 'event_id' | 'endpoint_id' | 'subject'>) =>
  sqlite
    .updateTable('event_delivery')
    .set({
      state: p.state,
      attempts: p.attempts,
      due_at: p.due_at,
      status: p.status,
      error: p.error,
      attempted_at: p.attempted_at,
    })
    .where('id', '=', p.id),
);

/** The log, newest first. */
export const deliveriesBelow = statement((p: { id: number; limit: number }) =>
  sqlite
    .selectFrom('event_delivery')
    .innerJoin('shop_event', 'shop_event.id', 'event_delivery.event_id')
    .selectAll('event_delivery')
    .select(['shop_event.uuid', 'shop_event.type', 'shop_event.created_at'])
    .where('event_delivery.id', '<', p.id)
    .orderBy('event_delivery.id', 'desc')
    .limit(p.limit),
);

/** The oldest events that nobody waits for any more. */
export const oldEvents = statement((p: { before: number; limit: number }) =>
  sqlite.selectFrom('shop_event').select('id').where('created_at', '<', p.before).orderBy('created_at').limit(p.limit),
);

export const dropDeliveriesOf = statement((p: { event_id: number }) =>
  sqlite.deleteFrom('event_delivery').where('event_id', '=', p.event_id),
);

export const dropEvent = statement((p: { id: number }) => sqlite.deleteFrom('shop_event').where('id', '=', p.id));
