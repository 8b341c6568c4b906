/**
 * Strict parsers of an endpoint's answers. An answer that differs from the JSON-RPC specification of Ethereum's
 * execution clients throws `Malformed`, so that it never becomes a payment.
 */
import { signedBytes, transferOf } from '../../domain/evm-transaction.ts';
import { Malformed } from '../endpoints.ts';
import type { Pause } from '../slices.ts';
import { isProved } from './header-hash.ts';

/** `bloom`: 256 bytes as hex. Hashes are lower-case hex with 0x. `isProved`: the hash proves all of it. */
export type Header = {
  height: number;
  hash: string;
  parent: string;
  timeMs: number;
  bloom: string;
  isProved: boolean;
};
export type Log = {
  contract: string;
  topics: string[];
  data: string;
  txid: string;
  height: number;
  blockHash: string;
  /** The log's index in its block. */
  index: number;
};
/** `fee`: the cost of its gas, wei. */
export type Receipt = {
  txid: string;
  succeeded: boolean;
  height: number;
  blockHash: string;
  fee: bigint;
  logs: Log[];
};
/**
 * A transaction, and the amount of the native coin that it transfers itself. `to` is null when it creates a contract. `transfer`: the
 * transfer that it asks a token's contract for; null for every other call.
 */
export type Sending = {
  txid: string;
  from: string;
  nonce: bigint;
  to: string | null;
  value: bigint;
  transfer: { to: Uint8Array; units: bigint } | null;
};
/**
 * The price of gas in the newest block, and a tip with which a transaction is mined soon; wei per gas. `isNewStateDear`: the block is of the
 * Amsterdam upgrade or a later one (EIP-8037).
 */
export type GasPrice = { base: bigint; tip: bigint; isNewStateDear?: boolean };

/** A call that transferred the native coin. `isInside`: a contract made it. */
type Trace = { txid: string; blockHash: string; to: string | null; value: bigint; isInside: boolean };

const HASH = /^0x[0-9a-fA-F]{64}$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const QUANTITY = /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/;
const DATA = /^0x(?:[0-9a-fA-F]{2})*$/;
const WORD = /^0x[0-9a-fA-F]{1,64}$/;
const BLOOM_CHARS = 2 + 512;
/** From this type on, a transaction names the highest price instead of the price (EIP-1559). */
const TYPE_WITH_BASE_FEE = 2n;
/** Of a call of `transfer(address,uint256)`, in hex with 0x. */
const TRANSFER_CHARS = 2 + 2 * (4 + 32 + 32);
/** The event's signature and three indexed values (EVM: LOG0 to LOG4). */
const TOPICS_MAX = 4;
const TIME_SECONDS_MAX = 1e11;
/** Logs between two checks of the clock. */
const LOGS_PER_LOOK = 32;

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function fieldsOf(value: unknown, what: string): Fields {
  if (!isFields(value)) throw new Malformed(`no ${what}`);
  return value;
}

function hex(value: unknown, pattern: RegExp, what: string): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw new Malformed(`a bad ${what}`);
  return value.toLowerCase();
}

/** An unsigned number of at most 256 bits. */
export function quantityOf(value: unknown, what: string): bigint {
  return BigInt(hex(value, QUANTITY, what));
}

function wholeOf(value: unknown, what: string): number {
  const quantity = quantityOf(value, what);
  if (quantity > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed(`a ${what} of ${quantity}`);
  return Number(quantity);
}

export function headerOf(value: unknown): Header {
  const block = fieldsOf(value, 'block');
  const { number, hash, parentHash, timestamp, logsBloom } = block;
  const seconds = wholeOf(timestamp, 'block time');
  if (seconds > TIME_SECONDS_MAX) throw new Malformed(`a block time of ${seconds}`);
  const bloom = hex(logsBloom, DATA, 'bloom filter');
  if (bloom.length !== BLOOM_CHARS) throw new Malformed('a bloom filter of another size');
  return {
    height: wholeOf(number, 'block number'),
    hash: hex(hash, HASH, 'block hash'),
    parent: hex(parentHash, HASH, 'parent hash'),
    timeMs: seconds * 1_000,
    bloom,
    isProved: isProved(block),
  };
}

/** The hash of a block that was asked for without its transactions, and their ids. */
export function listingOf(value: unknown): { height: number; hash: string; txids: ReadonlySet<string> } {
  const { number, hash, transactions } = fieldsOf(value, 'block');
  if (!Array.isArray(transactions)) throw new Malformed('a block without transactions');
  const txids = new Set(transactions.map((txid) => hex(txid, HASH, 'transaction hash')));
  return { height: wholeOf(number, 'block number'), hash: hex(hash, HASH, 'block hash'), txids };
}

/** Works in short turns, because a list may have tens of thousands. */
export async function logsOf(value: unknown, pause: Pause): Promise<Log[]> {
  if (!Array.isArray(value)) throw new Malformed('no list of logs');
  const logs: Log[] = [];
  for (const one of value) {
    logs.push(logOf(one));
    const wait = logs.length % LOGS_PER_LOOK === 0 ? pause() : undefined;
    if (wait) await wait;
  }
  return logs;
}

function logOf(value: unknown): Log {
  const log = fieldsOf(value, 'log');
  if (!Array.isArray(log.topics) || log.topics.length > TOPICS_MAX) throw new Malformed('a log with other topics');
  if (log.removed === true) throw new Malformed('a log that was removed');
  return {
    contract: hex(log.address, ADDRESS, 'contract of a log'),
    topics: log.topics.map((topic) => hex(topic, HASH, 'topic')),
    data: hex(log.data, DATA, 'data of a log'),
    txid: hex(log.transactionHash, HASH, 'transaction of a log'),
    height: wholeOf(log.blockNumber, 'block of a log'),
    blockHash: hex(log.blockHash, HASH, 'block of a log'),
    index: wholeOf(log.logIndex, 'index of a log'),
  };
}

/** `unstated`: the prices that transactions paid whose receipts state none, by id. */
export async function receiptOf(value: unknown, unstated: ReadonlyMap<string, bigint>, pause: Pause): Promise<Receipt> {
  const receipt = fieldsOf(value, 'receipt');
  const txid = hex(receipt.transactionHash, HASH, 'transaction of a receipt');
  const price = unstated.get(txid) ?? quantityOf(receipt.effectiveGasPrice, 'price of a receipt');
  return {
    txid,
    succeeded: quantityOf(receipt.status, 'status of a receipt') === 1n,
    height: wholeOf(receipt.blockNumber, 'block of a receipt'),
    blockHash: hex(receipt.blockHash, HASH, 'block of a receipt'),
    fee: quantityOf(receipt.gasUsed, 'gas of a receipt') * price,
    logs: await logsOf(receipt.logs, pause),
  };
}

/** The transaction and the block of a receipt that states no price, as receipts did before EIP-1559; null for every other one. */
export function unpricedOf(value: unknown): { txid: string; blockHash: string } | null {
  const { effectiveGasPrice, transactionHash, blockHash } = fieldsOf(value, 'receipt');
  if (effectiveGasPrice !== undefined && effectiveGasPrice !== null) return null;
  return {
    txid: hex(transactionHash, HASH, 'transaction of a receipt'),
    blockHash: hex(blockHash, HASH, 'block of a receipt'),
  };
}

/** The price of gas that a transaction paid: its own, or the base fee of its block and a tip up to its highest price. */
export function paidPriceOf(value: unknown, base: bigint): bigint {
  const one = fieldsOf(value, 'transaction');
  if (one.type === undefined || quantityOf(one.type, 'type of a transaction') < TYPE_WITH_BASE_FEE) {
    return quantityOf(one.gasPrice, 'price of a transaction');
  }
  const most = quantityOf(one.maxFeePerGas, 'highest price of a transaction');
  const wanted = base + quantityOf(one.maxPriorityFeePerGas, 'tip of a transaction');
  return wanted < most ? wanted : most;
}

/** The transactions of a block that was asked for with all of them. */
export function sendingsOf(value: unknown): Sending[] {
  const { transactions } = fieldsOf(value, 'block');
  if (!Array.isArray(transactions)) throw new Malformed('a block without transactions');
  return transactions.map(sendingOf);
}

export function sendingOf(value: unknown): Sending {
  const { hash, from, nonce, to, value: units, input } = fieldsOf(value, 'transaction');
  const isTransfer = typeof input === 'string' && input.length === TRANSFER_CHARS && DATA.test(input);
  return {
    txid: hex(hash, HASH, 'transaction hash'),
    from: hex(from, ADDRESS, 'sender'),
    nonce: quantityOf(nonce, 'nonce'),
    to: to === null || to === undefined ? null : hex(to, ADDRESS, 'recipient'),
    value: quantityOf(units, 'value of a transaction'),
    transfer: isTransfer ? transferOf(Buffer.from(input.slice(2), 'hex')) : null,
  };
}

/** The signed bytes of a transaction of a kind that this program makes; 'other' for any other kind. */
export function signedOf(value: unknown): Uint8Array | 'other' {
  const one = fieldsOf(value, 'transaction');
  const hasAccessList = Array.isArray(one.accessList) && one.accessList.length > 0;
  if (one.type !== '0x2' || one.to === null || one.to === undefined || hasAccessList) return 'other';
  const number = (name: string): bigint => quantityOf(one[name], `${name} of a transaction`);
  const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.slice(2), 'hex'));
  // some nodes leave out the zeros that it begins with, others do not
  const word = (name: string): Uint8Array =>
    bytes(`0x${hex(one[name], WORD, `${name} of a transaction`).slice(2).padStart(64, '0')}`);
  const transaction = {
    chainId: number('chainId'),
    nonce: number('nonce'),
    maxPriorityFeePerGas: number('maxPriorityFeePerGas'),
    maxFeePerGas: number('maxFeePerGas'),
    gasLimit: number('gas'),
    to: bytes(hex(one.to, ADDRESS, 'recipient')),
    value: number('value'),
    data: bytes(hex(one.input, DATA, 'data of a transaction')),
  };
  const yParity = quantityOf(one.yParity ?? one.v, 'parity of a transaction') === 1n ? 1 : 0;
  return signedBytes(transaction, { yParity, r: word('r'), s: word('s') });
}

/** The base fee of a block; 0 on a chain without one. */
export function baseFeeOf(value: unknown): bigint {
  const { baseFeePerGas } = fieldsOf(value, 'block');
  return baseFeePerGas === undefined ? 0n : quantityOf(baseFeePerGas, 'base fee');
}

/** Whether a block is of Ethereum's Amsterdam upgrade or a later one, by a field that it added to headers (EIP-7928). */
export function isOfAmsterdam(value: unknown): boolean {
  const { blockAccessListHash } = fieldsOf(value, 'block');
  return blockAccessListHash !== undefined && blockAccessListHash !== null;
}

/** The successful calls of a list of traces (OpenEthereum's `trace` module). */
export function tracesOf(value: unknown): Trace[] {
  if (!Array.isArray(value)) throw new Malformed('no list of traces');
  return value
    .map((one) => fieldsOf(one, 'trace'))
    .filter(({ type, error }) => type === 'call' && (error === undefined || error === null))
    .map(({ action, transactionHash, blockHash, traceAddress }) => {
      const { to, value: units, callType } = fieldsOf(action, 'action of a trace');
      // a delegated call only names the value of the call that it is part of
      const moves = callType === 'call';
      return {
        txid: hex(transactionHash, HASH, 'transaction of a trace'),
        blockHash: hex(blockHash, HASH, 'block of a trace'),
        to: to === null ? null : hex(to, ADDRESS, 'recipient of a trace'),
        value: moves ? quantityOf(units, 'value of a trace') : 0n,
        isInside: Array.isArray(traceAddress) && traceAddress.length > 0,
      };
    });
}
