/**
 * A request of the OpenAPI document, sent to this service's own public server over loopback, so that it is checked and answered as
 * any other.
 *
 * Invariant: it acts for a business of the sandbox, whoever names the key.
 */
import { request } from 'node:http';
import type { App } from '../../app/app.ts';
import { deadline } from '../../app/deadline.ts';
import { findBusiness } from '../../app/operator/find.ts';
import type { Business } from '../../app/shops/directory.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { SCOPES } from '../../domain/merchant.ts';
import { openApi } from '../openapi.ts';
import type { Context } from './context.ts';

const API = '/api/v1';
const ANSWER_MS_MAX = 30_000;
const ANSWER_BYTES_MAX = 1_048_576;
const RETRY_SECONDS = 5;
const VERBS = ['get', 'post', 'put', 'patch', 'delete'];

type Parameter = { name: string; in: 'path' | 'query' | 'header' };
type Operation = { operationId?: string; parameters?: Parameter[]; security?: Record<string, unknown>[] };
type Endpoint = { verb: string; path: string; parameters: Parameter[]; isBrowser: boolean };
type HttpRequest = { verb: string; path: string; headers: Record<string, string>; body: string | null };

/** Throws `Rejected` as `api.try` says. */
export async function tryApi({ app, extra }: Context, wanted: Parsed<'api.try'>): Promise<Result<'api.try'>> {
  const business = findBusiness(app, wanted.business);
  if (business.network !== 'sandbox') throw new Rejected('params', `${business.name} takes real money`, 'business');
  const found = find(app, wanted.operation);
  const { path, headers } = place(found, wanted.parameters);
  const send = (login: Record<string, string>) =>
    exchange(extra.api, { verb: found.verb, path, headers: { ...headers, ...login }, body: wanted.body });
  if (found.isBrowser) return send(asBrowser(app, business));
  if (wanted.key === null) return app.keys.lend(business.id, SCOPES, (key) => send({ 'mb-api-key': key }));
  const caller = app.keys.caller(wanted.key);
  if (!caller) throw new Rejected('key.not_found', 'This API key is unknown, or was revoked', 'key');
  if (app.directory.business(caller.businessId).network !== 'sandbox') {
    throw new Rejected('key.network', 'This API key is for real money: only keys of the sandbox are tried here', 'key');
  }
  return send({ 'mb-api-key': wanted.key });
}

function find(app: App, operationId: string): Endpoint {
  const paths = (openApi(app) as { paths: Record<string, Record<string, unknown>> }).paths;
  for (const [path, operations] of Object.entries(paths)) {
    for (const verb of VERBS) {
      const operation = operations[verb] as Operation | undefined;
      if (operation?.operationId !== operationId) continue;
      const shared = (operations.parameters ?? []) as Parameter[];
      const isBrowser = operation.security?.some((one) => 'clientId' in one) ?? false;
      return { verb, path, parameters: [...shared, ...(operation.parameters ?? [])], isBrowser };
    }
  }
  throw new Rejected('params', 'The API has no such operation', 'operation');
}

/** The path with its parameters filled in, and the headers among them. */
function place({ path, parameters }: Endpoint, given: Record<string, string>): Pick<HttpRequest, 'path' | 'headers'> {
  const unknown = Object.keys(given).find((name) => !parameters.some((one) => one.name === name));
  if (unknown !== undefined) throw new Rejected('params', `This operation has no parameter ${unknown}`, 'parameters');
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let filled = path;
  for (const { name, in: where } of parameters) {
    const value = given[name] ?? '';
    if (where === 'path') {
      // an empty or dotted segment would name another path
      if (/^\.{0,2}$/.test(value)) throw new Rejected('params', `Give a value for ${name}`, 'parameters');
      filled = filled.replace(`{${name}}`, () => encodeURIComponent(value));
    } else if (value !== '' && where === 'query') query.set(name, value);
    else if (value !== '') {
      if (!/^[\x20-\x7e]+$/.test(value)) throw new Rejected('params', `${name} is printable ASCII`, 'parameters');
      headers[name] = value;
    }
  }
  return { path: `${filled}${query.size === 0 ? '' : `?${query}`}`, headers };
}

/** As a page of the business would ask. */
function asBrowser(app: App, business: Business): Record<string, string> {
  const client = app.directory.clients().find(({ businessId }) => businessId === business.id);
  if (!client) throw new Rejected('client.not_found', 'This business has no client ID: make one first');
  const [origin] = client.origins;
  return { 'mb-client-id': client.publicId, ...(origin === undefined ? {} : { origin }) };
}

async function exchange(at: { host: string; port: number }, sent: HttpRequest): Promise<Result<'api.try'>> {
  const began = performance.now();
  const { verb, body, path } = sent;
  const type = body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const asked = request({
    ...at,
    agent: false,
    method: verb.toUpperCase(),
    path: `${API}${path}`,
    headers: { ...sent.headers, ...type },
    signal: deadline(ANSWER_MS_MAX, 'The API'),
  });
  asked.once('error', reject);
  asked.once('response', (response) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > ANSWER_BYTES_MAX) asked.destroy(new Error('the answer is too large'));
      parts.push(part);
    });
    response.once('error', reject);
    response.once('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
  });
  asked.end(body ?? undefined);
  try {
    const { status, text } = await promise;
    const duration = Math.round(performance.now() - began);
    return { request: `${verb.toUpperCase()} ${API}${path}`, status, body: text, duration_ms: duration };
  } catch (error) {
    throw Object.assign(new Unavailable('The API did not answer', RETRY_SECONDS), { cause: error });
  }
}
