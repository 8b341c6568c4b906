/** The methods about event endpoints. */
import { refusalOf } from '../../app/notifications/destinations.ts';
import {
  addEndpoint,
  changeTypes,
  deliveryPage,
  enableEndpoint,
  pauseEndpoint,
  removeEndpoint,
  resendDelivery,
  rotateSecret,
} from '../../app/notifications/shop-events.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { nextOf } from '../../app/operator/lists.ts';
import type { ENDPOINTS } from '../../contract/endpoints.ts';
import type { Result } from '../../contract/operator.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import type { EndpointRow } from '../../store/queries/shop-events.ts';
import type { Context, Methods } from './context.ts';

function endpointJson({ app }: Context, row: EndpointRow): Result<'endpoint.list'>['endpoints'][number] {
  return {
    id: row.id,
    business_id: row.business_id,
    business: app.directory.business(row.business_id).name,
    url: row.url,
    types: row.types,
    failing_since: isoOrNull(row.failing_since),
    disabled_at: isoOrNull(row.disabled_at),
    disabled_why: row.disabled_why,
    created_at: toIso(row.created_at),
  };
}

const withSecret = (context: Context, row: EndpointRow) => ({
  endpoint: { ...endpointJson(context, row), secret: row.secret },
});

export const ENDPOINT_METHODS: Methods<typeof ENDPOINTS> = {
  'endpoint.list': (context) => ({
    endpoints: context.app.directory.allEndpoints().map((row) => endpointJson(context, row)),
  }),
  'endpoint.add': async (context, { business, url, types }) => {
    const { app } = context;
    const { id } = findBusiness(app, business);
    const refused = refusalOf(url, { allowHosts: app.config.webhook.allowHosts, fromMerchant: true });
    if (refused !== null) throw new Rejected('endpoint.url', `Nothing would be sent to ${url}: ${refused}`, 'url');
    return withSecret(context, await app.store.write((tx) => addEndpoint(app, tx, id, url, types)));
  },
  'endpoint.types': async (context, { id, types }) => ({
    endpoint: endpointJson(context, await context.app.store.write((tx) => changeTypes(context.app, tx, id, types))),
  }),
  'endpoint.rotate': async (context, { id }) =>
    withSecret(context, await context.app.store.write((tx) => rotateSecret(context.app, tx, id))),
  'endpoint.enable': async (context, { id }) => ({
    endpoint: endpointJson(context, await context.app.store.write((tx) => enableEndpoint(context.app, tx, id))),
  }),
  'endpoint.pause': async (context, { id }) => ({
    endpoint: endpointJson(context, await context.app.store.write((tx) => pauseEndpoint(context.app, tx, id))),
  }),
  'endpoint.test': async ({ extra }, { id }) => {
    const { status, error, ms } = await extra.testEndpoint(id);
    return { status, error, milliseconds: Math.round(ms) };
  },
  'endpoint.remove': async ({ app }, { id }) => {
    await app.store.write((tx) => removeEndpoint(app, tx, id));
    return {};
  },
  'delivery.list': ({ app }, params) => {
    const rows = deliveryPage(app, params);
    const deliveries = rows.map((row) => ({
      id: row.id,
      endpoint_id: row.endpoint_id,
      event: row.uuid,
      type: row.type,
      subject: row.subject,
      state: row.state,
      attempts: row.attempts,
      due_at: row.state === 'waiting' ? toIso(row.due_at) : null,
      status: row.status,
      error: row.error,
      attempted_at: isoOrNull(row.attempted_at),
      created_at: toIso(row.created_at),
    }));
    return { deliveries, next: nextOf(rows, params.limit) };
  },
  'delivery.resend': async ({ app }, { id }) => {
    await app.store.write((tx) => resendDelivery(app, tx, id));
    return {};
  },
};
