/** The browser client against a service that says what the test wants: what it asks, answers, throws and waits. */
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import type { Answer } from '../../../daemon/http/answers.ts';
import * as sdk from '../../../daemon/web/sdk/sdk.ts';
import type * as Types from '../../../daemon/web/sdk/types.ts';
import { FakePage, fakeFetch, type Said } from './page-kit.ts';

/** What is published as types is what the module exports: this line does not compile otherwise. */
const published: typeof Types = sdk;

/** What is published fits what the service answers, field by field: these lines do not compile otherwise. */
it('has the types of the answers', () => {
  expectTypeOf<Answer<'CreatedInvoice'>>().toExtend<Types.CreatedInvoice>();
  expectTypeOf<Answer<'PayersInvoice'>>().toExtend<Types.Invoice>();
  expectTypeOf<Answer<'PayersPayment'>>().toExtend<Types.Payment>();
  expectTypeOf<Answer<'InvoiceStatus'>>().toExtend<Types.InvoiceStatus>();
  expectTypeOf<Answer<'RatesByCrypto'>>().toExtend<Types.Rates>();
  expectTypeOf<Answer<'Cryptos'>>().toExtend<Types.Crypto[]>();
  expectTypeOf<keyof Answer<'CreatedInvoice'>>().toEqualTypeOf<keyof Types.CreatedInvoice>();
  expectTypeOf<keyof Answer<'PayersInvoice'>>().toEqualTypeOf<keyof Types.Invoice>();
  expectTypeOf<keyof Answer<'PayersPayment'>>().toEqualTypeOf<keyof Types.Payment>();
  expectTypeOf<keyof Answer<'InvoiceStatus'>>().toEqualTypeOf<keyof Types.InvoiceStatus>();
});

const BASE = 'https://pay.example/api/v1/sdk';
const SLUG = 'AbCdEfGh1234';
const OPTIONS = { clientId: 'ch_client_x', apiBase: `${BASE}/` };
const SECOND = 1_000;

let page: FakePage;
beforeEach(() => {
  page = new FakePage();
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  vi.stubGlobal('document', page);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function service(say: Parameters<typeof fakeFetch>[0]) {
  const { fetch, calls } = fakeFetch(say);
  vi.stubGlobal('fetch', fetch);
  return { fetch, calls };
}
const ok = (body: unknown): Said => ({ status: 200, body });
const status = (word: string, more: object = {}): Said => ok({ status: word, payment_status: 'pending', ...more });

describe('requests', () => {
  const HEADERS = { 'MB-CLIENT-ID': 'ch_client_x', Accept: 'application/json', 'Content-Type': 'application/json' };

  it.each<[string, (client: Types.Client) => Promise<unknown>, string, string, unknown]>([
    [
      'createInvoice',
      (c) => c.createInvoice({ amount: 25, currency: 'EUR' }),
      'POST',
      '/invoice',
      { amount: 25, currency: 'EUR' },
    ],
    ['getInvoice', (c) => c.getInvoice(SLUG), 'GET', `/invoice/${SLUG}`, undefined],
    ['getInvoiceStatus', (c) => c.getInvoiceStatus(SLUG), 'GET', `/invoice/status/${SLUG}`, undefined],
    ['requestPayment', (c) => c.requestPayment(SLUG), 'POST', `/invoice/rp/${SLUG}`, {}],
    [
      'requestPayment of a symbol',
      (c) => c.requestPayment(SLUG, 'LTC'),
      'POST',
      `/invoice/rp/${SLUG}`,
      { crypto: 'LTC' },
    ],
    [
      'requestPayment of an object',
      (c) => c.requestPayment(SLUG, { crypto: 'LTC' }),
      'POST',
      `/invoice/rp/${SLUG}`,
      { crypto: 'LTC' },
    ],
    ['a slug that is none', (c) => c.getInvoice('../x?y'), 'GET', '/invoice/..%2Fx%3Fy', undefined],
  ])('%s', async (_name, ask, method, path, body) => {
    const { fetch, calls } = service(() => ok({ id: 1 }));
    await expect(ask(sdk.createClient(OPTIONS))).resolves.toEqual({ id: 1 });
    expect(calls).toEqual([{ url: BASE + path, method, headers: HEADERS, body }]);
    expect(fetch.mock.calls[0]![1]).toMatchObject({ credentials: 'omit', cache: 'no-store' });
  });

  it('need a client ID', () => {
    expect(() => sdk.createClient({ clientId: '' })).toThrow('clientId is required');
  });
});

describe('errors', () => {
  const failing = (said: Said): Promise<Types.SdkError> => {
    service(() => said);
    return sdk
      .createClient(OPTIONS)
      .getInvoice(SLUG)
      .then(
        () => expect.fail('it did not reject'),
        (error: Types.SdkError) => error,
      );
  };

  it.each<[string, number, unknown, string, unknown]>([
    ['a message', 401, { message: 'Invalid client ID' }, 'Invalid client ID', { message: 'Invalid client ID' }],
    ['an error', 404, { error: 'Invoice not found' }, 'Invoice not found', { error: 'Invoice not found' }],
    [
      'both',
      400,
      { message: 'Payment already requested', error: 'payment.requested' },
      'Payment already requested',
      { message: 'Payment already requested', error: 'payment.requested' },
    ],
    ['words that are none', 400, { message: 7, error: {} }, 'HTTP 400', { message: 7, error: {} }],
    ['a page of a proxy', 502, '<html>', 'HTTP 502', null],
    ['nothing', 500, '', 'HTTP 500', null],
    ['null', 400, null, 'HTTP 400', null],
  ])('with %s', async (_name, code, body, message, payload) => {
    const error = await failing({ status: code, body });
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe(message);
    expect(error.details).toEqual({ status: code, payload });
  });

  it('say when to try again', async () => {
    const error = await failing({ status: 429, body: { message: 'slow down' }, headers: { 'Retry-After': '7' } });
    expect(error.details).toEqual({ status: 429, payload: { message: 'slow down' }, retryAfter: 7 });
  });

  it('of the network have no details', async () => {
    const error = await failing('unreachable');
    expect(error.message).toBe('Network error');
    expect(error).not.toHaveProperty('details');
  });

  it('a success that is no JSON is none of the service’s', async () => {
    expect((await failing({ status: 200, body: '<html>Welcome to the hotel' })).message).toBe('Network error');
  });

  it('a service that never answers is given up after half a minute', async () => {
    const never = vi.fn(
      (_url: string, { signal }: RequestInit) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    );
    vi.stubGlobal('fetch', never);
    const asked = sdk.createClient(OPTIONS).getInvoice(SLUG);
    const outcome = expect(asked).rejects.toThrow('Network error');
    await vi.advanceTimersByTimeAsync(30 * SECOND);
    await outcome;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('cryptos and rates', () => {
  const RATES = { BTC: { usd: 65998.1 } };
  const CRYPTOS = [{ id: 1, name: 'Bitcoin', symbol: 'BTC' }];
  const preload = () => service(({ url }) => ok(url.endsWith('/rates') ? RATES : CRYPTOS));

  it('are loaded by init', async () => {
    const { calls } = preload();
    const client = await sdk.init(OPTIONS);
    expect(calls.map(({ url }) => url).sort()).toEqual([`${BASE}/cryptos`, `${BASE}/rates`]);
    expect(client.rates()).toEqual(RATES);
    expect(client.cryptos()).toEqual(CRYPTOS);
    expect(calls).toHaveLength(2);
  });

  it('are loaded anew in the background once they are older than five minutes', async () => {
    const { calls } = preload();
    const client = await sdk.init(OPTIONS);
    await vi.advanceTimersByTimeAsync(300 * SECOND);
    client.rates();
    expect(calls).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(client.rates()).toEqual(RATES);
    client.cryptos();
    await vi.advanceTimersByTimeAsync(0);
    expect(calls).toHaveLength(4);
  });

  it('are empty in a client that was made without init, until they come', async () => {
    const { calls } = preload();
    const client = sdk.createClient(OPTIONS);
    expect(calls).toHaveLength(0);
    expect([client.rates(), client.cryptos()]).toEqual([{}, []]);
    await vi.advanceTimersByTimeAsync(0);
    expect([client.rates(), client.cryptos()]).toEqual([RATES, CRYPTOS]);
  });

  it('that cannot be loaded are init’s error, and the functions work all the same', async () => {
    service(({ url }) => (url.includes('/invoice/') ? status('unpaid') : 'unreachable'));
    await expect(sdk.init(OPTIONS)).rejects.toThrow('Network error');
    await expect(published.getInvoiceStatus(SLUG)).resolves.toMatchObject({ status: 'unpaid' });
    expect(published.rates()).toEqual({});
  });
});

describe('pollInvoice', () => {
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  it('asks at once, every 3 s, and every 15 s after five minutes, until it is paid', async () => {
    let word = 'unpaid';
    const { calls } = service(() => status(word));
    const seen: string[] = [];
    const done = sdk.createClient(OPTIONS).pollInvoice(SLUG, { onUpdate: (update) => seen.push(update.status) });
    await pass(0);
    expect(calls.map(({ url }) => url)).toEqual([`${BASE}/invoice/status/${SLUG}`]);
    await pass(2_999);
    expect(calls).toHaveLength(1);
    await pass(1);
    expect(calls).toHaveLength(2);
    await pass(297 * SECOND);
    expect(calls).toHaveLength(101);
    await pass(14_999);
    expect(calls).toHaveLength(101);
    await pass(1);
    expect(calls).toHaveLength(102);
    word = 'paid';
    await pass(15 * SECOND);
    await expect(done).resolves.toMatchObject({ status: 'paid' });
    expect(seen).toEqual([...new Array(102).fill('unpaid'), 'paid']);
    await pass(60 * SECOND);
    expect(calls).toHaveLength(103);
    expect([page.listeners, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it.each([
    [0, 2_400],
    [1, 3_600],
  ])('spreads its questions (%d: after %d ms)', async (random, ms) => {
    vi.mocked(Math.random).mockReturnValue(random);
    const { calls } = service(() => status('unpaid'));
    sdk.createClient(OPTIONS).pollInvoice(SLUG);
    await pass(ms - 1);
    expect(calls).toHaveLength(1);
    await pass(1);
    expect(calls).toHaveLength(2);
  });

  it.each([
    [10_000, 10_000],
    [1, 1_000],
    [0, 3_000],
    [Number.NaN, 3_000],
    [Number.POSITIVE_INFINITY, 3_600_000],
  ])('takes an interval of %d ms as %d ms', async (interval, ms) => {
    const { calls } = service(() => status('unpaid'));
    sdk.createClient(OPTIONS).pollInvoice(SLUG, { interval });
    await pass(ms - 1);
    expect(calls).toHaveLength(1);
    await pass(1);
    expect(calls).toHaveLength(2);
  });

  it.each(['paid', 'canceled'])('ends on %s', async (word) => {
    service(() => status(word));
    await expect(sdk.createClient(OPTIONS).pollInvoice(SLUG)).resolves.toMatchObject({ status: word });
  });

  it.each<[number, unknown]>([
    [404, { error: 'Invoice not found' }],
    [401, { message: 'Invalid client ID' }],
    [403, { message: 'Origin not allowed' }],
  ])('ends on %d', async (code, body) => {
    const { calls } = service(() => ({ status: code, body }));
    const outcome = await sdk
      .createClient(OPTIONS)
      .pollInvoice(SLUG)
      .catch((error: Types.SdkError) => error);
    expect(outcome).toMatchObject({ details: { status: code, payload: body } });
    await pass(60 * SECOND);
    expect(calls).toHaveLength(1);
    expect(page.listeners).toBe(0);
  });

  it.each<[string, Said]>([
    ['a network that is away', 'unreachable'],
    ['a service that is being restarted', { status: 502, body: '' }],
    ['a chain that is behind', { status: 503, body: { message: 'later' } }],
  ])('outlasts %s', async (_name, said) => {
    service((_call, n) => (n <= 20 ? said : status('paid')));
    const done = sdk.createClient(OPTIONS).pollInvoice(SLUG);
    await pass(60 * SECOND);
    await expect(done).resolves.toMatchObject({ status: 'paid' });
  });

  it('waits as long as it is told to', async () => {
    const busy = { status: 429, body: { message: 'slow down' }, headers: { 'Retry-After': '20' } };
    const { calls } = service((_call, n) => (n === 1 ? busy : status('unpaid')));
    sdk.createClient(OPTIONS).pollInvoice(SLUG);
    await pass(20 * SECOND);
    expect(calls).toHaveLength(1);
    await pass(SECOND);
    expect(calls).toHaveLength(2);
  });

  it('is paused while the page is hidden, and asks at once when it is shown', async () => {
    const { calls } = service(() => status('unpaid'));
    sdk.createClient(OPTIONS).pollInvoice(SLUG);
    await pass(SECOND);
    page.show(false);
    await pass(3_600 * SECOND);
    expect(calls).toHaveLength(1);
    page.show(true);
    await pass(0);
    expect(calls).toHaveLength(2);
    await pass(15 * SECOND);
    expect(calls).toHaveLength(3);
  });

  it('begins when a page that was opened in the background is shown', async () => {
    page.hidden = true;
    const { calls } = service(() => status('unpaid'));
    sdk.createClient(OPTIONS).pollInvoice(SLUG);
    await pass(60 * SECOND);
    expect(calls).toHaveLength(0);
    page.show(true);
    expect(calls).toHaveLength(1);
  });

  it('a page that is hidden while it asks takes the answer and then waits', async () => {
    const answer = Promise.withResolvers<Said>();
    const { calls } = service(() => answer.promise);
    const seen: unknown[] = [];
    sdk.createClient(OPTIONS).pollInvoice(SLUG, { onUpdate: (update) => seen.push(update) });
    page.show(false);
    answer.resolve(status('unpaid'));
    await pass(60 * SECOND);
    expect([calls.length, seen.length]).toEqual([1, 1]);
  });

  it('never asks twice at the same time, and asks once more for whoever was shown meanwhile', async () => {
    const answers = [Promise.withResolvers<Said>(), Promise.withResolvers<Said>()];
    const { calls } = service((_call, n) => answers[n - 1]?.promise ?? status('unpaid'));
    sdk.createClient(OPTIONS).pollInvoice(SLUG);
    for (let n = 0; n < 5; n++) {
      page.show(false);
      page.show(true);
    }
    expect(calls).toHaveLength(1);
    answers[0]!.resolve(status('unpaid'));
    await pass(0);
    expect(calls).toHaveLength(2);
    answers[1]!.resolve(status('unpaid'));
    await pass(2_999);
    expect(calls).toHaveLength(2);
  });

  it('ends with its signal, before and after', async () => {
    const { calls } = service(() => status('unpaid'));
    const control = new AbortController();
    const { signal } = control;
    const onUpdate = vi.fn();
    const done = sdk.createClient(OPTIONS).pollInvoice(SLUG, { signal, onUpdate });
    await pass(3 * SECOND);
    control.abort();
    await expect(done).rejects.toMatchObject({ name: 'AbortError' });
    await expect(sdk.createClient(OPTIONS).pollInvoice(SLUG, { signal })).rejects.toMatchObject({ name: 'AbortError' });
    await pass(60 * SECOND);
    expect([calls.length, onUpdate.mock.calls.length]).toEqual([2, 2]);
    expect([page.listeners, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('tells nothing after its signal, not even the answer under way', async () => {
    const answer = Promise.withResolvers<Said>();
    service(() => answer.promise);
    const control = new AbortController();
    const onUpdate = vi.fn();
    const done = sdk.createClient(OPTIONS).pollInvoice(SLUG, { signal: control.signal, onUpdate });
    control.abort();
    answer.resolve(status('paid'));
    await expect(done).rejects.toMatchObject({ name: 'AbortError' });
    await pass(0);
    expect(onUpdate).not.toHaveBeenCalled();
  });

  it('reports a listener that throws, and goes on', async () => {
    const { calls } = service(() => status('unpaid'));
    sdk.createClient(OPTIONS).pollInvoice(SLUG, {
      onUpdate: () => {
        throw new Error('the page’s bug');
      },
    });
    await vi.advanceTimersByTimeAsync(0).catch((error: Error) => expect(error.message).toBe('the page’s bug'));
    await pass(3 * SECOND).catch((error: Error) => expect(error.message).toBe('the page’s bug'));
    expect(calls).toHaveLength(2);
  });

  it('that nobody awaits leaves no rejection unhandled', async () => {
    service(() => ({ status: 404, body: { error: 'Invoice not found' } }));
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    sdk.createClient(OPTIONS).pollInvoice(SLUG);
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('works where there is no page', async () => {
    vi.stubGlobal('document', undefined);
    service((_call, n) => status(n === 3 ? 'canceled' : 'unpaid'));
    const done = sdk.createClient(OPTIONS).pollInvoice(SLUG);
    await pass(6 * SECOND);
    await expect(done).resolves.toMatchObject({ status: 'canceled' });
  });
});

describe('poll', () => {
  it('takes hints', async () => {
    const read = vi.fn(async () => read.mock.calls.length);
    const hints: (() => void)[] = [];
    const done = sdk.poll(read, (n) => n === 3, { wake: (askNow) => hints.push(askNow) });
    await vi.advanceTimersByTimeAsync(10);
    hints[0]!();
    await vi.advanceTimersByTimeAsync(10);
    hints[0]!();
    await expect(done).resolves.toBe(3);
    hints[0]!();
    expect(read).toHaveBeenCalledTimes(3);
  });
});
