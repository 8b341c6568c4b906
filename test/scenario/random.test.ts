/**
 * Random days of a shop on the sandbox's chains: invoices, payers, miners, bad luck, a clock that jumps and a service that
 * restarts. However a day went, once its chains have had their say the auditor finds nothing wrong.
 *
 * A failure prints its seed: SCENARIO_SEED=… replays it, SCENARIO_RUNS=… makes more of them.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { audit, isCaughtUp } from './auditor.ts';
import { Shop } from './shop.ts';

const RUNS = Number(process.env.SCENARIO_RUNS ?? 15);
const ALL_MS = 120_000 * RUNS;
const MINUTE = 60_000;
const CRYPTOS = ['BTC', 'LTC', 'BCH', 'XMR', 'USDT_ERC20'] as const;
/** Enough for every asset at every value. */
const LAST_BLOCKS = 97;

type Crypto = (typeof CRYPTOS)[number];
/** `coin`: which of the day's two. */
type Action =
  | { do: 'create'; coin: 0 | 1; usd: number; dueToday: boolean }
  | { do: 'pay'; which: number; percent: number }
  | { do: 'mine'; coin: 0 | 1; blocks: number }
  | { do: 'reorg'; coin: 0 | 1; depth: number; drop: boolean }
  | { do: 'double-spend'; which: number }
  | { do: 'outage'; coin: 0 | 1; down: boolean }
  | { do: 'advance'; minutes: number }
  | { do: 'read' | 'delete'; which: number }
  | { do: 'restart' | 'audit' };

const coin = fc.constantFrom<0 | 1>(0, 0, 1);
const which = fc.nat(3);
const always = <T extends string>(name: T) => fc.constant(name);
const CREATE = fc.record({
  do: always('create'),
  coin,
  usd: fc.constantFrom(10, 55.5, 400, 1_500, 12_000),
  dueToday: fc.boolean(),
});
const PAY = fc.record({ do: always('pay'), which, percent: fc.constantFrom(1, 40, 98, 99, 100, 100, 100, 150) });
const MINE = fc.record({ do: always('mine'), coin, blocks: fc.constantFrom(1, 1, 2, 3, 6) });
const REORG = fc.record({ do: always('reorg'), coin, depth: fc.integer({ min: 1, max: 5 }), drop: fc.boolean() });
const ADVANCE = fc.record({ do: always('advance'), minutes: fc.constantFrom(5, 65, 600, 1_500, 60_000) });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 2, arbitrary: CREATE },
  { weight: 8, arbitrary: PAY },
  { weight: 6, arbitrary: MINE },
  { weight: 4, arbitrary: REORG },
  { weight: 2, arbitrary: fc.record({ do: always('double-spend'), which }) },
  { weight: 2, arbitrary: fc.record({ do: always('outage'), coin, down: fc.boolean() }) },
  { weight: 2, arbitrary: ADVANCE },
  { weight: 1, arbitrary: fc.record({ do: always('restart') }) },
  { weight: 1, arbitrary: fc.record({ do: always('read'), which }) },
  { weight: 1, arbitrary: fc.record({ do: always('delete'), which }) },
  { weight: 5, arbitrary: fc.record({ do: always('audit') }) },
);
const day = fc.record({
  coins: fc.shuffledSubarray([...CRYPTOS], { minLength: 2, maxLength: 2 }) as fc.Arbitrary<[Crypto, Crypto]>,
  actions: fc.array(action, { minLength: 10, maxLength: 40 }),
});

type Invoice = { slug: string; crypto: Crypto };

/** One day of one shop. */
class Day {
  readonly #service: TestDaemon;
  readonly #shop: Shop;
  readonly #invoices: Invoice[] = [];
  readonly #txids: string[] = [];
  readonly #coins: readonly [Crypto, Crypto];
  #isCalm = true;

  constructor(service: TestDaemon, shop: Shop, coins: readonly [Crypto, Crypto]) {
    this.#coins = coins;
    this.#service = service;
    this.#shop = shop;
  }

  /** Lives through it; throws what the auditor finds, whenever it was asked. */
  async live(actions: readonly Action[]): Promise<void> {
    for (const each of actions) await this.#act(each);
    for (const crypto of this.#coins) {
      await this.#post('/sandbox/outage', { crypto, down: false });
      await this.#post('/sandbox/mine', { crypto, blocks: LAST_BLOCKS });
    }
    await this.#audit();
  }

  /**
   * Ends outages, which also makes every chain look, and waits until the auditor finds nothing wrong: what it finds is
   * wrong for good only if it does not go away.
   */
  async #audit(): Promise<void> {
    for (const crypto of this.#coins) await this.#post('/sandbox/outage', { crypto, down: false });
    let faults: string[] = [];
    await until('nothing is wrong', async () => {
      if (!(await this.#isQuiet())) return false;
      faults = await this.#faults();
      return faults.length === 0;
    }).catch((error: unknown) => {
      expect(faults).toEqual([]);
      throw error;
    });
  }

  /** Whether the service has caught up, and no notification is under way. */
  async #isQuiet(): Promise<boolean> {
    if (!isCaughtUp(this.#service.dataDir)) return false;
    const operator = operatorClient(this.#service.dataDir);
    const { started_at } = await operator('status', {});
    const attempts = (await operator('webhook.list', {})).webhooks.flatMap((webhook) => webhook.attempts);
    // what was under way when the service stopped stays as it was
    return attempts.every((one) => one.finished_at !== null || (!this.#isCalm && one.started_at < started_at));
  }

  #faults(): Promise<string[]> {
    const { url, apiKey, dataDir, now } = this.#service;
    const paths = new Map(this.#invoices.map(({ slug }, i) => [slug, `/${i}`]));
    const headers = { 'mb-api-key': apiKey };
    return audit({
      dataDir,
      get: async (path) => (await fetch(`${url}/api/v1/merchant${path}`, { headers })).text(),
      operator: operatorClient(dataDir),
      notified: (slug) => this.#shop.counts.get(paths.get(slug) ?? '') ?? 0,
      calm: this.#isCalm,
      now: now(),
    });
  }

  /** Answers that refuse are a day's normal course; a fault of the service is not. */
  async #post(path: string, body: unknown, method = 'POST'): Promise<{ status: number; body: Record<string, string> }> {
    const { status, body: answer } = await this.#service.call<Record<string, string>>(method, path, body);
    if (status >= 500 && status !== 503) throw new Error(`${method} ${path} answered ${status}`);
    return { status, body: answer };
  }

  async #act(action: Action): Promise<void> {
    switch (action.do) {
      case 'create':
        return this.#create(action);
      case 'pay':
        return this.#pay(action.which, action.percent);
      case 'double-spend': {
        const tx_id = pick(this.#txids, action.which);
        if (tx_id !== undefined) await this.#post('/sandbox/double-spend', { tx_id });
        return;
      }
      case 'advance':
        return this.#service.advance(action.minutes * MINUTE);
      case 'restart':
        this.#isCalm = false;
        return this.#service.restart();
      case 'audit':
        return this.#audit();
      case 'read':
      case 'delete': {
        const invoice = pick(this.#invoices, action.which);
        const method = action.do === 'read' ? 'GET' : 'DELETE';
        if (invoice) await this.#post(`/invoice/${invoice.slug}`, undefined, method);
        return;
      }
      default: {
        const { do: name, coin, ...body } = action;
        await this.#post(`/sandbox/${name}`, { crypto: this.#coins[coin], ...body });
      }
    }
  }

  async #create({ coin, usd, dueToday }: Extract<Action, { do: 'create' }>): Promise<void> {
    const crypto = this.#coins[coin];
    const due_date = dayFromNow(this.#service, 0);
    const webhook_url = `http://127.0.0.1:${this.#shop.port}/${this.#invoices.length}`;
    const { body } = await this.#post('/invoice', { amount: usd, webhook_url, ...(dueToday && { due_date }) });
    this.#invoices.push({ slug: body.id!, crypto });
    await this.#post(`/invoice/rp/${body.id}`, { crypto });
  }

  /** Pays so much of what is asked for; an invoice whose payment could not be requested is asked again. */
  async #pay(which: number, percent: number): Promise<void> {
    const invoice = pick(this.#invoices, which);
    if (!invoice) return;
    const { slug, crypto } = invoice;
    const shown = await this.#service.call<{ payment?: { amount?: string } }>('GET', `/invoice/${slug}`);
    const asked = shown.body.payment?.amount;
    if (asked === undefined) {
      if (shown.status === 200) await this.#post(`/invoice/rp/${slug}`, { crypto });
      return;
    }
    const { body } = await this.#post('/sandbox/pay', { invoice_id: slug, amount: part(asked, BigInt(percent)) });
    if (body.tx_id !== undefined) this.#txids.push(body.tx_id);
  }
}

const pick = <T>(from: readonly T[], which: number): T | undefined => from[which % Math.max(1, from.length)];

/** So many percent of a decimal, in its own digits, rounded up. */
function part(amount: string, percent: bigint): string {
  const [whole = '', fraction = ''] = amount.split('.');
  const units = (BigInt(whole + fraction) * percent + 99n) / 100n;
  const digits = units.toString().padStart(fraction.length + 1, '0');
  return fraction === '' ? digits : `${digits.slice(0, -fraction.length)}.${digits.slice(-fraction.length)}`;
}

/** A day that random ones are rarely: a payment in a token that is worth a final block. */
const LARGE_DAY: { coins: [Crypto, Crypto]; actions: Action[] } = {
  coins: ['USDT_ERC20', 'BTC'],
  actions: [
    { do: 'create', coin: 0, usd: 12_000, dueToday: false },
    { do: 'pay', which: 1, percent: 100 },
    { do: 'mine', coin: 0, blocks: 6 },
    { do: 'mine', coin: 0, blocks: 6 },
    { do: 'audit' },
  ],
};

describe('a random day', () => {
  it('ends with every coin where it belongs', { timeout: ALL_MS }, async () => {
    const shop = new Shop();
    const port = await shop.open();
    const seed = process.env.SCENARIO_SEED;
    try {
      await fc.assert(
        fc.asyncProperty(day, async ({ coins, actions }) => {
          shop.counts.clear();
          const service = await startTestDaemon(`[webhook]\nallow_hosts = ["127.0.0.1:${port}"]\n`);
          try {
            const first = { do: 'create', coin: 0, usd: 400, dueToday: false } as const;
            await new Day(service, shop, coins).live([first, ...actions]);
          } finally {
            await service.stop();
          }
        }),
        // a day takes a second: a failing one is printed as it is rather than made smaller
        {
          numRuns: RUNS,
          endOnFailure: true,
          examples: [[LARGE_DAY]],
          ...(seed !== undefined && { seed: Number(seed) }),
        },
      );
    } finally {
      await shop.close();
    }
  });
});
