/** What is said about requests that are wrong before any endpoint looks at them, and about keys. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { json as jsonOf, text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

let service: TestDaemon;
beforeAll(async () => {
  service = await startTestDaemon();
});
afterAll(() => service.stop());

const json = { 'content-type': 'application/json' };
const raw = (path: string, init: RequestInit & { duplex?: 'half' } = {}) =>
  fetch(`${service.url}${path}`, { ...init, headers: { 'mb-api-key': service.apiKey, ...init.headers } });

describe('bodies', () => {
  it.each<[string, string, Record<string, string>, number]>([
    ['malformed JSON', '{"amount":', json, 400],
    ['a bare number', '5', json, 400],
    ['a list', '[{"amount":10}]', json, 400],
    ['an empty body', '', json, 422],
    ['text', 'amount=10', { 'content-type': 'text/plain' }, 415],
    ['a form', 'amount=10', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['an unknown character set', '{"amount":10}', { 'content-type': 'application/json; charset=utf-57' }, 415],
    ['an unknown encoding', '{"amount":10}', { ...json, 'content-encoding': 'zip' }, 415],
    ['more than 64 KiB', `{"amount":10,"x":"${'x'.repeat(65_536 - 19)}"}`, json, 413],
  ])('%s', async (_name, body, headers, status) => {
    const response = await raw('/api/v1/merchant/invoice', { method: 'POST', body, headers });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ message: expect.stringMatching(/^\S.+/) });
    expect(response.headers.get('content-type')).toContain('application/json');
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>, string]>([
    ['half of an object', '{"amount":', 'The body could not be read as JSON'],
    [
      'an object in 30,000 lists',
      `{"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
      'The body could not be read as JSON',
    ],
    ['null', 'null', 'The body must be a JSON object'],
    ['a text', '"amount"', 'The body must be a JSON object'],
    ['Latin-1', Buffer.from('{"amount":10,"order_id":"\xc41"}', 'latin1'), 'The body is not valid UTF-8'],
  ])('%s is a 400 that says what is wrong', async (_name, body, message) => {
    const response = await raw('/api/v1/merchant/invoice', { method: 'POST', body, headers: json });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ message });
    const withdrawal = await raw('/api/v1/merchant/withdraw', { method: 'POST', body, headers: json });
    expect(await withdrawal.json()).toEqual({ message, status: 'error' });
  });

  /** The answer to a body in chunks, without a content type. */
  async function inChunks(path: string, texts: string[]): Promise<[number | undefined, unknown]> {
    const headers = { 'mb-api-key': service.apiKey, 'transfer-encoding': 'chunked' };
    const call = request(`${service.url}/api/v1/merchant${path}`, { method: 'POST', headers, agent: false });
    for (const text of texts) call.write(text);
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    return [response.statusCode, await jsonOf(response)];
  }

  it.each(['/invoice', '/withdraw', '/balance'])('in chunks is absent if there are none: %s', async (path) => {
    const absent = await raw(`/api/v1/merchant${path}`, { method: 'POST' });
    expect(await inChunks(path, [])).toEqual([absent.status, await absent.json()]);
    const message = 'The Content-Type must be application/json';
    expect(await inChunks(path, ['{"amount"', ':10}'])).toMatchObject([415, { message }]);
  });

  it('of 64 KiB is read', async () => {
    const body = `{"amount":10,"x":"${'x'.repeat(65_536 - 20)}"}`;
    const response = await raw('/api/v1/merchant/invoice', { method: 'POST', body, headers: json });
    expect(body.length).toBe(65_536);
    expect(response.status).toBe(201);
  });
});

describe('a request that goes past Express is answered as by Express', () => {
  /** A spelling of the content type that is left to Express. */
  const byExpress = { 'content-type': 'Application/JSON' };
  const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
    raw(`/api/v1/merchant/invoice${path}`, { method: 'POST', body, headers });
  const invoice = async (): Promise<string> => {
    const { id } = (await (await post('', '{"amount":12}', json)).json()) as { id: string };
    return id;
  };
  /** Status, headers and body without what differs between two equal requests. */
  const heard = async (response: Response) => {
    const text = (await response.text()).replace(/[A-Za-z0-9]{12}"|bcrt1\w+|[0-9a-f-]{36}|\d\d:\d\d[\d:.]+Z/g, '…');
    return [response.status, [...response.headers].filter(([name]) => name !== 'date'), text];
  };

  it.each<[string, string, string | Uint8Array<ArrayBuffer>, Record<string, string>]>([
    ['an invoice', '', '{"amount":10.5,"order_id":"Ü 1"}', {}],
    ['with a byte order mark', '', '\ufeff{"amount":10}', {}],
    ['below the minimum', '', '{"amount":1}', {}],
    ['without an amount', '', '{}', {}],
    ['half of an object', '', '{"amount":', {}],
    ['nothing but a byte order mark', '', '\ufeff', {}],
    ['a list', '', '[]', {}],
    ['Latin-1', '', Buffer.from('{"amount":10,"order_id":"\xc4"}', 'latin1'), {}],
    ['an empty idempotency key', '', '{"amount":10}', { 'idempotency-key': '' }],
    ['a payment', '/rp/:id', '{"crypto":"BTC"}', {}],
    ['a payment without a coin', '/rp/:id', '{"note":1}', {}],
    ['a payment of an unknown invoice', '/rp/AAAAAAAAAAAA', '{"crypto":"BTC"}', {}],
  ])('%s', async (_name, path, body, headers) => {
    const to = async () => path.replace(':id', path.includes(':id') ? await invoice() : '');
    const direct = await heard(await post(await to(), body, { ...json, ...headers }));
    expect(direct).toEqual(await heard(await post(await to(), body, { ...byExpress, ...headers })));
  });

  it.each(['the same', 'another'])('a repetition with %s body', async (which) => {
    const headers = { 'idempotency-key': `twice ${which}` };
    const first = await heard(await post('', '{"amount":10}', { ...json, ...headers }));
    const body = which === 'the same' ? '{"amount":10}' : '{"amount":11}';
    const again = await heard(await post('', body, { ...byExpress, ...headers }));
    expect(again).toEqual(await heard(await post('', body, { ...json, ...headers })));
    if (which === 'the same') expect(again).toEqual(first);
    else expect(again[0]).toBe(409);
  });

  it.each(['AAAAAAAAAAAA', '00000000-0000-4000-8000-000000000000', ':id'])('reading %s', async (name) => {
    const path = `/api/v1/merchant/invoice/${name.replace(':id', await invoice())}`;
    expect(await heard(await raw(path))).toEqual(await heard(await raw(`${path}?by=Express`)));
  });

  it('a body that breaks off leaves nothing behind, and the connection of others works', async () => {
    const { port, hostname } = new URL(service.url);
    const socket = connect({ port: Number(port), host: hostname });
    socket.write(
      `POST /api/v1/merchant/invoice HTTP/1.1\r\nHost: x\r\nMB-API-KEY: ${service.apiKey}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 30\r\n\r\n{"amount":',
    );
    await once(socket, 'connect');
    socket.destroy();
    await once(socket, 'close');
    expect((await raw('/api/v1/merchant/cryptos')).status).toBe(200);
  });
});

describe('paths and methods', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/api/v1/merchant/nothing'],
    ['GET', '/api/v2/merchant/cryptos'],
    ['GET', '/api/v1/merchant/invoice/a/b/c'],
    ['GET', '/api/v1/operator/status'],
  ])('%s %s is not found', async (method, path) => {
    const response = await raw(path, { method });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ message: 'Not found' });
  });

  it.each([
    ['GET', '/api/v1/merchant/invoice', 'POST'],
    ['PUT', '/api/v1/merchant/invoice/AAAAAAAAAAAA', 'GET, DELETE'],
    ['GET', '/api/v1/merchant/invoice/rp/AAAAAAAAAAAA', 'POST'],
    ['DELETE', '/api/v1/merchant/balance', 'GET, POST'],
    ['POST', '/api/v1/merchant/cryptos', 'GET'],
    ['POST', '/api/v1/merchant/rates/BTC', 'GET'],
    ['GET', '/api/v1/merchant/sandbox/mine', 'POST'],
    ['POST', '/api/v1/openapi.json', 'GET'],
  ])('%s %s is not allowed', async (method, path, allow) => {
    const response = await raw(path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
    expect(await response.json()).toEqual({ message: expect.stringContaining(method) });
  });

  it('a path that is no text is a 400', async () => {
    const response = await raw('/api/v1/merchant/invoice/%ff');
    expect(response.status).toBe(400);
    const message = 'The path is not valid: its percent-encoding cannot be decoded';
    expect(await response.json()).toEqual({ message });
    for (const path of ['withdrawal/%ff', 'invoice/%ff/refund']) {
      const withdrawal = await raw(`/api/v1/merchant/${path}`);
      expect([withdrawal.status, await withdrawal.json()]).toEqual([400, { message, status: 'error' }]);
    }
  });
});

describe('a request that no route hears', () => {
  /** All that a connection answers to some bytes, until it is closed. */
  const answered = async (bytes: string): Promise<{ status: number; heads: string; body: string }> => {
    const { port, hostname } = new URL(service.url);
    const socket = connect({ port: Number(port), host: hostname });
    socket.write(bytes.replace('ch_key', service.apiKey), 'latin1');
    const [heads = '', body = ''] = (await textOf(socket)).split('\r\n\r\n');
    return { status: Number(heads.split(' ')[1]), heads, body };
  };
  const post =
    'POST /api/v1/merchant/invoice HTTP/1.1\r\nHost: x\r\nMB-API-KEY: ch_key\r\nContent-Type: application/json\r\n';

  it.each([
    ['an unknown method', 'FOO /api/v1/merchant/cryptos HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a path with a space', 'GET /api/v1/merchant/rates/a b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['a chunk without a length', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`, 400],
    ['two lengths', `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
    ['no Host', 'GET /api/v1/merchant/cryptos HTTP/1.1\r\n\r\n', 400],
    ['an unknown expectation', `${post}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`, 417],
    ['a URL that has no host', 'GET http:// HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['headers of more than 16 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ])('has the form of other errors: %s', async (_name, bytes, status) => {
    const { heads, body, ...of } = await answered(bytes);
    expect(of.status).toBe(status);
    expect(heads).toMatch(/\r\nContent-Type: application\/json; charset=utf-8/);
    expect(heads).toMatch(new RegExp(`\r\nContent-Length: ${body.length}(\r\n|$)`));
    expect(JSON.parse(body)).toEqual({ message: expect.any(String) });
  });

  it.each(['http://x', 'http://[::1', 'HTTP://a:b'])('may name its path by a whole URL: %s', async (origin) => {
    const end = 'HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    expect((await answered(`GET ${origin}/health?x=/ ${end}`)).status).toBe(200);
    expect((await answered(`GET ${origin}/api/v1/nothing ${end}`)).status).toBe(404);
    const root = (await answered(`GET / ${end}`)).status;
    expect((await answered(`GET ${origin}?x=1 ${end}`)).status).toBe(root);
  });

  it('is answered after those before it on its connection', async () => {
    const good = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n';
    const { status, body } = await answered(`${good}GET /health HTTP/1.1\r\n\r\n`);
    expect([status, body]).toEqual([200, expect.stringMatching(/HTTP\/1.1 400 Bad Request/)]);
  });

  it('without Host is served by HTTP/1.0, which has none', async () => {
    expect((await answered('GET /health HTTP/1.0\r\n\r\n')).status).toBe(200);
  });
});

describe('keys', () => {
  const ENDPOINTS: [string, string, Record<string, string>][] = [
    ['POST', '/invoice', {}],
    ['GET', '/invoice/AAAAAAAAAAAA', {}],
    ['DELETE', '/invoice/AAAAAAAAAAAA', {}],
    ['POST', '/invoice/rp/AAAAAAAAAAAA', {}],
    ['GET', '/cryptos', {}],
    ['GET', '/rates/BTC', {}],
    ['POST', '/balance', { error: 'Unauthorized' }],
    ['GET', '/balance', { error: 'Unauthorized' }],
  ];

  it.each(ENDPOINTS)('%s %s without a key', async (method, path, extra) => {
    const response = await fetch(`${service.url}/api/v1/merchant${path}`, { method });
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({ message: 'API key not provided', ...extra });
  });

  it.each(ENDPOINTS)('%s %s with a wrong key', async (method, path, extra) => {
    const answer = await service.call(method, path, undefined, { 'mb-api-key': 'ch_test_wrong' });
    expect([401, 429]).toContain(answer.status);
    if (answer.status === 401) expect(answer.body).toEqual({ message: 'Invalid API key', ...extra });
  });

  it('guesses are limited, a valid key is not', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 15; i++) {
      const answer = await service.call('GET', '/cryptos', undefined, { 'mb-api-key': `ch_test_guess${i}` });
      statuses.push(answer.status);
      if (answer.status === 429) {
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(answer.body).toEqual({ message: 'Too many requests without a valid API key' });
      }
    }
    expect(statuses).toContain(429);
    expect((await service.call('GET', '/cryptos')).status).toBe(200);
  });

  it('without the scope or out of pace are not called unauthorized by balance', async () => {
    const call = strictCaller(service.dataDir);
    const add = async (scope: 'invoices' | 'balance') =>
      (await call('key.add', { business: '1', name: scope, scopes: [scope], per_minute: 1 })).key.key;
    const balance = (key: string) => service.call('GET', '/balance', undefined, { 'mb-api-key': key });
    const refused = await balance(await add('invoices'));
    const message = 'This API key does not have the scope "balance"';
    expect([refused.status, refused.body]).toEqual([403, { message }]);
    const key = await add('balance');
    const release = service.holdClock();
    expect((await balance(key)).status).toBe(200);
    const slowed = await balance(key);
    release();
    const pace = 'Too many requests with this API key: it may make 1 a minute';
    expect([slowed.status, slowed.body]).toEqual([429, { message: pace }]);
  });
});
