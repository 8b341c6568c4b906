/**
 * One monerod over RPC: its requests, its login, and the check that it is on the right network. Blocks and transactions are
 * parsed here and must have the hash that was asked for.
 */
import type http from 'node:http';
import type { z } from 'zod';
import type { Network } from '../../domain/assets.ts';
import { ChainAlert, Rejected, Unavailable } from '../../domain/errors.ts';
import type { RingMember } from '../../domain/spend.ts';
import { loginOf } from '../../kit/login.ts';
import { writeKept } from '../../monero/kept.ts';
import { type Block, parseBlock, type Transaction } from '../../monero/transaction.ts';
import type { HeaderSource, LinkedHeader } from '../checkpoint.ts';
import { answerTo, type Challenge, challengeOf } from '../digest.ts';
import { type Endpoint, Malformed } from '../endpoints.ts';
import { type Answer, codeOf, post } from '../http.ts';
import { slices } from '../slices.ts';
import { ConnectionLost, Misbehaved } from '../utxo/electrum/servers/faults.ts';
import {
  BlockAnswer,
  DistributionAnswer,
  Envelope,
  FeeAnswer,
  HEADERS_PER_REQUEST,
  HeaderAnswer,
  HeadersAnswer,
  headerOf,
  Info,
  OutputsAnswer,
  PoolAnswer,
  Sent,
  TRANSACTIONS_PER_REQUEST,
  TransactionsAnswer,
  transactionOf,
} from './answers.ts';
import { agentOf, type Reach } from './reach.ts';

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

/** A page of the largest transactions, without their signatures, has 2 MB. Parsing 4 MB takes about 25 ms. */
const RESPONSE_BYTES_MAX = 4_000_000;
const REQUEST_TIMEOUT_MS = 20_000;
/**
 * How long the answer to `get_info` may take to begin where another node can be asked instead. A node that runs answers within
 * milliseconds, so that this is mostly the time of the way, twice.
 */
const INFO_BEGINS_MS = 5_000;
/** The same for requests that a node works on. */
const BEGINS_MS = 10_000;
const CONNECTIONS_MAX = 3;
const RETRY_SECONDS = 5;
const REASON_CHARS_MAX = 200;
/** A transaction as a node has it: in a block at a height, or in its pool. */
type Known = {
  transaction: Transaction;
  height: number | null;
  doubleSpendSeen: boolean;
  /** Its stored form (`KeptTransaction`); null: it is unconfirmed. */
  kept: (() => Uint8Array) | null;
};

type NodeOptions = {
  /** http(s)://[user:password@]host:port. */
  url: string;
  /** How messages name the setting. */
  label: string;
  network: Network;
  reach: Reach;
  /** The time limit of one request. */
  timeoutMs?: number | undefined;
  /** Whether another node can be asked, so that a frozen one is given up early. */
  hasOthers?: boolean;
  /** How long the answer to `get_info` may take to begin if there are others. */
  infoBeginsMs?: number | undefined;
};

export class MoneroNode implements Endpoint, HeaderSource {
  readonly name: string;
  readonly #options: NodeOptions;
  readonly #url: URL;
  readonly #agent: http.Agent;
  readonly #timeoutMs: number;
  #connections = 0;
  #identified = -1;
  #challenge: Challenge | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  /** Whether its last `get_info` said that it is still synchronizing. */
  isBehind = false;

  /** Throws `Rejected` when the URL is malformed. */
  constructor(options: NodeOptions) {
    this.#options = options;
    const url = URL.canParse(options.url) ? new URL(options.url) : null;
    if (!url) throw new Rejected('config.rpc', `${options.label} must have the form http://user:password@host:port`);
    this.#url = url;
    this.#timeoutMs = options.timeoutMs ?? REQUEST_TIMEOUT_MS;
    // monerod's challenges belong to a connection.
    this.#agent = agentOf(url, options.reach, url.username === '' ? CONNECTIONS_MAX : 1, this.#timeoutMs);
    this.name = url.host;
  }

  async identify(signal: AbortSignal): Promise<void> {
    if (this.#identified === this.#connections && this.#connections > 0) return;
    const { network } = this.#options;
    const { nettype } = await this.#info(signal);
    if (nettype !== NET_TYPES[network]) throw this.#wrong(`is on ${nettype}, not on ${NET_TYPES[network]}`);
    const [first] = await this.headers([0], signal);
    if (first?.hash !== GENESIS[network]) throw this.#wrong(`has another first block: ${first?.hash}`);
    this.#identified = this.#connections;
  }

  async head(signal: AbortSignal): Promise<LinkedHeader> {
    const info = await this.#info(signal);
    // A node without peers knows no target; a regtest chain has none.
    this.isBehind = this.#options.network !== 'regtest' && (info.busy_syncing === true || info.synchronized === false);
    const { block_header } = await this.#json(
      'get_block_header_by_hash',
      { hash: info.top_block_hash },
      HeaderAnswer,
      signal,
    );
    const header = headerOf(block_header);
    if (header.hash !== info.top_block_hash || header.height !== info.height - 1) throw new Malformed('another head');
    return header;
  }

  async headers(heights: readonly number[], signal: AbortSignal): Promise<(LinkedHeader | null)[]> {
    if (heights.length === 0) return [];
    const found = new Map<number, LinkedHeader>();
    const { height: count } = await this.#info(signal);
    const wanted = heights.filter((height) => height < count).toSorted((a, b) => a - b);
    for (let at = 0; at < wanted.length; ) {
      const start = wanted[at] as number;
      let last = at;
      while (last + 1 < wanted.length && (wanted[last + 1] as number) - start < HEADERS_PER_REQUEST) last++;
      const range = { start_height: start, end_height: wanted[last] as number };
      const { headers } = await this.#json('get_block_headers_range', range, HeadersAnswer, signal);
      for (const header of headers) if (!header.orphan_status) found.set(header.height, headerOf(header));
      at = last + 1;
    }
    return heights.map((height) => found.get(height) ?? null);
  }

  /** A block by its hash. Throws `Malformed` when the bytes have another hash. */
  async block(hash: string, signal: AbortSignal): Promise<Block> {
    const { blob } = await this.#json('get_block', { hash }, BlockAnswer, signal);
    const block = parseBlock(Buffer.from(blob, 'hex'));
    if (block.hash !== hash) throw new Malformed('another block than was asked for');
    return block;
  }

  /** Transactions by their ids, without those that the node does not have. Their bytes are checked against the ids. */
  async transactions(txids: readonly string[], signal: AbortSignal): Promise<Map<string, Known>> {
    const known = new Map<string, Known>();
    const pause = slices();
    for (let at = 0; at < txids.length; at += TRANSACTIONS_PER_REQUEST) {
      const page = txids.slice(at, at + TRANSACTIONS_PER_REQUEST);
      const body = { txs_hashes: page, decode_as_json: false, prune: true };
      const { txs } = await this.#post('/get_transactions', body, TransactionsAnswer, signal);
      for (const sent of txs) {
        const transaction = transactionOf(sent);
        if (transaction.id !== sent.tx_hash) throw new Malformed('another transaction than was asked for');
        const height = sent.in_pool ? null : (sent.block_height ?? null);
        const first = sent.output_indices?.[0];
        const kept =
          height === null || first === undefined || sent.pruned_as_hex === ''
            ? null
            : () => writeKept(first, sent.prunable_hash, sent.pruned_as_hex);
        known.set(transaction.id, { transaction, height, doubleSpendSeen: sent.double_spend_seen, kept });
        const wait = pause();
        if (wait) await wait;
      }
    }
    return known;
  }

  /** The ids of the transactions in the node's pool. */
  async pool(signal: AbortSignal): Promise<string[]> {
    return (await this.#post('/get_transaction_pool_hashes', {}, PoolAnswer, signal)).tx_hashes;
  }

  /** The recommended fees, piconero per byte: slow, normal, fast, fastest. */
  async fees(signal: AbortSignal): Promise<number[]> {
    const { fee, fees } = await this.#json('get_fee_estimate', {}, FeeAnswer, signal);
    return fees ?? [fee];
  }

  /** The number of outputs of each block from one height to another, and of all blocks before. */
  async outputCounts(from: number, to: number, signal: AbortSignal): Promise<{ base: number; counts: number[] }> {
    const params = { amounts: [0], from_height: from, to_height: to, cumulative: false, binary: false };
    const { distributions } = await this.#json('get_output_distribution', params, DistributionAnswer, signal);
    const [found] = distributions;
    const counts = found?.distribution ?? [];
    const isRight = found && found.start_height >= from && counts.length === to - found.start_height + 1;
    if (!isRight || !counts.every((count) => Number.isSafeInteger(count) && count >= 0)) {
      throw new Malformed('numbers of outputs of other blocks');
    }
    return { base: found.base, counts: [...new Array<number>(found.start_height - from).fill(0), ...counts] };
  }

  /** The outputs with these numbers, in their order. */
  async outputs(indices: readonly number[], signal: AbortSignal): Promise<(RingMember & { unlocked: boolean })[]> {
    const wanted = indices.map((index) => ({ amount: 0, index }));
    const { outs } = await this.#post('/get_outs', { outputs: wanted, get_txid: false }, OutputsAnswer, signal);
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
    const { status, reason, ...faults } = await this.#post('/send_raw_transaction', body, Sent, signal);
    if (status === 'OK') return null;
    const named = Object.entries(faults).flatMap(([name, is]) => (is === true ? [name.replaceAll('_', ' ')] : []));
    return [...named, reason.slice(0, REASON_CHARS_MAX)].filter((one) => one !== '').join(', ');
  }

  close(): void {
    this.#agent.destroy();
  }

  #info(signal: AbortSignal): Promise<z.infer<typeof Info>> {
    return this.#json('get_info', {}, Info, signal);
  }

  async #json<T>(method: string, params: object, shape: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    const envelope = { jsonrpc: '2.0', id: '0', method, params };
    const beginMs = method === 'get_info' ? (this.#options.infoBeginsMs ?? INFO_BEGINS_MS) : BEGINS_MS;
    const { result, error } = await this.#post('/json_rpc', envelope, Envelope, signal, beginMs);
    if (error) throw this.#unavailable(`${this.name} refuses ${method}: ${error.message.slice(0, 200)}`);
    return checked(shape, result);
  }

  async #post<T>(
    path: string,
    body: object,
    shape: z.ZodType<T>,
    signal: AbortSignal,
    beginMs = BEGINS_MS,
  ): Promise<T> {
    const answer = await this.#exchange({ path, body: JSON.stringify(body), beginMs }, signal);
    if (answer.status !== 200) throw this.#unavailable(`${this.name} answers with HTTP ${answer.status}`);
    let value: unknown;
    try {
      value = JSON.parse(answer.body.toString('utf8'));
    } catch {
      throw this.#unavailable(`no monerod answers at ${this.name}`);
    }
    const { status } = (value ?? {}) as { status?: unknown };
    if (status === 'BUSY') throw this.#unavailable(`${this.name} is busy`);
    return checked(shape, value);
  }

  /** A node with a login gets one request after the other, because each refusal voids its earlier challenges. */
  #exchange(asked: Asked, signal: AbortSignal): Promise<Answer> {
    if (this.#url.username === '') return this.#exchangeNow(asked, signal);
    const answer = this.#queue.then(() => this.#exchangeNow(asked, signal));
    this.#queue = answer.catch(() => undefined);
    return answer;
  }

  async #exchangeNow(asked: Asked, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    try {
      const answer = await this.#send(asked, signal);
      const challenge = answer.status === 401 ? challengeOf(answer.headers['www-authenticate']) : null;
      if (!challenge || this.#url.username === '') {
        if (answer.status === 401) throw this.#unavailable(`${this.name} refuses the user name or password`);
        return answer;
      }
      this.#challenge = challenge;
      const again = await this.#send(asked, signal);
      if (again.status === 401) throw this.#unavailable(`${this.name} refuses the user name or password`);
      return again;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Unavailable) throw error;
      if (error instanceof Misbehaved) throw this.#wrong(`is not used: ${error.message}`);
      if (error instanceof ConnectionLost) throw this.#unavailable(`${this.name}: ${error.message}`);
      const code = codeOf(error);
      if (code === 'TOO_LARGE') throw this.#unavailable(`an answer of ${this.name} is too large`);
      if (code === 'ETIMEDOUT') throw this.#unavailable(`${this.name} does not answer in time`);
      throw this.#unavailable(`${this.name} cannot be reached (${code}); is the node running?`);
    }
  }

  #send({ path, body, beginMs }: Asked, signal: AbortSignal): Promise<Answer> {
    const url = new URL(path, this.#url);
    const authorization = this.#challenge && answerTo(this.#challenge, loginOf(this.#url), 'POST', url.pathname);
    return post({
      url,
      agent: this.#agent,
      headers: { 'content-type': 'application/json', ...(authorization !== null && { authorization }) },
      body,
      timeoutMs: this.#timeoutMs,
      ...(this.#options.hasOthers && { beginMs }),
      responseBytesMax: RESPONSE_BYTES_MAX,
      signal,
      onNewConnection: () => {
        this.#connections++;
      },
    });
  }

  #unavailable(what: string): Unavailable {
    return new Unavailable(`${this.#options.label}: ${what}`, RETRY_SECONDS);
  }

  #wrong(what: string): ChainAlert {
    return new ChainAlert(`${this.#options.label}: ${this.name} ${what}`);
  }
}

/** `beginMs`: how long its answer may take to begin if there are other nodes. */
type Asked = { path: string; body: string; beginMs: number };

function checked<T>(shape: z.ZodType<T>, value: unknown): T {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  throw new Malformed(`an answer of another form (${result.error.issues[0]?.path.join('.')})`);
}
