/** The form in which a payer chooses how to pay, or, where the invoice says how, begins. */
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { coin } from './icons.ts';
import { fill, type Locale, rich } from './locale.ts';
import type { InvoicePage, Offer, State } from './model.ts';

type Choose = Extract<State, { is: 'choose' }>;

const WITHHELD = { chain: 'offerChain', rate: 'offerRate', wallet: 'offerWallet' } as const;

export function renderChoice(model: InvoicePage, state: Choose, locale: Locale): Html {
  const { words } = locale;
  const { fixed, offers, notice } = state;
  const open = offers.filter((offer) => offer.withheld === null).length;
  const heading = fixed ? fill(words.payWith, { name: offers[0]?.asset.name ?? '' }) : words.chooseHeading;
  const problem = notice === null ? null : html`<div class="note" role="alert">${words[notice]}</div>\n`;
  const row = (offer: Offer): Html => {
    const body = renderOffer(offer, model.currency, locale);
    if (fixed) return html`<div class="offer">${body}</div>\n`;
    const kind = offer.withheld === null ? 'open' : 'shut';
    return html`<label class="offer ${kind}">${radio(offer, open === 1)}${body}</label>\n`;
  };
  return html`${problem}<form method="post" action="${model.root}${model.slug}${model.query}" class="choose">
<fieldset>
<legend><h2 class="status" tabindex="-1">${heading}</h2></legend>
${offers.map(row)}</fieldset>
${open === 0 ? html`<p class="note">${words.nothingOffered}</p>` : submit(fixed, heading, locale)}
</form>`;
}

/** Disabled while it cannot be had; chosen already where there is nothing else to choose. */
function radio({ asset, withheld }: Offer, only: boolean): Html {
  if (withheld !== null) return html`<input type="radio" name="crypto" value="${asset.symbol}" disabled>`;
  if (only) return html`<input type="radio" name="crypto" value="${asset.symbol}" required checked>`;
  return html`<input type="radio" name="crypto" value="${asset.symbol}" required>`;
}

function renderOffer(offer: Offer, currency: string, { words, tag }: Locale): Html {
  const { asset } = offer;
  const name = format.plainName(asset);
  // a coin on the network of its own name needs no second word
  const network: Part =
    format.networkOf(asset) === name
      ? null
      : html`<span class="on">${rich(words.onNetwork, { network: format.networkOf(asset) })}</span>`;
  if (offer.withheld !== null) {
    const why = words[WITHHELD[offer.withheld]];
    return html`${coin(asset.symbol)}<span class="names"><b>${name}</b> <span class="quiet">${network}</span> <span class="line quiet">${why}</span></span>`;
  }
  const rate = html`<bdi dir="ltr">1 ${format.tickerOf(asset)} = ${format.fiat(offer.rate, currency, tag)}</bdi>`;
  return html`${coin(asset.symbol)}<span class="names"><span class="line"><b>${name}</b> <b>${format.cryptoHtml(offer.units, asset)}</b></span> <span class="line quiet">${network} ${rate}</span></span>`;
}

function submit(fixed: boolean, heading: string, { words }: Locale): Html {
  return html`<p class="quiet">${fixed ? words.fixedHint : words.chooseHint}</p>
<button type="submit" class="main">${fixed ? heading : words.continue}</button>`;
}
