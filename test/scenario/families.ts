/** The nodes of the families beside Bitcoin's: an anvil with a tether, and a monerod, each with one who pays. */
import { EvmScene } from '../adapters/evm-controls.ts';
import { callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { hasMonerod } from '../nodes/monerod.ts';
import { startMonerod } from '../support/monerod.ts';

export const hasFamilies = hasAnvil && hasMonerod;
export const familiesTitle = (what: string): string =>
  hasFamilies ? what : `${what} (skipped: npm ci --ignore-scripts --prefix test/nodes; apt-get install monero)`;

const MONERO_UNLOCK = 10;
/** More than the confirmations of any payment. */
const ETHER_DEEP = 13;
/** A tenth of a coin, piconero. */
const TENTH = 10n ** 11n;

export type Families = Awaited<ReturnType<typeof startFamilies>>;

export async function startFamilies() {
  const [scene, monero] = await Promise.all([EvmScene.start('ETH'), startMonerod()]);
  const { anvil } = scene;
  const mine = async (blocks: number): Promise<void> => {
    await Promise.all([anvil.mine(blocks), monero.mine(blocks)]);
  };
  return {
    scene,
    monero,
    /** Of a service that follows both, with the rates of its coins. */
    config: `${scene.settings('USDT_ERC20', 'ETH')}XMR = "200"\n[networks.regtest.XMR]\nmonerod = ["${monero.url}"]\n`,
    mine,
    /** Mines until all that came can be spent. `monero`: its blocks. */
    mature: async (moneroBlocks = MONERO_UNLOCK): Promise<void> => {
      await Promise.all([anvil.mine(ETHER_DEEP), monero.mine(moneroBlocks)]);
    },
    /** Mines where something waits for a block, and above what was sent meanwhile. */
    minePool: async (): Promise<void> => {
      const { pending } = await anvil.rpc<{ pending: string }>('txpool_status', []);
      if (Number(pending) > 0) {
        do await anvil.mine(ETHER_DEEP);
        while (await anvil.hasTransactions(ETHER_DEEP - 1));
      }
      if ((await monero.pool()).length > 0) await monero.mine(1);
    },
    payEther: (address: string, units: bigint) => scene.payCoins([{ address, units }]),
    payTether: (address: string, units: bigint) => scene.payTokens([{ address, units }]),
    /** An output for each of these tenths of a coin. */
    payMonero: (address: string, tenths: readonly bigint[]) =>
      monero.pay(tenths.map((tenth) => ({ address, units: tenth * TENTH }))),
    freshMonero: () => monero.newAddress(),
    moneroAt: (address: string): Promise<bigint> => monero.received(address),
    etherAt: async (address: string): Promise<bigint> =>
      BigInt(await anvil.rpc<string>('eth_getBalance', [address, 'latest'])),
    tetherAt: async (address: string): Promise<bigint> => {
      const call = { to: scene.token, data: callOf('Standard', 'balanceOf', [address]) };
      return BigInt(await anvil.rpc<string>('eth_call', [call, 'latest']));
    },
    stop: async (): Promise<void> => {
      await scene.stop();
      await monero.remove();
    },
  };
}
