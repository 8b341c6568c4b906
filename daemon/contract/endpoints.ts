/** The operator API's methods about event endpoints, to which shops' signed events are sent. */
import { z } from 'zod';
import { EVENT_TYPES } from '../domain/merchant.ts';
import { changes, reads } from './method.ts';
import { Id, Instant, Nothing, Page, Text } from './operator-shapes.ts';

const URL_CHARS_MAX = 2_048;

const EndpointShape = z.object({
  id: Id,
  business_id: Id,
  business: z.string(),
  url: z.string(),
  /** Event types; empty: all. */
  types: z.array(z.string()),
  /** Since when every attempt has failed. */
  failing_since: Instant.nullable(),
  /** A disabled endpoint is sent nothing; waiting events are sent once it is enabled. */
  disabled_at: Instant.nullable(),
  disabled_why: z.string().nullable(),
  created_at: Instant,
});

/** `secret`: the key with which a receiver verifies signatures. */
const WithSecret = EndpointShape.extend({ secret: z.string() });

const DeliveryShape = z.object({
  id: Id,
  endpoint_id: Id,
  /** The event's id, the same in every attempt. */
  event: z.string(),
  type: z.string(),
  subject: z.string(),
  state: z.string(),
  attempts: z.int(),
  /** The next attempt; null if none is planned. */
  due_at: Instant.nullable(),
  status: z.int().nullable(),
  error: z.string().nullable(),
  attempted_at: Instant.nullable(),
  created_at: Instant,
});

const One = z.strictObject({ id: Id });
const Types = z.array(z.enum(EVENT_TYPES)).max(EVENT_TYPES.length);

export const ENDPOINTS = {
  'endpoint.list': reads(Nothing, z.object({ endpoints: z.array(EndpointShape) })),
  'endpoint.add': changes(
    z.strictObject({
      business: Text,
      url: z.string().min(1).max(URL_CHARS_MAX),
      types: Types.default([]),
    }),
    z.object({ endpoint: WithSecret }),
  ),
  /** The events that it is sent from now on; none: all. Those that wait are sent as before. */
  'endpoint.types': changes(z.strictObject({ id: Id, types: Types }), z.object({ endpoint: EndpointShape })),
  /** Makes a new secret. The former one signs beside it for a day. */
  'endpoint.rotate': changes(One, z.object({ endpoint: WithSecret })),
  'endpoint.enable': changes(One, z.object({ endpoint: EndpointShape })),
  /** Sends it nothing until it is enabled; its events wait. */
  'endpoint.pause': changes(One, z.object({ endpoint: EndpointShape })),
  /**
   * Sends one signed event of the type `endpoint.test` now, even to a disabled endpoint, and waits for the answer. It is not in the
   * log, and not repeated.
   */
  'endpoint.test': changes(
    One,
    z.object({ status: z.int().nullable(), error: z.string().nullable(), milliseconds: z.int() }),
  ),
  'endpoint.remove': changes(One, z.object({})),
  'delivery.list': reads(Page, z.object({ deliveries: z.array(DeliveryShape), next: Id.nullable() })),
  'delivery.resend': changes(One, z.object({})),
} as const;
