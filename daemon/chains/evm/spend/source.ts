/**
 * The requests to endpoints of Ethereum and BNB Smart Chain that paying out needs: prices, simulations, nonces, and
 * broadcasts.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { assert, Rejected, Unavailable } from '../../../domain/errors.ts';
import { maxOf, minOf } from '../../../domain/money.ts';
import type { SpendingSource } from '../../adapter.ts';
import type { Endpoints } from '../../endpoints.ts';
import { RpcError } from '../../json-rpc.ts';
import type { GasPrice } from '../answers.ts';
import { type EvmCall, type EvmEndpoint, isLimit } from '../endpoint.ts';

/** The base fee rises by at most an eighth per block (EIP-1559): by half within about four full blocks. */
const BASE_FEE_PERCENT = 150n;
const BASE_FEE_PERCENT_FAST = 200n;
const FAST_BLOCKS = 2;
/** A tip that is believed whatever another operator tells: 2 gwei, less than a dollar for a token's transfer. */
export const TIP_PLAIN = 2_000_000_000n;
/** Honest endpoints differ by how far back they look. */
const TIP_FACTOR = 2n;
/** How long the price of another operator is waited for. */
const SECOND_PRICE_MS = 2_000;
const RETRY_SECONDS = 5;
/** Messages of nodes that have the transaction already. */
const KNOWN = /already known|already imported|known transaction/i;
const HEX = /^0x(?:[0-9a-f]{2})+$/;
/** Messages of endpoints that lack the state of their newest block. They say nothing about the transaction. */
const NO_STATE = /header not found|missing trie node|state .*not available/i;

export class EvmSource implements SpendingSource {
  readonly #endpoints: Endpoints<EvmEndpoint>;

  constructor(endpoints: Endpoints<EvmEndpoint>) {
    this.#endpoints = endpoints;
  }

  /** Wei per 1,000 gas. */
  async feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint> {
    const { base, tip } = await this.gasPrice(signal);
    const percent = targetBlocks <= FAST_BLOCKS ? BASE_FEE_PERCENT_FAST : BASE_FEE_PERCENT;
    const price = (base * percent) / 100n + tip;
    return (price > 0n ? price : 1n) * 1_000n;
  }

  /** A tip is paid in full, so where another operator's endpoint answers, it limits the tip of the asked one. */
  async gasPrice(signal: AbortSignal): Promise<GasPrice> {
    const own = await this.#ask(async (endpoint) => ({ endpoint, price: await endpoint.gasPrice(signal) }), signal);
    const { base, tip } = own.price;
    if (tip <= TIP_PLAIN || this.#endpoints.operators < 2) return own.price;
    const other = await this.#otherPrice(own.endpoint, signal);
    return { base, tip: other ? minOf(tip, maxOf(TIP_FACTOR * other.tip, TIP_PLAIN)) : tip };
  }

  async #otherPrice(than: EvmEndpoint, signal: AbortSignal): Promise<GasPrice | undefined> {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(SECOND_PRICE_MS)]);
    try {
      return await this.#endpoints.other(than, (endpoint) => endpoint.gasPrice(soon), soon);
    } catch (error) {
      if (signal.aborted || !soon.aborted) throw error;
      return undefined;
    }
  }

  /**
   * How many transactions of an address (hex with 0x) blocks contain. No block takes a transaction whose nonce is above that,
   * so endpoints of two operators must say the same, where there are two. While only one answers, it counts as far as it
   * `isExplained` by the books. Throws `Unavailable` otherwise.
   */
  async nonce(address: string, isExplained: (count: bigint) => boolean, signal: AbortSignal): Promise<bigint> {
    const countAt = async (endpoint: EvmEndpoint) => (await endpoint.nonces([address], signal))[0] ?? undefined;
    const own = await this.#ask(async (endpoint) => {
      const count = await countAt(endpoint);
      return count === undefined ? undefined : { count, endpoint };
    }, signal);
    const told = new Map([[own.count, this.#endpoints.operatorOf(own.endpoint)]]);
    const compare = async (endpoint: EvmEndpoint): Promise<{ count: bigint } | false> => {
      const count = await countAt(endpoint);
      if (count === undefined) return false;
      const operator = this.#endpoints.operatorOf(endpoint);
      if (told.has(count) && told.get(count) !== operator) return { count };
      told.set(count, operator);
      return false;
    };
    const shared = await this.#endpoints.other<{ count: bigint } | false>(own.endpoint, compare, signal);
    if (shared) return shared.count;
    if (told.size === 1 && (this.#endpoints.operators < 2 || isExplained(own.count))) return own.count;
    if (told.size === 1) {
      const alone = `Only one operator says that ${address} has sent ${own.count} transactions, which the books do not have`;
      throw new Unavailable(`${alone}. It waits until another operator's endpoint answers`, RETRY_SECONDS);
    }
    const counts = [...told.keys()].join(' or ');
    const text = `Endpoints disagree about how many transactions ${address} has sent: ${counts}`;
    throw new Unavailable(text, RETRY_SECONDS);
  }

  /** The gas that a transaction needs now. Throws `Rejected('spend.refused')` if it would fail. */
  async gas(call: EvmCall, signal: AbortSignal): Promise<bigint> {
    const { gas, returned } = await this.#tried((endpoint) => endpoint.trial(call, signal), signal);
    // a token may refuse by returning false; many return nothing (USDT on Ethereum)
    if (/^0x0{64}$/.test(returned)) throw refused('it answers no');
    return gas;
  }

  async transaction(txid: string, _blockHash: string | null, signal: AbortSignal): Promise<string> {
    const bytes = await this.#ask(async (endpoint) => (await endpoint.signed(txid, signal)) ?? undefined, signal);
    if (bytes === 'other') throw new Rejected('spend.malformed', 'It is of a kind that this program does not make');
    const raw = `0x${Buffer.from(bytes).toString('hex')}`;
    if (idOf(raw) !== txid) throw new Unavailable('The endpoint sent another transaction', RETRY_SECONDS);
    return raw;
  }

  /**
   * Sends to every endpoint, because one may take a transaction and not pass it on. An endpoint that says "nonce too low" or
   * "underpriced" may have this very transaction in a block or in its pool, so it is asked for that first.
   */
  async broadcast(raw: string, signal: AbortSignal): Promise<void> {
    if (!HEX.test(raw)) throw new Rejected('broadcast.refused', 'These are no bytes in hex');
    const errors = await this.#endpoints.each(async (endpoint): Promise<RpcError | null> => {
      try {
        await endpoint.send(raw, signal);
        return null;
      } catch (thrown) {
        if (!(thrown instanceof RpcError)) throw thrown;
        if (KNOWN.test(thrown.message) || (await endpoint.sending(idOf(raw), signal))) return null;
        if (isLimit(thrown)) throw thrown;
        return thrown;
      }
    }, signal);
    const [first] = errors;
    if (first && !errors.includes(null)) throw new Rejected('broadcast.refused', first.message);
  }

  /** Simulates a transaction with the first endpoint that can. */
  async #tried<T>(use: (endpoint: EvmEndpoint) => Promise<T>, signal: AbortSignal): Promise<T> {
    const result = await this.#ask(async (endpoint): Promise<T | RpcError> => {
      try {
        return await use(endpoint);
      } catch (thrown) {
        if (!(thrown instanceof RpcError) || isLimit(thrown) || NO_STATE.test(thrown.message)) throw thrown;
        return thrown;
      }
    }, signal);
    if (result instanceof RpcError) throw refused(result.message);
    return result;
  }

  async #ask<T>(use: (endpoint: EvmEndpoint) => Promise<T | undefined>, signal: AbortSignal): Promise<T> {
    const result = await this.#endpoints.first(use, signal);
    if (result === undefined) throw new Unavailable('No endpoint has an answer', RETRY_SECONDS);
    return result;
  }
}

const refused = (why: string): Rejected =>
  new Rejected('spend.refused', `The chain would refuse this transfer: ${why}`);

/** The id of signed bytes. */
function idOf(raw: string): string {
  assert(raw.startsWith('0x'), 'bytes in hex');
  return `0x${Buffer.from(keccak_256(Buffer.from(raw.slice(2), 'hex'))).toString('hex')}`;
}
