/**
 * Ledger entries. A credit is what came to an account (`credit`), a debit what left it (`debit`), and the balance is the
 * running total of its credits less its debits. The export and the proof of the ledger read the same rows.
 *
 * Debits of a coin chain follow from the coins: a transaction took what its inputs of ours were worth; of that, what it
 * pays to our change addresses was only moved, the fee is known where we made it, and the rest was paid. So its debits are
 * worked out anew from the rows whenever one of these coins changed, and what a reorganisation undoes is gone with it. A
 * chain of accounts reports its debits.
 *
 * Invariants. The debits of a transaction add up to the coins of ours that it spends. A credit is in the total while it can
 * be spent, and from when it is spent on: then it is in the debits, too. An entry is valued once, when a block first holds it.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { BlockId, Debit, DebitKind } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { balanceOf, creditsInBlock, setBalance, targetById } from '../../store/queries/credits.ts';
import {
  changeOf,
  coinsSpentBy,
  type DebitRow,
  debitByRef,
  debitsOfTransaction,
  deleteDebit,
  insertDebit,
  updateDebit,
} from '../../store/queries/debits.ts';
import { spendById, versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';

type NewDebit = Omit<DebitRow, 'id' | 'at' | 'usd_rate'>;

/** What one transaction takes from one account, smallest units of one asset. */
type Taken = { account_id: number; asset: AssetId; units: bigint; block: BlockId | null };

/** `valued`: a debit of the same transaction and asset that may be valued already. */
type Known = { valued?: DebitRow | undefined; blockTime?: number | undefined };

/** The entries that one step touches; they and the balances are written by `flush`. */
export class Entries {
  readonly #app: App;
  readonly #chain: ChainRuntime;
  readonly #tx: Tx;
  readonly #timeOf: (blockHash: string) => number | undefined;
  readonly #moves = new Map<string, { account_id: number; asset: AssetId; units: bigint }>();
  /** Transactions whose coins changed. */
  readonly #touched = new Set<string>();

  /** `timeOf`: the times of the blocks that are told now, milliseconds since 1970. */
  constructor(app: App, chain: ChainRuntime, tx: Tx, timeOf: (blockHash: string) => number | undefined) {
    this.#app = app;
    this.#chain = chain;
    this.#tx = tx;
    this.#timeOf = timeOf;
  }

  /** Smallest units that a credit adds to its account's total, or takes off again. */
  move({ account_id, asset }: { account_id: number; asset: AssetId }, units: bigint): void {
    const key = `${account_id} ${asset}`;
    const move = this.#moves.get(key) ?? { account_id, asset, units: 0n };
    move.units += units;
    this.#moves.set(key, move);
  }

  /** Says that a coin which a transaction makes or spends has changed. */
  touch(txid: string | null): void {
    if (txid !== null) this.#touched.add(txid);
  }

  /** Takes in what a chain of accounts reports. */
  see({ id, txid, targetId, kind, amount, block, blockTime }: Debit): void {
    const chain_key = this.#chain.key;
    const target = this.#tx.get(targetById, { id: targetId });
    assert(target?.chain_key === chain_key, `target ${targetId} is on ${chain_key}`);
    assert(amount.units > 0n && id.startsWith(`${txid}:`), `${id} is a debit`);
    const { account_id } = target;
    const row = { chain_key, ref: id, txid, account_id, target_id: targetId, asset: amount.asset, kind };
    const fields = { ...row, units: amount.units, ...placed(block) };
    this.#save(this.#tx.get(debitByRef, { ref: id, chain_key }), fields, { blockTime });
  }

  /** Takes a reported debit out of its block; without one it is `lost` once no mempool has it. */
  unplace(row: DebitRow): void {
    this.#save(row, { ...row, ...placed(null) });
  }

  /** Says that a debit is neither in a block nor in the mempool any more. */
  lose(row: DebitRow): void {
    this.#tx.run(deleteDebit, { id: row.id });
    this.move(row, row.units);
  }

  /** Writes everything. */
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
  }

  /** Brings the debits of a transaction in line with the coins that it spends. */
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
      const cost = fee?.accountId === one.account_id && fee.asset === one.asset ? fee.units : 0n;
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

  /** What a transaction that we made costs, and which account; null for one of somebody else. */
  #feeOf(txid: string): { accountId: number; asset: string; units: bigint } | null {
    const version = this.#tx.get(versionByTxid, { txid, chain_key: this.#chain.key });
    const spend = version && this.#tx.get(spendById, { id: version.spend_id });
    const asset = this.#chain.adapter.spending?.feeAsset ?? spend?.asset;
    return spend && asset !== undefined ? { accountId: spend.account_id, asset, units: version.fee } : null;
  }

  #debit(txid: string, { account_id, asset, block }: Taken, kind: DebitKind, units: bigint): NewDebit {
    const ref = `${txid}:${kind}:${account_id}:${asset}`;
    const row = { chain_key: this.#chain.key, ref, txid, account_id, target_id: null, asset, kind };
    return { ...row, units, ...placed(block) };
  }

  #save(stored: DebitRow | undefined, debit: NewDebit, known: Known = {}): void {
    const row = { ...debit, ...this.#valued(debit, { ...known, valued: stored ?? known.valued }) };
    if (!stored) this.#tx.run(insertDebit, row);
    else if (same(stored, { ...row, id: stored.id })) return;
    else this.#tx.run(updateDebit, { ...row, id: stored.id });
    this.move(row, (stored?.units ?? 0n) - row.units);
  }

  /** When a block first held it, and what it was worth then: as it was known already, or now. */
  #valued({ block_hash, asset }: NewDebit, { valued, blockTime }: Known): Pick<DebitRow, 'at' | 'usd_rate'> {
    if (valued && valued.at !== null) return { at: valued.at, usd_rate: valued.usd_rate };
    if (block_hash === null) return { at: null, usd_rate: null };
    const told = blockTime ?? this.#timeOf(block_hash) ?? this.#timeInStore(block_hash);
    // the clock of a miner may be ahead of ours
    const at = Math.min(told ?? this.#app.now(), this.#app.now());
    const rate = this.#app.rates.rateAt(this.#chain.adapter.network, asset as AssetId, 'USD', at);
    return { at, usd_rate: rate?.scaled ?? null };
  }

  #timeInStore(block_hash: string): number | null {
    return this.#tx.get(creditsInBlock, { block_hash, after: 0, limit: 1 })?.block_time ?? null;
  }
}

const placed = (block: BlockId | null) => ({ block_height: block?.height ?? null, block_hash: block?.hash ?? null });

const sum = (amounts: readonly { units: bigint }[]): bigint => amounts.reduce((total, { units }) => total + units, 0n);

const same = (a: DebitRow, b: DebitRow): boolean =>
  (Object.keys(a) as (keyof DebitRow)[]).every((name) => a[name] === b[name]);
