/**
 * Broadcasting and lookups of transactions with Electrum servers. A transaction goes to several servers at once. A fee
 * rate is the median of several operators, so that one alone cannot make us pay too much or wait for ever.
 *
 * Invariant: one operator alone decides nothing. A transaction is sent when as many operators took it as refused it. `Rejected`
 * means that more refused it, or all; its message is from one of them. If one of these did not answer, it is `Unavailable`, and
 * the same bytes may be sent again.
 */
import { assert, Rejected, Unavailable } from '../../../domain/errors.ts';
import { parseDecimal } from '../../../domain/money.ts';
import type { CoinSource, ScriptList } from '../../adapter.ts';
import { type ParsedTransaction, parseTransaction } from '../block.ts';
import type { UtxoChain } from '../params.ts';
import { feeRateFrom, TARGET_BLOCKS_MAX } from '../spend/fees.ts';
import { agreedSum, answerOf, parsedOrNull, type Sum, sumOf } from './ancestors.ts';
import type { LightClient } from './client.ts';
import { scriptHashOf } from './histories/scripts.ts';
import type { HistoryEntry } from './servers/answers.ts';
import { isOfServer, ServerRefusal } from './servers/faults.ts';
import type { Server } from './servers/server.ts';

const RETRY_SECONDS = 10;
/** All of these chains have eight decimals. */
const COIN_DECIMALS = 8;
const INPUTS_MAX = 500;
/** Transactions of strangers' scripts that one server is asked for in one search. The next search continues below them. */
const READ_PER_SEARCH_MAX = 500;
/** Transactions of all searches that are remembered, some 100 bytes each. */
const REMEMBERED_MAX = 100_000;
/** Concurrent requests for transactions to one server. */
const READ_AT_ONCE_MAX = 16;
/** JSON-RPC 2.0: the server itself failed. */
const INTERNAL_ERROR = -32_603;

/** Calls a function with the client and a connected server. Throws `Unavailable`. */
export type WithClient = <T>(
  signal: AbortSignal,
  use: (client: LightClient, asked: Server) => Promise<T>,
) => Promise<T>;

export class ElectrumSpending implements CoinSource {
  readonly #chain: UtxoChain;
  readonly #list: ScriptList;
  readonly #setting: string;
  readonly #with: WithClient;
  /** By transaction: others that spend none of its inputs, whatever their place. */
  readonly #searched = new Map<string, Set<string>>();

  constructor(parts: { chain: UtxoChain; list: ScriptList; setting: string; withClient: WithClient }) {
    this.#chain = parts.chain;
    this.#list = parts.list;
    this.#setting = parts.setting;
    this.#with = parts.withClient;
  }

  feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint> {
    assert(Number.isInteger(targetBlocks) && targetBlocks >= 1, 'a target is a number of blocks');
    const target = Math.min(targetBlocks, TARGET_BLOCKS_MAX);
    return this.#with(signal, async (client) => {
      const servers = client.set.ready();
      const ask = (call: (server: Server) => Promise<number>) =>
        Promise.all(servers.map((server) => answerOf(call(server))));
      const [estimates, least] = await Promise.all([
        ask((server) => server.estimateFee(target)),
        ask((server) => server.minimumFee()),
      ]);
      if ([...estimates, ...least].every((fee) => fee === null))
        throw new Unavailable(`${this.#setting}: no server tells its fees`, RETRY_SECONDS);
      return feeRateFrom(this.#chain, toldBy(servers, estimates), toldBy(servers, least) ?? 0n);
    });
  }

  transaction(txid: string, _blockHash: string | null, signal: AbortSignal): Promise<string> {
    return this.#with(signal, async (client, asked) => {
      for (const server of [asked, ...client.set.others(asked)]) {
        const raw = await answerOf(server.transaction(txid));
        if (raw === null) continue;
        const parsed = await parsedOrNull(raw, this.#chain);
        if (parsed?.txid() === txid) return parsed.base().toString('hex');
        server.caught(`it sent another transaction than ${txid}`);
      }
      throw new Unavailable(`${this.#setting}: no server has the transaction ${txid}`, RETRY_SECONDS);
    });
  }

  /**
   * The fee and size of an unconfirmed transaction with its unconfirmed ancestors. Nothing proves that a transaction is
   * unconfirmed, and an id does not cover the witnesses, so two operators must say the same where there are two.
   */
  unconfirmed(txid: string, signal: AbortSignal): Promise<Sum | null> {
    return this.#with(signal, async (client, asked) => {
      const servers = [asked, ...client.set.others(asked)];
      const sums = await Promise.all(servers.map((server) => sumOf(server, txid, this.#chain)));
      const agreed = agreedSum(servers, sums, Math.min(2, client.set.operators));
      if (agreed === undefined)
        throw new Unavailable(`${this.#setting}: no two operators say the same of transaction ${txid}`, RETRY_SECONDS);
      if (agreed === 'too many') throw this.#tooMany(txid);
      return agreed === 'confirmed' ? null : agreed;
    });
  }

  broadcast(raw: string, signal: AbortSignal): Promise<void> {
    const transaction = parseTransaction(Buffer.from(raw, 'hex'), this.#chain);
    const txid = transaction.txid();
    return this.#with(signal, async (client) => {
      this.#watch(client, transaction);
      const servers = client.set.ready();
      const outcomes = await Promise.all(servers.map((server) => send(server, raw, txid)));
      const [taken, refusals, unknown] = opinions(servers, outcomes);
      if (taken > 0 && taken >= refusals.length) return;
      const [refusal] = refusals;
      if (!refusal || unknown > 0)
        throw new Unavailable(`${this.#setting}: no server reported the result`, RETRY_SECONDS);
      throw new Rejected('broadcast.refused', refusal.reason);
    });
  }

  /**
   * The spender of an output is in the history of its script, which is read from the newest transaction on, some at a time. Every
   * connected server is asked, because one may hide it. Its block is proved, if possible by servers of two operators.
   */
  conflict(txid: string, inputs: readonly string[], fromHeight: number, signal: AbortSignal) {
    return this.#with(signal, async (client, asked) => {
      const spent = new Set(inputs.slice(0, INPUTS_MAX));
      const searched = this.#searchedFor(txid);
      let isUnproved: string | null = null;
      for (const server of [asked, ...client.set.others(asked)]) {
        const search = { spent, fromHeight, searched, left: READ_PER_SEARCH_MAX, signal };
        const entry = await this.#conflictAt(client, server, search);
        if (!entry) continue;
        const hash = client.headers.hashAt(entry.height);
        if (hash && (await this.#isProvedTwice(client, server, entry)))
          return { txid: entry.txid, block: { height: entry.height, hash } };
        isUnproved = entry.txid;
      }
      if (isUnproved !== null)
        throw new Unavailable(`${this.#setting}: no second server proves transaction ${isUnproved}`, RETRY_SECONDS);
      return null;
    });
  }

  /** The transactions that need not be read again in search of what excludes this one; it itself is one of them. */
  #searchedFor(txid: string): Set<string> {
    const all = [...this.#searched.values()].reduce((sum, { size }) => sum + size, 0);
    if (all >= REMEMBERED_MAX) this.#searched.clear();
    const searched = this.#searched.get(txid) ?? new Set([txid]);
    this.#searched.set(txid, searched);
    return searched;
  }

  /** A spender in a block, as one server shows and proves it. A server that fails meanwhile shows nothing. */
  async #conflictAt(client: LightClient, server: Server, search: Search): Promise<HistoryEntry | null> {
    try {
      for (const script of await this.#scriptsOf(server, search.spent)) {
        const entry = await this.#spenderIn(server, script, search);
        if (entry && (await client.reader.proves(server, entry))) return entry;
      }
    } catch (error) {
      if (!isOfServer(error)) throw error;
    }
    return null;
  }

  /** Whether a server of another operator proves it, too; of the same one where there is no other. */
  async #isProvedTwice({ set, reader }: LightClient, by: Server, entry: HistoryEntry): Promise<boolean> {
    if (set.servers.length === 1) return true;
    for (const other of set.others(by)) {
      if (set.operators > 1 && other.operator === by.operator) continue;
      if (await answerOf(reader.proves(other, entry))) return true;
    }
    return false;
  }

  /** The script hashes of outputs, each once, as far as a server has their transactions. */
  async #scriptsOf(server: Server, outpoints: ReadonlySet<string>): Promise<Set<string>> {
    const parents = [...new Set([...outpoints].map((outpoint) => outpoint.slice(0, outpoint.indexOf(':'))))];
    const found = await this.#read(server, parents);
    const scripts = [...outpoints].flatMap((outpoint) => {
      const [parent = '', n] = outpoint.split(':');
      const output = found.get(parent)?.outputs[Number(n)];
      return output ? [scriptHashOf(output.script)] : [];
    });
    return new Set(scripts);
  }

  /** The entry of a confirmed transaction in a script's history that spends one of the outputs. */
  async #spenderIn(server: Server, script: string, search: Search): Promise<HistoryEntry | null> {
    const { spent, fromHeight, searched, signal } = search;
    // a history too long for a server is no help, but the transaction's other inputs may be
    const history = (await answerOf(server.history(script))) ?? [];
    const open = history.filter(({ height, txid }) => height > 0 && height >= fromHeight && !searched.has(txid));
    const isSpent = ({ txid, vout }: { txid: string; vout: number }): boolean => spent.has(`${txid}:${vout}`);
    while (open.length > 0 && search.left > 0) {
      signal.throwIfAborted();
      const entries = open.splice(-Math.min(READ_AT_ONCE_MAX, search.left));
      search.left -= entries.length;
      const found = await this.#read(
        server,
        entries.map(({ txid }) => txid),
      );
      const spender = entries.find(({ txid }) => found.get(txid)?.inputs.some(isSpent));
      if (spender) return spender;
      for (const txid of found.keys()) searched.add(txid);
    }
    return null;
  }

  /** Transactions by id, fetched in batches; those that the server does not have are missing. */
  async #read(server: Server, txids: readonly string[]): Promise<Map<string, ParsedTransaction>> {
    const found = new Map<string, ParsedTransaction>();
    for (let at = 0; at < txids.length; at += READ_AT_ONCE_MAX) {
      const some = txids.slice(at, at + READ_AT_ONCE_MAX);
      await Promise.all(
        some.map(async (txid) => {
          const bytes = await answerOf(server.transaction(txid));
          const transaction = bytes && (await parsedOrNull(bytes, this.#chain));
          if (transaction?.txid() === txid) found.set(txid, transaction);
        }),
      );
    }
    return found;
  }

  /** Watches the inputs' and outputs' scripts at once, even if they are not among the listed ones. */
  #watch(client: LightClient, { inputs, outputs }: ParsedTransaction): void {
    const spent = inputs.map(({ txid, vout }) => this.#list.coin(`${txid}:${vout}`)?.targetId);
    const paid = outputs.map(({ script }) => this.#list.targetIdOf(script));
    for (const id of [...spent, ...paid]) {
      const [listed] = id === undefined ? [] : this.#list.page(id - 1, 1);
      if (listed && listed.id === id) client.scripts.pin(listed);
    }
  }

  #tooMany(txid: string): Unavailable {
    return new Unavailable(`${this.#setting}: transaction ${txid} has too many ancestors to add up`, RETRY_SECONDS);
  }
}

/** Outputs whose spender is searched from a height on, and how many more transactions may be asked for. */
type Search = {
  spent: ReadonlySet<string>;
  fromHeight: number;
  searched: Set<string>;
  left: number;
  signal: AbortSignal;
};

type Refusal = { reason: string };
type Outcome = 'taken' | 'unknown' | Refusal;

/** How many operators took a transaction, a refusal of each that refused, and how many did not answer. */
function opinions(servers: readonly Server[], outcomes: readonly Outcome[]): [number, Refusal[], number] {
  const byOperator = new Map<string, Outcome[]>();
  for (const [n, { operator }] of servers.entries()) {
    byOperator.set(operator, [...(byOperator.get(operator) ?? []), outcomes[n] as Outcome]);
  }
  const told = [...byOperator.values()].map(
    (all) => all.find((one) => one === 'taken') ?? all.find((one) => one === 'unknown') ?? (all[0] as Outcome),
  );
  const refusals = told.filter((one): one is Refusal => typeof one === 'object');
  return [told.filter((one) => one === 'taken').length, refusals, told.filter((one) => one === 'unknown').length];
}

async function send(server: Server, raw: string, txid: string): Promise<Outcome> {
  try {
    await server.broadcast(raw);
    return 'taken';
  } catch (error) {
    if (!isOfServer(error)) throw error;
    if (!(error instanceof ServerRefusal)) return 'unknown';
    // the server could not ask its node, so nobody has refused
    if (error.code === INTERNAL_ERROR) return 'unknown';
    // if it is in the mempool or a block, the server has it, whatever the wording of the error
    const known = await answerOf(server.transaction(txid));
    return known === null ? { reason: error.message } : 'taken';
  }
}

/** The median of the operators' medians, in smallest units; null if no server has a rate. */
function toldBy(servers: readonly Server[], fees: readonly (number | null)[]): bigint | null {
  const byOperator = new Map<string, bigint[]>();
  for (const [n, fee] of fees.entries()) {
    const units = unitsOf(fee);
    const { operator } = servers[n] as Server;
    if (units !== null) byOperator.set(operator, [...(byOperator.get(operator) ?? []), units]);
  }
  return middle([...byOperator.values()].flatMap((units) => middle(units) ?? []));
}

/** Rounded to nearest; null where a server has no rate. */
function unitsOf(fee: number | null): bigint | null {
  // -1 means no rate; a rate above any coin is invalid
  if (fee === null || fee < 0 || fee > 1_000) return null;
  return parseDecimal(fee.toFixed(COIN_DECIMALS), COIN_DECIMALS);
}

/** The median, for an even count the lower one. */
function middle(units: readonly bigint[]): bigint | null {
  const sorted = units.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
  return sorted[(sorted.length - 1) >> 1] ?? null;
}
