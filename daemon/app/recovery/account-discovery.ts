/**
 * Account discovery: finds the used accounts of a wallet from its public keys, when only its words are left. A chain is
 * read from the wallet's birthday on for the addresses of many accounts at once; a chain of accounts is asked for its
 * present state instead, which tells every used address. Of addresses and payments nothing is stored but how far the search has
 * come, so that the same search goes on after an interruption. The found accounts are then added, and their money is
 * found as for every imported wallet.
 *
 * Where a chain recognises payments to an account before their addresses are known, those of an account are derived with its first
 * payment, so that the many accounts that were never used cost nothing. The address that change returns to is derived for each
 * account: a mined coin shows no account, and no program mines to another address.
 */

import { isDeepStrictEqual } from 'node:util';
import type { ChainAdapter, ScriptList } from '../../chains/adapter.ts';
import { CHAINS, type ChainId, type Network } from '../../domain/assets.ts';
import { type AccountKey, chainKey } from '../../domain/chain.ts';
import { MS_PER_MINUTE } from '../../domain/time.ts';
import type { App } from '../app.ts';
import { ChainSearch, type SearchListener } from './chain-search.ts';
import { type ChainRecord, type SearchMemory, type SearchRecord, searchOf, storedSearch } from './discovery-record.ts';
import { noteSearched } from './rescan.ts';
import { type AddressPath, ScratchList } from './scratch-list.ts';

/** How often it is stored how far a search has come. */
const KEPT_EVERY_MS = 2_000;
/** The interval of progress messages in the log. */
const TOLD_EVERY_MS = MS_PER_MINUTE;

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
  /** Whether it goes on with an earlier search that was interrupted. */
  resumed: boolean;
  chains: {
    chain: ChainId;
    /** The addresses that are derived before the search, of all; null once they are. */
    derived: { done: number; of: number } | null;
    /** The block from which on blocks are read. */
    from: number | null;
    height: number | null;
    tip: number | null;
    /** The addresses that were asked for, of all, and how long the others take at this rate; null where blocks are read. */
    addresses: { asked: number; of: number; seconds_left: number | null } | null;
    /** Whether the addresses that may be used most likely were all asked for (`NEAR_STEPS`). */
    near: boolean;
    done: boolean;
  }[];
  /** The highest used index in each branch (-1: none) of each used account. */
  used: { chain: ChainId; account_no: number; receiving: number; change: number }[];
  error: string | null;
};

/** `accounts`: the keys that outputs are tried with, where a chain shows no addresses. */
type OpenSource = (
  network: Network,
  chain: ChainId,
  list: ScriptList,
  accounts: readonly AccountKey[],
) => ChainAdapter | null;

/** Keeps nothing: an interrupted search begins anew. */
const NO_MEMORY: SearchMemory = { read: () => null, write: async () => undefined };

export class AccountDiscovery {
  readonly #request: DiscoveryRequest;
  readonly #open: OpenSource;
  readonly #memory: SearchMemory;
  readonly #earlier: SearchRecord;
  readonly #record: SearchRecord = {};
  #writtenAt = Number.NEGATIVE_INFINITY;
  readonly #abort = new AbortController();
  readonly #state: DiscoveryState;
  /** Why a chain was not searched to its end; of several, the first one. */
  #failure: string | null = null;
  readonly done: Promise<void>;

  constructor(request: DiscoveryRequest, open: OpenSource, memory = NO_MEMORY) {
    this.#request = request;
    this.#open = open;
    this.#memory = memory;
    const earlier = memory.read();
    this.#earlier = earlier ?? {};
    this.#state = { running: true, resumed: earlier !== null, chains: [], used: [], error: null };
    this.done = this.#run();
  }

  get state(): DiscoveryState {
    return this.#state;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.done;
  }

  async #run(): Promise<void> {
    await Promise.all(CHAINS.map((chain) => this.#discoverAlone(chain)));
    this.#state.running = false;
  }

  /** A chain that cannot be searched, as by a node without its old blocks, stops no other one. */
  async #discoverAlone(chain: ChainId): Promise<void> {
    try {
      await this.#discover(chain);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error.message : String(error);
      this.#state.error = this.#failure;
    }
  }

  async #discover(chain: ChainId): Promise<void> {
    const { accounts, ...request } = this.#request;
    const keys = accounts[chain] ?? [];
    const list = new ScratchList();
    const source = keys.length > 0 ? this.#open(request.network, chain, list, keys) : null;
    if (!source) return;
    const told: SearchListener = {
      used: (place) => this.#note(chain, place),
      keep: (record) => this.#keep(chain, record),
      waits: (why) => {
        this.#state.error = this.#failure ?? why;
      },
    };
    const search = new ChainSearch(chain, { source, list, keys }, request, told, this.#abort.signal);
    this.#state.chains.push(search.progress);
    await search.run(this.#earlier[chain]);
  }

  /** Stores how far a chain was searched, together with the other chains, every other second. */
  async #keep(chain: ChainId, record: ChainRecord): Promise<void> {
    this.#record[chain] = record;
    if (performance.now() - this.#writtenAt < KEPT_EVERY_MS) return;
    this.#writtenAt = performance.now();
    // what is not searched yet goes on where it was
    await this.#memory.write({ ...this.#earlier, ...this.#record });
  }

  #note(chain: ChainId, { account, branch, index }: AddressPath): void {
    const { used } = this.#state;
    let known = used.find((one) => one.chain === chain && one.account_no === account);
    if (!known) {
      known = { chain, account_no: account, receiving: -1, change: -1 };
      used.push(known);
      used.sort((a, b) => a.chain.localeCompare(b.chain) || a.account_no - b.account_no);
    }
    const name = branch === 0 ? 'receiving' : 'change';
    known[name] = Math.max(known[name], index);
  }
}

/** The searches of a service: one at a time. */
export class Discoveries {
  readonly #app: App;
  readonly #open: OpenSource;
  #present: AccountDiscovery | null = null;
  #search = '';
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #learned: Promise<void> = Promise.resolve();

  constructor(app: App, open: OpenSource) {
    this.#app = app;
    this.#open = open;
  }

  get state(): DiscoveryState | null {
    return this.#present?.state ?? null;
  }

  /** Begins a search, or goes on with the same one. `anew`: from the beginning in any case. */
  async begin(request: DiscoveryRequest, anew: boolean): Promise<void> {
    const search = searchOf(request);
    if (this.#present?.state.running && search === this.#search && !anew) return;
    await this.stop();
    const memory = storedSearch(this.#app, request);
    this.#search = search;
    const present = new AccountDiscovery(request, this.#open, {
      read: () => (anew ? null : memory.read()),
      write: async (chains) => {
        await memory.write(chains);
        await this.#learn(request, present.state);
        this.#tell(request, present.state);
      },
    });
    this.#present = present;
    this.#learned = present.done
      .then(() => this.#learn(request, present.state))
      .catch((error: unknown) => this.#app.log.error({ error }));
  }

  /** Tells the accounts that were added during the search what it finds of them. */
  async #learn({ network, accounts }: DiscoveryRequest, { used }: DiscoveryState): Promise<void> {
    for (const { chain, account_no, receiving, change } of used) {
      const key = accounts[chain]?.[account_no];
      const added = this.#app.directory
        .accounts()
        .find((one) => one.chainKey === chainKey(network, chain) && isDeepStrictEqual(one.key, key));
      if (added) await noteSearched(this.#app, added, { receiving, change });
    }
  }

  #tell({ network }: DiscoveryRequest, { chains }: DiscoveryState): void {
    const now = performance.now();
    if (now - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = now;
    for (const { chain, addresses, done } of chains) {
      if (!addresses || done) continue;
      this.#app.log.info(
        { chain: chainKey(network, chain), ...addresses },
        'the words are searched for used addresses',
      );
    }
  }

  async stop(): Promise<void> {
    await this.#present?.stop();
    await this.#learned;
  }
}
