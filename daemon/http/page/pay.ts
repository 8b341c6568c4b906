/** The part of the page that says how to pay, or why not, and what has arrived. */
import { fiatFor, formatUnits } from '../../domain/money.ts';
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import type { Funds, InvoicePage, State } from './model.ts';
import { qrSvg } from './qr.ts';
import type { Texts } from './texts.ts';
import { paymentUri } from './uri.ts';

type Open = Extract<State, { is: 'waiting' | 'partial' }>;

/** What to do in this state. */
export function renderPay(model: InvoicePage, texts: Texts): Part {
  const { state } = model;
  switch (state.is) {
    case 'choose':
      return null;
    case 'waiting':
    case 'partial':
      return renderAddress(model, state, texts);
    case 'detected':
      return renderConfirmations(state.funds, texts);
    case 'withheld':
      return html`<p class="note">${texts.withheld[state.why]}</p>\n`;
    case 'paid':
      return renderPaid(model, state.redirect, texts);
    case 'canceled':
      return renderCanceled(state.funds, texts);
  }
}

function renderConfirmations({ confirmations, required }: Funds, texts: Texts): Html {
  const text = texts.confirmations(confirmations, required);
  const max = Math.max(required, 1);
  return html`<p class="count" id="count">${text}</p>
<progress aria-labelledby="count" max="${max}" value="${Math.min(confirmations, max)}"></progress>
<p class="quiet">${texts.confirmationsHint}</p>\n`;
}

function renderPaid({ backUrl }: InvoicePage, redirect: boolean, texts: Texts): Html {
  const link =
    backUrl === null ? null : html`<p><a class="main" href="${backUrl}" rel="noreferrer">${texts.back}</a></p>\n`;
  return html`${redirect ? html`<p class="quiet">${texts.redirecting}</p>\n` : null}${link}`;
}

function renderCanceled(funds: Funds | null, texts: Texts): Html {
  if (!funds) return html``;
  const some = funds.received > 0n;
  const arrived = some ? html`<p>${texts.canceledReceived(format.crypto(funds.received, funds.asset))}</p>\n` : null;
  return html`<p class="note">${texts.canceledHint}</p>\n${arrived}`;
}

function renderAddress(model: InvoicePage, state: Open, texts: Texts): Html {
  const { funds, address, remaining } = state;
  const { asset } = funds;
  const amount = format.crypto(remaining, asset);
  const uri = paymentUri(asset, address, remaining);
  const partial = state.is === 'partial';
  const hint = html`<p>${texts.partialHint(format.crypto(funds.received, asset), amount)}</p>\n`;
  const link = uri === null ? null : html`<p><a class="main" href="${uri}">${texts.openWallet}</a></p>\n`;
  const addressOnly = uri === null ? html`<p class="quiet">${texts.qrAddressOnly}</p>\n` : null;
  return html`${partial ? hint : null}<section class="send">
<h3>${partial ? texts.sendMore : texts.sendExactly}</h3>
<p class="amount"><span class="mono pick">${formatUnits(remaining, asset)}</span> <span class="ticker">${format.tickerOf(asset)}</span></p>
<p class="quiet">${texts.equals(worth(model, state, texts))}</p>
<figure>${qrSvg(uri ?? address, texts.qrLabel(amount, asset.name))}<figcaption class="quiet">${texts.scan}</figcaption></figure>
${addressOnly}${link}<h3>${texts.toAddress}</h3>
<p class="address mono pick" translate="no">${groups(address)}</p>
<p class="warning"><strong>${texts.network}: ${asset.networkName}.</strong> ${texts.onlyNetwork(format.plainName(asset), format.tickerOf(asset), asset.networkName)}</p>
<p class="quiet">${texts.feesHint}</p>
<p class="quote">${texts.priceHolds} <time datetime="${format.isoOf(state.quoteEndsAt)}">${format.instant(state.quoteEndsAt, texts.locale)}</time> (${format.fromNow(state.quoteEndsAt, model.now, texts.locale)}). <span class="quiet">${texts.newPriceHint}</span></p>
</section>
`;
}

/** What is to be sent in fiat: the invoice's own amount while nothing has arrived, else the rest, rounded down. */
function worth({ amount, currency }: InvoicePage, state: Open, texts: Texts): string {
  const rest = fiatFor(state.remaining, state.funds.asset, state.rate);
  return format.fiat(state.is === 'waiting' || rest > amount ? amount : rest, currency, texts.locale);
}

/** The address in groups for the eye: the gaps are drawn, so that copying gives the address as it is. */
function groups(address: string): Html[] {
  return format.inGroups(address).map((group) => html`<span>${group}</span><wbr>`);
}

/** What has arrived, with the transactions' names. */
export function renderDetails(funds: Funds | null, texts: Texts): Part {
  if (!funds || funds.transactions.length === 0) return null;
  const { asset } = funds;
  const rows = funds.transactions.map(
    ({ txid, units }) =>
      html`<li><span class="mono txid">${txid}</span> <span>${format.crypto(units, asset)}</span></li>\n`,
  );
  return html`<section class="details">
<h3>${texts.received}: ${format.crypto(funds.received, asset)}</h3>
<details><summary>${texts.transactions} (${funds.transactions.length})</summary>
<ul>
${rows}</ul>
</details>
</section>
`;
}
