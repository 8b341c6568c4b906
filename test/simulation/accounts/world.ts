/**
 * Everything that there is in a run of an account chain: one network behind three endpoints of different operators, a
 * machine, and what the people know. Nothing here is read from the appliance's store.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Hex } from 'viem';
import type { Business } from '../../../daemon/app/shops/directory.ts';
import { checksumAddress } from '../../../daemon/chains/evm/address.ts';
import type { AssetId } from '../../../daemon/domain/assets.ts';
import { type EvmChain, NATIVE_COIN } from '../../../daemon/domain/evm.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import type { GasGrant } from '../../../daemon/wallet/signer/port.ts';
import { callOf, deployOf } from '../../nodes/evm/anvil.ts';
import { Appliance, type Sources } from '../appliance.ts';
import type { Host } from '../http.ts';
import type { Health } from '../network.ts';
import { Random } from '../random.ts';
import type { Time } from '../time.ts';
import type { Wallet } from '../wallet.ts';
import { Fault } from '../world.ts';
import { Front } from './front.ts';
import { Liar, type Target } from './liars.ts';
import { AccountNetwork } from './network.ts';
import type { Snapshot } from './older.ts';
import type { Asked } from './rpc.ts';
import { GasLedger, steal } from './thief.ts';

export const ENDPOINTS = 3;
const PAYER_TOKENS = 10n ** 30n;
const BUSINESS = 'Shop';
/**
 * Endpoints that agree about every payment; with each eighth seed small ones count by what their block proves. What one of them says alone
 * counts for nothing in both, because another honest one is always there.
 */
const AGREE_FROM_USD = [1_000, 0, 0, 0, 0, 0, 0, 0];
const STEPS_MAX = 40;
/** Endpoints that are machines in JavaScript tell the balances of all that are skipped at each block. */
const JUMP = 200;

export type Invoice = {
  no: number;
  slug: string;
  asset: AssetId;
  address: Hex;
  units: bigint;
  usd: number;
  judged: boolean;
  /** The service has forgotten it. */
  isLost: boolean;
};
export type Payment = { id: Hex; asset: AssetId; address: Hex; units: bigint };
export type Wanted = { asset: AssetId; address: Hex; units: bigint | null };

export class AccountWorld {
  readonly random: Random;
  readonly time: Time;
  readonly wallet: Wallet;
  readonly folder: string;
  readonly chain: EvmChain;
  readonly #seed: number;
  readonly #agreeFromUsd: number;
  readonly invoices: Invoice[] = [];
  readonly payments: Payment[] = [];
  /** By address of the recipient, in lower case: each withdrawal has its own. */
  readonly wanted = new Map<string, Wanted>();
  /** Those of `wanted` that the operator approved. */
  readonly approved = new Set<string>();
  /** Own addresses beside those of invoices. */
  readonly own = new Set<Hex>();
  readonly liar = new Liar();
  /** What was signed under the operator's grants of gas, and those grants. */
  readonly gas = new GasLedger();
  readonly granted: { grant: GasGrant; mac: string }[] = [];
  /** A thief is in the service. */
  isTakenOver = false;
  readonly snapshots: Snapshot[] = [];
  /** The data is older, or runs twice, and nobody has told the operator. */
  isUnwarned = false;
  /** Data came back so that no mark of its own showed it. */
  isBlind = false;
  /** Approved on a machine that is gone: whether it paid, the chain alone knows. */
  readonly uncertain = new Set<string>();
  #machines = 0;
  readonly health: Health[] = Array.from({ length: ENDPOINTS }, () => 'well');
  /** What stands before each endpoint's nodes. */
  fronts: readonly Front[] = [];
  readonly trail: string[] = [];
  network!: AccountNetwork;
  token!: Hex;
  appliance!: Appliance;
  step = 0;
  fault: string | null = null;
  #strangers = 0;

  constructor(seed: number, time: Time, wallet: Wallet, folder: string) {
    this.#seed = seed;
    this.random = new Random(seed);
    this.time = time;
    this.wallet = wallet;
    this.folder = folder;
    this.#agreeFromUsd = AGREE_FROM_USD[seed % AGREE_FROM_USD.length] ?? 0;
    this.chain = this.random.chance(0.5) ? 'ETH' : 'BSC';
  }

  get coin(): AssetId {
    return NATIVE_COIN[this.chain];
  }
  get tether(): AssetId {
    return this.chain === 'ETH' ? 'USDT_ERC20' : 'USDT_BEP20';
  }

  /** Starts the network, the first machine and the shop. */
  async open(): Promise<void> {
    this.network = await AccountNetwork.start(this.chain, () => Math.floor(this.time.truth / 1_000));
    this.fronts = Array.from({ length: ENDPOINTS }, (_, at) => new Front(this.network, this.#seed * ENDPOINTS + at));
    this.token = await this.network.deploy(
      this.chain === 'ETH' ? deployOf('TetherLike') : deployOf('Standard', [18, 'USDT']),
    );
    this.network.pay(this.token, 0n, callOf('Standard', 'mint', [this.network.payer, PAYER_TOKENS]));
    await this.network.mine(2);
    this.time.stepsMax = STEPS_MAX;
    await this.startOn(join(this.folder, 'machine'));
    const { seed } = this.wallet;
    await this.appliance.operator('business.add', {
      name: BUSINESS,
      network: 'regtest',
      account_no: 0,
      accounts: { [this.chain]: accountKey(seed, this.chain, 'regtest', 0) },
      key: { name: 'shop', scopes: ['invoices', 'balance', 'withdraw'] },
    });
    await this.appliance.pass(2_000);
    await this.appliance.unlock();
    this.own.add(await this.tank());
  }

  get sources(): Sources {
    const urls = Array.from({ length: ENDPOINTS }, (_, at) => `"http://${this.chain.toLowerCase()}-${at}.simulated:1"`);
    return {
      chains: [this.chain],
      config: `
[networks.regtest.${this.chain}]
rpc = [${urls.join(', ')}]
rpc_agree_usd = ${this.#agreeFromUsd}
[networks.regtest.${this.tether}]
contract = "${this.token}"
`,
      contracts: { [this.tether]: this.token },
      jump: JUMP,
      medianTime: (_, hash) => (this.network.byHash.get(hash as Hex)?.seconds ?? 0) * 1_000,
      dropped: () => {},
    };
  }

  /** One of the endpoints, as a host. */
  host(name: string): Host | undefined {
    const [, chain, at] = /^([a-z]+)-(\d)$/.exec(name) ?? [];
    if (chain !== this.chain.toLowerCase() || at === undefined) return undefined;
    const endpoint = Number(at);
    return { health: () => this.health[endpoint] ?? 'well', answer: (text) => this.#answer(endpoint, String(text)) };
  }

  async #answer(endpoint: number, text: string) {
    const asked = JSON.parse(text) as (Asked & { id: unknown }) | (Asked & { id: unknown })[];
    const front = this.fronts[endpoint] as Front;
    if (front.refuses([asked].flat().length)) return { status: 429, body: {} };
    const one = async (call: Asked & { id: unknown }): Promise<object> => {
      const told = front.refusal(call) ?? (await this.liar.answer(front.shown(), endpoint, this.targets(), call));
      return { jsonrpc: '2.0', id: call.id, ...told };
    };
    if (!Array.isArray(asked)) return { status: 200, body: await one(asked) };
    const body: object[] = [];
    for (const call of asked) body.push(await one(call));
    return { status: 200, body };
  }

  /** What the endpoints know about us. */
  targets(): Target[] {
    const known = this.invoices.map(({ address, units, asset }) => ({ address, units, token: this.tokenOf(asset) }));
    return [...known, ...[...this.own].map((address) => ({ address, units: 10n ** 18n, token: null }))];
  }

  tokenOf(asset: AssetId): Hex | null {
    return asset === this.coin ? null : this.token;
  }

  async tank(): Promise<Hex> {
    const { desks } = await this.appliance.operator('gas.status', {});
    const [desk] = desks;
    if (!desk) throw new Error('there is no gas desk');
    return desk.tank.address.toLowerCase() as Hex;
  }

  get business(): Business {
    const [business] = this.appliance.app.directory.businesses();
    if (!business) throw new Error('there is no business');
    return business;
  }

  anyAsset(): AssetId {
    return this.random.chance(0.5) ? this.coin : this.tether;
  }

  note(text: string): void {
    this.trail.push(`${String(this.step).padStart(5)} ${new Date(this.time.truth).toISOString().slice(0, 19)} ${text}`);
  }

  /** An address that nobody was ever paid at. */
  stranger(): string {
    const number = (++this.#strangers).toString(16).padStart(36, '0');
    return checksumAddress(Buffer.from(`abcd${number}`, 'hex'));
  }

  /** The machine is started again on what it left. */
  async restart(): Promise<void> {
    const dead = this.appliance;
    dead.crash();
    const left = dead.crashedInto as string;
    await this.time.settle();
    await dead.bury();
    rmSync(dead.folder, { recursive: true, force: true });
    await this.startOn(left);
  }

  newFolder(): string {
    return join(this.folder, `machine-${++this.#machines}`);
  }

  /** From now on the service knows only so many invoices. */
  becomesOlder(invoices: number, isBlind: boolean): void {
    for (const invoice of this.invoices.slice(invoices)) invoice.isLost = true;
    for (const address of this.approved) this.uncertain.add(address);
    this.isUnwarned = true;
    this.isBlind ||= isBlind;
  }

  /** A machine begins on a folder, and what is signed there is watched. */
  async startOn(folder: string): Promise<void> {
    this.appliance = await Appliance.start(folder, this.time, this.wallet, this.sources);
    const { signer } = this.appliance;
    signer.onGranted = (grant) => {
      if ('kind' in grant && grant.kind === 'gas') this.gas.granted(grant, this.isBlind);
    };
    signer.onOrder = async (order, sign) => {
      try {
        return await steal(this, order, sign);
      } catch (error) {
        if (error instanceof Fault) this.fault ??= error.message;
        throw error;
      }
    };
  }

  /** What an address has by the truth of the newest block. */
  async unitsAt(address: Hex, asset: AssetId): Promise<bigint> {
    const { network, token } = this;
    if (asset === this.coin) return (await network.accountAt(address, network.tip)).balance;
    const data = callOf('Standard', 'balanceOf', [address]);
    const { returned } = await network.call({ from: null, to: token, value: 0n, data }, network.tip);
    return BigInt(returned);
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
