/**
 * Whether an endpoint has payments that another operator's reported, or the books: in the same block, to the same address, and of
 * the same amount. A transaction of that id alone proves nothing, because who reported it may have changed its amount.
 *
 * Invariant: an endpoint affirms only by its own statements. Debits in the books count for nothing here unless it has them too: one
 * that somebody invented would make room for a payment that never came.
 */
import type { AssetId } from '../../domain/assets.ts';
import { type BlockId, CHECKPOINT_BLOCKS_MAX, type Credit } from '../../domain/chain.ts';
import type { ScriptList, StoredCoin } from '../adapter.ts';
import { idOf } from '../checkpoint.ts';
import type { Header, Receipt, Sending } from './answers.ts';
import { idFor, originOf, placeOf } from './credit-ids.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import { isInside } from './native.ts';
import { type OutgoingReader, txidOf } from './outgoing.ts';
import type { Token } from './params.ts';
import { amountIn, isOfAccount } from './transfers.ts';

/** Transactions of one address that are asked for, in order to compare its present balance. */
const DEBITS_ASKED_MAX = 200;

/** For how long a step asks about coins that contracts sent from inside, and about how many at most. */
const SOON_MS = 3_000;
const SOON_MAX = 100;
/** The same for the first step after a start. */
const RECOVERED_MS = 20_000;

/** A block so deep is the oldest that is searched for payments (`CHECKPOINT_BLOCKS_MAX`), or nearly. */
const OLD_BLOCKS = CHECKPOINT_BLOCKS_MAX - 20;

type Payment = { credit: Credit; block: BlockId; address: string };
/** For how long, and about how many coins that contracts sent from inside an endpoint is asked; absent: about all. */
type Limit = { ms?: number; count?: number };

export class Agreed {
  readonly #list: ScriptList;
  readonly #reader: OutgoingReader;
  readonly #contracts: ReadonlyMap<string, string>;

  constructor(tokens: readonly Token[], list: ScriptList, reader: OutgoingReader) {
    this.#list = list;
    this.#reader = reader;
    this.#contracts = new Map(tokens.map(({ asset, contract }) => [asset, contract]));
  }

  /** The same as `areThere`, in a few seconds. */
  areThereSoon(
    endpoint: EvmEndpoint,
    credits: readonly Credit[],
    signal: AbortSignal,
    agreed: readonly Credit[],
  ): Promise<(boolean | null)[]> {
    return this.areThere(endpoint, credits, signal, agreed, { ms: SOON_MS, count: SOON_MAX });
  }

  /**
   * For each credit whether the endpoint has it. One transaction may have thousands, so each is asked for once. `agreed`: credits that
   * were affirmed before, and that the books do not have yet. Coins from inside a contract take several questions each: null after
   * `limit`.
   */
  async areThere(
    endpoint: EvmEndpoint,
    credits: readonly Credit[],
    signal: AbortSignal,
    agreed: readonly Credit[] = [],
    limit: Limit = {},
  ): Promise<(boolean | null)[]> {
    const { ms = Number.POSITIVE_INFINITY, count = credits.length } = limit;
    const late = new Set(credits.filter(isInside).slice(count));
    const payments = credits.map((credit) => (late.has(credit) ? null : this.#paymentOf(credit)));
    const heights = [...new Set(payments.flatMap((one) => one?.block.height ?? []))];
    const headers = new Map<number, Header | null>();
    for (const [i, header] of (await endpoint.headers(heights, signal)).entries()) headers.set(heights[i]!, header);
    const isOnChain = ({ block }: Payment): boolean => headers.get(block.height)?.hash === block.hash;
    const sent = payments.filter((one) => one !== null).filter((one) => isOnChain(one) && !isInside(one.credit));
    const txids = [...new Set(sent.map(({ credit }) => credit.txid))];
    const receipts = new Map<string, Receipt | null>();
    for (const [i, receipt] of (await endpoint.receipts(txids, signal)).entries()) receipts.set(txids[i]!, receipt);
    const found: (boolean | null)[] = [];
    const addresses = new Set(payments.map((payment) => payment?.address));
    const inside = new PaidInside({ endpoint, list: this.#list, reader: this.#reader, agreed, addresses }, signal);
    const until = performance.now() + ms;
    let isFirst = true;
    for (const [i, payment] of payments.entries()) {
      const header = payment && isOnChain(payment) ? headers.get(payment.block.height) : null;
      if (late.has(credits[i]!)) found.push(null);
      else if (!payment || !header) found.push(false);
      else if (isInside(payment.credit)) {
        const isInTime = isFirst || performance.now() < until;
        isFirst = false;
        found.push(isInTime ? await inside.affirms(payment, header) : null);
      } else found.push(await this.#isPaid(endpoint, payment, receipts.get(payment.credit.txid) ?? null, signal));
    }
    return found;
  }

  /**
   * The credits of coins that are in no block by the books, as far as the endpoint has them in a block up to a height: they waited
   * for agreement when the service ended, longer than the blocks of a checkpoint last. Another sender than theirs makes them another
   * credit (`credit-ids.ts`). Of those from inside contracts the largest come first; the balance shows again what is left out.
   */
  async recovered(
    endpoint: EvmEndpoint,
    coins: readonly StoredCoin[],
    height: number,
    signal: AbortSignal,
  ): Promise<Credit[]> {
    const txids = [...new Set(coins.map(({ txid }) => txid))];
    const receipts = await endpoint.receipts(txids, signal);
    // a coin from inside a contract has its block's hash
    const hashes = txids.map((txid, i) => receipts[i]?.blockHash ?? txid);
    const headers = new Map<string, Header>();
    for (const [i, header] of (await endpoint.headersByHash(hashes, signal)).entries()) {
      if (header && header.height <= height) headers.set(txids[i]!, header);
    }
    const credits = coins.flatMap(({ outpoint: id, txid, targetId, asset, units }): Credit[] => {
      const header = headers.get(txid);
      if (!header) return [];
      const amount = { asset, units };
      const moved = this.#list.underId?.(originOf(id)).find((one) => one.id === id)?.moved ?? false;
      const rest = { inputs: [], replaceable: true, ...(moved && { moved }) };
      return [{ id, txid, targetId, amount, block: idOf(header), blockTime: header.timeMs, ...rest }];
    });
    const largestFirst = credits.toSorted((a, b) => Number(b.amount.units - a.amount.units));
    const found = await this.#having(endpoint, largestFirst, signal);
    const known = new Set(found.map(({ id }) => id));
    const others = credits
      .filter((one) => !known.has(one.id) && !isInside(one))
      .map((one): Credit => ({ ...one, id: originOf(one.id), moved: !one.moved }))
      .map((one) => ({ ...one, id: idFor(this.#list, one) }))
      .filter(({ id }) => !known.has(id));
    return [...found, ...(await this.#having(endpoint, others, signal))];
  }

  /** Those of some credits that the endpoint has. */
  async #having(endpoint: EvmEndpoint, credits: readonly Credit[], signal: AbortSignal): Promise<Credit[]> {
    const there = await this.areThere(endpoint, credits, signal, [], { ms: RECOVERED_MS });
    return credits.filter((_, i) => there[i]);
  }

  #paymentOf(credit: Credit): Payment | null {
    const [target] = this.#list.page(credit.targetId - 1, 1);
    if (!credit.block || target?.id !== credit.targetId) return null;
    return { credit, block: credit.block, address: hexOfScript(target.script) };
  }

  async #isPaid(
    endpoint: EvmEndpoint,
    { credit: { id, txid, targetId, amount, moved = false }, block, address }: Payment,
    receipt: Receipt | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!receipt?.succeeded || receipt.blockHash !== block.hash) return false;
    const place = placeOf(id);
    const isOwn = (sender: string): boolean => isOfAccount(this.#list, sender, targetId);
    if (place === 0) {
      const sending = await endpoint.sending(txid, signal);
      return sending?.to === address && sending.value === amount.units && moved === isOwn(sending.from);
    }
    const log = receipt.logs[place - 1];
    const paid = log && log.contract === this.#contracts.get(amount.asset) ? amountIn(log) : null;
    return paid?.recipient === address && paid.units === amount.units && moved === isOwn(paid.sender);
  }
}

/** Whether an endpoint has amounts that contracts sent from inside, which no list of transactions shows. */
class PaidInside {
  readonly #endpoint: EvmEndpoint;
  readonly #list: ScriptList;
  readonly #reader: OutgoingReader;
  readonly #agreed: readonly Credit[];
  /** All that it is asked about. */
  readonly #addresses: ReadonlySet<string | undefined>;
  readonly #signal: AbortSignal;
  /** By block, its transactions from and to these addresses. */
  readonly #sendings = new Map<string, readonly Sending[]>();
  /** The credits that this affirmed itself: two parts of one block may be the same money. */
  readonly #affirmed: Credit[] = [];
  /** By address: what was found in its present balance alone. */
  readonly #found = new Map<string, bigint>();

  constructor(
    parts: {
      endpoint: EvmEndpoint;
      list: ScriptList;
      reader: OutgoingReader;
      agreed: readonly Credit[];
      addresses: ReadonlySet<string | undefined>;
    },
    signal: AbortSignal,
  ) {
    this.#endpoint = parts.endpoint;
    this.#list = parts.list;
    this.#reader = parts.reader;
    this.#agreed = parts.agreed;
    this.#addresses = parts.addresses;
    this.#signal = signal;
  }

  /** Whether it has a payment beside those that it has affirmed before. */
  async affirms(payment: Payment, header: Header): Promise<boolean> {
    const isThere = await this.#has(payment, header);
    if (isThere) this.#affirmed.push(payment.credit);
    return isThere;
  }

  /**
   * Whether the balance rose in a block by the amount, beside the transactions from and to the address, and beside what else came from
   * inside. A payment from before the
   * blocks that are searched is dated in the oldest of them: then whether the address had the amount before, beside all that is
   * known to have come there. Endpoints keep the state of about 128 blocks: for an older one, whether it has it in a later one.
   */
  async #has(payment: Payment, header: Header): Promise<boolean> {
    const { credit, address } = payment;
    const needed = credit.amount.units + this.#insideBeside(payment);
    const parent = { height: header.height - 1, hash: header.parent };
    const before = await this.#balance(address, parent);
    const after = await this.#balance(address, idOf(header));
    if (after === null) return this.#isHeldLater(payment);
    if (before === null) return this.#isHeldAt(payment, idOf(header), after);
    const beside = await this.#sentBeside(payment);
    const rose = beside !== null && after - before + beside >= needed;
    if (rose) return !this.#isDatedLater(payment) || this.#isHeldNow(payment);
    const head = await this.#endpoint.head(this.#signal);
    return head.height - header.height >= OLD_BLOCKS && this.#isHeldAt(payment, parent, before);
  }

  /** Whether something that came from inside counts in a later block: it may be the same. */
  #isDatedLater({ credit: { targetId, amount }, block: { height } }: Payment): boolean {
    return this.#list.coinsOf(targetId).some(({ asset, txid, blockHash, blockHeight }) => {
      return asset === amount.asset && txid === blockHash && (blockHeight ?? 0) > height;
    });
  }

  /** The rest that came from inside to the target in the same block, by the books and by what was affirmed before. */
  #insideBeside({ credit: { id, targetId, amount }, block: { hash } }: Payment): bigint {
    const units = new Map<string, bigint>();
    for (const one of this.#list.coinsOf(targetId)) {
      const isHere = one.txid === hash && one.blockHash === hash;
      if (isHere && one.asset === amount.asset) units.set(one.outpoint, one.units);
    }
    for (const one of [...this.#agreed, ...this.#affirmed]) {
      const isHere = one.txid === hash && one.targetId === targetId;
      if (isHere && one.amount.asset === amount.asset) units.set(one.id, one.amount.units);
    }
    units.delete(id);
    return [...units.values()].reduce((sum, one) => sum + one, 0n);
  }

  async #balance(address: string, block: BlockId): Promise<bigint | null> {
    const [balance] = await this.#endpoint.balances([address], block, this.#signal);
    return balance ?? null;
  }

  /**
   * Whether the address has the amount in a block whose payments the books know, beside them all. In its present balance may be a payment
   * that they do not know yet, which would vouch for an invented one.
   */
  async #isHeldLater(payment: Payment): Promise<boolean> {
    const head = await this.#endpoint.head(this.#signal);
    const height = head.height - OLD_BLOCKS;
    if (height < payment.block.height) return this.#isHeldNow(payment);
    const [header] = await this.#endpoint.headers([height], this.#signal);
    const balance = header ? await this.#balance(payment.address, idOf(header)) : null;
    return (
      header !== null && header !== undefined && balance !== null && this.#isHeldAt(payment, idOf(header), balance)
    );
  }

  async #isHeldNow(payment: Payment): Promise<boolean> {
    const head = await this.#endpoint.head(this.#signal);
    const now = await this.#balance(payment.address, head);
    return now !== null && this.#isHeldAt(payment, head, now);
  }

  /** `balance`: of the address after that block. */
  async #isHeldAt({ credit, address }: Payment, { height }: BlockId, balance: bigint): Promise<boolean> {
    const { targetId, amount } = credit;
    const left = await this.#leftOf(targetId, amount.asset, height);
    const found = (this.#found.get(address) ?? 0n) + amount.units;
    if (left === null || balance + left < this.#cameTo(targetId, amount.asset, height) + found) return false;
    this.#found.set(address, found);
    return true;
  }

  /** All that came to a target in blocks up to a height by the books, and what was affirmed before. */
  #cameTo(targetId: number, asset: AssetId, height: number): bigint {
    const stored = this.#list.coinsOf(targetId).filter((coin) => coin.asset === asset && coin.blockHash !== null);
    const known = new Set(stored.map(({ outpoint }) => outpoint));
    const agreed = this.#agreed.filter(
      (one) => one.targetId === targetId && one.amount.asset === asset && !known.has(one.id),
    );
    const until = stored.filter(({ blockHeight }) => (blockHeight ?? 0) <= height);
    return [...until, ...agreed.map(({ amount }) => amount)].reduce((sum, { units }) => sum + units, 0n);
  }

  /** All that left a target up to a height by the endpoint's own receipts. Null: too many transactions to ask for. */
  async #leftOf(targetId: number, asset: AssetId, height: number): Promise<bigint | null> {
    const [target] = this.#list.page(targetId - 1, 1);
    const debits = this.#list.debitsAt(targetId, asset).filter(({ block }) => block.height <= height);
    const txids = [...new Set(debits.map(({ id }) => txidOf(id)))];
    if (target?.id !== targetId || txids.length > DEBITS_ASKED_MAX) return null;
    const receipts = await this.#endpoint.receipts(txids, this.#signal);
    const sendings = await this.#endpoint.sendingsOf(txids, this.#signal);
    return txids.reduce((sum, _, i) => {
      const [receipt, sending] = [receipts[i], sendings[i]];
      if (!receipt || !sending) return sum;
      const taken = this.#reader.taken({ target, receipt, sending }, 0);
      const own = taken.debits.filter(({ amount }) => amount.asset === asset);
      return own.reduce((total, { amount }) => total + amount.units, sum);
    }, 0n);
  }

  /**
   * The amount that the block's own transactions took from the address, fees included, less the amount that they sent it. Null: not all
   * of them have a receipt.
   */
  async #sentBeside({ address, block }: Payment): Promise<bigint | null> {
    const sendings = await this.#sendingsIn(block);
    const own = sendings.filter(({ from, to }) => from === address || to === address);
    const receipts = await this.#endpoint.receipts(
      own.map(({ txid }) => txid),
      this.#signal,
    );
    return own.reduce<bigint | null>((sum, { from, to, value }, i) => {
      const receipt = receipts[i];
      if (sum === null || !receipt) return null;
      const moved = receipt.succeeded ? value : 0n;
      return sum - (to === address ? moved : 0n) + (from === address ? moved + receipt.fee : 0n);
    }, 0n);
  }

  async #sendingsIn(block: BlockId): Promise<readonly Sending[]> {
    const known = this.#sendings.get(block.hash);
    if (known) return known;
    const all = await this.#endpoint.sendings(block, this.#signal);
    const own = all.filter(({ from, to }) => this.#addresses.has(from) || this.#addresses.has(to ?? ''));
    this.#sendings.set(block.hash, own);
    return own;
  }
}
