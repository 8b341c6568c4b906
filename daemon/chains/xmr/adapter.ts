/**
 * The chain source of Monero: monerods, of which one is asked at a time. Blocks and the pool are read as they are and tried
 * with the view key here, so that a node learns neither addresses nor amounts, and has no wallet.
 *
 * Invariant: all facts of an update come from one node and one chain. Blocks and transactions have the hashes that were
 * asked for, and blocks link to the checkpoint.
 */
import type { Network } from '../../domain/assets.ts';
import type {
  AccountKey,
  BlockId,
  Branch,
  ChainUpdate,
  Checkpoint,
  Credit,
  DerivedAddress,
  SourceHealth,
  SourceServer,
} from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { type ChainAdapter, type ScriptList, tipOf } from '../adapter.ts';
import { Agreement, type NeedsAgreement } from '../agreement.ts';
import { deriveAddress } from '../derive.ts';
import { Endpoints } from '../endpoints.ts';
import {
  changed,
  checkpointAt,
  commonBlocks,
  contiguousEnd,
  extended,
  idOf,
  type LinkedHeader,
  linkedAbove,
} from '../follow.ts';
import { Poller } from '../poller.ts';
import { slices } from '../slices.ts';
import { isValidAddress } from './address.ts';
import { MoneroNode } from './node.ts';
import { Pool } from './pool.ts';
import { Scanner } from './scan.ts';

export type MoneroOptions = {
  network: Network;
  /** In the order in which they are asked; at least one. */
  urls: readonly string[];
  list: ScriptList;
  /** The accounts whose view keys outputs are tried with. */
  accounts: () => readonly AccountKey[];
  needsAgreement: NeedsAgreement;
  /** Called when a node gave a false answer. `server`: the node's address. */
  alert: (server: string, message: string) => void;
  pollMs?: number;
  blocksPerStep?: number;
};

/** Blocks read by one update. */
const BLOCKS_PER_STEP = 50;
const POLL_MS = 1_000;
/** A tip older than this shows that the node is cut off. By chance, such a gap between blocks occurs once in years. */
const HEAD_AGE_MS_MAX = 60 * 60_000;
/** Blocks that another node may be ahead before the asked one counts as kept back. */
const BEHIND_OTHERS_MAX = 3;
const COMPARE_MS = 60_000;

export class MoneroAdapter implements ChainAdapter {
  readonly network: Network;
  readonly chain = 'XMR';
  readonly #setting: string;
  readonly #blocksPerStep: number;
  readonly #endpoints: Endpoints<MoneroNode>;
  readonly #scanner: Scanner;
  readonly #pool: Pool;
  readonly #agreement: Agreement<MoneroNode>;
  readonly #poller: Poller;
  #syncing = false;
  /** Head and pool that the last sync handled; null when it did not reach them. */
  #handled: string | null = null;
  #behind = false;
  /**
   * Whether the checkpoint's blocks were read again since the start, because credits without agreement are kept in memory
   * only.
   */
  #isReread = false;
  #comparedAtMs = performance.now();
  #head: LinkedHeader | null = null;
  #error: string | null = null;

  /** Throws `Rejected` when a URL is malformed. */
  constructor(options: MoneroOptions) {
    const { network, urls, list, accounts, alert, needsAgreement } = options;
    this.network = network;
    this.#blocksPerStep = options.blocksPerStep ?? BLOCKS_PER_STEP;
    this.#setting = `[networks.${network}.XMR] monerod`;
    const open = (url: string) => new MoneroNode({ url, label: this.#setting, network });
    this.#endpoints = new Endpoints(this.#setting, urls, open, alert);
    this.#scanner = new Scanner(network, list, accounts);
    this.#pool = new Pool(this.#scanner);
    this.#agreement = new Agreement(this.#endpoints, needsAgreement, isThere);
    this.#poller = new Poller(options.pollMs ?? POLL_MS, (signal) => this.#hasNews(signal));
  }

  async deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress> {
    return deriveAddress('XMR', this.network, account, branch, index);
  }

  isValidAddress(text: string): boolean {
    return isValidAddress(text, this.network);
  }

  async begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint> {
    this.#poller.start();
    return this.#recording(signal, async () => {
      const checkpoint = await this.#endpoints.first((node) => checkpointAt(node, birthday, signal), signal);
      assert(checkpoint, 'a node answers or throws');
      return checkpoint;
    });
  }

  async sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null> {
    signal.throwIfAborted();
    assert(!this.#syncing, 'one sync at a time');
    this.#poller.start();
    this.#syncing = true;
    this.#handled = null;
    try {
      const update = await this.#recording(signal, () =>
        this.#endpoints.first((node) => this.#step(node, since, signal), signal),
      );
      this.#behind = update === undefined;
      return update ?? null;
    } finally {
      this.#syncing = false;
    }
  }

  onHint(wake: () => void): void {
    this.#poller.onNews(wake);
    this.#poller.start();
  }

  health(): SourceHealth {
    const head = this.#head;
    return {
      source: this.#endpoints.asked.name,
      tip: head && idOf(head),
      tipAgeMs: head && this.#ageOf(head),
      lagging: this.#behind || this.#endpoints.asked.isBehind || (head !== null && !this.#isFresh(head)),
      error: this.#error,
    };
  }

  servers(): SourceServer[] {
    const tip = this.#head && idOf(this.#head);
    return this.#endpoints.servers().map(({ name, asked, failures, error, waiting }) => ({
      ...{ name, asked, failures, error },
      state: waiting ? 'waiting' : asked ? 'ready' : 'idle',
      software: null,
      tip: asked ? tip : null,
      behind: null,
      latencyMs: null,
      watched: 0,
    }));
  }

  async close(): Promise<void> {
    await this.#poller.stop();
    this.#endpoints.close();
  }

  /** One step with one node; undefined when the node is behind the checkpoint. */
  async #step(node: MoneroNode, since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | undefined> {
    const head = await node.head(signal);
    this.#head = head;
    const known = contiguousEnd(since);
    const common = await commonBlocks(node, known, head, signal);
    if (common === null) return undefined;
    const kept = known.slice(0, common);
    const base = tipOf(kept);
    const count = Math.min(this.#blocksPerStep, Math.max(0, head.height - base.height));
    const headers = await linkedAbove(node, base, count, signal);
    const checkpoint = extended(kept, headers);
    const tip = tipOf(checkpoint);
    const atHead = tip.height >= head.height;
    const again = this.#isReread
      ? []
      : await node.headers(
          kept.map(({ height }) => height),
          signal,
        );
    const confirmed = await this.#read(node, [...again.filter((header) => header !== null), ...headers], signal);
    const pool = atHead ? await this.#pool.look(node, signal) : null;
    const mark = pool && markOf(tip, pool.hashes);
    const [still] = await node.headers([tip.height], signal);
    if (still?.hash !== tip.hash) throw changed();
    if (atHead) await this.#compare(node, tip, signal);
    const credits = await this.#scanner.withoutTwins([...confirmed, ...(pool?.credits ?? [])], node, signal);
    const told = await this.#agreement.judge([{ credits, teller: node }], checkpoint, signal);
    this.#isReread = true;
    if (pool?.isWhole) this.#handled = mark;
    return {
      since: tipOf(since),
      checkpoint,
      orphaned: known.slice(common),
      targets: 'all',
      mempool: pool?.isWhole && this.#isFresh(head) && !node.isBehind ? 'complete' : 'unknown',
      credits: told,
      spends: [],
      ...(this.network !== 'regtest' && { tipMedianTime: still.timeMs }),
      more: !atHead || pool?.isWhole === false,
    };
  }

  /** The credits in blocks, in order. */
  async #read(node: MoneroNode, headers: readonly LinkedHeader[], signal: AbortSignal): Promise<Credit[]> {
    const pause = slices();
    const credits: Credit[] = [];
    for (const header of headers) {
      const block = await node.block(header.hash, signal);
      const where = { block: idOf(header), blockTime: header.timeMs };
      credits.push(...(await this.#scanner.find(block.coinbase, where, pause)));
      const known = await node.transactions(block.txids, signal);
      for (const txid of block.txids) {
        const transaction = known.get(txid)?.transaction;
        if (!transaction) throw changed();
        credits.push(...(await this.#scanner.find(transaction, where, pause)));
      }
    }
    return credits;
  }

  /** Whether a node of another operator is further ahead on the same chain, so that this one withholds blocks. */
  async #compare(node: MoneroNode, tip: BlockId, signal: AbortSignal): Promise<void> {
    if (this.#endpoints.operators < 2 || performance.now() - this.#comparedAtMs < COMPARE_MS) return;
    this.#comparedAtMs = performance.now();
    const ahead = await this.#endpoints.other(
      node,
      async (other) => {
        const head = await other.head(signal);
        const [same] = await other.headers([tip.height], signal);
        return same?.hash === tip.hash ? head.height - tip.height : 0;
      },
      signal,
    );
    if ((ahead ?? 0) > BEHIND_OTHERS_MAX) this.#endpoints.caught(node, `it is ${ahead} blocks behind another node`);
  }

  #ageOf(header: LinkedHeader): number {
    return Math.max(0, Date.now() - header.timeMs);
  }

  /** Whether a head is young enough to be the network's newest. Test chains have no regular blocks. */
  #isFresh(header: LinkedHeader): boolean {
    return this.network === 'regtest' || this.#ageOf(header) <= HEAD_AGE_MS_MAX;
  }

  async #hasNews(signal: AbortSignal): Promise<boolean> {
    const mark = await this.#recording(signal, () =>
      this.#endpoints.first(async (node) => markOf(await node.head(signal), await node.pool(signal)), signal),
    );
    if (this.#syncing || mark === undefined) return false;
    return this.#handled !== mark || this.#agreement.isDue();
  }

  /** Runs a use of the nodes and keeps its result for `health`. */
  async #recording<T>(signal: AbortSignal, use: () => Promise<T>): Promise<T> {
    try {
      const result = await use();
      this.#error = null;
      return result;
    } catch (error) {
      if (!signal.aborted) {
        this.#error = error instanceof Error ? error.message : String(error);
        this.#handled = null;
      }
      throw error;
    }
  }
}

/** The state of head and pool; a change of it requires a sync. */
const markOf = ({ hash }: BlockId, pool: readonly string[]): string => `${hash} ${pool.toSorted().join()}`;

/** Whether a node has the credit's block on its chain, with its transaction in it. */
async function isThere(node: MoneroNode, { block, txid }: Credit, signal: AbortSignal): Promise<boolean> {
  if (!block) return false;
  const [header] = await node.headers([block.height], signal);
  if (header?.hash !== block.hash) return false;
  const { coinbase, txids } = await node.block(block.hash, signal);
  return coinbase.id === txid || txids.includes(txid);
}
