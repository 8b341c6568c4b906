/**
 * The search of one chain for used accounts. It derives addresses, asks or reads the chain for them, and derives more behind each
 * that was paid.
 *
 * Invariant: when a chain counts as read, every address that may have been used (by the highest used one, the gap and
 * the jumps of restores) was searched in all of its blocks.
 */
import { type ChainAdapter, tipOf } from '../../chains/adapter.ts';
import type { ChainId } from '../../domain/assets.ts';
import type { AccountKey, Branch, Checkpoint } from '../../domain/chain.ts';
import { assert, Unavailable } from '../../domain/errors.ts';
import { type IndexRange, indicesToSearch, indicesToWatch, jumpsBetween, without } from '../../domain/indices.ts';
import { sleep } from '../../kit/async.ts';
import type { DiscoveryRequest, DiscoveryState } from './account-discovery.ts';
import type { ChainRecord, ListedRange } from './discovery-record.ts';
import type { AddressPath, ScratchList } from './scratch-list.ts';

const SLICE_MS_MAX = 5;
const RETRY_MS = 2_000;
const STATES_AT_ONCE = 500;
/** Of change, where a family uses one address of it: as many as BIP-44 has other programs search. */
const FIXED_CHANGE_GAP = 20;

type Progress = DiscoveryState['chains'][number];

/** One branch of an account: its highest used index, the indices that are searched, and how far a reading is complete. */
type Row = { account: number; branch: Branch; used: number; covered: IndexRange[]; ready: number };

/** Whom a search tells what it finds, how far it is, and why it waits (null: it does not). */
export type SearchListener = {
  used(place: AddressPath): void;
  keep(record: ChainRecord): Promise<void>;
  waits(why: string | null): void;
};

/** The address that change returns to, in the branch that has it. */
const fixedChange = ({ branch }: Row): IndexRange[] => (branch === 1 ? [{ from: 0, to: 1 }] : []);

const sizeOf = (ranges: readonly IndexRange[]): number => ranges.reduce((sum, { from, to }) => sum + to - from, 0);

async function inOrder<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (const item of items) await work(item);
}

export class ChainSearch {
  readonly progress: Progress;
  readonly #source: ChainAdapter;
  readonly #list: ScratchList;
  readonly #keys: readonly AccountKey[];
  readonly #request: Omit<DiscoveryRequest, 'accounts'>;
  readonly #told: SearchListener;
  readonly #signal: AbortSignal;
  readonly #rows: Row[];
  readonly #listed: ListedRange[] = [];
  /** So that a payment found within this gap requires no second reading of the blocks. */
  readonly #ahead: number;

  constructor(
    chain: ChainId,
    { source, list, keys }: { source: ChainAdapter; list: ScratchList; keys: readonly AccountKey[] },
    request: Omit<DiscoveryRequest, 'accounts'>,
    told: SearchListener,
    signal: AbortSignal,
  ) {
    this.#source = source;
    this.#list = list;
    this.#keys = keys;
    this.#request = request;
    this.#told = told;
    this.#signal = signal;
    this.#ahead = source.wholeHistories || source.areUsed ? 0 : request.gap;
    this.#rows = [...keys.keys()].flatMap((account) =>
      ([0, 1] as const).map((branch): Row => ({ account, branch, used: -1, covered: [], ready: -1 })),
    );
    const isCounted = source.areUsed !== undefined || source.wholeHistories === true;
    this.progress = {
      chain,
      derived: null,
      from: null,
      height: null,
      tip: null,
      addresses: isCounted ? { asked: 0, of: 0 } : null,
      done: false,
    };
  }

  /** The addresses that a light client watches on the server that it asks. */
  count(): void {
    const { addresses } = this.progress;
    const { wholeHistories, servers } = this.#source;
    if (!addresses || !wholeHistories || !servers) return;
    const watched = servers.call(this.#source).filter((one) => one.asked);
    addresses.asked = Math.min(addresses.of, Math.max(0, ...watched.map((one) => one.watched)));
  }

  /** `earlier`: how far the same search had come. */
  async run(earlier: ChainRecord | undefined): Promise<void> {
    const { knowsAccounts, areUsed, wholeHistories } = this.#source;
    // a light client asks for every history again, because it knows only what its present servers tell
    const known = wholeHistories ? undefined : earlier;
    try {
      await this.#derive(known);
      if (areUsed) await this.#readState(known?.asked ?? 0);
      else await this.#readBlocks(known?.checkpoint ?? null);
      this.progress.done = true;
    } finally {
      await this.#source.close();
    }
    if (knowsAccounts) delete this.#list.paidElsewhere;
  }

  /** Derives the addresses of an earlier search in their order, and then those that a search begins with. */
  async #derive(earlier: ChainRecord | undefined): Promise<void> {
    const { knowsAccounts } = this.#source;
    const first = knowsAccounts ? fixedChange : (row: Row) => this.#wanted(row);
    for (const [at, { used, ready }] of earlier?.rows.entries() ?? []) {
      const row = this.#rows[at];
      assert(row, 'an earlier search had the same accounts');
      Object.assign(row, { used, ready });
      if (used >= 0) this.#told.used({ account: row.account, branch: row.branch, index: used });
    }
    const listed = earlier?.listed ?? [];
    const of = earlier
      ? sizeOf(listed.map(([, , from, to]) => ({ from, to })))
      : sizeOf(this.#rows.flatMap((row) => first(row)));
    this.progress.derived = { done: 0, of };
    for (const [account, branch, from, to] of listed) {
      const rows = this.#rows.filter((row) => row.account === account && row.branch === branch);
      await inOrder(rows, (row) => this.#listMissing(row, [{ from, to }]));
    }
    if (knowsAccounts)
      this.#list.paidElsewhere = (account) => inOrder(this.#rowsOf(account), (row) => this.#extend(row));
    await inOrder(this.#rows, (row) => this.#listMissing(row, first(row)));
    this.progress.derived = null;
  }

  #branchesOf({ account }: Row): Row[] {
    return this.#rows.filter((row) => row.account === account);
  }

  #usedIn(row: Row): number {
    return Math.max(...this.#branchesOf(row).map(({ used }) => used));
  }

  /** Most accounts are unused, and each would cost as much as a used one. */
  #isFarSearched(row: Row): boolean {
    return row.account === 0 || this.#source.knowsAccounts === true || this.#usedIn(row) >= 0;
  }

  #wanted(row: Row): IndexRange[] {
    const { areUsed, spending } = this.#source;
    const { gap, jumps } = this.#request;
    const hasFixedChange = areUsed !== undefined && spending?.changeAddress === 'fixed';
    if (hasFixedChange && row.branch === 1) return indicesToWatch(row.used, FIXED_CHANGE_GAP, 0);
    const known = jumpsBetween(row.used, this.#usedIn(row));
    const isUnused = !this.#isFarSearched(row);
    return indicesToSearch({ used: row.used + this.#ahead, gap, jumps, known, isUnused });
  }

  #extend(row: Row): Promise<void> {
    return this.#listMissing(row, this.#wanted(row));
  }

  /** Derives and lists what is missing of these indices. */
  async #listMissing(row: Row, wanted: readonly IndexRange[]): Promise<void> {
    const missing = without(wanted, row.covered);
    row.covered.push(...missing);
    const { account, branch } = row;
    const key = this.#keys[account]!;
    const { addresses } = this.progress;
    for (const range of missing) {
      await this.#inTurns(range, async (index) => {
        const { script } = await this.#source.deriveAddress(key, branch, index);
        this.#list.add(script, { account, branch, index });
        if (addresses) addresses.of = this.#list.size;
        if (this.progress.derived) this.progress.derived.done = this.#list.size;
      });
      this.#listed.push([account, branch, range.from, range.to]);
    }
  }

  /** Calls `take` for each index, in short turns. */
  async #inTurns({ from, to }: IndexRange, take: (index: number) => Promise<void>): Promise<void> {
    let began = performance.now();
    for (let index = from; index < to && !this.#signal.aborted; index++) {
      await take(index);
      if (performance.now() - began < SLICE_MS_MAX) continue;
      await new Promise((resolve) => setImmediate(resolve));
      began = performance.now();
    }
  }

  /** Both branches of an account, by its key. */
  #rowsOf(account: AccountKey): Row[] {
    const own = this.#rows.filter((row) => this.#keys[row.account] === account);
    assert(own.length > 0, 'a source recognises payments to the accounts that it was given');
    return own;
  }

  async #found(id: number): Promise<void> {
    const place = this.#list.places[id];
    const row = place && this.#rows.find(({ account, branch }) => account === place.account && branch === place.branch);
    if (!row || place.index <= row.used) return;
    row.used = place.index;
    this.#told.used(place);
    await inOrder(this.#branchesOf(row), (one) => this.#extend(one));
  }

  #keep(checkpoint: Checkpoint | null, asked: number): Promise<void> {
    const rows = this.#rows.map(({ used, ready }) => ({ used, ready }));
    return this.#told.keep({ listed: [...this.#listed], rows, checkpoint, asked });
  }

  /** Asks for the state of every searched address; the used ones may add addresses to the search. */
  async #readState(from: number): Promise<void> {
    for (let at = from; at < this.#list.size && !this.#signal.aborted; ) {
      const page = this.#list.page(at - 1, STATES_AT_ONCE);
      const scripts = page.map(({ script }) => script);
      try {
        const answers = await this.#source.areUsed?.(scripts, this.#signal);
        for (const [i, { id }] of page.entries()) if (answers?.[i]) await this.#found(id);
        at += page.length;
        if (this.progress.addresses) this.progress.addresses.asked = at;
        await this.#keep(null, at);
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }

  /** `since`: the last block that an earlier search read. */
  async #readBlocks(since: Checkpoint | null): Promise<void> {
    let checkpoint = since;
    do {
      if (checkpoint === null)
        for (const row of this.#rows) row.ready = this.#isFarSearched(row) ? row.used + this.#ahead : -1;
      await this.#readToTip(checkpoint);
      checkpoint = null;
    } while (
      !this.#source.wholeHistories &&
      this.#rows.some(({ used, ready }) => used > ready) &&
      !this.#signal.aborted
    );
  }

  /** Reads a chain to its tip, from a block or else from the birthday on, and reports every paid address. */
  async #readToTip(since: Checkpoint | null): Promise<void> {
    const { progress } = this;
    let checkpoint = since;
    while (!this.#signal.aborted) {
      try {
        if (checkpoint === null || progress.from === null) {
          const beginning = await this.#source.begin(this.#request.birthday, this.#signal);
          progress.from = tipOf(beginning).height;
          checkpoint ??= beginning;
        }
        const read = tipOf(checkpoint);
        progress.height = read.height;
        progress.tip = this.#source.health().tip?.height ?? progress.tip;
        const watched = this.#list.size;
        const update = await this.#source.sync(checkpoint, this.#signal);
        let more = false;
        if (update) {
          more = update.more ?? tipOf(update.checkpoint).hash !== read.hash;
          for (const { targetId } of update.credits) await this.#found(targetId);
          checkpoint = update.checkpoint;
          await this.#keep(checkpoint, 0);
        }
        progress.height = tipOf(checkpoint).height;
        progress.tip = this.#source.health().tip?.height ?? null;
        // addresses added meanwhile were not searched yet
        if (update?.mempool === 'complete' && this.#list.size === watched) return;
        // such as a node that is at its tip and still loads its mempool
        if (!more && this.#list.size === watched) await sleep(RETRY_MS, this.#signal);
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }

  /** Waits after a source did not answer; throws every other error. */
  async #pauseAfter(error: unknown): Promise<void> {
    if (!(error instanceof Unavailable) || this.#signal.aborted) throw error;
    this.#told.waits(error.message);
    await sleep(RETRY_MS, this.#signal);
    this.#told.waits(null);
  }
}
