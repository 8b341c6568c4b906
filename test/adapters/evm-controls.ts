/** How the conformance suite moves an anvil, and what pays there. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { ScriptList } from '../../daemon/chains/adapter.ts';
import { EvmAdapter } from '../../daemon/chains/evm/adapter.ts';
import { BLOCK_MS, FINALITY_MS, POLL_MS, SECOND_LOOK_MS } from '../../daemon/chains/evm/params.ts';
import { UNKNOWN_TOKENS_MS } from '../../daemon/chains/evm/unknown-tokens.ts';
import type { AssetId, Network } from '../../daemon/domain/assets.ts';
import { chainIdOf, type EvmChain } from '../../daemon/domain/evm.ts';
import { Anvil, callOf, type Hardfork, type Json } from '../nodes/evm/anvil.ts';
import { type Behaviour, behindAt, EndpointProxy } from '../nodes/evm/endpoint-proxy.ts';
import type { ChainControls } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';

type Payment = { address: string; units: bigint };
type Connecting = { needsAgreement?: () => boolean; pollMs?: number | undefined; secondLookMs?: number };
type Known = { from: string; to: string | null; value: string; input: string; gas: string };

const NO_STATE = { error: { code: -32_000, message: 'missing trie node' } };
/** Calls that need the state of a block. */
const ASK_STATES: ReadonlySet<string> = new Set(['eth_getBalance', 'eth_call', 'eth_getTransactionCount']);

/** A node with its payer's contracts, an endpoint before it, and what connects an adapter to it. */
export class EvmScene {
  readonly anvil: Anvil;
  readonly chain: EvmChain;
  readonly proxy: EndpointProxy;
  readonly token: string;
  readonly #payer: string;

  private constructor(
    anvil: Anvil,
    chain: EvmChain,
    proxy: EndpointProxy,
    contracts: { token: string; payer: string },
  ) {
    this.anvil = anvil;
    this.chain = chain;
    this.proxy = proxy;
    this.token = contracts.token;
    this.#payer = contracts.payer;
  }

  /** The configuration of a service that follows it. `tether`, `coin`: the chain's assets. */
  settings(tether: string, coin: string): string {
    return `
[networks.regtest.${this.chain}]
rpc = ["${this.proxy.url}"]
[networks.regtest.${tether}]
contract = "${this.token}"
[networks.regtest.rates]
${coin} = "2000"
USDT = "1"
`;
  }

  /** Tether as it is on this chain, and a contract that pays natively. */
  static async start(chain: EvmChain, hardfork?: Hardfork): Promise<EvmScene> {
    const anvil = await Anvil.start(chainIdOf('regtest', chain), hardfork);
    const token = chain === 'ETH' ? await anvil.deploy('TetherLike') : await anvil.deploy('Standard', [18, 'USDT']);
    const payer = await anvil.deploy('Payer');
    await anvil.send({ to: token, data: callOf('Standard', 'mint', [anvil.payer, 10n ** 30n]) });
    await anvil.mine();
    return new EvmScene(anvil, chain, await EndpointProxy.start(anvil.url), { token, payer });
  }

  /** An endpoint that has the states of its newest blocks, as a pruned node does. */
  pruned(states: number): Behaviour {
    return {
      instead: async ({ method, params }) => {
        const { blockHash } = (params.at(-1) ?? {}) as { blockHash?: Json };
        if (!ASK_STATES.has(method) || !blockHash) return undefined;
        const block = await this.anvil.rpc<{ number: string } | null>('eth_getBlockByHash', [blockHash, false]);
        if (!block) return { error: { code: -32_000, message: 'header not found' } };
        const newest = Number(await this.anvil.rpc<string>('eth_blockNumber', []));
        return newest - Number(block.number) >= states ? NO_STATE : undefined;
      },
    };
  }

  get asset(): AssetId {
    return this.chain === 'ETH' ? 'USDT_ERC20' : 'USDT_BEP20';
  }

  connect(
    list: ScriptList,
    urls: readonly string[] = [this.proxy.url],
    needsAgreement = () => true,
    pollMs = 100,
    network: Network = 'regtest',
    secondLookMs = 1_000,
  ): EvmAdapter {
    return new EvmAdapter({
      chain: this.chain,
      network,
      urls,
      contracts: { [this.asset]: this.token },
      list,
      needsAgreement,
      wantsFinality: true,
      log: (message) => void this.logged.push(message),
      alert: (server, message) => void this.alerts.push({ server, message }),
      pollMs,
      secondLookMs,
    });
  }

  /** An adapter with the intervals of mainnet. */
  paced(list: ScriptList, urls: readonly string[]): EvmAdapter {
    return new EvmAdapter({
      chain: this.chain,
      network: 'regtest',
      urls,
      list,
      needsAgreement: () => true,
      wantsFinality: true,
      contracts: { [this.asset]: this.token },
      log: () => undefined,
      alert: () => undefined,
      pollMs: POLL_MS[this.chain],
      blockMs: BLOCK_MS[this.chain],
      secondLookMs: SECOND_LOOK_MS[this.chain],
      finalityMs: FINALITY_MS[this.chain],
      unknownTokensMs: UNKNOWN_TOKENS_MS,
    });
  }

  readonly alerts: { server: string; message: string }[] = [];
  readonly logged: string[] = [];

  /** Tokens to several in one transaction. */
  payTokens(outputs: readonly Payment[]): Promise<string> {
    const [only] = outputs;
    const data =
      outputs.length === 1 && only
        ? callOf('TetherLike', 'transfer', [only.address, only.units])
        : callOf('Standard', 'payAll', [outputs.map(({ address }) => address), outputs.map(({ units }) => units)]);
    return this.anvil.send({ to: this.token, data, gas: 5_000_000 });
  }

  /** The native coin: one by itself, several from inside a contract. */
  payCoins(outputs: readonly Payment[]): Promise<string> {
    const [only] = outputs;
    if (outputs.length === 1 && only) return this.anvil.send({ to: only.address, value: only.units, gas: 21_000 });
    const value = outputs.reduce((sum, { units }) => sum + units, 0n);
    const data = callOf('Payer', 'payAll', [outputs.map(({ address }) => address), outputs.map(({ units }) => units)]);
    return this.anvil.send({ to: this.#payer, value, data, gas: 5_000_000 });
  }

  /** The last `depth` blocks give way to `depth + 1` others; their transactions return to the pool or go. */
  async reorg(depth: number, drop: boolean): Promise<void> {
    const tip = Number(await this.anvil.rpc<string>('eth_blockNumber', []));
    const dropped: Known[] = [];
    for (let height = tip - depth + 1; height <= tip; height++) {
      const block = await this.anvil.rpc<{ transactions: Known[] }>('eth_getBlockByNumber', [
        `0x${height.toString(16)}`,
        true,
      ]);
      dropped.push(...block.transactions);
    }
    await this.anvil.rpc('anvil_reorg', [depth, []]);
    await this.anvil.mine(1);
    if (drop) return;
    for (const { from, to, value, input, gas } of dropped) {
      const sent: Record<string, Json> = { from, value, input, gas };
      if (to !== null) sent.to = to;
      await this.anvil.rpc('eth_sendTransaction', [sent]);
    }
  }

  controls(pay: (outputs: readonly Payment[]) => Promise<string>): ChainControls {
    const never = async (): Promise<never> => {
      throw new Error('there is no mempool to look into');
    };
    return {
      account: testAccount,
      connect: (list) => this.connect(list),
      mine: (count) => this.anvil.mine(count),
      pay,
      reorg: (depth, drop) => this.reorg(depth, drop),
      replace: never,
      evictAll: never,
      spend: never,
      lag: async () => {
        const tip = Number(await this.anvil.rpc<string>('eth_blockNumber', []));
        this.proxy.behaviour = behindAt(this.proxy, tip - 1);
      },
      catchUp: async () => {
        this.proxy.behaviour = {};
      },
      disconnect: () => this.proxy.close(),
      reconnect: () => this.proxy.listen(),
      stop: () => this.stop(),
    };
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    await this.anvil.stop();
  }
}

const TIMEOUT_MS = 90_000;

/** A scene whose node has a second endpoint, of another operator, set up anew for each test of a suite. */
export class EndpointPair {
  scene!: EvmScene;
  second!: EndpointProxy;
  book!: FactBook;
  /** The one that watches. */
  adapter: EvmAdapter | null = null;
  #nextIndex = 0;

  constructor() {
    beforeAll(async () => {
      this.scene = await EvmScene.start('ETH');
      this.second = await EndpointProxy.start(this.scene.anvil.url);
    });
    afterAll(async () => {
      await this.second?.close();
      await this.scene?.stop();
    });
    beforeEach(() => {
      this.scene.proxy.behaviour = {};
      this.second.behaviour = {};
      this.scene.alerts.length = 0;
      this.scene.logged.length = 0;
      this.book = new FactBook();
    });
    afterEach(async () => {
      await this.adapter?.close();
      this.adapter = null;
    });
  }

  get urls(): string[] {
    return [this.scene.proxy.url, this.second.url.replace('127.0.0.1', 'localhost')];
  }

  /** An adapter of these endpoints at the tip, and an address that it watches. */
  async watching(
    urls: readonly string[],
    { needsAgreement = () => false, pollMs = 100, secondLookMs }: Connecting = {},
  ) {
    const adapter = this.scene.connect(this.book, urls, needsAgreement, pollMs, 'regtest', secondLookMs);
    this.adapter = adapter;
    const target = await adapter.deriveAddress(testAccount, 0, this.#nextIndex++);
    const id = this.book.watch(target);
    this.book.checkpoint = await adapter.begin(null, AbortSignal.timeout(TIMEOUT_MS));
    await this.book.catchUp(adapter);
    return { adapter, address: target.address, id };
  }

  /** Pays tokens in a block of their own. Returns the transaction's id. */
  async pay(address: string, units: bigint): Promise<string> {
    const txid = await this.scene.payTokens([{ address, units }]);
    await this.scene.anvil.mine();
    return txid;
  }
}
