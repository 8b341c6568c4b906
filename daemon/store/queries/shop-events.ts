/** Statements about the events for shops. */
import { sql } from 'kysely';
import type { Row } from '../schema.ts';
import { columnsBut, find, inOrder, insert, matching, remove, sqlite, statement, update } from '../statement.ts';

export type EndpointRow = Row<'event_endpoint'>;
export type DeliveryRow = Row<'event_delivery'>;

export const endpoints = inOrder('event_endpoint', [], { removed_at: null });

export const endpointById = matching('event_endpoint', ['id'], { removed_at: null });

export const insertEndpoint = insert('event_endpoint', ['business_id', 'url', 'types', 'secret', 'created_at']);

export const updateEndpoint = update(
  'event_endpoint',
  [
    'url',
    'types',
    'secret',
    'former_secret',
    'former_until',
    'failing_since',
    'disabled_at',
    'disabled_why',
    'removed_at',
  ],
  'id',
);

export const insertShopEvent = insert('shop_event', columnsBut('shop_event', 'id'));

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

/** The last one of a subject that waits. */
export const lastWaiting = statement((p: { endpoint_id: number; subject: string }) =>
  sqlite
    .selectFrom('event_delivery')
    .select('due_at')
    .where('state', '=', sql.lit('waiting'))
    .where('endpoint_id', '=', p.endpoint_id)
    .where('subject', '=', p.subject)
    .orderBy('id', 'desc')
    .limit(sql.lit(1)),
);

/**
 * Puts off the later deliveries of a subject, which wait for this one, to its time. With an endpoint that takes nothing
 * for a day, they would otherwise be looked at whenever something is due.
 */
export const putOffBehind = statement((p: { id: number; endpoint_id: number; subject: string; due_at: number }) =>
  sqlite
    .updateTable('event_delivery')
    .set({ due_at: p.due_at })
    .where('state', '=', sql.lit('waiting'))
    .where('endpoint_id', '=', p.endpoint_id)
    .where('subject', '=', p.subject)
    .where('id', '>', p.id),
);

/** Makes those deliveries of an endpoint that wait after an attempt due, as if none had been made, and what waits behind them. */
export const restartDeliveries = statement((p: { endpoint_id: number; now: number }) =>
  sqlite
    .updateTable('event_delivery')
    .set({ due_at: p.now, attempts: 0 })
    .where('state', '=', sql.lit('waiting'))
    .where('endpoint_id', '=', p.endpoint_id)
    .where(({ eb, or }) => or([eb('attempts', '>', 0), eb('due_at', '>', p.now)])),
);

/** The events of an endpoint that are due between two times: of each subject the oldest waiting one. */
export const dueDeliveries = statement((p: { endpoint_id: number; from: number; until: number; limit: number }) =>
  sqlite
    .selectFrom('event_delivery')
    .innerJoin('shop_event', 'shop_event.id', 'event_delivery.event_id')
    .selectAll('event_delivery')
    .select(['shop_event.uuid', 'shop_event.body'])
    .where('event_delivery.state', '=', sql.lit('waiting'))
    .where('event_delivery.endpoint_id', '=', p.endpoint_id)
    .where('event_delivery.due_at', '>=', p.from)
    .where('event_delivery.due_at', '<=', p.until)
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

export const deliveryById = find('event_delivery', 'id');

export const updateDelivery = update(
  'event_delivery',
  ['state', 'attempts', 'due_at', 'status', 'error', 'attempted_at'],
  'id',
);

/** The log of deliveries, newest first. */
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

/** The oldest events that were created before a time. */
export const oldEvents = statement((p: { before: number; limit: number }) =>
  sqlite.selectFrom('shop_event').select('id').where('created_at', '<', p.before).orderBy('created_at').limit(p.limit),
);

export const dropDeliveriesOf = remove('event_delivery', 'event_id');

export const dropEvent = remove('shop_event', 'id');
