/**
 * A short business day of one shop, in steps that can each be repeated: invoices are made and payments requested with
 * an idempotency key, and a payer looks at the chain before paying again.
 */
import { until } from '../support/daemon.ts';
import { isCaughtUp, outputsToUs } from './auditor.ts';
import type { Victim } from './victim.ts';

type Shown = { status: string; payment: { status: string; received: string; confirmed: string; address: string } };
type Invoice = { slug: string; address: string };

export const INVOICES = 5;

class Day {
  readonly #victim: Victim;
  readonly slugs = new Map<string, string>();

  constructor(victim: Victim) {
    this.#victim = victim;
  }

  /** A POST that must succeed. */
  #post<Body>(path: string, body: unknown, key?: string): Promise<Body> {
    return this.#victim.alive(async () => {
      const { status, text } = await this.#victim.call('POST', path, body, key);
      if (status >= 300) throw new Error(`POST ${path} ${JSON.stringify(body)} answered ${status} ${text}`);
      return JSON.parse(text) as Body;
    });
  }

  async create(name: string, amount: number, crypto = 'ALL'): Promise<string> {
    const webhook_url = `http://127.0.0.1:${this.#victim.shop.port}/${name}`;
    const { id } = await this.#post<{ id: string }>('/invoice', { amount, crypto, webhook_url }, `create ${name}`);
    this.slugs.set(name, id);
    return id;
  }

  async invoice(name: string, amount: number, crypto: string): Promise<Invoice> {
    const slug = await this.create(name, amount);
    const { address } = await this.#post<{ address: string }>(`/invoice/rp/${slug}`, { crypto }, `request ${name}`);
    return { slug, address };
  }

  /** Pays, unless the chain has the payment already, and returns the transaction's id. */
  pay({ slug, address }: Invoice, amount?: string): Promise<string> {
    const before = new Set(this.#paidTo(address));
    return this.#victim.alive(async () => {
      const done = this.#paidTo(address).find((txid) => !before.has(txid));
      if (done !== undefined) return done;
      const { status, text } = await this.#victim.call('POST', '/sandbox/pay', { invoice_id: slug, amount });
      if (status !== 201) throw new Error(`pay ${slug} answered ${status} ${text}`);
      return (JSON.parse(text) as { tx_id: string }).tx_id;
    });
  }

  #paidTo(address: string): string[] {
    return outputsToUs(this.#victim.dataDir)
      .filter((output) => output.address === address)
      .map(({ txid }) => txid);
  }

  mine(crypto: string, blocks: number): Promise<unknown> {
    return this.#post('/sandbox/mine', { crypto, blocks });
  }

  reorg(crypto: string, depth: number): Promise<unknown> {
    return this.#post('/sandbox/reorg', { crypto, depth });
  }

  doubleSpend(txid: string): Promise<void> {
    return this.#victim.alive(async () => {
      if (!outputsToUs(this.#victim.dataDir).some((output) => output.txid === txid)) return;
      const { status, text } = await this.#victim.call('POST', '/sandbox/double-spend', { tx_id: txid });
      if (status !== 200) throw new Error(`double-spend ${txid} answered ${status} ${text}`);
    });
  }

  delete(slug: string): Promise<void> {
    return this.#victim.alive(async () => {
      const { status } = await this.#victim.call('DELETE', `/invoice/${slug}`);
      if (status !== 200 && status !== 404) throw new Error(`delete ${slug} answered ${status}`);
    });
  }

  when({ slug }: { slug: string }, what: string, holds: (shown: Shown) => boolean): Promise<unknown> {
    return this.#victim.alive(() =>
      until(`${slug} is ${what}`, async () => {
        const { status, text } = await this.#victim.call('GET', `/invoice/${slug}`);
        if (status !== 200) throw new Error(`GET ${slug} answered ${status} ${text}`);
        return holds(JSON.parse(text) as Shown);
      }),
    );
  }

  /** Waits until the service knows all that there is to know, and every notification has ended or died. */
  settled(): Promise<unknown> {
    return this.#victim.alive(() =>
      until('the service has caught up', async () => {
        // asked first: only a call finds out that the service died, and has it started again
        const { started_at } = await this.#victim.operator('status', {});
        if (!isCaughtUp(this.#victim.dataDir)) return false;
        const { webhooks } = await this.#victim.operator('webhook.list', {});
        const attempts = webhooks.flatMap((webhook) => webhook.attempts);
        return attempts.every((attempt) => attempt.finished_at !== null || attempt.started_at < started_at);
      }),
    );
  }
}

const isPaid = ({ status }: Shown): boolean => status === 'paid';

/** Lives through the day and returns the invoices' slugs by the path that the shop is notified at. */
export async function liveThrough(victim: Victim): Promise<ReadonlyMap<string, string>> {
  const day = new Day(victim);
  const whole = await day.invoice('whole', 100, 'BTC');
  await day.pay(whole);
  const parts = await day.invoice('parts', 40, 'LTC');
  await day.pay(parts, '0.25');
  await day.mine('LTC', 3);
  await day.when(parts, 'half there', ({ payment }) => payment.confirmed === '0.25');
  await day.mine('BTC', 1);
  await day.when(whole, 'paid', isPaid);

  // what was paid is undone, and confirmed again
  // deeper than it may lie, since a block that was mined again after a death lies on top of it
  await day.reorg('BTC', 3);
  await day.when(whole, 'undone', ({ payment }) => payment.confirmed === '0');
  await day.mine('BTC', 1);
  await day.when(whole, 'confirmed again', ({ payment }) => payment.confirmed === payment.received);

  const cheated = await day.invoice('cheated', 30, 'BTC');
  const stolen = await day.pay(cheated);
  await day.when(cheated, 'seen', ({ payment }) => payment.received !== '0');
  await day.doubleSpend(stolen);
  await day.when(cheated, 'cheated', ({ payment }) => payment.received === '0');
  await day.pay(whole, '0.0001');
  await day.pay(parts);
  const forgotten = await day.create('forgotten', 10);
  await day.delete(forgotten);
  await day.invoice('unpaid', 12, 'USDT_ERC20');
  await day.mine('BTC', 2);
  await day.mine('LTC', 3);
  await day.when(parts, 'paid', isPaid);
  await day.settled();
  return day.slugs;
}
