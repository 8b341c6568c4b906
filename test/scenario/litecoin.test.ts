/**
 * The whole service on a real litecoind, over its RPC and through an Electrum server: an invoice is paid, seen, mined, reorganised away and mined again, paid in two
 * parts, overpaid, replaced by a fee bump, and paid while the daemon was stopped.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { invoicesOf, openShop } from '../support/shop.ts';
import { type Opened, SOURCES, type Source } from './sources.ts';

const COIN = 100_000_000n;

type Payment = {
  status: string;
  address: string;
  amount: string;
  received: string;
  confirmed: string;
  remaining: string;
  confirmations: number;
  transactions: { tx_id: string }[];
  overpaid: boolean;
};
type Invoice = { id: string; status: string; payment: Payment };

const unitsOf = (decimal: string): bigint => {
  const [whole, fraction = ''] = decimal.split('.');
  return BigInt(whole! + fraction.padEnd(8, '0'));
};

const title = ({ name }: Source): string => litecoindTitle(`the whole service on litecoind ${name}`);

describe.skipIf(!hasLitecoind).each(SOURCES.map((source) => [title(source), source] as const))('%s', (_, { open }) => {
  let node: Litecoind;
  let source: Opened;
  let service: TestDaemon;
  let key: string;

  const config = (): string => litecoinConfig(source.setting);

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    source = await open(node);
    service = await startTestDaemon(config());
    const shop = await openShop(service);
    key = shop.key;
    expect(shop.cryptos).toContain('LTC');
  });
  afterAll(async () => {
    await service?.stop();
    await source?.stop();
    await node?.remove();
  });

  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const { get, when } = invoicesOf<Invoice>(call);

  /** A requested payment of 80 USD, which is 1 LTC at the manual rate. */
  async function requested(amount = 80): Promise<Invoice> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'LTC' });
    await until('litecoind is followed', async () => {
      return (await call('POST', `/invoice/rp/${body.id}`)).status !== 503;
    });
    return get(body.id);
  }
  const send = (to: Invoice, units = unitsOf(to.payment.amount)): Promise<string> =>
    node.pay([{ address: to.payment.address, units }]);

  it('pays 80 USD with exactly 1 LTC, seen within a second or so, paid at three confirmations', async () => {
    const invoice = await requested();
    expect(invoice.payment).toMatchObject({ amount: '1', address: expect.stringMatching(/^rltc1q/) });
    const txid = await send(invoice);
    const sentAt = Date.now();
    const seen = await when(invoice.id, 'it is seen', ({ payment }) => payment.received === '1');
    // by a hint: without one the chain is looked at every ten seconds
    expect(Date.now() - sentAt).toBeLessThan(9_000);
    expect(seen.payment.transactions).toEqual([{ tx_id: txid, amount: '1', confirmations: 0 }]);
    await node.mine(2);
    const two = await when(invoice.id, 'it has two', ({ payment }) => payment.confirmations === 2);
    expect(two.status).toBe('unpaid');
    await node.mine(1);
    const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    expect(paid.payment).toMatchObject({ status: 'paid', confirmed: '1' });
  });

  it('follows a block that is reorganised away, and the one that takes its place', async () => {
    const invoice = await requested();
    await send(invoice);
    await node.mine(2);
    await when(invoice.id, 'it has two', ({ payment }) => payment.confirmations === 2);
    await node.reorg(2, false);
    const back = await when(invoice.id, 'it has none', ({ payment }) => payment.confirmations === 0);
    expect(back).toMatchObject({ status: 'unpaid', payment: { received: '1', confirmed: '0' } });
    await node.mine(3);
    await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
  });

  it('adds up two parts', async () => {
    const invoice = await requested();
    await send(invoice, (COIN * 4n) / 10n);
    const part = await when(invoice.id, 'the part is seen', ({ payment }) => payment.received === '0.4');
    expect(part.payment.remaining).toBe('0.6');
    await send(invoice, (COIN * 6n) / 10n);
    await node.mine(3);
    const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    expect(paid.payment.transactions).toHaveLength(2);
  });

  it('flags twice the amount', async () => {
    const invoice = await requested();
    await send(invoice, COIN * 2n);
    await node.mine(3);
    const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    expect(paid.payment).toMatchObject({ overpaid: true, received: '2' });
  });

  it('follows a fee bump to the transaction that replaces the first', async () => {
    const invoice = await requested();
    const first = await send(invoice);
    await when(invoice.id, 'it is seen', ({ payment }) => payment.received === '1');
    const second = await node.bump(first, [{ address: invoice.payment.address, units: COIN }]);
    const bumped = await when(invoice.id, 'the replacement is seen', ({ payment }) => {
      return payment.transactions.some(({ tx_id }) => tx_id === second);
    });
    expect(bumped.payment).toMatchObject({ received: '1' });
    expect(bumped.payment.transactions).toHaveLength(1);
    await node.mine(3);
    await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
  });

  it('loses a payment that is replaced by one to somebody else', async () => {
    const invoice = await requested();
    const txid = await send(invoice);
    await when(invoice.id, 'it is seen', ({ payment }) => payment.received === '1');
    await node.replace(txid);
    await when(invoice.id, 'it is gone', ({ payment }) => payment.received === '0');
    await node.mine(4);
    expect((await get(invoice.id)).status).toBe('unpaid');
  });

  it('catches up with what was paid and mined while it was stopped', async () => {
    const mined = await requested();
    const waiting = await requested();
    await service.daemon.stop();
    await send(mined);
    await node.mine(3);
    await send(waiting);
    await service.resume();
    const paid = await when(mined.id, 'it is paid', ({ status }) => status === 'paid');
    expect(paid.payment.confirmed).toBe('1');
    const seen = await when(waiting.id, 'the other is seen', ({ payment }) => payment.received === '1');
    expect(seen.status).toBe('unpaid');
  });

  it('withholds LTC while its source is away, and goes on when it is back', async () => {
    await source.away();
    const away = await until('the operator is told', async () => {
      const { chains } = await operatorClient(service.dataDir)('status', {});
      return chains.find(({ network, chain }) => network === 'regtest' && chain === 'LTC')?.error;
    });
    expect(away).not.toMatch(/password|user/);
    await source.back();
    const invoice = await requested();
    await send(invoice);
    await node.mine(3);
    await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
  });
});
