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
import {
  type IndexRange,
  indicesToWatch,
  jumpsBetween,
  NEAR_STEPS,
  searchSteps,
  without,
} from '../../domain/indices.ts';
import { TimeLeft } from '../../domain/time-left.ts';
import { sleep } from '../../kit/async.ts';
import type { DiscoveryRequest, DiscoveryState } from './account-discovery.ts';
import type { ChainRecord, ListedRange } from './discovery-record.ts';
import type { AddressPath, ScratchList } from './scratch-list.ts';

const SLICE_MS_MAX = 5;
const RETRY_MS = 2_000;
/** Addresses whose state is asked for at once. A slow source is asked for fewer, so that what it told is stored soon. */
const STATES_AT_ONCE = 500;
const STATES_AT_ONCE_MIN = 20;
const STATES_MS_MAX = 10_000;
/** Addresses that are listed at once where a source is asked for their state: what is found changes which ones come next. */
const LISTED_AT_ONCE = 2_000;
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

function firstOf(ranges: readonly IndexRange[], count: number): IndexRange[] {
  const first: IndexRange[] = [];
  let room = count;
  for (const { from, to } of ranges) {
    if (room <= 0) break;
    first.push({ from, to: Math.min(to, from + room) });
    room -= to - from;
  }
  return first;
}

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
    this.#ahead = source.areUsed ? 0 : request.gap;
    this.#rows = [...keys.keys()].flatMap((account) =>
      ([0, 1] as const).map((branch): Row => ({ account, branch, used: -1, covered: [], ready: -1 })),
    );
    this.progress = {
      chain,
      derived: null,
      from: null,
      height: null,
      tip: null,
      addresses: source.areUsed ? { asked: 0, of: 0, seconds_left: null } : null,
      near: false,
      done: false,
    };
  }

  /** `earlier`: how far the same search had come. */
  async run(earlier: ChainRecord | undefined): Promise<void> {
    const { knowsAccounts, areUsed } = this.#source;
    // of a source of blocks, in another order
    const known = areUsed && earlier?.asked === 0 ? undefined : earlier;
    // the blocks that were read for fewer accounts are read again
    const hasAll = known?.rows.length === this.#rows.length;
    try {
      await this.#derive(known);
      if (areUsed) await this.#readState(known?.asked ?? 0);
      else await this.#readBlocks((hasAll && known?.checkpoint) || null);
      this.progress.done = !this.#signal.aborted;
      this.progress.near = this.progress.done;
    } finally {
      await this.#source.close();
    }
    if (knowsAccounts) delete this.#list.paidElsewhere;
  }

  /** Derives the addresses of an earlier search in their order, and then those that a reading of blocks begins with. */
  async #derive(earlier: ChainRecord | undefined): Promise<void> {
    const { areUsed, knowsAccounts } = this.#source;
    const first = (row: Row): IndexRange[] => (areUsed ? [] : knowsAccounts ? fixedChange(row) : this.#wanted(row));
    for (const [at, { used, ready }] of earlier?.rows.entries() ?? []) {
      const row = this.#rows[at];
      assert(row, 'an earlier search had the same accounts');
      Object.assign(row, { used, ready });
      if (used >= 0) this.#told.used({ account: row.account, branch: row.branch, index: used });
    }
    const listed = earlier?.listed ?? [];
    const added = this.#rows.slice(earlier?.rows.length ?? 0);
    const of = sizeOf([...listed.map(([, , from, to]) => ({ from, to })), ...added.flatMap((row) => first(row))]);
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

  /** The indices to search, in the order of `searchSteps`. */
  #steps(row: Row): IndexRange[][] {
    const { areUsed, spending } = this.#source;
    const { gap, jumps } = this.#request;
    const hasFixedChange = areUsed !== undefined && spending?.changeAddress === 'fixed';
    if (hasFixedChange && row.branch === 1) return [indicesToWatch(row.used, FIXED_CHANGE_GAP, 0)];
    const known = jumpsBetween(row.used, this.#usedIn(row));
    const isUnused = !this.#isFarSearched(row);
    return searchSteps({ used: row.used + this.#ahead, gap, jumps, known, isUnused });
  }

  #wanted(row: Row): IndexRange[] {
    return this.#steps(row).at(-1) ?? [];
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
    for (const range of missing) {
      await this.#inTurns(range, async (index) => {
        const { script } = await this.#source.deriveAddress(key, branch, index);
        this.#list.add(script, { account, branch, index });
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
    // where a state is asked for, they are listed in their turn
    if (!this.#source.areUsed) await inOrder(this.#branchesOf(row), (one) => this.#extend(one));
  }

  #keep(checkpoint: Checkpoint | null, asked: number): Promise<void> {
    const rows = this.#rows.map(({ used, ready }) => ({ used, ready }));
    return this.#told.keep({ listed: [...this.#listed], rows, checkpoint, asked });
  }

  /** Asks for the state of every searched address; the used ones may add addresses to the search. */
  async #readState(from: number): Promise<void> {
    const left = new TimeLeft();
    let limit = STATES_AT_ONCE;
    for (let at = from; !this.#signal.aborted; ) {
      if (at >= this.#list.size && !(await this.#listNext())) return;
      const page = this.#list.page(at - 1, limit);
      const scripts = page.map(({ script }) => script);
      const beganAtMs = performance.now();
      try {
        const answers = await this.#source.areUsed?.(scripts, this.#signal);
        for (const [i, { id }] of page.entries()) if (answers?.[i]) await this.#found(id);
        at += page.length;
        const isSlow = performance.now() - beganAtMs > STATES_MS_MAX;
        limit = isSlow ? Math.max(STATES_AT_ONCE_MIN, limit >> 1) : Math.min(STATES_AT_ONCE, limit << 1);
        const of = this.#list.size + sizeOf(this.#rows.flatMap((row) => without(this.#wanted(row), row.covered)));
        this.progress.addresses = { asked: at, of, seconds_left: left.after(at, of) };
        await this.#keep(null, at);
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }

  /** Lists the next addresses, the likely ones first. False if there are none. */
  async #listNext(): Promise<boolean> {
    const steps = this.#rows.map((row) => this.#steps(row));
    const count = Math.max(...steps.map(({ length }) => length));
    for (let step = 0; step < count; step++) {
      if (step === NEAR_STEPS) this.progress.near = true;
      let room = LISTED_AT_ONCE;
      for (const [i, row] of this.#rows.entries()) {
        const missing = without(steps[i]?.[step] ?? [], row.covered);
        const next = firstOf(missing, room);
        await this.#listMissing(row, next);
        room -= sizeOf(next);
      }
      if (room < LISTED_AT_ONCE) return true;
    }
    return false;
  }

  /** `since`: the last block that an earlier search read. */
  async #readBlocks(since: Checkpoint | null): Promise<void> {
    let checkpoint = since;
    do {
      if (checkpoint === null)
        for (const row of this.#rows) row.ready = this.#isFarSearched(row) ? row.used + this.#ahead : -1;
      await this.#readToTip(checkpoint);
      checkpoint = null;
    } while (this.#rows.some(({ used, ready }) => used > ready) && !this.#signal.aborted);
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
