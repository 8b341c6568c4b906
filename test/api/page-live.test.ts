/** What an open payment page is told, who may frame it, in which language it is, and how a shop makes it its own. */
import { get as httpGet, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STREAMS_PER_ADDRESS_MAX } from '../../daemon/payment-page/events.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { pageOf } from './client-kit.ts';
import { refusal, strictCaller } from './operator-raw.ts';

let service: TestDaemon;
let operator: ReturnType<typeof strictCaller>;
beforeAll(async () => {
  service = await startTestDaemon('trusted_proxies = ["127.0.0.1"]\n[sandbox]\nblock_seconds = 0\npublic = true\n');
  operator = strictCaller(service.dataDir);
});
afterAll(() => service.stop());

/** Each test comes from an address of its own, so that none meets another's limits. */
let addresses = 0;
const fromAnother = (): Record<string, string> => ({ 'x-forwarded-for': `192.0.2.${++addresses % 250}` });

type Status = { status: string; version: string; build: string; now: number; view?: string };

async function fetchPage(path: string, init: RequestInit = {}) {
  const headers = { ...fromAnother(), ...(init.headers as Record<string, string>) };
  const response = await fetch(`${service.url}/pay/${path}`, { redirect: 'manual', ...init, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const statusOf = async (slug: string, version = '', headers: Record<string, string> = {}): Promise<Status> =>
  JSON.parse((await fetchPage(`${slug}/status?version=${version}`, { headers })).text) as Status;
const press = (slug: string, what: string) =>
  fetchPage(`${slug}/sandbox`, {
    method: 'POST',
    body: `do=${what}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
async function invoice(body: Record<string, unknown> = {}): Promise<string> {
  const made = await service.call<{ id: string }>('POST', '/invoice', { amount: 100, crypto: 'LTC', ...body });
  expect(made.status).toBe(201);
  return made.body.id;
}
async function requested(body: Record<string, unknown> = {}): Promise<string> {
  const slug = await invoice(body);
  await until('the chain is caught up with the clock', async () => {
    const { status } = await service.call('POST', `/invoice/rp/${slug}`, {});
    if (status === 503) await service.call('POST', '/sandbox/mine', { crypto: body.crypto ?? 'LTC' });
    return status === 201;
  });
  return slug;
}
const stateOf = (view: string): string => /data-state="(\w+)"/.exec(view)![1]!;
const reaches = (slug: string, state: string, flags = ''): Promise<Status> =>
  until(`the page is ${state} ${flags}`, async () => {
    const answer = await statusOf(slug);
    const seen = `data-state="${state}" data-flags="${flags}"`;
    return answer.view!.includes(seen) ? answer : null;
  });

describe('the status', () => {
  it('is the view that the page has, once', async () => {
    const slug = await requested();
    const { text, headers } = await fetchPage(slug);
    const answer = await statusOf(slug);
    expect(text).toContain(answer.view);
    expect(text).toContain(`data-version="${answer.version}"`);
    expect(text).toContain(`data-build="${answer.build}"`);
    expect(answer.status).toBe('unpaid');
    expect(Math.abs(answer.now - service.now())).toBeLessThan(60_000);
    expect(await statusOf(slug, answer.version)).toEqual({ ...answer, view: undefined, now: expect.any(Number) });
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('is in the language of the page', async () => {
    const slug = await requested();
    const german = { 'accept-language': 'de-AT' };
    expect((await statusOf(slug, '', german)).view).toContain('Warten auf Ihre Zahlung');
    const page = await fetchPage(`${slug}?lang=ja`, { headers: german });
    expect(page.text).toContain('<html lang="ja" dir="ltr">');
    expect(page.text).toContain(`data-status="../pay/${slug}/status?lang=ja"`);
    expect(page.headers.get('vary')).toContain('Accept-Language');
    const chosen = JSON.parse((await fetchPage(`${slug}/status?lang=ja`, { headers: german })).text) as Status;
    expect(page.text).toContain(chosen.view);
  });

  it('keeps a chosen language through the form', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = await fetchPage(`${slug}?lang=fr`, { method: 'POST', body: 'crypto=LTC', headers: form });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `../pay/${slug}?lang=fr`]);
  });

  it('of a wrong slug, a deleted invoice and a malformed one is the same', async () => {
    const deleted = await invoice();
    expect((await service.call('DELETE', `/invoice/${deleted}`)).status).toBe(200);
    const seen = new Set<string>();
    for (const name of ['AAAAAAAAAAAA', deleted, 'short', '%00']) {
      for (const what of ['status', 'events']) {
        const { status, text } = await fetchPage(`${name}/${what}`);
        seen.add(`${status} ${text.replace(/nonce="[^"]*"/g, '').replaceAll(/\.\.\//g, '')}`);
      }
    }
    expect([...seen]).toEqual([expect.stringMatching(/^404 [\s\S]*<h1>There is no such invoice<\/h1>/)]);
  });
});

describe('the stream', () => {
  type Stream = { status: number; text: () => string; closed: () => boolean; close: () => void };
  const open = (slug: string, headers = fromAnother()): Promise<Stream> =>
    new Promise((resolve, reject) => {
      const request = httpGet(`${service.url}/pay/${slug}/events`, { headers }, (response: IncomingMessage) => {
        let text = '';
        let closed = false;
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('close', () => {
          closed = true;
        });
        response.on('error', () => {});
        resolve({
          status: response.statusCode!,
          text: () => text,
          closed: () => closed,
          close: () => request.destroy(),
        });
      });
      request.on('error', reject);
    });
  const notices = (stream: Stream): number => stream.text().split('event: change\ndata: 1\n\n').length - 1;

  it('tells of the payment, of each block, and of nobody else', async () => {
    const slug = await requested();
    const other = await open(await requested());
    const stream = await open(slug);
    expect(stream.status).toBe(200);
    await until('the stream began', async () => stream.text().startsWith('retry: '));
    for (const what of ['exact', 'mine', 'mine', 'mine']) {
      const before = notices(stream);
      await press(slug, what);
      await until(`${what} is told`, async () => notices(stream) > before);
    }
    // one of the steps may have been told twice
    await until('it is paid', async () => stateOf((await statusOf(slug)).view!) === 'paid');
    expect(notices(other)).toBe(0);
    stream.close();
    other.close();
  });

  it('tells of an operator, and of a fresh price', async () => {
    const slug = await requested();
    const stream = await open(slug);
    service.advance(3_600_001);
    const answer = await statusOf(slug);
    expect(stateOf(answer.view!)).toMatch(/waiting|withheld/);
    await operator('invoice.cancel', { invoice: slug });
    await until('both are told', async () => notices(stream) >= 1);
    expect(stateOf((await statusOf(slug)).view!)).toBe('canceled');
    stream.close();
  });

  it('is not given without bound to one address', async () => {
    const slug = await requested();
    const one = { 'x-forwarded-for': '198.51.100.7' };
    const streams = await Promise.all(Array.from({ length: STREAMS_PER_ADDRESS_MAX }, () => open(slug, one)));
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await open(slug, one)).status).toBe(204);
    const other = await open(slug);
    expect(other.status).toBe(200);
    streams[0]!.close();
    const next = await until('a place is free', async () => {
      const stream = await open(slug, one);
      return stream.status === 200 && stream;
    });
    for (const stream of [...streams, other, next]) stream.close();
  });

  it('ends when the service stops, which does not wait for it', async () => {
    const slug = await requested();
    const stream = await open(slug);
    const began = Date.now();
    await service.restart();
    operator = strictCaller(service.dataDir);
    expect(Date.now() - began).toBeLessThan(10_000);
    await until('the stream is closed', async () => stream.closed());
    expect((await statusOf(slug)).status).toBe('unpaid');
  });
});

describe('frames', () => {
  const ancestors = async (slug: string): Promise<[string, string | null]> => {
    const { headers } = await fetchPage(slug);
    return [
      /frame-ancestors ([^;]+)/.exec(headers.get('content-security-policy')!)![1]!,
      headers.get('x-frame-options'),
    ];
  };

  it("may be the client ID's, for what it made", async () => {
    const made = await operator('client.add', {
      business: '1',
      name: 'embedding shop',
      origins: ['https://shop.example', 'http://127.0.0.1:3000'],
    });
    const call = pageOf(service, made.client.client_id, 'https://shop.example');
    const created = await call<{ id: string }>('POST', '/invoice', { amount: 20, crypto: 'LTC' });
    expect(await ancestors(created.body.id)).toEqual(['https://shop.example http://127.0.0.1:3000', null]);
    await operator('client.revoke', { client: made.client.client_id });
    expect(await ancestors(created.body.id)).toEqual(["'none'", 'DENY']);
  });

  it('may be anybody in the sandbox of who lists nobody, and nobody for what a server made', async () => {
    const call = pageOf(service, service.clientId, 'http://localhost:5173');
    const created = await call<{ id: string }>('POST', '/invoice', { amount: 20, crypto: 'LTC' });
    expect(await ancestors(created.body.id)).toEqual(['*', null]);
    expect(await ancestors(await invoice())).toEqual(["'none'", 'DENY']);
  });
});

describe('the sandbox controls', () => {
  it('pay late', async () => {
    const slug = await requested();
    expect((await press(slug, 'late')).status).toBe(303);
    await reaches(slug, 'detected', 'late');
    await press(slug, 'mine');
    await press(slug, 'mine');
    await press(slug, 'mine');
    const { view } = await reaches(slug, 'paid', 'late');
    expect(view).toContain('data-note="late"');
  });

  it('double-spend what is unconfirmed, and undo what is', async () => {
    const slug = await requested({ crypto: 'BCH' });
    await press(slug, 'exact');
    expect((await reaches(slug, 'detected')).view).toContain('value="replace"');
    await press(slug, 'replace');
    await reaches(slug, 'waiting');
    await press(slug, 'half');
    await reaches(slug, 'partial');
    await press(slug, 'mine');
    const confirmed = await until('it is in a block', async () => {
      const { view } = await statusOf(slug);
      return view!.includes('value="reorg"') ? view : null;
    });
    expect(confirmed).not.toContain('value="replace"');
    await press(slug, 'reorg');
    await until('it is in no block', async () => (await statusOf(slug)).view!.includes('value="replace"'));
    // pressed once too often
    expect((await press(slug, 'reorg')).status).toBe(303);
  });

  it('undo a payment that counted: nobody is shown a receipt, or sent on to the shop, before it counts again', async () => {
    const slug = await requested({ crypto: 'LTC', close_url: 'https://shop.example/', automatic_redirect: true });
    const mine = async (state: string): Promise<Status> => {
      for (let n = 0; n < 3; n++) await press(slug, 'mine');
      return reaches(slug, state);
    };
    await press(slug, 'exact');
    await reaches(slug, 'detected');
    const paid = await mine('paid');
    expect([paid.status, paid.view!.includes('class="receipt"'), paid.view!.includes('data-redirect')]).toEqual([
      'paid',
      true,
      true,
    ]);
    await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: 3 });
    const found = await reaches(slug, 'detected');
    expect([found.status, found.view!.includes('class="receipt"'), found.view!.includes('data-redirect')]).toEqual([
      'unpaid',
      false,
      false,
    ]);
    await press(slug, 'replace');
    const { view } = await reaches(slug, 'withheld');
    expect(view).toContain('The network has undone the payment, so this invoice is not paid.');
    await service.call('POST', '/sandbox/pay', {
      invoice_id: slug,
      amount: paid.view!.match(/[\d.]+(?=\u00a0LTC)/)![0],
    });
    await reaches(slug, 'detected');
    expect((await mine('paid')).status).toBe('paid');
  });

  it('take the source down and bring it back', async () => {
    const slug = await requested({ crypto: 'XMR' });
    await press(slug, 'down');
    expect((await statusOf(slug)).view).toContain('value="up"');
    service.advance(2 * 60_000);
    await reaches(slug, 'waiting', 'behind');
    await press(slug, 'up');
    await reaches(slug, 'waiting');
  });
});

describe('branding', () => {
  const PNG = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );

  it('puts name, colour and logo on the page', async () => {
    const slug = await requested();
    const hostile = '<b>Rosa & "Co"</b>\u202e';
    const { business } = await operator('business.brand', {
      business: '1',
      name: hostile,
      accent: '#FFD400',
      logo: PNG.toString('base64'),
    });
    const logoId = expect.stringMatching(/^[0-9a-f]{32}$/);
    const NOTHING_ELSE = { contact: null, favourites: [], currency: null };
    expect(business.brand).toEqual({ name: hostile, accent: '#ffd400', logo: logoId, ...NOTHING_ELSE });
    const { text } = await fetchPage(slug);
    expect(text).toContain('&lt;b&gt;Rosa &amp; &quot;Co&quot;&lt;/b&gt;</bdi>');
    expect(text).not.toContain('\u202e');
    expect(text).toMatch(/<style nonce="[\w-]+">:root\{--fill:#[0-9a-f]{6};/);
    const src = /<img class="logo" src="\.\.\/pay\/([^"]+)" alt=""/.exec(text)![1]!;
    const logo = await fetch(`${service.url}/pay/${src}`);
    expect([logo.status, logo.headers.get('content-type'), logo.headers.get('x-content-type-options')]).toEqual([
      200,
      'image/png',
      'nosniff',
    ]);
    expect(Buffer.from(await logo.arrayBuffer())).toEqual(PNG);
    await service.restart();
    operator = strictCaller(service.dataDir);
    expect((await fetchPage(slug)).text).toContain(src);
    const plain = await operator('business.brand', { business: '1', name: null, accent: null, logo: null });
    expect(plain.business.brand).toEqual({ name: null, accent: null, logo: null, ...NOTHING_ELSE });
    expect((await fetchPage(src)).status).toBe(404);
    expect((await fetchPage(slug)).text).not.toContain('<style');
  });

  it.each([
    [{ accent: 'red' }, 'brand.accent'],
    [{ accent: '#fff}body{}' }, 'brand.accent'],
    [{ name: ' ' }, 'brand.name'],
    [{ logo: Buffer.from('<svg/>').toString('base64') }, 'brand.logo'],
    [{ logo: Buffer.concat([PNG, Buffer.alloc(33_000)]).toString('base64') }, 'brand.logo'],
  ])('refuses %j', async (change, code) => {
    expect(await refusal(service.dataDir, 'business.brand', { business: '1', ...change })).toMatchObject({ code });
    const { businesses } = await operator('business.list', {});
    const nothing = { name: null, accent: null, logo: null, contact: null, favourites: [], currency: null };
    expect(businesses[0]!.brand).toEqual(nothing);
  });

  it.each(['logo/00000000000000000000000000000000', 'logo/x', 'logo/..%2f..%2fetc'])(
    '%s is no picture',
    async (path) => {
      expect((await fetchPage(path)).status).toBe(404);
    },
  );
});

it('a page left open for two days says how it stands, and asks for nothing', async () => {
  const slug = await requested();
  service.advance(40 * 86_400_000);
  await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
  const answer = await reaches(slug, 'canceled');
  expect(answer.view).not.toMatch(/litecoin:|data-copy/);
  expect(answer.status).toBe('canceled');
});
