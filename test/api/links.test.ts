/** Payment links as strangers and the merchant meet them: the whole daemon on its sandbox. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Params, Result } from '../../daemon/contract/operator.ts';
import { LANGUAGES } from '../../daemon/payment-page/languages/index.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';

const HOUR = 3_600_000;
const BYTES_MAX = 60_000;

let service: TestDaemon;
let operator: Operator;
beforeAll(async () => {
  service = await startTestDaemon('[browser]\ncreations_per_minute = 6000\ncreations_burst = 1000\n');
  operator = new Operator(service.dataDir);
});
afterAll(() => service.stop());

type Wanted = Params<'link.add'>;
type Link = Result<'link.show'>['link'];
type Page = { status: number; to: string | null; text: string };

let made = 0;
const add = async (wanted: Partial<Wanted>): Promise<Link> => {
  const link = `link-${++made}`;
  return (
    await operator.call('link.add', { business: '1', kind: 'fixed', currency: 'EUR', name: 'A link', link, ...wanted })
  ).link;
};
const show = async (link: Link): Promise<Link> => (await operator.call('link.show', { link: link.link })).link;
const fixed = (price: string, stock: number | null = null, rest: Partial<Wanted> = {}): Promise<Link> =>
  add({ kind: 'fixed', items: [{ name: 'One', price, stock }], ...rest });

async function fetchPage(path: string, init: RequestInit = {}): Promise<Page> {
  const response = await fetch(`${service.url}/pay/${path}`, { redirect: 'manual', ...init });
  return { status: response.status, to: response.headers.get('location'), text: await response.text() };
}
const page = (link: Link, query = ''): Promise<Page> => fetchPage(`l/${link.link}${query}`);
const send = (path: string, fields: Record<string, string>): Promise<Page> =>
  fetchPage(path, { method: 'POST', body: new URLSearchParams(fields) });
const order = (link: Link, fields: Record<string, string> = {}): Promise<Page> => send(`l/${link.link}`, fields);
const alertIn = (text: string): string | undefined => /role="alert">([^<]*)</.exec(text)?.[1];

/** The invoice that an answer leads to. */
const slugOf = ({ status, to }: Page): string => {
  expect(status).toBe(303);
  return new URL(to!, `${service.url}/pay/l/x`).pathname.replace('/pay/', '');
};
const invoiceOf = async (answer: Page) => (await operator.call('invoice.show', { invoice: slugOf(answer) })).invoice;

describe('an order', () => {
  it('of a fixed amount is an invoice with the name of the link', async () => {
    const link = await fixed('24', null, { name: 'Coffee for a month' });
    expect((await page(link)).text).toContain('Pay €24.00');
    const invoice = await invoiceOf(await order(link));
    expect(invoice).toMatchObject({
      amount: '24',
      currency: 'EUR',
      crypto: 'ALL',
      origin: 'link',
      description: 'Coffee for a month',
      metadata: { link: link.link },
      status: 'unpaid',
    });
  });

  it.each([
    [{ suggested: '5' }, '5'],
    [{ suggested: '5', amount: '7,50' }, '7.5'],
    [{ amount: '٧٫٥' }, '7.5'],
    [{ amount: '1' }, '1'],
  ])('of any amount %j is %s', async (fields, amount) => {
    const link = await add({ kind: 'open', least: '1', suggested: ['2', '5'] });
    expect(await invoiceOf(await order(link, fields as Record<string, string>))).toMatchObject({ amount });
  });

  it.each([
    [{}, 'Please type an amount of at least €1.00.'],
    [{ amount: '0.99' }, 'Please type an amount of at least €1.00.'],
    [{ amount: '1,000' }, 'Please type an amount of at least €1.00.'],
    [{ amount: '1e3' }, 'Please type an amount of at least €1.00.'],
    [{ amount: '-5' }, 'Please type an amount of at least €1.00.'],
    [{ amount: '5.001' }, 'Please type an amount of at least €1.00.'],
    [{ amount: '9999999999' }, 'That is more than can be paid at once.'],
  ])('of any amount %j is refused', async (fields, text) => {
    const link = await add({ kind: 'open', least: '1' });
    const answer = await order(link, fields as Record<string, string>);
    expect([answer.status, alertIn(answer.text)]).toEqual([422, text]);
  });

  it('of items adds them up, and names them', async () => {
    const items = [
      { name: 'Seat', price: '35', stock: 13 },
      { name: 'Seat with wine', price: '49.5', stock: null },
    ];
    const link = await add({ kind: 'items', name: 'Tasting', items });
    const [seat, wine] = link.items;
    const invoice = await invoiceOf(await order(link, { [`q${seat!.id}`]: '2', [`q${wine!.id}`]: '1' }));
    expect(invoice).toMatchObject({ amount: '119.5', description: 'Tasting: 2 × Seat, 1 × Seat with wine' });
  });

  it.each([
    [(): Record<string, string> => ({}), 'Please choose at least one item.'],
    [(id: number) => ({ [`q${id}`]: '0' }), 'Please choose at least one item.'],
    [(id: number) => ({ [`q${id}`]: '-1' }), 'Please choose at least one item.'],
    [(id: number) => ({ [`q${id}`]: '1.5' }), 'Please choose at least one item.'],
    [(id: number) => ({ [`q${id + 1_000}`]: '1' }), 'Please choose at least one item.'],
    [(id: number) => ({ [`q${id}`]: '10000' }), 'Please choose at least one item.'],
    [(id: number) => ({ [`q${id}`]: '4' }), 'It is sold out, or there is not so much of it left.'],
  ])('of wrong quantities is refused (%#)', async (fields, text) => {
    const link = await add({ kind: 'items', items: [{ name: 'Seat', price: '35', stock: 3 }] });
    const answer = await order(link, fields(link.items[0]!.id));
    expect([answer.status, alertIn(answer.text)]).toEqual([422, text]);
  });

  it('that is worth less than a cent is refused', async () => {
    const link = await add({ kind: 'open', currency: 'IDR', least: null });
    expect((await order(link, { amount: '0.02' })).status).toBe(422);
  });

  it('is asked for at least the smallest amount of a currency without decimals', async () => {
    const link = await add({ kind: 'open', currency: 'JPY', least: null });
    expect((await page(link)).text).toContain('placeholder="from JP¥1"');
    expect(alertIn((await order(link, { amount: '0.01' })).text)).toBe('Please type an amount of at least JP¥1.');
  });

  it('leads to the same language', async () => {
    const link = await fixed('24');
    expect((await send(`l/${link.link}?lang=de`, {})).to).toContain('?lang=de');
  });
});

/** Waits until payers are offered a coin: after the clock moved, its chain is synced first. */
const offered = (crypto: string): Promise<boolean> =>
  until(`${crypto} can be chosen`, async () => {
    const { cryptos } = await operator.call('counter.show', { business: '1' });
    return cryptos.find((one) => one.crypto === crypto)?.ready ?? false;
  });

async function ask(slug: string, crypto = 'LTC'): Promise<Page> {
  await offered(crypto);
  return send(slug, { crypto });
}

describe('stock', () => {
  const pay = async (slug: string): Promise<void> => {
    await service.call('POST', '/sandbox/pay', { invoice_id: slug });
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 3 });
    await until('it is paid', async () => {
      return (await operator.call('invoice.show', { invoice: slug })).invoice.status === 'paid';
    });
  };

  it('is held by who asks for an address first, and given back by a canceled sale', async () => {
    const link = await fixed('120', 1);
    const [first, second] = [slugOf(await order(link)), slugOf(await order(link))];
    expect((await show(link)).items[0]).toMatchObject({ taken: 0, left: 1 });
    expect((await ask(first)).status).toBe(303);
    const refused = await ask(second);
    expect([refused.status, alertIn(refused.text)]).toEqual([
      422,
      'It is sold out, or there is not so much of it left.',
    ]);
    expect(await show(link)).toMatchObject({ state: 'sold_out', items: [{ taken: 1, left: 0 }] });
    expect((await page(link)).text).toContain('Sold out');
    expect((await order(link)).status).toBe(422);

    await operator.call('invoice.cancel', { invoice: first });
    expect(await show(link)).toMatchObject({ state: 'open', items: [{ taken: 0, left: 1 }] });
    expect((await ask(second)).status).toBe(303);
    await pay(second);
    expect(await show(link)).toMatchObject({
      state: 'sold_out',
      items: [{ taken: 1, left: 0 }],
      paid: 1,
      paid_amount: '120',
    });
  });

  it('is not held longer than a price, by a sale that nobody pays', async () => {
    const link = await fixed('120', 1);
    const first = slugOf(await order(link));
    expect((await ask(first)).status).toBe(303);
    expect((await order(link)).status).toBe(422);
    expect((await page(link)).text).toContain('Sold out');
    service.advance(HOUR + 1_000);
    // no button would be there otherwise
    expect((await page(link)).text).toContain('Pay €120.00');
    expect((await show(link)).items[0]).toMatchObject({ left: 1 });
    const second = slugOf(await order(link));
    expect((await operator.call('invoice.show', { invoice: first })).invoice.status).toBe('unpaid');
    expect((await ask(second)).status).toBe(303);
    expect((await operator.call('invoice.show', { invoice: first })).invoice.status).toBe('canceled');
    expect((await show(link)).items[0]).toMatchObject({ taken: 1 });
  });

  it('may be exceeded by the merchant alone', async () => {
    const link = await fixed('120', 1);
    const [first, second] = [slugOf(await order(link)), slugOf(await order(link))];
    expect((await ask(first)).status).toBe(303);
    await operator.call('invoice.markPaid', { invoice: second });
    expect((await show(link)).items[0]).toMatchObject({ taken: 2, left: 0 });
    await operator.call('invoice.cancel', { invoice: first });
    expect((await show(link)).items[0]).toMatchObject({ taken: 1, left: 0 });
  });

  it('survives a restart', async () => {
    const link = await fixed('120', 2);
    expect((await ask(slugOf(await order(link)))).status).toBe(303);
    await service.restart();
    expect((await show(link)).items[0]).toMatchObject({ taken: 1, left: 1 });
  });
});

describe('the merchant', () => {
  it.each<[string, Partial<Wanted>, string]>([
    [
      '10,000 items',
      { kind: 'items', items: Array.from({ length: 10_000 }, (_, at) => ({ name: `I${at}`, price: '1' })) },
      'items',
    ],
    ['no item', { kind: 'items', items: [] }, 'items'],
    [
      'two fixed amounts',
      {
        items: [
          { name: 'a', price: '1' },
          { name: 'b', price: '1' },
        ],
      },
      'items',
    ],
    ['a price of nothing', { items: [{ name: 'a', price: '0' }] }, 'items.0.price'],
    ['too many decimals', { items: [{ name: 'a', price: '1.001' }] }, 'items.0.price'],
    ['decimals of yen', { currency: 'JPY', items: [{ name: 'a', price: '1.5' }] }, 'items.0.price'],
    ['an enormous price', { items: [{ name: 'a', price: '1000000001' }] }, 'items.0.price'],
    ['an unknown currency', { currency: 'XXX', items: [{ name: 'a', price: '1' }] }, 'currency'],
    ['a name that turns the writing round', { name: 'Seat\u202egnp.exe', items: [{ name: 'a', price: '1' }] }, 'name'],
    ['an item that does', { items: [{ name: 'a\u2067b', price: '1' }] }, 'items.0.name'],
    ['a name of blanks', { name: '   ', items: [{ name: 'a', price: '1' }] }, 'name'],
    ['a long name', { name: 'n'.repeat(81), items: [{ name: 'a', price: '1' }] }, 'name'],
    ['a suggestion below the least', { kind: 'open', least: '5', suggested: ['2'] }, 'suggested'],
    ['seven suggestions', { kind: 'open', suggested: ['1', '2', '3', '4', '5', '6', '7'] }, 'suggested'],
    ['an address with a slash', { link: 'a/b', items: [{ name: 'a', price: '1' }] }, 'slug'],
  ])('is told what is wrong with %s', async (_, wanted, field) => {
    await expect(add(wanted)).rejects.toMatchObject({ code: expect.stringMatching(/^link\./), field });
  });

  it('cannot use an address twice', async () => {
    const { link } = await fixed('1');
    await expect(fixed('1', null, { link })).rejects.toMatchObject({ code: 'link.slug' });
  });

  it('gets an address from the name, or a random one', async () => {
    const named = async (name: string): Promise<string> => (await fixed('1', null, { name, link: null })).link;
    expect(await named('Crème brûlée!')).toBe('creme-brulee');
    expect(await named('Crème brûlée!')).toMatch(/^creme-brulee-[a-z0-9]{6}$/);
    expect(await named('珈琲')).toMatch(/^[a-z0-9]{6}$/);
  });

  it('sees which coins cannot carry the amount, and payers are not offered them', async () => {
    const link = await add({ kind: 'open', currency: 'USD', least: '0.01' });
    expect(link.too_small_for).toContain('BTC');
    expect(link.too_small_for).not.toContain('XMR');
    const slug = slugOf(await order(link, { amount: '0.01' }));
    await offered('BTC');
    expect((await fetchPage(slug)).text).toMatch(/data-crypto="BTC".*?Too small an amount for this coin/);
    expect((await ask(slug, 'BTC')).status).toBe(422);
    expect((await ask(slug, 'XMR')).status).toBe(303);
  });

  it('changes items without losing what is sold of them', async () => {
    const link = await add({
      kind: 'items',
      items: [
        { name: 'Seat', price: '35', stock: 3 },
        { name: 'Old', price: '1' },
      ],
    });
    const [seat, old] = link.items;
    expect((await ask(slugOf(await order(link, { [`q${seat!.id}`]: '2' })))).status).toBe(303);
    const items = [
      { name: 'New', price: '2' },
      { id: seat!.id, name: 'Seat', price: '40', stock: 5 },
    ];
    const { link: now } = await operator.call('link.change', { link: link.link, name: 'Changed', items });
    expect(now.items).toMatchObject([
      { name: 'New', taken: 0 },
      { id: seat!.id, price: '40', taken: 2, left: 3 },
    ]);
    expect((await order(link, { [`q${old!.id}`]: '1' })).status).toBe(422);
    const twice = [items[1]!, items[1]!];
    await expect(operator.call('link.change', { link: link.link, name: 'x', items: twice })).rejects.toMatchObject({
      code: 'link.field',
    });
  });

  it('ends a link and opens it again; its last day ends it, too', async () => {
    const link = await fixed('10');
    await operator.call('link.end', { link: link.link });
    expect((await page(link)).text).toContain('This offer has ended');
    expect((await order(link)).status).toBe(410);
    await operator.call('link.end', { link: link.link, ended: false });
    expect((await order(link)).status).toBe(303);
    const today = new Date(service.now()).toISOString().slice(0, 10);
    const short = await fixed('10', null, { ends_on: today });
    expect(short.ends_on).toBe(today);
    expect((await order(short)).status).toBe(303);
    service.advance(24 * HOUR);
    expect(await show(short)).toMatchObject({ state: 'ended' });
    expect((await order(short)).status).toBe(410);
  });

  it('lists links by page', async () => {
    const first = await operator.call('link.list', { business: '1', limit: 2 });
    const second = await operator.call('link.list', { business: '1', limit: 2, before: first.next! });
    expect(first.links.map(({ id }) => id)).toEqual([made, made - 1].map((_, at) => first.links[0]!.id - at));
    expect(second.links[0]!.id).toBeLessThan(first.links[1]!.id);
  });
});

describe('the page', () => {
  it('shows names as text, whatever they are', async () => {
    const name = `<script>alert(1)</script> & "x" \u200fא`;
    const link = await add({ kind: 'items', name, about: name, items: [{ name, price: '1', stock: 2 }] });
    const { text } = await page(link);
    expect(text).not.toContain('<script>');
    expect(text).not.toContain('\u200f');
    expect(text.split('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot; א').length).toBeGreaterThan(3);
    expect(link.snippet).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot;');
  });

  it('is small and allows no script, with as many items as there may be', async () => {
    const items = Array.from({ length: 100 }, (_, at) => ({
      name: `${at} ${'x'.repeat(70)}`,
      price: '12.5',
      stock: 9,
    }));
    const link = await add({ kind: 'items', items });
    const response = await fetch(`${service.url}/pay/l/${link.link}`);
    const text = await response.text();
    expect(text.length).toBeLessThan(BYTES_MAX);
    expect(text).not.toContain('<script');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('content-security-policy')).toContain("form-action 'self'");
    const all = Object.fromEntries(link.items.map(({ id }) => [`q${id}`, '1']));
    expect(await invoiceOf(await order(link, all))).toMatchObject({ amount: '1250' });
  });

  it.each(LANGUAGES.map(({ language, words }) => [language, words] as const))('speaks %s', async (language, words) => {
    const link = await add({ kind: 'open', suggested: ['2'] });
    const { text } = await page(link, `?lang=${language}`);
    expect(text).toContain(`<html lang="${language}"`);
    expect(text).toContain(words.nextCoin);
    expect(text).toContain(words.otherAmount);
  });

  it.each([
    ['GET', 'l/nothing-here', 404],
    ['GET', 'l/UPPER', 404],
    ['GET', 'l/%2e%2e', 404],
    ['POST', 'l/nothing-here', 404],
    ['PUT', 'l/link-1', 405],
  ])('answers %s %s with %d', async (method, path, status) => {
    expect((await fetchPage(path, { method, body: method === 'GET' ? null : new URLSearchParams() })).status).toBe(
      status,
    );
  });

  it('refuses a body that is too large', async () => {
    const link = await fixed('1');
    expect((await order(link, { amount: 'x'.repeat(9_000) })).status).toBe(413);
  });
});

it('makes no more invoices for one address than the browser API', async () => {
  const own = await startTestDaemon('[browser]\ncreations_per_minute = 2\ncreations_burst = 2\n');
  try {
    own.holdClock();
    const items = [{ name: 'One', price: '10' }];
    const { link } = await new Operator(own.dataDir).call('link.add', {
      business: '1',
      kind: 'fixed',
      name: 'x',
      items,
    });
    const statuses: number[] = [];
    for (let at = 0; at < 3; at++) {
      const body = new URLSearchParams();
      statuses.push(
        (await fetch(`${own.url}/pay/l/${link.link}`, { method: 'POST', body, redirect: 'manual' })).status,
      );
    }
    expect(statuses).toEqual([303, 303, 429]);
  } finally {
    await own.stop();
  }
});
