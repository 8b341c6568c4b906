/** The payment page as browsers meet it: the whole daemon on its sandbox. */
import { request as rawRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

const HOUR = 3_600_000;

let service: TestDaemon;
/** A service for each test, whose clock, sources and limits are its own, or one for all of a group that moves none of them. */
function serve(begin: typeof beforeEach, end: typeof afterEach): void {
  begin(async () => {
    service = await startTestDaemon();
  });
  end(() => service.stop());
}

type Payment = { status: string | null; address: string; remaining: string };
type Page = { status: number; headers: Headers; text: string };

async function fetchPage(path: string, init: RequestInit = {}): Promise<Page> {
  const response = await fetch(`${service.url}/pay/${path}`, { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const get = (slug: string): Promise<Page> => fetchPage(slug);
const post = (path: string, body: string): Promise<Page> =>
  fetchPage(path, { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } });

async function invoice(body: Record<string, unknown> = {}): Promise<string> {
  const made = await service.call<{ id: string }>('POST', '/invoice', { amount: 100, crypto: 'LTC', ...body });
  expect(made.status).toBe(201);
  return made.body.id;
}
async function requested(body: Record<string, unknown> = {}): Promise<string> {
  const slug = await invoice(body);
  expect((await post(slug, '')).status).toBe(303);
  return slug;
}
const paymentOf = async (slug: string) =>
  (await service.call<{ payment: Payment }>('GET', `/invoice/${slug}`)).body.payment;
const showing = (slug: string, words: string): Promise<Page> =>
  until(`the page shows "${words}"`, async () => {
    const page = await get(slug);
    return page.text.includes(words) ? page : null;
  });
/** Where the answer leads, resolved as a browser does. */
const target = (page: Page, path: string): string =>
  new URL(page.headers.get('location') ?? '', `${service.url}/pay/${path}`).href;

describe('headers', () => {
  serve(beforeAll, afterAll);

  it.each([
    ['an invoice', async () => get(await invoice()), 200],
    ['no invoice', () => get('AAAAAAAAAAAA'), 404],
  ])('of %s', async (_, load, status) => {
    const { headers, text, status: answered } = await load();
    expect(answered).toBe(status);
    const names = [
      'content-type',
      'content-security-policy',
      'referrer-policy',
      'x-content-type-options',
      'cache-control',
    ];
    const nonce = /script-src 'nonce-([\w-]{22})'/.exec(headers.get('content-security-policy')!)![1]!;
    expect(names.map((name) => headers.get(name))).toEqual([
      'text/html; charset=utf-8',
      `default-src 'none';script-src 'nonce-${nonce}';style-src 'nonce-${nonce}';img-src 'self' data:;connect-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'none'`,
      'no-referrer',
      'nosniff',
      'no-store',
    ]);
    expect(headers.get('set-cookie')).toBeNull();
    expect(headers.get('x-frame-options')).toBe('DENY');
    for (const [tag] of text.matchAll(/<(?:script|link|style)[^>]*>/g)) {
      if (!tag.includes('rel="icon"')) expect(tag).toContain(`nonce="${nonce}"`);
    }
  });

  it('have a nonce of their own each', async () => {
    const slug = await invoice();
    const policies = [await get(slug), await get(slug)].map(({ headers }) => headers.get('content-security-policy'));
    expect(policies[0]).not.toBe(policies[1]);
  });

  it('style and script lie where the pages say, and may be kept for ever', async () => {
    const slug = await invoice();
    for (const path of [slug, 'AAAAAAAAAAAA', `${slug}/deeper/still`]) {
      const { text } = await get(path);
      const links = [...text.matchAll(/<(?:link rel="stylesheet" href|script type="module" src)="([^"]+)"/g)];
      expect(links).toHaveLength(path === slug ? 2 : 1);
      for (const [, link] of links) {
        const response = await fetch(new URL(link!, `${service.url}/pay/${path}`));
        const type = link!.endsWith('.css') ? 'text/css' : 'text/javascript';
        expect([response.status, response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([
          200,
          `${type}; charset=utf-8`,
          'public, max-age=31536000',
        ]);
        expect(await response.text()).toContain(type === 'text/css' ? '.card' : 'location.reload');
      }
    }
  });

  it('the page with everything it loads is small', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    await post(slug, 'crypto=USDT_ERC20');
    // the largest: two codes, a contract, every other coin, and a script of three bytes a character
    const page = await get(`${slug}?lang=hi`);
    const links = [...page.text.matchAll(/(?:href|src)="((?:\.\.\/)[^"]+\.(?:css|mjs))"/g)].map((match) => match[1]!);
    expect(new Set(links).size).toBe(3);
    const sizes = await Promise.all(
      [...new Set(links)].map(async (link) => {
        const response = await fetch(new URL(link, `${service.url}/pay/${slug}`));
        expect(response.status).toBe(200);
        return (await response.arrayBuffer()).byteLength;
      }),
    );
    // unpacked: what goes over the wire is a third of it; the two codes of a new address differ by some hundreds
    expect(sizes.reduce((sum, size) => sum + size, Buffer.byteLength(page.text))).toBeLessThan(62_000);
  });

  it('the page has one address', async () => {
    const slug = await invoice();
    const page = await get(`${slug}/`);
    expect([page.status, target(page, `${slug}/`)]).toEqual([308, `${service.url}/pay/${slug}`]);
    const chosen = await get(`${slug}/?lang=de`);
    expect([chosen.status, target(chosen, `${slug}/`)]).toEqual([308, `${service.url}/pay/${slug}?lang=de`]);
  });
});

describe('what is not there', () => {
  serve(beforeAll, afterAll);

  /** Not fetch, which would tidy the path up. */
  const getRaw = (path: string) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const { hostname, port } = new URL(service.url);
      rawRequest({ hostname, port, path: `/pay/${path}` }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      })
        .on('error', reject)
        .end();
    });

  it('unknown and malformed slugs are the same page', async () => {
    const slugs = ['AAAAAAAAAAAA', 'short', 'AAAAAAAAAAA_', '%ff', '%3Cscript%3E', '../etc', 'AAAAAAAAAAAA/x', ''];
    for (const path of [...slugs, 'assets/page.css']) {
      const { status, text } = await getRaw(path);
      expect([path, status]).toEqual([path, 404]);
      expect(text).toContain('<h1>There is no such invoice</h1>');
      expect(text).not.toMatch(/<script|%3C/);
    }
  });

  it('a deleted invoice, the id of the record, and both forms of none', async () => {
    const deleted = await invoice();
    expect((await service.call('DELETE', `/invoice/${deleted}`)).status).toBe(200);
    const slug = await requested();
    const { body } = await service.call<{ payment: { invoice_id: string } }>('GET', `/invoice/${slug}`);
    const pages = [
      await get(deleted),
      await get(body.payment.invoice_id),
      await post('AAAAAAAAAAAA', 'crypto=LTC'),
      await post('AAAAAAAAAAAA/sandbox', 'do=mine'),
    ];
    for (const page of pages) {
      expect(page.status).toBe(404);
      expect(page.text).toContain('<h1>There is no such invoice</h1>');
    }
  });

  it('other methods', async () => {
    const slug = await invoice();
    const removed = await fetchPage(slug, { method: 'DELETE' });
    expect([removed.status, removed.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    const read = await get(`${slug}/sandbox`);
    expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST']);
    expect(read.text).toContain(`href="../../pay/${slug}"`);
  });
});

describe('choosing', () => {
  serve(beforeEach, afterEach);

  it('requests the payment once, however often it is sent', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    const before = await get(slug);
    expect(before.text).toContain('Choose how to pay');
    expect(before.text).not.toContain('http-equiv="refresh"');
    const answers = await Promise.all([post(slug, 'crypto=LTC'), post(slug, 'crypto=LTC'), post(slug, 'crypto=BTC')]);
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    expect(answers.map((answer) => target(answer, slug))).toEqual(Array(3).fill(`${service.url}/pay/${slug}`));
    const { address } = await paymentOf(slug);
    const page = await get(slug);
    expect(page.text.replace(/<\/?span>|<wbr>/g, '')).toContain(`>${address}</p>`);
    expect(page.text).toContain(`href="litecoin:${address}?amount=1.25"`);
    expect(page.text).not.toContain('<meta http-equiv="refresh"');
    expect((await get(`${slug}?watch=1`)).text).toContain('<meta http-equiv="refresh"');
  });

  it('asks again when nothing that can be had was chosen', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    for (const body of ['', 'crypto=', 'crypto=DOGE', 'crypto=LTC&crypto=BTC', 'other=LTC']) {
      const page = await post(slug, body);
      expect([body, page.status]).toEqual([body, 422]);
      expect(page.text).toContain('Please choose one of the cryptocurrencies.');
    }
    expect((await paymentOf(slug)).status).toBeNull();
  });

  it('begins a payment in the one crypto of a fixed invoice', async () => {
    const slug = await invoice({ crypto: 'XMR' });
    expect((await get(slug)).text).toContain('>Pay with Monero</button>');
    expect((await post(slug, 'crypto=XMR')).status).toBe(303);
    expect((await get(slug)).text).toContain('href="monero:');
  });

  it('withholds a chain that is away, and refuses it if it is chosen all the same', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    await service.call('POST', '/sandbox/outage', { crypto: 'LTC', down: true });
    service.advance(2 * 60_000);
    await service.call('POST', '/sandbox/mine', { crypto: 'BTC' });
    const page = await until('another chain is synced again', async () => {
      const { text } = await get(slug);
      return text.includes('name="crypto" value="BTC"') && text;
    });
    expect(page).toMatch(/data-crypto="LTC">[^\n]*connection to its network is behind/);
    expect(page).not.toContain('value="LTC"');
    const refused = await post(slug, 'crypto=LTC');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
    expect(refused.text).toContain('That cryptocurrency cannot be used at the moment.');
    expect((await post(slug, 'crypto=BTC')).status).toBe(303);
  });

  it('refuses bodies that are too large or of another kind', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    const large = await post(slug, `crypto=${'L'.repeat(2_000)}`);
    expect(large.status).toBe(413);
    expect(large.text).toContain('<h1>This request could not be read</h1>');
    const json = await fetchPage(slug, {
      method: 'POST',
      body: '{"crypto":"LTC"}',
      headers: { 'content-type': 'application/json' },
    });
    expect(json.status).toBe(422);
  });
});

describe('changing the coin', () => {
  serve(beforeEach, afterEach);

  const shown = async (slug: string) => {
    const { text } = await get(slug);
    return { text, address: (await paymentOf(slug)).address };
  };

  it('gives a new address and amount, and the money pays wherever it comes', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    await post(slug, 'crypto=LTC');
    const first = await shown(slug);
    expect(first.text).toContain('<button name="change" value="BTC"');
    expect(first.text).not.toContain('name="change" value="LTC"');
    const changed = await post(slug, 'change=BTC');
    expect([changed.status, target(changed, slug)]).toEqual([303, `${service.url}/pay/${slug}`]);
    const second = await shown(slug);
    expect(second.address).not.toBe(first.address);
    expect(second.text).toContain(`href="bitcoin:${second.address}?amount=`);
    // of the coin that was left, not a word
    expect(second.text.replace(/<\/?span>|<wbr>/g, '')).not.toContain(first.address);
    await post(slug, 'change=LTC');
    expect((await shown(slug)).address).toBe(first.address);
    await post(`${slug}/sandbox`, 'do=half');
    const partly = await showing(slug, 'Part of it has arrived');
    expect(partly.text).not.toContain('name="change"');
    // too late, and the page says how it stands
    expect((await post(slug, 'change=BTC')).status).toBe(303);
    expect((await shown(slug)).address).toBe(first.address);
  });

  it('says when another coin is away, and changes nothing', async () => {
    const slug = await invoice({ crypto: 'ALL' });
    await post(slug, 'crypto=LTC');
    const { address } = await paymentOf(slug);
    await service.call('POST', '/sandbox/outage', { crypto: 'BTC', down: true });
    service.advance(2 * 60_000);
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
    const refused = await until('the payment’s own chain is synced again', async () => {
      const answer = await post(slug, 'change=BTC');
      return answer.text.includes('To this address') ? answer : null;
    });
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('role="alert">That cryptocurrency cannot be used at the moment.');
    expect((await post(slug, 'change=DOGE')).status).toBe(422);
    expect((await paymentOf(slug)).address).toBe(address);
  });

  it('is not offered where the shop said which', async () => {
    const slug = await requested();
    expect((await get(slug)).text).not.toContain('name="change"');
    expect((await post(slug, 'change=BTC')).status).toBe(303);
    expect((await paymentOf(slug)).address).toMatch(/^rltc1/);
  });
});

describe('a payment', () => {
  serve(beforeEach, afterEach);

  it('goes by the sandbox buttons from half to all, to confirmed, to the shop', async () => {
    const slug = await requested({ close_url: 'https://shop.example/?a=1&b=2', automatic_redirect: true });
    const half = await post(`${slug}/sandbox`, 'do=half');
    expect([half.status, target(half, `${slug}/sandbox`)]).toEqual([303, `${service.url}/pay/${slug}?watch=1`]);
    const partly = await showing(slug, 'Part of it has arrived');
    expect(partly.text).toContain(
      '>0.625\u00a0LTC</bdi></bdi> arrived. Please send <bdi><bdi dir="ltr">0.625\u00a0LTC<',
    );
    expect(partly.text).toContain('?amount=0.625"');
    await post(`${slug}/sandbox`, 'do=exact');
    const found = await showing(slug, '<bdi>0</bdi> of <bdi>3</bdi> confirmations');
    expect(found.text).not.toContain('litecoin:');
    // nothing is left: the button of an old page does no harm
    expect((await post(`${slug}/sandbox`, 'do=exact')).status).toBe(303);
    for (let block = 1; block <= 3; block++) await post(`${slug}/sandbox`, 'do=mine');
    const paid = await showing(slug, 'Paid. Thank you!');
    expect(paid.text).toContain('<meta http-equiv="refresh" content="5;url=https://shop.example/?a=1&amp;b=2">');
    expect(paid.text).toContain('<dt>Received</dt><dd><bdi dir="ltr">1.25\u00a0LTC</bdi></dd>');
  });

  it('says when too much came', async () => {
    const slug = await requested({ crypto: 'BCH' });
    const { remaining } = await paymentOf(slug);
    await post(`${slug}/sandbox`, 'do=double');
    await showing(slug, 'of <bdi>1</bdi> confirmation');
    await post(`${slug}/sandbox`, 'do=mine');
    const paid = await showing(slug, 'Paid. Thank you!');
    expect(paid.text).toContain(`<bdi dir="ltr">${Number(remaining) * 2}\u00a0BCH</bdi></bdi> in total`);
    expect(paid.text).not.toContain('http-equiv="refresh"');
  });

  it('gives a fresh price after the quote, and none while the chain is behind', async () => {
    const slug = await requested();
    const { address } = await paymentOf(slug);
    const ending = (text: string): string => /holds until <bdi><time datetime="([^"]+)"/.exec(text)?.[1] ?? '';
    const first = ending((await get(slug)).text);
    await service.call('POST', '/sandbox/outage', { crypto: 'LTC', down: true });
    service.advance(HOUR + 1_000);
    const without = await get(slug);
    expect(without.status).toBe(200);
    expect(without.text).toContain('our connection to the network is behind. Do not send anything now');
    expect(without.text.replace(/<\/?span>|<wbr>/g, '')).not.toContain(address);
    expect(without.text).not.toContain('<svg class="qr"');
    await service.call('POST', '/sandbox/outage', { crypto: 'LTC', down: false });
    const fresh = await showing(slug, 'Send exactly');
    expect(Date.parse(ending(fresh.text))).toBeGreaterThan(Date.parse(first));
    expect(fresh.text.replace(/<\/?span>|<wbr>/g, '')).toContain(`>${address}</p>`);
  });

  it('has no sandbox button that is unknown', async () => {
    const slug = await requested();
    const page = await post(`${slug}/sandbox`, 'do=steal');
    expect(page.status).toBe(400);
    expect(page.text).toContain('<h1>That did not work</h1>');
  });
});

describe('limits by address', () => {
  serve(beforeEach, afterEach);

  /** The answers up to the first refusal: a slow machine gets a few more through, since the buckets fill meanwhile. */
  async function untilRefused(ask: () => Promise<Page>): Promise<{ allowed: number; refused: Page }> {
    for (let allowed = 0; allowed < 500; allowed++) {
      const page = await ask();
      if (page.status === 429) return { allowed, refused: page };
      expect(page.status).toBe(404);
    }
    throw new Error('nothing was refused');
  }

  it('stop reads after 60 at once, and only for a while', async () => {
    const slug = await invoice();
    const { allowed, refused } = await untilRefused(() => get('AAAAAAAAAAAA'));
    expect(allowed).toBeGreaterThanOrEqual(60);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.text).toContain('<h1>Too many requests</h1>');
    service.advance(1_000);
    expect((await get(slug)).status).toBe(200);
  });

  it('stop forms after 10, and reads go on', async () => {
    const { allowed, refused } = await untilRefused(() => post('AAAAAAAAAAAA', ''));
    expect(allowed).toBeGreaterThanOrEqual(10);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(6);
    expect((await get('AAAAAAAAAAAA')).status).toBe(404);
  });
});
