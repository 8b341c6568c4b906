/**
 * Money in and out over nodes, and Electrum servers before them, that the environment names: deposits, a withdrawal that is
 * signed, sent, replaced where the chain has that, mined and buried, and the proof of the books.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { Litecoind } from '../nodes/litecoind.ts';
import { ownNode } from '../nodes/own.ts';
import { OWN_WAYS, OwnElectrumServer, wayIsThere, wayTitle } from '../nodes/own-electrum.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import type { Operator } from '../support/operator.ts';
import { openShop } from '../support/shop.ts';

const COIN = 100_000_000n;
const WAIT_MS = 60_000;
/** A server asks its node by intervals of some seconds. */
const SEEN_MS = 40_000;
const BURIED: Readonly<Record<UtxoChain, number>> = { BTC: 6, LTC: 12, BCH: 12 };

describe.each(OWN_WAYS.map((way) => [wayTitle(way, 'money in and out'), way] as const))('%s', (_, way) => {
  const { own, server: kindOfServer } = way;
  const kind = ownNode(own);
  const { chain } = own;

  describe.skipIf(!wayIsThere(way))('is', () => {
    let node: Litecoind;
    let server: OwnElectrumServer | null = null;
    let service: TestDaemon;
    let operator: Operator;
    let key: string;

    beforeAll(async () => {
      node = await Litecoind.start({ kind: { ...kind!, options: [...kind!.options, ...(kindOfServer?.needs ?? [])] } });
      await node.fund();
      if (kindOfServer) server = await OwnElectrumServer.start(kindOfServer, node);
      service = await startTestDaemon(`
[networks.regtest.${chain}]
${server ? `electrum = ["${server.url}"]` : `core_rpc = "${node.url}"`}
[networks.regtest.rates]
${chain} = "80"
`);
      ({ key, operator } = await openShop(service, ['invoices', 'balance', 'withdraw']));
      await operator.unlock();
    }, WAIT_MS * 2);
    afterAll(async () => {
      await service?.stop();
      await server?.stop();
      await node?.remove();
    });

    const call = <Body>(method: string, path: string, body?: unknown) =>
      service.call<Body>(method, path, body, { 'mb-api-key': key });
    const balance = async () => (await call<Record<string, number>>('GET', '/balance')).body[chain];
    const mempool = () => node.rpc<string[]>('getrawmempool', []);
    const mine = async (count: number) => {
      await node.mine(count);
      await server?.caughtUp();
    };
    const inState = (id: string, state: string) =>
      until(
        `withdrawal ${id} is ${state}`,
        async () => {
          const now = await operator.show(id);
          return now.state === state && now;
        },
        SEEN_MS,
      );
    const proved = async () => {
      const { chains } = await operator.call('ledger.prove', { chain: `regtest:${chain}` });
      expect(chains).toMatchObject([{ compared: true, problems: [], error: null }]);
      return chains[0]!.lines.find(({ crypto }) => crypto === chain)!;
    };

    it(
      'a deposit that is seen, confirmed and in the proof of the books',
      async () => {
        for (const units of [10n, 5n]) {
          const { body } = await call<{ id: string }>('POST', '/invoice', {
            amount: Number(units) * 80,
            crypto: chain,
          });
          const address = await until(
            'the chain is followed',
            async () => {
              const asked = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`);
              return asked.status === 201 && asked.body.address;
            },
            SEEN_MS,
          );
          await node.pay([{ address, units: units * COIN }]);
          type Shown = { status: string; payment: { received: string } };
          const invoice = async () => (await call<Shown>('GET', `/invoice/${body.id}`)).body;
          await until('it is seen', async () => (await invoice()).payment.received === `${units}`, SEEN_MS);
          await mine(3);
          await until('it is paid', async () => (await invoice()).status === 'paid', SEEN_MS);
        }
        expect(await balance()).toBe(15);
        expect(await proved()).toMatchObject({ received: '15', paid_out: '0', held: '15' });
      },
      WAIT_MS * 3,
    );

    it(
      'a withdrawal that pays exactly what was approved, and its replacement where there is one',
      async () => {
        const address = await node.newAddress();
        const asked = await call<{ id: string }>('POST', '/withdraw', { amount: '1.5', crypto: chain, address });
        expect(asked.status).toBe(201);
        const { id } = asked.body;
        await operator.approve(id);
        const sent = (version: number) =>
          until(
            `version ${version} is in the mempool`,
            async () => {
              const txid = (await operator.show(id)).versions[version]?.tx_id;
              return txid && (await mempool()).includes(txid) && txid;
            },
            SEEN_MS,
          );
        let txid = await sent(0);
        if (chain !== 'BCH') {
          await operator.replace(id, 'speed-up', '60');
          const faster = await sent(1);
          expect(await mempool()).toEqual([faster]);
          txid = faster;
        }
        await mine(1);
        expect((await inState(id, 'completed')).tx_id).toBe(txid);
        expect(await node.rpc('getreceivedbyaddress', [address, 1])).toBe(1.5);
        await mine(BURIED[chain]);
        expect(await operator.show(id)).toMatchObject({ state: 'completed', tx_id: txid });
        const { paid_out, held, fees } = await proved();
        expect(paid_out).toBe('1.5');
        expect(Number(held)).toBeCloseTo(13.5 - Number(fees), 8);
      },
      WAIT_MS * 3,
    );

    it(
      'all that is left, which leaves nothing behind',
      async () => {
        const address = await node.newAddress();
        const { withdrawal } = await operator.call('withdrawal.add', {
          business: 'Regtest shop',
          crypto: chain,
          address,
          amount: null,
        });
        await until('it can be shown', async () => {
          const { preview } = await operator.call('withdrawal.propose', { kind: 'pay', id: `${withdrawal.id}` });
          return preview !== null;
        });
        await operator.approve(withdrawal.id);
        await until('it is sent', async () => (await mempool()).length === 1, SEEN_MS);
        await mine(1);
        await inState(`${withdrawal.id}`, 'completed');
        expect(await balance()).toBe(0);
        expect(await proved()).toMatchObject({ held: '0' });
      },
      WAIT_MS * 3,
    );
  });
});
