/**
 * Account discovery: finds the used accounts of a wallet from its public keys, when only its words are left. A chain is
 * read from the wallet's birthday on for the addresses of many accounts at once; a chain of accounts is asked for its
 * present state instead, which tells every used address. Nothing is stored. The found accounts are then added, and their
 * money is found as for every imported wallet.
 *
 * Where a chain recognises payments to an account before their addresses are known, those of an account are derived with its first
 * payment, so that the many accounts that were never used cost nothing. The address that change returns to is derived for each
 * account: a mined coin shows no account, and no program mines to another address.
 *
 * Invariant: when a chain counts as read, every address that may have been used (by the highest used one, the gap and
 * the jumps of restores) was searched in all of its blocks.
 */
import {
  type ChainAdapter,
  type ListedScript,
  type OpenNonce,
  type ScriptList,
  type StoredDebit,
  tipOf,
} from '../../chains/adapter.ts';
import { CHAINS, type ChainId, type Network } from '../../domain/assets.ts';
import type { AccountKey, Branch, Checkpoint } from '../../domain/chain.ts';
import { assert, Rejected, Unavailable } from '../../domain/errors.ts';
import { type IndexRange, indicesToSearch, indicesToWatch, jumpsBetween, without } from '../../domain/indices.ts';
import { sleep } from '../../kit/async.ts';

const SLICE_MS_MAX = 5;
const RETRY_MS = 2_000;
const SCRIPTS_MAX = 2_000_000;
const STATES_AT_ONCE = 500;
/** Of change, where a family uses one address of it: as many as BIP-44 has other programs search. */
const FIXED_CHANGE_GAP = 20;
export type DiscoveryRequest = {
  network: Network;
  /** Milliseconds since 1970. */
  birthday: number;
  /** How many addresses past the last used one are searched in each branch. */
  gap: number;
  /** How many jumps of restores in a row are allowed for, without a payment in between. */
  jumps: number;
  /** The keys of accounts 0, 1, 2, … of each chain. */
  accounts: Partial<Record<ChainId, AccountKey[]>>;
};

export type DiscoveryState = {
  running: boolean;
  /** `addresses`: the ones that were asked for and all that will be, on a chain of accounts; null where blocks are read. */
  chains: {
    chain: ChainId;
    height: number | null;
    tip: number | null;
    addresses: { asked: number; of: number } | null;
    done: boolean;
  }[];
  /** The highest used index in each branch (-1: none) of each used account. */
  used: { chain: ChainId; account_no: number; receiving: number; change: number }[];
  error: string | null;
};

type AddressPath = { account: number; branch: Branch; index: number };
/** One branch of an account: its highest used index, and the indices that are searched. */
type Row = { account: number; branch: Branch; used: number; covered: IndexRange[]; ready: number };

/** The searched addresses, in memory, as a source asks for them. */
class ScratchList implements ScriptList {
  readonly #ids = new Map<string, number>();
  readonly #scripts: ListedScript[] = [];
  readonly places: AddressPath[] = [];
  paidElsewhere?: (account: AccountKey) => Promise<void>;
  #changes = 0;

  add(script: Uint8Array, place: AddressPath): void {
    if (this.#scripts.length >= SCRIPTS_MAX) throw new Rejected('discovery.too_many', 'Too many addresses are in use');
    const id = this.#scripts.length;
    this.#ids.set(Buffer.from(script).toString('latin1'), id);
    this.#scripts.push({ id, script });
    this.places.push(place);
    this.#changes++;
  }

  targetIdOf = (script: Uint8Array): number | undefined => this.#ids.get(Buffer.from(script).toString('latin1'));
  accountOf = (targetId: number): number | undefined => this.places[targetId]?.account;
  isOurCoin = (): boolean => false;
  get size(): number {
    return this.#scripts.length;
  }

  stamp = (): string => `${this.#changes}`;
  *active(): Iterable<ListedScript[]> {
    yield [...this.#scripts];
  }
  page = (after: number, limit: number): ListedScript[] => this.#scripts.slice(after + 1, after + 1 + limit);
  inBlock = (): ListedScript[] => [];
  hadMoney = (): boolean => false;
  unitsAt = (): bigint => 0n;
  debitsAt = (): StoredDebit[] => [];
  openNonces = (): OpenNonce[] => [];
  coinsOf = (): [] => [];
  coin = (): undefined => undefined;
}

/** `accounts`: the keys that outputs are tried with, where a chain shows no addresses. */
type OpenSource = (
  network: Network,
  chain: ChainId,
  list: ScriptList,
  accounts: readonly AccountKey[],
) => ChainAdapter | null;

/** The address that change returns to, in the branch that has it. */
const fixedChange = ({ branch }: Row): IndexRange[] => (branch === 1 ? [{ from: 0, to: 1 }] : []);

/** Both branches of an account, by its key. */
function rowsOf(rows: readonly Row[], keys: readonly AccountKey[], account: AccountKey): Row[] {
  const own = rows.filter((row) => keys[row.account] === account);
  assert(own.length > 0, 'a source recognises payments to the accounts that it was given');
  return own;
}

async function inOrder<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (const item of items) await work(item);
}

export class AccountDiscovery {
  readonly #request: DiscoveryRequest;
  readonly #open: OpenSource;
  readonly #abort = new AbortController();
  readonly state: DiscoveryState = { running: true, chains: [], used: [], error: null };
  readonly done: Promise<void>;

  constructor(request: DiscoveryRequest, open: OpenSource) {
    this.#request = request;
    this.#open = open;
    this.done = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.done;
  }

  async #run(): Promise<void> {
    try {
      await Promise.all(CHAINS.map((chain) => this.#discover(chain)));
    } catch (error) {
      this.#abort.abort();
      this.state.error = error instanceof Error ? error.message : String(error);
    }
    this.state.running = false;
  }

  async #discover(chain: ChainId): Promise<void> {
    const { network, accounts, birthday, gap, jumps } = this.#request;
    const keys = accounts[chain] ?? [];
    const list = new ScratchList();
    const source = keys.length > 0 ? this.#open(network, chain, list, keys) : null;
    if (!source) return;
    const addresses = source.areUsed ? { asked: 0, of: 0 } : null;
    const progress: DiscoveryState['chains'][number] = { chain, height: null, tip: null, addresses, done: false };
    this.state.chains.push(progress);
    // so that a payment found within this gap requires no second reading of the blocks
    const ahead = source.wholeHistories || source.areUsed ? 0 : gap;
    const rows = [...keys.keys()].flatMap((account) =>
      ([0, 1] as const).map((branch): Row => ({ account, branch, used: -1, covered: [], ready: -1 })),
    );
    const branchesOf = ({ account }: Row): Row[] => rows.filter((row) => row.account === account);
    const hasFixedChange = source.areUsed !== undefined && source.spending?.changeAddress === 'fixed';
    const usedIn = (row: Row): number => Math.max(...branchesOf(row).map(({ used }) => used));
    // most accounts are unused, and each would cost as much as a used one
    const isFarSearched = (row: Row): boolean => row.account === 0 || source.knowsAccounts === true || usedIn(row) >= 0;
    const extend = (row: Row): Promise<void> => {
      if (hasFixedChange && row.branch === 1) return derive(row, indicesToWatch(row.used, FIXED_CHANGE_GAP, 0));
      const known = jumpsBetween(row.used, usedIn(row));
      const isUnused = !isFarSearched(row);
      return derive(row, indicesToSearch({ used: row.used + ahead, gap, jumps, known, isUnused }));
    };
    const derive = async (row: Row, wanted: readonly IndexRange[]): Promise<void> => {
      const missing = without(wanted, row.covered);
      row.covered.push(...missing);
      const key = keys[row.account] as AccountKey;
      for (const range of missing) {
        await this.#derive(range, async (index) => {
          const { script } = await source.deriveAddress(key, row.branch, index);
          list.add(script, { account: row.account, branch: row.branch, index });
          if (addresses) addresses.of = list.size;
        });
      }
    };
    const found = async (id: number): Promise<void> => {
      const place = list.places[id];
      const row = place && rows.find(({ account, branch }) => account === place.account && branch === place.branch);
      if (!row || place.index <= row.used) return;
      row.used = place.index;
      this.#note(chain, place);
      await inOrder(branchesOf(row), extend);
    };
    try {
      if (source.knowsAccounts) list.paidElsewhere = (account) => inOrder(rowsOf(rows, keys, account), extend);
      await inOrder(rows, (row) => (source.knowsAccounts ? derive(row, fixedChange(row)) : extend(row)));
      if (addresses) await this.#readState(source, list, found, (asked) => (addresses.asked = asked));
      else
        do {
          for (const row of rows) row.ready = isFarSearched(row) ? row.used + ahead : -1;
          await this.#readChain(source, birthday, progress, list, found);
        } while (!source.wholeHistories && rows.some(({ used, ready }) => used > ready) && !this.#abort.signal.aborted);
      progress.done = true;
    } finally {
      await source.close();
    }
  }

  /** Calls `take` for each index, in short turns. */
  async #derive({ from, to }: IndexRange, take: (index: number) => Promise<void>): Promise<void> {
    let began = performance.now();
    for (let index = from; index < to && !this.#abort.signal.aborted; index++) {
      await take(index);
      if (performance.now() - began < SLICE_MS_MAX) continue;
      await new Promise((resolve) => setImmediate(resolve));
      began = performance.now();
    }
  }

  #note(chain: ChainId, { account, branch, index }: AddressPath): void {
    const { used } = this.state;
    let known = used.find((one) => one.chain === chain && one.account_no === account);
    if (!known) {
      known = { chain, account_no: account, receiving: -1, change: -1 };
      used.push(known);
      used.sort((a, b) => a.chain.localeCompare(b.chain) || a.account_no - b.account_no);
    }
    const name = branch === 0 ? 'receiving' : 'change';
    known[name] = Math.max(known[name], index);
  }

  /** Asks for the state of every searched address, and reports the used ones; these may add addresses to the search. */
  async #readState(
    source: ChainAdapter,
    list: ScratchList,
    used: (targetId: number) => Promise<void>,
    noteAsked: (addresses: number) => void,
  ): Promise<void> {
    const { signal } = this.#abort;
    for (let at = 0; at < list.size && !signal.aborted; ) {
      const page = list.page(at - 1, STATES_AT_ONCE);
      try {
        const answers = await source.areUsed?.(
          page.map(({ script }) => script),
          signal,
        );
        for (const [i, { id }] of page.entries()) if (answers?.[i]) await used(id);
        at += page.length;
        noteAsked(at);
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }

  /** Waits after a source did not answer; throws every other error. */
  async #pauseAfter(error: unknown): Promise<void> {
    const { signal } = this.#abort;
    if (!(error instanceof Unavailable) || signal.aborted) throw error;
    this.state.error = error.message;
    await sleep(RETRY_MS, signal);
    this.state.error = null;
  }

  /** Reads a chain from the birthday to its tip, and reports every paid address. */
  async #readChain(
    source: ChainAdapter,
    birthday: number,
    progress: DiscoveryState['chains'][number],
    list: ScratchList,
    paid: (targetId: number) => Promise<void>,
  ): Promise<void> {
    const { signal } = this.#abort;
    let checkpoint: Checkpoint | null = null;
    while (!signal.aborted) {
      try {
        checkpoint ??= await source.begin(birthday, signal);
        progress.height ??= tipOf(checkpoint).height;
        const watched = list.size;
        const update = await source.sync(checkpoint, signal);
        if (update) {
          for (const { targetId } of update.credits) await paid(targetId);
          checkpoint = update.checkpoint;
        }
        progress.height = tipOf(checkpoint).height;
        progress.tip = source.health().tip?.height ?? null;
        // addresses added meanwhile were not searched yet
        if (update?.mempool === 'complete' && list.size === watched) return;
        if (!update) await sleep(RETRY_MS, signal);
      } catch (error) {
        await this.#pauseAfter(error);
      }
    }
  }
}
