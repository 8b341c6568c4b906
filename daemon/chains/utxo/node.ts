/**
 * The RPC calls to Bitcoin Core, Litecoin Core and Bitcoin Cash Node. Only calls that all three share are used, none
 * needs an option such as -txindex, and the shape of every answer is checked.
 *
 * Invariant: before the answers of a connection are used, the node has shown that it is on the right chain.
 */
import { z } from 'zod';
import type { Network } from '../../domain/assets.ts';
import type { SourceConcern } from '../../domain/chain.ts';
import { present, Unavailable } from '../../domain/errors.ts';
import { parseDecimal } from '../../domain/money.ts';
import { BATCH_CALLS_MAX, type Call, type Reply, type Rpc, RpcError } from '../json-rpc.ts';
import { slices } from '../slices.ts';
import { addressOfKey } from './address.ts';
import { concernsOf } from './concerns.ts';
import { eachTxid, hexResult } from './hex.ts';
import { UTXO_PARAMS, type UtxoChain } from './params.ts';

/** RPC_INVALID_ADDRESS_OR_KEY: no such block or transaction. RPC_INVALID_PARAMETER: no such height. */
const NOT_FOUND = -5;
const OUT_OF_RANGE = -8;
/** RPC_VERIFY_ALREADY_IN_CHAIN (later RPC_VERIFY_ALREADY_IN_UTXO_SET): it is in a block. */
const ALREADY_MINED = -27;
/** RPC_VERIFY_REJECTED, RPC_VERIFY_ERROR and RPC_DESERIALIZATION_ERROR: verdicts on the transaction itself. */
const REFUSALS: readonly number[] = [-26, -25, -22];
/** In the mempool already, with these or other witnesses. */
const ALREADY_KNOWN = /txn-(?:already-in-mempool|already-known|same-nonwitness-data-in-mempool)/;
const WRONG_NODE_RETRY_SECONDS = 30;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const height = z.int().min(0);

const chainInfo = z.object({
  blocks: height,
  headers: height,
  bestblockhash: hash,
  initialblockdownload: z.boolean().default(false),
  pruned: z.boolean().default(false),
  pruneheight: height.nullish(),
});

const mempoolInfo = z.object({
  loaded: z.boolean().default(true),
  size: z.number(),
  bytes: z.number(),
  usage: z.number().default(0),
  total_fee: z.number().default(0),
});

const header = z.object({ height, time: z.number(), mediantime: z.number() });

const mempoolEntry = z.object({
  depends: z.array(hash).default([]),
  spentby: z.array(hash).default([]),
  'bip125-replaceable': z.boolean().optional(),
});

/** Whole coins. Nodes print eight decimals, so that eight decimals of the number are exact. */
const coins = z
  .number()
  .min(0)
  .max(84e6)
  .transform((value) => present(parseDecimal(value.toFixed(8), 8), 'amount in eight decimals'));
const mempoolFloor = z.object({ mempoolminfee: coins, minrelaytxfee: coins.default(0n) });
/** Bitcoin and Litecoin Core. `feerate` is absent if there is too little data. */
const smartEstimate = z.object({ feerate: coins.optional() });
/** Bitcoin Cash Node no longer counts ancestors: its entry describes the transaction alone. */
const ancestors = z.union([
  z.object({ ancestorsize: z.int().min(1), fees: z.object({ ancestor: coins }) }),
  z.object({ size: z.int().min(1), fees: z.object({ base: coins }) }).transform(({ size, fees }) => ({
    ancestorsize: size,
    fees: { ancestor: fees.base },
  })),
]);
/** Bitcoin Cash Node does not name the block. */
const unspentSet = z.object({
  height: height.optional(),
  bestblock: hash.optional(),
  unspents: z.array(z.object({ txid: hash, vout: z.int().min(0), amount: coins, height: z.int().min(0) })),
});
const hex = z.string().regex(/^(?:[0-9a-f]{2})+$/);

/** For reading the whole set of unspent outputs of a main chain from a slow disk. */
const SCAN_TIMEOUT_MS = 1_800_000;
const SCAN_TRIES_MAX = 3;
const SCAN_RETRY_SECONDS = 30;
/** Between two questions about its settings and release. */
const CONCERNS_MS = 3_600_000;

export type NodeState = {
  height: number;
  hash: string;
  /** The height of its headers. */
  headers: number;
  /** Whether it says that it is still downloading the chain. */
  downloading: boolean;
  /** The lowest block that it still has. */
  lowestBlock: number;
  /** Its connections to other nodes; null if it was not asked or does not say. */
  peers: number | null;
  /** False while it loads its mempool after a start. */
  mempoolLoaded: boolean;
  /** Differs whenever the mempool has changed. A coincidence is corrected by the periodic listing. */
  mempoolMark: string;
};

export type BlockTime = { height: number; timeMs: number; medianTimeMs: number };
export type MempoolEntry = z.infer<typeof mempoolEntry>;

/** A block that a pruning node no longer has. */
export class PrunedBlock extends Error {
  constructor(hashOfBlock: string) {
    super(`block ${hashOfBlock} is pruned`);
    this.name = 'PrunedBlock';
  }
}

export class CoreNode {
  readonly #rpc: Rpc;
  readonly #chain: UtxoChain;
  readonly #network: Network;
  readonly #label: string;
  #identifiedAtConnection = -1;
  #concernsAskedAt = Number.NEGATIVE_INFINITY;
  /** As the node told within the hour before its last new connection. */
  concerns: readonly SourceConcern[] = [];

  constructor(rpc: Rpc, chain: UtxoChain, network: Network, label: string) {
    this.#rpc = rpc;
    this.#chain = chain;
    this.#network = network;
    this.#label = label;
  }

  /**
   * Checks that the node is of this chain and network, again after every new connection. Its first block identifies the
   * network. BTC and BCH share it, so the node is also asked whether it accepts an address of this chain. Throws
   * `Unavailable`.
   */
  async identify(signal: AbortSignal): Promise<void> {
    if (this.#identifiedAtConnection === this.#rpc.connections) return;
    const { address } = addressOfKey(GENERATOR_POINT, this.#chain, this.#network);
    const [genesis, validity] = await this.#rpc.batch(
      [
        ['getblockhash', 0],
        ['validateaddress', address],
      ],
      signal,
    );
    const first = this.#read(hash, genesis, 'getblockhash');
    const { isvalid } = this.#read(z.object({ isvalid: z.boolean() }), validity, 'validateaddress');
    const expected = UTXO_PARAMS[this.#chain][this.#network].genesis;
    if (!expected.includes(first)) {
      throw this.#wrongNode(`its first block is ${first}, expected ${expected.join(' or ')}`);
    }
    if (!isvalid) throw this.#wrongNode(`it does not know ${this.#chain} addresses such as ${address}`);
    this.#identifiedAtConnection = this.#rpc.connections;
    await this.#askConcerns(signal);
  }

  /** By itself and seldom: a node with -rpcwhitelist refuses a whole batch for a method that is not in it. */
  async #askConcerns(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#concernsAskedAt < CONCERNS_MS) return;
    this.#concernsAskedAt = performance.now();
    try {
      this.concerns = concernsOf(await this.#rpc.call(['getnetworkinfo'], signal), this.#chain, this.#network);
    } catch (error) {
      if (!(error instanceof RpcError) && !(error instanceof Unavailable)) throw error;
    }
  }

  #wrongNode(detail: string): Unavailable {
    return new Unavailable(
      `${this.#label} points at a node of another chain: ${detail}. Set it to a ${this.#network} node of ${this.#chain}.`,
      WRONG_NODE_RETRY_SECONDS,
    );
  }

  /** The node's state: one round trip, cheap enough to poll. */
  async state(signal: AbortSignal): Promise<NodeState> {
    const calls: Call[] = [['getblockchaininfo'], ['getmempoolinfo']];
    // a test node has no connections, and is at its tip all the same
    if (this.#network !== 'regtest') calls.push(['getconnectioncount']);
    const [chain, mempool, peers] = await this.#rpc.batch(calls, signal);
    const info = this.#read(chainInfo, chain, 'getblockchaininfo');
    const { loaded, size, bytes, usage, total_fee } = this.#read(mempoolInfo, mempool, 'getmempoolinfo');
    return {
      height: info.blocks,
      hash: info.bestblockhash,
      headers: info.headers,
      downloading: info.initialblockdownload,
      lowestBlock: info.pruned ? (info.pruneheight ?? 0) : 0,
      peers: peers && 'result' in peers ? (height.safeParse(peers.result).data ?? null) : null,
      mempoolLoaded: loaded,
      mempoolMark: `${loaded}:${size}:${bytes}:${usage}:${total_fee}`,
    };
  }

  async bestHash(signal: AbortSignal): Promise<string> {
    return this.#parse(hash, await this.#rpc.call(['getbestblockhash'], signal), 'getbestblockhash');
  }

  /** The hashes at heights (at most BATCH_CALLS_MAX), null above the tip. */
  async hashesAt(heights: readonly number[], signal: AbortSignal): Promise<(string | null)[]> {
    const calls = heights.map((at): Call => ['getblockhash', at]);
    const replies = await this.#rpc.batch(calls, signal);
    return replies.map((reply) =>
      'error' in reply && reply.error.code === OUT_OF_RANGE ? null : this.#read(hash, reply, 'getblockhash'),
    );
  }

  /** The height and times of a block on any branch. */
  async blockTime(hashOfBlock: string, signal: AbortSignal): Promise<BlockTime> {
    const result = await this.#answered(['getblockheader', hashOfBlock], signal);
    const { height: at, time, mediantime } = this.#parse(header, result, 'getblockheader');
    return { height: at, timeMs: time * 1000, medianTimeMs: mediantime * 1000 };
  }

  /** A block's bytes. Throws `PrunedBlock` or `Unavailable`. */
  async block(hashOfBlock: string, signal: AbortSignal): Promise<Buffer> {
    try {
      return await hexResult(await this.#rpc.raw(['getblock', hashOfBlock, 0], signal), slices());
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (/pruned/i.test(error.message)) throw new PrunedBlock(hashOfBlock);
      throw this.#refused('getblock', error);
    }
  }

  /** Hands over the id of every transaction in the mempool. */
  async eachMempoolTxid(take: (txid: string) => void, signal: AbortSignal): Promise<void> {
    try {
      await eachTxid(await this.#rpc.raw(['getrawmempool'], signal), slices(), take);
    } catch (error) {
      throw error instanceof RpcError ? this.#refused('getrawmempool', error) : error;
    }
  }

  /** The bytes of unconfirmed transactions (at most BATCH_CALLS_MAX); null for those that have left the mempool. */
  async transactions(txids: readonly string[], signal: AbortSignal): Promise<(Buffer | null)[]> {
    const replies = await this.#ofMempool('getrawtransaction', txids, signal);
    const pause = slices();
    const transactions: (Buffer | null)[] = [];
    for (const reply of replies) {
      transactions.push(reply && Buffer.from(this.#read(hex, reply, 'getrawtransaction'), 'hex'));
      const wait = pause();
      if (wait) await wait;
    }
    return transactions;
  }

  /** The mempool's entries of transactions (any number); null for those that have left it. */
  async mempoolEntries(txids: readonly string[], signal: AbortSignal): Promise<(MempoolEntry | null)[]> {
    const entries: (MempoolEntry | null)[] = [];
    for (let at = 0; at < txids.length; at += BATCH_CALLS_MAX) {
      const replies = await this.#ofMempool('getmempoolentry', txids.slice(at, at + BATCH_CALLS_MAX), signal);
      entries.push(...replies.map((reply) => reply && this.#read(mempoolEntry, reply, 'getmempoolentry')));
    }
    return entries;
  }

  /** Smallest units per 1,000 virtual bytes: the estimate for `target` blocks (null: none), the mempool's minimum. */
  async feeRates(target: number, signal: AbortSignal): Promise<{ estimate: bigint | null; least: bigint }> {
    // Bitcoin Cash Node dropped the estimate by target, because its blocks have room
    const call: Call = this.#chain === 'BCH' ? ['estimatefee'] : ['estimatesmartfee', target, 'ECONOMICAL'];
    const [estimated, floor] = await this.#rpc.batch([call, ['getmempoolinfo']], signal);
    const { mempoolminfee, minrelaytxfee } = this.#read(mempoolFloor, floor, 'getmempoolinfo');
    const least = mempoolminfee > minrelaytxfee ? mempoolminfee : minrelaytxfee;
    // an estimate is optional: anything but a positive rate counts as none
    const result = estimated && 'result' in estimated ? estimated.result : null;
    const rate = this.#chain === 'BCH' ? coins.safeParse(result).data : smartEstimate.safeParse(result).data?.feerate;
    return { estimate: rate === undefined || rate === 0n ? null : rate, least };
  }

  /** A transaction in hex, from a block or (null) the mempool; null if the node does not have it. */
  async transaction(txid: string, blockHash: string | null, signal: AbortSignal): Promise<string | null> {
    const call: Call = blockHash === null ? ['getrawtransaction', txid] : ['getrawtransaction', txid, false, blockHash];
    const [reply] = await this.#rpc.batch([call], signal);
    const missing =
      reply &&
      'error' in reply &&
      (reply.error.code === NOT_FOUND || /pruned|not available/i.test(reply.error.message));
    return missing ? null : this.#read(hex, reply, 'getrawtransaction');
  }

  /** Fee and size of an unconfirmed transaction with its unconfirmed ancestors; null if it is not in the mempool. */
  async ancestry(txid: string, signal: AbortSignal): Promise<{ fee: bigint; vsize: number } | null> {
    const [reply] = await this.#ofMempool('getmempoolentry', [txid], signal);
    if (!reply) return null;
    const { ancestorsize, fees } = this.#read(ancestors, reply, 'getmempoolentry');
    return { fee: fees.ancestor, vsize: ancestorsize };
  }

  /** The given outputs (outpoints) that are not in the confirmed set of unspent outputs. */
  async notUnspent(outpoints: readonly string[], signal: AbortSignal): Promise<string[]> {
    const found: string[] = [];
    for (let at = 0; at < outpoints.length; at += BATCH_CALLS_MAX) {
      const part = outpoints.slice(at, at + BATCH_CALLS_MAX);
      const calls = part.map((one): Call => ['gettxout', one.slice(0, 64), Number(one.slice(65)), false]);
      const replies = await this.#rpc.batch(calls, signal);
      found.push(...part.filter((_, i) => this.#read(z.unknown(), replies[i], 'gettxout') === null));
    }
    return found;
  }

  /** Sends a signed transaction. Null if the node has it, now or already; else the reason for its refusal. */
  async send(raw: string, signal: AbortSignal): Promise<string | null> {
    // without the node's own limit on fees: ours was checked before signing
    const unlimited = this.#chain === 'BCH' ? true : 0;
    const [reply] = await this.#rpc.batch([['sendrawtransaction', raw, unlimited]], signal);
    if (!reply || !('error' in reply)) {
      this.#read(hash, reply, 'sendrawtransaction');
      return null;
    }
    const { code, message } = reply.error;
    if (code === ALREADY_MINED || ALREADY_KNOWN.test(message)) return null;
    if (REFUSALS.includes(code)) return message;
    throw this.#refused('sendrawtransaction', reply.error);
  }

  /**
   * The unspent outputs of descriptors (each with a number of keys). Reads the whole set: minutes on a main chain.
   * Throws `Unavailable`, also if another such scan is running.
   */
  async unspentOf(
    descriptors: readonly { desc: string; count: number }[],
    signal: AbortSignal,
  ): Promise<{ height: number; hash: string; coins: { outpoint: string; units: bigint; height: number }[] }> {
    // Bitcoin Cash Node takes only the highest index
    const rangeOf = (count: number) => (this.#chain === 'BCH' ? count - 1 : [0, count - 1]);
    const objects = descriptors.map(({ desc, count }) => ({ desc, range: rangeOf(count) }));
    const call: Call = ['scantxoutset', 'start', objects];
    for (let attempt = 1; attempt <= SCAN_TRIES_MAX; attempt++) {
      const before = await this.state(signal);
      const [reply] = await this.#rpc.batch([call], signal, SCAN_TIMEOUT_MS);
      const { height: at = before.height, bestblock, unspents } = this.#read(unspentSet, reply, 'scantxoutset');
      // if the answer does not name its block, the tip must be the same before and after
      if (bestblock === undefined && (await this.bestHash(signal)) !== before.hash) continue;
      const coins = unspents.map((coin) => ({
        outpoint: `${coin.txid}:${coin.vout}`,
        units: coin.amount,
        height: coin.height,
      }));
      return { height: at, hash: bestblock ?? before.hash, coins };
    }
    throw new Unavailable(`${this.#label}: blocks came while the coins were read`, SCAN_RETRY_SECONDS);
  }

  async #ofMempool(method: string, txids: readonly string[], signal: AbortSignal): Promise<(Reply | null)[]> {
    const calls = txids.map((txid): Call => [method, txid]);
    const replies = await this.#rpc.batch(calls, signal);
    return replies.map((reply) => ('error' in reply && reply.error.code === NOT_FOUND ? null : reply));
  }

  async #answered(call: Call, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#rpc.call(call, signal);
    } catch (error) {
      throw error instanceof RpcError ? this.#refused(call[0], error) : error;
    }
  }

  #read<T>(shape: z.ZodType<T>, reply: Reply | undefined, method: string): T {
    if (reply && 'error' in reply) throw this.#refused(method, reply.error);
    return this.#parse(shape, reply?.result, method);
  }

  #parse<T>(shape: z.ZodType<T>, value: unknown, method: string): T {
    const parsed = shape.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new Unavailable(`${this.#label}: the node answers ${method} in a form that is not known`, 30);
  }

  #refused(method: string, error: RpcError): Unavailable {
    return new Unavailable(`${this.#label}: the node refuses ${method}: ${error.message} (${error.code})`, 5);
  }
}

/** The public key of the secret 1, for an address that belongs to nobody. */
const GENERATOR_POINT = Buffer.from('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798', 'hex');
