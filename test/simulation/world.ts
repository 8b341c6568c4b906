/**
 * Everything that there is in one run: time, networks, the machine that is alive, and what the people of the simulation
 * know. People remember what they were shown and what they did; nothing here is read from the appliance's store.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Business } from '../../daemon/app/shops/directory.ts';
import { addressOf, scriptOf } from '../../daemon/chains/utxo/address.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import type { Params } from '../../daemon/contract/operator.ts';
import type { PolicyGrant, SignOrder } from '../../daemon/wallet/signer/port.ts';
import { Appliance, COINS, configOf, type Sources } from './appliance.ts';
import { Served } from './electrum.ts';
import { Network, type Tx } from './network.ts';
import type { Orphan } from './orphan.ts';
import { Random } from './random.ts';
import type { Snapshot } from './rollback.ts';
import type { Kind } from './seeds.ts';
import type { Time } from './time.ts';
import type { Wallet } from './wallet.ts';

/** What is wrong, in words. */
export class Fault extends Error {}

/** What an invoice asked for in one coin. `at`: when, in true time. `before`: what it asked for at the same address until then. */
export type Ask = {
  coin: UtxoChain;
  address: string;
  script: string;
  units: bigint;
  at: number;
  before: Ask | null;
};

export type Invoice = {
  no: number;
  slug: string;
  /** In each coin that its payer chose, the last one last. */
  asks: Ask[];
  /** True time after which it may be canceled; null where the machine's clock was wrong when it was made. */
  mayEndAt: number | null;
  createdAt: number;
  /** An operator decided about it, or a restore lost it. */
  decided: boolean;
  /** The machine does not know it any more: it was restored from before. */
  lost: boolean;
  /** There was nothing but the words to begin from since. */
  byWords: boolean;
};

/** What an operator was shown and approved of one withdrawal. */
type Approval = {
  coin: UtxoChain;
  address: string;
  /** What the recipient gets; of what takes whole coins, the most. */
  units: bigint;
  whole: boolean;
  /** The highest fee ever approved for it. */
  feeMax: bigint;
};

/** A withdrawal that the shop or the operator asked for. `isUnanswered`: nobody was told the amount, which is at most this. */
export type Wanted = { coin: UtxoChain; address: string; units: bigint | null; isUnanswered?: boolean };

export type SignedGrant = { grant: PolicyGrant; mac: string };

type Grant = { coin: UtxoChain; perDay: bigint; at: number };

/** `invoices`: how many there were. */
export type Backup = { file: string; at: number; invoices: number };

type Payment = { txid: string; coin: UtxoChain; script: string; units: bigint; at: number };

/** When a run begins. */
export const START = Date.UTC(2026, 0, 5, 9);
const BUSINESS = 'Shop';
/** Timers that one stretch of time fires apart: an answer of an Electrum server takes several. */
const CORE_STEPS = 8;
const ELECTRUM_STEPS = 120;
/** As many as are connected at a time. */
const SERVERS_WITH_LIAR = 3;

export class World {
  readonly random: Random;
  readonly time: Time;
  readonly wallet: Wallet;
  readonly coins: readonly UtxoChain[];
  readonly networks = new Map<UtxoChain, Network>();
  readonly servers = new Map<string, Served>();
  readonly folder: string;
  readonly invoices: Invoice[] = [];
  readonly payments: Payment[] = [];
  /** Transactions that left the mempools, and when, in true time. */
  readonly vanished = new Map<string, number>();
  /** Since when the appliance's node does not show what happens, by coin, in true time. */
  readonly unseenSince = new Map<UtxoChain, number>();
  readonly pranks: { coin: UtxoChain; tx: Tx }[] = [];
  /** By address of the recipient: each withdrawal has its own. */
  readonly wanted = new Map<string, Wanted>();
  /** By uuid. */
  readonly approvals = new Map<string, Approval>();
  readonly grants: Grant[] = [];
  /** What the thief keeps of limits that the operator signed. */
  readonly keptGrants: SignedGrant[] = [];
  /** The operator took the policy back in the wallet itself. */
  policyEnded = false;
  /** By id: what a policy let go in a transaction, its fee included. */
  readonly policySpends = new Map<string, { coin: UtxoChain; tx: Tx; units: bigint; at: number }>();
  /** Copies of the machine that ran beside it, each with the true time of its end; null: it still runs. */
  readonly copies: { endedAt: number | null }[] = [];
  /** By uuid: the transactions signed for it that left the machine, or may have. */
  readonly signed = new Map<string, Tx[]>();
  /** By id: signed for the thief alone, so that the books know nothing of them. */
  readonly withheld = new Set<string>();
  /** Withdrawals by uuid: what was being signed for them then is thrown away. */
  readonly rejected = new Set<string>();
  /** Those of machines that were lost: what no node has of them, nobody has. */
  readonly signedBefore = new Map<string, Tx[]>();
  /** What the thief keeps of orders that were approved, oldest first. */
  readonly kept: SignOrder[] = [];
  /** Recipients of whom the operator cannot know whether they were paid: a restore came in between. */
  readonly uncertain = new Set<string>();
  readonly backups: Backup[] = [];
  /** Those that were made before the last restore. */
  readonly olderBackups: Backup[] = [];
  /** By coin: the indices of the addresses that the machine that is alive gave out, since it is known what it did. */
  readonly given = new Map<UtxoChain, Set<number>>();
  /** A signer that lives on without its daemon. */
  orphan: Orphan | null = null;
  /** Copies of the data directory that nobody announces. */
  readonly snapshots: Snapshot[] = [];
  /** The data directory came back older, and the service has not said so. */
  isUnwarned = false;
  /** When it last did, in true time. */
  olderSince = 0;
  /** It did in whole, with every record that the service keeps beside it. */
  isBlind = false;
  /** By coin: the indices of all addresses that any machine gave out. */
  readonly everGiven = new Map<UtxoChain, Set<number>>();
  readonly trail: string[] = [];
  /** The machine's clock was set wrong at some time. */
  clockWasWrong = false;
  appliance!: Appliance;
  /** Puts itself before the signer of a machine that starts. */
  watch: (world: World) => void = () => {};
  step = 0;
  restores = 0;
  /** How far all restores together moved the addresses of the wallet, in jumps. */
  jumps = 0;
  /** When another machine took over from a backup, in true time. */
  readonly restoredAt: number[] = [];
  /** What was found while the machine was at work. */
  fault: string | null = null;
  /** The appliance asks so many Electrum servers, and not a node. */
  readonly electrumServers: number;
  /** The daemon of this run was taken over. */
  readonly thief: boolean;
  #machines = 0;
  #strangers = 0;

  constructor(seed: number, time: Time, wallet: Wallet, folder: string, kind: Kind = 'any') {
    this.random = new Random(seed);
    this.time = time;
    this.wallet = wallet;
    this.folder = folder;
    const count = this.random.weighted([
      [5, 1],
      [3, 2],
      [1, 3],
    ]);
    this.thief = this.random.chance(0.4);
    const electrum = kind === 'any' ? this.random.chance(0.25) : kind !== 'core';
    this.electrumServers = electrum ? (kind === 'liars' ? SERVERS_WITH_LIAR : 1) : 0;
    const first = this.random.whole(0, 2);
    const coins = Array.from({ length: count }, (_, i) => COINS[(first + i) % 3] as UtxoChain);
    // a header of LTC costs a scrypt to make: nothing is lost that those of BTC do not show
    this.coins = this.electrum ? [...new Set(coins.map((coin) => (coin === 'LTC' ? 'BTC' : coin)))] : coins;
    for (const coin of this.coins) this.networks.set(coin, new Network(coin, () => this.time.truth));
  }

  get electrum(): boolean {
    return this.electrumServers > 0;
  }

  network(coin: UtxoChain): Network {
    const network = this.networks.get(coin);
    if (!network) throw new Error(`no network of ${coin}`);
    return network;
  }

  /** What every machine of this world is connected to. */
  get sources(): Sources {
    return {
      chains: this.coins,
      config: this.coins.map((coin) => configOf(coin, this.electrumServers)).join(''),
      contracts: {},
      medianTime: (coin, hash) => {
        const network = this.network(coin as UtxoChain);
        const block = network.blocks.get(hash);
        return block ? network.medianSeconds(block) * 1_000 : null;
      },
      dropped: (coin, server, reason) => {
        if (this.servers.get(coin)?.isHonest(server)) this.fault ??= `${server} is called a liar: ${reason}`;
      },
    };
  }

  anyCoin(): UtxoChain {
    return this.random.pick(this.coins) as UtxoChain;
  }

  note(text: string): void {
    this.trail.push(`${String(this.step).padStart(5)} ${new Date(this.time.truth).toISOString().slice(0, 19)} ${text}`);
  }

  /** A new machine's folder. */
  newFolder(): string {
    const folder = join(this.folder, `machine-${++this.#machines}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  get business(): Business {
    const [business] = this.appliance.app.directory.businesses();
    if (!business) throw new Error('there is no business');
    return business;
  }

  /** Another machine takes the place of the one that was lost: its clock is right, and what is on the nodes is on them. */
  replaceMachine(): void {
    this.time.offset = this.time.truth - this.time.monotonic;
    for (const [uuid, txs] of this.signed) {
      this.signedBefore.set(uuid, [...(this.signedBefore.get(uuid) ?? []), ...txs]);
    }
    this.signed.clear();
    this.given.clear();
    this.restores++;
    for (const { address } of this.wanted.values()) this.uncertain.add(address);
  }

  /** Starts the first machine and opens the shop. */
  async open(): Promise<void> {
    if (this.electrum) {
      for (const [coin, network] of this.networks) {
        this.servers.set(coin, await Served.start(network, this.random, this.electrumServers));
      }
    }
    this.time.stepsMax = this.electrum ? ELECTRUM_STEPS : CORE_STEPS;
    await this.startOn(this.newFolder());
    await this.addBusiness({});
    await this.appliance.pass(2_000);
    await this.appliance.unlock();
  }

  /** `past`: of a wallet that was used before. */
  async addBusiness(past: Pick<Params<'business.add'>, 'birthday' | 'gap' | 'used'>): Promise<void> {
    const accounts = Object.fromEntries(this.coins.map((coin) => [coin, this.wallet.account(coin, 0)]));
    await this.appliance.operator('business.add', {
      name: BUSINESS,
      network: 'regtest',
      account_no: 0,
      accounts,
      ...past,
      key: { name: 'shop', scopes: ['invoices', 'balance', 'withdraw'] },
    });
  }

  /** Starts a machine on a data directory in the place of the one before. Its signer is watched from its first order on. */
  async startOn(folder: string): Promise<void> {
    this.appliance = await Appliance.start(folder, this.time, this.wallet, this.sources);
    this.watch(this);
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

  /** An address that nobody was ever paid at. */
  stranger(coin: UtxoChain): string {
    const number = (++this.#strangers).toString(16).padStart(40, '0');
    const script = Buffer.from(coin === 'BCH' ? `76a914${number}88ac` : `0014${number}`, 'hex');
    return addressOf(script, coin, 'regtest') as string;
  }

  script(coin: UtxoChain, address: string): string {
    const script = scriptOf(address, coin, 'regtest');
    if (!script) throw new Error(`${address} is no address of ${coin}`);
    return Buffer.from(script).toString('hex');
  }

  /** Every transaction that pays a recipient, and which of them the world knows. */
  paymentsTo(coin: UtxoChain, address: string): { tx: Tx; units: bigint; mined: boolean; waits: boolean }[] {
    const script = this.script(coin, address);
    const { txs, miner } = this.network(coin);
    return [...txs.values()].flatMap((tx) => {
      const units = tx.outputs.filter((one) => one.script === script).reduce((sum, one) => sum + one.units, 0n);
      if (units === 0n) return [];
      return [{ tx, units, mined: miner.blockOf(tx.txid) !== null, waits: miner.mempool.has(tx.txid) }];
    });
  }

  close(): void {
    if (existsSync(this.folder)) rmSync(this.folder, { recursive: true, force: true });
  }
}
