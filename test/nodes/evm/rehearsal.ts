/**
 * A rehearsal on this machine, as resources/docs/ethereum-and-bsc.md has it: Ethereum and BNB Smart Chain as two anvils on which a
 * block comes each second, tokens that behave like the real ones, and a payer with plenty of everything.
 */
import { getContractAddress, type Hex } from 'viem';
import { ASSETS, type Asset, assetOf } from '../../../daemon/domain/assets.ts';
import { chainIdOf, EVM_CHAINS, type EvmChain, NATIVE_COIN } from '../../../daemon/domain/evm.ts';
import { formatUnits, parseDecimal } from '../../../daemon/domain/money.ts';
import { Anvil, callOf } from './anvil.ts';

const PORTS: Readonly<Record<EvmChain, number>> = { ETH: 8545, BSC: 8546 };
const BLOCK_SECONDS = 1;
/** Of each token, in whole ones. */
const MINTED = 1_000_000_000n;
/** More than a transfer of any of these tokens needs. */
const GAS = 200_000;
const RATES = { ETH: '3000', BNB: '600', USDT: '1', XAUT: '4000', PAXG: '4000' };
const USAGE = `npx node test/nodes/evm/rehearsal.ts COMMAND
  start                         runs both chains until Ctrl C, and prints a configuration
  pay CRYPTO ADDRESS AMOUNT     a payer pays: pay USDT_ERC20 0x… 25
  balance CRYPTO ADDRESS        what an address holds
  blocks ETH stop               no block comes until "blocks ETH go"`;

const nativeOf = (chain: EvmChain): Asset => assetOf(NATIVE_COIN[chain]);

const tokensOf = (chain: EvmChain): Asset[] =>
  ASSETS.filter((asset) => asset.chain === chain && asset !== nativeOf(chain));

const nodeOf = (chain: EvmChain): Promise<Anvil> => Anvil.at(chainIdOf('regtest', chain), PORTS[chain]);

/** The payer's first transactions make each token and mint it. */
const contractOf = ({ payer }: Anvil, asset: Asset): string =>
  getContractAddress({ from: payer as Hex, nonce: 2n * BigInt(tokensOf(asset.chain as EvmChain).indexOf(asset)) });

const everySeconds = (anvil: Anvil, seconds: number): Promise<unknown> => anvil.rpc('evm_setIntervalMining', [seconds]);

async function start(): Promise<void> {
  const settings: string[] = [];
  const nodes: Anvil[] = [];
  const stop = (): void => void Promise.all(nodes.map((node) => node.stop()));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  for (const chain of EVM_CHAINS) {
    const anvil = await Anvil.start(chainIdOf('regtest', chain), 'cancun', PORTS[chain]);
    nodes.push(anvil);
    settings.push(`[networks.regtest.${chain}]\nrpc = ["${anvil.url}"]`);
    for (const asset of tokensOf(chain)) {
      const { symbol, decimals } = asset;
      const to =
        symbol === 'USDT_ERC20' ? await anvil.deploy('TetherLike') : await anvil.deploy('Standard', [decimals, symbol]);
      await anvil.send({ to, data: callOf('Standard', 'mint', [anvil.payer, MINTED * 10n ** BigInt(decimals)]) });
      await anvil.mine();
      settings.push(`[networks.regtest.${symbol}]\ncontract = "${to}"`);
    }
    await everySeconds(anvil, BLOCK_SECONDS);
  }
  settings.push('[networks.regtest.rates]', ...Object.entries(RATES).map(([symbol, usd]) => `${symbol} = "${usd}"`));
  process.stdout.write(`${settings.join('\n')}\n\n# Both chains run until Ctrl C. Their blocks are lost then.\n`);
}

async function pay(asset: Asset, address: string, amount: string): Promise<void> {
  const units = parseDecimal(amount, asset.decimals);
  if (units === null) throw new Error(`${amount} is no amount of ${asset.symbol}`);
  const chain = asset.chain as EvmChain;
  const anvil = await nodeOf(chain);
  const data = callOf('TetherLike', 'transfer', [address, units]);
  const sent = asset === nativeOf(chain) ? { to: address, value: units } : { to: contractOf(anvil, asset), data };
  process.stdout.write(`${await anvil.send({ ...sent, gas: GAS })}\n`);
}

async function showBalance(asset: Asset, address: string): Promise<void> {
  const chain = asset.chain as EvmChain;
  const anvil = await nodeOf(chain);
  const data = callOf('Standard', 'balanceOf', [address]);
  const units =
    asset === nativeOf(chain)
      ? await anvil.rpc<string>('eth_getBalance', [address, 'latest'])
      : await anvil.rpc<string>('eth_call', [{ to: contractOf(anvil, asset), data }, 'latest']);
  process.stdout.write(`${formatUnits(BigInt(units), asset)}\n`);
}

function named<Name extends string>(text: string | undefined, names: readonly Name[]): Name {
  const found = names.find((name) => name === text);
  if (found === undefined) throw new Error(`${text ?? 'Nothing'} is none of ${names.join(', ')}`);
  return found;
}

const assetNamed = (text: string | undefined): Asset =>
  assetOf(
    named(
      text,
      EVM_CHAINS.flatMap((chain) => [nativeOf(chain), ...tokensOf(chain)].map(({ symbol }) => symbol)),
    ),
  );

async function run([command, first, second = '', third = '']: string[]): Promise<void> {
  if (command === 'start') return start();
  if (command === 'pay') return pay(assetNamed(first), second, third);
  if (command === 'balance') return showBalance(assetNamed(first), second);
  if (command !== 'blocks') throw new Error(USAGE);
  const node = await nodeOf(named(first, EVM_CHAINS));
  await everySeconds(node, named(second, ['stop', 'go']) === 'go' ? BLOCK_SECONDS : 0);
}

await run(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
