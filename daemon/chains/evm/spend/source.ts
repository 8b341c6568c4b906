/** The requests to endpoints that paying out needs: prices, simulations, nonces, and broadcasts. */
import { isDeepStrictEqual } from 'node:util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { assert, Rejected, Unavailable } from '../../../domain/errors.ts';
import { maxOf, minOf } from '../../../domain/money.ts';
import type { SpendingSource } from '../../adapter.ts';
import { idOf as blockOf } from '../../checkpoint.ts';
import type { Endpoints } from '../../endpoints.ts';
import { RpcError } from '../../json-rpc.ts';
import type { GasPrice } from '../answers.ts';
import { type EvmCall, type EvmEndpoint, isLimit, isRevert } from '../endpoint.ts';

/** The base fee rises by at most an eighth per block (EIP-1559): by half within about four full blocks. */
const BASE_FEE_PERCENT = 150n;
const BASE_FEE_PERCENT_FAST = 200n;
const FAST_BLOCKS = 2;
/** A tip that is believed whatever another operator tells: 2 gwei, less than a dollar for a token's transfer. */
export const TIP_PLAIN = 2_000_000_000n;
/** Honest endpoints differ by how far back they look. */
const TIP_FACTOR = 2n;
/** With three of them a single one that lies is outvoted. */
const OPERATORS_MAX = 3;
const RETRY_SECONDS = 5;
/** Messages of nodes that have the transaction already. */
const KNOWN = /already known|already imported|known transaction/i;
const HEX = /^0x(?:[0-9a-f]{2})+$/;
/** The codes with which nodes say that a transaction would fail: those of geth, Reth and OpenEthereum. The others are of the endpoint itself. */
const WOULD_FAIL: ReadonlySet<number> = new Set([-32_000, -32_003, -32_010, -32_015, -32_016]);
/** Messages of endpoints that lack the state of their newest block, or are too busy. They say nothing about the transaction. */
const CANNOT_TELL =
  /header not found|missing trie node|not available|unavailable|aborted|time(?:d )?out|upstream|backend|try again|internal error/i;

export class EvmSource implements SpendingSource {
  readonly #endpoints: Endpoints<EvmEndpoint>;
  #isNewStateDear = false;

  constructor(endpoints: Endpoints<EvmEndpoint>) {
    this.#endpoints = endpoints;
  }

  /** Whether new addresses and new balances of tokens cost much gas (EIP-8037), as most operators told once with a price. */
  get isNewStateDear(): boolean {
    return this.#isNewStateDear;
  }

  /** Wei per 1,000 gas. */
  async feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint> {
    const { base, tip } = await this.gasPrice(signal);
    const percent = targetBlocks <= FAST_BLOCKS ? BASE_FEE_PERCENT_FAST : BASE_FEE_PERCENT;
    const price = (base * percent) / 100n + tip;
    return (price > 0n ? price : 1n) * 1_000n;
  }

  /**
   * The base fee is the one that operators agree on (`agreedOf`). A tip is paid in full, so where another operator's endpoint answers,
   * it limits the tip of the asked one. Throws `Unavailable` while two operators alone tell base fees that are far from each other.
   */
  async gasPrice(signal: AbortSignal): Promise<GasPrice> {
    const ask = (endpoint: EvmEndpoint, limit: AbortSignal) => endpoint.gasPrice(limit);
    const isEnough = (told: readonly GasPrice[]) => areEnough(told.map(({ base }) => base));
    const told = await this.#endpoints.several(ask, isEnough, signal);
    // no upgrade is taken back, and an operator may leave out the field that tells of it
    this.#isNewStateDear ||= 2 * told.filter((one) => one.isNewStateDear).length > told.length;
    const bases = told.map(({ base }) => base);
    if (told.length === 2 && !areNear(bases)) {
      throw new Unavailable("Two operators' endpoints tell base fees that are far from each other", RETRY_SECONDS);
    }
    const [tip = 0n, other = tip] = told.map((one) => one.tip);
    return { base: agreedOf(bases), tip: minOf(tip, maxOf(TIP_FACTOR * other, TIP_PLAIN)) };
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

  /**
   * How many transactions of an address (hex with 0x) blocks and pools contain, as two operators' endpoints say, where
   * two answer: one that lies stops no payment.
   */
  async nonceInPools(address: string, signal: AbortSignal): Promise<bigint> {
    const ask = (endpoint: EvmEndpoint, limit: AbortSignal) => endpoint.nonceInPool(address, limit);
    return lowerOf(await this.#endpoints.several(ask, areSame, signal));
  }

  /**
   * The gas that a transaction needs now, as operators agree (`agreedOf`). Throws `Rejected('spend.refused')` if it
   * would fail, also while one of two operators says so, and `Unavailable` if no endpoint can try it.
   */
  async gas(call: EvmCall, signal: AbortSignal): Promise<bigint> {
    const ask = (endpoint: EvmEndpoint, limit: AbortSignal) => tried(endpoint, call, limit);
    const told = await this.#endpoints.several(ask, areDecided, signal);
    const untold = told.find((one) => one.untold !== undefined);
    if (untold && judged(told).length === 0) {
      throw new Unavailable(`No endpoint can try this transfer: ${untold.untold}`, RETRY_SECONDS);
    }
    const allowed = gasIn(told);
    const [refusal, ...others] = told.flatMap((one) => one.refusal ?? []);
    if (refusal === undefined || allowed.length > others.length + 1) return agreedOf(allowed);
    const isTie = allowed.length > others.length;
    throw refused(isTie ? `${refusal} (says one of two operators, and nobody can tell which one is right)` : refusal);
  }

  /**
   * The units of the coin, and of a token (its contract; null: of none), that an address has after the newest block:
   * the lower ones of two operators', the middle ones of three.
   */
  async unitsAt(
    address: string,
    contract: string | null,
    signal: AbortSignal,
  ): Promise<{ coin: bigint; token: bigint | null }> {
    const ask = async (endpoint: EvmEndpoint, limit: AbortSignal) => {
      const block = blockOf(await endpoint.head(limit));
      const [coin] = await endpoint.balances([address], block, limit);
      const [token] = contract === null ? [null] : await endpoint.tokenBalances(contract, [address], block, limit);
      const isUntold = coin === null || coin === undefined || (contract !== null && (token ?? null) === null);
      if (isUntold) throw new Unavailable('An endpoint does not tell the balances of its newest block', RETRY_SECONDS);
      return { coin, token: token ?? null };
    };
    const told = await this.#endpoints.several(ask, areSame, signal);
    const tokens = told.flatMap(({ token }) => token ?? []);
    return { coin: lowerOf(told.map(({ coin }) => coin)), token: contract === null ? null : lowerOf(tokens) };
  }

  /**
   * The bytes of a transaction, which its id proves, by the first endpoint that has them. Throws `Rejected('spend.malformed')` if it is of
   * another kind than this program makes, by the word of every endpoint that answers; `Unavailable`.
   */
  async transaction(txid: string, _blockHash: string | null, signal: AbortSignal): Promise<string> {
    let isOther = false;
    const found = await this.#endpoints.first(async (endpoint) => {
      const bytes = await endpoint.signed(txid, signal);
      isOther ||= bytes === 'other';
      if (bytes === null || bytes === 'other') return undefined;
      const raw = `0x${Buffer.from(bytes).toString('hex')}`;
      return idOf(raw) === txid ? raw : undefined;
    }, signal);
    if (found !== undefined) return found;
    if (isOther) throw new Rejected('spend.malformed', 'It is of a kind that this program does not make');
    throw new Unavailable('No endpoint has the transaction', RETRY_SECONDS);
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

  async #ask<T>(use: (endpoint: EvmEndpoint) => Promise<T | undefined>, signal: AbortSignal): Promise<T> {
    const result = await this.#endpoints.first(use, signal);
    if (result === undefined) throw new Unavailable('No endpoint has an answer', RETRY_SECONDS);
    return result;
  }
}

/** `untold`: why the endpoint could not try it. A contract may bring that about, so that it is no fault of the endpoint. */
type Trial = { gas?: bigint; refusal?: string; untold?: string };

const judged = (told: readonly Trial[]): Trial[] => told.filter((one) => one.untold === undefined);

/** An endpoint's statement about a transaction that it simulates. */
async function tried(endpoint: EvmEndpoint, call: EvmCall, signal: AbortSignal): Promise<Trial> {
  try {
    const { gas, returned } = await endpoint.trial(call, signal);
    // a token may refuse by returning false; many return nothing (USDT on Ethereum). Who gets coin is asked nothing.
    const isNo = call.data !== '0x' && /^0x0{64}$/.test(returned);
    return isNo ? { refusal: 'it answers no' } : { gas };
  } catch (thrown) {
    if (!(thrown instanceof RpcError) || !isAboutTrial(thrown)) throw thrown;
    const isUntold = !isRevert(thrown) && CANNOT_TELL.test(thrown.message);
    return isUntold ? { untold: thrown.message } : { refusal: thrown.message };
  }
}

/** Whether an error is one of running the transaction that was tried. */
const isAboutTrial = (error: RpcError): boolean => isRevert(error) || (WOULD_FAIL.has(error.code) && !isLimit(error));

/** Whether honest endpoints that are a few blocks apart may tell these: the base fee rises by half within four blocks. */
const areNear = (told: readonly bigint[]): boolean => told.reduce(maxOf, 0n) <= 2n * told.reduce(minOf);

const areEnough = (told: readonly bigint[]): boolean =>
  told.length >= OPERATORS_MAX || (told.length > 1 && areNear(told));

const gasIn = (told: readonly Trial[]): bigint[] => told.flatMap(({ gas }) => gas ?? []);

/** Whether no further operator needs to be asked about a transaction that was simulated. */
function areDecided(all: readonly Trial[]): boolean {
  const told = judged(all);
  const gas = gasIn(told);
  return (
    told.length >= OPERATORS_MAX || (gas.length === 0 ? told.length > 1 : gas.length === told.length && areEnough(gas))
  );
}

/** Whether a further operator changes nothing: two say the same, or as many as count were asked. */
const areSame = (told: readonly unknown[]): boolean =>
  told.length >= OPERATORS_MAX || (told.length > 1 && told.every((one) => isDeepStrictEqual(one, told[0])));

/** The middle one of what three operators tell; the higher one of two, because what is too low fails, and costs its fee. */
const agreedOf = (told: readonly bigint[]): bigint => ranked(told, Math.floor(told.length / 2));

/** The middle one of what three operators tell; the lower one of two. */
const lowerOf = (told: readonly bigint[]): bigint => ranked(told, Math.floor((told.length - 1) / 2));

function ranked(told: readonly bigint[], rank: number): bigint {
  const agreed = told.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))[rank];
  assert(agreed !== undefined, 'an operator tells a number');
  return agreed;
}

const refused = (why: string): Rejected =>
  new Rejected('spend.refused', `The chain would refuse this transfer: ${why}`);

function idOf(raw: string): string {
  assert(raw.startsWith('0x'), 'bytes in hex');
  return `0x${Buffer.from(keccak_256(Buffer.from(raw.slice(2), 'hex'))).toString('hex')}`;
}
