/**
 * One JSON-RPC endpoint of Ethereum or BNB Smart Chain: its requests, and the check that it is on the right chain. The
 * form of answers is checked here, their truth by `../agreement.ts` and `second-look.ts`.
 */
import type { Network } from '../../domain/assets.ts';
import type { BlockId } from '../../domain/chain.ts';
import { ChainAlert, Unavailable } from '../../domain/errors.ts';
import { chainIdOf, type EvmChain } from '../../domain/evm.ts';
import type { HeaderSource } from '../checkpoint.ts';
import { type Endpoint, Malformed } from '../endpoints.ts';
import { type Call, type Reply, Rpc, RpcError } from '../json-rpc.ts';
import { slices } from '../slices.ts';
import {
  baseFeeOf,
  type GasPrice,
  type Header,
  headerOf,
  isOfAmsterdam,
  type Log,
  listingOf,
  logsOf,
  paidPriceOf,
  quantityOf,
  type Receipt,
  receiptOf,
  type Sending,
  sendingOf,
  sendingsOf,
  signedOf,
  tracesOf,
  unpricedOf,
} from './answers.ts';
import { balancesCall } from './balances-call.ts';
import { isRevert, Pacing, REQUEST_TIMEOUT_MS, RETRY_SECONDS } from './pacing.ts';
import { GENESIS, type Token } from './params.ts';
import { ProgramSize } from './program-size.ts';
import { type ProvedBlock, provedBlock } from './proved-block.ts';
import { usedCall } from './used.ts';

export { isLimit, isRevert } from './pacing.ts';

type EndpointOptions = {
  /** http(s)://[user:password@]host[:port][/path], which may hold a key. */
  url: string;
  /** How messages name the setting. */
  label: string;
  network: Network;
  chain: EvmChain;
  tokens: readonly Token[];
};

/** Longer answers are refused. The longest honest one is a block full of transfers of one token. */
const RESPONSE_BYTES_MAX = 16_000_000;
/** For so long a further connection is not examined as the first one was. Servers close connections that rest for seconds. */
const EXAMINED_MS = 10 * 60_000;
const TRACES_MAX = 100;
/** For so long an endpoint is not asked for proofs that refuses them, or whose answers prove nothing. */
const UNPROVED_MS = 5 * 60_000;
/** Addresses that one run of a program examines: about 30,000 gas each, where endpoints allow 10,000,000 or more. */
const USED_PER_CALL_MAX = 250;
/** The same of balances: about 5,000 gas each. */
const BALANCES_PER_CALL_MAX = 1_100;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
/** The hash of no block. */
const NO_BLOCK = `0x${'1'.repeat(64)}`;
/** JSON-RPC 2.0: the parameters have another form than the method's. */
const INVALID_PARAMS = -32_602;
/** `decimals()` of ERC-20. */
const DECIMALS = '0x313ce567';
/** `symbol()` of ERC-20. */
const SYMBOL = '0x95d89b41';
/** The gas with which an unknown contract may return its name: enough for a short text, too little for megabytes. */
const TRAIT_GAS = 200_000;
const TRAIT_CHARS_MAX = 100_000;
/** `balanceOf(address)` of ERC-20, with the padding of its argument. */
const BALANCE_OF = `0x70a08231${'0'.repeat(24)}`;

/** Null: any; a list: one of these. */
type Topic = string | null | readonly string[];

/** A transaction that is only simulated by the endpoint. `value`: a quantity in hex. */
export type EvmCall = { from: string; to: string; value: string; data: string };

const hexOf = (number: number): string => `0x${number.toString(16)}`;

/** The 20 bytes of an address in the form of endpoints. */
export const hexOfScript = (script: Uint8Array): string => `0x${Buffer.from(script).toString('hex')}`;

export class EvmEndpoint implements Endpoint, HeaderSource<Header> {
  /** The host, without path and credentials, which may hold a key. */
  readonly name: string;
  readonly #options: EndpointOptions;
  readonly #rpc: Rpc;
  readonly #pacing: Pacing;
  #identified = -1;
  #examinedAtMs = Number.NEGATIVE_INFINITY;
  /** The connection on which the endpoint refused traces. */
  #traceless = -1;
  #provesFromMs = Number.NEGATIVE_INFINITY;
  readonly #usedPerCall = new ProgramSize(USED_PER_CALL_MAX);
  readonly #balancesPerCall = new ProgramSize(BALANCES_PER_CALL_MAX);

  /** Throws `Rejected` when the URL is malformed. */
  constructor(options: EndpointOptions) {
    this.#options = options;
    const { url, label } = options;
    this.#rpc = new Rpc({ url, label, responseBytesMax: RESPONSE_BYTES_MAX, version: '2.0' });
    this.#pacing = new Pacing({ rpc: this.#rpc, label });
    this.name = this.#rpc.source;
  }

  /**
   * Checks that this is the configured chain and that the tokens' contracts have the decimals of the registry: wholly at first and
   * from time to time, and by the chain's id at each further connection. Throws `ChainAlert` otherwise.
   */
  async identify(signal: AbortSignal): Promise<void> {
    if (this.#identified === this.#rpc.connections) return;
    if (performance.now() - this.#examinedAtMs < EXAMINED_MS) {
      this.#needChain(await this.#one(['eth_chainId'], signal));
      this.#identified = this.#rpc.connections;
      return;
    }
    const { network, chain, tokens } = this.#options;
    const [id, first, ...decimals] = await this.#pacing.many(
      [
        ['eth_chainId'],
        ['eth_getBlockByNumber', '0x0', false],
        ...tokens.map(({ contract }): Call => ['eth_call', { to: contract, data: DECIMALS }, 'latest']),
      ],
      signal,
    );
    this.#needChain(this.#result(id));
    const genesis = GENESIS[network]?.[chain];
    const { hash } = headerOf(this.#result(first));
    if (genesis !== undefined && hash !== genesis) throw this.#wrong(`has another first block: ${hash}`);
    for (const [i, token] of tokens.entries()) {
      const reply = decimals[i];
      // a proxy's contract may revert, an endpoint that is busy may not run it
      const isRefused = reply && 'error' in reply && isRevert(reply.error);
      const counted = isRefused ? null : wordOf(this.#result(reply));
      if (counted !== BigInt(token.decimals)) {
        const says = counted === null ? 'is no token there' : `has ${counted} decimals there`;
        throw this.#wrong(`disagrees: ${token.asset} at ${token.contract} ${says}, not ${token.decimals} decimals`);
      }
    }
    await this.#needStateByHash(signal);
    this.#examinedAtMs = performance.now();
    this.#identified = this.#rpc.connections;
  }

  #needChain(id: unknown): void {
    const { network, chain } = this.#options;
    const chainId = quantityOf(id, 'chain id');
    const expected = BigInt(chainIdOf(network, chain));
    if (chainId !== expected) throw this.#wrong(`is of the chain with the id ${chainId}, not ${expected}`);
  }

  /**
   * Balances are asked for by the hash of their block, so that they cannot be those of another branch. An endpoint that does not look at
   * the hash answers for a block that there is not. Throws `ChainAlert`, or `Unavailable` where it may be able to answer later.
   */
  async #needStateByHash(signal: AbortSignal): Promise<void> {
    const { hash } = await this.head(signal);
    const calls = [hash, NO_BLOCK].map(
      (blockHash): Call => ['eth_getBalance', ZERO_ADDRESS, { blockHash, requireCanonical: true }],
    );
    const [there, nowhere] = await this.#pacing.many(calls, signal);
    if (nowhere && 'result' in nowhere && nowhere.result !== null) {
      throw this.#wrong('ignores the hash of a block for the state (EIP-1898), so that it cannot be used');
    }
    if (!there || 'result' in there) return;
    const { code, message } = there.error;
    if (code !== INVALID_PARAMS) {
      const what = `does not tell the state of its newest block by its hash (EIP-1898): ${message}`;
      throw new Unavailable(`${this.#options.label}: ${this.name} ${what}`, RETRY_SECONDS);
    }
    throw this.#wrong(`takes no hash of a block for the state (EIP-1898), so that it cannot be used: ${message}`);
  }

  async head(signal: AbortSignal): Promise<Header> {
    return headerOf(await this.#present(['eth_getBlockByNumber', 'latest', false], signal));
  }

  /** The newest final block; null when the endpoint does not know the tag "finalized", or has none yet. */
  async finalized(signal: AbortSignal): Promise<Header | null> {
    const [reply] = await this.#pacing.many([['eth_getBlockByNumber', 'finalized', false]], signal);
    return reply && 'result' in reply && reply.result !== null ? headerOf(reply.result) : null;
  }

  /** The headers at these heights; null where it has no block. */
  headers(heights: readonly number[], signal: AbortSignal): Promise<(Header | null)[]> {
    return this.#blocksAt(heights, false, headerOf, signal);
  }

  /** The hashes of the blocks at these heights with the ids of their transactions; null where it has no block. */
  listings(heights: readonly number[], signal: AbortSignal): Promise<(ReturnType<typeof listingOf> | null)[]> {
    return this.#blocksAt(heights, false, listingOf, signal);
  }

  /** The headers at these heights, each with what the transactions of its block send; null where it has no block. */
  wholeBlocks(heights: readonly number[], signal: AbortSignal): Promise<((Header & { sendings: Sending[] }) | null)[]> {
    return this.#blocksAt(heights, true, (value) => ({ ...headerOf(value), sendings: sendingsOf(value) }), signal);
  }

  async #blocksAt<T extends { height: number }>(
    heights: readonly number[],
    isWhole: boolean,
    read: (value: unknown) => T,
    signal: AbortSignal,
  ): Promise<(T | null)[]> {
    const calls = heights.map((height): Call => ['eth_getBlockByNumber', hexOf(height), isWhole]);
    const replies = await this.#pacing.many(calls, signal);
    return replies.map((reply, i) => {
      const value = this.#result(reply);
      const block = value === null ? null : read(value);
      if (block && block.height !== heights[i]) throw new Malformed('a block of another height');
      return block;
    });
  }

  /** The headers of blocks by their hashes; null where it has no such block. */
  async headersByHash(hashes: readonly string[], signal: AbortSignal): Promise<(Header | null)[]> {
    const calls = hashes.map((hash): Call => ['eth_getBlockByHash', hash, false]);
    const replies = await this.#pacing.many(calls, signal);
    return replies.map((reply, i) => {
      const value = this.#result(reply);
      const header = value === null ? null : headerOf(value);
      if (header && header.hash !== hashes[i]) throw new Malformed('a block of another hash');
      return header;
    });
  }

  /** Logs of some contracts (null: of any) with these topics, in a range of heights. Throws `RpcError` if too much. */
  async logs(
    range: { from: number; to: number },
    contracts: readonly string[] | null,
    topics: readonly Topic[],
    signal: AbortSignal,
  ): Promise<Log[]> {
    const blocks = { fromBlock: hexOf(range.from), toBlock: hexOf(range.to) };
    const filter = { ...blocks, ...(contracts && { address: contracts }), topics };
    const [reply] = await this.#pacing.many([['eth_getLogs', filter]], signal, 'pass limits on');
    if (reply && 'error' in reply) throw reply.error;
    const logs = await logsOf(this.#known(this.#result(reply)), slices());
    if (logs.some(({ height }) => height < range.from || height > range.to))
      throw new Malformed('logs of other blocks');
    return logs;
  }

  /**
   * The logs of single blocks, by hash (EIP-234): an endpoint without the block answers with an error instead of an
   * empty list.
   */
  async logsIn(
    blocks: readonly BlockId[],
    contracts: readonly string[],
    topic: string,
    signal: AbortSignal,
  ): Promise<Log[]> {
    const calls = blocks.map(
      ({ hash }): Call => ['eth_getLogs', { blockHash: hash, address: contracts, topics: [topic] }],
    );
    const replies = await this.#pacing.many(calls, signal);
    const pause = slices();
    const found: Log[] = [];
    for (const [i, reply] of replies.entries()) {
      const logs = await logsOf(this.#known(this.#result(reply)), pause);
      if (logs.some(({ blockHash }) => blockHash !== blocks[i]?.hash)) throw new Malformed('logs of another block');
      for (const log of logs) found.push(log);
    }
    return found;
  }

  /** The receipts of transactions; null where it knows none. */
  async receipts(txids: readonly string[], signal: AbortSignal): Promise<(Receipt | null)[]> {
    const replies = await this.#pacing.many(
      txids.map((txid): Call => ['eth_getTransactionReceipt', txid]),
      signal,
    );
    const values = replies.map((reply) => this.#result(reply));
    const unstated = await this.#unstatedPrices(values, signal);
    const pause = slices();
    const receipts: (Receipt | null)[] = [];
    for (const [i, value] of values.entries()) {
      const receipt = value === null ? null : await receiptOf(value, unstated, pause);
      if (receipt && receipt.txid !== txids[i]) throw new Malformed('the receipt of another transaction');
      receipts.push(receipt);
    }
    return receipts;
  }

  /** The prices of gas that transactions paid whose receipts state none, by id. */
  async #unstatedPrices(receipts: readonly unknown[], signal: AbortSignal): Promise<Map<string, bigint>> {
    const unpriced = receipts.flatMap((value) => (value === null ? [] : (unpricedOf(value) ?? [])));
    const hashes = [...new Set(unpriced.map(({ blockHash }) => blockHash))];
    const calls = [
      ...hashes.map((hash): Call => ['eth_getBlockByHash', hash, false]),
      ...unpriced.map(({ txid }): Call => ['eth_getTransactionByHash', txid]),
    ];
    if (calls.length === 0) return new Map();
    const told = (await this.#pacing.many(calls, signal)).map((reply) => this.#known(this.#result(reply)));
    const bases = new Map(hashes.map((hash, i) => [hash, baseFeeOf(told[i])]));
    return new Map(
      unpriced.map(({ txid, blockHash }, i) => {
        return [txid, paidPriceOf(told[hashes.length + i], bases.get(blockHash) ?? 0n)];
      }),
    );
  }

  /** A block with its transactions and receipts; null where the endpoint does not tell them so that they prove each other. */
  async provedBlock(hash: string, signal: AbortSignal): Promise<ProvedBlock | null> {
    if (performance.now() < this.#provesFromMs) return null;
    const told = async (call: Call): Promise<unknown> => {
      const [reply] = await this.#pacing.many([call], signal, 'pass limits on');
      if (reply && 'error' in reply) throw reply.error;
      return reply?.result ?? null;
    };
    try {
      const receipts = await told(['eth_getBlockReceipts', hash]);
      const block = receipts === null ? null : await told(['eth_getBlockByHash', hash, true]);
      return block === null ? null : await provedBlock(hash, block, receipts, slices());
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RpcError || error instanceof Unavailable || error instanceof Malformed)) throw error;
      this.#provesFromMs = performance.now() + UNPROVED_MS;
      return null;
    }
  }

  /** The native balances of addresses (hex with 0x) after a block; null where it does not have that state any more. */
  async balances(addresses: readonly string[], block: BlockId, signal: AbortSignal): Promise<(bigint | null)[]> {
    const size = this.#balancesPerCall;
    while (addresses.length > 1 && size.isRunning) {
      const runs = size.parts(addresses).map(balancesCall);
      const found = await this.#run(runs, block, size, signal);
      if (found.length === addresses.length) return found;
      // without the state it refuses every question about it
      const [first = null] = await this.#balancesOfEach(addresses.slice(0, 1), block, signal);
      if (first === null) return addresses.map(() => null);
      size.refused();
    }
    return this.#balancesOfEach(addresses, block, signal);
  }

  /** The answers of the part of a program that the endpoint ran. */
  async #run<T>(
    runs: readonly { data: string; read: (answer: unknown) => T[] | null }[],
    block: BlockId,
    size: ProgramSize,
    signal: AbortSignal,
  ): Promise<T[]> {
    const at = { blockHash: block.hash, requireCanonical: true };
    const calls = runs.map(({ data }): Call => ['eth_call', { data }, at]);
    const replies = await this.#pacing.many(calls, signal).catch((error: unknown) => {
      if (error instanceof Unavailable) size.refused();
      throw error;
    });
    return runs.flatMap((run, i) => {
      const reply = replies[i];
      return (reply && 'result' in reply && run.read(reply.result)) || [];
    });
  }

  async #balancesOfEach(addresses: readonly string[], block: BlockId, signal: AbortSignal): Promise<(bigint | null)[]> {
    const at = { blockHash: block.hash, requireCanonical: true };
    const replies = await this.#pacing.many(
      addresses.map((address): Call => ['eth_getBalance', address, at]),
      signal,
    );
    return replies.map((reply) => ('error' in reply ? null : quantityOf(reply.result, 'balance')));
  }

  /** The symbol (as the contract returned it, hex with 0x) and the decimals of tokens; null where a contract tells none. */
  async tokenTraits(
    contracts: readonly string[],
    signal: AbortSignal,
  ): Promise<{ symbol: string | null; decimals: bigint | null }[]> {
    const calls = contracts.flatMap((to): Call[] =>
      [SYMBOL, DECIMALS].map((data) => ['eth_call', { to, data, gas: hexOf(TRAIT_GAS) }, 'latest']),
    );
    const replies = await this.#pacing.many(calls, signal);
    const resultAt = (i: number): unknown => {
      const reply = replies[i];
      return reply && 'result' in reply ? reply.result : null;
    };
    return contracts.map((_, i) => {
      const symbol = resultAt(2 * i);
      const isText = typeof symbol === 'string' && symbol.length <= TRAIT_CHARS_MAX && /^0x[0-9a-f]*$/i.test(symbol);
      return { symbol: isText ? symbol : null, decimals: wordOf(resultAt(2 * i + 1)) };
    });
  }

  /**
   * The transaction that sent `units` to an address from inside a contract, in one block. Null when the endpoint keeps
   * no traces, or when it is not certain which one it was.
   */
  async payerInside(address: string, block: BlockId, units: bigint, signal: AbortSignal): Promise<string | null> {
    if (this.#traceless === this.#rpc.connections) return null;
    const at = hexOf(block.height);
    const filter = { fromBlock: at, toBlock: at, toAddress: [address], count: TRACES_MAX };
    try {
      const traces = tracesOf(await this.#rpc.call(['trace_filter', filter], signal, REQUEST_TIMEOUT_MS));
      const inside = traces.filter(
        ({ to, isInside, blockHash }) => isInside && to === address && blockHash === block.hash,
      );
      const [first] = inside;
      const sum = inside.reduce((total, { value }) => total + value, 0n);
      return first && sum === units && inside.every(({ txid }) => txid === first.txid) ? first.txid : null;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RpcError || error instanceof Unavailable || error instanceof Malformed)) throw error;
      this.#traceless = this.#rpc.connections;
      return null;
    }
  }

  /** How many transactions addresses have sent; null where the endpoint does not tell. */
  async nonces(addresses: readonly string[], signal: AbortSignal): Promise<(bigint | null)[]> {
    const calls = addresses.map((address): Call => ['eth_getTransactionCount', address, 'latest']);
    const replies = await this.#pacing.many(calls, signal);
    return replies.map((reply) => ('error' in reply ? null : quantityOf(reply.result, 'nonce')));
  }

  /** How many transactions an address has sent, with those in this endpoint's pool that follow them; 0 where it does not tell. */
  async nonceInPool(address: string, signal: AbortSignal): Promise<bigint> {
    const [reply] = await this.#pacing.many([['eth_getTransactionCount', address, 'pending']], signal);
    return !reply || 'error' in reply ? 0n : quantityOf(reply.result, 'nonce');
  }

  /** The same as `balances` of a token: null where that state or the contract is not there. */
  async tokenBalances(
    contract: string,
    addresses: readonly string[],
    block: BlockId,
    signal: AbortSignal,
  ): Promise<(bigint | null)[]> {
    const at = { blockHash: block.hash, requireCanonical: true };
    const replies = await this.#pacing.many(
      addresses.map((address): Call => ['eth_call', { to: contract, data: `${BALANCE_OF}${address.slice(2)}` }, at]),
      signal,
    );
    return replies.map((reply) => ('error' in reply ? null : wordOf(reply.result)));
  }

  /**
   * Which addresses (hex with 0x) hold a coin or one of these tokens after a block, or have sent a transaction. Null where the
   * endpoint does not run the program that finds it out for many at once.
   */
  async usedAmong(
    contracts: readonly string[],
    addresses: readonly string[],
    block: BlockId,
    signal: AbortSignal,
  ): Promise<boolean[] | null> {
    const size = this.#usedPerCall;
    while (size.isRunning) {
      const runs = size.parts(addresses).map((part) => usedCall(contracts, part));
      const found = await this.#run(runs, block, size, signal);
      if (found.length === addresses.length) return found;
      size.refused();
    }
    return null;
  }

  /** How many transactions addresses had sent after a block; null where the endpoint does not have that state any more. */
  async noncesAfter(addresses: readonly string[], block: BlockId, signal: AbortSignal): Promise<(bigint | null)[]> {
    const at = { blockHash: block.hash, requireCanonical: true };
    const replies = await this.#pacing.many(
      addresses.map((address): Call => ['eth_getTransactionCount', address, at]),
      signal,
    );
    return replies.map((reply) => ('error' in reply ? null : quantityOf(reply.result, 'nonce')));
  }

  /** The same of one address. */
  async nonceAfter(address: string, block: BlockId, signal: AbortSignal): Promise<bigint | null> {
    const [nonce = null] = await this.noncesAfter([address], block, signal);
    return nonce;
  }

  /** Transactions by their ids; null where it knows none. */
  async sendingsOf(txids: readonly string[], signal: AbortSignal): Promise<(Sending | null)[]> {
    const calls = txids.map((txid): Call => ['eth_getTransactionByHash', txid]);
    const replies = await this.#pacing.many(calls, signal);
    return replies.map((reply, i) => {
      const value = this.#result(reply);
      const sending = value === null ? null : sendingOf(value);
      if (sending && sending.txid !== txids[i]) throw new Malformed('another transaction');
      return sending;
    });
  }

  /** A transaction by its id; null where it knows none. */
  async sending(txid: string, signal: AbortSignal): Promise<Sending | null> {
    const [sending = null] = await this.sendingsOf([txid], signal);
    return sending;
  }

  /** The signed bytes of a transaction; null where it knows none, 'other' if this program makes none of its kind. */
  async signed(txid: string, signal: AbortSignal): Promise<Uint8Array | 'other' | null> {
    const value = await this.#one(['eth_getTransactionByHash', txid], signal);
    return value === null ? null : signedOf(value);
  }

  async gasPrice(signal: AbortSignal): Promise<GasPrice> {
    const [block, tip, price] = await this.#pacing.many(
      [['eth_getBlockByNumber', 'latest', false], ['eth_maxPriorityFeePerGas'], ['eth_gasPrice']],
      signal,
    );
    const newest = this.#known(this.#result(block));
    const base = baseFeeOf(newest);
    const told = { base, isNewStateDear: isOfAmsterdam(newest) };
    if (tip && 'result' in tip && tip.result !== null) return { ...told, tip: quantityOf(tip.result, 'tip') };
    // not all chains know the former method
    const whole = quantityOf(this.#result(price), 'gas price');
    return { ...told, tip: whole > base ? whole - base : 0n };
  }

  /** The gas that a transaction needs now, and what it would return. Throws `RpcError` when it would fail. */
  async trial(call: EvmCall, signal: AbortSignal): Promise<{ gas: bigint; returned: string }> {
    const [gas, returned] = await this.#pacing.many(
      [
        // some nodes simulate it after the transactions in their pool, which may contain the one that this replaces
        ['eth_estimateGas', call, 'latest'],
        ['eth_call', call, 'latest'],
      ],
      signal,
    );
    for (const reply of [gas, returned]) if (reply && 'error' in reply) throw reply.error;
    return { gas: quantityOf(this.#result(gas), 'gas'), returned: String(this.#result(returned)) };
  }

  /** Sends signed bytes. Throws `RpcError` if the endpoint refuses them. */
  async send(raw: string, signal: AbortSignal): Promise<void> {
    await this.#rpc.call(['eth_sendRawTransaction', raw], signal, REQUEST_TIMEOUT_MS);
  }

  /** The transactions of a block, each with what it sends by itself. */
  async sendings(block: BlockId, signal: AbortSignal): Promise<Sending[]> {
    return sendingsOf(await this.#present(['eth_getBlockByHash', block.hash, true], signal));
  }

  close(): void {
    this.#rpc.close();
  }

  async #one(call: Call, signal: AbortSignal): Promise<unknown> {
    const [reply] = await this.#pacing.many([call], signal);
    return this.#result(reply);
  }

  async #present(call: Call, signal: AbortSignal): Promise<unknown> {
    return this.#known(await this.#one(call, signal));
  }

  /** A result that is there. One of several servers behind an endpoint may not have a block yet that another one has told. */
  #known(result: unknown): unknown {
    if (result !== null) return result;
    throw new Unavailable(`${this.#options.label}: ${this.name} does not have a block yet, or any more`, RETRY_SECONDS);
  }

  #result(reply: Reply | undefined): unknown {
    if (reply && 'result' in reply) return reply.result;
    throw new Unavailable(
      `${this.#options.label}: ${this.name} refuses a request: ${reply?.error.message ?? 'no answer'}`,
      RETRY_SECONDS,
    );
  }

  #wrong(what: string): ChainAlert {
    return new ChainAlert(`${this.#options.label}: ${this.name} ${what}`);
  }
}

/** The number in the 32 bytes that a contract's call returned; null for anything else. */
const wordOf = (value: unknown): bigint | null =>
  typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value) ? BigInt(value) : null;
