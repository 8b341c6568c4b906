/** Who gets to the operator API: programs with the token, and no web page. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { Agent, createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NoDaemon, NotTheDaemon, OperatorError, operatorClient } from '../../daemon/contract/client.ts';
import type { OperatorFile } from '../../daemon/contract/operator.ts';
import { newChallenge, proofOf } from '../../daemon/contract/proof.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { operatorFile, rightHeaders, send } from './operator-raw.ts';

let daemon: TestDaemon;
let file: OperatorFile;
beforeAll(async () => {
  daemon = await startTestDaemon('[operator]\nlisten = "loopback"\n');
  file = await operatorFile(daemon.dataDir);
});
afterAll(() => daemon.stop());

const STATUS = '/operator/v1/status';
const port = (): string => new URL(file.url).port;

type Row = {
  what: string;
  method?: string;
  path?: string;
  headers?: () => Record<string, string>;
  body?: string | Buffer;
  expected: { status: number; code?: string };
};

const rows: Row[] = [
  { what: 'a right call', expected: { status: 200 } },
  { what: 'localhost', headers: () => ({ host: `localhost:${port()}` }), expected: { status: 200 } },
  { what: 'IPv6 loopback as Host', headers: () => ({ host: `[::1]:${port()}` }), expected: { status: 200 } },
  { what: 'our own origin', headers: () => ({ origin: `http://127.0.0.1:${port()}` }), expected: { status: 200 } },
  {
    what: 'JSON with a charset',
    headers: () => ({ 'content-type': 'application/json; charset=UTF-8' }),
    expected: { status: 200 },
  },
  {
    what: 'a rebound name',
    headers: () => ({ host: `evil.example:${port()}` }),
    expected: { status: 403, code: 'host' },
  },
  {
    what: 'a name that begins like ours',
    headers: () => ({ host: `127.0.0.1.evil.example:${port()}` }),
    expected: { status: 403, code: 'host' },
  },
  {
    what: 'our name on another port',
    headers: () => ({ host: '127.0.0.1:1' }),
    expected: { status: 403, code: 'host' },
  },
  { what: 'our name without a port', headers: () => ({ host: '127.0.0.1' }), expected: { status: 403, code: 'host' } },
  {
    what: 'a page elsewhere',
    headers: () => ({ origin: 'https://evil.example' }),
    expected: { status: 403, code: 'origin' },
  },
  {
    what: 'a page on this machine, another port',
    headers: () => ({ origin: 'http://127.0.0.1:3000' }),
    expected: { status: 403, code: 'origin' },
  },
  { what: 'a sandboxed page', headers: () => ({ origin: 'null' }), expected: { status: 403, code: 'origin' } },
  {
    what: 'our origin by https',
    headers: () => ({ origin: `https://127.0.0.1:${port()}` }),
    expected: { status: 403, code: 'origin' },
  },
  { what: 'no token', headers: () => ({ authorization: '' }), expected: { status: 401, code: 'token' } },
  {
    what: 'a wrong token',
    headers: () => ({ authorization: `Bearer ${'x'.repeat(43)}` }),
    expected: { status: 401, code: 'token' },
  },
  {
    what: 'the token with more behind it',
    headers: () => ({ authorization: `Bearer ${file.token}x` }),
    expected: { status: 401, code: 'token' },
  },
  {
    what: 'another scheme',
    headers: () => ({ authorization: `Basic ${file.token}` }),
    expected: { status: 401, code: 'token' },
  },
  {
    what: 'a form',
    headers: () => ({ 'content-type': 'application/x-www-form-urlencoded' }),
    expected: { status: 415, code: 'content_type' },
  },
  {
    what: 'plain text, which needs no preflight',
    headers: () => ({ 'content-type': 'text/plain' }),
    expected: { status: 415, code: 'content_type' },
  },
  { what: 'GET', method: 'GET', expected: { status: 405, code: 'method.not_allowed' } },
  {
    what: 'a preflight',
    method: 'OPTIONS',
    headers: () => ({ authorization: '', origin: 'https://evil.example' }),
    expected: { status: 403, code: 'origin' },
  },
  { what: 'an unknown method', path: '/operator/v1/business.burn', expected: { status: 404, code: 'method.unknown' } },
  {
    what: 'a method of every object',
    path: '/operator/v1/constructor',
    expected: { status: 404, code: 'method.unknown' },
  },
  { what: 'another path', path: '/status', expected: { status: 404, code: 'method.unknown' } },
  { what: 'no body', body: '', expected: { status: 200 } },
  { what: 'broken JSON', body: '{"a":', expected: { status: 400, code: 'body.json' } },
  {
    what: 'Latin-1',
    body: Buffer.from('{"order_id":"\xc41"}', 'latin1'),
    expected: { status: 400, code: 'body.encoding' },
  },
  { what: 'a list', body: '[]', expected: { status: 422, code: 'params' } },
  { what: 'an unknown parameter', body: '{"limitt":3}', expected: { status: 422, code: 'params' } },
  {
    what: 'a body over 1 MiB',
    body: `{"a":"${'x'.repeat(1_048_576)}"}`,
    expected: { status: 413, code: 'body.too_large' },
  },
];

describe('the gate', () => {
  it.each(rows)('answers $what with $expected.status', async ({ method, path, headers, body, expected }) => {
    const answer = await send(file, path ?? STATUS, {
      ...(method === undefined ? {} : { method }),
      headers: { ...rightHeaders(file), ...headers?.() },
      ...(method === 'GET' || method === 'OPTIONS' ? {} : { body: body ?? '{}' }),
    });
    const code = (answer.body as { error?: { code: string } }).error?.code;
    expect({ status: answer.status, ...(code === undefined ? {} : { code }) }).toEqual(expected);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  it('answers the next call on the connection of one that was too large', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const large = `"${'x'.repeat(16 * 1_048_576)}"`;
    expect((await send(file, STATUS, { headers: rightHeaders(file), body: large, agent })).status).toBe(413);
    const begun = performance.now();
    expect((await send(file, STATUS, { headers: rightHeaders(file), body: '{}', agent })).status).toBe(200);
    // a connection that nobody reads on is given up after six seconds
    expect(performance.now() - begun).toBeLessThan(4_000);
    agent.destroy();
  });

  it.each<[method: string, params: object, field: string | undefined, message: string]>([
    ['invoice.list', { limit: 201 }, 'limit', 'limit: at most 200'],
    ['invoice.list', { limit: 0 }, 'limit', 'limit: at least 1'],
    ['invoice.list', { limit: 1.5 }, 'limit', 'limit: must be a whole number'],
    ['invoice.list', { limit: '5' }, 'limit', 'limit: must be a number'],
    ['invoice.list', { limitt: 5 }, 'limitt', 'limitt: there is no such parameter'],
    ['invoice.list', { status: 'open' }, 'status', 'status: use unpaid, paid or canceled'],
    ['invoice.list', [], undefined, 'must be an object'],
    ['invoice.show', {}, 'invoice', 'invoice: must be a text'],
    ['invoice.show', { invoice: '' }, 'invoice', 'invoice: must not be empty'],
    ['invoice.show', { invoice: 'x'.repeat(301) }, 'invoice', 'invoice: at most 300 characters'],
    ['withdrawal.show', { id: 'abc' }, 'id', 'id: must be the number of a withdrawal, such as 12'],
    ['withdrawal.propose', { kind: 'batch', ids: ['1'] }, 'ids', 'ids: at least 2'],
    [
      'withdrawal.add',
      { business: 'Sandbox', crypto: 'LTC', address: 'x', amount: '1e3' },
      'amount',
      'amount: must be a positive number, such as 0.5',
    ],
    [
      'key.add',
      { business: 'Sandbox', name: 'x', scopes: ['all'] },
      'scopes.0',
      'scopes.0: use invoices, balance, withdraw or refund',
    ],
  ])('says what is wrong with %s %j', async (method, params, field, message) => {
    const body = JSON.stringify(params);
    const answer = await send(file, `/operator/v1/${method}`, { headers: rightHeaders(file), body });
    expect(answer.status).toBe(422);
    expect(answer.body).toEqual({ error: { code: 'params', ...(field === undefined ? {} : { field }), message } });
  });

  it('is not served on the public port', async () => {
    const response = await fetch(`${daemon.url}${STATUS}`, { method: 'POST', headers: rightHeaders(file), body: '{}' });
    expect(response.status).toBe(404);
  });
});

/** A stranger on the port that a killed daemon left: it keeps all that it is told. */
async function stranger(answer: (challenge: string) => { status: number; body: unknown; close?: boolean }) {
  const told: string[] = [];
  const server = createHttpServer((request, response) => {
    told.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    request.on('data', (part: Buffer) => told.push(part.toString()));
    request.on('end', () => {
      const { status, body, close } = answer(`${request.headers['countinghouse-challenge']}`);
      response.writeHead(status, { 'content-type': 'application/json', ...(close ? { connection: 'close' } : {}) });
      response.end(JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  const dataDir = await mkdtemp(join(tmpdir(), 'stale-'));
  const stale: OperatorFile = { url: `http://127.0.0.1:${taken}`, socket: null, token: 'k'.repeat(43) };
  await writeFile(join(dataDir, 'operator.json'), JSON.stringify(stale));
  return {
    told,
    stale,
    call: () => operatorClient(dataDir)('wallet.unlock', { sealed: { key: 'k', nonce: 'n', box: 'b' } }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

describe('before the other side has proved that it is the daemon', () => {
  it.each<[string, (challenge: string) => { status: number; body: unknown }]>([
    ['knows nothing', () => ({ status: 404, body: {} })],
    ['says anything', () => ({ status: 200, body: { proof: 'a'.repeat(64) } })],
    ['says the challenge', (challenge) => ({ status: 200, body: { proof: challenge } })],
    [
      'has the proof of a daemon that listens elsewhere',
      (challenge) => ({
        status: 200,
        body: { proof: proofOf({ url: 'http://127.0.0.1:1', socket: null, token: 'k'.repeat(43) }, challenge) },
      }),
    ],
    ['says what is no text', () => ({ status: 200, body: { proof: { length: 64 } } })],
  ])('who %s is told neither the token nor what is asked', async (_, answers) => {
    const thief = await stranger(answers);
    await expect(thief.call()).rejects.toBeInstanceOf(NotTheDaemon);
    expect(thief.told).toHaveLength(1);
    expect(thief.told.join()).not.toMatch(/k{43}|Bearer|wallet|sealed/);
    await thief.close();
  });

  it('what was proved on one connection is not believed on the next', async () => {
    const thief = await stranger((challenge) => ({
      status: 200,
      body: { proof: proofOf(thief.stale, challenge) },
      close: true,
    }));
    await expect(thief.call()).rejects.toThrow('did not answer');
    expect(thief.told).toHaveLength(1);
    await thief.close();
  });

  it('a proof is of a challenge, and for no web page', async () => {
    const challenge = newChallenge();
    const path = '/operator/v1/proof';
    const ask = (headers: Record<string, string>, method = 'GET') => send(file, path, { method, headers });
    expect((await ask({ 'countinghouse-challenge': challenge })).body).toEqual({ proof: proofOf(file, challenge) });
    expect((await ask({})).status).toBe(400);
    expect((await ask({ 'countinghouse-challenge': 'short' })).status).toBe(400);
    expect((await ask({ 'countinghouse-challenge': challenge }, 'POST')).status).toBe(400);
    expect((await ask({ 'countinghouse-challenge': challenge, origin: 'https://evil.example' })).status).toBe(403);
    expect((await ask({ 'countinghouse-challenge': challenge, host: 'evil.example' })).status).toBe(403);
  });
});

describe('operator.json', () => {
  it("is for the owner's eyes, new at each start, gone after a stop", async () => {
    const own = await startTestDaemon();
    try {
      const path = join(own.dataDir, 'operator.json');
      const first = await operatorFile(own.dataDir);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(Buffer.from(first.token, 'base64url')).toHaveLength(32);
      await own.restart();
      const second = await operatorFile(own.dataDir);
      expect(second.token).not.toBe(first.token);
      const old = await send(second, STATUS, { headers: rightHeaders({ ...second, token: first.token }), body: '{}' });
      expect(old.status).toBe(401);
      await own.daemon.stop();
      expect(existsSync(path)).toBe(false);
      await expect(operatorClient(own.dataDir)('status', {})).rejects.toBeInstanceOf(NoDaemon);
      // what a killed daemon leaves behind
      await writeFile(path, JSON.stringify(second));
      await expect(operatorClient(own.dataDir)('status', {})).rejects.toBeInstanceOf(NoDaemon);
    } finally {
      await own.stop();
    }
  });
});

describe.skipIf(process.platform === 'win32')('on a unix socket', () => {
  it('listens by default, where only its owner enters', async () => {
    const own = await startTestDaemon();
    const { socket } = await operatorFile(own.dataDir);
    expect(socket).toBe(join(own.dataDir, 'operator', 'operator.sock'));
    expect((await stat(dirname(socket ?? ''))).mode & 0o777).toBe(0o700);
    expect((await operatorClient(own.dataDir)('status', {})).data_dir).toBe(own.dataDir);
    await own.stop();
  });

  it('serves, takes the place of a dead socket, and leaves other files alone', async () => {
    const path = join(tmpdir(), `countinghouse-${process.pid}.sock`);
    const own = await startTestDaemon(`[operator]\nsocket = "${path}"\n`);
    try {
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      const found = await operatorFile(own.dataDir);
      expect(found).toMatchObject({ url: 'http://localhost', socket: path });
      expect((await operatorClient(own.dataDir)('status', {})).data_dir).toBe(own.dataDir);
      const rebound = await send(found, STATUS, {
        headers: { ...rightHeaders(found), host: 'evil.example' },
        body: '{}',
      });
      expect(rebound.status).toBe(403);
      await own.daemon.stop();
      await leaveDeadSocket(path);
      await own.restart();
      expect((await operatorClient(own.dataDir)('status', {})).data_dir).toBe(own.dataDir);
      await own.daemon.stop();
      await writeFile(path, 'not a socket');
      await expect(own.restart()).rejects.toThrow(/operator socket .* cannot be used/);
      expect((await stat(path)).isFile()).toBe(true);
    } finally {
      await own.stop();
    }
  });
});

/** A socket file that nobody listens on: closing a server removes its file, so the file is moved away meanwhile. */
async function leaveDeadSocket(path: string): Promise<void> {
  const { rename } = await import('node:fs/promises');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await rename(path, `${path}.aside`);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await rename(`${path}.aside`, path);
}

describe('the client', () => {
  it('throws what the daemon refused', async () => {
    const refused = operatorClient(daemon.dataDir)('key.revoke', { id: 999 });
    await expect(refused).rejects.toBeInstanceOf(OperatorError);
    await expect(refused).rejects.toMatchObject({ status: 404, code: 'key.not_found' });
  });
});
