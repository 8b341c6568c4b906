/** The whole service on a real monerod: an invoice is seen in the pool, paid after ten blocks, in parts, late and with dust. */
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasMonerod, type Monerod, monerodTitle } from '../nodes/monerod.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { startMonerod } from '../support/monerod.ts';
import type { Operator } from '../support/operator.ts';
import { REPEAT } from '../support/sample.ts';
import { invoicesOf, openShop, PASSPHRASE } from '../support/shop.ts';
import { type Outcome, tryDeaths } from './deaths.ts';
import { type Payee, paidOnce } from './monero-payees.ts';
import { Shop } from './shop.ts';
import { type Death, type Origin, Victim } from './victim.ts';

const COIN = 10n ** 12n;
const CONFIRMATIONS = 10;

/** All points of a withdrawal at which it is killed together take minutes. */
const ONE_OF = 48;

const settings = (node: Monerod): string => `
[networks.regtest.XMR]
monerod = ["${node.url}"]
[networks.regtest.rates]
XMR = "200"
`;

type Payment = {
  status: string;
  address: string;
  amount: string;
  received: string;
  confirmed: string;
  remaining: string;
  overpaid: boolean;
};
type Invoice = { id: string; status: string; payment: Payment };

describe.skipIf(!hasMonerod)(monerodTitle('the whole service on monerod'), () => {
  let node: Monerod;
  let service: TestDaemon;
  let key: string;
  let operator: Operator;

  beforeAll(async () => {
    node = await startMonerod();
    service = await startTestDaemon(settings(node));
    const shop = await openShop(service, ['invoices', 'balance', 'withdraw']);
    ({ key, operator } = shop);
    expect(shop.cryptos).toEqual(['XMR']);
  });
  afterAll(async () => {
    await service?.stop();
    await node?.remove();
  });

  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const { get, when } = invoicesOf<Invoice>(call);
  /** Pays, and adds it to what was received in all. */
  let received = 0n;
  function pay(...[outputs, options]: Parameters<Monerod['pay']>): Promise<string> {
    received += outputs.reduce((sum, { units }) => sum + units, 0n);
    return node.pay(outputs, options);
  }
  async function requested(amount: number): Promise<Invoice> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'XMR' });
    await until('monerod is followed', async () => (await call('POST', `/invoice/rp/${body.id}`)).status !== 503);
    return get(body.id);
  }

  it('sees 50 USD in the pool within seconds, and is paid after ten blocks', async () => {
    const invoice = await requested(50);
    expect(invoice.payment).toMatchObject({ amount: '0.25', address: expect.stringMatching(/^8/) });
    const txid = await pay([{ address: invoice.payment.address, units: COIN / 4n }]);
    const sentAt = Date.now();
    const seen = await when(invoice.id, 'it is seen', ({ payment }) => payment.received === '0.25');
    // by a hint: without one the chain is looked at every ten seconds
    expect(Date.now() - sentAt).toBeLessThan(9_000);
    expect(seen).toMatchObject({ status: 'unpaid', payment: { confirmed: '0' } });
    expect(JSON.stringify(seen)).toContain(txid);
    await node.mine(CONFIRMATIONS);
    const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    expect(paid.payment).toMatchObject({ status: 'paid', confirmed: '0.25' });
  });

  it('adds up a part in several outputs of one transaction with a later one, over what was asked', async () => {
    const invoice = await requested(100);
    const { address } = invoice.payment;
    await pay([
      { address, units: COIN / 10n },
      { address, units: COIN / 5n },
      { address, units: 1n },
    ]);
    const part = await when(invoice.id, 'the part is seen', ({ payment }) => payment.received === '0.300000000001');
    expect(part).toMatchObject({ status: 'unpaid', payment: { remaining: '0.199999999999', overpaid: false } });
    await service.daemon.stop();
    await node.mine(1);
    await pay([{ address, units: COIN / 4n }]);
    await node.mine(CONFIRMATIONS);
    await service.resume();
    const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    const all = { received: '0.550000000001', confirmed: '0.550000000001', remaining: '0', overpaid: true };
    expect(paid.payment).toMatchObject(all);
  });

  it('files what comes after the invoice was canceled, as late', async () => {
    const invoice = await requested(30);
    await operator.call('invoice.cancel', { invoice: invoice.id });
    await pay([{ address: invoice.payment.address, units: (COIN * 15n) / 100n }]);
    await node.mine(CONFIRMATIONS);
    const filed = await until('it is filed', async () => {
      const { items } = await operator.call('inbox.list', {});
      return items.find(({ amount, confirmed }) => amount === '0.15' && confirmed) ?? null;
    });
    expect(filed).toMatchObject({ crypto: 'XMR', reason: 'late' });
    expect(await get(invoice.id)).toMatchObject({ status: 'canceled' });
  });

  /** As of the tip of the node. */
  async function books() {
    const { height } = await node.rpc<{ height: number }>('get_info', {});
    const chain = await until('every block is read', async () => {
      const [proved] = (await operator.call('ledger.prove', { chain: 'regtest:XMR' })).chains;
      return proved?.height === height - 1 && proved;
    });
    expect(chain).toMatchObject({ problems: [], error: null, lines: [{ crypto: 'XMR' }] });
    const [line] = chain.lines;
    return { received: Number(line?.received), paidOut: Number(line?.paid_out) };
  }
  const balance = async (): Promise<number> => (await call<{ XMR: number }>('GET', '/balance')).body.XMR;

  it('never counts an output that its sender locked for ten years', async () => {
    const before = await balance();
    const invoice = await requested(40);
    const TEN_YEARS_OF_BLOCKS = 10 * 365 * 720;
    const payout = { address: invoice.payment.address, units: COIN / 5n };
    const locked = await pay([payout], { unlock_time: TEN_YEARS_OF_BLOCKS });
    await node.mine(CONFIRMATIONS);
    const filed = await until('it is filed', async () => {
      const { items } = await operator.call('inbox.list', {});
      return items.find(({ outpoint, confirmed }) => outpoint.startsWith(locked) && confirmed) ?? null;
    });
    expect(filed).toMatchObject({ crypto: 'XMR', reason: 'locked', amount: '0.2' });
    expect((await books()).received).toBe(Number(received) / Number(COIN));
    expect(await balance()).toBe(before);
    expect(await get(invoice.id)).toMatchObject({ status: 'unpaid', payment: { received: '0' } });
    const refund = operator.call('inbox.refund', { id: filed.id, address: invoice.payment.address });
    await expect(refund).rejects.toThrow(/Its sender locked it until block 2628000\. It can be spent after that/);
  });

  const withdraw = async (amount: string, address: string): Promise<string> => {
    const asked = await call<{ id: string }>('POST', '/withdraw', { amount, crypto: 'XMR', address });
    expect(asked).toMatchObject({ status: 201 });
    return asked.body.id;
  };
  const inState = (id: string, state: string) =>
    until(`withdrawal ${id} is ${state}`, async () => {
      const now = await operator.show(id);
      return now.state === state && now;
    });

  it('pays exactly what was approved to somebody, whose own wallet sees it', async () => {
    const before = await books();
    await operator.unlock();
    const address = await node.newAddress();
    const id = await withdraw('0.3', address);
    await operator.approve(id);
    const txid = await until('it is in the pool', async () => {
      const sent = (await operator.show(id)).versions[0]?.tx_id;
      return sent && (await node.pool()).includes(sent) && sent;
    });
    await node.mine(1);
    expect((await inState(id, 'completed')).tx_id).toBe(txid);
    expect(await node.payments(address)).toEqual([{ txid, units: (3n * COIN) / 10n }]);
    const after = await books();
    expect(after.received).toBe(before.received);
    expect(after.paidOut - before.paidOut).toBeCloseTo(0.3, 12);
    // its large library is the signer's alone
    const { cache } = createRequire(import.meta.url);
    expect(Object.keys(cache).filter((path) => path.includes('monero-ts'))).toEqual([]);
  });

  describe('killed with SIGKILL at every commit of a batch, and around every call of its signer and its node', () => {
    let shop: Shop;
    let origin: Origin;
    let blocks: number;
    let payees: Payee[];
    let tables: string;

    /** The service with two withdrawals that nobody approved yet, stopped: what every run begins with. */
    beforeAll(async () => {
      shop = new Shop();
      await shop.open();
      // the change of the last payment is locked
      await node.mine(CONFIRMATIONS);
      await books();
      payees = [];
      for (const amount of ['0.06', '0.05']) {
        const address = await node.newAddress();
        payees.push({ id: await withdraw(amount, address), amount, address });
      }
      await service.daemon.stop();
      const file = join(service.dataDir, 'passphrase');
      await writeFile(file, PASSPHRASE, { mode: 0o600 });
      tables = `${settings(node)}\n[wallet]\nunlock = "file"\npassphrase_file = "${file}"`;
      origin = { dataDir: service.dataDir, key };
      ({ height: blocks } = await node.rpc<{ height: number }>('get_info', {}));
    });
    afterAll(() => shop?.close());

    async function run(death: Death | null): Promise<Outcome> {
      await node.rewind(blocks);
      const victim = new Victim(shop, death, origin, tables);
      try {
        const faults = await paidOnce(victim, node, payees);
        return { commits: victim.commits, calls: victim.calls, deaths: victim.deaths, faults };
      } finally {
        await victim.destroy();
      }
    }

    it('pays each of two people once, as approved', { timeout: 1_800_000 }, async () => {
      const calm = await run(null);
      expect(calm).toMatchObject({ deaths: 0, faults: [] });
      expect(calm.calls).toBeGreaterThanOrEqual(2);
      const { wrong, told } = await tryDeaths(calm, ONE_OF, 1, run);
      console.info(told);
      expect(wrong, REPEAT).toEqual([]);
    });
  });
});
