/** The sandbox's controls for a business: actions of a payer, a miner, or the network. */
import { type Asset, assetOf, type ChainId, findAsset } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { exactDecimal, formatUnits } from '../../domain/money.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { paymentOf, setInvoiceDue, updateQuote } from '../../store/queries/invoices.ts';
import { type App, graceMs } from '../app.ts';
import { cryptoRejected } from '../shops/cryptos.ts';
import type { Business } from '../shops/directory.ts';
import { findInvoiceOf } from './invoices.ts';
import { readInvoice, view } from './views.ts';

export class SandboxControls {
  readonly #app: App;
  readonly #sandbox: Sandbox;

  constructor(app: App, sandbox: Sandbox) {
    this.#app = app;
    this.#sandbox = sandbox;
  }

  /** Pays an invoice's address: `amount` in crypto, by default what remains. Throws `Rejected`. */
  async pay(business: Business, invoiceName: string, amount?: string): Promise<{ txid: string; amount: string }> {
    const { address, asset, units } = this.#toPay(business, invoiceName, amount);
    const { txid } = await this.#sandbox.pay(asset.chain, { address, asset: asset.symbol, units });
    return { txid, amount: formatUnits(units, asset) };
  }

  /** Pays the rest late: moves the due date, the deadline and the quote's end to now. Throws `Rejected`. */
  async payLate(business: Business, invoiceName: string): Promise<{ txid: string; amount: string }> {
    const app = this.#app;
    const now = app.now();
    this.#toPay(business, invoiceName);
    await app.store.write((tx) => {
      const invoice = findInvoiceOf(tx, business, invoiceName);
      const row = tx.get(paymentOf, { invoice_id: invoice.id });
      if (invoice.status !== 'unpaid' || !row) return;
      const past = now - 1;
      const dueAt = Math.min(invoice.due_at, past);
      tx.run(setInvoiceDue, { id: invoice.id, due_at: dueAt, check_at: dueAt + graceMs(app), updated_at: now });
      tx.run(updateQuote, {
        ...row,
        quote_ends_at: Math.min(row.quote_ends_at, past),
        deadline_at: Math.min(row.deadline_at, past),
        check_at: Math.min(row.check_at ?? past, past),
        updated_at: now,
      });
      tx.afterCommit(() => app.invoiceSubscribers.changed(invoice.id));
    });
    // the read makes a new quote, which is then paid
    await readInvoice(app, business, invoiceName);
    return this.pay(business, invoiceName);
  }

  mine(business: Business, symbol: string, blocks: number): Promise<{ height: number }> {
    return this.#sandbox.mine(this.#chainOf(business, symbol), blocks);
  }

  reorg(business: Business, symbol: string, depth: number, drop: boolean): Promise<{ height: number }> {
    return this.#sandbox.reorg(this.#chainOf(business, symbol), depth, drop);
  }

  outage(business: Business, symbol: string, down: boolean): Promise<void> {
    return this.#sandbox.outage(this.#chainOf(business, symbol), down);
  }

  /** Replaces an unconfirmed payment on any chain by a payment to another recipient. */
  async doubleSpend(business: Business, txid: string): Promise<{ txid: string }> {
    const chains = new Set(business.enabled.map((asset) => asset.chain));
    let refusal: Rejected | null = null;
    for (const chain of chains) {
      try {
        return await this.#sandbox.doubleSpend(chain, txid);
      } catch (error) {
        if (!(error instanceof Rejected)) throw error;
        if (refusal === null || error.code !== 'sandbox.unknown_tx') refusal = error;
      }
    }
    throw refusal ?? new Rejected('sandbox.unknown_tx', 'There is no such transaction', 'tx_id');
  }

  #chainOf(business: Business, symbol: string): ChainId {
    const asset = findAsset(symbol);
    if (asset && this.#app.directory.takes(business, asset.symbol)) return asset.chain;
    throw cryptoRejected(business.enabled.map((enabled) => enabled.symbol));
  }

  #toPay(business: Business, name: string, amount?: string): { address: string; asset: Asset; units: bigint } {
    const { store } = this.#app;
    const invoice = findInvoiceOf(store, business, name);
    const row = store.get(paymentOf, { invoice_id: invoice.id });
    if (!row) throw new Rejected('sandbox.no_payment', 'No payment was requested for this invoice yet');
    const asset = assetOf(row.asset);
    const { payment } = view(this.#app, business, invoice, row);
    const units = amount === undefined ? payment!.remaining : exactDecimal(amount, asset.decimals);
    if (units === null) {
      const text = `The amount must be a decimal with at most ${asset.decimals} digits after the point.`;
      throw new Rejected('validation', text, 'amount');
    }
    if (units === 0n) {
      const text =
        amount === undefined ? 'There is nothing left to pay: give an amount.' : 'The amount must be above 0.';
      throw new Rejected('validation', text, 'amount');
    }
    return { address: row.address, asset, units };
  }
}
