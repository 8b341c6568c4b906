/** Who gets to the console's listener: browsers that used a link once, from its own page, and for what they may. */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boxText, jsonBytes, newPair, publicText } from '../../daemon/contract/console-channel.ts';
import { LinkEnded, NotTheService } from '../../daemon/contract/console-client.ts';
import { ConsoleSessions } from '../../daemon/http/console/sessions.ts';
import { buildConsole } from '../support/console.ts';
import { ConsolePage, type Raw, type Sent, sendRaw } from '../support/console-page.ts';
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

/** What a browser that signed in before an upgrade still has. */
const EARLIER = { cookie: `countinghouse-8481=${'x'.repeat(43)}`, 'countinghouse-key': 'x'.repeat(43) };

const link = async (): Promise<string> => (await strictCaller(daemon.dataDir)('console.open', {})).url;
const codeOf = (url: string): string => /#sign-in=([\w-]{43})$/.exec(url)![1]!;

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; body: Body };
type Body = { error?: { code: string } };
type Ask = { method?: string; headers?: Record<string, string>; body?: string };

/** Sends exactly these headers. */
async function ask(path: string, { method = 'POST', headers = {}, body = '{}' }: Ask = {}): Promise<Answer> {
  const { host } = new URL(origin);
  const all = { host, origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json', ...headers };
  const { bytes, ...answer } = await sendRaw(origin, { method, path, headers: all, body });
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  return { ...answer, body: isJson ? JSON.parse(Buffer.from(bytes).toString()) : {} };
}

/** A page that has signed in. */
const signIn = async (): Promise<ConsolePage> => ConsolePage.signIn(await link());

describe('a sign-in link', () => {
  it('works once, and its code is in no request', async () => {
    const url = await link();
    const page = await ConsolePage.signIn(url);
    expect((await page.ask('/call/status')).status).toBe(200);
    expect(new URL(url).search).toBe('');
    expect(JSON.stringify(page.sent)).not.toContain(codeOf(url));
    await expect(ConsolePage.signIn(url)).rejects.toThrow(LinkEnded);
    const [first] = page.sent;
    const again = await sendRaw(origin, first!);
    expect([again.status, again.headers['set-cookie']]).toEqual([403, undefined]);
  });

  it('ends after ten minutes', async () => {
    const url = await link();
    daemon.advance(600_001);
    await expect(ConsolePage.signIn(url)).rejects.toThrow(LinkEnded);
  });

  it('is used by its own page alone: another key, and another origin, are refused and leave it as it is', async () => {
    const url = await link();
    const page = new ConsolePage(origin);
    const other = new ConsolePage(origin);
    await other.client.signIn(codeOf(await link()));
    page.way = (sent) => {
      const body = JSON.parse(Buffer.from(sent.body).toString());
      return sendRaw(origin, { ...sent, body: JSON.stringify({ ...body, page: other.login!.page }) });
    };
    await expect(page.client.signIn(codeOf(url))).rejects.toThrow(LinkEnded);
    // a page of another port whose request is passed on
    const elsewhere = new ConsolePage('http://127.0.0.1:1');
    const { host } = new URL(origin);
    elsewhere.way = (sent) => sendRaw(origin, { ...sent, headers: { ...sent.headers, origin, host } });
    await expect(elsewhere.client.signIn(codeOf(url))).rejects.toThrow(LinkEnded);
    expect((await (await ConsolePage.signIn(url)).ask('/call/status')).status).toBe(200);
  });

  it.each(['', '{}', '{"code":5}', '[]', `{"link":"${'x'.repeat(43)}"}`])('is not %s', async (body) => {
    expect([403, 400]).toContain((await ask('/session/sign-in', { body })).status);
  });
});

describe('a call', () => {
  let signed: ConsolePage;
  beforeAll(async () => {
    signed = await signIn();
  });
  const port = (): string => new URL(origin).port;

  it('is answered to the page that has the key of a session', async () => {
    expect((await signed.ask('/call/status')).status).toBe(200);
    const [, , call] = signed.sent;
    const unread = Buffer.from(call!.body).toString('latin1') + JSON.stringify(call!.headers);
    expect(unread).not.toContain('{}');
  });

  it.each<[string, () => Record<string, string>, number, string]>([
    ['without a channel', () => ({ 'countinghouse-channel': '' }), 401, 'channel'],
    ['through no channel', () => ({ 'countinghouse-channel': `${'x'.repeat(22)}.1` }), 401, 'channel'],
    ['with a cookie and a key of an earlier release', () => EARLIER, 401, 'channel'],
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
    const bytes = { 'content-type': 'application/octet-stream' };
    const answer = await ask('/call/status', { headers: { ...bytes, ...headers() } });
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
    expect((await signed.ask(path, body)).status).toBe(status);
  });

  it('is a POST', async () => {
    expect((await ask('/call/status', { method: 'PUT' })).status).toBe(405);
    expect((await ask('/call/status', { method: 'GET' })).status).toBe(404);
    expect((await ask('/call/status', { method: 'OPTIONS' })).status).toBe(405);
  });

  it('is refused at once when its session was ended elsewhere, and while it waits', async () => {
    const other = await signIn();
    const { sessions } = await strictCaller(daemon.dataDir)('console.list', {});
    const newest = sessions.at(-1)!;
    const { cursor } = (await other.ask('/call/events.next')).body as { cursor: string };
    const waiting = other.ask('/call/events.next', { cursor }).catch(() => 'cut');
    // the wait has begun when a later call of the same session is answered
    await other.ask('/call/status');
    expect(await strictCaller(daemon.dataDir)('console.end', { id: newest.id })).toEqual({ ended: 1 });
    expect(await waiting).toBe('cut');
    expect((await other.ask('/call/status')).status).toBe(401);
    expect((await signed.ask('/call/status')).status).toBe(200);
  });
});

describe('a program that holds the port while the service is away', () => {
  /** Answers each request of a page with this, and keeps what it got. */
  const thief = (page: ConsolePage, answer: (sent: Sent) => Promise<Raw>): Sent[] => {
    const got: Sent[] = [];
    page.way = (sent) => {
      got.push(sent);
      return answer(sent);
    };
    return got;
  };
  const said = (status: number, body: object): Promise<Raw> =>
    Promise.resolve({ status, headers: {}, bytes: new Uint8Array(Buffer.from(JSON.stringify(body))) });
  const WANTED = { business: '1', name: 'thief', scopes: ['withdraw'] };

  it('gets nothing that it can read, or that does anything when the service is back', async () => {
    const page = await signIn();
    await page.ask('/call/status');
    const got = thief(page, () => said(503, { error: { code: 'x', message: 'x' } }));
    await expect(page.client.ask('/call/key.add', jsonBytes(WANTED))).rejects.toThrow(NotTheService);
    await expect(page.client.ask('/session', jsonBytes({}))).rejects.toThrow(NotTheService);
    expect(got.map(({ path }) => path)).toEqual(['/call/key.add', '/session']);
    expect(Buffer.concat(got.map(({ body }) => Buffer.from(body))).toString('latin1')).not.toContain('thief');
    const keys = async () => (await strictCaller(daemon.dataDir)('key.list', { revoked: true })).keys.length;
    const before = await keys();
    await daemon.restart();
    origin = new URL(await link()).origin;
    const { host } = new URL(origin);
    for (const sent of got) {
      const again = await sendRaw(origin, { ...sent, headers: { ...sent.headers, origin, host } });
      expect(again.status).toBe(401);
    }
    expect(await keys()).toBe(before);
  });

  it('cannot greet for the service, end the session, or answer in its place', async () => {
    const page = await signIn();
    await page.ask('/call/status');
    const mine = await newPair(false);
    const key = await publicText(mine);
    const greeted = jsonBytes({ key, box: boxText(new Uint8Array(60)) });
    thief(page, ({ path }) =>
      path === '/session/hello'
        ? Promise.resolve({ status: 200, headers: {}, bytes: greeted })
        : said(401, { error: { code: 'session', message: 'ended' } }),
    );
    await expect(page.client.ask('/call/status', jsonBytes({}))).rejects.toThrow(NotTheService);
    const forged = { status: 200, body: { sale: { status: 'paid' } } };
    thief(page, () => said(200, forged));
    await expect(page.client.ask('/call/counter.sale', jsonBytes({}))).rejects.toThrow(NotTheService);
    page.way = (sent) => sendRaw(origin, sent);
    expect((await page.ask('/call/status')).status).toBe(200);
  });

  it('cannot pass a page of its own port on to the service, with whatever headers', async () => {
    const page = await signIn();
    const { host } = new URL(origin);
    const elsewhere = new ConsolePage('http://127.0.0.1:1', page.login);
    const got = thief(elsewhere, (sent) => sendRaw(origin, { ...sent, headers: { ...sent.headers, origin, host } }));
    await expect(elsewhere.client.ask('/call/key.add', jsonBytes(WANTED))).rejects.toThrow(NotTheService);
    expect(got.map(({ path }) => path)).toEqual(['/session/hello']);
  });

  it('cannot repeat, mix or change what it passes on to the service', async () => {
    const page = await signIn();
    const heard: Raw[] = [];
    const got = thief(page, async (sent) => {
      const raw = await sendRaw(origin, sent);
      heard.push(raw);
      return raw;
    });
    await page.ask('/call/status');
    await page.ask('/call/key.list');
    const [, status, keys] = got;
    const place = (sent: Sent) => sent.headers['countinghouse-channel']!;
    const refused: [string, number, Partial<Sent>][] = [
      ['the same again', 409, {}],
      [
        'another number',
        401,
        { headers: { ...status!.headers, 'countinghouse-channel': `${place(status!).split('.')[0]}.99` } },
      ],
      ['another method', 401, { path: '/call/key.add' }],
      ['another body', 401, { body: keys!.body }],
    ];
    for (const [what, code, change] of refused) {
      expect([what, (await sendRaw(origin, { ...status!, ...change })).status]).toEqual([what, code]);
    }
    // an answer to another question is none
    thief(page, async () => heard[1]!);
    await expect(page.client.ask('/call/status', jsonBytes({}))).rejects.toThrow(NotTheService);
  });

  it('has a call carried out once, though it hides the answer and says that the service was started anew', async () => {
    const page = await signIn();
    await page.ask('/call/status');
    const sale = { business: 1, amount: '5', currency: 'EUR', note: null };
    const count = async () => (await strictCaller(daemon.dataDir)('invoice.list', { limit: 200 })).invoices.length;
    const before = await count();
    let hides = true;
    thief(page, async (sent) => {
      const raw = await sendRaw(origin, sent);
      if (!hides || sent.path !== '/call/counter.sell') return raw;
      hides = false;
      return said(401, {});
    });
    await expect(page.client.ask('/call/counter.sell', jsonBytes(sale))).rejects.toThrow(NotTheService);
    expect(await count()).toBe(before + 1);
  });
});

it.each(['{"last":1,"sessions":[{"id":1,"hash":"x"}]}', '', '{', '[]'])(
  'the file of sessions %s has none',
  async (text) => {
    const file = join(daemon.dataDir, 'other.json');
    await writeFile(file, text);
    const sessions = new ConsoleSessions(file, Date.now);
    expect(sessions.list()).toEqual([]);
    expect((await sessions.key()).said).toHaveLength(87);
  },
);

describe('a session', () => {
  it('that is locked to the counter sells and does nothing else, and cannot unlock itself', async () => {
    const till = await signIn();
    expect((await till.ask('/session/lock', { business: 1 })).status).toBe(200);
    expect((await till.ask('/session')).body).toEqual({ scope: 'counter', approvals: true, home: null });
    for (const method of ['status', 'business.list', 'key.list', 'console.end', 'wallet.lock', 'invoice.list']) {
      expect([method, (await till.ask(`/call/${method}`)).status]).toEqual([method, 403]);
    }
    expect((await till.ask('/call/counter.show')).status).toBe(200);
  });

  it('outlives a restart, as a public key in a file of the owner alone', async () => {
    const kept = await signIn();
    const file = join(daemon.dataDir, 'console.json');
    expect(await readFile(file, 'utf8')).toContain(kept.login!.page);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await daemon.restart();
    origin = new URL(await link()).origin;
    const again = new ConsolePage(origin, kept.login);
    expect((await again.ask('/call/status')).status).toBe(200);
  });

  it('ends a month after its last use', async () => {
    const idle = await signIn();
    daemon.advance(31 * 86_400_000);
    expect((await idle.ask('/call/status')).status).toBe(401);
  });

  it('is limited in how often it is tried', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => ask('/session/sign-in', { body: '{"link":"wrong"}' })),
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
    const { status } = await thief.ask(`/call/${method}`, body);
    expect([method, status >= 400 && status < 500]).toEqual([method, true]);
  }
  expect(await operator.call('policy.show', { business })).toEqual(before);
  expect(await readFile(config, 'utf8')).toBe(text);
  expect((await operator.call('wallet.status', {})).wallet.state).toBe('locked');
});

describe('an upload of a backup', () => {
  const kept = async (): Promise<string[]> =>
    (await readdir(daemon.dataDir)).filter((name) => name.startsWith('upload-'));
  let signed: ConsolePage;
  const begin = async (bytes: unknown) =>
    (await signed.ask('/session/upload', { bytes })) as { status: number; body: { code?: string } };
  const send = (code: string, offset: number, piece: string, headers: Record<string, string> = {}, page = signed) =>
    page.ask(`/session/upload/${code}/${offset}`, piece, headers) as Promise<Pick<Answer, 'status' | 'body'>>;
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
    await till.ask('/session/lock', { business: 1 });
    const refused: [number, () => Promise<{ status: number }>][] = [
      [400, () => send('x'.repeat(43), 0, 'piece')],
      [400, () => send(code, 5, 'piece')],
      [400, () => send(code, 0, 'x'.repeat(101))],
      [404, () => send('short', 0, 'piece')],
      [413, () => send(code, 0, 'x'.repeat(1_048_577))],
      [415, () => send(code, 0, 'piece', { 'content-type': 'application/json' })],
      [403, () => send(code, 0, 'piece', { origin: 'https://evil.example' })],
      [404, () => send(code, 0, 'piece', {}, till)],
      [404, () => till.ask('/session/upload', { bytes: 9 })],
    ];
    for (const [status, answer] of refused) expect((await answer()).status).toBe(status);
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

  it('has the browser forget a worker that another program on this port has left', async () => {
    const { status, headers } = await ask('/worker.js', { method: 'GET', headers: { 'service-worker': 'script' } });
    expect([status, headers['clear-site-data']]).toEqual([404, '"storage"']);
    expect((await ask('/', { method: 'GET' })).headers['clear-site-data']).toBeUndefined();
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
    const call = (method: string, body: object = {}) =>
      signed.ask(`/call/${method}`, body) as Promise<Pick<Answer, 'status' | 'body'>>;
    expect((await signed.ask('/session')).body).toEqual({ scope: 'all', approvals: false, home: null });
    for (const method of ['withdrawal.approve', 'wallet.unlock', 'policy.set', 'wallet.passphrase', 'wallet.revoke']) {
      const { status, body } = await call(method);
      expect([method, status, body.error?.code]).toEqual([method, 403, 'console.refused']);
    }
    for (const method of ['wallet.custody', 'backup.drillOpen']) {
      expect((await call(method)).body.error?.code).toBe('console.refused');
    }
    expect((await signed.ask('/session/upload', { bytes: 9 })).status).toBe(404);
    expect((await call('withdrawal.list')).status).toBe(200);
    // money of the sandbox is none: the policy is taken, and an approval is looked for
    const manual = { business: '1', mode: 'manual', grants: [] };
    const policy = await call('policy.set', manual);
    expect([policy.status, JSON.stringify(policy.body)]).toEqual([200, expect.stringContaining('manual')]);
    const asked = await fundedWithdrawal(closed);
    const approve = { proposal: { kind: 'pay', id: asked }, approvals: [] };
    const none = await call('withdrawal.approve', approve);
    expect(none.body.error?.code).not.toBe('console.refused');
    const unknown = { ...approve, proposal: { kind: 'pay', id: '999' } };
    const lost = await call('withdrawal.approve', unknown);
    expect(lost.body.error?.code).toBe('console.refused');
    // nor may real money leave unasked: by a key that may withdraw, or by a policy that approves
    const { operator } = await openShop(closed);
    await operator.unlock();
    const real = async (method: string, body: object) =>
      (await call(method, { business: 'Regtest shop', ...body })).body.error?.code;
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
