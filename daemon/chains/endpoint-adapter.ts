/**
 * The adapter of a chain family whose source is a list of endpoints, of which one is asked at a time. A family adds how a
 * step is read.
 *
 * Invariant: all facts of an update come from one endpoint and one chain, and every block that it names links to the
 * checkpoint. Facts that another operator's endpoint adds carry its name (`Told`).
 */
import type { ChainId, Network } from '../domain/assets.ts';
import type {
  AccountKey,
  Branch,
  ChainUpdate,
  Checkpoint,
  Credit,
  Debit,
  DerivedAddress,
  Operators,
  Searched,
  SourceHealth,
  SourceServer,
  SpendSeen,
  UnknownTransfer,
} from '../domain/chain.ts';
import { assert } from '../domain/errors.ts';
import { type ChainAdapter, type ScriptList, type StoredCoin, tipOf } from './adapter.ts';
import { Agreement, type AreThere, type NeedsAgreement, type Report } from './agreement.ts';
import {
  changed,
  checkpointAt,
  commonBlocks,
  contiguousEnd,
  type HeaderSource,
  hashesOf,
  idOf,
  isBefore,
  type LinkedHeader,
} from './checkpoint.ts';
import { type Endpoint, Endpoints, Malformed, Undecided } from './endpoints.ts';
import { Poller } from './poller.ts';

interface HeaderEndpoint<H extends LinkedHeader> extends Endpoint, HeaderSource<H> {
  /** Whether it reports that it lacks blocks; absent where endpoints do not report that. */
  readonly isBehind?: boolean;
}

type EndpointAdapterOptions<E extends Endpoint> = {
  network: Network;
  /** How messages name the setting. */
  setting: string;
  /** In the order in which they are asked; at least one. */
  urls: readonly string[];
  list: ScriptList;
  open: (url: string) => E;
  needsAgreement: NeedsAgreement;
  areThere: AreThere<E>;
  /** Called when an endpoint gave a false answer. `server`: the endpoint's address. */
  alert: (server: string, message: string) => void;
  pollMs: number;
  /** If its head is older than this, the endpoint is cut off. */
  headAgeMsMax: number;
};

/**
 * The most blocks that are read by one endpoint's word. A checkpoint that has only blocks of a wrong branch has no way back to the
 * right one.
 */
const ALONE_BLOCKS_MAX = 50;
/** Longer forks of one network do not occur by chance. */
export const FORK_BLOCKS_MAX = 10;
/** So many operators must contradict it, before it is called wrong. */
const DENIED_BY = 2;

export type StepStart<H> = {
  head: H;
  /** The blocks of the checkpoint that are on the endpoint's chain; at least one. */
  kept: Checkpoint;
  /** The hashes of blocks that left the chain, or may have: those of an update that was broken off. */
  orphaned: readonly string[];
  /**
   * The blocks of the checkpoint to be read again: all of `kept` in the first step after the start, because credits
   * without agreement are kept in memory only.
   */
  again: Checkpoint;
  /**
   * In the first step after the start: coins that are in no block, or whose spending transaction is in none, by the books. They
   * may be in blocks below the checkpoint, because they waited for another operator before the start.
   */
  pending: readonly StoredCoin[];
};

export type StepRead<E> = {
  checkpoint: Checkpoint;
  told: Report<E>[];
  /** The mark of the state that was read completely; null when more is to be read. */
  handled: string | null;
  /** Whether unconfirmed transactions of that state were left out. */
  isPartial?: boolean;
  finalized?: number | null;
  unknownTransfers?: readonly UnknownTransfer[];
  /** Uses of conflict keys of ours. */
  spends?: SpendSeen[];
  /** Only of a chain of accounts. */
  debits?: Debit[];
  searched?: Searched | null;
  /** Whether everything was asked by the hashes of blocks. */
  byHash?: boolean;
  /** The header of the checkpoint's last block, if that was read, and is proved to follow the others. */
  tipHeader?: LinkedHeader | undefined;
};

export abstract class EndpointAdapter<E extends HeaderEndpoint<H>, H extends LinkedHeader> implements ChainAdapter {
  abstract readonly chain: ChainId;
  readonly network: Network;
  protected readonly endpoints: Endpoints<E>;
  readonly #list: ScriptList;
  readonly #setting: string;
  readonly #headAgeMsMax: number;
  readonly #agreement: Agreement<E>;
  readonly #poller: Poller;
  /** The height up to which another operator has the same blocks, or where the checkpoint of the start begins; null before. */
  #shared: number | null = null;
  #isReread = false;
  /** The mark of the state that the last sync reached; null when the sync stopped before its end. */
  #handled: string | null = null;
  #behind = false;
  #head: H | null = null;
  /** The newest answer about the head, and who gave it. */
  #told: { endpoint: E; head: H; atMs: number } | null = null;
  #error: string | null = null;

  /** Throws `Rejected` when a URL is malformed. */
  constructor(options: EndpointAdapterOptions<E>) {
    const { network, setting, urls, list, open, alert, needsAgreement, areThere } = options;
    this.network = network;
    this.#list = list;
    this.#setting = setting;
    this.endpoints = new Endpoints(setting, urls, open, alert);
    this.#headAgeMsMax = options.headAgeMsMax;
    const isStored = ({ id, block }: Credit): boolean => list.coin(id)?.blockHash === block?.hash;
    const isSettled = (credit: Credit): boolean => {
      const { targetId, amount } = credit;
      const coin = list.coin(credit.id);
      const isSame = coin?.targetId === targetId && coin.asset === amount.asset && coin.units === amount.units;
      return isSame && isStored(credit);
    };
    const isProved = (credit: Credit): boolean => this.isProved(credit);
    this.#agreement = new Agreement(this.endpoints, needsAgreement, { areThere, isStored, isSettled, isProved });
    this.#poller = new Poller(
      options.pollMs,
      (signal) => this.#hasNews(signal),
      () => (this.#agreement.isWaiting() ? 0 : this.quietMs()),
    );
  }

  abstract deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress>;
  abstract isValidAddress(text: string): boolean;

  /** Reads a bounded step above `kept`. Throws `Unavailable` when the chain changes meanwhile. */
  protected abstract read(endpoint: E, start: StepStart<H>, signal: AbortSignal): Promise<StepRead<E>>;

  /** Asks for what `read` will need if it begins so. It is not known yet whether it will. */
  protected prepare(_endpoint: E, _start: Pick<StepStart<H>, 'head' | 'kept' | 'again'>): void {}

  /** Whether a small credit counts by one endpoint's word, because its block proves it. */
  protected isProved(_credit: Credit): boolean {
    return true;
  }

  /** The time for which nothing new is to be expected, in milliseconds. */
  protected quietMs(): number {
    return 0;
  }

  /** Whether there can be no block yet above this head, or hardly one: it was told so many milliseconds ago. */
  protected isNewest(_head: H, _toldMs: number): boolean {
    return false;
  }

  /** The state of an endpoint whose change requires a sync. */
  protected abstract mark(endpoint: E, signal: AbortSignal): Promise<string>;

  /** An endpoint's newest block, which is kept for the next sync. */
  protected async headOf(endpoint: E, signal: AbortSignal): Promise<H> {
    const atMs = performance.now();
    const head = await endpoint.head(signal);
    this.#told = { endpoint, head, atMs };
    return head;
  }

  /** The spends of a step as they may be reported; those in blocks may need the word of another operator's endpoint. */
  protected async judgeSpends(
    spends: SpendSeen[],
    _teller: E,
    _checkpoint: Checkpoint,
    _signal: AbortSignal,
  ): Promise<SpendSeen[]> {
    return spends;
  }

  /** The credits that wait for the word of another operator's endpoint, or for the books, and that none denies; with their blocks. */
  protected held(): readonly Credit[] {
    return this.#agreement.undenied();
  }

  /** Forgets credits that another operator denies, if others explain the same money. */
  protected replace(isReplaced: (denied: Credit) => boolean): void {
    this.#agreement.replace(isReplaced);
  }

  /** Checks for changes at once, because of a hint. */
  protected hurry(): void {
    this.#poller.hurry();
  }

  /** Whether a sync has work although no mark has changed. */
  protected isDue(): boolean {
    return false;
  }

  async begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint> {
    this.#poller.start();
    const checkpoint = await this.#ask(async (endpoint) => {
      const found = await checkpointAt(endpoint, birthday, signal);
      await this.#isShared(endpoint, found, signal);
      if (birthday !== null) {
        await this.#needTime(endpoint, tipOf(found).height, (header) => isBefore(header, birthday), signal);
      }
      return found;
    }, signal);
    assert(checkpoint, 'an endpoint answers or throws');
    return checkpoint;
  }

  async blockTime(height: number, signal: AbortSignal): Promise<number | null> {
    const found = await this.#ask(async (endpoint) => {
      const [header = null] = await endpoint.headers([height], signal);
      if (header) await this.#needTime(endpoint, height, ({ timeMs }) => timeMs === header.timeMs, signal);
      return { timeMs: header?.timeMs ?? null };
    }, signal);
    return found?.timeMs ?? null;
  }

  async sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null> {
    signal.throwIfAborted();
    return this.#poller.sync(async () => {
      this.#handled = null;
      const update = await this.#ask((endpoint) => this.#step(endpoint, since, signal), signal);
      this.#behind = update === undefined;
      return update ?? null;
    });
  }

  onHint(wake: () => void): void {
    this.#poller.onNews(wake);
  }

  health(): SourceHealth {
    const head = this.#head;
    const { name, isBehind = false } = this.endpoints.asked;
    return {
      source: name,
      tip: head && idOf(head),
      tipAgeMs: head && ageOf(head),
      lagging: this.#behind || isBehind || (head !== null && !this.#isFresh(head)),
      error: this.#error,
    };
  }

  operators(): Operators {
    return { named: this.endpoints.operators, speaking: this.endpoints.speaking };
  }

  servers(): SourceServer[] {
    const tip = this.#head && idOf(this.#head);
    return this.endpoints.servers().map(({ name, asked, failures, error, waiting }) => ({
      name,
      asked,
      failures,
      error,
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
    this.endpoints.close();
  }

  async #newestOf(endpoint: E, signal: AbortSignal): Promise<H> {
    const known = this.#told;
    const isNewest = known?.endpoint === endpoint && this.isNewest(known.head, performance.now() - known.atMs);
    return isNewest ? known.head : this.headOf(endpoint, signal);
  }

  /** One step with one endpoint; undefined when the endpoint is behind the checkpoint. */
  async #step(endpoint: E, since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | undefined> {
    const head = await this.#newestOf(endpoint, signal);
    this.#head = head;
    const known = contiguousEnd(since);
    const again = (kept: Checkpoint): Checkpoint => (this.#isReread ? [] : kept);
    const commonly = commonBlocks(hashesOf(endpoint, signal), known, head);
    // most often no block left the chain
    this.prepare(endpoint, { head, kept: known, again: again(known) });
    const common = await commonly;
    if (common === null) return undefined;
    const kept = known.slice(0, common);
    const orphaned = known.slice(common);
    const left = [...orphaned.map(({ hash }) => hash), ...(this.#list.ahead?.() ?? [])];
    const pending = this.#isReread ? [] : [...(this.#list.pending?.() ?? [])].flat();
    const {
      checkpoint,
      told,
      handled,
      isPartial = false,
      finalized = null,
      unknownTransfers,
      spends: seen = [],
      debits,
      searched,
      byHash = false,
      tipHeader,
    } = await this.read(endpoint, { head, kept, orphaned: left, again: again(kept), pending }, signal);
    const tip = tipOf(checkpoint);
    this.#shared ??= kept[0]?.height ?? 0;
    await this.#needShared(endpoint, checkpoint, this.#shared, signal);
    // what was asked by the hash of its block cannot be of another branch
    const last = tipHeader ?? (byHash && head.hash === tip.hash ? head : null);
    const [still] = last ? [last] : await endpoint.headers([tip.height], signal);
    if (still?.hash !== tip.hash) throw changed();
    const credits = await this.#agreement.judge(told, checkpoint, signal);
    const spends = await this.judgeSpends(seen, endpoint, checkpoint, signal);
    this.#isReread = true;
    this.#handled = handled;
    const isWhole = handled !== null && !isPartial;
    return {
      since: tipOf(since),
      checkpoint,
      orphaned,
      targets: 'all',
      mempool: isWhole && this.#isFresh(head) && endpoint.isBehind !== true ? 'complete' : 'unknown',
      credits,
      spends,
      ...(debits && { debits }),
      ...(this.network !== 'regtest' && { tipMedianTime: still.timeMs }),
      finalized,
      ...(unknownTransfers && { unknownTransfers }),
      ...(searched && { searched }),
      more: handled === null || searched?.isWhole === false,
    };
  }

  /**
   * Refuses blocks that the asked endpoint alone has, once there are many. With another operator that contradicts it, nobody can tell
   * which one is right, and nothing more is read until they agree.
   */
  async #needShared(endpoint: E, checkpoint: Checkpoint, shared: number, signal: AbortSignal): Promise<void> {
    const { height } = tipOf(checkpoint);
    if (height - shared < ALONE_BLOCKS_MAX) return;
    if (await this.#isShared(endpoint, checkpoint, signal)) this.#shared = height;
  }

  /**
   * Whether another operator has the same blocks; false: none tells. Throws if one contradicts them, by another block or by a chain that
   * ends far below although it goes on: the asked endpoint is wrong if two others do.
   */
  async #isShared(endpoint: E, checkpoint: Checkpoint, signal: AbortSignal): Promise<boolean> {
    const tip = tipOf(checkpoint);
    const { height, hash } = checkpoint.at(-1 - FORK_BLOCKS_MAX) ?? tip;
    const affirms = async (other: E): Promise<boolean | null> => {
      const [theirs] = await other.headers([height], signal);
      if (theirs) return theirs.hash === hash;
      return (await keepsPace(other, tip.height, signal)) ? false : null;
    };
    const denying = await this.endpoints.deniers(endpoint, affirms, signal);
    if (denying === null) return true;
    if (denying.length >= DENIED_BY) throw new Malformed(`another block ${height} than all other endpoints have`);
    if (denying[0]) throw divided(this.#setting, [endpoint, denying[0]], `have different blocks ${height}`);
    return false;
  }

  /** The same for the time of a block, as other operators tell it: a beginning is too late if its block is called too old. */
  async #needTime(endpoint: E, height: number, isRight: (header: H) => boolean, signal: AbortSignal): Promise<void> {
    const affirms = async (other: E): Promise<boolean | null> => {
      const [theirs] = await other.headers([height], signal);
      return theirs ? isRight(theirs) : null;
    };
    const denying = (await this.endpoints.deniers(endpoint, affirms, signal)) ?? [];
    if (denying.length >= DENIED_BY) throw new Malformed(`another time of block ${height} than all other endpoints`);
    if (denying[0]) throw divided(this.#setting, [endpoint, denying[0]], `tell different times of block ${height}`);
  }

  async #hasNews(signal: AbortSignal): Promise<boolean> {
    const mark = await this.#ask((endpoint) => this.mark(endpoint, signal), signal);
    if (this.#poller.isSyncing || mark === undefined) return false;
    return this.#handled !== mark || this.#agreement.isDue() || this.isDue();
  }

  /** Whether a head is young enough to be the network's newest. Test chains have no regular blocks. */
  #isFresh(head: H): boolean {
    return this.network === 'regtest' || ageOf(head) <= this.#headAgeMsMax;
  }

  /** Asks the endpoints in order, and keeps the result for `health`. */
  async #ask<T>(use: (endpoint: E) => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined> {
    try {
      const result = await this.endpoints.first(use, signal);
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

/** `how`: what they do. */
const divided = (setting: string, [one, other]: readonly [Endpoint, Endpoint], how: string): Undecided =>
  new Undecided(
    `${setting}: ${one.name} and ${other.name} ${how}, and nobody here can tell which one is right. Nothing ` +
      'of this chain is read until they agree. Compare with a block explorer, and take the wrong one out of the configuration, ' +
      'or name an endpoint of a third operator',
  );

/**
 * Whether an endpoint that ends far below a height has all blocks that there are: its newest one is young for the time that its last
 * ones took. One that is still being synchronised has an old one.
 */
async function keepsPace<E extends HeaderEndpoint<LinkedHeader>>(
  endpoint: E,
  height: number,
  signal: AbortSignal,
): Promise<boolean> {
  const head = await endpoint.head(signal);
  if (endpoint.isBehind || height - head.height <= ALONE_BLOCKS_MAX) return false;
  const [earlier] = await endpoint.headers([Math.max(0, head.height - ALONE_BLOCKS_MAX)], signal);
  return earlier != null && 2 * ageOf(head) < head.timeMs - earlier.timeMs;
}

const ageOf = ({ timeMs }: LinkedHeader): number => Math.max(0, Date.now() - timeMs);
