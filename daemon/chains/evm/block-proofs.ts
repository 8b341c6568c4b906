/**
 * Checks what an endpoint reports of a block against the block's own roots (`proved-block.ts`). A proof is as good from any endpoint: if the
 * one that reports a payment does not give it, another operator's is asked.
 *
 * Where none gives it, nothing is refused: then what came needs the word of another operator (`../agreement.ts`). So does what contracts
 * sent from inside, which no receipt has.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { Credit } from '../../domain/chain.ts';
import type { ScriptList } from '../adapter.ts';
import type { Endpoints } from '../endpoints.ts';
import { Malformed } from '../endpoints.ts';
import type { Receipt, Sending } from './answers.ts';
import { placeOf } from './credit-ids.ts';
import { type EvmEndpoint, hexOfScript } from './endpoint.ts';
import { isInside } from './native.ts';
import type { Token } from './params.ts';
import { isProvedSending, type ProvedBlock } from './proved-block.ts';
import { amountIn, type Incoming, isOfAccount } from './transfers.ts';

/** Blocks that are kept, each with all its transactions: a step asks about what came and about what left. */
const KEPT_MAX = 4;
/** Blocks that one step reads. A restore finds years of payments, which another operator confirms by their receipts alone. */
const READ_PER_STEP_MAX = 8;
/** Credits that are remembered as proved: an endpoint tells them again until the books have them, and so does a second one. */
const PROVED_MAX = 20_000;

type Parts = {
  endpoints: Endpoints<EvmEndpoint>;
  list: ScriptList;
  tokens: readonly Token[];
  log: (message: string) => void;
};

export class BlockProofs {
  readonly #parts: Parts;
  readonly #contracts: ReadonlyMap<AssetId, string>;
  /** By hash, the newest last. */
  readonly #kept = new Map<string, ProvedBlock>();
  readonly #proved = new Set<string>();
  #isSaid = false;
  /** Blocks that this step may still read. */
  #left = READ_PER_STEP_MAX;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#contracts = new Map(parts.tokens.map(({ asset, contract }) => [asset, contract]));
  }

  /** Called before each step. */
  begin(): void {
    this.#left = READ_PER_STEP_MAX;
  }

  /** Whether a credit was found in its block, or the books have it there. */
  isProved(credit: Credit): boolean {
    return this.#isStored(credit) || this.#proved.has(keyOf(credit));
  }

  /**
   * Receipts of transactions with these events, by their ids, as far as their blocks prove them. Blocks whose payments the books have are
   * left out.
   */
  async receipts(
    teller: EvmEndpoint,
    incoming: readonly Incoming[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Receipt>> {
    const firsts = new Map<string, Incoming>();
    for (const one of incoming) if (!firsts.has(one.log.blockHash)) firsts.set(one.log.blockHash, one);
    const books = new Map<number, ReadonlySet<string>>();
    // an address may have thousands of payments
    for (const { targetId } of firsts.values()) if (!books.has(targetId)) books.set(targetId, this.#bookedAt(targetId));
    const fresh = [...firsts].filter(([hash, { targetId, log }]) => !books.get(targetId)?.has(`${log.txid} ${hash}`));
    const found = new Map<string, Receipt>();
    for (const [hash] of fresh) {
      if (this.#left === 0) break;
      const block = await this.#blockOf(teller, hash, signal);
      for (const { log } of incoming) {
        const receipt = log.blockHash === hash ? block?.get(log.txid)?.receipt : undefined;
        if (receipt) found.set(log.txid, receipt);
      }
    }
    return found;
  }

  /** Remembers credits that were made of proved receipts. */
  keep(credits: readonly Credit[], proved: ReadonlyMap<string, Receipt>): void {
    for (const credit of credits) if (proved.has(credit.txid)) this.#keep(credit);
  }

  /** Looks for credits in their blocks. Throws `Malformed` if one is provably not there. */
  async check(teller: EvmEndpoint, credits: readonly Credit[], signal: AbortSignal): Promise<void> {
    const open = new Map<string, Credit[]>();
    for (const credit of credits) {
      const { block } = credit;
      if (block !== null && !isInside(credit) && !this.isProved(credit))
        open.set(block.hash, [...(open.get(block.hash) ?? []), credit]);
    }
    for (const [hash, own] of open) {
      if (this.#left === 0 && !this.#kept.has(hash)) continue;
      const block = await this.#blockOf(teller, hash, signal);
      if (!block) continue;
      for (const credit of own) {
        if (!this.#has(block, credit)) throw new Malformed('a payment that its block provably does not have');
        this.#keep(credit);
      }
    }
  }

  /** Whether a transaction is proved to be in its block as it is told. Throws `Malformed` if it is provably not. */
  async hasSent(
    teller: EvmEndpoint,
    told: { receipt: Receipt; sending: Sending },
    signal: AbortSignal,
  ): Promise<boolean> {
    const block = await this.#blockOf(teller, told.receipt.blockHash, signal);
    if (block && !isProvedSending(block, told)) {
      throw new Malformed('a transaction of ours that its block provably does not have');
    }
    return block !== null;
  }

  async #blockOf(teller: EvmEndpoint, hash: string, signal: AbortSignal): Promise<ProvedBlock | null> {
    const kept = this.#kept.get(hash);
    if (kept) return kept;
    this.#left = Math.max(0, this.#left - 1);
    const askedFor = (endpoint: EvmEndpoint): Promise<ProvedBlock | null> => endpoint.provedBlock(hash, signal);
    const found =
      (await askedFor(teller)) ??
      (await this.#parts.endpoints.other(teller, async (other) => (await askedFor(other)) ?? false, signal));
    if (!found) {
      this.#say(hash);
      return null;
    }
    this.#kept.set(hash, found);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest);
    return found;
  }

  #keep(credit: Credit): void {
    this.#proved.add(keyOf(credit));
    const [oldest] = this.#proved;
    if (this.#proved.size > PROVED_MAX && oldest !== undefined) this.#proved.delete(oldest);
  }

  /** The payments to a target that the books have in blocks: the transactions, each with its block. */
  #bookedAt(targetId: number): ReadonlySet<string> {
    return new Set(this.#parts.list.coinsOf(targetId).map(({ txid, blockHash }) => `${txid} ${blockHash}`));
  }

  #isStored({ id, block }: Credit): boolean {
    return block !== null && this.#parts.list.coin(id)?.blockHash === block.hash;
  }

  #say(hash: string): void {
    if (this.#isSaid) return;
    this.#isSaid = true;
    this.#parts.log(
      `No endpoint tells the transactions and receipts of block ${hash} so that they prove each other (eth_getBlockReceipts). Payments ` +
        'in such blocks count by the word of another operator, or of one endpoint where no other operator answers',
    );
  }

  #has(block: ProvedBlock, { id, txid, targetId, amount, moved = false }: Credit): boolean {
    const [target] = this.#parts.list.page(targetId - 1, 1);
    const found = block.get(txid);
    if (!found?.receipt.succeeded || target?.id !== targetId) return false;
    const address = hexOfScript(target.script);
    const place = placeOf(id);
    const isOwn = (sender: string | null): boolean => isOfAccount(this.#parts.list, sender, targetId);
    if (place === 0) {
      const isThere = found.sending.to === address && found.sending.value === amount.units;
      return isThere && moved === isOwn(found.sender());
    }
    const log = found.receipt.logs[place - 1];
    const paid = log && log.contract === this.#contracts.get(amount.asset) ? amountIn(log) : null;
    return paid?.recipient === address && paid.units === amount.units && moved === isOwn(paid.sender);
  }
}

const keyOf = ({ id, targetId, amount, block, moved = false }: Credit): string =>
  `${block?.hash} ${id} ${targetId} ${amount.units} ${amount.asset} ${moved}`;
