/**
 * Money that leaves Ethereum and BNB Smart Chain, on an anvil of each: from invoices to the merchant's own address, with the
 * gas desk in between; replaced, canceled, failed on the chain, reorganised, and done once through crashes.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { CHAINS } from '../../daemon/domain/assets.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import type { GasGrant } from '../../daemon/wallet/signer/port.ts';
import { deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { cheapWallet } from '../support/wallet.ts';

const PASSPHRASE = 'a passphrase of the test';
const ETHER = 10n ** 18n;

describe.skipIf(!hasAnvil).each([
  { chain: 'ETH', tether: 'USDT_ERC20', unit: 10n ** 6n, coin: 'ETH', buried: 12 },
  { chain: 'BSC', tether: 'USDT_BEP20', unit: 10n ** 18n, coin: 'BNB', buried: 15 },
] as const)('$chain', ({ chain, tether, unit, coin, buried }) => {
  describe(anvilTitle('paying out on anvil'), () => {
    let scene: EvmScene;
    let service: TestDaemon;
    let operator: Operator;
    let key: string;

    beforeAll(async () => {
      scene = await EvmScene.start(chain);
      service = await startTestDaemon(`
[networks.regtest.${chain}]
rpc = ["${scene.proxy.url}"]
[networks.regtest.${tether}]
contract = "${scene.token}"
[networks.regtest.rates]
${coin} = "2000"
USDT = "1"
`);
      const vault = join(service.dataDir, 'vault');
      await cheapWallet(vault, { passphrase: PASSPHRASE });
      operator = new Operator(service.dataDir, PASSPHRASE);
      const added = await operator.call('business.add', {
        name: 'Regtest shop',
        network: 'regtest',
        account_no: 0,
        accounts: await deriveAccounts(vault, PASSPHRASE, 'regtest', 0, CHAINS),
        key: { name: 'shop', scopes: ['invoices', 'balance'] },
      });
      key = added.key.key;
      await operator.unlock();
    });
    afterAll(async () => {
      await service?.stop();
      await scene?.stop();
    });

    const call = <Body>(method: string, path: string, body?: unknown) =>
      service.call<Body>(method, path, body, { 'mb-api-key': key });
    const balanceOf = async (crypto: string): Promise<number> =>
      (await call<Record<string, number>>('POST', '/balance')).body[crypto] ?? 0;
    const fresh = (() => {
      let count = 0;
      return () => checksumAddress(Buffer.from((0xabcd00 + ++count).toString(16).padStart(40, '0'), 'hex'));
    })();
    const coinsAt = async (address: string): Promise<bigint> =>
      BigInt(await scene.anvil.rpc<string>('eth_getBalance', [address, 'latest']));
    const tokensAt = async (address: string): Promise<bigint> => {
      const data = callOf('Standard', 'balanceOf', [address]);
      return BigInt(await scene.anvil.rpc<string>('eth_call', [{ to: scene.token, data }, 'latest']));
    };

    /** Pays an invoice, and waits until it is paid. */
    async function invoicePaid(crypto: string, units: bigint, usd: number): Promise<string> {
      const { body } = await call<{ id: string }>('POST', '/invoice', { amount: usd, crypto: 'ALL' });
      const { address } = await until('the chain is followed', async () => {
        const asked = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`, { crypto });
        return asked.status === 201 && asked.body;
      });
      if (crypto === coin) await scene.payCoins([{ address, units }]);
      else await scene.payTokens([{ address, units }]);
      await scene.anvil.mine(buried);
      await until('it is paid', async () => {
        const { body: now } = await call<{ status: string }>('GET', `/invoice/${body.id}`);
        return now.status === 'paid';
      });
      return address;
    }
    const request = async (crypto: string, amount: string | null, address: string): Promise<string> => {
      const { withdrawal } = await operator.call('withdrawal.add', {
        business: 'Regtest shop',
        crypto,
        amount,
        address,
      });
      return `${withdrawal.id}`;
    };
    const when = (id: string, state: string) =>
      until(`withdrawal ${id} is ${state}`, async () => {
        const now = await operator.show(id);
        return now.state === state && now;
      });
    const inPool = (count: number) =>
      until(`${count} transactions are in the pool`, async () => {
        const { pending } = await scene.anvil.rpc<{ pending: string }>('txpool_status', []);
        return Number(pending) === count;
      });

    it('pays the native coin straight from the address of an invoice', async () => {
      await invoicePaid(coin, ETHER / 50n, 40);
      const to = fresh();
      const id = await request(coin, '0.005', to);
      const preview = await operator.approve(id);
      expect(preview.outputs).toEqual([expect.objectContaining({ amount: '0.005', change: false })]);
      await inPool(1);
      await scene.anvil.mine(1);
      const done = await when(id, 'completed');
      expect(await coinsAt(to)).toBe(ETHER / 200n);
      // what was not needed of the highest fee is not charged
      expect(Number(done.fee)).toBeLessThan(Number(preview.fee));
      const left = await until('the books follow', async () => {
        const now = await balanceOf(coin);
        return now < 0.015 && now;
      });
      expect(left).toBeCloseTo(0.02 - 0.005 - Number(done.fee), 7);
      await scene.anvil.mine(buried);
    });

    const desk = async () => (await operator.call('gas.status', {})).desks.find((one) => one.chain === chain)!;
    const asset = async (crypto: string) => (await desk()).assets.find((one) => one.crypto === crypto)!;
    const forecast = () => operator.call('gas.forecast', { business: 'Regtest shop', chain });
    /** Approves a plan as the command line does. */
    async function collect(feeMax: bigint, endsAt = Date.now() + 3_600_000): Promise<void> {
      const grant: GasGrant = {
        ...{ kind: 'gas', network: 'regtest', accountNo: 0, chain },
        ...{ feeMax: `${feeMax}`, until: endsAt, issuedAt: Date.now() },
      };
      const wanted = { approvals: [], change: null, grants: [grant] };
      const { grants } = await authorized(join(service.dataDir, 'vault'), PASSPHRASE, wanted);
      const mac = grants[0] ?? '';
      const plan = { begins_at: Date.now(), ends_at: endsAt, fee_max: `${feeMax}` };
      await operator.call('gas.collect', { business: 'Regtest shop', chain, ...plan, signed: { grant, mac } });
    }
    /** Mines until something holds, because each step needs the one before to be deep. */
    const mining = (what: string, holds: () => Promise<boolean>): Promise<unknown> =>
      until(
        what,
        async () => {
          const { pending } = await scene.anvil.rpc<{ pending: string }>('txpool_status', []);
          if (Number(pending) > 0) await scene.anvil.mine(buried);
          return holds();
        },
        40_000,
      );

    it('collects tokens into the tank once there is gas, and pays them out from there', async () => {
      const first = await invoicePaid(tether, 25n * unit, 25);
      const second = await invoicePaid(tether, 40n * unit, 40);
      expect(await asset(tether)).toMatchObject({ amount: '65', in_tank: '0', on_addresses: '65', addresses: 2 });
      const { worth, items, needs, fee_max } = await forecast();
      expect(worth).toBe(3);
      expect(items.filter(({ crypto }) => crypto === tether)).toEqual([
        expect.objectContaining({ address: second, amount: '40', left: null, dear: false }),
        expect.objectContaining({ address: first, amount: '25', left: null }),
      ]);
      const { tank } = await desk();
      expect(needs).toMatchObject({ address: tank.address, text: expect.stringContaining('for gas; send it to') });
      await scene.payCoins([{ address: tank.address, units: ETHER / 10n }]);
      await scene.anvil.mine(buried);
      await until('the tank is full', async () => Number((await desk()).tank.amount) >= 0.1);
      expect((await forecast()).needs).toBeNull();

      await collect(BigInt(fee_max));
      await mining('all is in the tank', async () => (await asset(tether)).in_tank === '65');
      expect([await tokensAt(first), await tokensAt(second)]).toEqual([0n, 0n]);
      expect(await tokensAt(tank.address)).toBe(65n * unit);
      // what moves between our own addresses is neither a payment nor income
      expect(await balanceOf(tether)).toBe(65);
      expect((await operator.call('inbox.list', {})).items).toEqual([]);

      const to = fresh();
      const id = await request(tether, '60.5', to);
      const preview = await operator.approve(id);
      expect(preview.outputs).toEqual([expect.objectContaining({ address: to, amount: '60.5', change: false })]);
      await mining('it is paid', async () => (await operator.show(id)).state === 'completed');
      expect(await tokensAt(to)).toBe((605n * unit) / 10n);
      expect(await balanceOf(tether)).toBe(4.5);
    });
  });
});
