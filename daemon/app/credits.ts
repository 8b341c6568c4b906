/**
 * The credits that one chain update touches. They are edited in memory and written once, when everything that follows
 * from their facts (confirmed, settled, counted) is worked out and the running balances move by the difference.
 */
import { type AssetId, assetOf, type Network } from '../domain/assets.ts';
import { assert } from '../domain/errors.ts';
import {
  balanceOf,
  type CreditRow,
  creditByOutpoint,
  creditsOfTransaction,
  insertCredit,
  setBalance,
  updateCredit,
} from '../store/queries/credits.ts';
import type { Tx } from '../store/store.ts';
import type { App } from './app.ts';
import type { ChainRuntime } from './chains.ts';
import { dollarValue, fiatValue, losesQuote, requiredConfirmations } from './valuation.ts';

export type NewCredit = Pick<
  CreditRow,
  | 'outpoint'
  | 'txid'
  | 'target_id'
  | 'account_id'
  | 'invoice_id'
  | 'asset'
  | 'units'
  | 'inputs'
  | 'block_height'
  | 'block_hash'
  | 'block_time'
  | 'first_seen_at'
  | 'maturity'
  | 'locked'
  | 'replaceable'
  | 'claim'
  | 'own_change'
>;

export class CreditBook {
  readonly #app: App;
  readonly #chain: ChainRuntime;
  readonly #network: Network;
  readonly #tipHeight: number;
  readonly #tx: Tx;
  /** By id: the row as stored, and as edited. */
  readonly #edited = new Map<number, { stored: CreditRow; row: CreditRow }>();
  readonly #newTransactions = new Set<string>();
  readonly #touched = new Set<number>();

  constructor(app: App, chain: ChainRuntime, tipHeight: number, tx: Tx) {
    this.#app = app;
    this.#chain = chain;
    this.#network = chain.adapter.network;
    this.#tipHeight = tipHeight;
    this.#tx = tx;
  }

  /** The credit of an outpoint, editable, or undefined when it is not ours. */
  find(outpoint: string): CreditRow | undefined {
    const stored = this.#tx.get(creditByOutpoint, { outpoint, chain_key: this.#chain.key });
    return stored && this.edit(stored);
  }

  /** The editable copy of a stored credit: the same one each time. Its consequences are worked out by `flush`. */
  edit(stored: CreditRow): CreditRow {
    const known = this.#edited.get(stored.id);
    if (known) return known.row;
    const row = { ...stored };
    this.#edited.set(stored.id, { stored, row });
    return row;
  }

  /** The editable copies of all that were touched so far. */
  edited(): CreditRow[] {
    return [...this.#edited.values()].map(({ row }) => row);
  }

  /** Says whether an unconfirmed credit may be replaced; a change asks anew for its confirmations. */
  setReplaceable(row: CreditRow, replaceable: 0 | 1): void {
    if (row.replaceable === replaceable) return;
    row.replaceable = replaceable;
    this.#newTransactions.add(row.txid);
  }

  /** A credit seen for the first time: valued, and written with nothing counted yet. */
  add(credit: NewCredit): CreditRow {
    const usd = dollarValue(this.#app, this.#network, credit);
    const fields = {
      ...credit,
      chain_key: this.#chain.key,
      value: textOf(fiatValue(this.#app, this.#tx, this.#network, credit)),
      usd_value: textOf(usd),
      required: 0,
      confirmed: 0,
      settled: 0,
      counted: 0,
      gone: 0,
      spent_txid: null,
      spent_block_hash: null,
      spent_block_height: null,
    };
    const { id } = this.#tx.run(insertCredit, fields);
    this.#newTransactions.add(credit.txid);
    if (credit.invoice_id !== null) this.#touched.add(credit.invoice_id);
    return this.edit({ id, ...fields });
  }

  /** Values a credit for which there was no rate, if there is one by now; a change also asks for its confirmations. */
  value(stored: CreditRow): void {
    const row = this.edit(stored);
    row.value ??= textOf(fiatValue(this.#app, this.#tx, this.#network, row));
    row.usd_value ??= textOf(dollarValue(this.#app, this.#network, row));
    if (row.usd_value !== stored.usd_value) this.#newTransactions.add(row.txid);
  }

  /** Puts a credit into a block, or back into the mempool with null. */
  place(row: CreditRow, block: { height: number; hash: string; time: number | null } | null): void {
    const late = block !== null && row.block_hash === null;
    row.block_height = block?.height ?? null;
    row.block_hash = block?.hash ?? null;
    row.block_time = block?.time ?? null;
    if (late && losesQuote(row)) row.value = textOf(fiatValue(this.#app, this.#tx, this.#network, row));
  }

  /** Writes every edited credit, moves the balances, and returns the ids of the invoices that are affected. */
  flush(): Set<number> {
    for (const txid of this.#newTransactions) this.#require(txid);
    for (const { stored, row } of this.#edited.values()) this.#write(stored, row);
    this.#edited.clear();
    return this.#touched;
  }

  /** The confirmations needed follow the whole value of the transaction to us. */
  #require(txid: string): void {
    const range = { from: `${txid}:`, to: `${txid};`, chain_key: this.#chain.key };
    const rows = this.#tx.all(creditsOfTransaction, range).map((stored) => this.edit(stored));
    let dollars: bigint | null = 0n;
    for (const row of rows)
      dollars = dollars === null || row.usd_value === null ? null : dollars + BigInt(row.usd_value);
    for (const row of rows) {
      const asset = assetOf(row.asset as AssetId);
      row.required = requiredConfirmations(this.#app, this.#network, asset, dollars, row.replaceable === 1);
    }
  }

  #write(stored: CreditRow, row: CreditRow): void {
    const depth = row.block_height === null ? 0 : Math.max(0, this.#tipHeight - row.block_height + 1);
    const here = row.gone === 0;
    row.confirmed = here && depth >= Math.max(row.required, row.maturity) ? 1 : 0;
    row.settled = row.confirmed === 1 && depth >= 1 ? 1 : 0;
    // our own change is ours before it confirms
    const deep = depth >= Math.max(row.own_change === 1 ? 0 : 1, row.maturity);
    const spendable = here && row.locked === 0 && deep && row.spent_txid === null;
    row.counted = spendable ? 1 : 0;
    const names = Object.keys(row) as (keyof CreditRow)[];
    if (names.every((name) => row[name] === stored[name])) return;
    this.#tx.run(updateCredit, row);
    if (row.counted !== stored.counted) this.#move(row, row.counted === 1 ? BigInt(row.units) : -BigInt(row.units));
    if (row.invoice_id !== null) this.#touched.add(row.invoice_id);
  }

  #move(row: CreditRow, units: bigint): void {
    const key = { account_id: row.account_id, asset: row.asset };
    const total = BigInt(this.#tx.get(balanceOf, key)?.units ?? '0') + units;
    assert(total >= 0n, `the balance of account ${row.account_id} in ${row.asset} is not negative`);
    this.#tx.run(setBalance, { ...key, units: total.toString() });
  }
}

const textOf = (value: bigint | null): string | null => value?.toString() ?? null;
