/**
 * The appliance on one simulated machine: the product's own parts from the store to the workers, put together as
 * `daemon/main.ts` does, without its servers and its signer's process. A crash leaves the files of that moment.
 */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { watchList } from '../../daemon/app/addresses/watch.ts';
import { raise } from '../../daemon/app/alerts.ts';
import type { App } from '../../daemon/app/app.ts';
import { makeBackup } from '../../daemon/app/backup/make.ts';
import { needsAgreement } from '../../daemon/app/chains/agreement.ts';
import { createApp } from '../../daemon/app/create-app.ts';
import { Releases } from '../../daemon/app/operator/releases.ts';
import { AccountDiscovery } from '../../daemon/app/recovery/account-discovery.ts';
import { Instance } from '../../daemon/app/recovery/instance.ts';
import { Wake } from '../../daemon/app/wake.ts';
import { type ChainAdapter, type ScriptList, tipOf } from '../../daemon/chains/adapter.ts';
import { openAdapter } from '../../daemon/chains/registry.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { loadConfig } from '../../daemon/config/config.ts';
import { manualRates } from '../../daemon/config/views.ts';
import { type Method, OPERATOR, type Params, type Parsed, type Result } from '../../daemon/contract/operator.ts';
import type { AssetId, ChainId, Network } from '../../daemon/domain/assets.ts';
import { chainKey } from '../../daemon/domain/chain.ts';
import { isEvm } from '../../daemon/domain/evm.ts';
import { message } from '../../daemon/domain/messages.ts';
import type { Context } from '../../daemon/http/operator/context.ts';
import { METHODS } from '../../daemon/http/operator/methods.ts';
import { createLog } from '../../daemon/log.ts';
import { RateBook } from '../../daemon/rates/book.ts';
import { Store } from '../../daemon/store/store.ts';
import { Jobs } from '../../daemon/workers/jobs.ts';
import { SyncLoops } from '../../daemon/workers/loops.ts';
import { WithdrawalWorker } from '../../daemon/workers/withdrawals.ts';
import { hostOf } from './electrum.ts';
import type { Time } from './time.ts';
import { derived, LocalSigner, type Wallet } from './wallet.ts';

export const COINS = ['BTC', 'LTC', 'BCH'] as const;
/** US dollars. */
export const PRICES = { BTC: 60_000, LTC: 80, BCH: 400, ETH: 2_000, BNB: 500, USDT: 1, XMR: 200 } as const;
export const ZERO_CONF_USD = 100;
const CONFIG = `
port = 0
[rates]
sources = []
[payments]
address_pool = 20
[electrum]
public_servers = "never"
[evm]
public_endpoints = "never"
[networks.regtest.rates]
${Object.entries(PRICES)
  .map(([coin, usd]) => `${coin} = "${usd}"`)
  .join('\n')}
`;
/** What a machine is connected to. */
export type Sources = {
  chains: readonly ChainId[];
  /** Lines of its configuration about them. */
  config: string;
  /** The contracts of tokens. */
  contracts: Readonly<Partial<Record<AssetId, string>>>;
  /** How far indices jump if the data is older than what happened; absent: as far as in the product. */
  jump?: number;
  /** By which time of a block deadlines count: the median of the eleven up to it (BIP-113), milliseconds since 1970. */
  medianTime(chain: ChainId, hash: string): number | null;
  /** A server was dropped, because the service is sure that it lies. */
  dropped(chain: ChainId, server: string, reason: string): void;
};

const sourceOf = (coin: UtxoChain, servers: number): string => {
  if (servers === 0) return `core_rpc = "http://user:password@${coin.toLowerCase()}.simulated:1"`;
  const urls = Array.from({ length: servers }, (_, server) => `"tcp://${hostOf(coin, server)}:50001"`);
  return `electrum = [${urls.join(', ')}]`;
};

/** The configuration of a coin. `servers`: how many Electrum servers; 0: a node. */
export const configOf = (coin: UtxoChain, servers: number): string => `
[networks.regtest.${coin}]
${sourceOf(coin, servers)}
${coin === 'BTC' ? '' : `zero_conf_usd = ${ZERO_CONF_USD}`}
`;
const MINUTE_MS = 60_000;

/** The machine lost its power while it was asked. */
export class Crashed extends Error {}

export class Appliance {
  readonly folder: string;
  readonly walletFolder: string;
  readonly signer: LocalSigner;
  app!: App;
  /** Where the files of a crash are; null while it runs. */
  crashedInto: string | null = null;
  /** What else ends with the power. */
  onPowerCut: () => void = () => {};
  /** Commits until the power fails. */
  fuse = Number.POSITIVE_INFINITY;
  readonly #time: Time;
  readonly #context: () => Context;
  readonly #sources: Sources;
  #jobs: Jobs | null = null;
  #loops!: SyncLoops;
  #instance: Instance | null = null;
  #discovery: AccountDiscovery | null = null;
  #minuteAt = 0;

  private constructor(folder: string, time: Time, sources: Sources) {
    this.folder = folder;
    this.#sources = sources;
    this.#time = time;
    this.walletFolder = join(folder, 'vault');
    this.signer = new LocalSigner(this.walletFolder, time);
    const startedAt = time.wall();
    this.#context = () => ({
      app: this.app,
      extra: {
        dataDir: folder,
        version: 'simulation',
        startedAt,
        sendWebhook: async () => ({ status: null, error: null }),
        testEndpoint: async () => ({ status: null, error: null, ms: 0 }),
        testAlerts: async () => [],
        releases: new Releases(this.app, 'simulation', null),
        askReleases: async () => {},
        discoverAccounts: async (request) => {
          this.#discovery = new AccountDiscovery(request, (network, chain, list) => this.#source(network, chain, list));
        },
        discovery: () => this.#discovery?.state ?? null,
        api: { host: '', port: 0 },
        makeBackup: (file) => this.#backup(file),
        deriveSandboxAccounts: () => ({}),
        drills: null as never,
        sandbox: null as never,
        machines: null as never,
        console: () => Promise.reject(new Error('no console here')),
      },
    });
  }

  /** Starts it on a folder, a new one or one that was there before. */
  static async start(folder: string, time: Time, wallet: Wallet, sources: Sources): Promise<Appliance> {
    const appliance = new Appliance(folder, time, sources);
    if (!existsSync(appliance.walletFolder)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'countinghouse.toml'), `${CONFIG}${sources.config}`);
      await wallet.write(appliance.walletFolder, time.wall());
    }
    unburied.add(appliance);
    await appliance.#assemble();
    await time.settle();
    return appliance;
  }

  async #assemble(): Promise<void> {
    const { folder, signer } = this;
    const now = this.#time.wall;
    const config = loadConfig({ dataDir: folder, env: {}, flags: {} });
    const store = await Store.open(folder);
    const write = store.write.bind(store);
    store.write = (work) => write((tx) => this.#time.writing(() => work(tx)));
    const log = createLog({ level: process.env.SIMULATION_LOG === undefined ? 'silent' : 'warn', format: 'json' });
    this.app = createApp({
      store,
      config,
      log,
      now,
      signer,
      rates: new RateBook({ manual: manualRates(config) }),
      publicUrl: 'http://127.0.0.1',
      wake: new Wake(),
      jump: this.#sources.jump,
    });
    this.app.directory.load(store);
    for (const chain of this.#sources.chains) {
      const adapter = this.#source('regtest', chain, watchList(store, chainKey('regtest', chain)));
      if (adapter) this.app.chains.add(adapter);
    }
    this.#instance = await Instance.begin(this.app, folder);
    this.#loops = new SyncLoops(this.app);
    this.#jobs = new Jobs(this.app);
    const workers = new Map(
      this.app.chains.all().map((chain) => [chain.key as string, new WithdrawalWorker(this.app, chain)]),
    );
    this.#listen(workers);
    this.#loops.begin();
    for (const worker of workers.values()) worker.start();
    this.#jobs.fill();
    store.onCommit = () => this.#committed();
  }

  /** Passes work on to the workers. */
  #listen(workers: ReadonlyMap<string, WithdrawalWorker>): void {
    this.app.wake.on({
      pool: (account) => {
        this.#jobs?.fill(account);
        this.#instance?.touch();
      },
      business: () => {
        this.#jobs?.fill();
        this.#loops.begin();
      },
      chain: (key) => this.#loops.wake(key),
      withdrawals: (key) => workers.get(key)?.wake(),
      allWithdrawals() {
        for (const worker of workers.values()) worker.wake();
      },
    });
  }

  #source(network: Network, chain: ChainId, list: ScriptList): ChainAdapter | null {
    const { app } = this;
    const adapter = openAdapter(network, chain, app.config.networks[network][chain], {
      list,
      folder: join(this.folder, 'electrum'),
      contracts: this.#sources.contracts,
      wantsFinality: isEvm(chain),
      accounts: () =>
        app.directory.accounts().flatMap((one) => (one.chainKey === chainKey(network, chain) ? [one.key] : [])),
      socksProxy: null,
      publicServers: false,
      proxyForAll: false,
      needsAgreement: (credits) => needsAgreement(app, network, chain, credits),
      log: (message) => app.log.warn({ chain }, message),
      alert: (server, reason) => {
        this.#sources.dropped(chain, server, reason);
        void raise(app, null, 'source.dropped', `${chain} ${server}`, message('source.dropped', { server, reason }));
      },
      leftOut: (target, reason) =>
        void raise(
          app,
          null,
          'source.left_out',
          `${chain} ${target}`,
          message('source.left_out', { address: `${target}`, reason }),
        ),
      onOdd: () => {},
      // its answers come in no order of the simulation
      hasThread: false,
    });
    if (!adapter) return null;
    if (!isEvm(chain)) {
      adapter.deriveAddress = async (account, branch, index) => derived(chain as UtxoChain, account, branch, index);
    }
    const sync = adapter.sync.bind(adapter);
    // the product asks only public networks for the time of their blocks, and these blocks have that of the world
    adapter.sync = async (since, signal) => {
      const update = await sync(since, signal);
      const tipMedianTime = update && this.#sources.medianTime(chain, tipOf(update.checkpoint).hash);
      return update && { ...update, ...(tipMedianTime !== null && { tipMedianTime }) };
    };
    return adapter;
  }

  #backup(file: string) {
    const job = { dataDir: this.folder, file, release: 'simulation', now: this.#time.wall() };
    return this.#time.outside(makeBackup(job));
  }

  /** After each commit, before anybody was told of it. */
  #committed(): void {
    if (this.crashedInto !== null || --this.fuse > 0) return;
    this.crash();
    // ends the turn: whoever waited for this commit hears nothing
    throw new Crashed('the power failed');
  }

  /** The power fails now. What is left is copied aside; nothing here runs any more. */
  crash(): void {
    if (this.crashedInto !== null) return;
    const left = `${this.folder}-`;
    cpSync(this.folder, left, { recursive: true, filter: (path) => !/lock(?:-journal)?$/.test(path) });
    this.crashedInto = left;
    this.#time.powerCut();
    this.onPowerCut();
    const { store } = this.app;
    store.onCommit = null;
    store.write = () => new Promise(() => {});
  }

  /** Gives the memory and the files of a dead one back. */
  async bury(): Promise<void> {
    unburied.delete(this);
    await this.signer.bury();
    await this.app.store.close();
  }

  get isDead(): boolean {
    return this.crashedInto !== null;
  }

  /** Runs until this is answered. Throws what it throws, and `Crashed` when the power fails meanwhile. */
  async ask<T>(work: () => T | Promise<T>): Promise<T> {
    let outcome: { value: T } | { error: unknown } | null = null;
    const run = async (): Promise<void> => {
      try {
        outcome = { value: await work() };
      } catch (error) {
        outcome = { error };
      }
    };
    void run();
    // a caller waits a minute at the most, as HTTP's clients do
    for (let tries = 0; outcome === null && tries < 8 && !this.isDead; tries++) {
      await this.#time.settle(() => outcome !== null || this.isDead);
      if (outcome === null && !this.isDead) await this.#time.advance(8_000, 3);
    }
    const found = outcome as { value: T } | { error: unknown } | null;
    if (found === null) throw new Crashed(this.isDead ? 'the power failed' : 'it was not answered');
    if ('error' in found) throw found.error;
    return found.value;
  }

  /** Calls a method of the operator API. */
  operator<M extends Method>(method: M, params: Params<M>): Promise<Result<M>> {
    const parsed = OPERATOR[method].params.parse(params) as Parsed<M>;
    const work = METHODS[method] as (context: Context, params: Parsed<M>) => Result<M> | Promise<Result<M>>;
    return this.ask(() => work(this.#context(), parsed));
  }

  /** Opens the wallet, and lets what waits for that go on. */
  async unlock(): Promise<void> {
    await this.ask(() => this.signer.open());
    this.app.wake.allWithdrawals();
  }

  /** Time passes. What the clock starts is started. */
  async pass(ms: number): Promise<void> {
    await this.#time.advance(ms);
    if (!this.isDead) void this.#jobs?.absence().catch(() => undefined);
    const now = this.#time.monotonic;
    if (this.isDead || now - this.#minuteAt < MINUTE_MS) return;
    this.#minuteAt = now;
    void this.#jobs?.minute();
    void this.#instance?.stamp();
    this.#jobs?.fill();
    await this.#time.settle();
  }
}

/** Those whose files are open. */
const unburied = new Set<Appliance>();

/** Gives back what a run left that ended while a second machine ran: Node takes an open file that nobody has for a fault. */
export async function buryRest(): Promise<void> {
  for (const appliance of unburied) await appliance.bury().catch(() => undefined);
}
