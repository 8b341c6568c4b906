/** The whole service on a real monerod: an invoice is seen in the pool, paid after ten blocks, in parts, late and with dust. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasMonerod, Monerod, monerodTitle } from '../nodes/monerod.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import type { Operator } from '../support/operator.ts';
import { invoicesOf, openShop } from '../support/shop.ts';

const COIN = 10n ** 12n;
const CONFIRMATIONS = 10;

type Payment = { status: string; address: string; amount: string; received: string; confirmed: string };
type Invoice = { id: string; status: string; payment: Payment };

describe.skipIf(!hasMonerod)(monerodTitle('the whole service on monerod'), () => {
  let node: Monerod;
  let service: TestDaemon;
  let key: string;
  let operator: Operator;

  beforeAll(async () => {
    node = await Monerod.start();
    service = await startTestDaemon(`
[networks.regtest.XMR]
monerod = ["${node.url}"]
[networks.regtest.rates]
XMR = "200"
`);
    const shop = await openShop(service, ['invoices', 'balance', 'withdraw']);
    ({ key, operator } = shop);
    expect(shop.cryptos).toEqual(['XMR']);
  }, 240_000);
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
    expect(Date.now() - sentAt).toBeLessThan(5_000);
    expect(seen).toMatchObject({ status: 'unpaid', payment: { confirmed: '0' } });
    expect(JSON.stringify(seen)).toContain(txid);
    await node.mine(CONFIRMATIONS);
    const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    expect(paid.payment).toMatchObject({ status: 'paid', confirmed: '0.25' });
  }, 90_000);

  it('adds up several outputs of one transaction with a later one, over what was asked', async () => {
    const invoice = await requested(100);
    const { address } = invoice.payment;
    await pay([
      { address, units: COIN / 10n },
      { address, units: COIN / 5n },
      { address, units: 1n },
    ]);
    await when(invoice.id, 'the first is seen', ({ payment }) => payment.received === '0.300000000001');
    await service.daemon.stop();
    await node.mine(1);
    await pay([{ address, units: COIN / 4n }]);
    await node.mine(CONFIRMATIONS);
    await service.resume();
    const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    expect(paid.payment).toMatchObject({ received: '0.550000000001', confirmed: '0.550000000001' });
  }, 90_000);

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
  }, 90_000);

  const withdraw = async (amount: string, address: string): Promise<string> => {
    const asked = await call<{ id: string }>('POST', '/withdraw', { amount, crypto: 'XMR', address });
    expect(asked).toMatchObject({ status: 201 });
    return asked.body.id;
  };
  const inState = (id: string, state: string) =>
    until(
      `withdrawal ${id} is ${state}`,
      async () => {
        const now = await operator.show(id);
        return now.state === state && now;
      },
      60_000,
    );

  it('pays exactly what was approved to somebody, whose own wallet sees it', async () => {
    const before = await books();
    await operator.unlock();
    const { address } = await node.wallet<{ address: string }>('create_address', { account_index: 0 });
    const id = await withdraw('0.3', address);
    await operator.approve(id);
    const txid = await until(
      'it is in the pool',
      async () => {
        const sent = (await operator.show(id)).versions[0]?.tx_id;
        return sent && (await node.pool()).includes(sent) && sent;
      },
      60_000,
    );
    await node.mine(1);
    expect((await inState(id, 'completed')).tx_id).toBe(txid);
    await node.wallet('refresh', {});
    type Transfers = { transfers: { address: string; amount: number; txid: string }[] };
    const { transfers } = await node.wallet<Transfers>('get_transfer_by_txid', { txid });
    expect(transfers.map(({ address: to, amount }) => ({ to, amount }))).toEqual([{ to: address, amount: 3e11 }]);
    const after = await books();
    expect(after.received).toBe(before.received);
    expect(after.paidOut - before.paidOut).toBeCloseTo(0.3, 12);
  }, 180_000);

  it('goes on with a withdrawal after it was ended while it signed, and pays it once', async () => {
    const { address } = await node.wallet<{ address: string }>('create_address', { account_index: 0 });
    const id = await withdraw('0.1', address);
    await operator.approve(id);
    await service.daemon.stop();
    await service.resume();
    await operator.unlock();
    await until('it is in the pool', async () => (await node.pool()).length > 0, 60_000);
    await node.mine(1);
    await inState(id, 'completed');
    await node.wallet('refresh', {});
    type Found = { in?: { amount: number }[] };
    const index = await node.wallet<{ index: { minor: number } }>('get_address_index', { address });
    const paid = await node.wallet<Found>('get_transfers', {
      in: true,
      account_index: 0,
      subaddr_indices: [index.index.minor],
    });
    expect(paid.in?.map(({ amount }) => amount)).toEqual([1e11]);
  }, 180_000);
});
