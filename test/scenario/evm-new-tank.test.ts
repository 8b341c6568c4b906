/** A new tank after a token blocked the one of now, on an anvil: the wallet collects into it alone, and nothing is lost. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import type { GasGrant } from '../../daemon/wallet/signer/port.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';
import { PASSPHRASE } from '../support/shop.ts';

const USDT = 10n ** 6n;
const business = 'Regtest shop';

describe.skipIf(!hasAnvil)(anvilTitle('a new tank, on anvil'), () => {
  let scene: EvmScene;
  let shop: EvmShop;
  let old: string;
  let fresh: string;

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    shop = await EvmShop.open(scene, scene.settings('USDT_ERC20', 'ETH'));
    await shop.fillTank(ETHER / 10n);
    old = (await shop.desk()).tank.address;
    await scene.payTokens([{ address: old, units: 40n * USDT }]);
    await shop.invoicePaid('USDT_ERC20', 30n * USDT, 30);
    await shop.invoicePaid('USDT_ERC20', 25n * USDT, 25);
    const data = callOf('TetherLike', 'setBlackListed', [old, true]);
    await scene.anvil.send({ to: scene.token, data, gas: 100_000 });
    await scene.anvil.mine(1);
  });
  afterAll(async () => {
    await shop?.stop();
    await scene?.stop();
  });

  async function signed(tank?: number, feeMax = '0') {
    const grant: GasGrant = {
      kind: 'gas',
      network: 'regtest',
      accountNo: 0,
      chain: 'ETH',
      feeMax,
      until: Date.now() + 60_000,
      ...(tank !== undefined && { tank }),
      issuedAt: Date.now(),
    };
    const wanted = { approvals: [], change: null, grants: [grant] };
    const { grants } = await authorized(join(shop.service.dataDir, 'vault'), PASSPHRASE, wanted);
    return { grant, mac: grants[0] ?? '' };
  }
  const move = async (index: number, word: Awaited<ReturnType<typeof signed>> | null) =>
    shop.operator.call('gas.tank', { business, chain: 'ETH', index, signed: word });
  const alertsOf = (kind: string): Promise<string[]> => shop.operator.alertsOf(kind);

  it('needs the word of the operator for exactly that tank', async () => {
    await expect(move(1, null)).rejects.toThrow('The grant of gas is missing');
    await expect(move(1, await signed())).rejects.toThrow('is not for this');
    await expect(move(1, await signed(2))).rejects.toThrow('is not for this');
    await expect(move(2, await signed(2))).rejects.toThrow('The tank was changed meanwhile');
    const word = await signed(1);
    await expect(move(1, { ...word, mac: '0'.repeat(64) })).rejects.toThrow('does not belong to these limits');
    expect((await shop.desk()).tank.address).toBe(old);
  });

  it('is the next address of the account, and the former one keeps what it holds', async () => {
    const moved = await move(1, await signed(1));
    fresh = moved.address;
    const { tank, former_tanks, plan } = await shop.desk();
    expect([tank, plan?.state ?? null, fresh === old]).toEqual([
      { address: fresh, amount: '0', index: 1 },
      null,
      false,
    ]);
    expect(former_tanks).toEqual([
      {
        address: old,
        held: [
          { crypto: 'ETH', amount: '0.1', blocked: false },
          { crypto: 'USDT_ERC20', amount: '40', blocked: true },
        ],
      },
    ]);
    const { items } = await shop.forecast();
    expect(items.filter(({ left }) => left === 'blocked')).toEqual([
      expect.objectContaining({ address: old, crypto: 'USDT_ERC20', amount: '40' }),
    ]);
  });

  it('gets the coin of the former one and the money of deposit addresses; the blocked token is told', async () => {
    await shop.collect(ETHER / 20n);
    await shop.mining('all is collected', async () => (await shop.tokensAt(fresh)) === 55n * USDT);
    expect([await shop.tokensAt(old), (await shop.coinsAt(fresh)) > ETHER / 20n]).toEqual([40n * USDT, true]);
    expect(await shop.coinsAt(old)).toBeLessThan(ETHER / 100n);
    await until('it is told', async () => (await alertsOf('gas.refused')).length > 0);
    expect(await alertsOf('gas.refused')).toEqual([expect.stringMatching(new RegExp(`^USDT_ERC20 at ${old} cannot`))]);
    await until('the books agree', async () => (await shop.proof()).length === 0);
  });

  it('pays withdrawals, and takes what the token lets go later', async () => {
    const to = freshAddress();
    const id = await shop.request('USDT_ERC20', '50', to);
    await shop.approveCollecting(id);
    await shop.mining('it is paid', async () => (await shop.operator.show(id)).state === 'completed');
    expect(await shop.tokensAt(to)).toBe(50n * USDT);
    const data = callOf('TetherLike', 'setBlackListed', [old, false]);
    await scene.anvil.send({ to: scene.token, data, gas: 100_000 });
    await scene.anvil.mine(1);
    await shop.mining('the former tank is emptied', async () => (await shop.tokensAt(fresh)) === 45n * USDT);
    await until('the alert is closed', async () => (await alertsOf('gas.refused')).length === 0);
  });

  it('is known after a restart, to the service and to the wallet', async () => {
    await shop.service.daemon.stop();
    await shop.resume();
    await until('the desk is there', async () => (await shop.desk()).tank.address === fresh);
    const address = await shop.invoicePaid('USDT_ERC20', 20n * USDT, 20);
    await shop.collect(ETHER / 20n);
    await shop.mining('it is collected', async () => (await shop.tokensAt(address)) === 0n);
    expect(await shop.tokensAt(fresh)).toBe(65n * USDT);
  });
});
