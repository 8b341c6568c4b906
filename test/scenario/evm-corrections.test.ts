/**
 * Books that were made wrong by one operator's word, before two were asked: an endpoint alone invents that tokens left an invoice's
 * address, and a fee as large as the invoice. Once a second operator is there, the books are what the chain says again.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil, type Json } from '../nodes/evm/anvil.ts';
import { EndpointProxy } from '../nodes/evm/endpoint-proxy.ts';
import { inventedSending } from '../nodes/evm/inventions.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { invoicesOf, openShop } from '../support/shop.ts';

const COIN = 10n ** 18n;
const DOLLAR = 10n ** 6n;
/** Deeper than any ordinary reorganisation. */
const DEEP = 14;
const OTHER_TXID = `0x${'c6'.repeat(32)}`;
const CHAIN = 'regtest:ETH';
const NO_METHOD = { error: { code: -32_601, message: 'the method eth_getBlockReceipts does not exist' } };

type Invoice = { id: string; status: string; payment: { address: string; received: string } };

describe.skipIf(!hasAnvil)(anvilTitle('books that one endpoint made wrong'), () => {
  let scene: EvmScene;
  let second: EndpointProxy;
  let service: TestDaemon;
  let key: string;

  beforeEach(async () => {
    scene = await EvmScene.start('ETH');
    second = await EndpointProxy.start(scene.anvil.url);
    service = await startTestDaemon(scene.settings('USDT_ERC20', 'ETH'));
    key = (await openShop(service)).key;
  });
  afterEach(async () => {
    await service?.stop();
    await second?.close();
    await scene?.stop();
  });

  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const operator = () => operatorClient(service.dataDir);
  const { get, when } = invoicesOf<Invoice>(call);
  const balances = async (): Promise<Record<string, number>> =>
    (await call<Record<string, number>>('POST', '/balance')).body;
  const proof = async (method: 'ledger.prove' | 'ledger.adopt' = 'ledger.prove') => {
    const [found] = (await operator()(method, { chain: CHAIN })).chains;
    if (!found) throw new Error('the chain is proved');
    return found;
  };

  async function requested(amount: number, crypto: string): Promise<Invoice> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'ALL' });
    await until('the chain is followed', async () => {
      const { status } = await call('POST', `/invoice/rp/${body.id}`, { crypto });
      return status === 201;
    });
    return get(body.id);
  }

  /** The endpoint invents it in a block that nobody has read yet. It gives no receipts of blocks, which would disprove it. */
  async function invents(sending: Parameters<typeof inventedSending>[2]): Promise<void> {
    scene.proxy.behaviour = { raw: (response) => Boolean(response.destroy()) };
    await scene.anvil.mine();
    const invention = await inventedSending(scene.anvil, scene.token, sending);
    scene.proxy.behaviour = {
      ...invention,
      instead: (request) => (request.method === 'eth_getBlockReceipts' ? NO_METHOD : invention.instead?.(request)),
    };
  }

  /** A paid invoice, and one that a lying endpoint makes paid by what it invents. */
  async function poisoned(): Promise<{ paid: Invoice; unpaid: Invoice }> {
    const paid = await requested(100, 'USDT_ERC20');
    await scene.payTokens([{ address: paid.payment.address, units: 100n * DOLLAR }]);
    await scene.anvil.mine(DEEP);
    await when(paid.id, 'it is paid', ({ status }) => status === 'paid');
    const unpaid = await requested(4_000, 'ETH');
    await invents({ address: unpaid.payment.address, fee: 2n * COIN });
    await when(unpaid.id, 'it looks paid', ({ payment }) => payment.received === '2');
    await invents({ address: paid.payment.address, fee: COIN, units: 100n * DOLLAR, txid: OTHER_TXID });
    await scene.anvil.mine(DEEP);
    await until('the tokens are off the books', async () => (await balances()).USDT_ERC20 === 0);
    scene.proxy.behaviour = {};
    return { paid, unpaid };
  }

  /** The configuration has a second operator from the next start on. */
  async function nameSecond(): Promise<void> {
    const file = join(service.dataDir, 'countinghouse.toml');
    const both = `"${scene.proxy.url}", "${second.url.replace('127.0.0.1', 'localhost')}"`;
    await writeFile(file, (await readFile(file, 'utf8')).replace(`"${scene.proxy.url}"`, both));
  }

  async function isRight({ paid, unpaid }: { paid: Invoice; unpaid: Invoice }): Promise<void> {
    await until('the books are right', async () => {
      const { USDT_ERC20, ETH } = await balances();
      return USDT_ERC20 === 100 && ETH === 0;
    });
    expect((await get(paid.id)).status).toBe('paid');
    expect((await get(unpaid.id)).payment.received).toBe('0');
    const { problems, corrections } = await proof();
    expect(problems).toEqual([]);
    expect(corrections.map(({ kind, crypto, amount }) => `${kind} ${amount} ${crypto}`).sort()).toEqual(
      expect.arrayContaining(['denied 100 USDT_ERC20', 'denied 2 ETH']),
    );
    expect(corrections.some(({ entry }) => entry.startsWith(OTHER_TXID))).toBe(true);
    const { alerts } = await operator()('alert.list', {});
    expect(alerts.filter(({ kind }) => kind === 'ledger.corrected')).toHaveLength(1);
  }

  it('are right again after the start of this version', async () => {
    const invoices = await poisoned();
    await service.daemon.stop();
    await nameSecond();
    const database = new Database(join(service.dataDir, 'countinghouse.db'));
    // an earlier version never asked again
    database.prepare("DELETE FROM setting WHERE key LIKE 'review.%'").run();
    database.close();
    await service.resume();
    await isRight(invoices);
  });

  it('are right again after `source rescan`', async () => {
    const invoices = await poisoned();
    await service.daemon.stop();
    await nameSecond();
    await service.resume();
    await operator()('source.rescan', { network: 'regtest', chain: 'ETH' });
    await isRight(invoices);
  });

  it('are right again after a proof', async () => {
    const invoices = await poisoned();
    await service.daemon.stop();
    await nameSecond();
    await service.resume();
    await until('the chain is followed', async () => (await proof()).error === null);
    await isRight(invoices);
  });

  it('stay as they are while the second operator denies what is true', async () => {
    const paid = await requested(100, 'USDT_ERC20');
    await scene.payTokens([{ address: paid.payment.address, units: 100n * DOLLAR }]);
    await scene.anvil.mine(DEEP);
    await when(paid.id, 'it is paid', ({ status }) => status === 'paid');
    await service.daemon.stop();
    await nameSecond();
    second.behaviour = {
      instead: ({ method }) => (method.startsWith('eth_getTransaction') ? { result: null } : undefined),
      changed: ({ method }, result) =>
        method === 'eth_getBlockByNumber' && result !== null
          ? { ...(result as { [name: string]: Json }), transactions: [] }
          : result,
    };
    await service.resume();
    await operator()('source.rescan', { network: 'regtest', chain: 'ETH' });
    await scene.anvil.mine(2);
    await until('it was asked about', async () => second.calls.get('eth_getTransactionReceipt') !== undefined);
    expect((await balances()).USDT_ERC20).toBe(100);
    expect((await proof()).corrections).toEqual([]);
  });

  it('take over what two operators say that the chain has, and only that, with an entry', async () => {
    const paid = await requested(100, 'USDT_ERC20');
    const { address } = paid.payment;
    await scene.payTokens([{ address, units: 100n * DOLLAR }]);
    await scene.anvil.mine(DEEP);
    await when(paid.id, 'it is paid', ({ status }) => status === 'paid');
    await service.daemon.stop();
    await nameSecond();
    await service.resume();
    // a balance that no transfer explains
    await scene.anvil.send({ to: scene.token, data: callOf('Standard', 'vanish', [address, 30n * DOLLAR]) });
    await scene.anvil.mine(DEEP);
    // one of them tells of another balance
    second.behaviour = {
      changed: ({ method, params }, result) =>
        method === 'eth_call' && JSON.stringify(params[0]).includes('70a08231')
          ? `0x${7n.toString(16).padStart(64, '0')}`
          : result,
    };
    const divided = await until('it differs', async () => {
      const found = await proof();
      return found.problems.length > 0 && found;
    });
    expect(divided.offers).toEqual([]);
    expect((await proof('ledger.adopt')).problems).not.toEqual([]);
    expect((await balances()).USDT_ERC20).toBe(100);
    second.behaviour = {};
    const offered = await until('it is offered', async () => {
      const found = await proof();
      return found.offers.length > 0 && found;
    });
    expect(offered.offers).toEqual([{ address, crypto: 'USDT_ERC20', booked: '100', held: '70' }]);
    const { alerts } = await operator()('alert.list', {});
    expect(JSON.stringify(alerts.find(({ kind }) => kind === 'ledger.differs'))).toContain(`ledger ${CHAIN} --adopt`);
    const adopted = await proof('ledger.adopt');
    expect(adopted.problems).toEqual([]);
    expect(adopted.lines).toContainEqual({
      crypto: 'USDT_ERC20',
      received: '100',
      paid_out: '0',
      fees: '0',
      adopted: '30',
      held: '70',
    });
    expect(adopted.corrections).toMatchObject([{ kind: 'adopted', address, crypto: 'USDT_ERC20', amount: '-30' }]);
    expect((await balances()).USDT_ERC20).toBe(70);
    expect((await get(paid.id)).status).toBe('paid');
    const days = { from: '1970-01-01', to: '2999-01-01' };
    const { rows } = await operator()('export.page', days);
    expect(rows.filter(({ kind }) => kind !== 'receipt')).toMatchObject([
      { kind: 'correction', crypto: 'USDT_ERC20', amount: '-30' },
    ]);
  });
});
