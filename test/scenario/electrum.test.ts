/**
 * The whole service on Electrum servers in front of a real litecoind: what an operator sees of them, failover when the
 * asked one freezes, a second server's word for a large invoice, a liar's end, and what is not connected to.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { CHAINS } from '../../daemon/domain/assets.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cheapWallet } from '../support/wallet.ts';

const COIN = 100_000_000n;

type Invoice = {
  id: string;
  status: string;
  payment: { address: string; received: string; confirmed: string; confirmations: number };
};

describe.skipIf(!hasLitecoind)(litecoindTitle('the whole service on Electrum servers'), () => {
  let node: Litecoind;
  let followed: FollowedChain;
  let servers: ElectrumServer[];
  let service: TestDaemon;
  let key: string;
  const operator = () => operatorClient(service.dataDir);

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    followed = await FollowedChain.start(node);
    // By their addresses, they are of two operators.
    const [one, another] = [{ host: '127.0.0.1' }, { host: 'localhost', tls: true }];
    servers = [await ElectrumServer.start(followed, one), await ElectrumServer.start(followed, another)];
    service = await startTestDaemon(
      litecoinConfig(`electrum = [${servers.map(({ url }) => JSON.stringify(url)).join()}]
electrum_agree_usd = 500`),
    );
    const vault = join(service.dataDir, 'vault');
    await cheapWallet(vault, { passphrase: 'a passphrase of the test' });
    const accounts = await deriveAccounts(vault, 'a passphrase of the test', 'regtest', 0, CHAINS);
    const shop = { name: 'Shop', network: 'regtest' as const, account_no: 0, accounts };
    const added = await operator()('business.add', { ...shop, key: { name: 'shop', scopes: ['invoices'] } });
    key = added.key.key;
    await until('both servers are followed', async () => {
      const [source] = (await operator()('source.list', {})).sources.filter(
        ({ chain, network }) => chain === 'LTC' && network === 'regtest',
      );
      return source?.agreeing === 2 && source.servers.every(({ watched }) => watched > 0);
    });
  });
  afterAll(async () => {
    await service?.stop();
    for (const server of servers ?? []) await server.stop();
    await followed?.stop();
    await node?.remove();
  });

  const source = async () => {
    const { sources } = await operator()('source.list', {});
    const found = sources.find(({ chain, network }) => chain === 'LTC' && network === 'regtest');
    if (!found) throw new Error('LTC is connected');
    return found;
  };
  const asked = async () => {
    const found = (await source()).servers.find((server) => server.asked);
    return servers.find(({ url }) => url === found?.name) as ElectrumServer;
  };
  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  async function requested(amount: number): Promise<Invoice> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: 'LTC' });
    await until('LTC is offered', async () => (await call('POST', `/invoice/rp/${body.id}`)).status !== 503);
    return (await call<Invoice>('GET', `/invoice/${body.id}`)).body;
  }
  const when = (id: string, what: string, holds: (invoice: Invoice) => boolean) =>
    until(what, async () => {
      const { body } = await call<Invoice>('GET', `/invoice/${id}`);
      return holds(body) && body;
    });
  const pay = (invoice: Invoice, units: bigint) => node.pay([{ address: invoice.payment.address, units }]);

  it('lists the servers with their tips, and begins a rescan', async () => {
    const { tip, agreeing, error, servers: listed } = await source();
    expect({ tip, agreeing, error }).toEqual({
      tip: { height: followed.chain.height, hash: followed.chain.tip.hash },
      agreeing: 2,
      error: null,
    });
    expect(listed.map(({ name }) => name)).toEqual(servers.map(({ url }) => url));
    for (const server of listed) {
      expect(server).toMatchObject({ state: 'ready', behind: 0, failures: 0, error: null });
      expect(server.software).toBe('TestElectrum 1.0, protocol 1.6');
    }
    expect(listed.filter((server) => server.asked)).toHaveLength(1);
    expect(await operator()('source.rescan', { network: 'regtest', chain: 'LTC' })).toEqual({ begun: true });
    await expect(operator()('source.rescan', { network: 'testnet', chain: 'LTC' })).rejects.toThrow('not connected');
  });

  it('goes on within fifteen seconds when the asked server freezes', async () => {
    const invoice = await requested(80);
    const frozen = await asked();
    frozen.freeze();
    await pay(invoice, COIN);
    const began = performance.now();
    await when(invoice.id, 'it is seen through the other', ({ payment }) => payment.received === '1');
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(await asked()).not.toBe(frozen);
    frozen.behaviour = {};
    await until('it is back', async () => (await source()).agreeing === 2);
  });

  it('counts a large invoice only once a second server shows the same', async () => {
    const small = await requested(80);
    const large = await requested(800);
    const other = servers.find((server) => server !== undefined && server.url !== servers[0]?.url) as ElectrumServer;
    const silent = (await asked()) === other ? (servers[0] as ElectrumServer) : other;
    await silent.close();
    await until(
      'one is left',
      async () => (await source()).servers.filter(({ state }) => state === 'ready').length === 1,
    );
    await pay(small, COIN);
    await pay(large, 10n * COIN);
    await node.mine(12);
    await when(small.id, 'the small one is paid', ({ status }) => status === 'paid');
    const waiting = (await call<Invoice>('GET', `/invoice/${large.id}`)).body;
    expect(waiting).toMatchObject({ status: 'unpaid', payment: { received: '10', confirmed: '0', confirmations: 0 } });
    await silent.listen();
    await when(large.id, 'the large one is paid', ({ status }) => status === 'paid');
  });

  it('drops a server that lies, with an alert', async () => {
    await until('both agree', async () => (await source()).agreeing === 2);
    const liar = await asked();
    liar.behaviour = {
      answer: (method, _params, honest) =>
        method === 'blockchain.transaction.get' ? followed.chain.blocks[1]?.txs[0]?.raw.toString('hex') : honest(),
    };
    const invoice = await requested(80);
    await pay(invoice, COIN);
    await node.mine(3);
    await when(invoice.id, 'it is paid all the same', ({ status }) => status === 'paid');
    const { alerts } = await operator()('alert.list', {});
    const alert = alerts.find(({ kind }) => kind === 'source.dropped');
    expect(alert && textOf(alert.message)).toContain(`${liar.url}: it sent another transaction than`);
    expect((await source()).servers.find(({ name }) => name === liar.url)).toMatchObject({ state: 'dropped' });
  });
});

describe('a service without a business on mainnet', () => {
  it('has the public servers at hand, and is connected to none of them', async () => {
    const service = await startTestDaemon('');
    try {
      expect(
        (await operatorClient(service.dataDir)('source.list', {})).sources.map(({ network }) => network),
      ).not.toContain('mainnet');
      const { chains } = await operatorClient(service.dataDir)('status', {});
      expect(new Set(chains.map(({ network }) => network))).toEqual(new Set(['sandbox']));
      await expect(
        operatorClient(service.dataDir)('source.rescan', { network: 'mainnet', chain: 'BTC' }),
      ).rejects.toThrow('BTC is not connected on mainnet');
    } finally {
      await service.stop();
    }
  });
});
