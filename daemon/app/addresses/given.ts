/** The addresses that payers were given, for a computer at home that has the keys and checks them. */
import type { ChainId, Network } from '../../domain/assets.ts';
import { chainOf, networkOf } from '../../domain/chain.ts';
import { targetById } from '../../store/queries/credits.ts';
import { givenFrom, lastGiven } from '../../store/queries/given.ts';
import { formerTargets, invoiceById, paymentOf } from '../../store/queries/invoices.ts';
import { unpaidBelow } from '../../store/queries/operator.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { targetsOf } from '../invoices/payment-targets.ts';

/** `texts`: the address as it was derived, and as the payer saw it where that is another text. */
export type GivenAddress = {
  network: Network;
  chain: ChainId;
  accountNo: number;
  index: number;
  texts: string[];
  /** The slug of its invoice; null: the invoice is gone. */
  invoice: string | null;
};

/** Those with a number from `from` on, at most `limit`, and the newest number; 0: none was given out yet. */
export function givenAddresses(
  app: App,
  from: number,
  limit: number,
): { given: (GivenAddress & { no: number })[]; last: number } {
  const { store, directory } = app;
  const given = store.all(givenFrom, { from, limit }).map((row) => ({
    no: row.no,
    network: networkOf(row.chain_key),
    chain: chainOf(row.chain_key),
    accountNo: directory.business(row.business_id).accountNo,
    index: row.idx,
    texts: [...new Set([row.address, ...shownOf(store, row.id, row.invoice_id ?? 0)])],
    invoice: store.get(invoiceById, { id: row.invoice_id ?? 0 })?.slug ?? null,
  }));
  return { given, last: store.get(lastGiven, {})?.no ?? 0 };
}

/** The address as rows of the invoice have it. */
function shownOf(store: Reader, target_id: number, invoice_id: number): string[] {
  const payment = store.get(paymentOf, { invoice_id });
  const rows = payment ? [payment, ...store.all(formerTargets, { invoice_id })] : [];
  return rows.flatMap((row) => (row.target_id === target_id ? [row.address] : []));
}

/**
 * The addresses that unpaid invoices show now, without the sandbox's: the newest invoices below `before`, at most
 * `limit`. `next`: the `before` of the next page, or null.
 */
export function openAddresses(
  app: App,
  before: number,
  limit: number,
): { open: (GivenAddress & { invoice: string })[]; next: number | null } {
  const { store, directory } = app;
  const newest = store.all(unpaidBelow, { below: before, limit });
  const open = newest.flatMap((invoice) => {
    const business = directory.business(invoice.business_id);
    const payment = store.get(paymentOf, { invoice_id: invoice.id });
    if (!payment) return [];
    // the page shows the first alone
    return targetsOf(store, payment).flatMap(({ target_id, chain_key }) => {
      const target = store.get(targetById, { id: target_id });
      if (!target) return [];
      return {
        network: networkOf(chain_key),
        chain: chainOf(chain_key),
        accountNo: business.accountNo,
        index: target.idx,
        texts: [...new Set([target.address, ...shownOf(store, target_id, invoice.id)])],
        invoice: invoice.slug,
      };
    });
  });
  return { open, next: newest.length < limit ? null : (newest.at(-1)?.id ?? null) };
}
