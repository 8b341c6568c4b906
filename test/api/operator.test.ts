/** What the operator API's methods do, over HTTP, every answer checked against the contract. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ASSETS, CHAINS } from '../../daemon/domain/assets.ts';
import { SCOPES } from '../../daemon/domain/merchant.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { refusal, strictCaller } from './operator-raw.ts';

let shop: Server;
let received: string[];
let shopPort: number;
let daemon: TestDaemon;
let call: ReturnType<typeof strictCaller>;

beforeAll(async () => {
  received = [];
  shop = createServer((request, response) => {
    received.push(request.url ?? '');
    response.statusCode = received.length % 2 === 1 ? 500 : 204;
    response.end();
  });
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  shopPort = (shop.address() as AddressInfo).port;
  daemon = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${shopPort}"]\n`);
  call = strictCaller(daemon.dataDir);
});
afterAll(async () => {
  await daemon.stop();
  shop.close();
});

const KEY = { name: 'till', scopes: [...SCOPES] };
const ALL = ASSETS.map((asset) => asset.symbol);

/** Public accounts of a wallet that is only known here. */
const accountsOf = (network: 'mainnet' | 'regtest', no: number, seed = 7) =>
  Object.fromEntries(CHAINS.map((chain) => [chain, accountKey(new Uint8Array(32).fill(seed), chain, network, no)]));

async function newInvoice(amount: number, extra: object = {}): Promise<string> {
  const { status, body } = await daemon.call('POST', '/invoice', { amount, ...extra });
  expect(status).toBe(201);
  return body.id as string;
}

async function pay(slug: string, crypto: string, amount?: string): Promise<string> {
  expect((await daemon.call('POST', `/invoice/rp/${slug}`, { crypto })).status).toBe(201);
  const paid = await daemon.call('POST', '/sandbox/pay', { invoice_id: slug, ...(amount ? { amount } : {}) });
  expect(paid.status).toBe(201);
  return paid.body.tx_id as string;
}

const mine = (crypto: string, blocks: number) => daemon.call('POST', '/sandbox/mine', { crypto, blocks });
const show = async (invoice: string) => (await call('invoice.show', { invoice })).invoice;
const paidWith = (invoice: string, status: string) =>
  until(`${invoice} is ${status}`, async () => {
    const found = await show(invoice);
    return found.status === status && found;
  });

describe('status', () => {
  it('tells of every chain, rate and pool', async () => {
    const status = await call('status', {});
    expect(status).toMatchObject({ version: '0.1.0', url: daemon.url, data_dir: daemon.dataDir, open_alerts: 0 });
    expect(status.chains.map(({ network, chain, error, withheld }) => ({ network, chain, error, withheld }))).toEqual(
      CHAINS.map((chain) => ({ network: 'sandbox', chain, error: null, withheld: null })),
    );
    expect(status.rates.map(({ crypto }) => crypto)).toEqual(ALL);
    expect(status.rates.find(({ crypto }) => crypto === 'LTC')).toMatchObject({ network: 'sandbox', usd: '80' });
    expect(
      status.pools.filter(({ business_id }) => business_id === 1).map(({ chain, wanted }) => [chain, wanted]),
    ).toEqual(CHAINS.map((chain) => [`sandbox:${chain}`, 20]));
    expect(status.pools[0]?.ready).toBeGreaterThan(0);
  });
});

describe('businesses', () => {
  it('adds a sandbox one with a key and a client ID that work', async () => {
    const added = await call('business.add', {
      name: 'Bakery',
      network: 'sandbox',
      time_zone: 'Europe/Berlin',
      key: { name: 'till', scopes: ['invoices'] },
      client: { name: 'page', origins: ['https://bakery.example', 'https://bakery.example:8443'] },
    });
    expect(added.business).toMatchObject({ name: 'Bakery', account_no: 1, time_zone: 'Europe/Berlin', cryptos: ALL });
    expect(added.client).toMatchObject({ hosts: ['bakery.example'] });
    expect(added.key.key).toMatch(/^ch_test_[A-Za-z0-9]{32}$/);
    expect(added.key.hint).toBe(added.key.key.slice(0, 12));
    const mine = { 'mb-api-key': added.key.key };
    expect((await daemon.call('POST', '/invoice', { amount: 20 }, mine)).status).toBe(201);
    expect((await daemon.call('GET', '/balance', undefined, mine)).status).toBe(403);
    await call('key.revoke', { id: added.key.id });
    expect((await daemon.call('POST', '/invoice', { amount: 20 }, mine)).status).toBe(401);
  });

  it('adds one on a real network from public keys, and can enable what it has an account for', async () => {
    expect(await call('business.nextAccount', { network: 'mainnet' })).toEqual({ account_no: 0 });
    const accounts = accountsOf('mainnet', 0);
    const { business, key } = await call('business.add', {
      name: 'Live',
      network: 'mainnet',
      account_no: 0,
      accounts,
      key: KEY,
    });
    expect(business).toMatchObject({ network: 'mainnet', cryptos: [], possible_cryptos: [], time_zone: 'UTC' });
    expect(key.key).toMatch(/^ch_live_/);
    const changed = await call('business.change', { business: 'live', enable: ['LTC', 'BTC'], name: 'Live 1' });
    expect(changed.business).toMatchObject({ name: 'Live 1', cryptos: ['BTC', 'LTC'] });
    const again = await call('business.change', { business: String(business.id), disable: ['BTC'] });
    expect(again.business.cryptos).toEqual(['LTC']);
    expect(await call('business.nextAccount', { network: 'mainnet' })).toEqual({ account_no: 1 });
  });

  const add = { name: 'X', network: 'mainnet', key: KEY } as const;
  it.each([
    [
      'an account number that is taken',
      { ...add, account_no: 0, accounts: accountsOf('mainnet', 0) },
      409,
      'business.account',
    ],
    ['no accounts', add, 400, 'business.accounts'],
    [
      'accounts for the sandbox',
      { ...add, network: 'sandbox' as const, accounts: accountsOf('mainnet', 0) },
      400,
      'business.accounts',
    ],
    ['a name that is a number', { ...add, network: 'sandbox' as const, name: ' 12 ' }, 400, 'business.name'],
    [
      'a time zone that is none',
      { ...add, network: 'sandbox' as const, time_zone: 'Mars/Base' },
      400,
      'business.time_zone',
    ],
    [
      'an origin that is none',
      { ...add, network: 'sandbox' as const, client: { name: 'p', origins: ['shop.example'] } },
      400,
      'client.origin',
    ],
    [
      'a birthday to come',
      { ...add, account_no: 1, accounts: accountsOf('mainnet', 1), birthday: '2999-01-01T00:00:00Z' },
      400,
      'business.birthday',
    ],
    [
      'a birthday and a restore height',
      {
        ...add,
        account_no: 1,
        accounts: accountsOf('mainnet', 1),
        birthday: '2024-01-01T00:00:00Z',
        restore_height: 3_000_000,
      },
      400,
      'business.restore_height',
    ],
    [
      'a restore height without Monero',
      { ...add, account_no: 1, accounts: accountsOf('mainnet', 1), restore_height: 3_000_000 },
      400,
      'business.restore_height',
    ],
    [
      'a restore height for the sandbox',
      { ...add, network: 'sandbox' as const, restore_height: 5 },
      400,
      'business.restore_height',
    ],
    [
      'a restore height that is no block',
      { ...add, account_no: 1, accounts: accountsOf('mainnet', 1), restore_height: -1 },
      422,
      'params',
    ],
    ['a private key', { ...add, account_no: 1, accounts: { BTC: { kind: 'xprv' } } as never }, 422, 'params'],
  ])('refuses %s and changes nothing', async (_, params, status, code) => {
    const before = await call('business.list', {});
    expect(await refusal(daemon.dataDir, 'business.add', params)).toMatchObject({ status, code });
    expect(await call('business.list', {})).toEqual(before);
    expect((await call('key.list', { business: '1' })).keys).toHaveLength(1);
  });

  it('refuses keys from which no address follows', async () => {
    const notOnTheCurve = { kind: 'secp256k1' as const, publicKey: `02${'f'.repeat(64)}`, chainCode: '0'.repeat(64) };
    const other = await startTestDaemon('[networks.regtest.LTC]\ncore_rpc = "http://u:p@127.0.0.1:9"\n');
    try {
      const params = { ...add, network: 'regtest' as const, account_no: 0, accounts: { LTC: notOnTheCurve } };
      expect(await refusal(other.dataDir, 'business.add', params)).toMatchObject({
        status: 400,
        code: 'business.accounts',
      });
      const good = { ...params, accounts: accountsOf('regtest', 0) };
      expect((await strictCaller(other.dataDir)('business.add', good)).business.cryptos).toEqual(['LTC']);
    } finally {
      await other.stop();
    }
  });

  it('finds one by number, UUID or name, if only one has it', async () => {
    const twins = [];
    for (let i = 0; i < 2; i++) {
      twins.push((await call('business.add', { name: 'Twin', network: 'sandbox', key: KEY })).business);
    }
    const [first] = twins;
    for (const business of [String(first!.id), first!.uuid, first!.uuid.toUpperCase()]) {
      expect((await call('business.change', { business, time_zone: 'UTC' })).business.id).toBe(first!.id);
    }
    const refused = await refusal(daemon.dataDir, 'key.list', { business: 'TWIN' });
    expect(refused).toMatchObject({ status: 409, code: 'business.ambiguous' });
    expect(refused.message).toContain(twins.map(({ id }) => id).join(', '));
    const missing = await refusal(daemon.dataDir, 'key.list', { business: '99' });
    expect(missing).toMatchObject({ status: 404, code: 'business.not_found' });
  });
});

describe('keys and client IDs', () => {
  it('lists revoked ones only when asked', async () => {
    const { key } = await call('key.add', { business: '1', name: 'gone', scopes: ['balance', 'balance'] });
    expect(key.scopes).toEqual(['balance']);
    await call('key.revoke', { id: key.id });
    const ids = async (revoked: boolean) =>
      (await call('key.list', { business: '1', revoked })).keys.map(({ id }) => id);
    expect(await ids(false)).not.toContain(key.id);
    expect(await ids(true)).toContain(key.id);
    const twice = await refusal(daemon.dataDir, 'key.revoke', { id: key.id });
    expect(twice).toMatchObject({ status: 404, code: 'key.not_found' });
  });

  it('changes origins and hosts, each alone', async () => {
    const { client } = await call('client.add', { business: '1', name: 'page', origins: ['https://a.example'] });
    const moved = await call('client.change', {
      client: client.client_id,
      origins: ['https://b.example', 'https://b.example'],
    });
    expect(moved.client).toMatchObject({ origins: ['https://b.example'], hosts: ['a.example'] });
    const named = await call('client.change', { client: String(client.id), hosts: ['B.example', 'c.example'] });
    expect(named.client).toMatchObject({ origins: ['https://b.example'], hosts: ['b.example', 'c.example'] });
    for (const host of ['a.example:80', 'https://a.example', 'a.example/x', 'a b', 'u@a.example']) {
      const refused = await refusal(daemon.dataDir, 'client.change', { client: client.client_id, hosts: [host] });
      expect(refused).toMatchObject({ status: 400, code: 'client.host' });
    }
    await call('client.revoke', { client: client.client_id });
    expect((await call('client.list', { business: '1' })).clients.map(({ id }) => id)).not.toContain(client.id);
    const late = await refusal(daemon.dataDir, 'client.change', { client: client.client_id, hosts: [] });
    expect(late).toMatchObject({ status: 404, code: 'client.not_found' });
  });

  it('wants an origin outside the sandbox', async () => {
    const live = (await call('business.list', {})).businesses.find(({ network }) => network === 'mainnet');
    const refused = await refusal(daemon.dataDir, 'client.add', { business: String(live!.id), name: 'page' });
    expect(refused).toMatchObject({ status: 400, code: 'client.origin' });
    expect((await call('client.add', { business: '1', name: 'any' })).client.origins).toEqual([]);
  });
});

describe('invoices', () => {
  it('shows everything of one that is paid, with its notification', async () => {
    const slug = await newInvoice(40, { webhook_url: `http://127.0.0.1:${shopPort}/paid?x=1` });
    expect(await show(slug)).toMatchObject({
      status: 'unpaid',
      amount: '40',
      tolerance: '0.4',
      payment: null,
      credits: [],
      webhook: null,
    });
    const txid = await pay(slug, 'LTC');
    const seen = await until('the deposit is seen', async () => {
      const found = await show(slug);
      return found.credits.length > 0 && found;
    });
    expect(seen.payment).toMatchObject({
      crypto: 'LTC',
      amount: '0.5',
      received: '0.5',
      confirmed: '0',
      received_value: '40',
      required_confirmations: 3,
      quote: { rate: '80', ended: false },
    });
    expect(seen.credits).toMatchObject([
      {
        tx_id: txid,
        amount: '0.5',
        value: '40',
        usd_value: '40',
        block_height: null,
        confirmations: 0,
        confirmed: false,
        claim: null,
        gone: false,
      },
    ]);
    await mine('LTC', 3);
    const paid = await paidWith(slug, 'paid');
    expect(paid.credits).toMatchObject([{ confirmed: true, claim: 'invoice', confirmations: 3 }]);
    const told = await until('the first attempt ended', async () => {
      const { webhook } = await show(slug);
      return webhook?.attempts[0]?.finished_at ? webhook : null;
    });
    expect(told).toMatchObject({
      invoice: slug,
      state: 'attempted',
      attempts: [{ by_operator: false, status: 500, error: null }],
    });
    const again = await call('webhook.resend', { id: told.id });
    expect(again).toMatchObject({
      status: 204,
      error: null,
      webhook: { attempts: [{ by_operator: false }, { by_operator: true, status: 204 }] },
    });
    expect(received).toEqual(['/paid?x=1', '/paid?x=1']);
    expect(await cli(daemon.dataDir, ['webhook', 'resend', `${told.id}`])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^error: http:\S+ did not take the notification: HTTP 500\n$/),
    });
    expect((await call('webhook.list', {})).webhooks.map(({ id }) => id)).toEqual([told.id]);
    expect(await refusal(daemon.dataDir, 'webhook.resend', { id: 99 })).toMatchObject({
      status: 404,
      code: 'webhook.not_found',
    });
    expect((await call('business.list', {})).businesses[0]?.balances).toContainEqual({
      crypto: 'LTC',
      amount: '0.5',
      withheld: null,
      unproven: null,
      locked: null,
    });
  });

  it('cancels one, whose deposit goes to the inbox', async () => {
    const slug = await newInvoice(40);
    const txid = await pay(slug, 'BTC', '0.0001');
    await until('the deposit is seen', async () => (await show(slug)).credits.length > 0);
    expect((await call('invoice.cancel', { invoice: slug })).invoice).toMatchObject({
      status: 'canceled',
      credits: [{ claim: 'short' }],
    });
    const [item] = (await call('inbox.list', { limit: 1 })).items;
    expect(item).toMatchObject({
      invoice: slug,
      reason: 'short',
      state: 'open',
      crypto: 'BTC',
      amount: '0.0001',
      usd_value: '6',
      chain: 'sandbox:BTC',
      confirmed: false,
      gone: false,
    });
    expect(item?.outpoint).toContain(txid);
    for (const method of ['invoice.cancel', 'invoice.markPaid'] as const) {
      const refused = await refusal(daemon.dataDir, method, { invoice: slug });
      expect(refused).toMatchObject({ status: 409, code: 'invoice.not_unpaid' });
    }
  });

  it('marks one paid without a payment, by its UUID, and notifies', async () => {
    const slug = await newInvoice(15, { webhook_url: `http://127.0.0.1:${shopPort}/marked` });
    const { uuid } = await show(slug);
    const { invoice } = await call('invoice.markPaid', { invoice: uuid });
    expect(invoice).toMatchObject({ slug, status: 'paid', payment: null });
    await until('the shop was told', async () => received.includes('/marked'));
  });

  it('shows a deleted one, lists it no longer, and decides nothing about it', async () => {
    const slug = await newInvoice(15);
    expect((await daemon.call('DELETE', `/invoice/${slug}`)).status).toBe(200);
    expect((await show(slug)).deleted_at).toMatch(/^\d{4}-/);
    expect((await call('invoice.list', {})).invoices.map((invoice) => invoice.slug)).not.toContain(slug);
    expect(await refusal(daemon.dataDir, 'invoice.cancel', { invoice: slug })).toMatchObject({ status: 404 });
  });

  it('pages, and filters by business and status', async () => {
    const all = (await call('invoice.list', { limit: 200 })).invoices.map(({ id }) => id);
    expect(all).toEqual([...all].sort((a, b) => b - a));
    const paged: number[] = [];
    let before: number | null = null;
    do {
      const page: Awaited<ReturnType<typeof call<'invoice.list'>>> = await call('invoice.list', {
        limit: 2,
        ...(before === null ? {} : { before }),
      });
      paged.push(...page.invoices.map(({ id }) => id));
      before = page.next;
    } while (before !== null);
    expect(paged).toEqual(all);
    const canceled = await call('invoice.list', { status: 'canceled' });
    expect(canceled.invoices.map(({ status }) => status)).toEqual(['canceled']);
    expect(canceled.next).toBeNull();
    const others = await call('invoice.list', { business: 'Bakery' });
    expect(others.invoices.map(({ business, amount }) => [business, amount])).toEqual([['Bakery', '20']]);
  });
});
