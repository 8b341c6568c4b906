/**
 * The connected chains, and the state of each in memory: its tip, and how recent its source's data is. Persistent state
 * is in the store. After a restart no chain counts as synced.
 */
import type { ChainAdapter } from '../../chains/adapter.ts';
import type { Spending } from '../../chains/spending.ts';
import type { Asset, Network } from '../../domain/assets.ts';
import { type ChainKey, type Checkpoint, chainKey } from '../../domain/chain.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { deadline } from '../deadline.ts';

/** A chain whose last complete sync began longer ago takes no new payments. */
const SYNC_AGE_MAX_MS = 60_000;
const RETRY_AFTER_SECONDS = 30;
/** The maximum number of versions whose refusal is remembered. */
const REFUSALS_MAX = 10_000;

export class ChainRuntime {
  readonly adapter: ChainAdapter;
  readonly key: ChainKey;
  /** When the last sync began that reached the tip with a complete mempool; 0 before the first. */
  syncedAt = 0;
  /** The number of such syncs since the start. */
  syncs = 0;
  /** By version: the number of syncs when a node first refused it. */
  readonly #refusals = new Map<number, number>();
  /**
   * Deadlines before this time count: the beginning of that sync, but at most what the blocks' own time allows, so that
   * a clock that jumped ahead cancels nothing. Milliseconds since 1970.
   */
  deadlinesUntil = 0;
  /** The latest possible current time by the newest blocks, milliseconds since 1970; null where blocks have no time. */
  latestNow: number | null = null;
  tipHeight: number | null = null;
  /** The blocks from which it was read since the start; null before the first pass. */
  startedFrom: Checkpoint | null = null;
  /** The ids of addresses that nothing was paid from, because blocks have more transactions of them than the books. */
  readonly unbooked = new Set<number>();
  /** Commits since the start that changed a balance. */
  entriesMoved = 0;
  /** Whether the source last said that it is behind. */
  lagging = false;
  /**
   * Whether the source has failed or was behind since that sync. Until the next one, blocks and mempool may contain
   * more than the store: a node may come back with another mempool, or with more blocks.
   */
  away = false;
  /** Since when servers of one operator alone speak, where those of several are named; null: two do. Milliseconds since 1970. */
  uncheckedSince: number | null = null;
  /** True while it is connected only by default and no business needs it; it then has no connection. */
  dormant = false;

  constructor(adapter: ChainAdapter) {
    this.adapter = adapter;
    this.key = chainKey(adapter.network, adapter.chain);
  }

  /** Plans and sends payments. Throws `Rejected` if this release cannot spend on the chain. */
  get spending(): Spending {
    const { chain, spending } = this.adapter;
    if (spending) return spending;
    throw new Rejected('withdrawal.unsupported', `This release does not spend on ${chain} yet`, 'crypto');
  }

  /** The time limit of one request to the source: a signal that aborts with `Unavailable` after `ms` milliseconds. */
  limit(ms: number): AbortSignal {
    return deadline(ms, this.key);
  }

  /** Whether the store has everything that the source is known to have. */
  get isCurrent(): boolean {
    return this.syncedAt !== 0 && !this.away;
  }

  /** The reason, for payers, why this chain takes no new payments; null if it does. */
  withheld(now: number): string | null {
    const stale = this.syncedAt === 0 || Math.abs(now - this.syncedAt) > SYNC_AGE_MAX_MS;
    if (!this.lagging && !stale) return null;
    return `${this.adapter.chain} payments are not available at the moment: the connection to its network is behind`;
  }

  isRefused(version: number): boolean {
    return this.#refusals.has(version);
  }

  /**
   * Whether a complete sync after the first refusal of a version did not show it. A node also refuses a transaction
   * that is in a block that was not synced here yet.
   */
  isRefusalKnown(version: number): boolean {
    const first = this.#refusals.get(version);
    // the first sync may have begun before the refusal
    return first !== undefined && this.syncs >= first + 2;
  }

  noteRefusal(version: number): void {
    if (this.isRefused(version)) return;
    if (this.#refusals.size >= REFUSALS_MAX) this.#refusals.clear();
    this.#refusals.set(version, this.syncs);
  }

  /** A node has the version, or may have it. */
  endRefusal(version: number): void {
    this.#refusals.delete(version);
  }

  /** Confirmations of a block at `height`; 0 for none. */
  confirmations(height: number | null): number {
    return height === null || this.tipHeight === null ? 0 : Math.max(0, this.tipHeight - height + 1);
  }
}

export class Chains {
  readonly #byKey = new Map<ChainKey, ChainRuntime>();

  add(adapter: ChainAdapter): ChainRuntime {
    const runtime = new ChainRuntime(adapter);
    this.#byKey.set(runtime.key, runtime);
    return runtime;
  }

  find(key: string): ChainRuntime | undefined {
    return this.#byKey.get(key as ChainKey);
  }

  all(): ChainRuntime[] {
    return [...this.#byKey.values()];
  }

  /**
   * The clock, limited to what the chains' blocks allow, for deadlines that depend on no chain and for what removes rows. A
   * clock that jumped ahead would otherwise pass them all. 0 until a chain was read since the start, except for an appliance
   * with simulated chains alone.
   */
  credibleNow(clock: number): number {
    const known = this.all().flatMap(({ latestNow }) => latestNow ?? []);
    if (known.length > 0) return Math.min(clock, Math.max(...known));
    const real = this.all().filter(({ adapter, dormant }) => adapter.network !== 'sandbox' && !dormant);
    return real.length > 0 && real.every(({ syncs }) => syncs === 0) ? 0 : clock;
  }

  /** Whether a source is connected that sees payments in an asset. */
  sees(network: Network, { chain, symbol }: Asset): boolean {
    const adapter = this.find(chainKey(network, chain))?.adapter;
    return adapter !== undefined && (adapter.assets === undefined || adapter.assets.includes(symbol));
  }

  /** The chain that takes a new payment now. Throws `Unavailable` when it is not configured, down or behind. */
  open(network: Network, asset: Asset, now: number): ChainRuntime {
    const runtime = this.sees(network, asset) ? this.find(chainKey(network, asset.chain)) : undefined;
    if (!runtime) throw new Unavailable(`${asset.symbol} is not connected to its network`, RETRY_AFTER_SECONDS);
    const why = runtime.withheld(now);
    if (why !== null) throw new Unavailable(why, RETRY_AFTER_SECONDS);
    return runtime;
  }
}
