/**
 * The chain source of BTC, LTC and BCH that uses Electrum servers, without a node of one's own and without trust in a
 * server. Confirmed transactions are proved by headers with verified work. Unconfirmed ones are one server's statement
 * and never count as paid.
 *
 * Invariant: an update describes one tip of the verified chain and one server's view at it. A server on another branch,
 * or behind, produces no update.
 */

import { join } from 'node:path';
import type { Network } from '../../../domain/assets.ts';
import type {
  AccountKey,
  BlockId,
  Branch,
  ChainUpdate,
  Checkpoint,
  DerivedAddress,
  Operators,
  SourceHealth,
  SourceServer,
} from '../../../domain/chain.ts';
import { assert, ChainAlert, Unavailable } from '../../../domain/errors.ts';
import { MS_PER_HOUR } from '../../../domain/time.ts';
import { sleep, unlessAborted } from '../../../kit/async.ts';
import {
  type AbsenceSource,
  type ChainAdapter,
  type HoldingsSource,
  type ListedScript,
  type ScriptList,
  tipOf,
} from '../../adapter.ts';
import type { Spending } from '../../spending.ts';
import { addressAt, isValidAddress } from '../address.ts';
import type { UtxoChain } from '../params.ts';
import { UtxoSpending } from '../spend/spending.ts';
import { LightClient } from './client.ts';
import { HeaderChain } from './headers/chain.ts';
import { rulesOf } from './headers/rules.ts';
import { checkpointAt, nextStep } from './headers/steps.ts';
import { ElectrumHoldings } from './holdings.ts';
import type { Listener } from './listener.ts';
import { TIMEOUTS, type Timeouts } from './servers/connection.ts';
import { endpointOf, operatorOf } from './servers/endpoint.ts';
import { ConnectionLost, isOfServer, ServerRefusal } from './servers/faults.ts';
import { Pins } from './servers/pins.ts';
import type { Server, Tip } from './servers/server.ts';
import { ElectrumSpending, type WithClient } from './spending.ts';

export type ElectrumOptions = {
  chain: UtxoChain;
  network: Network;
  /** "ssl://host:port" or "tcp://host:port". */
  servers: readonly string[];
  /** Configured by the operator: tried again within a minute, even after misbehaviour. Default: false. */
  own?: boolean;
  /** The folder for headers and certificates. */
  folder: string;
  list: ScriptList;
  /** "socks5://host:port" for onion services, and for every server if `proxyForAll`. */
  proxy?: string | null;
  proxyForAll?: boolean;
  /** Whether a second server must agree to a transaction with these credits; absent: never. */
  needsAgreement?: (credits: readonly { targetId: number; units: bigint }[]) => boolean;
  timeouts?: Partial<Timeouts>;
  log?: (message: string) => void;
  /** The maximum number of watched scripts; others are polled. */
  watchedMax?: number;
  /** Called when a server misbehaved. */
  alert?: (server: string, message: string) => void;
  /** Called for a target whose payments are not seen, because no server gives its history. */
  leftOut?: (targetId: number, message: string) => void;
};

const SERVERS_PER_SYNC_MAX = 3;
const RETRY_SECONDS = 5;
const HEADERS_RETRY_SECONDS = 1;
const OPEN_RETRY_SECONDS = 60;
/** The limit of one step. The next step continues. */
const STEP_MS_MAX = 60_000;
const SCRIPTS_PER_PAST_STEP = 2_000;
/** News waits for the end of a step. */
const PAST_STEP_MS = 2_000;
/** How long to wait for the first connection. */
const CONNECT_MS_MAX = 10_000;
const CONNECT_LOOK_MS = 20;
/** The pause after a look at a server that has not decided yet. */
const UNSETTLED_MS = 200;
/** The pause after a look at a server whose newest block is hours old. */
const OLD_TIP_MS = 1_000;
/** As with a node: such a gap between blocks occurs by chance once in years. */
const TIP_AGE_MS_MAX: Readonly<Record<UtxoChain, number>> = {
  BTC: 3 * MS_PER_HOUR,
  LTC: MS_PER_HOUR,
  BCH: 4 * MS_PER_HOUR,
};

export class ElectrumAdapter implements ChainAdapter {
  readonly network: Network;
  readonly chain: UtxoChain;
  readonly spending: Spending;
  readonly holdings: HoldingsSource;
  readonly absence?: AbsenceSource;
  readonly #options: ElectrumOptions;
  readonly #setting: string;
  /** How many operators run the named servers. */
  readonly #operators: number;
  readonly #wakes: (() => void)[] = [];
  #opening: Promise<LightClient> | null = null;
  #client: LightClient | null = null;
  #closed = false;
  #closing: Promise<void> | null = null;
  #syncing = false;
  /** The end of the last step, which may outlast the sync that started it. */
  #stepping: Promise<void> = Promise.resolve();
  /** The tips at which syncs of the present ended; another checkpoint belongs to a past. */
  #present: string[] = [];
  /** Whether a rescan was asked for before there was a client. */
  #isRescanDue = false;
  /** The last script searched for a past. */
  #pastCursor = 0;
  /** Whether the last sync found the servers behind the checkpoint. */
  #behind = false;
  #alert: string | null = null;

  constructor(options: ElectrumOptions) {
    this.network = options.network;
    this.chain = options.chain;
    this.#options = options;
    this.#setting = `[networks.${options.network}.${options.chain}] electrum`;
    const { chain, network, list } = options;
    const withClient: WithClient = (signal, use) => this.#withServer(signal, use);
    this.#operators = new Set(options.servers.map((server) => operatorOf(endpointOf(server)))).size;
    if (this.#operators > 1) this.absence = { showNothing: (script, signal) => this.#showNothing(script, signal) };
    this.holdings = new ElectrumHoldings(list, withClient);
    const source = new ElectrumSpending({ chain, list, setting: this.#setting, withClient });
    this.spending = new UtxoSpending(chain, network, source);
  }

  async deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress> {
    return addressAt(account, branch, index, this.chain, this.network);
  }

  isValidAddress(text: string): boolean {
    return isValidAddress(text, this.chain, this.network);
  }

  /**
   * Histories are always complete, so the checkpoint reaches no further back than the headers at hand. Older headers
   * are fetched only for blocks in which something is found.
   */
  begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint> {
    return this.#withServer(signal, async (client, server) => {
      const tip = await this.#tipOnChain(client, server);
      const { headers } = client;
      client.rotation.start();
      const height = birthday === null ? tip.height : (headers.heightBefore(birthday) ?? headers.base.height);
      return checkpointAt(Math.min(height, tip.height), headers);
    });
  }

  async sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null> {
    assert(!this.#syncing, 'one sync at a time');
    this.#syncing = true;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(STEP_MS_MAX)]);
    try {
      // two concurrent steps would ask for everything twice
      await unlessAborted(this.#stepping, limited).catch((error: unknown) => this.#throwTimedOut(error, limited));
      return await this.#withServer(limited, (client, server) => {
        const step = this.#step(client, server, since, limited);
        this.#stepping = step.then(
          () => {},
          () => {},
        );
        return step;
      });
    } finally {
      this.#syncing = false;
    }
  }

  /**
   * Asks for every history once and watches none. Throws `Unavailable`, also while the newest blocks are not there: what came in them
   * would be called unused.
   */
  areUsed(scripts: readonly Uint8Array[], signal: AbortSignal): Promise<boolean[]> {
    return this.#withServer(signal, async (client, server) => {
      const tip = await this.#tipOnChain(client, server);
      if (this.#isOld(client, tip)) {
        const hours = Math.floor((tipAgeMsOf(client, tip) ?? 0) / MS_PER_HOUR);
        const text = `${this.#setting}: the newest block of ${server.name} is ${hours} hours old`;
        throw new Unavailable(text, RETRY_SECONDS);
      }
      return client.lookup.areUsed(scripts);
    });
  }

  onHint(wake: () => void): void {
    this.#wakes.push(wake);
    this.#open().catch(() => {});
  }

  health(): SourceHealth {
    const client = this.#client;
    const primary = client?.set.primary ?? null;
    const tip = primary?.tip && client?.headerSync.isOnChain(primary.tip) ? primary.tip : null;
    const tipAgeMs = tip && client ? tipAgeMsOf(client, tip) : null;
    const isOld = tip !== null && client !== null && this.#isOld(client, tip);
    return {
      source: primary?.name ?? `${this.#options.servers.length} Electrum servers`,
      tip: tip && { height: tip.height, hash: tip.hash },
      tipAgeMs,
      lagging: this.#behind || isOld,
      error: primary ? this.#alert : this.#whyNone(),
    };
  }

  operators(): Operators {
    const { set, headerSync } = this.#client ?? {};
    const speaking = (set?.ready() ?? []).filter((server) => headerSync?.behind(server) === 0);
    return { named: this.#operators, speaking: new Set(speaking.map(({ operator }) => operator)).size };
  }

  servers(): SourceServer[] {
    const client = this.#client;
    if (!client) return [];
    return client.set.servers.map((server) => {
      const behind = client.headerSync.behind(server);
      return {
        name: server.name,
        state: server.state,
        software: server.software,
        error: server.error,
        asked: server === client.set.primary,
        tip: server.tip && { height: server.tip.height, hash: server.tip.hash },
        behind: Number.isFinite(behind) ? behind : null,
        latencyMs: server.latencyMs === null ? null : Math.round(server.latencyMs),
        watched: server.statuses.size,
        failures: server.retries.failures,
        slowed: server.state === 'ready' && server.pace.isSlowed,
      };
    });
  }

  rescan(): void {
    this.#isRescanDue = this.#client === null;
    this.#client?.rotation.rescan();
  }

  rescanning(): boolean {
    return this.#client?.rotation.rescanning ?? true;
  }

  rescanned(): number {
    return this.#client?.rotation.rescanned ?? 0;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#closing ??= (async () => {
      const client = await this.#opening?.catch(() => null);
      await client?.close();
    })();
    return this.#closing;
  }

  async #showNothing(script: ListedScript, signal: AbortSignal): Promise<readonly string[] | null> {
    const client = await unlessAborted(this.#open(), signal);
    return unlessAborted(client.absence.showNothing(script), signal);
  }

  #open(): Promise<LightClient> {
    assert(!this.#closed, 'a closed adapter is not used');
    this.#opening ??= this.#build().catch((error: NodeJS.ErrnoException) => {
      this.#opening = null;
      if (error.code === undefined) throw error;
      const text = `${this.#setting}: the headers cannot be opened (${error.code}): is the disk full?`;
      throw new Unavailable(text, OPEN_RETRY_SECONDS);
    });
    return this.#opening;
  }

  async #build(): Promise<LightClient> {
    const { chain, network, folder, list } = this.#options;
    const rules = rulesOf(chain, network);
    assert(rules, `${chain} has no chain of headers on ${network}`);
    const headers = await HeaderChain.open({ chain, network, folder });
    this.#client = new LightClient({
      chain,
      headers,
      list,
      genesis: [rules.genesis],
      endpoints: this.#options.servers.map(endpointOf),
      own: this.#options.own ?? false,
      proxy: this.#options.proxy ?? null,
      proxyForAll: this.#options.proxyForAll ?? false,
      pins: new Pins(join(folder, `${chain}-${network}.certificates.json`)),
      timeouts: { ...TIMEOUTS, ...this.#options.timeouts },
      needsAgreement: this.#options.needsAgreement ?? (() => false),
      ...(this.#options.watchedMax === undefined ? {} : { watchedMax: this.#options.watchedMax }),
      rotationPath: join(folder, `${chain}-${network}.rotation.json`),
      listener: this.#listener(),
    });
    if (this.#isRescanDue) this.rescan();
    return this.#client;
  }

  /** Passes the client's events on. */
  #listener(): Listener {
    const { log, alert, leftOut } = this.#options;
    return {
      wake: () => {
        if (!this.#closed) for (const wake of this.#wakes) wake();
      },
      log: (message) => log?.(message),
      bug: (error) => log?.(`a bug in the light client: ${String(error)}`),
      alert: (server, reason) => alert?.(server, reason),
      leftOut: (targetId, reason) => leftOut?.(targetId, reason),
    };
  }

  /** The tip of a server once its headers are here. Throws `Unavailable` before. */
  async #tipOnChain(client: LightClient, server: Server): Promise<Tip> {
    const tip = await client.look(server);
    const { headers } = client;
    if (client.headerSync.isOnChain(tip)) return tip;
    if (tip.height <= headers.tip.height) throw new ConnectionLost('it is not on the chain with the most work');
    const progress = `${headers.tip.height} of ${tip.height} headers were fetched`;
    throw new Unavailable(`${this.#setting}: ${progress}`, HEADERS_RETRY_SECONDS);
  }

  /** Uses the asked server, and the next one if it fails. Throws `Unavailable` if there is none, or after the limit. */
  async #withServer<T>(signal: AbortSignal, use: (client: LightClient, server: Server) => Promise<T>): Promise<T> {
    try {
      return await this.#tryServers(signal, use);
    } catch (error) {
      return this.#throwTimedOut(error, signal);
    }
  }

  #throwTimedOut(error: unknown, signal: AbortSignal): never {
    const hasTimedOut = signal.aborted && error === signal.reason && (error as Error).name === 'TimeoutError';
    if (!hasTimedOut) throw error;
    throw new Unavailable(`${this.#setting}: no answer in time`, RETRY_SECONDS);
  }

  async #tryServers<T>(signal: AbortSignal, use: (client: LightClient, server: Server) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const client = await unlessAborted(this.#open(), signal);
    for (let attempt = 0; attempt < SERVERS_PER_SYNC_MAX; attempt++) {
      const server = await this.#primary(client, signal);
      try {
        const result = await unlessAborted(use(client, server), signal);
        this.#alert = null;
        return result;
      } catch (error) {
        if (error instanceof ChainAlert) this.#alert = error.message;
        if (!(error instanceof Error) || !isOfServer(error)) throw error;
        // a refusal is an answer: the server stays connected
        if (error instanceof ServerRefusal) {
          throw new Unavailable(`${this.#setting}: ${server.name} refuses: ${error.message}`, RETRY_SECONDS);
        }
        if (server.state === 'ready') server.disconnect(error.message);
      }
    }
    throw new Unavailable(this.#whyNone() ?? `${this.#setting}: no server answers as it should`, RETRY_SECONDS);
  }

  /** The server to ask. Waits while one may be about to connect. */
  async #primary(client: LightClient, signal: AbortSignal): Promise<Server> {
    const deadline = performance.now() + CONNECT_MS_MAX;
    for (;;) {
      const { primary, servers } = client.set;
      if (primary?.state === 'ready') return primary;
      // a server that failed again is not waited for, so that a frozen one is noticed within seconds
      const hopeful = servers.some(
        ({ state, retries: { failures } }) =>
          failures < 2 && (state === 'connecting' || (state === 'idle' && failures === 0)),
      );
      if (!hopeful || performance.now() > deadline)
        throw new Unavailable(this.#whyNone() ?? this.#setting, RETRY_SECONDS);
      await sleep(CONNECT_LOOK_MS, signal);
    }
  }

  async #step(
    client: LightClient,
    server: Server,
    since: Checkpoint,
    signal: AbortSignal,
  ): Promise<ChainUpdate | null> {
    client.rotation.start();
    const tip = await client.look(server);
    const { headers, headerSync } = client;
    this.#behind = !headerSync.isOnChain(tip);
    if (this.#behind) return null;
    const from = tipOf(since);
    if (this.#isPast(from, tip)) return this.#pastStep(client, since, tip);
    this.#present = [from.hash];
    if (from.height < headers.lowest - 1) await headerSync.reachDown(server, from.height);
    const step = nextStep(since, { height: tip.height, hash: tip.hash }, headers);
    this.#behind = step === null;
    if (step === null) return null;
    const { checkpoint, orphaned, atTip } = step;
    const update: ChainUpdate = {
      since: from,
      checkpoint,
      orphaned,
      targets: 'all',
      mempool: 'unknown',
      credits: [],
      spends: [],
      ...this.#ownTime(tipOf(checkpoint).height, headers),
    };
    this.#present.push(tipOf(checkpoint).hash);
    // where the next sync begins if this update is stored in part
    const fork = since.at(-1 - orphaned.length);
    if (fork) this.#present.push(fork.hash);
    for (const hash of this.#leftBy(update)) client.watchBlock(hash);
    if (!atTip) return update;
    const { complete, unsettled, found } = await client.view(server, tip);
    if (unsettled) await sleep(UNSETTLED_MS, signal);
    // without a block for hours, the server's own node is probably behind
    const isOld = this.#isOld(client, tip);
    if (isOld) await sleep(OLD_TIP_MS, signal);
    // reorganised meanwhile: what was found is of another chain than the checkpoint
    if (!headerSync.isOnChain(tip)) return null;
    return { ...update, ...found, mempool: complete && !isOld ? 'complete' : 'unknown' };
  }

  /** The hashes of blocks with stored facts that are not on the chain of an update. */
  #leftBy({ checkpoint, orphaned }: ChainUpdate): string[] {
    const here = new Set(checkpoint.map(({ hash }) => hash));
    const known = [...orphaned.map(({ hash }) => hash), ...(this.#options.list.ahead?.() ?? [])];
    return known.filter((hash) => !here.has(hash));
  }

  /** Whether the newest block is older than is likely by chance. */
  #isOld(client: LightClient, tip: Tip): boolean {
    const ageMs = tipAgeMsOf(client, tip);
    return this.network !== 'regtest' && ageMs !== null && ageMs > TIP_AGE_MS_MAX[this.chain];
  }

  /** The median time at a block; absent on test chains, which have blocks only on demand. */
  #ownTime(height: number, headers: LightClient['headers']): Pick<ChainUpdate, 'tipMedianTime'> {
    const seconds = this.network === 'regtest' ? null : headers.medianTimeSeconds(height);
    return seconds === null ? {} : { tipMedianTime: seconds * 1000 };
  }

  /** Whether a checkpoint belongs to a wallet's past: below the tip and not where a sync of the present ended. */
  #isPast(from: BlockId, tip: Tip): boolean {
    return this.#present.length > 0 && !this.#present.includes(from.hash) && from.height < tip.height;
  }

  /**
   * A step through a wallet's past. Histories are complete, so no blocks are read: every script is asked once, also
   * those derived meanwhile, and those with a history are then watched like the others.
   */
  async #pastStep(client: LightClient, since: Checkpoint, tip: Tip): Promise<ChainUpdate> {
    const last = await client.rotation.look(this.#pastCursor, SCRIPTS_PER_PAST_STEP, performance.now() + PAST_STEP_MS);
    this.#pastCursor = last ?? 0;
    const checkpoint = last === null ? checkpointAt(tip.height, client.headers) : since;
    return {
      since: tipOf(since),
      checkpoint,
      orphaned: [],
      targets: 'all',
      mempool: 'unknown',
      credits: [],
      spends: [],
    };
  }

  /** Why no server is connected, for the operator; null if one is. */
  #whyNone(): string | null {
    const client = this.#client;
    if (!client) return null;
    if (client.set.primary) return null;
    const reasons = client.set.servers.flatMap(({ name, error }) => (error ? [`${name}: ${error}`] : []));
    const shown = reasons.slice(0, 3).join('; ');
    return `${this.#setting}: no server is connected${shown ? ` (${shown})` : ''}`;
  }
}

/** The age of a tip's block by its own time; null if its header is not held. */
function tipAgeMsOf(client: LightClient, { height }: Tip): number | null {
  const header = client.headers.at(height);
  return header && Math.max(0, Date.now() - header.timeSeconds * 1_000);
}
