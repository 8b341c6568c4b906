/**
 * Finds our credits in blocks and in the pool. Every output is scanned with each account's view key, in turns of a few
 * milliseconds. One look-up in the store tells whether its subaddress was given out, so the cost of a block does not depend
 * on the number of subaddresses.
 */
import type { Network } from '../../domain/assets.ts';
import type { AccountKey, BlockId, Credit, SpendSeen } from '../../domain/chain.ts';
import { INPUTS_KEPT_MAX } from '../../domain/chain.ts';
import { MONERO_LOCK_BLOCKS } from '../../domain/finality.ts';
import type { Transaction } from '../../monero/transaction.ts';
import type { ScriptList, StoredCoin } from '../adapter.ts';
import { atOnce, inTurns, type Pause } from '../slices.ts';
import type { MoneroNode, NodeTransaction } from './node.ts';
import { foundIn, type OutputMatch, type TransactionParts } from './read.ts';
import { Receiver } from './receive.ts';

/** Consensus: a coinbase may be spent 60 blocks later (CRYPTONOTE_MINED_MONEY_UNLOCK_WINDOW). */
const COINBASE_MATURITY = 60;
/** One-time keys of known credits that are kept in memory from one step to the next. */
const KEYS_KEPT_MAX = 10_000;

/**
 * A coinbase has an unlock time for its maturity; in any other transaction, an unlock time makes a payment unspendable. An output of
 * version 1 is in no ring that is made here: its like are those of exactly its amount.
 */
const isUnspendable = ({ version, isCoinbase, unlockTime }: Paying): boolean =>
  version === 1 || (!isCoinbase && unlockTime !== 0n);

type Paying = Omit<TransactionParts, 'place' | 'found'>;

/**
 * Whether the amount of an output may be in the open: in a coinbase, and in the old transactions of version 1. In any other one it takes no
 * secret to give the key of somebody's payment a place in it.
 */
const mayBeOpen = ({ version, isCoinbase }: Paying, where: Where): boolean =>
  where !== null && (isCoinbase || version === 1);

/** A one-time key. `isMined`: its output is of a coinbase. */
type OutputKey = { key: string; isMined: boolean };
/** An output that counts so far. `lock`: has it told as one that does not. */
type Rival = { credit: Credit; lock: (locked: Credit) => void };
type Where = { block: BlockId; blockTime: number } | null;

export class Scanner {
  readonly #network: Network;
  readonly #list: ScriptList;
  readonly #accounts: () => readonly AccountKey[];
  readonly #receivers = new Map<string, Receiver>();
  /** The one-time keys of outputs, by outpoint. */
  readonly #keys = new Map<string, OutputKey>();

  constructor(network: Network, list: ScriptList, accounts: () => readonly AccountKey[]) {
    this.#network = network;
    this.#list = list;
    this.#accounts = accounts;
  }

  /** The credits of a transaction. `base`: its stored form, kept until they are spent. */
  async find(transaction: Transaction, where: Where, pause: Pause, base?: () => Uint8Array): Promise<Credit[]> {
    const receivers = this.receivers();
    const found = await inTurns(foundIn([transaction], receivers), pause);
    return this.credits(transaction, found.get(transaction) ?? [], receivers, where, base);
  }

  /** The credits of a transaction, from what was found in it with these receivers. */
  async credits(
    transaction: Paying,
    found: readonly OutputMatch[],
    receivers: readonly Receiver[],
    where: Where,
    base?: () => Uint8Array,
  ): Promise<Credit[]> {
    const credits: Credit[] = [];
    const inputs = transaction.keyImages.slice(0, INPUTS_KEPT_MAX);
    for (const { account, n, spendKey, units, key, isProved } of found) {
      const receiver = receivers[account];
      if (units === 0n || !receiver || !(isProved || mayBeOpen(transaction, where))) continue;
      const targetId = await this.#targetOf(receiver, spendKey, isProved);
      if (targetId === undefined) continue;
      const id = `${transaction.id}:${n}`;
      this.#keys.set(id, { key: Buffer.from(key).toString('hex'), isMined: transaction.isCoinbase });
      credits.push({
        id,
        txid: transaction.id,
        targetId,
        inputs,
        amount: { asset: 'XMR', units },
        block: where?.block ?? null,
        ...(where && { blockTime: where.blockTime }),
        replaceable: false,
        maturity: transaction.isCoinbase ? COINBASE_MATURITY : MONERO_LOCK_BLOCKS,
        ...(where && base && { base: base() }),
        ...(isUnspendable(transaction) && { locked: true }),
      });
    }
    return credits;
  }

  /** `isProved`: a commitment shows that the output is this account's. Without one, one in 256 looks so by chance. */
  async #targetOf(receiver: Receiver, spendKey: Uint8Array, isProved: boolean): Promise<number | undefined> {
    const script = receiver.scriptOf(spendKey, this.#network);
    const known = this.#list.targetIdOf(script);
    if (known !== undefined || !isProved || !this.#list.paidElsewhere) return known;
    await this.#list.paidElsewhere(receiver.account);
    return this.#list.targetIdOf(script);
  }

  /** The spends of our coins by a transaction, of coins whose key image is known. */
  spends(transaction: Pick<Transaction, 'id' | 'keyImages' | 'fee'>, where: Where): SpendSeen[] {
    return transaction.keyImages.flatMap((image): SpendSeen[] => {
      const outpoint = this.#list.coinOfKeyImage?.(image);
      if (outpoint === undefined) return [];
      const place = where ? { block: where.block, blockTime: where.blockTime } : { block: null };
      return [{ outpoint, txid: transaction.id, fee: transaction.fee, ...place }];
    });
  }

  /** The outputs of a transaction that pay addresses of ours, by their bytes. */
  own(transaction: Transaction): { script: Uint8Array; units: bigint }[] {
    const receivers = this.receivers();
    const found = atOnce(foundIn([transaction], receivers)).get(transaction) ?? [];
    return found.flatMap(({ account, spendKey, units }) => {
      const script = receivers[account]?.scriptOf(spendKey, this.#network);
      return script && this.#list.targetIdOf(script) !== undefined ? [{ script, units }] : [];
    });
  }

  /**
   * Marks credits as locked whose one-time key an earlier output has already (the burning bug). Both outputs have the same
   * key image, so only one of them can ever be spent, and only one counts. Earlier are credits before it in the list, and
   * those in blocks that are stored or `held`: the books do not have the block of a credit that waits for another node. One that is
   * locked already locks no other, and neither does one whose block has left the chain (`orphaned`: hashes). Transactions of
   * stored ones that the node leaves out are asked of `others`, because both outputs would count without them. `tip`: the height of the
   * newest block.
   */
  async withoutTwins(
    credits: readonly Credit[],
    { held, orphaned, tip }: { held: readonly Credit[]; orphaned: readonly string[]; tip: number },
    node: MoneroNode,
    others: (txids: readonly string[]) => Promise<ReadonlyMap<string, NodeTransaction>>,
    signal: AbortSignal,
  ): Promise<Credit[]> {
    const told = new Set(credits.map(({ id }) => id));
    const targets = new Set(credits.map(({ targetId }) => targetId));
    const stored = [...targets].flatMap((targetId) =>
      this.#list
        .coinsOf(targetId)
        .filter(({ blockHash, locked }) => blockHash && !locked && !orphaned.includes(blockHash)),
    );
    const waiting = held.filter(
      ({ targetId, block, locked }) => block && !locked && targets.has(targetId) && !orphaned.includes(block.hash),
    );
    const again: Credit[] = [];
    const lock = (locked: Credit): unknown => again.push(locked);
    const earlier = new Map<string, Rival>([
      ...stored.map((coin) => [coin.outpoint, { credit: creditOf(coin), lock }] as const),
      ...waiting.map((credit) => [credit.id, { credit, lock }] as const),
    ]);
    for (const id of told) earlier.delete(id);
    const all = [...[...earlier.values()].map(({ credit }) => credit), ...credits];
    const unread = all.filter(({ id }) => !this.#keys.has(id)).map(({ txid }) => txid);
    this.#noteKeys(await node.transactions([...new Set(unread)], signal));
    const left = stored.filter(({ outpoint }) => !this.#keys.has(outpoint)).map(({ txid }) => txid);
    if (left.length > 0) this.#noteKeys(await others([...new Set(left)]));
    const judged = this.#judgeTwins(credits, [...earlier.values()], tip);
    // not before: a step with more outputs than that would miss a twin. An address with more of them is not asked for in each step
    if (this.#keys.size > KEYS_KEPT_MAX + all.length) this.#keys.clear();
    return [...judged, ...again];
  }

  #judgeTwins(credits: readonly Credit[], earlier: readonly Rival[], tip: number): Credit[] {
    const first = new Map<string, Rival>();
    for (const rival of earlier) {
      const found = this.#keys.get(rival.credit.id);
      if (found) first.set(found.key, rival);
    }
    const judged = [...credits];
    for (const [at, credit] of credits.entries()) {
      if (credit.locked) continue;
      const key = this.#keys.get(credit.id)?.key ?? credit.id;
      const rival = first.get(key);
      const lock = (locked: Credit): void => {
        judged[at] = locked;
      };
      const isTwin = rival !== undefined && rival.credit.id !== credit.id;
      if (isTwin && !this.#givesWay(rival, credit, tip)) {
        lock({ ...credit, locked: true });
        continue;
      }
      if (isTwin) rival.lock({ ...rival.credit, locked: true });
      first.set(key, { credit, lock });
    }
    return judged;
  }

  /**
   * Whether the output that came first leaves its place to a larger one. A miner can copy the key of anybody's payment into a coinbase,
   * whose amount is in the open, for the smallest part of a coin. Where the payment came while the coinbase was too young to be spent,
   * nothing was made of that one. No other output can be copied, because its amount takes the secret of the payment. The choice of
   * the books stays when the blocks are read again: a payment may have been seen in time and mined later.
   */
  #givesWay({ credit }: Rival, later: Credit, tip: number): boolean {
    const isMined = (of: string): boolean => this.#keys.get(of)?.isMined === true;
    if (credit.block === null || !isMined(credit.id) || isMined(later.id)) return false;
    const [coin, other] = [credit, later].map(({ id }) => this.#list.coin(id));
    if (coin?.locked && coin.blockHash === credit.block.hash && other && !other.locked) return true;
    const isSpent = (coin?.spentTxid ?? null) !== null;
    const isYoung = (later.block?.height ?? tip) - credit.block.height + 1 < COINBASE_MATURITY;
    return isYoung && !isSpent && later.amount.units > credit.amount.units;
  }

  #noteKeys(transactions: ReadonlyMap<string, NodeTransaction>): void {
    for (const [txid, { transaction }] of transactions) {
      for (const [n, { key }] of transaction.outputs.entries()) {
        const found = { key: Buffer.from(key).toString('hex'), isMined: transaction.isCoinbase };
        this.#keys.set(`${txid}:${n}`, found);
      }
    }
  }

  /** One receiver for each present view key. */
  receivers(): Receiver[] {
    const receivers = new Map<string, Receiver>();
    for (const account of this.#accounts()) {
      if (account.kind !== 'monero') continue;
      const key = account.privateViewKey;
      const receiver = this.#receivers.get(key) ?? new Receiver(account);
      this.#receivers.set(key, receiver);
      receivers.set(key, receiver);
    }
    return [...receivers.values()];
  }
}

/** A stored coin in a block, as it is told again. */
const creditOf = ({ outpoint, txid, targetId, asset, units, blockHeight, blockHash }: StoredCoin): Credit => ({
  id: outpoint,
  txid,
  targetId,
  inputs: [],
  amount: { asset, units },
  block: blockHeight === null || blockHash === null ? null : { height: blockHeight, hash: blockHash },
  replaceable: false,
  maturity: COINBASE_MATURITY,
});
