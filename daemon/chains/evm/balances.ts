/**
 * The chain's own record of the balances of our addresses, as of one block. If there are endpoints of several
 * operators, another one than the asked one is used, so that the two check each other.
 */
import type { AssetId, Network } from '../../domain/assets.ts';
import type { BlockId } from '../../domain/chain.ts';
import { Unavailable } from '../../domain/errors.ts';
import { type EvmChain, NATIVE_COIN } from '../../domain/evm.ts';
import { MS_PER_MINUTE } from '../../domain/time.ts';
import type { Balances, BalancesSource, HeldBalance, ListedScript, ScriptList } from '../adapter.ts';
import { idOf } from '../checkpoint.ts';
import type { Endpoints } from '../endpoints.ts';
import { checksumAddress } from './address.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { Held } from './left-out.ts';
import { HEAD_AGE_MS_MAX, type Token } from './params.ts';

/** Addresses that are read together. */
const PAGE = 250;
/** Operators that must call an address unused, where as many answer. */
const WITNESSES = 2;
const RETRY_SECONDS = 60;

type Parts = {
  endpoints: Endpoints<EvmEndpoint>;
  list: ScriptList;
  network: Network;
  chain: EvmChain;
  tokens: readonly Token[];
  /** Called with an address that has more of tokens than the books, and what it has of them. */
  hasMore: (script: ListedScript, held: Held) => void;
};

export class EvmBalances implements BalancesSource {
  readonly #endpoints: Endpoints<EvmEndpoint>;
  readonly #list: ScriptList;
  readonly #native: AssetId;
  readonly #tokens: readonly Token[];
  readonly #headAgeMsMax: number;
  readonly #hasMore: Parts['hasMore'];

  constructor({ endpoints, list, network, chain, tokens, hasMore }: Parts) {
    this.#endpoints = endpoints;
    this.#list = list;
    this.#native = NATIVE_COIN[chain];
    this.#tokens = tokens;
    // test chains have no regular blocks
    this.#headAgeMsMax = network === 'regtest' ? Number.POSITIVE_INFINITY : HEAD_AGE_MS_MAX[chain];
    this.#hasMore = hasMore;
  }

  /**
   * Addresses that ever had money by the books, and others that the chain calls used: an endpoint may have left out a payment in
   * tokens, which no balance of the coin shows.
   */
  async read(signal: AbortSignal): Promise<Balances> {
    const use = (endpoint: EvmEndpoint): Promise<Balances> => this.#readFrom(endpoint, signal);
    const balances =
      (await this.#endpoints.other(this.#endpoints.asked, use, signal)) ?? (await this.#endpoints.first(use, signal));
    if (!balances) throw new Unavailable('no endpoint tells the balances', RETRY_SECONDS);
    return balances;
  }

  /**
   * The addresses that hold something or have sent a transaction, by the word of one of two operators: what a search calls unused is
   * watched by nobody. Only a transaction from an address can empty it, so no used address is missed. An endpoint without the newest
   * blocks tells nothing: it does not know what came in them.
   */
  async areUsed(scripts: readonly Uint8Array[], signal: AbortSignal): Promise<boolean[]> {
    const addresses = scripts.map(hexOfScript);
    const told = await this.#endpoints.ofOperators(
      (endpoint) => this.#usedBy(endpoint, addresses, signal),
      (answers) => answers.length >= WITNESSES,
      signal,
    );
    return addresses.map((_, i) => told.some((used) => used[i]));
  }

  async #usedBy(endpoint: EvmEndpoint, addresses: readonly string[], signal: AbortSignal): Promise<boolean[]> {
    const tip = await endpoint.head(signal);
    const ageMs = Date.now() - tip.timeMs;
    if (ageMs > this.#headAgeMsMax) {
      const age = `its newest block is ${Math.floor(ageMs / MS_PER_MINUTE)} minutes old`;
      throw new Unavailable(`${endpoint.name} is behind: ${age}`, RETRY_SECONDS);
    }
    const contracts = this.#tokens.map(({ contract }) => contract);
    const told = await endpoint.usedAmong(contracts, addresses, tip, signal);
    if (told) return told;
    const answers = [await endpoint.nonces(addresses, signal), await endpoint.balances(addresses, tip, signal)];
    for (const contract of contracts) {
      answers.push(await endpoint.tokenBalances(contract, addresses, tip, signal));
    }
    if (answers.flat().includes(null)) {
      throw new Unavailable('the endpoint does not tell the state of its newest block', RETRY_SECONDS);
    }
    return addresses.map((_, i) => answers.some((list) => (list[i] ?? 0n) > 0n));
  }

  async #used(
    endpoint: EvmEndpoint,
    page: readonly ListedScript[],
    tip: BlockId,
    signal: AbortSignal,
  ): Promise<ListedScript[]> {
    const others = page.filter(({ id }) => !this.#list.hadMoney(id));
    const contracts = this.#tokens.map(({ contract }) => contract);
    const addresses = others.map(({ script }) => hexOfScript(script));
    const used = addresses.length > 0 ? await endpoint.usedAmong(contracts, addresses, tip, signal) : [];
    const found = new Set(others.filter((_, i) => used?.[i]).map(({ id }) => id));
    return page.filter(({ id }) => found.has(id) || this.#list.hadMoney(id));
  }

  async #readFrom(endpoint: EvmEndpoint, signal: AbortSignal): Promise<Balances> {
    const tip = idOf(await endpoint.head(signal));
    const held: HeldBalance[] = [];
    for (let after = 0; ; ) {
      const page = this.#list.page(after, PAGE);
      const listed = await this.#used(endpoint, page, tip, signal);
      const addresses = listed.map(({ script }) => hexOfScript(script));
      const before = held.length;
      keep(held, listed, this.#native, await endpoint.balances(addresses, tip, signal));
      for (const { asset, contract } of this.#tokens) {
        keep(held, listed, asset, await endpoint.tokenBalances(contract, addresses, tip, signal));
      }
      this.#compare(listed, held.slice(before));
      const last = page.at(-1);
      if (!last) return { tip, held };
      after = last.id;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Looks for what an endpoint left out, where another one has more tokens than the books. */
  #compare(listed: readonly ListedScript[], held: readonly HeldBalance[]): void {
    const more = new Map<number, Map<AssetId, bigint>>();
    for (const { targetId, asset, units } of held) {
      if (asset === this.#native || units <= this.#list.unitsAt(targetId, asset)) continue;
      more.set(targetId, (more.get(targetId) ?? new Map<AssetId, bigint>()).set(asset, units));
    }
    for (const script of listed) {
      const there = more.get(script.id);
      if (there) this.#hasMore(script, there);
    }
  }
}

function keep(
  held: HeldBalance[],
  listed: readonly ListedScript[],
  asset: AssetId,
  balances: readonly (bigint | null)[],
): void {
  for (const [i, { id, script }] of listed.entries()) {
    const units = balances[i] ?? null;
    if (units === null) throw new Unavailable('the endpoint no longer has the balances of that block', RETRY_SECONDS);
    held.push({ targetId: id, address: checksumAddress(script), asset, units });
  }
}
