/**
 * A receipt as an e-mail, in the payer's language. Only what the shop and the chain say is in it: the text for the
 * order may come from whoever made the invoice in a browser.
 */
import * as format from './format.ts';
import { cleanText } from './html.ts';
import type { Locale } from './locale.ts';
import type { InvoicePage } from './model.ts';

const line = (text: string): string => cleanText(text).replace(/\s+/g, ' ').trim();

/** Null for a page that is not paid. */
export function receiptMail(model: InvoicePage, { words, tag }: Locale): { subject: string; body: string } | null {
  const { state, business, slug, currency } = model;
  if (state.is !== 'paid' || !state.funds) return null;
  const { funds, settled } = state;
  const shop = line(business.name);
  const price = format.price(model.amount, currency, tag);
  const rows: [string, string | null][] = [
    [words.payTo, shop],
    [words.contact, business.contact && line(business.contact)],
    [words.invoice, slug],
    [words.date, format.instant(settled.at, tag)],
    [words.amount, price],
    [words.received, format.received(funds, tag)],
    [words.network, format.networkOf(funds.asset)],
    ...funds.transactions.map(({ txid }): [string, string] => [words.transactions, txid]),
  ];
  const body = rows.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join('\n');
  return { subject: `${words.receipt}: ${price} – ${shop}`, body: `${words.receipt}\n\n${body}\n\n${words.mailWhy}\n` };
}
