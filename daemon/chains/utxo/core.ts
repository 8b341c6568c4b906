/**
 * The chain source of BTC, LTC and BCH that uses a full node over RPC: Bitcoin Core, Litecoin Core or Bitcoin Cash
 * Node, pruned or not. It needs no wallet and no index in the node: blocks are fetched and searched here.
 *
 * Invariant: an update describes one chain as the node had it at one time. If the node changed meanwhile, the update
 * ends before the change, and the next one covers it.
 */

import type { Network } from '../../domain/assets.ts';
import type { AccountKey, Branch, ChainUpdate, Checkpoint, DerivedAddress, SourceHealth } from '../../domain/chain.ts';
import { ChainAlert, Unavailable } from '../../domain/errors.ts';
import { MS_PER_HOUR } from '../../domain/time.ts';
import { type ChainAdapter, type HoldingsSource, tipOf, type WatchList } from '../adapter.ts';
import { commonBlocks, contiguousEnd, extended, type HashesAt } from '../checkpoint.ts';
import { Rpc } from '../json-rpc.ts';
import { POLL_MS, Poller } from '../poller.ts';
import { slices } from '../slices.ts';
import type { Spending } from '../spending.ts';
import { addressAt, isValidAddress } from './address.ts';
import { beginAt, prunedAdvice, settingOf } from './begin.ts';
import { readBlocks } from './blocks.ts';
import { CoreHoldings } from './core-holdings.ts';
import { CoreSpending } from './core-spending.ts';
import type { Finder, MatchResult } from './match.ts';
import { Mempool, type MempoolLimits } from './mempool.ts';
import { type BlockTime, CoreNode, type NodeState, PrunedBlock } from './node.ts';
import type { UtxoChain } from './params.ts';
import { UtxoSpending } from './spend/spending.ts';

export type CoreOptions = {
  chain: UtxoChain;
  network: Network;
  /** http(s)://user:password@host:port, the credentials percent-encoded. */
  url: string;
  watch: WatchList;
  /** The node's `.cookie`, when the URL has no credentials. */
  cookieFile?: string;
  pollMs?: number;
  log?: (message: string) => void;
  mempoolLimits?: Partial<MempoolLimits>;
};

/** Blocks in hex and their envelope. BCH has blocks of 32 MB, the others of 4 MB with witnesses and extensions. */
const RESPONSE_BYTES_MAX: Readonly<Record<UtxoChain, number>> = { BTC: 64e6, LTC: 64e6, BCH: 160e6 };

/** An older tip suggests that the node is cut off: such a gap occurs by chance once in years. */
const TIP_AGE_MS_MAX: Readonly<Record<UtxoChain, number>> = {
  BTC: 3 * MS_PER_HOUR,
  LTC: MS_PER_HOUR,
  BCH: 4 * MS_PER_HOUR,
};
/** Headers without blocks, up to which a node does not count as behind. */
const HEADERS_AHEAD_MAX = 3;

/** The adapter of a node. Throws `Rejected` when the URL is none. */
export function coreAdapter(options: CoreOptions): ChainAdapter {
  return new CoreAdapter(options);
}

class CoreAdapter implements ChainAdapter {
  readonly network: Network;
  readonly chain: UtxoChain;
  readonly spending: Spending;
  readonly holdings: HoldingsSource;
  readonly #watch: WatchList;
  readonly #setting: string;
  readonly #rpc: Rpc;
  readonly #node: CoreNode;
  readonly #mempool: Mempool;
  readonly #poller: Poller;
  /** The state that the last sync covered; null if it failed before. */
  #handled: string | null = null;
  /** The last sync did not reach the tip. */
  #unfinished = false;
  /** The node was behind the checkpoint of the last sync. */
  #behind = false;
  /** The tips from which syncing of the present continues; from another block below the tip, a past is read. */
  #present: string[] = [];
  #state: NodeState | null = null;
  #tip: { hash: string; time: BlockTime } | null = null;
  /** Why the node did not answer the last request. */
  #contactError: string | null = null;
  /** Why its answers cannot be used. */
  #alert: string | null = null;

  constructor(options: CoreOptions) {
    const { chain, network, url, watch, cookieFile } = options;
    this.network = network;
    this.chain = chain;
    this.#watch = watch;
    this.#setting = settingOf(network, chain);
    const responseBytesMax = RESPONSE_BYTES_MAX[chain];
    this.#rpc = new Rpc({ url, cookieFile, label: this.#setting, responseBytesMax, version: '1.0' });
    this.#node = new CoreNode(this.#rpc, chain, network, this.#setting);
    this.spending = new UtxoSpending(chain, network, new CoreSpending(this.#node, chain, this.#setting));
    this.holdings = new CoreHoldings(this.#node, chain, network);
    const warn = options.log ?? (() => {});
    this.#mempool = new Mempool({ node: this.#node, chain, watch, warn, limits: options.mempoolLimits ?? {} });
    this.#poller = new Poller(options.pollMs ?? POLL_MS, (signal) => this.#hasNews(signal));
  }

  async deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress> {
    return addressAt(account, branch, index, this.chain, this.network);
  }

  isValidAddress(text: string): boolean {
    return isValidAddress(text, this.chain, this.network);
  }

  async begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint> {
    this.#poller.start();
    return this.#recording(signal, async () => {
      const state = await this.#contact(signal);
      if (this.#isDownloading(state)) {
        throw new Unavailable(
          `${this.#setting}: the node is still downloading the chain (${state.height} of ${state.headers} blocks)`,
          30,
        );
      }
      return beginAt(this.#node, birthday, this.#setting, signal);
    });
  }

  sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null> {
    return this.#poller.sync(() => this.#recording(signal, () => this.#step(since, signal)));
  }

  onHint(wake: () => void): void {
    this.#poller.onNews(wake);
  }

  health(): SourceHealth {
    const state = this.#state;
    const tipAgeMs = state && this.#tip?.hash === state.hash ? this.#ageOf(this.#tip.time) : null;
    const isOld = this.#isPublic && tipAgeMs !== null && tipAgeMs > TIP_AGE_MS_MAX[this.chain];
    const isVerifying = this.#isPublic && state !== null && state.headers - state.height > HEADERS_AHEAD_MAX;
    const isAlone = state?.peers === 0;
    return {
      source: this.#rpc.source,
      tip: state && { height: state.height, hash: state.hash },
      tipAgeMs,
      lagging: this.#behind || isOld || isAlone || isVerifying || (state !== null && this.#isDownloading(state)),
      error: this.#contactError ?? this.#alert,
      concerns: this.#node.concerns,
    };
  }

  async close(): Promise<void> {
    await this.#poller.stop();
    this.#rpc.close();
  }

  async #step(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null> {
    this.#handled = null;
    const state = await this.#contact(signal);
    this.#handled = markOf(state);
    const known = contiguousEnd(since);
    const hashesAt: HashesAt = (heights) => this.#node.hashesAt(heights, signal);
    const common = this.#isDownloading(state) ? null : await commonBlocks(hashesAt, known, state);
    this.#behind = common === null;
    if (common === null) return null;
    const kept = known.slice(0, common);
    const from = tipOf(since);
    const isPresent = this.#present.includes(from.hash);
    const isPast = !isPresent && this.#present.length > 0 && from.height < state.height;
    if (!isPresent && !isPast) this.#mempool.forget();

    const finder: Finder = { chain: this.chain, watch: this.#watch, fresh: new Set(), pause: slices() };
    const { blocks, found } = await readBlocks(this.#node, tipOf(kept), state, finder, signal);
    const checkpoint = extended(kept, blocks);
    const atTip = tipOf(checkpoint).hash === state.hash;
    const time = atTip || this.#isPublic ? await this.#timeOf(tipOf(checkpoint).hash, signal) : null;
    // the past may have added addresses, so unconfirmed transactions are looked at again
    if (isPast && atTip) this.#mempool.forget();
    const view = atTip && !isPast ? await this.#mempool.look(state, finder.fresh, signal) : null;
    // a connection opened meanwhile must have led to the same chain
    await this.#node.identify(signal);
    if (!isPast) {
      this.#unfinished = !atTip;
      this.#present = [from.hash, tipOf(checkpoint).hash];
    }
    if (view) append(found, view.found);
    return {
      since: from,
      checkpoint,
      orphaned: known.slice(common),
      targets: 'all',
      mempool: view?.complete && time && this.#isSynced(state, time) ? 'complete' : 'unknown',
      ...(this.#isPublic && time && { tipMedianTime: time.medianTimeMs }),
      more: !atTip || this.#mempool.isBehind,
      ...found,
    };
  }

  /**
   * Whether the node's tip is the network's, as far as can be known: it has a block for each header, a connection to
   * other nodes, and a tip of a plausible age. A node that has just started has none of these.
   */
  #isSynced(state: NodeState, time: BlockTime): boolean {
    if (!this.#isPublic) return true;
    return state.headers <= state.height && state.peers !== 0 && this.#ageOf(time) <= TIP_AGE_MS_MAX[this.chain];
  }

  get #isPublic(): boolean {
    return this.network !== 'regtest';
  }

  #ageOf(time: BlockTime): number {
    return Math.max(0, Date.now() - time.timeMs);
  }

  /** The times of the tip, asked for once. */
  async #timeOf(hash: string, signal: AbortSignal): Promise<BlockTime> {
    if (this.#tip?.hash !== hash) this.#tip = { hash, time: await this.#node.blockTime(hash, signal) };
    return this.#tip.time;
  }

  /** Whether a sync now would find something. Throws if the node does not answer. */
  async #hasNews(signal: AbortSignal): Promise<boolean> {
    try {
      const state = await this.#contact(signal);
      await this.#timeOf(state.hash, signal);
      if (this.#poller.isSyncing) return false;
      if (this.#handled !== markOf(state)) return true;
      return !this.#behind && this.#alert === null && (this.#unfinished || this.#mempool.worthALook(state));
    } catch (error) {
      this.#failed(error, signal);
      throw error;
    }
  }

  async #contact(signal: AbortSignal): Promise<NodeState> {
    await this.#node.identify(signal);
    this.#state = await this.#node.state(signal);
    this.#contactError = null;
    return this.#state;
  }

  /** Runs a request, and records its result for `health`. */
  async #recording<T>(signal: AbortSignal, use: () => Promise<T>): Promise<T> {
    try {
      const result = await use();
      this.#alert = null;
      return result;
    } catch (caught) {
      const error = caught instanceof PrunedBlock ? this.#prunedUnderWay(caught) : caught;
      if (error instanceof Unavailable && !(error instanceof ChainAlert)) this.#failed(error, signal);
      else if (!signal.aborted) this.#alert = error instanceof Error ? error.message : String(error);
      throw error;
    }
  }

  /** Records a failure, so that the next success counts as a change. */
  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#contactError = error instanceof Error ? error.message : String(error);
    this.#handled = null;
  }

  #prunedUnderWay(error: PrunedBlock): ChainAlert {
    return new ChainAlert(`${error.message} in the node and was not read yet. ${prunedAdvice(this.#setting)}`);
  }

  /** A regtest node says that it is downloading until it has a fresh block, but it has no one to download from. */
  #isDownloading(state: NodeState): boolean {
    return state.downloading && this.#isPublic;
  }
}

/** The parts of a node's state whose change requires a sync. */
const markOf = (state: NodeState): string =>
  `${state.hash}:${state.downloading}:${state.headers <= state.height}:${state.peers === 0}`;

/** Appends one list to the other. Spreading a long one into a call would overflow the stack. */
function append(found: MatchResult, unconfirmed: MatchResult): void {
  for (const credit of unconfirmed.credits) found.credits.push(credit);
  for (const spend of unconfirmed.spends) found.spends.push(spend);
}
