/** What a shop calls its invoices, and the lists for books that are kept elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

let service: TestDaemon;
beforeAll(async () => {
  service = await startTestDaemon();
});
afterAll(() => service.stop());

type Item = Record<string, unknown> & { id: string };
type Page = { items: Item[]; next: string | null };
type Created = { id: string };

const list = (what: string, query: Record<string, string> = {}) =>
  service.call<Page>('GET', `/${what}?${new URLSearchParams(query)}`);
const create = async (body: object) => (await service.call<Created>('POST', '/invoice', body)).body.id;

/** Every item, page by page. */
async function all(what: string, query: Record<string, string> = {}): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body }: { status: number; body: Page } = await list(what, {
      ...query,
      ...(cursor ? { cursor } : {}),
    });
    expect(status).toBe(200);
    items.push(...body.items);
    cursor = body.next;
  }
  return items;
}

describe('an order reference', () => {
  const given = {
    order_id: 'A-1001 ✓',
    description: 'Two loaves',
    metadata: { customer: '42', note: '', __proto: 'x'.repeat(500) },
  };

  it('comes back to the shop with the invoice', async () => {
    const id = await create({ amount: 20, ...given });
    expect((await service.call('GET', `/invoice/${id}`)).body).toMatchObject(given);
  });

  it('counts characters, of which a surrogate pair is one, as the description of the API does', async () => {
    const longest = {
      order_id: '🥖'.repeat(100),
      description: '🥖'.repeat(500),
      metadata: { ['🥖'.repeat(100)]: '🥖'.repeat(500) },
    };
    const id = await create({ amount: 20, ...longest });
    expect((await service.call('GET', `/invoice/${id}`)).body).toMatchObject(longest);
  });

  it('finds it for the operator', async () => {
    const id = await create({ amount: 20, order_id: 'B-7' });
    const { invoices } = await strictCaller(service.dataDir)('invoice.list', { order_id: 'B-7' });
    expect(invoices.map(({ slug, order_id }) => [slug, order_id])).toEqual([[id, 'B-7']]);
  });

  it('is null where none was given', async () => {
    const id = await create({ amount: 20, order_id: null });
    const { body } = await service.call('GET', `/invoice/${id}`);
    expect(body).toMatchObject({ order_id: null, description: null, metadata: null });
  });

  it('is shown to a payer without the metadata', async () => {
    const id = await create({ amount: 20, ...given });
    const answer = await fetch(`${service.url}/api/v1/sdk/invoice/${id}`, {
      headers: { 'mb-client-id': service.clientId },
    });
    const body = (await answer.json()) as Record<string, unknown>;
    expect(body).toMatchObject({ order_id: given.order_id, description: given.description });
    expect(body).not.toHaveProperty('metadata');
  });

  it('may be given by a browser, metadata not', async () => {
    const headers = { 'mb-client-id': service.clientId, 'content-type': 'application/json' };
    const body = JSON.stringify({ amount: 20, ...given });
    const made = await fetch(`${service.url}/api/v1/sdk/invoice`, { method: 'POST', headers, body });
    expect(made.status).toBe(201);
    const { id } = (await made.json()) as Created;
    const stored = (await service.call('GET', `/invoice/${id}`)).body;
    expect(stored).toMatchObject({ order_id: given.order_id, description: given.description, metadata: null });
  });

  it.each<[object, string, string]>([
    [{ order_id: '' }, 'order_id', 'The order id may not be empty.'],
    [{ order_id: 7 }, 'order_id', 'The order id must be a string.'],
    [{ order_id: 'x'.repeat(101) }, 'order_id', 'The order id may not be longer than 100 characters.'],
    [{ order_id: 'a\nb' }, 'order_id', 'The order id may not hold control characters.'],
    [{ order_id: 'a\ud800' }, 'order_id', 'The order id must be valid Unicode.'],
    [{ description: 'x'.repeat(501) }, 'description', 'The description may not be longer than 500 characters.'],
    [{ metadata: [] }, 'metadata', 'The metadata must be an object.'],
    [{ metadata: { a: 1 } }, 'metadata', 'The values of the metadata must be strings.'],
    [{ metadata: { a: { b: 'c' } } }, 'metadata', 'The values of the metadata must be strings.'],
    [{ metadata: { amount: 1.5 } }, 'metadata', 'The values of the metadata must be strings.'],
    [{ metadata: { '': 'x' } }, 'metadata', 'The keys of the metadata must have 1 to 100 characters.'],
    [
      { metadata: { a: 'x'.repeat(501) } },
      'metadata',
      'The values of the metadata may not be longer than 500 characters.',
    ],
    [{ metadata: { ['🥖'.repeat(101)]: 'x' } }, 'metadata', 'The keys of the metadata must have 1 to 100 characters.'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, ''])) },
      'metadata',
      'The metadata may not have more than 20 keys.',
    ],
  ])('%j is refused', async (extra, field, message) => {
    const answer = await service.call('POST', '/invoice', { amount: 20, ...extra });
    expect(answer).toMatchObject({ status: 422, body: { message, errors: { [field]: [message] } } });
  });
});

describe('the list of invoices', () => {
  it('is newest first, whole over its pages, and has no deleted one', async () => {
    const own = await startTestDaemon();
    try {
      const ids: string[] = [];
      for (let n = 0; n < 7; n++) {
        const made = await own.call<Created>('POST', '/invoice', { amount: 20 + n, order_id: n % 2 ? 'odd' : 'even' });
        ids.unshift(made.body.id);
        own.advance(n === 3 ? 60_000 : 0);
      }
      await own.call('DELETE', `/invoice/${ids[2]}`);
      const rest = ids.filter((_, n) => n !== 2);
      const get = async (query: Record<string, string>) =>
        (await own.call<Page>('GET', `/invoices?${new URLSearchParams(query)}`)).body;
      for (const limit of ['1', '2', '3', '200']) {
        const seen: string[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const page: Page = await get({ limit, ...(cursor ? { cursor } : {}) });
          seen.push(...page.items.map(({ id }) => id));
          cursor = page.next;
        }
        expect(seen).toEqual(rest);
      }
      expect((await get({ order_id: 'odd' })).items.map(({ order_id }) => order_id)).toEqual(['odd', 'odd', 'odd']);
      expect((await get({ order_id: 'none' })).items).toEqual([]);
      const middle = new Date(own.now() - 30_000).toISOString();
      expect((await get({ created_from: middle })).items.map(({ id }) => id)).toEqual(
        ids.slice(0, 3).filter((_, n) => n !== 2),
      );
      expect((await get({ created_to: middle })).items.map(({ id }) => id)).toEqual(ids.slice(3));
      expect((await get({ status: 'paid' })).items).toEqual([]);
      expect((await get({ status: 'unpaid', crypto: 'ALL' })).items).toHaveLength(6);
      expect((await get({ crypto: 'LTC' })).items).toEqual([]);
    } finally {
      await own.stop();
    }
  });

  it.each([
    [{ limit: '0' }, 'limit'],
    [{ limit: '201' }, 'limit'],
    [{ limit: 'x' }, 'limit'],
    [{ status: 'overdue' }, 'status'],
    [{ crypto: 'DOGE' }, 'crypto'],
    [{ created_from: 'yesterday' }, 'created_from'],
    [{ cursor: 'AAAA' }, 'cursor'],
    [{ cursor: '💥' }, 'cursor'],
  ])('refuses %j', async (query, field) => {
    const answer = await list('invoices', query as unknown as Record<string, string>);
    expect(answer.status).toBe(422);
    expect(Object.keys((answer.body as unknown as { errors: object }).errors)).toEqual([field]);
  });

  it('keeps to a time at which it ends, whatever place the cursor names', async () => {
    const own = await startTestDaemon();
    try {
      const letGo = own.holdClock();
      const old = await own.call<Created>('POST', '/invoice', { amount: 20 });
      own.advance(1);
      const end = new Date(own.now()).toISOString();
      for (let n = 0; n < 3; n++) await own.call('POST', '/invoice', { amount: 20 });
      letGo();
      const { next } = (await own.call<Page>('GET', '/invoices?limit=1')).body;
      const { body } = await own.call<Page>('GET', `/invoices?cursor=${next}&created_to=${end}`);
      expect(body.items.map(({ id }) => id)).toEqual([old.body.id]);
    } finally {
      await own.stop();
    }
  });

  it('refuses the cursor of another list', async () => {
    for (let n = 0; n < 2; n++) await create({ amount: 20 });
    const { next } = (await list('invoices', { limit: '1' })).body;
    expect((await list('invoices', { cursor: next! })).status).toBe(200);
    for (const other of ['withdrawals', 'transactions']) {
      const { status, body } = await list(other, { cursor: next! });
      expect([status, body]).toMatchObject([422, { errors: { cursor: ['The cursor is invalid.'] } }]);
    }
  });

  it('says of an order id that it is too long', async () => {
    const message = 'The order id may not be longer than 100 characters.';
    const answer = await list('invoices', { order_id: 'x'.repeat(101) });
    expect([answer.status, answer.body]).toEqual([422, { message, errors: { order_id: [message] } }]);
    expect((await list('invoices', { order_id: '🥖'.repeat(100) })).status).toBe(200);
  });
});

describe('receipts and withdrawals', () => {
  it('are listed as they stand, whatever they were for', async () => {
    const id = await create({ amount: 80, crypto: 'LTC', order_id: 'books' });
    await service.call('POST', `/invoice/rp/${id}`, {});
    const paid = await service.call<{ tx_id: string; amount: string }>('POST', '/sandbox/pay', { invoice_id: id });
    const receipts = () => all('transactions', { order_id: 'books' });
    await until('it is seen', async () => (await receipts()).length === 1);
    const [seen] = await receipts();
    expect(seen).toMatchObject({
      tx_id: paid.body.tx_id,
      amount: paid.body.amount,
      status: 'pending',
      confirmations: 0,
    });
    expect(seen).toMatchObject({ invoice_id: id, order_id: 'books', counts_for_invoice: true, currency: 'USD' });
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 6 });
    await until('it is confirmed', async () => (await receipts())[0]?.status === 'confirmed');
    expect((await receipts())[0]).toMatchObject({ value: '80', value_usd: '80', confirmations: 6 });

    // what comes later is in nobody's invoice, and in the books all the same
    const late = await service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id: id, amount: '0.5' });
    await until('the later one is seen', async () => (await receipts()).length === 2);
    await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 6 });
    await until('it is in the inbox', async () => (await receipts())[0]?.counts_for_invoice === false);
    expect((await receipts())[0]).toMatchObject({ tx_id: late.body.tx_id, invoice_id: id, amount: '0.5' });
    expect(await all('transactions', { crypto: 'BTC' })).toEqual([]);

    const invoice = (await service.call<{ payment: { address: string } }>('GET', `/invoice/${id}`)).body;
    const asked = { amount: '0.3', crypto: 'LTC', address: invoice.payment.address };
    const { status, body } = await service.call<Created>('POST', '/withdraw', asked);
    expect(status).toBe(201);
    const [withdrawal] = await all('withdrawals');
    expect(withdrawal).toMatchObject({ id: body.id, amount: '0.3', crypto: 'LTC' });
    await until('it is completed', async () => {
      await service.call('POST', '/sandbox/mine', { crypto: 'LTC' });
      return (await all('withdrawals', { status: 'completed' })).length === 1;
    });
    expect(await all('withdrawals', { status: 'pending' })).toEqual([]);
    // its own change is no receipt
    expect(await all('transactions', { crypto: 'LTC' })).toHaveLength(3);
  });

  it('count for no invoice once they are gone', async () => {
    const id = await create({ amount: 80, crypto: 'LTC', order_id: 'gone' });
    await service.call('POST', `/invoice/rp/${id}`, {});
    const { body } = await service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id: id });
    const receipt = async () => (await all('transactions', { order_id: 'gone' }))[0];
    await until('it is seen', async () => (await receipt())?.counts_for_invoice === true);
    await service.call('POST', '/sandbox/double-spend', { tx_id: body.tx_id });
    await until('it is gone', async () => (await receipt())?.status === 'dropped');
    expect(await receipt()).toMatchObject({ invoice_id: id, counts_for_invoice: false });
  });
});
