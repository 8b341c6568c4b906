/** One monerod over RPC, on the right network. Blocks and transactions must have the hash that was asked for. */
import type { z } from 'zod';
import type { Network } from '../../domain/assets.ts';
import { type ChainAlert, Unavailable } from '../../domain/errors.ts';
import type { RingMember } from '../../domain/spend.ts';
import { type Block, NewerBlock, parseBlock } from '../../monero/block.ts';
import { writeKept } from '../../monero/kept.ts';
import { isProved } from '../../monero/proved.ts';
import { isWhollyHashed, type Transaction } from '../../monero/transaction.ts';
import type { HeaderSource, LinkedHeader } from '../checkpoint.ts';
import { type Endpoint, Malformed } from '../endpoints.ts';
import { type Pause, slices } from '../slices.ts';
import {
  BlockAnswer,
  bytesOf,
  DistributionAnswer,
  FeeAnswer,
  HEADERS_PER_REQUEST,
  HeaderAnswer,
  HeadersAnswer,
  headerOf,
  Info,
  OutputsAnswer,
  POOL_HASHES_MAX,
  PoolAnswer,
  Sent,
  type SentTransaction,
  TRANSACTIONS_PER_REQUEST,
  TransactionsAnswer,
  transactionOf,
  WHOLE_PER_REQUEST,
} from './answers.ts';
import { tooNew } from './blocks.ts';
import { writeNumbers } from './epee.ts';
import { MoneroRpc, type RpcOptions, TooLarge } from './rpc.ts';

/** The names of networks in `get_info`. A regtest chain is "fakechain". */
const NET_TYPES: Readonly<Record<Network, string>> = {
  mainnet: 'mainnet',
  testnet: 'stagenet',
  regtest: 'fakechain',
  sandbox: 'none',
};
/** The first block of mainnet and of stagenet; a regtest chain begins with mainnet's. */
const GENESIS: Readonly<Record<Network, string>> = {
  mainnet: '418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3',
  testnet: '76ee3cc98646292206cd3e86f74d88b4dcc1d937088645e9b0cbca84b7ce74eb',
  regtest: '418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3',
  sandbox: '',
};

/**
 * The first block of the rules with RingCT, which are version 4 (`hardforks.cpp`). No block before it has outputs of
 * hidden amounts, and monerod refuses a request for their numbers that ends before it
 * (`Blockchain::get_output_distribution`).
 */
const RINGCT_FROM: Readonly<Record<Network, number>> = { mainnet: 1_220_516, testnet: 34_000, regtest: 0, sandbox: 0 };

const REASON_CHARS_MAX = 200;
/** Blocks for which a fee must suffice. All wallets ask for as many (`FEE_ESTIMATE_GRACE_BLOCKS`), so that their fees are alike. */
const FEE_GRACE_BLOCKS = 10;
/** A transaction as a node has it: in a block at a height, or in its pool. */
export type NodeTransaction = {
  transaction: Transaction;
  height: number | null;
  doubleSpendSeen: boolean;
  /** Its stored form (`KeptTransaction`); null: it is unconfirmed. */
  kept: (() => Uint8Array) | null;
};

/** Called for a transaction that exists, and that nobody here can read. */
type OnOdd = (txid: string, reason: string) => void;

export class MoneroNode implements Endpoint, HeaderSource {
  readonly name: string;
  readonly #network: Network;
  readonly #rpc: MoneroRpc;
  #identified = -1;
  /** The number of blocks that its last `get_info` told. */
  #count = 0;
  /** The number of transactions in its pool that its last `get_info` told. */
  #pooled = 0;
  /** Whether its last `get_info` said that it is still synchronizing. */
  isBehind = false;

  /** Throws `Rejected` when the URL is malformed. */
  constructor({ network, ...options }: RpcOptions & { network: Network }) {
    this.#network = network;
    this.#rpc = new MoneroRpc(options);
    this.name = this.#rpc.name;
  }

  async identify(signal: AbortSignal): Promise<void> {
    if (this.#identified === this.#rpc.connections && this.#rpc.connections > 0) return;
    // at one time, so that a long way is gone once
    const asked = [this.#info(signal), this.#first(signal)] as const;
    const [{ nettype }, first] = await Promise.all(asked);
    if (nettype !== NET_TYPES[this.#network]) throw this.#wrong(`is on ${nettype}, not on ${NET_TYPES[this.#network]}`);
    if (first !== GENESIS[this.#network]) throw this.#wrong(`has another first block: ${first}`);
    this.#identified = this.#rpc.connections;
  }

  async #first(signal: AbortSignal): Promise<string | undefined> {
    const range = { start_height: 0, end_height: 0 };
    const { headers } = await this.#rpc.json('get_block_headers_range', range, HeadersAnswer, signal);
    return headers[0]?.hash;
  }

  /** The least time that an answer of it took, milliseconds: the way there and back. */
  get wayMs(): number {
    return this.#rpc.wayMs;
  }

  async head(signal: AbortSignal): Promise<LinkedHeader> {
    // at one time, so that a long way is gone once; a block between the two makes it twice
    const [info, last] = await Promise.all([
      this.#info(signal),
      this.#rpc.json('get_last_block_header', {}, HeaderAnswer, signal).catch(() => null),
    ]);
    // A node without peers knows no target; a regtest chain has none.
    this.isBehind = this.#network !== 'regtest' && (info.busy_syncing === true || info.synchronized === false);
    const hash = info.top_block_hash;
    const isSame = last?.block_header.hash === hash;
    const { block_header } = isSame
      ? last
      : await this.#rpc.json('get_block_header_by_hash', { hash }, HeaderAnswer, signal);
    const header = headerOf(block_header);
    if (header.hash !== info.top_block_hash || header.height !== info.height - 1) throw new Malformed('another head');
    return header;
  }

  async headers(heights: readonly number[], signal: AbortSignal): Promise<(LinkedHeader | null)[]> {
    if (heights.length === 0) return [];
    // a range above its head is refused: where the last known head is above all heights, its number needs no request
    const lasting = Math.max(...heights) < this.#count ? this.#headersOf(heights, signal) : null;
    const known = await lasting?.catch((error: unknown) => {
      if (error instanceof Unavailable) return null;
      throw error;
    });
    if (known) return known;
    await this.#info(signal);
    return this.#headersOf(heights, signal);
  }

  /** The headers at heights; null where the last known head is below. Throws `Unavailable` if the chain has become shorter since. */
  async #headersOf(heights: readonly number[], signal: AbortSignal): Promise<(LinkedHeader | null)[]> {
    const found = new Map<number, LinkedHeader>();
    const wanted = heights.filter((height) => height < this.#count).toSorted((a, b) => a - b);
    for (let at = 0; at < wanted.length; ) {
      const start = wanted[at] as number;
      let last = at;
      while (last + 1 < wanted.length && (wanted[last + 1] as number) - start < HEADERS_PER_REQUEST) last++;
      const range = { start_height: start, end_height: wanted[last] as number };
      const { headers } = await this.#rpc.json('get_block_headers_range', range, HeadersAnswer, signal);
      for (const header of headers) if (!header.orphan_status) found.set(header.height, headerOf(header));
      at = last + 1;
    }
    return heights.map((height) => found.get(height) ?? null);
  }

  /**
   * The block of a header. Throws `Malformed` when its bytes have another hash, or do not say what the header says: a chain of headers
   * whose blocks were read leaves out no block, and no transaction of one. Throws `ChainAlert` for one of newer rules.
   */
  async block({ hash, height, parent, timeMs }: LinkedHeader, signal: AbortSignal): Promise<Block> {
    const { blob } = await this.#rpc.json('get_block', { hash }, BlockAnswer, signal);
    const block = parsedBlock(Buffer.from(blob, 'hex'), height);
    const isSame = block.height === height && block.previous === parent && block.timeMs === timeMs;
    if (block.hash !== hash || !isSame) throw new Malformed('another block than was asked for');
    return block;
  }

  /**
   * Transactions by their ids, without those that the node does not have, and those that cannot be read, for which
   * `odd` is called. The bytes are checked against the ids.
   */
  async transactions(
    txids: readonly string[],
    signal: AbortSignal,
    odd?: OnOdd,
  ): Promise<Map<string, NodeTransaction>> {
    const known = new Map<string, NodeTransaction>();
    const pause = slices();
    for await (const sent of this.#sent(txids, signal)) {
      const transaction = await this.#read(sent, pause, odd);
      if (!transaction) continue;
      const height = sent.in_pool ? null : (sent.block_height ?? null);
      const first = sent.output_indices?.[0];
      const { bytes, prunableHash } = bytesOf(sent);
      const isWhole = sent.as_hex !== '' && transaction.version === 2;
      const kept =
        height === null || first === undefined || isWhole ? null : () => writeKept(first, prunableHash, bytes);
      known.set(transaction.id, { transaction, height, doubleSpendSeen: sent.double_spend_seen, kept });
      const wait = pause();
      if (wait) await wait;
    }
    return known;
  }

  /** Without their signatures, but for those whose id is the hash of all bytes. */
  async *#sent(txids: readonly string[], signal: AbortSignal): AsyncGenerator<SentTransaction> {
    const ask = async (txs_hashes: readonly string[], prune: boolean): Promise<SentTransaction[]> => {
      const body = { txs_hashes, decode_as_json: false, prune };
      return (await this.#rpc.post('/get_transactions', body, TransactionsAnswer, signal)).txs;
    };
    for (let at = 0; at < txids.length; at += TRANSACTIONS_PER_REQUEST) {
      const whole: string[] = [];
      for (const sent of await ask(txids.slice(at, at + TRANSACTIONS_PER_REQUEST), true)) {
        if (sent.as_hex === '' && isWhollyHashed(bytesOf(sent).bytes)) whole.push(sent.tx_hash);
        else yield sent;
      }
      for (let from = 0; from < whole.length; from += WHOLE_PER_REQUEST) {
        yield* await ask(whole.slice(from, from + WHOLE_PER_REQUEST), false);
      }
    }
  }

  /** Throws `Malformed` for bytes that are not those of the id. */
  async #read(sent: SentTransaction, pause: Pause, odd?: OnOdd): Promise<Transaction | null> {
    const other = new Malformed('another transaction than was asked for');
    try {
      const transaction = transactionOf(sent);
      if (transaction.id !== sent.tx_hash) throw other;
      return transaction;
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      const { bytes, prunableHash } = bytesOf(sent);
      if (error === other || !(await isProved(sent.tx_hash, bytes, prunableHash, pause))) throw other;
      odd?.(sent.tx_hash, error.message);
      return null;
    }
  }

  /** The bytes of an answer with these consecutive blocks and all their transactions (`readBlocks`). Throws `TooLarge`. */
  blocks(from: number, count: number, signal: AbortSignal): Promise<Buffer> {
    const heights = Array.from({ length: count }, (_, at) => from + at);
    return this.#rpc.binary('/get_blocks_by_height.bin', writeNumbers('heights', heights), signal);
  }

  /** The ids of the transactions in the node's pool; null: there are more than are read. */
  async pool(signal: AbortSignal): Promise<string[] | null> {
    if (this.#pooled > POOL_HASHES_MAX) return null;
    try {
      const { tx_hashes } = await this.#rpc.post('/get_transaction_pool_hashes', {}, PoolAnswer, signal);
      return tx_hashes.length > POOL_HASHES_MAX ? null : tx_hashes;
    } catch (error) {
      if (error instanceof TooLarge) return null;
      throw error;
    }
  }

  /** The recommended fees, piconero per byte: slow, normal, fast, fastest. */
  async fees(signal: AbortSignal): Promise<number[]> {
    const params = { grace_blocks: FEE_GRACE_BLOCKS };
    const { fee, fees } = await this.#rpc.json('get_fee_estimate', params, FeeAnswer, signal);
    return fees ?? [fee];
  }

  /** The number of outputs of each block from one height to another, and of all blocks before. */
  async outputCounts(from: number, to: number, signal: AbortSignal): Promise<{ base: number; counts: number[] }> {
    const first = Math.max(from, RINGCT_FROM[this.#network]);
    if (to < first) return { base: 0, counts: new Array<number>(to - from + 1).fill(0) };
    const params = { amounts: [0], from_height: first, to_height: to, cumulative: false, binary: false };
    const { distributions } = await this.#rpc.json('get_output_distribution', params, DistributionAnswer, signal);
    const [found] = distributions;
    const counts = found?.distribution ?? [];
    const isRight = found && found.start_height >= first && counts.length === to - found.start_height + 1;
    if (!isRight || !counts.every((count) => Number.isSafeInteger(count) && count >= 0)) {
      throw new Malformed('numbers of outputs of other blocks');
    }
    return { base: found.base, counts: [...new Array<number>(found.start_height - from).fill(0), ...counts] };
  }

  /** The outputs with these numbers, in their order. */
  async outputs(indices: readonly number[], signal: AbortSignal): Promise<(RingMember & { unlocked: boolean })[]> {
    const wanted = indices.map((index) => ({ amount: 0, index }));
    const { outs } = await this.#rpc.post('/get_outs', { outputs: wanted, get_txid: false }, OutputsAnswer, signal);
    if (outs.length !== indices.length) throw new Malformed('other outputs than were asked for');
    return outs.map(({ key, mask, unlocked }, at) => ({
      index: indices[at] as number,
      key,
      commitment: mask,
      unlocked,
    }));
  }

  /** Sends a transaction (hex). Null: the node accepted it; otherwise the reason of its refusal. */
  async send(raw: string, signal: AbortSignal): Promise<string | null> {
    const body = { tx_as_hex: raw, do_not_relay: false };
    const { status, reason, ...faults } = await this.#rpc.post('/send_raw_transaction', body, Sent, signal);
    if (status === 'OK') return null;
    const named = Object.entries(faults).flatMap(([name, is]) => (is === true ? [name.replaceAll('_', ' ')] : []));
    const told = [...named, reason].filter((one) => one !== '').join(', ');
    return (told || status).slice(0, REASON_CHARS_MAX);
  }

  close(): void {
    this.#rpc.close();
  }

  async #info(signal: AbortSignal): Promise<z.infer<typeof Info>> {
    const info = await this.#rpc.json('get_info', {}, Info, signal);
    this.#count = info.height;
    this.#pooled = info.tx_pool_size;
    return info;
  }

  #wrong(what: string): ChainAlert {
    return this.#rpc.wrong(what);
  }
}

function parsedBlock(bytes: Uint8Array, height: number): Block {
  try {
    return parseBlock(bytes);
  } catch (error) {
    if (error instanceof NewerBlock) throw tooNew(height, error.version);
    throw error;
  }
}
