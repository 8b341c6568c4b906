/**
 * Money that leaves Ethereum and BNB Smart Chain, on an anvil of each: from invoices to the merchant's own address, with the
 * gas desk in between; replaced, canceled, failed on the chain, reorganised, and done once through crashes.
 */
import { join } from 'node:path';
import { encodeAbiParameters, type Hex, keccak256 } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import type { GasGrant } from '../../daemon/wallet/signer/port.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import type { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';

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
      service = await startTestDaemon(scene.settings(tether, coin));
      ({ key, operator } = await openShop(service));
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

    const desk = async () =>
      (await operator.call('gas.status', { business: 'Regtest shop' })).desks.find((one) => one.chain === chain)!;
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

    it('is sped up and canceled by the same nonce, and one of the versions confirms', async () => {
      const [to, other] = [fresh(), fresh()];
      const id = await request(tether, '1', to);
      await operator.approve(id);
      await inPool(1);
      const first = (await operator.show(id)).versions[0]!;
      const faster = await operator.replace(id, 'speed-up');
      expect(Number(faster.fee)).toBeGreaterThan(1.1 * Number(first.fee));
      await until('two versions are signed', async () => (await operator.show(id)).versions[1]?.tx_id);
      await until('the dearer one is in the pool', async () => {
        const found = await scene.anvil.rpc('eth_getTransactionByHash', [
          (await operator.show(id)).versions[1]!.tx_id!,
        ]);
        return found !== null;
      });
      await inPool(1);
      await scene.anvil.mine(buried);
      const done = await when(id, 'completed');
      expect(done.tx_id).toBe(done.versions[1]?.tx_id);
      expect(await tokensAt(to)).toBe(unit);

      const second = await request(tether, '2', other);
      await operator.approve(second);
      await inPool(1);
      await operator.replace(second, 'cancel');
      await until('the cancellation is in the pool', async () => {
        const txid = (await operator.show(second)).versions[1]?.tx_id;
        return txid && (await scene.anvil.rpc('eth_getTransactionByHash', [txid])) !== null;
      });
      await scene.anvil.mine(buried);
      expect(await when(second, 'failed')).toMatchObject({ reason: 'canceled', tx_id: null });
      expect(await tokensAt(other)).toBe(0n);
    });

    it('fails where the chain ran it without effect: the fee is paid, and nobody', async () => {
      const to = fresh();
      const id = await request(tether, '1.5', to);
      await operator.approve(id);
      await inPool(1);
      const held = await balanceOf(tether);
      // when the block runs it, the tokens are elsewhere
      const { tank } = await desk();
      await scene.anvil.rpc('anvil_impersonateAccount', [tank.address]);
      await scene.anvil.rpc('anvil_setBlockTimestampInterval', [1]);
      const slot = keccak256(
        encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [tank.address as Hex, 0n]),
      );
      const zero = `0x${'0'.repeat(64)}`;
      const was = await scene.anvil.rpc<string>('eth_getStorageAt', [scene.token, slot, 'latest']);
      await scene.anvil.rpc('anvil_setStorageAt', [scene.token, slot, zero]);
      await scene.anvil.mine(1);
      await scene.anvil.rpc('anvil_setStorageAt', [scene.token, slot, was]);
      const waiting = await until('it says so', async () => {
        const now = await operator.show(id);
        return now.problem !== null && now;
      });
      expect(waiting).toMatchObject({ state: 'broadcast', problem: expect.stringContaining('moved nothing') });
      await scene.anvil.mine(buried);
      expect(await when(id, 'failed')).toMatchObject({ reason: 'reverted', tx_id: null });
      expect(await tokensAt(to)).toBe(0n);
      expect(await balanceOf(tether)).toBeGreaterThan(held);
    });

    it('keeps its place when the daemon dies between any two steps, and pays once', async () => {
      const to = fresh();
      const id = await request(tether, '0.25', to);
      await operator.approve(id);
      await service.daemon.stop();
      await service.resume();
      await operator.unlock();
      await inPool(1);
      await service.daemon.stop();
      await scene.anvil.mine(3);
      await service.resume();
      await operator.unlock();
      await when(id, 'completed');
      await scene.anvil.mine(buried);
      expect(await tokensAt(to)).toBe(unit / 4n);
      expect((await operator.show(id)).versions).toHaveLength(1);
    });

    // one chain is enough
    (chain === 'ETH' ? it : null)?.(
      'lets other addresses go where a token refuses one, and says so',
      async () => {
        const blocked = await invoicePaid(tether, 30n * unit, 30);
        const free = await invoicePaid(tether, 35n * unit, 35);
        await scene.anvil.send({ to: scene.token, data: callOf('TetherLike', 'setBlackListed', [blocked, true]) });
        await scene.anvil.mine();
        await collect(ETHER / 100n);
        await mining('the other one is collected', async () => (await tokensAt(free)) === 0n);
        expect(await tokensAt(blocked)).toBe(30n * unit);
        const { alerts } = await operator.call('alert.list', {});
        expect(alerts.filter(({ kind }) => kind === 'gas.refused')).toEqual([
          expect.objectContaining({ message: expect.stringContaining(blocked) }),
        ]);
        await scene.anvil.send({ to: scene.token, data: callOf('TetherLike', 'setBlackListed', [blocked, false]) });
        await scene.anvil.mine();
        await mining('all is collected', async () => (await tokensAt(blocked)) === 0n);
      },
      90_000,
    );

    it('proves its books against the chain at last', async () => {
      await scene.anvil.mine(buried);
      await until('the books are the chain', async () => {
        const { chains } = await operator.call('ledger.prove', { chain: `regtest:${chain}` });
        expect(chains[0]).toMatchObject({ error: null, problems: [] });
        return chains[0]?.compared === true;
      });
    });
  });
});
