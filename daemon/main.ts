/** The composition root. Requests are answered only once all they need is ready; a stop runs in the opposite order. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { watchList } from './app/addresses/watch.ts';
import { raise, raiseAs } from './app/alerts.ts';
import type { App } from './app/app.ts';
import { backUpBeforeUpgrade, endUpgrade } from './app/backup/upgrade.ts';
import { needsAgreement } from './app/chains/agreement.ts';
import { createApp } from './app/create-app.ts';
import { SandboxControls } from './app/invoices/sandbox.ts';
import { retakeWebhook } from './app/notifications/webhooks.ts';
import { type Maker, Releases } from './app/operator/releases.ts';
import { unlockSource } from './app/operator/unlocking.ts';
import { Discoveries } from './app/recovery/account-discovery.ts';
import { Instance, needDatabase } from './app/recovery/instance.ts';
import { acknowledgeKeys, type FirstKeys, firstStart } from './app/shops/first-start.ts';
import { RESERVE_BYTES, watchStorage } from './app/storage.ts';
import { Wake } from './app/wake.ts';
import type { ChainAdapter, ScriptList } from './chains/adapter.ts';
import { AddressThread } from './chains/address-thread.ts';
import { isDefaultSource, openAdapter } from './chains/registry.ts';
import { makerOfPackage } from './cli/maker.ts';
import { version } from './cli/version.ts';
import { type Config, loadConfig } from './config/config.ts';
import { configuredHosts, manualRates, wantsFinality } from './config/views.ts';
import { configurationWarnings } from './config/warnings.ts';
import { ASSETS, type AssetId, CHAINS, type ChainId, NETWORKS, type Network } from './domain/assets.ts';
import { type AccountKey, chainKey } from './domain/chain.ts';
import { isEvm } from './domain/evm.ts';
import { message, textOf } from './domain/messages.ts';
import { formatDecimal } from './domain/money.ts';
import type { SignedSpend } from './domain/spend.ts';
import type { ConsoleServer } from './http/console/server.ts';
import { MACHINE_FILE, Machines } from './http/machines/machines.ts';
import { RequestMeter } from './http/metrics/requests.ts';
import { serveMetrics } from './http/metrics/server.ts';
import type { Context, OperatorExtra } from './http/operator/context.ts';
import { serveOperator } from './http/operator/server.ts';
import { listen, publicServer } from './http/server.ts';
import { createLog, type Log, type LogPart, partLog } from './log.ts';
import { pageRouter } from './payment-page/router.ts';
import { RateBook } from './rates/book.ts';
import { HISTORY_KEPT_MS } from './rates/history.ts';
import { startRates } from './rates/refresher.ts';
import { chooseSources } from './rates/sources/index.ts';
import { sandboxStore } from './sandbox/rows.ts';
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts';
import { simulatedSpend } from './sandbox/simulated.ts';
import { accountSpend } from './sandbox/simulated-accounts.ts';
import { makeDataFolder } from './store/data-folder.ts';
import { startRefused } from './store/disk-errors.ts';
import type { MigrationStep } from './store/migrations.ts';
import { targetById } from './store/queries/credits.ts';
import { rateHistory } from './store/rates.ts';
import { Store } from './store/store.ts';
import { writeOnce } from './wallet/files.ts';
import { ensureSandboxWallet, type SandboxWallet } from './wallet/sandbox.ts';
import { streamChannel } from './wallet/signer/channel.ts';
import { SignerClient } from './wallet/signer/client.ts';
import { readLines } from './wallet/signer/lines.ts';
import { isEvmOrder, isMoneroOrder, isUtxoOrder, type Signer, type SignOrder } from './wallet/signer/port.ts';
import { judgeSimulated } from './wallet/signer/simulated.ts';
import { AlertWorker } from './workers/alerts/worker.ts';
import { Backups } from './workers/backup.ts';
import { ClosingMailWorker } from './workers/closing-mail.ts';
import { startHeapTrimming } from './workers/heap.ts';
import { Jobs } from './workers/jobs.ts';
import { LiveRates } from './workers/live-rates.ts';
import { SyncLoops } from './workers/loops.ts';
import { ReceiptWorker } from './workers/receipts.ts';
import { ReleaseNotices } from './workers/releases.ts';
import { ShopEventWorker } from './workers/shop-events.ts';
import { Timetable } from './workers/timetable.ts';
import { WebhookWorker } from './workers/webhooks.ts';
import { WithdrawalWorker } from './workers/withdrawals.ts';

type DaemonOptions = {
  dataDir: string;
  configFile?: string | undefined;
  /** Overrides the configuration; 0: any free port. */
  port?: number | undefined;
  /** Collects garbage while the program is idle. Only for a process that is nothing but the daemon. */
  givesMemoryBack?: boolean;
  /** Milliseconds since 1970; tests bring their own clock. */
  now?: () => number;
  /** Instead of INDICES_JUMPED: to derive so many addresses takes a minute, which tests do not have. */
  jump?: number;
  log?: Log;
  /** Instead of the maker that this package names; tests have a key of their own. */
  maker?: Maker;
};

export type Daemon = {
  url: string;
  dataDir: string;
  /** The keys of the sandbox business until they were shown. */
  firstKeys: FirstKeys | null;
  /** To be called once `firstKeys` were shown. Until then each start makes a new key. */
  acknowledgeKeys(): Promise<void>;
  /**
   * Whether a sign-in link is to be printed although nobody is at a terminal: never again once a browser has signed in, a signing
   * machine was paired or a business outside the sandbox exists.
   */
  wantsFirstLink: boolean;
  /** Resolves to whether every part stopped in time. */
  stop(): Promise<boolean>;
};

const VAULT_FOLDER = 'vault';
/** The console's sessions, which its listener keeps. */
const SESSIONS_FILE = 'console.json';
const STAMP_MS = 60_000;
/** The time that one part of the service may take to stop. */
const PART_STOP_MS_MAX = 4_000;

function readConfig(options: DaemonOptions): Config {
  return loadConfig({
    ...(options.configFile === undefined ? {} : { file: options.configFile }),
    dataDir: options.dataDir,
    env: process.env,
    flags: options.port === undefined ? {} : { port: String(options.port) },
  });
}

/** Functions to be called in reverse order when the daemon stops or its start fails. */
type Cleanup = (() => Promise<void> | void)[];

/** Calls every function, even if another one fails or hangs. Returns whether none did hang. */
async function undoAll(cleanup: Cleanup, log: Log): Promise<boolean> {
  let isInTime = true;
  for (const undo of cleanup.splice(0).reverse()) {
    const { promise: late, resolve } = Promise.withResolvers<'late'>();
    const timer = setTimeout(resolve, PART_STOP_MS_MAX, 'late');
    try {
      const end = await Promise.race([undo(), late]);
      if (end === 'late') {
        isInTime = false;
        log.error('a part of the service did not stop in time');
      }
    } catch (error) {
      log.error({ error }, 'a part of the service did not stop cleanly');
    }
    clearTimeout(timer);
  }
  return isInTime;
}

type Parts = {
  app: App;
  sandbox: Sandbox;
  sandboxAccounts: SandboxAccounts;
  machines: Machines;
  timetable: Timetable;
  instance: Instance;
};

type SandboxAccounts = (accountNo: number) => Partial<Record<ChainId, AccountKey>>;

/** Starts a daemon. Throws `ConfigError` and `Rejected` with messages for the operator. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const startedAt = Date.now();
  await makeDataFolder(options.dataDir);
  const config = readConfig(options);
  const log = options.log ?? createLog(config.log);
  for (const text of configurationWarnings(config)) log.warn(textOf(text));
  const cleanup: Cleanup = [];
  const stop = (): Promise<boolean> => undoAll(cleanup, log);
  try {
    const parts = await assemble(options, config, log, cleanup);
    const url = await serve(parts, options, startedAt, cleanup);
    // after the port is open: keys made by a failed start would never be shown
    const firstKeys = await firstStart(parts.app, () => parts.sandboxAccounts(0));
    await work(parts, cleanup);
    if (options.givesMemoryBack) cleanup.push(startHeapTrimming());
    log.info({ url, dataDir: options.dataDir, ms: Date.now() - startedAt }, 'ready');
    const acknowledge = () => acknowledgeKeys(parts.app);
    const { dataDir } = options;
    const wantsFirstLink = config.console.firstLink && isNew(parts.app, dataDir);
    return { url, dataDir, firstKeys, acknowledgeKeys: acknowledge, wantsFirstLink, stop };
  } catch (error) {
    await stop();
    throw startRefused(error, options.dataDir);
  }
}

/** Whether nobody has used the console or the command line yet. A damaged file counts: somebody had made it. */
const isNew = ({ directory }: App, dataDir: string): boolean =>
  ![SESSIONS_FILE, MACHINE_FILE].some((file) => existsSync(join(dataDir, file))) &&
  directory.businesses().every(({ network }) => network === 'sandbox');

/** The program's parts, with the log of one of them. Changes of `app` take effect there too. */
const as = (app: App, part: LogPart): App =>
  Object.create(app, { log: { value: partLog(app.log, part, app.config.log.parts) } }) as App;

/** Opens the store and creates all parts. */
async function assemble(options: DaemonOptions, config: Config, log: Log, cleanup: Cleanup): Promise<Parts> {
  const now = options.now ?? Date.now;
  const beforeUpgrade = async (applied: number): Promise<void> => {
    log.info('an older database is found: a backup is made, then it is brought up to date');
    const file = await backUpBeforeUpgrade(options.dataDir, { release: version(), now: now(), applied });
    if (file === null) log.info('without a wallet there is no backup before the upgrade: nothing of value is stored');
    else log.info({ file }, 'the backup before the upgrade is made');
  };
  const onMigration = ({ name, step, of }: MigrationStep): void =>
    log.info({ migration: name }, `the database is brought up to date: step ${step} of ${of}`);
  await needDatabase(options.dataDir);
  const store = await Store.open(options.dataDir, { reserveBytes: RESERVE_BYTES, beforeUpgrade, onMigration });
  cleanup.push(() => store.close());
  await endUpgrade(options.dataDir);
  const history = rateHistory(store, HISTORY_KEPT_MS, now, (error) => log.error({ error }, 'rates were not stored'));
  const spreadPercent = formatDecimal(config.rates.spreadPercent.ppm, 4);
  const folder = join(options.dataDir, VAULT_FOLDER);
  const wallet = await ensureSandboxWallet(folder);
  const wake = new Wake();
  const onSigner = (): void => wake.allWithdrawals();
  const signerLog = partLog(log, 'signer', config.log.parts);
  const machines = openMachines(options.dataDir, now, signerLog, onSigner);
  cleanup.push(() => machines.close());
  const signer = openSigner({ config, store, folder, machines }, wallet, signerLog, onSigner);
  cleanup.push(() => signer.close());
  const addressThread = new AddressThread();
  cleanup.push(() => addressThread.stop());
  const app = createApp({
    addressThread,
    store,
    config,
    rates: new RateBook({ spreadPercent, manual: manualRates(config) }, history),
    signer,
    log,
    now,
    jump: options.jump,
    publicUrl: '',
    wake,
  });
  watchStorage(app);
  app.directory.load(store);
  const sandbox = openSandbox(app);
  cleanup.push(() => sandbox.close());
  connectChains(app, sandbox, options.dataDir);
  const sandboxAccounts: SandboxAccounts = (accountNo) =>
    Object.fromEntries(CHAINS.map((chain) => [chain, wallet.account(chain, accountNo)]));
  const instance = await Instance.begin(app, options.dataDir);
  cleanup.push(() => instance.stop());
  return { app, sandbox, sandboxAccounts, machines, timetable: new Timetable(app), instance };
}

/** Starts what tells the operator of alerts, and what sends receipts and closings. */
function startMessages({ app }: Parts, timetable: Timetable, cleanup: Cleanup): AlertWorker {
  const alerts = new AlertWorker(as(app, 'alerts'));
  cleanup.push(() => alerts.stop());
  alerts.start(timetable);
  const receipts = new ReceiptWorker(as(app, 'alerts'));
  cleanup.push(async () => receipts.stop());
  receipts.start(timetable);
  const closings = new ClosingMailWorker(as(app, 'alerts'));
  cleanup.push(() => closings.stop());
  closings.start(timetable);
  return alerts;
}

/** Opens the servers and returns the address of the public one. */
async function serve(parts: Parts, options: DaemonOptions, startedAt: number, cleanup: Cleanup): Promise<string> {
  const { app, sandbox, timetable } = parts;
  const { dataDir, maker } = options;
  const { config, store } = app;
  const controls = new SandboxControls(app, sandbox);
  const pages = pageRouter(app, controls);
  const meter = config.metrics.port === 0 ? null : new RequestMeter();
  const server = await listen(
    publicServer(as(app, 'http'), { sandbox: controls, pages, meter }),
    config.host,
    config.port,
  );
  cleanup.push(() => server.close());
  const metrics = meter && (await serveMetrics(app, meter, version(), startedAt));
  if (metrics) cleanup.push(() => metrics.close());
  // open streams would keep the server from stopping
  cleanup.push(() => app.invoiceSubscribers.close());
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`;
  app.publicUrl = config.publicUrl ?? url;
  const ownPorts = [server.port, ...(metrics ? [metrics.port] : [])];
  const destinationPolicy = {
    allowHosts: config.webhook.allowHosts,
    ownPorts,
    nodeHosts: configuredHosts(config),
    socksProxy: config.webhook.socksProxy,
  };
  const webhooks = new WebhookWorker(as(app, 'webhooks'), destinationPolicy);
  app.wake.on({ webhooks: () => webhooks.wake() });
  cleanup.push(() => webhooks.stop());
  const shopEvents = new ShopEventWorker(as(app, 'webhooks'), destinationPolicy);
  app.wake.on({ shopEvents: () => shopEvents.wake() });
  cleanup.push(() => shopEvents.stop());
  shopEvents.start();

  const alerts = startMessages(parts, timetable, cleanup);
  const backups = new Backups(as(app, 'backup'), dataDir, version());
  await backups.start(timetable);
  cleanup.push(() => backups.stop());
  const discovery = new Discoveries(app, (...given) => openSource(app, dataDir, ...given));
  cleanup.push(() => discovery.stop());
  const extra: OperatorExtra = {
    dataDir,
    version: version(),
    startedAt,
    ...backups.forOperator(),
    ...beginReleases(parts, maker, cleanup),
    discoverAccounts: (request, anew) => discovery.begin(request, anew),
    discovery: () => discovery.state,
    deriveSandboxAccounts: parts.sandboxAccounts,
    machines: parts.machines,
    testAlerts: () => alerts.test(),
    testEndpoint: (id: number) => shopEvents.test(id),
    sendWebhook: async (id) => webhooks.send(await store.write((tx) => retakeWebhook(app, tx, id))),
    sandbox: controls,
    api: server.at,
    console: () => consoles.server(),
  };
  const consoles = onDemand({ app: as(app, 'http'), extra });
  const operator = await serveOperator(app, extra);
  ownPorts.push(...(URL.canParse(operator.url) ? [Number(new URL(operator.url).port)] : []));
  cleanup.push(() => operator.close());
  cleanup.push(() => consoles.close());
  consoles.resume();
  cleanup.push(() => app.operatorEvents.close());
  return url;
}

/** Without a maker's key nothing is ever asked. */
function beginReleases(
  { app, timetable }: Parts,
  maker: Maker | undefined,
  cleanup: Cleanup,
): Pick<OperatorExtra, 'releases' | 'askReleases'> {
  const releases = new Releases(app, version(), maker === undefined ? packageMaker(app) : maker);
  const notices = new ReleaseNotices(app, releases);
  cleanup.push(() => notices.stop());
  notices.start(timetable);
  return { releases, askReleases: () => notices.lookAgain() };
}

/** A package whose file about its maker is damaged takes payments all the same. */
function packageMaker({ log }: App): Maker {
  try {
    return makerOfPackage();
  } catch (error) {
    log.error({ error }, 'the file that names the maker of this package is damaged');
    return null;
  }
}

type Consoles = { server(): Promise<ConsoleServer>; resume(): void; close(): Promise<void> };

/** The console, which is loaded only where it is used. */
function onDemand(context: Context): Consoles {
  const { app, extra } = context;
  let made: Promise<ConsoleServer> | undefined;
  const make = async (): Promise<ConsoleServer> => {
    const { ConsoleServer } = await import('./http/console/server.ts');
    return new ConsoleServer(context);
  };
  const server = (): Promise<ConsoleServer> => {
    made ??= make();
    return made;
  };
  return {
    server,
    /** A browser that was signed in stays so over a restart, and the computer that signs finds its way back. */
    resume() {
      const isUsed = [SESSIONS_FILE, MACHINE_FILE].some((file) => existsSync(join(extra.dataDir, file)));
      if (!isUsed) return;
      const open = async (): Promise<void> => (await server()).listen();
      open().catch((error: unknown) => app.log.error({ error }, 'the console could not be opened'));
    },
    close: async () => (await made)?.close(),
  };
}

async function work({ app, sandbox, timetable, instance }: Parts, cleanup: Cleanup): Promise<void> {
  const loops = new SyncLoops(as(app, 'chains'));
  app.wake.on({ chain: (key) => loops.wake(key) });
  cleanup.push(() => loops.stop());
  // the sandbox answers at once; a real chain may take its time, which delays only its own payments
  loops.begin();
  const simulated = app.chains.all().filter(({ adapter }) => adapter.network === 'sandbox');
  await Promise.all(simulated.map(({ key }) => loops.firstPass(key)));
  sandbox.start();
  const withdrawals = new Map(
    app.chains.all().map((chain) => [chain.key as string, new WithdrawalWorker(as(app, 'withdrawals'), chain)]),
  );
  app.wake.on({
    withdrawals: (key) => withdrawals.get(key)?.wake(),
    allWithdrawals() {
      for (const worker of withdrawals.values()) worker.wake();
    },
  });
  cleanup.push(async () => {
    await Promise.all([...withdrawals.values()].map((worker) => worker.stop()));
  });
  for (const worker of withdrawals.values()) worker.start();

  const { rates, config } = app;
  const liveRates = new LiveRates(app, () =>
    startRates({ book: rates, sources: chooseSources(config.rates.sources), log: as(app, 'rates').log }),
  );
  cleanup.push(() => liveRates.stop());
  liveRates.begin();
  const jobs = new Jobs(app);
  app.wake.on({
    pool(account) {
      jobs.fill(account);
      instance.touch();
    },
    business() {
      jobs.fill();
      loops.begin();
      liveRates.begin();
    },
  });
  jobs.start(timetable);
  const stamp = async (): Promise<void> => {
    await instance.stamp();
    void instance.lookAgain();
  };
  timetable.every('stamp', STAMP_MS, stamp);
  cleanup.push(() => jobs.stop());
  app.wake.webhooks();
  timetable.onStep = () => {
    liveRates.clockSet();
    void stamp();
  };
  timetable.start();
  cleanup.push(() => timetable.stop());
}

/** Signs for the sandbox's coins. Its simulated transactions are compared with their intents. */
async function signSandbox(wallet: SandboxWallet, order: SignOrder): Promise<SignedSpend> {
  if (isUtxoOrder(order)) return wallet.sign(order.plan);
  if (isEvmOrder(order) || isMoneroOrder(order))
    throw new Error('assertion failed: the sandbox simulates these chains');
  judgeSimulated(order);
  const { plan } = order;
  return plan.kind === 'sandbox' ? simulatedSpend(plan) : accountSpend(plan);
}

/** Where a computer at home connects that signs. */
function openMachines(dataDir: string, now: () => number, log: Log, onConnected: () => void): Machines {
  return new Machines({ dataDir, now, log, onConnected, channel: streamChannel, lines: readLines, writeOnce });
}

/** The merchant's wallet runs in its own process, the sandbox's in this one: its coins are worthless. */
function openSigner(
  { config, store, folder, machines }: { config: Config; store: Store; folder: string; machines: Machines },
  sandbox: SandboxWallet,
  log: Log,
  onUnlocked: () => void,
): Signer {
  const { autoLockMinutes, signer: remote } = config.wallet;
  return new SignerClient({
    folder,
    remote,
    home: machines,
    autoLockMinutes,
    source: () => unlockSource(config, store),
    sandbox: {
      sign: (order) => signSandbox(sandbox, order),
    },
    log: (message) => log.warn(message),
    onUnlocked,
  });
}

function openSandbox(app: App): Sandbox {
  return createSandbox({
    store: sandboxStore(app.store),
    chains: CHAINS,
    watch: (chain) => watchList(app.store, chainKey('sandbox', chain)),
    now: app.now,
    blockSeconds: app.config.sandbox.blockSeconds,
    log: (message, error) => app.log.error({ error }, message),
  });
}

/** The adapter of a chain's configured source; null without one. `accounts`: default: those of all businesses. */
function openSource(
  app: App,
  dataDir: string,
  network: Network,
  chain: ChainId,
  list: ScriptList,
  accounts?: readonly AccountKey[],
): ChainAdapter | null {
  const key = chainKey(network, chain);
  const { electrum, evm, monero } = app.config;
  const allowed = isEvm(chain) ? evm.publicEndpoints : chain === 'XMR' ? monero.publicNodes : electrum.publicServers;
  const { socksProxy, proxyFor } = chain === 'XMR' ? monero : electrum;
  return openAdapter(network, chain, app.config.networks[network][chain], {
    list,
    contracts: contractsOf(app, network),
    accounts: () =>
      accounts ?? app.directory.accounts().flatMap((account) => (account.chainKey === key ? [account.key] : [])),
    folder: join(dataDir, 'electrum'),
    publicServers: allowed === 'use',
    socksProxy,
    proxyForAll: proxyFor === 'all',
    needsAgreement: (credits) => needsAgreement(app, network, chain, credits),
    wantsFinality: wantsFinality(app.config, network, chain),
    log: (message) => as(app, 'chains').log.warn({ chain: key }, message),
    alert: (server, reason) => void raiseAs(app, network, 'source.dropped', `${key} ${server}`, { server, reason }),
    leftOut(targetId, reason) {
      const address = app.store.get(targetById, { id: targetId })?.address ?? `target ${targetId}`;
      const text = message('source.left_out', { address, reason });
      void raise(app, network, 'source.left_out', `${key} ${address}`, text);
    },
    onOdd({ txid: tx, block: { height }, reason }) {
      const text = message('source.unreadable', { tx, height, chain, network, reason });
      void raise(app, network, 'source.unreadable', `${key} ${tx}`, text);
    },
  });
}

/** Tokens' contracts as the operator named them. */
function contractsOf({ config }: App, network: Network): Partial<Record<AssetId, string>> {
  const assets = config.networks[network];
  return Object.fromEntries(
    ASSETS.flatMap(({ symbol }) => {
      const setting = assets[symbol];
      return 'contract' in setting && setting.contract !== null ? [[symbol, setting.contract]] : [];
    }),
  );
}

/** Creates the adapters of all chains with a source. This opens no connection. */
function connectChains(app: App, sandbox: Sandbox, dataDir: string): void {
  for (const network of NETWORKS) {
    for (const chain of CHAINS) {
      const key = chainKey(network, chain);
      const settings = app.config.networks[network][chain];
      const adapter =
        network === 'sandbox'
          ? sandbox.adapter(chain)
          : openSource(app, dataDir, network, chain, watchList(app.store, key));
      if (!adapter) continue;
      app.chains.add(adapter).dormant = network !== 'sandbox' && isDefaultSource(network, chain, settings);
    }
  }
}
