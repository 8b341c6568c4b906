/**
 * The chain source of Monero: monerods, of which one is asked at a time. Whole blocks and the whole pool are read and
 * scanned here with the view key. So a node learns neither addresses nor amounts, and needs no wallet.
 *
 * Invariant: blocks and transactions have the hashes that were asked for.
 */
import type { Network } from '../../domain/assets.ts';
import type { AccountKey, BlockId, Branch, Checkpoint, Credit, DerivedAddress, SpendSeen } from '../../domain/chain.ts';
import { isValidAddress } from '../../monero/address.ts';
import { type ScriptList, type StoredCoin, tipOf } from '../adapter.ts';
import { Agreement, type Fact, type NeedsAgreement } from '../agreement.ts';
import { changed, extended, idOf, type LinkedHeader } from '../checkpoint.ts';
import { deriveAddress } from '../derive.ts';
import { EndpointAdapter, FORK_BLOCKS_MAX, type StepRead, type StepStart } from '../endpoint-adapter.ts';
import { slices } from '../slices.ts';
import type { Spending } from '../spending.ts';
import { BlockAbsence } from './absence.ts';
import type { Odd } from './blocks.ts';
import { MoneroNode, type NodeTransaction } from './node.ts';
import { Pool } from './pool.ts';
import { type Reach, straight } from './reach.ts';
import { Reading } from './reading.ts';
import { Scanner } from './scan.ts';
import { Search } from './search.ts';
import { NodeSource } from './spend/source.ts';
import { MoneroSpending } from './spend/spending.ts';
import { BlockStream } from './stream.ts';

export type MoneroOptions = {
  network: Network;
  /** In the order in which they are asked; at least one. */
  urls: readonly string[];
  list: ScriptList;
  /** The accounts whose outputs are searched for. */
  accounts: () => readonly AccountKey[];
  needsAgreement: NeedsAgreement;
  /** How nodes are reached; straight if it is left out. */
  reach?: Reach;
  /** Called when a node gave a false answer. `server`: the node's address. */
  alert: (server: string, message: string) => void;
  /** Called for a transaction in a block that cannot be read here. */
  onOdd: (odd: Odd) => void;
  pollMs?: number;
  blocksPerStep?: number;
  /** Whether many blocks are read in a separate thread. Default: yes. */
  hasThread?: boolean;
  /** The time limit of one request to a node. */
  requestTimeoutMs?: number;
  /** How long a node's answer to `get_info` may take to begin where several are configured. */
  infoBeginsMs?: number;
};

type Reread = 'head' | 'kept' | 'again';
type Facts = { credits: Credit[]; spends: SpendSeen[] };
/** A spend, and what its coin is worth. */
type SpendFact = Fact & { spend: SpendSeen };

/** When an update is stored: after so many blocks, credits, or milliseconds. The blocks that were asked for together are in it. */
const BLOCKS_PER_STEP = 4_000;
const CREDITS_PER_STEP = 1_000;
const STEP_MS = 3_000;
const POLL_MS = 1_000;
/** If its tip is older than this, the node is cut off: such a gap between blocks occurs by chance once in years. */
const HEAD_AGE_MS_MAX = 60 * 60_000;
/** If another node is ahead by more blocks than this, the asked node withholds blocks. */
const BEHIND_OTHERS_MAX = 3;
const COMPARE_MS = 60_000;
/** The interval at which other nodes are asked whether they have a whole view, while the asked one has none. */
const GIVE_WAY_MS = 10_000;
/** For so long a view at the head may be no whole one, as while a large pool is being read. */
const PARTIAL_MS_MAX = 30_000;
/** Fewer transactions leave a pool for no block between its list and the question for them. */
const UNSHOWN_MAX = 100;
/** No chain has more blocks, of two minutes each, before 2050. */
const HEIGHT_MAX = 10_000_000;

export class MoneroAdapter extends EndpointAdapter<MoneroNode, LinkedHeader> {
  readonly chain = 'XMR';
  readonly #blocksPerStep: number;
  readonly #scanner: Scanner;
  readonly #pool: Pool;
  readonly keyImages = true;
  readonly knowsAccounts = true;
  readonly #search: Search;
  readonly #agreedSpends: Agreement<MoneroNode, SpendFact>;
  readonly #list: ScriptList;
  readonly spending: Spending;
  readonly absence?: BlockAbsence;
  readonly #alert: MoneroOptions['alert'];
  readonly #reading: Reading;
  readonly #blocks: BlockStream;
  readonly #searched: BlockStream;
  #comparedAtMs = performance.now();
  #gaveWayAtMs = performance.now();
  /** The node whose views at the head are not whole, and since when. */
  #partial: { node: MoneroNode; sinceMs: number } | null = null;
  /** The height of the last block that was read; a step through the past is below it. Null before the first step. */
  #readTo: number | null = null;
  /** The height of the lowest block that the blocks of the present step link to. */
  #linkedFrom = 0;

  /** Throws `Rejected` when a URL is malformed. */
  constructor(options: MoneroOptions) {
    const { network, urls, list, accounts, alert, onOdd, needsAgreement, reach = straight() } = options;
    const setting = `[networks.${network}.XMR] monerod`;
    super({
      network,
      setting,
      urls,
      list,
      alert,
      needsAgreement,
      areThere,
      open: (url) =>
        new MoneroNode({
          url,
          label: setting,
          network,
          reach,
          timeoutMs: options.requestTimeoutMs,
          hasOthers: urls.length > 1,
          infoBeginsMs: options.infoBeginsMs,
        }),
      pollMs: options.pollMs ?? POLL_MS,
      headAgeMsMax: HEAD_AGE_MS_MAX,
    });
    this.#blocksPerStep = options.blocksPerStep ?? BLOCKS_PER_STEP;
    this.#scanner = new Scanner(network, list, accounts);
    this.#pool = new Pool(this.#scanner);
    const reading = new Reading(options.hasThread ?? true);
    const common = { reading, onOdd, blocksMax: options.blocksPerStep };
    this.#blocks = new BlockStream({ ...common, receivers: () => this.#scanner.receivers() });
    this.#searched = new BlockStream({ ...common, receivers: () => [] });
    this.#search = new Search(this.#scanner, this.endpoints, this.#searched, alert);
    this.#reading = reading;
    const isStored = ({ spend: { outpoint, txid }, block }: SpendFact): boolean => {
      const coin = list.coin(outpoint);
      return coin?.spentTxid === txid && coin.spentBlockHash === block?.hash;
    };
    // the id of a transaction proves everything that is told of a spend
    const rules = { areThere, isStored, isSettled: isStored };
    this.#agreedSpends = new Agreement<MoneroNode, SpendFact>(this.endpoints, () => true, rules);
    if (this.endpoints.operators > 1) this.absence = new BlockAbsence(this.endpoints);
    this.#list = list;
    this.#alert = alert;
    this.spending = new MoneroSpending(
      network,
      new NodeSource(this.endpoints, () => this.#readTo ?? HEIGHT_MAX),
      list,
      this.#scanner,
    );
  }

  async deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress> {
    return deriveAddress('XMR', this.network, account, branch, index);
  }

  isValidAddress(text: string): boolean {
    return isValidAddress(text, this.network);
  }

  protected override prepare(node: MoneroNode, { head, kept, again }: Pick<StepStart<LinkedHeader>, Reread>): void {
    const from = (again[0] ?? { height: tipOf(kept).height + 1 }).height;
    if (from <= head.height) this.#blocks.prepare(node, from, head.height);
  }

  protected async read(
    node: MoneroNode,
    { head, kept, again, pending, orphaned }: StepStart<LinkedHeader>,
    signal: AbortSignal,
  ): Promise<StepRead<MoneroNode>> {
    this.prepare(node, { head, kept, again });
    // asked for beside the blocks, and after the head: what the head's blocks have is in it no more
    const isNear = head.height - tipOf(kept).height <= this.#blocksPerStep;
    const pooled = isNear ? node.pool(signal) : null;
    // one that is not needed says nothing
    pooled?.catch(() => undefined);
    const confirmed = await this.#read(node, { head, kept, again }, signal);
    const checkpoint = extended(kept, confirmed.headers);
    const tip = tipOf(checkpoint);
    this.#readTo = Math.max(this.#readTo ?? 0, tip.height);
    const atHead = tip.height >= head.height;
    // the pool belongs to the head
    if (tip.height === head.height && tip.hash !== head.hash) {
      this.#blocks.drop();
      throw changed();
    }
    this.#linkedFrom = kept[0]?.height ?? 0;
    const below = await this.#readBelow(node, pending, this.#linkedFrom, signal);
    const hashes = atHead ? await (pooled ?? node.pool(signal)) : null;
    const pool = hashes && (await this.#pool.look(node, hashes, signal));
    if (atHead) this.absence?.noteRead(tip);
    if (atHead) await this.#compare(node, tip, signal);
    const isTooLarge = atHead && hashes === null;
    const isCrowded = pool !== null && !pool.isWhole && pool.unshown > UNSHOWN_MAX;
    const isStuck = atHead && this.#isStuck(node, pool?.isWhole === true && !node.isBehind);
    if (atHead && (isTooLarge || isCrowded || node.isBehind || isStuck)) await this.#giveWay(node, tip, signal);
    const wanted = atHead && this.#search.isDue() ? this.#list.unsearched?.() : null;
    const searched = wanted ? await this.#search.step(node, { ...wanted, tip: tip.height }, signal) : null;
    const found = [...below.credits, ...confirmed.credits, ...(pool?.credits ?? [])];
    const others = (txids: readonly string[]) => this.#transactionsOfOthers(node, txids, signal);
    const place = { held: this.held(), orphaned, tip: tip.height };
    const credits = await this.#scanner.withoutTwins(found, place, node, others, signal);
    const spends = [...below.spends, ...confirmed.spends, ...(searched?.spends ?? []), ...(pool?.spends ?? [])];
    const handled = pool?.isWhole || isTooLarge ? markOf(tip, hashes) : null;
    return {
      checkpoint,
      told: [{ facts: credits, teller: node }],
      spends,
      handled,
      isPartial: isTooLarge,
      searched: searched?.searched ?? null,
      tipHeader: confirmed.headers.at(-1),
    };
  }

  /** A block below the checkpoint proves its transactions, and nothing links it to the chain. */
  protected override isProved({ block }: Credit): boolean {
    return block !== null && block.height >= this.#linkedFrom;
  }

  protected async mark(node: MoneroNode, signal: AbortSignal): Promise<string> {
    const [head, pool] = await Promise.all([node.head(signal), node.pool(signal)]);
    return markOf(head, pool);
  }

  override async close(): Promise<void> {
    await super.close();
    this.#blocks.drop();
    this.#searched.drop();
    await this.#reading.stop();
  }

  protected override isDue(): boolean {
    return this.#agreedSpends.isDue() || (this.#search.isDue() && Boolean(this.#list.unsearched?.()));
  }

  /**
   * A spend needs the word of another operator's node, however small its coin is: it decides which payment was made and
   * which one failed, and what is called failed may be paid again.
   */
  protected override async judgeSpends(
    spends: SpendSeen[],
    teller: MoneroNode,
    checkpoint: Checkpoint,
    signal: AbortSignal,
  ): Promise<SpendSeen[]> {
    const facts = spends.flatMap((spend): SpendFact[] => {
      const { outpoint, txid, block } = spend;
      const coin = this.#list.coin(outpoint);
      if (!coin) return [];
      const { targetId, asset, units } = coin;
      return [{ id: `${outpoint} ${txid}`, txid, block, targetId, amount: { asset, units }, spend }];
    });
    const judged = await this.#agreedSpends.judge([{ facts, teller }], checkpoint, signal);
    return judged.map(({ block, spend }) =>
      block ? spend : { outpoint: spend.outpoint, txid: spend.txid, fee: spend.fee ?? 0n, block: null },
    );
  }

  /**
   * The same in blocks below a height, of coins whose blocks the books do not have: they waited for another operator's node when the
   * service ended. The node learns these transactions' ids.
   */
  async #readBelow(node: MoneroNode, coins: readonly StoredCoin[], below: number, signal: AbortSignal): Promise<Facts> {
    const pause = slices();
    const facts: Facts = { credits: [], spends: [] };
    const txids = coins.flatMap(({ txid, blockHash, spentTxid }) => [...(blockHash ? [] : [txid]), spentTxid ?? txid]);
    for (const [txid, { transaction, height, kept }] of await node.transactions([...new Set(txids)], signal)) {
      const [header] = height !== null && height < below ? await node.headers([height], signal) : [];
      if (!header || !(await transactionsIn(node, idOf(header), signal)).has(txid)) continue;
      const where = { block: idOf(header), blockTime: header.timeMs };
      facts.credits.push(...(await this.#scanner.find(transaction, where, pause, kept ?? undefined)));
      facts.spends.push(...this.#scanner.spends(transaction, where));
    }
    return facts;
  }

  /**
   * Transactions that nodes of other operators have: their ids prove them. None where one operator is configured.
   * Throws `Unavailable` if no other one answers.
   */
  async #transactionsOfOthers(
    node: MoneroNode,
    txids: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, NodeTransaction>> {
    const found = new Map<string, NodeTransaction>();
    if (this.endpoints.operators < 2) return found;
    const hasAll = async (other: MoneroNode): Promise<boolean> => {
      const left = txids.filter((txid) => !found.has(txid));
      for (const [txid, one] of await other.transactions(left, signal)) found.set(txid, one);
      return txids.every((txid) => found.has(txid));
    };
    if ((await this.endpoints.other(node, hasAll, signal)) === undefined) throw changed();
    return found;
  }

  /**
   * The credits and spends in the blocks that are to be read again, and in as many above them as one step has, in
   * order; and the headers of the latter.
   */
  async #read(
    node: MoneroNode,
    { head, kept, again }: Pick<StepStart<LinkedHeader>, Reread>,
    signal: AbortSignal,
  ): Promise<Facts & { headers: LinkedHeader[] }> {
    const facts = { credits: [] as Credit[], spends: [] as SpendSeen[], headers: [] as LinkedHeader[] };
    const until = performance.now() + STEP_MS;
    const base = tipOf(kept);
    const from = (again[0] ?? { height: base.height + 1 }).height;
    const hashes = new Map(again.map(({ height, hash }) => [height, hash]));
    const below = again.length === 0 ? base : null;
    const pause = slices();
    for await (const page of this.#blocks.read(node, from, head.height, below, signal)) {
      for (const { header, transactions, receivers } of page) {
        if (header.height > base.height) facts.headers.push(header);
        else if (hashes.get(header.height) !== header.hash) throw changed();
        const where = { block: idOf(header), blockTime: header.timeMs };
        for (const { found, base: stored, ...transaction } of transactions) {
          facts.credits.push(...(await this.#scanner.credits(transaction, found, receivers, where, stored)));
          facts.spends.push(...this.#scanner.spends(transaction, where));
        }
        const wait = pause();
        if (wait) await wait;
      }
      const isFull = facts.headers.length >= this.#blocksPerStep || facts.credits.length >= CREDITS_PER_STEP;
      if (isFull || performance.now() >= until) break;
    }
    return facts;
  }

  /** Whether a node of another operator is further ahead on the same chain, so that this one withholds blocks. */
  async #compare(node: MoneroNode, tip: BlockId, signal: AbortSignal): Promise<void> {
    if (this.endpoints.operators < 2 || performance.now() - this.#comparedAtMs < COMPARE_MS) return;
    this.#comparedAtMs = performance.now();
    const ahead = await this.endpoints.other(
      node,
      async (other) => {
        const head = await other.head(signal);
        const [same] = await other.headers([tip.height], signal);
        return same?.hash === tip.hash ? head.height - tip.height : 0;
      },
      signal,
    );
    if ((ahead ?? 0) > BEHIND_OTHERS_MAX) this.endpoints.accused(node, `it is ${ahead} blocks behind another node`);
    else if (ahead === 0) await this.#compareDeep(node, tip.height - FORK_BLOCKS_MAX, signal);
  }

  /** Whether a node has had no whole view for too long, whatever the reason: it may name other transactions each time, or invent them. */
  #isStuck(node: MoneroNode, isWhole: boolean): boolean {
    const now = performance.now();
    if (isWhole) this.#partial = null;
    else if (this.#partial?.node !== node) this.#partial = { node, sinceMs: now };
    return this.#partial !== null && now - this.#partial.sinceMs >= PARTIAL_MS_MAX;
  }

  /**
   * Has the node of another operator asked first that has a whole view of the same chain, while this one has none: it is not synchronised,
   * or tells of more unconfirmed transactions than are read, or than it shows, or always of new ones. No payment would be taken for as long
   * as it says so. An honest one may.
   */
  async #giveWay(node: MoneroNode, tip: BlockId, signal: AbortSignal): Promise<void> {
    if (this.endpoints.operators < 2 || performance.now() - this.#gaveWayAtMs < GIVE_WAY_MS) return;
    this.#gaveWayAtMs = performance.now();
    // this one's newest blocks may be of its own making
    const height = Math.max(0, tip.height - FORK_BLOCKS_MAX);
    const [deep] = await node.headers([height], signal);
    const isWhole = async (other: MoneroNode): Promise<boolean> => {
      await other.head(signal);
      const [same] = await other.headers([height], signal);
      if (!same || same.hash !== deep?.hash || other.isBehind) return false;
      return (await other.pool(signal)) !== null;
    };
    if (await this.endpoints.other(node, isWhole, signal)) this.endpoints.askLater(node);
  }

  /** Tells the operator when two operators' nodes are on different chains. Neither can be believed then. */
  async #compareDeep(node: MoneroNode, height: number, signal: AbortSignal): Promise<void> {
    if (height < 0) return;
    const [mine] = await node.headers([height], signal);
    const isSame = async (other: MoneroNode): Promise<boolean> => {
      const [theirs] = await other.headers([height], signal);
      return !theirs || theirs.hash === mine?.hash;
    };
    if ((await this.endpoints.other(node, isSame, signal)) !== false) return;
    this.#alert(node.name, `it has another block ${height} than another node: one of them is wrong or lies`);
  }
}

/** The state of head and pool; a change of it requires a sync. */
const markOf = ({ hash }: BlockId, pool: readonly string[] | null): string =>
  `${hash} ${pool?.toSorted().join() ?? 'a pool that is too large'}`;

/** For each fact whether a node has its block on its chain, with its transaction in it: its id is the hash of its amounts. */
async function areThere(node: MoneroNode, facts: readonly Fact[], signal: AbortSignal): Promise<boolean[]> {
  const blocks = new Map<string, ReadonlySet<string>>();
  const found: boolean[] = [];
  for (const { block, txid } of facts) {
    if (block && !blocks.has(block.hash)) blocks.set(block.hash, await transactionsIn(node, block, signal));
    found.push(block !== null && blocks.get(block.hash)?.has(txid) === true);
  }
  return found;
}

/** The ids of a block's transactions; none if it is not on the node's chain. */
async function transactionsIn(node: MoneroNode, block: BlockId, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const [header] = await node.headers([block.height], signal);
  if (header?.hash !== block.hash) return new Set();
  const { coinbase, txids } = await node.block(header, signal);
  return new Set([coinbase.id, ...txids]);
}
