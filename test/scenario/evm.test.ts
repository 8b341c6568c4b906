/**
 * The whole service on an anvil of each chain id: an invoice in Tether is paid, partly, over, reorganised away, and while the
 * daemon was down; a native coin is paid from inside a contract; a token that was not asked for goes to the inbox.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { invoicesOf, openShop } from '../support/shop.ts';

type Payment = { status: string; crypto: string; address: string; amount: string; received: string; confirmed: string };
type Invoice = { id: string; status: string; payment: Payment };

describe.skipIf(!hasAnvil).each([
  { chain: 'ETH', tether: 'USDT_ERC20', unit: 10n ** 6n, coin: 'ETH', confirmations: 12 },
  { chain: 'BSC', tether: 'USDT_BEP20', unit: 10n ** 18n, coin: 'BNB', confirmations: 15 },
] as const)('$chain', ({ chain, tether, unit, coin, confirmations }) => {
  describe(anvilTitle('the whole service on anvil'), () => {
    let scene: EvmScene;
    let service: TestDaemon;
    let key: string;

    beforeAll(async () => {
      scene = await EvmScene.start(chain);
      service = await startTestDaemon(scene.settings(tether, coin));
      const shop = await openShop(service);
      key = shop.key;
      // What has no contract on this network is not offered: nobody would see it arrive.
      expect(shop.cryptos).toEqual([coin, tether]);
    });
    afterAll(async () => {
      await service?.stop();
      await scene?.stop();
    });

    const call = <Body>(method: string, path: string, body?: unknown) =>
      service.call<Body>(method, path, body, { 'mb-api-key': key });
    const { get, when } = invoicesOf<Invoice>(call);
    async function requested(amount: number, crypto: string): Promise<Invoice> {
      const fixed = crypto === tether;
      const { body } = await call<{ id: string }>('POST', '/invoice', { amount, crypto: fixed ? crypto : 'ALL' });
      await until('the chain is followed', async () => {
        const answer = await call('POST', `/invoice/rp/${body.id}`, fixed ? undefined : { crypto });
        return answer.status !== 503;
      });
      return get(body.id);
    }

    it('pays 25 USD with 25 Tether, seen in its block and paid after its confirmations', async () => {
      const invoice = await requested(25, tether);
      expect(invoice.payment).toMatchObject({ amount: '25', address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) });
      const txid = await scene.payTokens([{ address: invoice.payment.address, units: 25n * unit }]);
      await scene.anvil.mine();
      const minedAt = Date.now();
      const seen = await when(invoice.id, 'it is seen', ({ payment }) => payment.received === '25');
      // by a hint: without one the chain is looked at every ten seconds
      expect(Date.now() - minedAt).toBeLessThan(9_000);
      expect(seen.status).toBe('unpaid');
      expect(JSON.stringify(seen)).toContain(txid);
      await scene.anvil.mine(confirmations - 1);
      const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
      expect(paid.payment).toMatchObject({ status: 'paid', confirmed: '25' });
    });

    it('is paid in two parts, one of them while the daemon was down', async () => {
      const invoice = await requested(40, tether);
      const { address } = invoice.payment;
      await scene.payTokens([{ address, units: 15n * unit }]);
      await scene.anvil.mine(confirmations);
      await when(invoice.id, 'the first part is confirmed', ({ payment }) => payment.confirmed === '15');
      await service.daemon.stop();
      await scene.payTokens([{ address, units: 25n * unit }]);
      await scene.anvil.mine(confirmations);
      await service.resume();
      const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
      expect(paid.payment).toMatchObject({ received: '40', confirmed: '40' });
    });

    it('follows a payment that a reorganisation drops', async () => {
      const invoice = await requested(30, tether);
      await scene.payTokens([{ address: invoice.payment.address, units: 30n * unit }]);
      await scene.anvil.mine(3);
      await when(invoice.id, 'it is seen', ({ payment }) => payment.received === '30');
      await scene.reorg(3, true);
      const back = await when(invoice.id, 'it is gone', ({ payment }) => payment.received === '0');
      expect(back.status).toBe('unpaid');
      await scene.payTokens([{ address: invoice.payment.address, units: 30n * unit }]);
      await scene.anvil.mine(confirmations);
      await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
    });

    it('takes the native coin that a contract sends from inside', async () => {
      const invoice = await requested(20, coin);
      expect(invoice.payment).toMatchObject({ amount: '0.01' });
      const other = scene.anvil.accounts[5] ?? '';
      await scene.payCoins([
        { address: invoice.payment.address, units: 10n ** 16n },
        { address: other, units: 1n },
      ]);
      await scene.anvil.mine(confirmations);
      const paid = await when(invoice.id, 'it is paid', ({ status }) => status === 'paid');
      expect(paid.payment).toMatchObject({ received: '0.01', confirmed: '0.01' });
    });

    it('puts a coin that was not asked for into the inbox, and counts it for nothing', async () => {
      const invoice = await requested(35, tether);
      await scene.payCoins([{ address: invoice.payment.address, units: 10n ** 17n }]);
      await scene.anvil.mine(confirmations);
      const filed = await until('it is filed', async () => {
        const { items } = await operatorClient(service.dataDir)('inbox.list', {});
        return items.find((item) => item.crypto === coin) ?? null;
      });
      expect(filed).toMatchObject({ crypto: coin, amount: '0.1', reason: 'unexpected' });
      expect(filed.advice).toMatch(/did not ask for.*mark-paid.*keep.*refund/);
      expect(await get(invoice.id)).toMatchObject({ status: 'unpaid', payment: { received: '0' } });
    });

    it('lists a token that nobody here knows, and counts it for nothing', async () => {
      const invoice = await requested(45, tether);
      const fake = await scene.anvil.deploy('Standard', [6, '\u202eTDSU\u0007']);
      await scene.anvil.send({
        to: fake,
        data: callOf('Standard', 'mint', [invoice.payment.address, 45_000_000n]),
      });
      await scene.anvil.mine(confirmations);
      const listed = await until('it is listed', async () => {
        const { tokens } = await operatorClient(service.dataDir)('inbox.unknownTokens', {});
        return tokens.find(({ contract }) => contract === fake.toLowerCase()) ?? null;
      });
      const { address } = invoice.payment;
      expect(listed).toMatchObject({ address, symbol: 'TDSU', decimals: 6, units: '45000000', invoice: invoice.id });
      expect(await get(invoice.id)).toMatchObject({ status: 'unpaid', payment: { received: '0' } });
    });

    it('proves its books by the balances of the chain, and notices money that left without it', async () => {
      const prove = async () => {
        const { chains } = await operatorClient(service.dataDir)('ledger.prove', {});
        return chains.find((one) => one.chain === `regtest:${chain}`);
      };
      expect(await prove()).toMatchObject({ compared: true, problems: [], error: null });
      const { address } = (await requested(50, tether)).payment;
      await scene.payTokens([{ address, units: 50n * unit }]);
      await scene.anvil.mine();
      await until('it is seen', async () => (await prove())?.problems.length === 0);
      // a balance that no transfer explains
      await scene.anvil.send({ to: scene.token, data: callOf('Standard', 'vanish', [address, 20n * unit]) });
      await scene.anvil.mine();
      const books = `50 ${tether}, the source 30 ${tether}`;
      expect((await prove())?.problems).toEqual([`${address}: our books hold ${books}`]);
    });
  });
});
