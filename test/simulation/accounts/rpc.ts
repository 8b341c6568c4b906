/** What an endpoint of a simulated account chain answers: the methods of JSON-RPC that the product uses. */
import { bytesToHex, type Hex } from 'viem';
import { chainIdOf } from '../../../daemon/domain/evm.ts';
import type { MachineTx } from './machine.ts';
import { idOf, type Mined, type Shown, type ShownLog } from './network.ts';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Asked = { method: string; params: Json[] };
export type Answered = { result: Json } | { error: { code: number; message: string } };

const NO_METHOD = -32_601;
const SERVER_ERROR = -32_000;
const REVERTED = 3;
const TIP = 1_000_000_000n;

const quantity = (number: bigint | number): Hex => `0x${number.toString(16)}`;
const refusal = (message: string, code = SERVER_ERROR): Answered => ({ error: { code, message } });

type Tag = { blockHash?: Hex } | string | undefined;

/** The block that a tag names; null: not on the chain. */
function blockAt(network: Shown, tag: Tag): Mined | null {
  if (typeof tag === 'object') {
    const found = tag.blockHash === undefined ? undefined : network.byHash.get(tag.blockHash);
    return found && network.isCanonical(found) ? found : null;
  }
  if (tag === 'finalized' || tag === 'safe') return network.final;
  if (tag === undefined || tag === 'latest' || tag === 'pending') return network.tip;
  return network.chain[Number(tag)] ?? null;
}

type Call = { from?: Hex; to?: Hex; value?: Hex; data?: Hex; input?: Hex };

/** Answers one call by the truth of the network. */
export async function answer(network: Shown, { method, params }: Asked): Promise<Answered> {
  const [first, second] = params;
  switch (method) {
    case 'eth_chainId':
      return { result: quantity(chainIdOf('regtest', network.name)) };
    case 'eth_blockNumber':
      return { result: quantity(network.tip.height) };
    case 'eth_getBlockByNumber':
      return { result: shownBlock(blockAt(network, first as Tag), second === true) };
    case 'eth_getBlockByHash':
      return { result: shownBlock(network.byHash.get(first as Hex) ?? null, second === true) };
    case 'eth_getLogs':
      return logs(network, first as LogFilter);
    case 'eth_getTransactionReceipt':
      return { result: receiptAt(network.placeOf(first as Hex)) };
    case 'eth_getBlockReceipts': {
      const mined =
        typeof first === 'string' && first.length === 66
          ? network.byHash.get(first as Hex)
          : blockAt(network, first as Tag);
      return { result: mined ? mined.txs.map((_, at) => receiptAt({ mined, at })) : null };
    }
    case 'eth_getTransactionByHash':
      return { result: transaction(network, first as Hex) };
    case 'eth_getBalance':
    case 'eth_getTransactionCount':
      return account(network, method, first as Hex, second as Tag);
    case 'eth_call':
    case 'eth_estimateGas':
      return run(network, method, first as Call, second as Tag);
    case 'eth_gasPrice':
      return { result: quantity(network.baseFee + TIP) };
    case 'eth_maxPriorityFeePerGas':
      return { result: quantity(TIP) };
    case 'eth_sendRawTransaction':
      return send(network, first as Hex);
    default:
      return refusal(`the method ${method} does not exist`, NO_METHOD);
  }
}

/** The fields of a header as endpoints name them. */
function shownBlock(mined: Mined | null, whole: boolean): Json {
  if (!mined) return null;
  const { uncleHash, coinbase, transactionsTrie, receiptTrie, ...rest } = mined.block.header.toJSON();
  return {
    ...rest,
    sha3Uncles: uncleHash ?? null,
    miner: coinbase ?? null,
    transactionsRoot: transactionsTrie ?? null,
    receiptsRoot: receiptTrie ?? null,
    hash: mined.hash,
    uncles: [],
    transactions: mined.txs.map((one, at) => (whole ? minedTransaction(mined, at) : one.id)),
  };
}

function minedTransaction(mined: Mined, at: number): Json {
  const one = mined.txs[at];
  if (!one) return null;
  return {
    ...shownTransaction(one.tx),
    blockHash: mined.hash,
    blockNumber: quantity(mined.height),
    transactionIndex: quantity(at),
  };
}

function shownTransaction(tx: MachineTx): { [key: string]: Json } {
  const { r, s, v, yParity } = tx.toJSON() as Record<string, Json>;
  return {
    hash: idOf(tx),
    from: bytesToHex(tx.getSenderAddress().bytes),
    to: tx.to ? bytesToHex(tx.to.bytes) : null,
    nonce: quantity(tx.nonce),
    value: quantity(tx.value),
    input: bytesToHex(tx.data),
    gas: quantity(tx.gasLimit),
    type: quantity(tx.type),
    chainId: quantity(tx.chainId),
    maxFeePerGas: quantity(tx.maxFeePerGas),
    maxPriorityFeePerGas: quantity(tx.maxPriorityFeePerGas),
    accessList: [],
    r: r ?? null,
    s: s ?? null,
    v: v ?? yParity ?? null,
    yParity: yParity ?? v ?? null,
  };
}

function transaction(network: Shown, id: Hex): Json {
  const place = network.placeOf(id);
  if (place) return minedTransaction(place.mined, place.at);
  const waiting = network.pool.get(id);
  return waiting ? { ...shownTransaction(waiting), blockHash: null, blockNumber: null, transactionIndex: null } : null;
}

function receiptAt(place: { mined: Mined; at: number } | null): Json {
  const one = place?.mined.txs[place.at];
  if (!place || !one) return null;
  const { mined, at } = place;
  return {
    transactionHash: one.id,
    transactionIndex: quantity(at),
    blockHash: mined.hash,
    blockNumber: quantity(mined.height),
    from: one.from,
    to: one.tx.to ? bytesToHex(one.tx.to.bytes) : null,
    cumulativeGasUsed: quantity(one.receipt.cumulativeBlockGasUsed),
    gasUsed: quantity(one.gasUsed),
    effectiveGasPrice: quantity(one.price),
    contractAddress: one.created,
    logs: one.logs,
    logsBloom: bytesToHex(one.receipt.bitvector),
    status: quantity(one.receipt.status),
    type: quantity(one.tx.type),
  };
}

export type LogFilter = {
  fromBlock?: Hex;
  toBlock?: Hex;
  blockHash?: Hex;
  address?: Hex | Hex[];
  topics?: (null | Hex | Hex[])[];
};

const isOneOf = (wanted: null | undefined | Hex | Hex[], value: Hex | undefined): boolean =>
  wanted === null ||
  wanted === undefined ||
  (value !== undefined && [wanted].flat().some((one) => one.toLowerCase() === value));

/** Whether a log is one of those that are asked for. */
export const isWanted = ({ address, topics = [] }: LogFilter, log: ShownLog): boolean =>
  isOneOf(address, log.address) && topics.every((wanted, i) => isOneOf(wanted, log.topics[i]));

function logs(network: Shown, filter: LogFilter): Answered {
  const blocks = blocksOf(network, filter);
  if (!blocks) return refusal('unknown block');
  return { result: blocks.flatMap(({ txs }) => txs.flatMap((one) => one.logs.filter((log) => isWanted(filter, log)))) };
}

/** The blocks that a filter names; null where one is not there. */
export function blocksOf(network: Shown, { blockHash, fromBlock, toBlock }: LogFilter): Mined[] | null {
  if (blockHash === undefined)
    return network.chain.slice(Number(fromBlock ?? 0), Number(toBlock ?? network.tip.height) + 1);
  const found = network.byHash.get(blockHash);
  return found ? [found] : null;
}

async function account(network: Shown, method: string, address: Hex, tag: Tag): Promise<Answered> {
  const mined = blockAt(network, tag);
  if (!mined) return refusal('header for hash not found');
  const { nonce, balance } = await network.accountAt(address, mined);
  if (method === 'eth_getBalance') return { result: quantity(balance) };
  return { result: quantity(tag === 'pending' ? network.nonceInPool(address, nonce) : nonce) };
}

async function run(network: Shown, method: string, call: Call, tag: Tag): Promise<Answered> {
  const mined = blockAt(network, tag);
  if (!mined) return refusal('header for hash not found');
  const { from = null, to = null, value = '0x0', data = call.input ?? '0x' } = call;
  const { failed, returned, gas } = await network.call({ from, to, value: BigInt(value), data }, mined);
  if (failed !== null) return refusal(`execution reverted: ${failed}`, REVERTED);
  return { result: method === 'eth_call' ? returned : quantity(gas) };
}

async function send(network: Shown, raw: Hex): Promise<Answered> {
  const bytes = Buffer.from(raw.slice(2), 'hex');
  const refused = await network.submit(bytes);
  return refused === null ? { result: idOf(network.machine.read(bytes)) } : refusal(refused);
}
