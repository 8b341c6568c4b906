/**
 * The chains that run now, and what is known of each in memory: its tip and how fresh its source is. What must survive
 * a restart is in the store; after one, nothing counts as synced until it was.
 */
import type { ChainAdapter } from '../../chains/adapter.ts';
import type { Asset, Network } from '../../domain/assets.ts';
import { type ChainKey, chainKey } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';

/** A chain whose last complete sync began longer ago than this takes no new payments. */
export const SYNC_AGE_MAX_MS = 60_000;
const RETRY_AFTER_SECONDS = 30;

export class ChainRuntime {
  readonly adapter: ChainAdapter;
  readonly key: ChainKey;
  /** When the last sync began that reached the tip with the mempool complete; 0 before the first. */
  syncedAt = 0;
  /** Syncs that reached the tip with the mempool complete, since the start. */
  syncs = 0;
  /** By version: how many syncs there were when a node first refused it. */
  readonly refusals = new Map<number, number>();
  /**
   * Deadlines before this instant count: when that sync began, but at most what the blocks' own time allows, so that a
   * clock that jumped ahead cancels nothing. Milliseconds since 1970.
   */
  deadlinesUntil = 0;
  /** The latest that it can be by the time of the newest blocks, milliseconds since 1970; null where blocks keep none. */
  latestNow: number | null = null;
  tipHeight: number | null = null;
  /** Commits since the start that moved a balance. */
  entriesMoved = 0;
  /** Whether the source said that it is behind, when it was last asked. */
  lagging = false;
  /**
   * Whether the source failed to answer, or was behind, since that sync. Until the next one, blocks and mempool may hold
   * more than the books say: a node that was away comes back with another mempool, or with blocks.
   */
  away = false;
  /** Connected to nothing yet: it is there by default, and no business needs it. */
  dormant = false;

  constructor(adapter: ChainAdapter) {
    this.adapter = adapter;
    this.key = chainKey(adapter.network, adapter.chain);
  }

  /** Whether what the books do not show is not in the mempool or a block either, as far as anybody knows. */
  get isCurrent(): boolean {
    return this.syncedAt !== 0 && !this.away;
  }

  /** Why no new payment should be taken on this chain, in a payer's words, or null. */
  withheld(now: number): string | null {
    const stale = this.syncedAt === 0 || Math.abs(now - this.syncedAt) > SYNC_AGE_MAX_MS;
    if (!this.lagging && !stale) return null;
    return `${this.adapter.chain} payments are not available at the moment: the connection to its network is behind`;
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
   * The clock, but no later than any chain allows: for deadlines that no chain is asked about. A clock that jumped ahead
   * would pass them all.
   */
  credibleNow(clock: number): number {
    const known = this.all().flatMap(({ latestNow }) => latestNow ?? []);
    return known.length === 0 ? clock : Math.min(clock, Math.max(...known));
  }

  /** Whether a source is connected that sees what is paid in an asset. */
  sees(network: Network, { chain, symbol }: Asset): boolean {
    const adapter = this.find(chainKey(network, chain))?.adapter;
    return adapter !== undefined && (adapter.assets === undefined || adapter.assets.includes(symbol));
  }

  /** The chain that takes a new payment now. Throws `Unavailable` when it is not configured, down or behind. */
  open(network: Network, asset: Asset, now: number): ChainRuntime {
    const runtime = this.sees(network, asset) ? this.find(chainKey(network, asset.chain)) : undefined;
    const why = runtime ? runtime.withheld(now) : `${asset.symbol} is not connected to its network`;
    if (why !== null || !runtime) throw new Unavailable(why ?? '', RETRY_AFTER_SECONDS);
    return runtime;
  }
}
