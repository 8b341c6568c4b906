/** The form in which a payer chooses how to pay, or, where the invoice says how, begins. */
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import type { InvoicePage, Offer, State } from './model.ts';
import type { Texts } from './texts.ts';

type Choose = Extract<State, { is: 'choose' }>;

export function renderChoice(model: InvoicePage, state: Choose, texts: Texts): Html {
  const { fixed, offers, notice } = state;
  const open = offers.filter((offer) => offer.withheld === null).length;
  const heading = fixed ? texts.payWith(offers[0]?.asset.name ?? '') : texts.chooseHeading;
  const problem = notice === null ? null : html`<div class="note" role="alert">${texts[notice]}</div>\n`;
  const row = (offer: Offer): Html => {
    const body = renderOffer(offer, model.currency, texts);
    if (fixed) return html`<div class="offer">${body}</div>\n`;
    const kind = offer.withheld === null ? 'open' : 'shut';
    return html`<label class="offer ${kind}">${radio(offer, open === 1)}${body}</label>\n`;
  };
  return html`${problem}<form method="post" action="${model.root}${model.slug}">
<fieldset>
<legend><h2>${heading}</h2></legend>
${offers.map(row)}</fieldset>
${open === 0 ? html`<p class="note">${texts.nothingOffered}</p>` : submit(fixed, heading, texts)}
</form>`;
}

/** Disabled while it cannot be had; chosen already where there is nothing else to choose. */
function radio({ asset, withheld }: Offer, only: boolean): Html {
  if (withheld !== null) return html`<input type="radio" name="crypto" value="${asset.symbol}" disabled>`;
  if (only) return html`<input type="radio" name="crypto" value="${asset.symbol}" required checked>`;
  return html`<input type="radio" name="crypto" value="${asset.symbol}" required>`;
}

function renderOffer(offer: Offer, currency: string, texts: Texts): Html {
  const { asset } = offer;
  const network = html`<span class="quiet">${texts.onNetwork(asset.networkName)}</span>`;
  let amount: Part = null;
  let detail: string;
  if (offer.withheld === null) {
    amount = html`<span>${texts.about(format.crypto(offer.units, asset))}</span>`;
    detail = texts.rate(format.tickerOf(asset), format.fiat(offer.rate, currency, texts.locale));
  } else {
    detail = texts.withheldOffer[offer.withheld];
  }
  return html`<span class="line"><b>${asset.name}</b>${amount}</span><span class="line">${network}<span class="quiet">${detail}</span></span>`;
}

function submit(fixed: boolean, heading: string, texts: Texts): Html {
  return html`<p class="quiet">${fixed ? texts.fixedHint : texts.chooseHint}</p>
<button type="submit" class="main">${fixed ? heading : texts.continue}</button>`;
}
