/**
 * The credits that one step of a chain update touches. They are edited in memory and written once, after everything that
 * follows from their facts (confirmed, settled, counted) is computed. The ledger's other entries are then updated.
 *
 * The number of confirmations that a credit needs depends on the value of its whole transaction. A step may read only a
 * part of it, so that value is stored once for each transaction (`paying_tx`). When a change affects credits outside the
 * step, the transaction is marked stale. Until a transaction is read to its end, its credits need the configured maximum.
 */
import { type AssetId, assetOf, FINALIZED, type Network } from '../../domain/assets.ts';
import { isDeep, isMature } from '../../domain/finality.ts';
import { seenBy } from '../../domain/inheritance.ts';
import { type CreditRow, creditByOutpoint, insertCredit, updateCredit } from '../../store/queries/credits.ts';
import { type PayingRow, payingTx, savePayingTx } from '../../store/queries/paying.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Entries } from '../books/entries.ts';
import { ratedCredit } from '../books/rating.ts';
import type { ChainRuntime } from './chains.ts';
import { dollarValue, fiatValue, losesQuote, needsBlocks, requiredConfirmations } from './valuation.ts';

type NewCredit = Pick<
  CreditRow,
  | 'outpoint'
  | 'txid'
  | 'target_id'
  | 'account_id'
  | 'invoice_id'
  | 'asset'
  | 'units'
  | 'block_height'
  | 'block_hash'
  | 'block_time'
  | 'first_seen_at'
  | 'maturity'
  | 'locked'
  | 'replaceable'
  | 'inherited'
  | 'claim'
  | 'own_change'
  | 'via_txid'
>;

export class CreditBook {
  readonly #app: App;
  readonly #chain: ChainRuntime;
  readonly #network: Network;
  readonly #tip: Tip;
  readonly #tx: Tx;
  readonly #entries: Entries;
  /** By id: the row as stored, and as edited. */
  readonly #edited = new Map<number, { stored: CreditRow; row: CreditRow }>();
  /** By id: the transactions that they belong to, as stored and as edited. */
  readonly #paying = new Map<string, { stored: PayingRow; row: PayingRow }>();
  /** The ids of credits whose required confirmations must be computed. */
  readonly #asking = new Set<number>();
  readonly #touched = new Set<number>();

  constructor(app: App, chain: ChainRuntime, tip: Tip, tx: Tx, entries: Entries) {
    this.#app = app;
    this.#chain = chain;
    this.#network = chain.adapter.network;
    this.#tip = tip;
    this.#tx = tx;
    this.#entries = entries;
  }

  /** The credit of an outpoint, editable, or undefined when it is not ours. */
  find(outpoint: string): CreditRow | undefined {
    const stored = this.#tx.get(creditByOutpoint, { outpoint, chain_key: this.#chain.key });
    return stored && this.edit(stored);
  }

  /** The editable copy of a stored credit: the same one each time. `flush` computes its consequences. */
  edit(stored: CreditRow): CreditRow {
    const known = this.#edited.get(stored.id);
    if (known) return known.row;
    const row = { ...stored };
    this.#edited.set(stored.id, { stored, row });
    return row;
  }

  /** Sets whether an unconfirmed credit may be replaced. A change computes its required confirmations again. */
  setReplaceable(row: CreditRow, replaceable: boolean): void {
    if (row.replaceable === replaceable) return;
    row.replaceable = replaceable;
    this.#asking.add(row.id);
  }

  /** A credit seen for the first time: valued, and written with nothing counted yet. */
  add(credit: NewCredit): CreditRow {
    const usd = dollarValue(this.#app, this.#network, credit);
    const fields = {
      ...credit,
      chain_key: this.#chain.key,
      value: fiatValue(this.#app, this.#tx, this.#network, credit),
      usd_value: usd,
      ...ratedCredit(this.#app, this.#tx, credit),
      required: 0,
      confirmed: false,
      settled: false,
      counted: false,
      gone: false,
      gone_at: null,
      spent_txid: null,
      spent_block_hash: null,
      spent_block_height: null,
    };
    const { id } = this.#tx.run(insertCredit, fields);
    this.#entries.touch(credit.txid);
    const paying = this.#payingOf(credit.txid);
    paying.outputs++;
    addWorth(paying, usd);
    if (usd === null) paying.unvalued++;
    this.#asking.add(id);
    if (credit.invoice_id !== null) this.#touched.add(credit.invoice_id);
    return this.edit({ id, ...fields });
  }

  /** Values a credit that had no rate, if a rate exists now. A change also computes its required confirmations again. */
  value(stored: CreditRow): void {
    const row = this.edit(stored);
    row.value ??= fiatValue(this.#app, this.#tx, this.#network, row);
    if (row.usd_value !== null) return;
    const usd = dollarValue(this.#app, this.#network, row);
    if (usd === null) return;
    row.usd_value = usd;
    const paying = this.#payingOf(row.txid);
    addWorth(paying, usd);
    paying.unvalued--;
    this.#asking.add(row.id);
  }

  /** Records whether further credits of a transaction will follow. */
  setUnread(txid: string, unread: boolean): void {
    this.#payingOf(txid).unread = unread;
  }

  /** Computes the required confirmations of a credit again. */
  ask(stored: CreditRow): void {
    this.#asking.add(this.edit(stored).id);
  }

  /** Puts a credit into a block, or back into the mempool with null. */
  place(row: CreditRow, block: { height: number; hash: string; time: number | null } | null): void {
    const late = block !== null && row.block_hash === null;
    row.block_height = block?.height ?? null;
    row.block_hash = block?.hash ?? null;
    row.block_time = block?.time ?? null;
    if (late && losesQuote(row)) row.value = fiatValue(this.#app, this.#tx, this.#network, row);
  }

  /** Records that a credit was first seen at `at` (milliseconds since 1970) at the latest, and values it again. */
  date(row: CreditRow, at: number): void {
    if (row.first_seen_at <= at) return;
    row.first_seen_at = at;
    if (row.inherited !== null) row.inherited = seenBy(row.inherited, at);
    row.value = fiatValue(this.#app, this.#tx, this.#network, row);
  }

  /** Records that a credit is neither in a block nor in the mempool any more. */
  lose(row: CreditRow): void {
    row.gone = true;
    row.gone_at = this.#app.now();
  }

  /** Marks a credit as present, whether it was before or not. */
  keep(row: CreditRow): void {
    row.gone = false;
    row.gone_at = null;
  }

  /** Writes every edited credit, and returns the ids of the invoices that are affected. */
  flush(): Set<number> {
    for (const { stored, row } of this.#paying.values()) this.#flushPaying(stored, row);
    for (const id of this.#asking) this.#require(this.#edited.get(id)!.row);
    for (const { stored, row } of this.#edited.values()) this.#write(stored, row);
    this.#edited.clear();
    this.#paying.clear();
    this.#asking.clear();
    return this.#touched;
  }

  #payingOf(txid: string): PayingRow {
    const known = this.#paying.get(txid);
    if (known) return known.row;
    const key = { txid, chain_key: this.#chain.key };
    const fresh = { ...key, usd_value: 0n, outputs: 0, unvalued: 0, unread: false, stale: false };
    const stored: PayingRow = this.#tx.get(payingTx, key) ?? fresh;
    const row = { ...stored };
    this.#paying.set(txid, { stored, row });
    return row;
  }

  /** Stores the changes of a transaction, and marks it stale when they change the confirmations that its other credits need. */
  #flushPaying(stored: PayingRow, row: PayingRow): void {
    const here = [...this.#edited.values()].filter((edited) => edited.row.txid === row.txid);
    const asset = here[0]?.row.asset;
    if (
      asset !== undefined &&
      [true, false].some((may) => this.#needs(stored, asset, may) !== this.#needs(row, asset, may))
    ) {
      for (const edited of here) this.#asking.add(edited.row.id);
      if (row.outputs > here.length) row.stale = true;
    }
    const names = Object.keys(row) as (keyof PayingRow)[];
    if (names.some((name) => row[name] !== stored[name])) this.#tx.run(savePayingTx, row);
  }

  /** The required confirmations depend on the value of all that the transaction pays to us, and without any on the invoice's. */
  #require(row: CreditRow): void {
    const replaceable = row.replaceable || needsBlocks(this.#app, this.#tx, this.#network, row);
    row.required = this.#needs(this.#payingOf(row.txid), row.asset, replaceable);
  }

  #needs(paying: PayingRow, asset: AssetId, replaceable: boolean): number {
    const dollars = paying.unread || paying.unvalued > 0 ? null : paying.usd_value;
    return requiredConfirmations(this.#app, this.#network, assetOf(asset), dollars, replaceable);
  }

  #write(stored: CreditRow, row: CreditRow): void {
    const depth = row.block_height === null ? 0 : Math.max(0, this.#tip.height - row.block_height + 1);
    const here = !row.gone;
    const { finalized } = this.#tip;
    const enough = isDeep({ ...row, depth, height: row.block_height, finalized }) || isStillFinal(stored, row);
    row.confirmed = here && enough && isMature(row, depth);
    // until then it is looked at again with each block
    row.settled = row.confirmed && depth >= Math.max(1, row.maturity);
    // our own change counts before it confirms
    const deep = depth >= Math.max(row.own_change ? 0 : 1, row.maturity);
    row.counted = here && !row.locked && deep && row.spent_txid === null;
    const names = Object.keys(row) as (keyof CreditRow)[];
    if (names.every((name) => row[name] === stored[name])) return;
    this.#tx.run(updateCredit, row);
    if (row.invoice_id !== null) this.#touched.add(row.invoice_id);
    this.#entries.move(row, inTotal(row) - inTotal(stored));
    this.#entries.hold(row, onAddress(row) - onAddress(stored));
    if (row.gone !== stored.gone) this.#entries.touch(row.txid);
    if (SPENDER.some((name) => row[name] !== stored[name])) {
      this.#entries.touch(stored.spent_txid);
      this.#entries.touch(row.spent_txid);
    }
  }
}

/** The chain's tip, and the height of its newest final block; null if the source does not report it. */
type Tip = { height: number; finalized: number | null };

/** Whether a block was final before. The present source may not report finality. */
const isStillFinal = (stored: CreditRow, row: CreditRow): boolean =>
  stored.confirmed &&
  stored.required === FINALIZED &&
  row.required === FINALIZED &&
  row.block_hash !== null &&
  stored.block_hash === row.block_hash;

/** The columns of a coin from which the debits of its spending transaction are derived. */
const SPENDER = ['gone', 'spent_txid', 'spent_block_hash'] as const;

/** Smallest units of a credit in its account's total: a spent credit is included, because its debit is too. */
export const inTotal = ({ gone, counted, spent_txid, units }: CreditRow): bigint =>
  !gone && (counted || spent_txid !== null) ? units : 0n;

/** Smallest units of a credit at its address: those of a spent coin have left it. */
const onAddress = ({ counted, units }: CreditRow): bigint => (counted ? units : 0n);

function addWorth(paying: PayingRow, usd: bigint | null): void {
  if (usd !== null) paying.usd_value += usd;
}
