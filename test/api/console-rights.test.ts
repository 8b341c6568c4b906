/** The rules of the contract's methods, as sessions of the console and the log go by them: every method of the map. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isMethod, type Method, OPERATOR, rulesOf } from '../../daemon/contract/operator.ts';
import { run } from '../../daemon/http/operator/answer.ts';
import { instead } from '../e2e/stand-in.ts';
import { buildConsole } from '../support/console.ts';
import { ConsolePage } from '../support/console-page.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { openShop } from '../support/shop.ts';
import { strictCaller } from './operator-raw.ts';

const METHODS = Object.keys(OPERATOR).filter(isMethod);
const ABSENT = 'Abcdefghijkl';
/** A signer of its own could refuse more: these are the methods after which money leaves, or somebody may spend it, with no other word of the operator. */
const SPENDING = [
  'addressBook.add',
  'addressBook.remove',
  'backup.drillOpen',
  'business.add',
  'forwarding.send',
  'forwarding.set',
  'gas.collect',
  'gas.resume',
  'gas.tank',
  'key.add',
  'policy.set',
  'restore.confirm',
  'wallet.authorize',
  'wallet.custody',
  'wallet.passphrase',
  'wallet.revoke',
  'wallet.unlock',
  'withdrawal.add',
  'withdrawal.approve',
  'withdrawal.psbt',
  'withdrawal.signed',
];
const OF_COUNTER = [
  'counter.cancel',
  'counter.choose',
  'counter.refund',
  'counter.sale',
  'counter.sell',
  'counter.show',
  'events.next',
  'item.list',
];
/** Of every reading method that needs parameters, such as find nothing. */
const SAMPLES: Partial<Record<Method, object>> = {
  'link.show': { link: ABSENT },
  'business.leftovers': { business: '1' },
  'business.nextAccount': { network: 'sandbox' },
  'invoice.show': { invoice: ABSENT },
  'counter.sale': { invoice: ABSENT },
  'invoice.counts': { business: '1' },
  'invoice.sums': { business: '1', from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' },
  'invoice.find': { text: ABSENT },
  'api.ignored': { business: '1' },
  'item.list': { business: '1' },
  'closing.next': { business: '1' },
  'closing.list': { business: '1' },
  'takings.list': { business: '1', by: 'day', periods: 1 },
  'forwarding.list': { business: '1' },
  'forwarding.preview': { business: '1', crypto: 'LTC' },
  'gas.forecast': { business: '1', chain: 'ETH' },
  'books.statement': { business: '1', month: '2026-01' },
  'export.page': { from: '2026-01-01', to: '2026-01-02' },
  'withdrawal.show': { id: '999' },
  'withdrawal.recipient': { business: '1', crypto: 'LTC', address: 'x' },
  'withdrawal.propose': { kind: 'pay', id: '999' },
  'policy.show': { business: '1' },
  'policy.grants': { business: '1', mode: 'manual' },
  'addressBook.list': { business: '1' },
  'addressBook.grants': { id: 999 },
  'address.list': { business: '1' },
  'events.next': { wait_seconds: 0 },
};

type Told = { status: number; body: { error?: { code: string }; [field: string]: unknown } };

async function signIn(daemon: TestDaemon) {
  const { url } = await strictCaller(daemon.dataDir)('console.open', {});
  const page = await ConsolePage.signIn(url);
  return {
    page,
    call: async (method: string, body: object = {}) => {
      // so many calls a minute are not allowed
      daemon.advance(100);
      return (await page.ask(`/call/${method}`, body)) as Told;
    },
  };
}

let open: TestDaemon;
let closed: TestDaemon;
beforeAll(async () => {
  buildConsole();
  const rates = '[networks.regtest.rates]\nLTC = "80"\n';
  open = await startTestDaemon(`[console]\nport = 0\n${rates}`);
  closed = await startTestDaemon(`[console]\nport = 0\napprovals = false\n${rates}`);
});
afterAll(() => Promise.all([open.stop(), closed.stop()]));

it('name each method that lets money leave, and each of the counter', () => {
  expect(METHODS.filter((method) => rulesOf(method).approves).sort()).toEqual(SPENDING.sort());
  expect(METHODS.filter((method) => rulesOf(method).counter).sort()).toEqual(OF_COUNTER);
});

describe('the log', () => {
  /** The methods that are in the log after a call. */
  async function logged(method: Method, params: object): Promise<unknown[]> {
    const info = vi.fn();
    const app = { log: { info }, store: { urgently: (work: () => unknown) => work() } };
    const end = instead(method, () => ({}));
    const answer = await run({ app } as never, method, params).finally(end);
    expect([method, answer.status]).toEqual([method, 200]);
    return info.mock.calls.map(([what]) => (what as { method: string }).method);
  }

  it.each(METHODS.filter((method) => rulesOf(method).does === 'reads'))('has no change by %s', async (method) => {
    expect(await logged(method, SAMPLES[method] ?? {})).toEqual([]);
  });

  it.each<[Method, object]>([
    ['counter.choose', { invoice: ABSENT, crypto: 'LTC' }],
    ['key.add', { business: '1', name: 'till' }],
    ['wallet.lock', {}],
    ['alert.test', {}],
  ])('has a change by %s', async (method, params) => {
    expect(await logged(method, params)).toEqual([method]);
  });
});

describe('a session that is locked to the counter', () => {
  let till: Awaited<ReturnType<typeof signIn>>;
  let other: number;
  beforeAll(async () => {
    till = await signIn(open);
    const made = await strictCaller(open.dataDir)('business.add', {
      name: 'Other shop',
      network: 'sandbox',
      key: { name: 'key', scopes: ['invoices'] },
    });
    other = made.business.id;
    expect((await till.page.ask('/session/lock', {})).status).toBe(422);
    expect((await till.page.ask('/session/lock', { business: 1 })).status).toBe(200);
  });

  it.each(METHODS)('%s', async (method) => {
    const { status, body } = await till.call(method, method === 'events.next' ? { wait_seconds: 0 } : {});
    const isRefused = body.error?.code === 'console.refused';
    expect([status === 403, isRefused]).toEqual([!OF_COUNTER.includes(method), !OF_COUNTER.includes(method)]);
  });

  it('neither sees nor changes an invoice that is not its own', async () => {
    const call = strictCaller(open.dataDir);
    const { cursor } = (await till.call('events.next', { wait_seconds: 0 })).body;
    const web = (await open.call<{ id: string }>('POST', '/invoice', { amount: 4_711, crypto: 'ALL' })).body.id;
    await open.call('POST', `/invoice/rp/${web}`, { crypto: 'LTC' });
    const by_hand = await call('invoice.create', { business: '1', amount: '9', currency: 'EUR' });
    const elsewhere = await call('counter.sell', { business: other, amount: '7', currency: 'EUR' });
    const own = (await till.call('counter.sell', { business: 1, amount: '5', currency: 'EUR' })).body.invoice as string;
    for (const invoice of [web, by_hand.invoice.slug, elsewhere.invoice]) {
      for (const method of ['counter.sale', 'counter.choose', 'counter.cancel']) {
        const { status } = await till.call(method, {
          invoice,
          ...(method === 'counter.choose' ? { crypto: 'BTC' } : {}),
        });
        expect([method, [403, 404].includes(status)]).toEqual([method, true]);
      }
    }
    expect((await call('invoice.show', { invoice: web })).invoice).toMatchObject({
      status: 'unpaid',
      payment: { crypto: 'LTC' },
    });
    expect((await call('invoice.show', { invoice: elsewhere.invoice })).invoice.status).toBe('unpaid');
    expect((await till.call('counter.sell', { business: other, amount: '5', currency: 'EUR' })).status).toBe(403);
    expect((await till.call('counter.show', { business: `${other}` })).status).toBe(403);
    const shown = (await till.call('counter.show')).body;
    expect(shown).toMatchObject({ business: 1 });
    expect((shown.sales as { invoice: string }[]).map(({ invoice }) => invoice)).toContain(own);
    const heard = (await till.call('events.next', { cursor, wait_seconds: 0 })).body.events as { subject: string }[];
    expect([...new Set(heard.map(({ subject }) => subject))]).toEqual([own]);
    expect((await till.call('counter.choose', { invoice: own, crypto: 'LTC' })).status).toBe(200);
    expect((await till.call('counter.cancel', { invoice: own })).status).toBe(200);
  });

  it('hears nothing more by a call that it made before', async () => {
    const session = await signIn(open);
    const { cursor } = (await session.call('events.next', { wait_seconds: 0 })).body;
    const waiting = session.call('events.next', { cursor, wait_seconds: 5 }).catch(() => null);
    await session.call('status');
    expect((await session.page.ask('/session/lock', { business: 1 })).status).toBe(200);
    await open.call('POST', '/invoice', { amount: 4_711, crypto: 'ALL' });
    expect((await waiting)?.body.events ?? []).toEqual([]);
  });

  it('stays with its counter', async () => {
    await till.page.ask('/session/lock', { business: other });
    expect((await till.call('counter.show')).body).toMatchObject({ business: 1 });
    for (const path of ['/session/backup', '/session/upload']) {
      expect((await till.page.ask(path, { bytes: 9 })).status).toBe(404);
    }
  });
});

describe('with approvals = false', () => {
  let session: Awaited<ReturnType<typeof signIn>>;
  beforeAll(async () => {
    await openShop(closed);
    session = await signIn(closed);
  });
  const code = async (method: string, body: object) => (await session.call(method, body)).body.error?.code;

  it.each(METHODS.filter((method) => !SPENDING.includes(method) && rulesOf(method).scope !== 'machine'))(
    '%s is not refused',
    async (method) => {
      // parameters that no method has: whether a call is refused is decided before them
      expect(await code(method, { none: 1 })).toBe('params');
    },
  );

  it.each(SPENDING)('%s is, for whatever it does not understand', async (method) => {
    expect(await code(method, { none: 1 })).toBe('console.refused');
  });

  it('nothing gives a right to spend real money', async () => {
    const business = 'Regtest shop';
    const point = { kind: 'secp256k1', publicKey: `02${'11'.repeat(32)}`, chainCode: '11'.repeat(32) };
    const address = 'rltc1qaddress';
    const key = { name: 'k', scopes: ['withdraw'] };
    const refused: [string, object][] = [
      ['business.add', { name: 'Live 2', network: 'regtest', account_no: 1, accounts: { LTC: point }, key }],
      ['key.add', { business, name: 'k', scopes: ['withdraw'] }],
      ['key.add', { business, name: 'k' }],
      ['addressBook.add', { business, chain: 'LTC', address, label: 'Cold storage' }],
      ['policy.set', { business, mode: 'manual' }],
      ['forwarding.set', { business, crypto: 'LTC', terms: { address, every: 'reached', fee_max: '1', fee_day: '1' } }],
      ['forwarding.send', { business, crypto: 'LTC' }],
      ['gas.collect', { business, chain: 'ETH', begins_at: 1, ends_at: 2, fee_max: '1', signed: null }],
      ['gas.resume', { business, chain: 'ETH' }],
      ['gas.tank', { business, chain: 'ETH', index: 1, signed: null }],
      ['restore.confirm', {}],
    ];
    for (const [method, body] of refused)
      expect([method, await code(method, body)]).toEqual([method, 'console.refused']);
    const free: [string, object][] = [
      ['key.add', { business, name: 'k', scopes: ['invoices', 'balance'] }],
      ['key.add', { business: '1', name: 'k', scopes: ['withdraw'] }],
      ['business.add', { name: 'Try', network: 'sandbox', key }],
      ['withdrawal.add', { business, crypto: 'LTC', address, amount: '1' }],
    ];
    for (const [method, body] of free)
      expect([method, await code(method, body)]).not.toEqual([method, 'console.refused']);
  });
});
