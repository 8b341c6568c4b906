/** Who gets to the console's listener: browsers that used a link once, from its own page, and for what they may. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { openShop } from '../support/shop.ts';
import { refusal, strictCaller } from './operator-raw.ts';

let daemon: TestDaemon;
let origin: string;
beforeAll(async () => {
  buildConsole();
  daemon = await startTestDaemon('[console]\nport = 0\n');
  origin = new URL(await link()).origin;
});
afterAll(() => daemon.stop());

const link = async (): Promise<string> => (await strictCaller(daemon.dataDir)('console.open', {})).url;
const codeOf = (url: string): string => /#sign-in=([\w-]{43})$/.exec(url)![1]!;

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; body: Body };
type Body = { key?: string; scope?: string; approvals?: boolean; error?: { code: string } };
type Ask = { method?: string; headers?: Record<string, string>; body?: string };

/** Sends exactly these headers. */
function ask(path: string, { method = 'POST', headers = {}, body = '{}' }: Ask = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { hostname, port, host } = new URL(origin);
  const all = { host, origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json', ...headers };
  const call = request({ hostname, port, path, method, headers: all, agent: false }, (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.on('end', () => {
      const text = Buffer.concat(parts).toString();
      const isJson = response.headers['content-type']?.startsWith('application/json');
      resolve({ status: response.statusCode!, headers: response.headers, body: isJson ? JSON.parse(text) : {} });
    });
  });
  call.once('error', reject);
  call.end(method === 'GET' ? undefined : body);
  return promise;
}

/** The headers of a browser that has signed in. */
async function signIn(): Promise<Record<string, string>> {
  const answer = await ask('/session/sign-in', { body: JSON.stringify({ code: codeOf(await link()) }) });
  expect(answer.status).toBe(200);
  const [cookie] = answer.headers['set-cookie'] as string[];
  expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
  return { cookie: cookie!.split(';')[0]!, 'countinghouse-key': answer.body.key! };
}

describe('a sign-in link', () => {
  it('works once', async () => {
    const body = JSON.stringify({ code: codeOf(await link()) });
    expect((await ask('/session/sign-in', { body })).status).toBe(200);
    const again = await ask('/session/sign-in', { body });
    expect([again.status, again.body.error?.code, again.headers['set-cookie']]).toEqual([
      403,
      'console.link',
      undefined,
    ]);
  });

  it('ends after ten minutes', async () => {
    const body = JSON.stringify({ code: codeOf(await link()) });
    daemon.advance(600_001);
    expect((await ask('/session/sign-in', { body })).status).toBe(403);
  });

  it('keeps its code out of requests: it is in the fragment', async () => {
    expect(new URL(await link()).search).toBe('');
  });

  it.each(['', '{}', '{"code":5}', '[]', '{"code":"x","more":1}'])('is not %s', async (body) => {
    expect([403, 400]).toContain((await ask('/session/sign-in', { body })).status);
  });
});

describe('a call', () => {
  let signed: Record<string, string>;
  beforeAll(async () => {
    signed = await signIn();
  });
  const port = (): string => new URL(origin).port;

  it('is answered with both halves of a session', async () => {
    const answer = await ask('/call/status', { headers: signed });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it.each<[string, () => Record<string, string>, number, string]>([
    ['without the cookie', () => ({ cookie: '' }), 401, 'session'],
    ['without the key', () => ({ 'countinghouse-key': '' }), 401, 'session'],
    ['with another key', () => ({ 'countinghouse-key': 'x'.repeat(43) }), 401, 'session'],
    ['of a page elsewhere', () => ({ origin: 'https://evil.example' }), 403, 'origin'],
    ['of another port of this machine', () => ({ origin: 'http://127.0.0.1:3000' }), 403, 'origin'],
    ['of the same server by another name', () => ({ origin: `http://localhost:${port()}` }), 403, 'origin'],
    ['of a sandboxed page', () => ({ origin: 'null' }), 403, 'origin'],
    ['without an origin', () => ({ origin: '' }), 403, 'origin'],
    ['that the browser calls cross-site', () => ({ 'sec-fetch-site': 'cross-site' }), 403, 'origin'],
    ['that the browser calls same-site', () => ({ 'sec-fetch-site': 'same-site' }), 403, 'origin'],
    ['to a rebound name', () => ({ host: `evil.example:${port()}` }), 403, 'host'],
    ['to our name on another port', () => ({ host: '127.0.0.1:1' }), 403, 'host'],
    ['as a form', () => ({ 'content-type': 'application/x-www-form-urlencoded' }), 415, 'content_type'],
    ['as plain text', () => ({ 'content-type': 'text/plain' }), 415, 'content_type'],
  ])('%s is refused', async (_what, headers, status, code) => {
    const answer = await ask('/call/status', { headers: { ...signed, ...headers() } });
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  it.each([
    ['/call/business.burn', '{}', 404],
    ['/call/constructor', '{}', 404],
    ['/call/__proto__', '{}', 404],
    ['/call/', '{}', 404],
    ['/nothing', '{}', 404],
    ['/call/console.open', '{}', 403],
    ['/call/wallet.keychain', '{"on":true}', 403],
    ['/call/invoice.list', '{"limitt":1}', 422],
    ['/call/invoice.list', '[]', 422],
    ['/call/invoice.list', '{"limit":', 400],
    ['/call/invoice.list', `{"status":"${'x'.repeat(1_048_576)}"}`, 413],
  ])('of %s with %.20s is answered %i', async (path, body, status) => {
    expect((await ask(path, { headers: signed, body })).status).toBe(status);
  });

  it('is a POST', async () => {
    expect((await ask('/call/status', { method: 'PUT', headers: signed })).status).toBe(405);
    expect((await ask('/call/status', { method: 'GET', headers: signed })).status).toBe(404);
    expect((await ask('/call/status', { method: 'OPTIONS', headers: signed })).status).toBe(405);
  });

  it('is refused at once when its session was ended elsewhere, and while it waits', async () => {
    const other = await signIn();
    const { sessions } = await strictCaller(daemon.dataDir)('console.list', {});
    const newest = sessions.at(-1)!;
    const first = await ask('/call/events.next', { headers: other });
    const { cursor } = first.body as unknown as { cursor: string };
    const waiting = ask('/call/events.next', { headers: other, body: JSON.stringify({ cursor }) }).catch(() => 'cut');
    // the wait has begun when a later call of the same session is answered
    await ask('/call/status', { headers: other });
    expect(await strictCaller(daemon.dataDir)('console.end', { id: newest.id })).toEqual({ ended: 1 });
    expect(await waiting).toBe('cut');
    expect((await ask('/call/status', { headers: other })).status).toBe(401);
    expect((await ask('/call/status', { headers: signed })).status).toBe(200);
  });
});

describe('a session', () => {
  it('that is locked to the counter sells and does nothing else, and cannot unlock itself', async () => {
    const till = await signIn();
    expect((await ask('/session/lock', { headers: till })).status).toBe(200);
    expect((await ask('/session', { headers: till })).body).toEqual({ scope: 'counter', approvals: true });
    for (const method of ['status', 'business.list', 'key.list', 'console.end', 'wallet.lock', 'invoice.list']) {
      expect([method, (await ask(`/call/${method}`, { headers: till })).status]).toEqual([method, 403]);
    }
    expect((await ask('/call/counter.show', { headers: till })).status).toBe(200);
  });

  it('outlives a restart, as a hash in a file of the owner alone', async () => {
    const kept = await signIn();
    const file = join(daemon.dataDir, 'console.json');
    const text = await readFile(file, 'utf8');
    expect(text).not.toContain(kept['countinghouse-key']);
    expect(text).not.toContain(kept.cookie!.split('=')[1]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await daemon.restart();
    origin = new URL(await link()).origin;
    // the name of the cookie has the port, because cookies are for all ports of a host
    const cookie = `countinghouse-${new URL(origin).port}=${kept.cookie!.split('=')[1]}`;
    expect((await ask('/call/status', { headers: { ...kept, cookie } })).status).toBe(200);
  });

  it('ends a month after its last use', async () => {
    const idle = await signIn();
    daemon.advance(31 * 86_400_000);
    expect((await ask('/call/status', { headers: idle })).status).toBe(401);
  });

  it('is limited in how often it is tried', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => ask('/session/sign-in', { body: '{"code":"wrong"}' })),
    );
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    daemon.advance(600_000);
  });
});

it('without the passphrase moves no money, changes no limit, reads no words and writes over no file', async () => {
  const thief = await signIn();
  const { operator } = await openShop(daemon, ['invoices', 'withdraw'], 'Real shop');
  const { seal_key: key } = await operator.call('wallet.sealKey', {});
  const business = 'Real shop';
  const box = { key, nonce: 'AAAAAAAAAAAAAAAA', box: 'AAAA' };
  const policy = { business, mode: 'automatic', per_withdrawal_usd: '1000000', per_day_usd: '1000000' };
  const before = await operator.call('policy.show', { business });
  const config = join(daemon.dataDir, 'countinghouse.toml');
  const text = await readFile(config, 'utf8');
  const tried: [string, object][] = [
    ['policy.set', { ...policy, grants: [] }],
    ['withdrawal.approve', { proposal: { kind: 'pay', id: '1' }, approvals: [] }],
    ['wallet.authorize', { sealed: box }],
    ['wallet.unlock', { sealed: box }],
    ['wallet.custody', { sealed: box }],
    ['wallet.passphrase', { sealed: box }],
    ['wallet.revoke', { next: '0'.repeat(32), mac: '0'.repeat(64) }],
    ['backup.drillOpen', { sealed: box }],
    ['backup.make', { file: config }],
    ['backup.make', { file: join(daemon.dataDir, 'countinghouse.db') }],
    ['backup.make', { file: '../elsewhere' }],
    ['console.open', {}],
    ['restore.confirm', {}],
  ];
  for (const [method, body] of tried) {
    const { status } = await ask(`/call/${method}`, { headers: thief, body: JSON.stringify(body) });
    expect([method, status >= 400 && status < 500]).toEqual([method, true]);
  }
  expect(await operator.call('policy.show', { business })).toEqual(before);
  expect(await readFile(config, 'utf8')).toBe(text);
  expect((await operator.call('wallet.status', {})).wallet.state).toBe('locked');
});

describe('an upload of a backup', () => {
  const BYTES = { 'content-type': 'application/octet-stream' };
  const kept = async (): Promise<string[]> =>
    (await readdir(daemon.dataDir)).filter((name) => name.startsWith('upload-'));
  let signed: Record<string, string>;
  const begin = async (bytes: unknown) =>
    ask('/session/upload', { headers: signed, body: JSON.stringify({ bytes }) }) as Promise<
      Answer & { body: { code?: string } }
    >;
  const send = (code: string, offset: number, body: string, headers: Record<string, string> = {}) =>
    ask(`/session/upload/${code}/${offset}`, { headers: { ...signed, ...BYTES, ...headers }, body });
  beforeAll(async () => {
    signed = await signIn();
  });

  it.each([
    [0, 422],
    [-1, 422],
    [1.5, 422],
    ['9', 422],
    [2 ** 32 + 1, 400],
  ])('of %s bytes is answered %i', async (bytes, status) => {
    expect((await begin(bytes)).status).toBe(status);
    expect(await kept()).toEqual([]);
  });

  it('takes its own pieces in their order, from a session that may drill, and keeps nothing that is no backup', async () => {
    const { code = '' } = (await begin(100)).body;
    expect(await kept()).toHaveLength(1);
    expect((await stat(join(daemon.dataDir, (await kept())[0]!))).mode & 0o777).toBe(0o600);
    const till = await signIn();
    await ask('/session/lock', { headers: till });
    const refused: [number, Promise<Answer>][] = [
      [400, send('x'.repeat(43), 0, 'piece')],
      [400, send(code, 5, 'piece')],
      [400, send(code, 0, 'x'.repeat(101))],
      [404, send('short', 0, 'piece')],
      [413, send(code, 0, 'x'.repeat(1_048_577))],
      [415, send(code, 0, 'piece', { 'content-type': 'application/json' })],
      [401, send(code, 0, 'piece', { 'countinghouse-key': '' })],
      [403, send(code, 0, 'piece', { origin: 'https://evil.example' })],
      [404, send(code, 0, 'piece', till)],
      [404, ask('/session/upload', { headers: till, body: '{"bytes":9}' })],
      [415, ask('/session/upload', { headers: { ...signed, ...BYTES }, body: '{"bytes":9}' })],
    ];
    for (const [status, answer] of refused) expect((await answer).status).toBe(status);
    const wrong = await send(code, 0, 'x'.repeat(50));
    expect([wrong.status, wrong.body.error?.code]).toEqual([400, 'backup.format']);
    expect(await kept()).toEqual([]);
    expect((await send(code, 50, 'x')).body.error?.code).toBe('backup.upload');
  });

  it('takes the place of the last one, and goes when it is not used', async () => {
    await begin(10);
    await begin(20);
    expect(await kept()).toHaveLength(1);
    await daemon.restart();
    origin = new URL(await link()).origin;
    expect(await kept()).toEqual([]);
  });
});

describe('the page', () => {
  it('is served with a strict policy, may not be framed, and names no other host', async () => {
    const { status, headers } = await ask('/', { method: 'GET' });
    expect(status).toBe(200);
    const policy = headers['content-security-policy'] as string;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  });

  it.each(['/../package.json', '/assets/../index.html', '/console.json', '/operator.json', '/assets/%2e%2e/x'])(
    'is not %s',
    async (path) => {
      expect((await ask(path, { method: 'GET' })).status).toBe(404);
    },
  );
});

/** A withdrawal of sandbox money that waits; returns its number. */
async function fundedWithdrawal(shop: TestDaemon): Promise<string> {
  const call = strictCaller(shop.dataDir);
  const invoice = await shop.call<{ id: string }>('POST', '/invoice', { amount: 25, crypto: 'LTC' });
  const { body } = await shop.call<{ address: string }>('POST', `/invoice/rp/${invoice.body.id}`, {});
  await shop.call('POST', '/sandbox/pay', { invoice_id: invoice.body.id });
  await shop.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
  await until('the money is there', async () =>
    (await call('business.list', {})).businesses[0]!.balances.some(
      ({ crypto, amount }) => crypto === 'LTC' && amount !== '0',
    ),
  );
  const wanted = { business: '1', crypto: 'LTC', address: body.address, amount: '0.01' };
  return `${(await call('withdrawal.add', wanted)).withdrawal.id}`;
}

describe('approvals = false', () => {
  let closed: TestDaemon;
  beforeAll(async () => {
    closed = await startTestDaemon('[console]\nport = 0\napprovals = false\n[networks.regtest.rates]\nLTC = "80"\n');
  });
  afterAll(() => closed.stop());

  it('refuses what a passphrase is typed for', async () => {
    const before = { daemon, origin };
    daemon = closed;
    origin = new URL(await link()).origin;
    const signed = await signIn();
    expect((await ask('/session', { headers: signed })).body.approvals).toBe(false);
    for (const method of ['withdrawal.approve', 'wallet.unlock', 'policy.set', 'wallet.passphrase', 'wallet.revoke']) {
      const { status, body } = await ask(`/call/${method}`, { headers: signed });
      expect([method, status, body.error?.code]).toEqual([method, 403, 'console.refused']);
    }
    for (const method of ['wallet.custody', 'backup.drillOpen']) {
      expect((await ask(`/call/${method}`, { headers: signed })).body.error?.code).toBe('console.refused');
    }
    expect((await ask('/session/upload', { headers: signed, body: '{"bytes":9}' })).status).toBe(404);
    expect((await ask('/call/withdrawal.list', { headers: signed })).status).toBe(200);
    // money of the sandbox is none: the policy is taken, and an approval is looked for
    const manual = { business: '1', mode: 'manual', grants: [] };
    const policy = await ask('/call/policy.set', { headers: signed, body: JSON.stringify(manual) });
    expect([policy.status, JSON.stringify(policy.body)]).toEqual([200, expect.stringContaining('manual')]);
    const asked = await fundedWithdrawal(closed);
    const approve = { proposal: { kind: 'pay', id: asked }, approvals: [] };
    const none = await ask('/call/withdrawal.approve', { headers: signed, body: JSON.stringify(approve) });
    expect(none.body.error?.code).not.toBe('console.refused');
    const unknown = { ...approve, proposal: { kind: 'pay', id: '999' } };
    const lost = await ask('/call/withdrawal.approve', { headers: signed, body: JSON.stringify(unknown) });
    expect(lost.body.error?.code).toBe('console.refused');
    // nor may real money leave unasked: by a key that may withdraw, or by a policy that approves
    const { operator } = await openShop(closed);
    await operator.unlock();
    const real = async (method: string, body: object) =>
      (await ask(`/call/${method}`, { headers: signed, body: JSON.stringify({ business: 'Regtest shop', ...body }) }))
        .body.error?.code;
    expect(await real('key.add', { name: 'thief' })).toBe('console.refused');
    expect(await real('key.add', { name: 'till', scopes: ['invoices'] })).toBeUndefined();
    const wanted = { crypto: 'LTC', address: 'rltc1qaddress', amount: '1' };
    expect(await real('withdrawal.add', wanted)).not.toBe('console.refused');
    await operator.allow({ business: 'Regtest shop', per_withdrawal_usd: '10', per_day_usd: '10' });
    expect(await real('withdrawal.add', wanted)).toBe('console.refused');
    ({ daemon, origin } = before);
  });
});

it('says which port cannot be used', async () => {
  const other = await startTestDaemon(`[console]\nport = ${new URL(origin).port}\n`);
  expect(await refusal(other.dataDir, 'console.open', {})).toMatchObject({ code: 'console.listen' });
  await other.stop();
});
