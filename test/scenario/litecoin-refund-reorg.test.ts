/**
 * Refunds of overpayments on a real litecoind that a reorganisation takes out of the chain: one comes back, one is paid by a faster
 * version in the other branch, and one is canceled there. The invoice, the inbox, the books and the balance follow each time.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import type { Operator } from '../support/operator.ts';
import { openShop } from '../support/shop.ts';

const COIN = 100_000_000n;
const BURIED = 12;
const PAID = 140_000_000n;
/** Blocks that leave the chain with the one that has the refund. */
const DEPTH = 2;

type Refund = { invoice: string; item: number; id: string; address: string; txid: string };

describe.skipIf(!hasLitecoind)(litecoindTitle('refunds and reorganisations of litecoind'), () => {
  let node: Litecoind;
  let service: TestDaemon;
  let operator: Operator;
  let key: string;

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    service = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
    ({ key, operator } = await openShop(service, ['invoices', 'balance', 'withdraw']));
    await operator.unlock();
  });
  afterAll(async () => {
    await service?.stop();
    await node?.remove();
  });

  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const balance = async (): Promise<bigint> =>
    BigInt(Math.round((await call<{ LTC: number }>('GET', '/balance')).body.LTC * Number(COIN)));
  const invoiceOf = async ({ invoice }: Pick<Refund, 'invoice'>) =>
    (await operator.call('invoice.show', { invoice })).invoice;
  const itemOf = async ({ invoice }: Pick<Refund, 'invoice'>) =>
    (await operator.call('inbox.list', {})).items.find((one) => one.invoice === invoice);
  const inMempool = async (txid: string): Promise<boolean> =>
    (await node.rpc<string[]>('getrawmempool', [])).includes(txid);
  const receivedAt = (address: string): Promise<number> => node.rpc<number>('getreceivedbyaddress', [address, 1]);
  /** The fee that the node knows of a transaction in its pool. */
  const feeOf = async (txid: string): Promise<bigint> => {
    const { fees } = await node.rpc<{ fees: { base: number } }>('getmempoolentry', [txid]);
    return BigInt(Math.round(fees.base * Number(COIN)));
  };
  const sent = (id: string, versions: number): Promise<string> =>
    until(`version ${versions} of withdrawal ${id} is in the mempool`, async () => {
      const txid = (await operator.show(id)).versions[versions - 1]?.tx_id;
      return txid && (await inMempool(txid)) && txid;
    });
  const when = (id: string, state: string) =>
    until(`withdrawal ${id} is ${state}`, async () => {
      const now = await operator.show(id);
      return now.state === state && now;
    });

  /** An invoice of 1 LTC that was paid 1.4, deep in the chain. */
  async function overpaid(): Promise<{ invoice: string; item: number }> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    const address = await until('litecoind is followed', async () => {
      const paid = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`);
      return paid.status === 201 && paid.body.address;
    });
    await node.pay([{ address, units: PAID }]);
    await node.mine(BURIED + DEPTH);
    const item = await until('the difference is in the inbox', () => itemOf({ invoice: body.id }));
    expect(item).toMatchObject({ reason: 'overpaid', amount: '0.4', state: 'open' });
    await until('it is confirmed', async () => (await itemOf({ invoice: body.id }))?.confirmed);
    return { invoice: body.id, item: item.id };
  }

  /** The difference is sent back in a block. */
  async function refunded(): Promise<Refund & { fee: bigint; before: bigint }> {
    const { invoice, item } = await overpaid();
    const before = await balance();
    const address = await node.rpc<string>('getnewaddress', []);
    const { withdrawal } = await operator.call('inbox.refund', { id: item, address });
    const id = `${withdrawal.id}`;
    expect(withdrawal).toMatchObject({ amount: '0.4', state: 'requested' });
    await operator.approve(id);
    const txid = await sent(id, 1);
    const fee = await feeOf(txid);
    await node.mine(DEPTH);
    await stands({ invoice, item, id, address, txid }, before - 40_000_000n - fee);
    return { invoice, item, id, address, txid, fee, before };
  }

  /** The refund is paid by that transaction, and everything says so. */
  async function stands(refund: Refund, left: bigint): Promise<void> {
    expect(await when(refund.id, 'completed')).toMatchObject({ amount: '0.4', tx_id: refund.txid });
    expect(await itemOf(refund)).toMatchObject({ state: 'refunded', refund: { state: 'completed' } });
    const { refunds, status } = await invoiceOf(refund);
    expect(status).toBe('paid');
    expect(refunds).toMatchObject([{ amount: '0.4', crypto: 'LTC', state: 'completed' }]);
    expect(await receivedAt(refund.address)).toBe(0.4);
    await until('the balance has its fee and amount', async () => (await balance()) === left);
    await proved();
  }

  /** The books are what the node has. */
  async function proved(): Promise<void> {
    const { chains } = await operator.call('ledger.prove', { chain: 'regtest:LTC' });
    expect(chains).toMatchObject([{ problems: [] }]);
  }

  /** The blocks with the refund leave the chain; everything says that it is on the way again. */
  async function undone(refund: Refund): Promise<void> {
    await node.reorg(DEPTH, false);
    await when(refund.id, 'broadcast');
    expect(await itemOf(refund)).toMatchObject({ state: 'refunding', refund: { state: 'broadcast', tx_id: null } });
    expect((await invoiceOf(refund)).refunds).toMatchObject([{ state: 'broadcast' }]);
    await until('it is in the mempool', () => inMempool(refund.txid));
    expect(await receivedAt(refund.address)).toBe(0);
    const { alerts } = await operator.call('alert.list', {});
    expect(alerts).toContainEqual(expect.objectContaining({ kind: 'withdrawal.undone', subject: refund.id }));
    // nothing of it can be decided anew
    const again = operator.call('inbox.refund', { id: refund.item, address: refund.address });
    await expect(again).rejects.toMatchObject({ status: 409 });
  }

  it('come back in another block, with the same transaction', async () => {
    const { fee, before, ...refund } = await refunded();
    await undone(refund);
    await node.mine(1);
    await stands(refund, before - 40_000_000n - fee);
  });

  it('are paid once, where a faster version takes their place in the other branch', async () => {
    const { before, ...refund } = await refunded();
    await undone(refund);
    await operator.replace(refund.id, 'speed-up', '90');
    const faster = await sent(refund.id, 2);
    expect(faster).not.toBe(refund.txid);
    const fee = await feeOf(faster);
    await node.mine(1);
    await stands({ ...refund, txid: faster }, before - 40_000_000n - fee);
  });

  it('can be decided about anew, where they are canceled in the other branch', async () => {
    const { before, ...refund } = await refunded();
    await undone(refund);
    await operator.replace(refund.id, 'cancel');
    const cancellation = await sent(refund.id, 2);
    const fee = await feeOf(cancellation);
    await node.mine(BURIED);
    expect(await when(refund.id, 'failed')).toMatchObject({ reason: 'canceled', tx_id: null });
    expect(await itemOf(refund)).toMatchObject({ state: 'open', amount: '0.4' });
    expect((await invoiceOf(refund)).over).toMatchObject({ amount: '0.4' });
    expect(await receivedAt(refund.address)).toBe(0);
    await until('only the fee is gone', async () => (await balance()) === before - fee);
    await proved();
    const { withdrawal } = await operator.call('inbox.refund', { id: refund.item, address: refund.address });
    await operator.approve(withdrawal.id);
    const txid = await sent(`${withdrawal.id}`, 1);
    await node.mine(1);
    expect(await when(`${withdrawal.id}`, 'completed')).toMatchObject({ amount: '0.4', tx_id: txid });
    expect(await itemOf(refund)).toMatchObject({ state: 'refunded' });
    expect(await receivedAt(refund.address)).toBe(0.4);
  });
});
