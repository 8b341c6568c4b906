/** The part of the page after money arrived or can no longer arrive: confirmations, receipt, and reasons. */
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { ring } from './icons.ts';
import { type Locale, plural, rich } from './locale.ts';
import type { Funds, InvoicePage, State } from './model.ts';

type Paid = Extract<State, { is: 'paid' }>;
type Canceled = Extract<State, { is: 'canceled' }>;

const WITHHELD = {
  chain: 'withheldChain',
  rate: 'withheldRate',
  over: 'withheldOver',
  undone: 'withheldUndone',
} as const;

export function renderWithheld(why: keyof typeof WITHHELD, { words }: Locale): Html {
  return html`<p class="note">${words[WITHHELD[why]]}</p>\n`;
}

export function renderConfirmations(funds: Funds, locale: Locale): Html {
  const { words, tag } = locale;
  const { confirmations: have, required, expectedSeconds } = funds;
  const count = rich(plural(words.confirmations, required, locale), { have, count: required });
  const soon = expectedSeconds !== null && have < required;
  const expected = soon
    ? html`<p>${rich(words.expected, { time: format.duration(expectedSeconds, tag) })}</p>\n`
    : null;
  return html`<div class="wait">
${ring(have, required)}
<p class="count" data-part="confirmations">${count}</p>
${expected}<p class="quiet">${words.closeHint}</p>
</div>
${renderDetails(funds, locale)}`;
}

export function renderCanceled({ backUrl }: InvoicePage, { arrived }: Canceled, { words, tag }: Locale): Html {
  const received = arrived.length > 0 ? format.sumHtml(arrived, tag) : null;
  const mine = received === null ? null : html`<p class="note">${rich(words.canceledReceived, { received })}</p>\n`;
  return html`${mine}<p class="note">${words.canceledHint}</p>\n${backLink(backUrl, words)}`;
}

const backLink = (backUrl: string | null, words: Locale['words']): Part =>
  backUrl === null
    ? null
    : html`<p><a class="main" href="${backUrl}" rel="noreferrer" target="_top">${words.back}</a></p>\n`;

/** The link back to the shop, and the receipt. */
export function renderPaid(model: InvoicePage, state: Paid, locale: Locale): Html {
  const { words } = locale;
  const going = state.redirect
    ? html`<p class="going quiet"><span>${words.redirecting}</span> <button type="button" class="stay plain-button live">${words.stay}</button></p>\n`
    : null;
  return html`${going}${backLink(model.backUrl, words)}${receipt(model, state, locale)}`;
}

/** A row of a list of names and values; empty if the value is. */
export function entry(name: string, value: Part): Html {
  return value === null ? html`` : html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`;
}

/** The shop's name of the sale, the same on the page and on the receipt. */
export function orderEntries({ order, slug }: InvoicePage, { words }: Locale): Html[] {
  const item = order.description === null ? null : html`<bdi class="clip">${order.description}</bdi>`;
  const id = order.id === null ? null : html`<bdi>${order.id}</bdi>`;
  return [entry(words.item, item), entry(words.order, id), entry(words.invoice, code(slug))];
}

/** The shop's site, from the link that leads back to it. */
export function siteOf({ backUrl }: InvoicePage): Part {
  return backUrl === null ? null : html`<bdi dir="ltr" translate="no">${new URL(backUrl).host}</bdi>`;
}

/** The merchant's contact for payers. */
export const contactOf = ({ business }: InvoicePage): Part =>
  business.contact === null ? null : html`<bdi class="clip">${business.contact}</bdi>`;

const code = (text: string): Html => html`<span class="mono" dir="ltr" translate="no">${text}</span>`;

function receipt(model: InvoicePage, { funds, settled }: Paid, locale: Locale): Html {
  const { words, tag } = locale;
  const { currency } = model;
  const rate = funds && settled.rate !== null ? format.rateHtml(settled.rate, funds.asset, currency, tag) : null;
  const transactions =
    funds && funds.transactions.length > 0
      ? html`${funds.transactions.map(({ txid }) => html`<div>${code(txid)}</div>`)}`
      : null;
  return html`<section class="receipt" aria-labelledby="receipt">
<h3 id="receipt">${words.receipt}</h3>
<dl>
${entry(words.payTo, html`<bdi class="clip">${model.business.name}</bdi>`)}${entry(words.website, siteOf(model))}${entry(words.contact, contactOf(model))}${orderEntries(model, locale)}${entry(words.date, format.keptTimeHtml(settled.at, tag))}${entry(words.amount, html`<bdi>${format.price(model.amount, currency, tag)}</bdi>`)}${entry(words.received, funds && format.receivedHtml(funds, tag))}${entry(words.refunded, settled.refunded.length === 0 ? null : format.sumHtml(settled.refunded, tag))}${entry(words.rate, rate)}${entry(words.network, funds && html`<bdi>${format.networkOf(funds.asset)}</bdi>`)}${entry(words.transactions, transactions)}</dl>
<button type="button" class="print second live">${words.print}</button>
${mailForm(model, locale)}</section>
`;
}

/** Asks for an address to which the receipt is sent, and says what becomes of the address. */
function mailForm({ mail, root, slug, query }: InvoicePage, { words }: Locale): Part {
  if (mail === 'asked') return html`<p class="mail quiet" role="status">${words.mailAsked}</p>\n`;
  if (mail !== 'offered') return null;
  return html`<form method="post" action="${root}${slug}/receipt${query}" class="mail">
<label for="email">${words.mailAddress}</label>
<input id="email" name="email" type="email" required maxlength="254" autocomplete="email">
<button type="submit" class="second">${words.mailSend}</button>
<p class="quiet">${words.mailNote}</p>
</form>
`;
}

/** The received amount with the transactions' ids. */
export function renderDetails(funds: Funds, { words, tag }: Locale): Part {
  if (funds.transactions.length === 0) return null;
  const rows = funds.transactions.map(
    ({ txid, asset, units }) =>
      html`<li><span class="mono txid" dir="ltr" translate="no">${txid}</span> ${format.cryptoHtml(units, asset, tag)}</li>\n`,
  );
  return html`<section class="details">
<h3>${words.received}: ${format.receivedHtml(funds, tag)}</h3>
<details><summary>${words.transactions} (${funds.transactions.length})</summary>
<ul>
${rows}</ul>
</details>
</section>
`;
}
