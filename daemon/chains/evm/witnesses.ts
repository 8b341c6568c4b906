/**
 * Asks the operators again about facts that the books have: an earlier version may have stored them by the word of one.
 *
 * Invariant: that something is not there needs the same agreement as that it is. An endpoint that forgot a receipt denies nothing: it
 * must have another block at that height, or the block without the transaction.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId } from '../../domain/chain.ts';
import type {
  BookedSending,
  ListedScript,
  ScriptList,
  SentAgain,
  Standing,
  StoredCoin,
  Witnesses,
} from '../adapter.ts';
import type { Endpoints } from '../endpoints.ts';
import type { Agreed } from './agreed.ts';
import type { Receipt, Sending } from './answers.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import type { OutgoingReader } from './outgoing.ts';
import type { Token } from './params.ts';

type Parts = {
  endpoints: Endpoints<EvmEndpoint>;
  list: ScriptList;
  reader: OutgoingReader;
  agreed: Agreed;
  native: AssetId;
  tokens: readonly Token[];
};

/** Operators that must say the same. */
const WITNESSES = 2;

export class EvmWitnesses implements Witnesses {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  sent(booked: readonly BookedSending[], signal: AbortSignal): Promise<(SentAgain | null)[]> {
    return this.#alike(booked.length, (endpoint) => this.#sentBy(endpoint, booked, signal), signal);
  }

  came(coins: readonly StoredCoin[], signal: AbortSignal): Promise<(boolean | null)[]> {
    return this.#alike(coins.length, (endpoint) => this.#cameBy(endpoint, coins, signal), signal);
  }

  standing(targets: readonly ListedScript[], block: BlockId, signal: AbortSignal): Promise<(Standing | null)[]> {
    const addresses = targets.map(({ script }) => hexOfScript(script));
    const use = async (endpoint: EvmEndpoint): Promise<(Standing | null)[]> => {
      const nonces = await endpoint.noncesAfter(addresses, block, signal);
      const held: [AssetId, (bigint | null)[]][] = [
        [this.#parts.native, await endpoint.balances(addresses, block, signal)],
      ];
      for (const { asset, contract } of this.#parts.tokens) {
        held.push([asset, await endpoint.tokenBalances(contract, addresses, block, signal)]);
      }
      return addresses.map((_, i) => {
        const nonce = nonces[i] ?? null;
        const units = held.flatMap(([asset, list]): [AssetId, bigint][] => {
          const one = list[i] ?? null;
          return one === null ? [] : [[asset, one]];
        });
        return nonce === null || units.length < held.length ? null : { nonce, units: new Map(units) };
      });
    };
    return this.#alike(targets.length, use, signal);
  }

  /** For each of so many questions the answer that enough operators give alike; null: there is none. */
  async #alike<T>(
    count: number,
    use: (endpoint: EvmEndpoint) => Promise<(T | null)[]>,
    signal: AbortSignal,
  ): Promise<(T | null)[]> {
    if (count === 0) return [];
    const { endpoints } = this.#parts;
    const needed = Math.min(WITNESSES, endpoints.operators);
    const common = (said: readonly (T | null)[][]): (T | null)[] =>
      Array.from({ length: count }, (_, i) =>
        commonOf(
          said.map((answers) => answers[i] ?? null),
          needed,
        ),
      );
    const isEnough = (said: readonly (T | null)[][]): boolean => common(said).every((answer) => answer !== null);
    return common(await endpoints.ofOperators(use, isEnough, signal));
  }

  async #sentBy(
    endpoint: EvmEndpoint,
    booked: readonly BookedSending[],
    signal: AbortSignal,
  ): Promise<(SentAgain | null)[]> {
    const txids = booked.map(({ txid }) => txid);
    const receipts = await endpoint.receipts(txids, signal);
    const sendings = await endpoint.sendingsOf(txids, signal);
    const heights = [...new Set(receipts.flatMap((receipt) => receipt?.height ?? []))];
    const headers = new Map((await endpoint.headers(heights, signal)).map((header) => [header?.hash, header]));
    const isGone = await absent(endpoint, booked, receipts, signal);
    return booked.map(({ target }, i) => {
      const [receipt, sending]: [Receipt | null | undefined, Sending | null | undefined] = [receipts[i], sendings[i]];
      if (isGone[i]) return { spends: [], debits: [] };
      const header = receipt ? headers.get(receipt.blockHash) : null;
      if (!receipt || !sending || !header) return null;
      return this.#parts.reader.taken({ target, receipt, sending }, header.timeMs);
    });
  }

  async #cameBy(endpoint: EvmEndpoint, coins: readonly StoredCoin[], signal: AbortSignal): Promise<(boolean | null)[]> {
    const booked = coins.map(({ txid, blockHeight, blockHash }) => ({
      txid,
      block: { height: blockHeight ?? 0, hash: blockHash ?? '' },
    }));
    const receipts = await endpoint.receipts(
      booked.map(({ txid }) => txid),
      signal,
    );
    // what contracts sent from inside has its block's id, and only the sum at its address shows whether it came
    const isInside = (i: number): boolean => booked[i]?.txid === booked[i]?.block.hash;
    const isGone = await absent(endpoint, booked, receipts, signal, isInside);
    const answers: (boolean | null)[] = [];
    for (const [i, coin] of coins.entries()) {
      const block = booked[i]?.block;
      if (!block || isGone[i]) answers.push(false);
      else if (!receipts[i]) answers.push(null);
      else answers.push(await this.#isThere(endpoint, coin, block, signal));
    }
    return answers;
  }

  async #isThere(endpoint: EvmEndpoint, coin: StoredCoin, block: BlockId, signal: AbortSignal): Promise<boolean> {
    const { outpoint: id, txid, targetId, asset, units } = coin;
    const credit = { id, txid, targetId, amount: { asset, units }, block, inputs: [], replaceable: true };
    // the books may have it from a time when its sender was not known to be our own
    for (const moved of [false, true]) {
      const [isThere] = await this.#parts.agreed.areThere(endpoint, [{ ...credit, moved }], signal);
      if (isThere) return true;
    }
    return false;
  }
}

/** The answer that so many gave alike; null: none has so many. */
function commonOf<T>(answers: readonly (T | null)[], needed: number): T | null {
  for (const answer of answers) {
    if (answer === null) continue;
    if (answers.filter((other) => isDeepStrictEqual(other, answer)).length >= needed) return answer;
  }
  return null;
}

/** For each transaction without a receipt whether the endpoint's chain shows that it is not in its block. */
async function absent(
  endpoint: EvmEndpoint,
  booked: readonly { txid: string; block: BlockId }[],
  receipts: readonly (Receipt | null)[],
  signal: AbortSignal,
  isInside = (_: number): boolean => false,
): Promise<boolean[]> {
  const lacking = booked.filter((_, i) => !receipts[i]);
  const heights = [...new Set(lacking.map(({ block }) => block.height))];
  const listings = new Map((await endpoint.listings(heights, signal)).map((listing, i) => [heights[i], listing]));
  return booked.map(({ txid, block }, i) => {
    const listing = receipts[i] ? null : listings.get(block.height);
    if (!listing) return false;
    return listing.hash !== block.hash || (!isInside(i) && !listing.txids.has(txid));
  });
}
