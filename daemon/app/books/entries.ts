/**
 * Ledger entries. A credit (`credit`) is money that came to an account, a debit (`debit`) is money that left it. The
 * balance is the running total of credits less debits. The export and the proof of the ledger read the same rows.
 *
 * The debits of a coin chain are derived from the coins. A transaction takes the value of its inputs of ours. The part
 * that it pays to our change addresses is moved, the fee is known if we made the transaction or if it says so, and the rest is paid. Its
 * debits are derived again whenever one of these coins changes, so a reorganisation removes them. An account chain
 * reports its debits.
 *
 * Invariants. The debits of a transaction add up to the coins of ours that it spends. A credit is in the total while it
 * can be spent, and stays in it once it is spent: then the debits include it too. An entry is valued once, when a block
 * first holds it. An adopted balance contains everything that left the address up to its block, known or not: a debit that is found or taken
 * out later is a part of it.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Debit, DebitKind } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { addressBalance, dropAddressBalance, setAddressBalance } from '../../store/queries/address-balances.ts';
import { insertCorrection } from '../../store/queries/corrections.ts';
import { balanceOf, creditsInBlock, setBalance, targetById } from '../../store/queries/credits.ts';
import {
  adoptedFrom,
  changeOf,
  coinsSpentBy,
  type DebitRow,
  debitByRef,
  debitsOfTransaction,
  deleteDebit,
  insertDebit,
  updateDebit,
} from '../../store/queries/debits.ts';
import { outsideFee } from '../../store/queries/outside-fees.ts';
import { lastDebit } from '../../store/queries/restore.ts';
import { spendById, versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { searchAgain } from '../recovery/quarantine.ts';
import { type Rated, ratedAt, UNRATED } from './rating.ts';

type Holding = { account_id: number; asset: AssetId; target_id: number };

type Value = Pick<DebitRow, 'at' | 'usd_rate'> & Rated;
type NewDebit = Omit<DebitRow, 'id' | keyof Value>;

/** The amount that one transaction takes from one account, smallest units of one asset. */
type Taken = { account_id: number; asset: AssetId; units: bigint; block: BlockId | null };

/** `valued`: a debit of the same transaction and asset that may already have a value. */
type EntryHints = { valued?: DebitRow | undefined; blockTime?: number | undefined };

/** The entries that one sync step changes. `flush` writes them and the balances. */
export class Entries {
  readonly #app: App;
  readonly #chain: ChainRuntime;
  readonly #tx: Tx;
  readonly #timeOf: (blockHash: string) => number | undefined;
  readonly #moves = new Map<string, { account_id: number; asset: AssetId; units: bigint }>();
  /** The same for single addresses of an account chain. */
  readonly #held = new Map<string, Holding & { units: bigint }>();
  /** Transactions whose coins changed. */
  readonly #touched = new Set<string>();

  /** `timeOf`: the times of the blocks in this step, milliseconds since 1970. */
  constructor(app: App, chain: ChainRuntime, tx: Tx, timeOf: (blockHash: string) => number | undefined) {
    this.#app = app;
    this.#chain = chain;
    this.#tx = tx;
    this.#timeOf = timeOf;
  }

  /** Adds the smallest units of a credit to its account's total, or subtracts them if negative. */
  move({ account_id, asset }: { account_id: number; asset: AssetId }, units: bigint): void {
    const key = `${account_id} ${asset}`;
    const move = this.#moves.get(key) ?? { account_id, asset, units: 0n };
    move.units += units;
    this.#moves.set(key, move);
  }

  /** Adds smallest units to what one address holds, on an account chain. */
  hold({ account_id, asset, target_id }: Holding, units: bigint): void {
    if (!this.#chain.adapter.accountBased || units === 0n) return;
    const key = `${target_id} ${asset}`;
    const held = this.#held.get(key) ?? { account_id, asset, target_id, units: 0n };
    held.units += units;
    this.#held.set(key, held);
  }

  /** Marks a transaction whose made or spent coin has changed. */
  touch(txid: string | null): void {
    if (txid !== null) this.#touched.add(txid);
  }

  /** Stores a debit that an account chain reports. `isPast`: of a past that is read, with the money that came before it. */
  see({ id, txid, targetId, kind, amount, block, blockTime }: Debit, isPast = false): void {
    const chain_key = this.#chain.key;
    const target = this.#tx.get(targetById, { id: targetId });
    assert(target?.chain_key === chain_key, `target ${targetId} is on ${chain_key}`);
    assert(amount.units > 0n && id.startsWith(`${txid}:`), `${id} is a debit`);
    const { account_id } = target;
    const row = { chain_key, ref: id, txid, account_id, target_id: targetId, asset: amount.asset, kind };
    const fields = { ...row, units: amount.units, ...placed(block) };
    const stored = this.#tx.get(debitByRef, { ref: id, chain_key });
    this.#save(stored, fields, { blockTime });
    // nobody lists what came of the coin
    const isAlone = !isPast || amount.asset === this.#chain.adapter.spending?.feeAsset;
    if (!stored && isAlone) this.#keepAdopted(fields, -amount.units);
  }

  /**
   * Stores that an address of an account chain has so many units less after a block than its entries say, or more
   * (below 0). Returns the entry's reference.
   */
  adopt({ target_id, account_id, asset }: Holding, units: bigint, block: BlockId): string {
    const chain_key = this.#chain.key;
    const ref = `${block.hash}:adopted:${target_id}:${asset}`;
    const stored = this.#tx.get(debitByRef, { ref, chain_key });
    const row = { chain_key, ref, txid: block.hash, account_id, target_id, asset, kind: 'adopted' };
    this.#save(stored, { ...row, units: (stored?.units ?? 0n) + units, ...placed(block) });
    return ref;
  }

  /** Removes a reported debit from its block. Without a block it is `lost` once no mempool has it. */
  unplace(row: DebitRow): void {
    this.#save(row, { ...row, ...placed(null) });
  }

  /** Removes a debit that is neither in a block nor in the mempool any more. */
  lose(row: DebitRow): void {
    this.#remove(row.id);
    this.#give(row, row.units);
    if (!isAdopted(row)) this.#keepAdopted(row, row.units);
  }

  /** Behind the last ones that are left, numbers are given again. */
  #remove(id: number): void {
    const isLast = this.#tx.get(lastDebit, {})?.id === id;
    this.#tx.run(deleteDebit, { id });
    if (isLast) searchAgain(this.#tx, { debit: this.#tx.get(lastDebit, {})?.id ?? 0 }, this.#app.now());
  }

  /** Takes what an address gains by a debit of a block, below 0 what it loses, into the balance that was adopted after that block. */
  #keepAdopted({ target_id, asset, block_height: height, chain_key }: NewDebit, units: bigint): void {
    if (target_id === null || height === null) return;
    const adopted = this.#tx.get(adoptedFrom, { target_id, asset, height });
    if (!adopted) return;
    const { account_id, ref, block_height } = adopted;
    const left = adopted.units + units;
    if (left !== 0n) this.#save(adopted, { ...adopted, units: left });
    else {
      this.#remove(adopted.id);
      this.#give(adopted, adopted.units);
    }
    const of = { chain_key, at: this.#app.now(), kind: 'adopted', account_id, target_id, asset };
    this.#tx.run(insertCorrection, { ...of, units: -units, ref, block_height });
  }

  /** Writes the changed entries and balances. */
  flush(): void {
    for (const txid of this.#touched) this.#derive(txid);
    this.#touched.clear();
    if (this.#moves.size > 0) {
      this.#tx.afterCommit(() => {
        this.#chain.entriesMoved++;
      });
    }
    for (const { units, ...key } of this.#moves.values()) {
      if (units === 0n) continue;
      const total = (this.#tx.get(balanceOf, key)?.units ?? 0n) + units;
      this.#tx.run(setBalance, { ...key, units: total });
    }
    this.#moves.clear();
    for (const { units, ...holding } of this.#held.values()) {
      const total = (this.#tx.get(addressBalance, holding)?.units ?? 0n) + units;
      if (total === 0n) this.#tx.run(dropAddressBalance, holding);
      else this.#tx.run(setAddressBalance, { ...holding, units: total });
    }
    this.#held.clear();
  }

  /** Derives the debits of a transaction again from the coins that it spends. */
  #derive(txid: string): void {
    const range = { from: `${txid}:`, to: `${txid};`, chain_key: this.#chain.key };
    const stored = this.#tx.all(debitsOfTransaction, range).filter(({ target_id }) => target_id === null);
    const taken = this.#takenBy(txid);
    if (stored.length === 0 && taken.length === 0) return;
    const fee = this.#feeOf(txid);
    const change = this.#tx.all(changeOf, range);
    const valued = stored.find(({ at }) => at !== null);
    const left = new Map(stored.map((row) => [row.ref, row]));
    for (const one of taken) {
      const moved = sum(change.filter((row) => row.account_id === one.account_id && row.asset === one.asset));
      const isPayer = fee?.accountId === one.account_id && fee.asset === one.asset;
      // of a transaction by another wallet, coins that nobody knows here may have paid the fee
      const cost = isPayer && (fee.isOwn || fee.units <= one.units - moved) ? fee.units : 0n;
      for (const [kind, units] of [
        ['paid', one.units - moved - cost],
        ['fee', cost],
        ['moved', moved],
      ] satisfies [DebitKind, bigint][]) {
        if (units === 0n) continue;
        const debit = this.#debit(txid, one, kind, units);
        this.#save(left.get(debit.ref), debit, { valued });
        left.delete(debit.ref);
      }
    }
    for (const row of left.values()) this.lose(row);
  }

  #takenBy(txid: string): Taken[] {
    const taken = new Map<string, Taken>();
    for (const coin of this.#tx.all(coinsSpentBy, { txid, chain_key: this.#chain.key })) {
      const { account_id, asset, spent_block_height: height, spent_block_hash: hash } = coin;
      const key = `${account_id} ${asset}`;
      const one = taken.get(key) ?? { account_id, asset, units: 0n, block: null };
      one.units += coin.units;
      if (height !== null && hash !== null) one.block = { height, hash };
      taken.set(key, one);
    }
    return [...taken.values()];
  }

  /** The fee of our transaction, or of a view-only account's other wallet, and its payer; null for any other. */
  #feeOf(txid: string): { accountId: number; asset: string; units: bigint; isOwn: boolean } | null {
    const version = this.#tx.get(versionByTxid, { txid, chain_key: this.#chain.key });
    const spend = version && this.#tx.get(spendById, { id: version.spend_id });
    const asset = this.#chain.adapter.spending?.feeAsset ?? spend?.asset;
    if (asset === undefined) return null;
    if (spend) return { accountId: spend.account_id, asset, units: version.fee, isOwn: true };
    const told = this.#tx.get(outsideFee, { txid, chain_key: this.#chain.key });
    return told ? { accountId: told.account_id, asset, units: told.units, isOwn: false } : null;
  }

  #debit(txid: string, { account_id, asset, block }: Taken, kind: DebitKind, units: bigint): NewDebit {
    const ref = `${txid}:${kind}:${account_id}:${asset}`;
    const row = { chain_key: this.#chain.key, ref, txid, account_id, target_id: null, asset, kind };
    return { ...row, units, ...placed(block) };
  }

  #save(stored: DebitRow | undefined, debit: NewDebit, known: EntryHints = {}): void {
    const row = { ...debit, ...this.#valued(debit, { ...known, valued: stored ?? known.valued }) };
    if (!stored) this.#tx.run(insertDebit, row);
    else if (same(stored, { ...row, id: stored.id })) return;
    else this.#tx.run(updateDebit, { ...row, id: stored.id });
    this.#give(row, (stored?.units ?? 0n) - row.units);
  }

  /** Gives smallest units of a debit back to its account, and to its address if it names one. */
  #give({ account_id, asset, target_id }: NewDebit, units: bigint): void {
    this.move({ account_id, asset }, units);
    if (target_id !== null) this.hold({ account_id, asset, target_id }, units);
  }

  /** The time of the first block that held it, and its value at that time: the stored ones, or the current ones. */
  #valued(debit: NewDebit, { valued, blockTime }: EntryHints): Value {
    const { block_hash, asset } = debit;
    if (valued && valued.at !== null) {
      const { at, usd_rate, book_currency, book_rate, book_rate_at } = valued;
      const isOwn = valued.account_id === debit.account_id;
      const rated = isOwn ? { book_currency, book_rate, book_rate_at } : ratedAt(this.#app, debit, valued.at);
      return { at, usd_rate, ...rated };
    }
    if (block_hash === null) return { at: null, usd_rate: null, ...UNRATED };
    const told = blockTime ?? this.#timeOf(block_hash) ?? this.#timeInStore(block_hash);
    // a block's time may be ahead of our clock
    const at = Math.min(told ?? this.#app.now(), this.#app.now());
    const rate = this.#app.rates.rateAt(this.#chain.adapter.network, asset, 'USD', at);
    return { at, usd_rate: rate?.scaled ?? null, ...ratedAt(this.#app, debit, at) };
  }

  #timeInStore(block_hash: string): number | null {
    return this.#tx.get(creditsInBlock, { block_hash, after: 0, limit: 1 })?.block_time ?? null;
  }
}

/** Whether an entry stands for no transaction. */
export const isAdopted = ({ kind }: Pick<DebitRow, 'kind'>): boolean => kind === 'adopted';

const placed = (block: BlockId | null) => ({ block_height: block?.height ?? null, block_hash: block?.hash ?? null });

const sum = (amounts: readonly { units: bigint }[]): bigint => amounts.reduce((total, { units }) => total + units, 0n);

const same = (a: DebitRow, b: DebitRow): boolean =>
  (Object.keys(a) as (keyof DebitRow)[]).every((name) => a[name] === b[name]);
