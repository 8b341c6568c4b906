/** The form for choosing a coin with one tap or, if the invoice fixes the coin, for starting the payment. */
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { coin } from './icons.ts';
import { fill, type Locale } from './locale.ts';
import type { InvoicePage, Offer, State } from './model.ts';

type Choose = Extract<State, { is: 'choose' }>;
type OpenOffer = Extract<Offer, { withheld: null }>;

const WITHHELD = { chain: 'offerChain', rate: 'offerRate', wallet: 'offerWallet', small: 'offerSmall' } as const;

const isOpen = (offer: Offer): offer is OpenOffer => offer.withheld === null;

export function renderChoice(model: InvoicePage, state: Choose, locale: Locale): Html {
  const { words } = locale;
  const { fixed, offers } = state;
  const { notice } = model;
  const open = offers.filter(isOpen);
  const heading = fixed ? fill(words.payWith, { name: nameOf(offers) }) : words.chooseHeading;
  const problem = notice === null ? null : html`<div class="note" role="alert">${words[notice]}</div>\n`;
  const rows = open.length === 0 ? [] : fixed ? [fixedRow(open[0]!, model, locale)] : openRows(open, model, locale);
  const shut = offers.filter((offer) => !isOpen(offer)).map((offer) => shutRow(offer, locale));
  return html`${problem}<form method="post" action="${model.root}${model.slug}${model.query}" class="choose">
<h2 class="status" tabindex="-1">${heading}</h2>
<ul class="offers">
${[...rows, ...shut]}</ul>
${open.length === 0 ? html`<p class="note">${words.nothingOffered}</p>` : begin(open, fixed, heading, locale)}
${open.some(({ seconds }) => seconds !== null) ? html`<p class="quiet">${words.timesHint}</p>` : null}
</form>`;
}

const nameOf = ([offer]: readonly Offer[]): string => (offer ? format.plainName(offer.asset) : '');

/** The available coins in the business's order. A coin on several networks is one row. */
function openRows(open: readonly OpenOffer[], model: InvoicePage, locale: Locale): Html[] {
  const byCoin = Map.groupBy(open, ({ asset }) => asset.priceSymbol);
  return [...byCoin.values()].map((offers) =>
    offers.length === 1 ? row(offers[0]!, model, locale) : networksRow(offers, model, locale),
  );
}

const row = (offer: OpenOffer, model: InvoicePage, locale: Locale): Html =>
  html`<li data-key="${offer.asset.priceSymbol}"><button type="submit" name="crypto" value="${offer.asset.symbol}" class="offer">${offerSummary(offer, wayOf(offer, locale), model, locale)}</button></li>\n`;

const fixedRow = (offer: OpenOffer, model: InvoicePage, locale: Locale): Html =>
  html`<li class="offer">${offerSummary(offer, wayOf(offer, locale), model, locale)}</li>\n`;

/** A coin, then its networks. */
function networksRow(offers: readonly OpenOffer[], model: InvoicePage, locale: Locale): Html {
  const { words } = locale;
  const network = (one: OpenOffer): Html => {
    const { asset } = one;
    return html`<li><button type="submit" name="crypto" value="${asset.symbol}" class="offer"><span>${line(format.networkOf(asset), one, locale.tag)}<span class="line quiet">${timeOf(one, locale)}</span></span></button></li>\n`;
  };
  return html`<li data-key="${offers[0]!.asset.priceSymbol}"><details class="networks"><summary class="offer">${offerSummary(offers[0]!, html`${words.chooseNetwork}`, model, locale)}</summary>
<ul class="offers">
${offers.map(network)}</ul></details></li>
`;
}

/** The coin's mark and name with the amount; below, its network with the rate. */
function offerSummary(offer: OpenOffer, below: Part, { currency }: InvoicePage, { tag }: Locale): Html {
  const { asset, rate } = offer;
  const price = html`<bdi class="figure" dir="ltr">1 ${format.tickerOf(asset)} = ${format.fiat(rate, currency, tag)}</bdi>`;
  return html`${coin(asset.symbol)}<span class="names">${line(format.plainName(asset), offer, tag)} <span class="line quiet"><span>${below}</span> ${price}</span></span>`;
}

const line = (name: string, { units, asset }: OpenOffer, tag: string): Html =>
  html`<span class="line"><b>${name}</b> <b class="figure">${format.cryptoHtml(units, asset, tag)}</b></span>`;

/** Empty if the network is named after the coin. A coin on one network needs no name of a token standard. */
function networkOf({ asset }: Offer): Part {
  const network = format.plainNetwork(asset);
  return network === format.plainName(asset) ? null : html`<bdi>${network}</bdi>`;
}

/** "≈ 8 min": how long the coin's confirmations usually take. */
const timeOf = ({ seconds }: OpenOffer, { tag }: Locale): Part =>
  seconds === null ? null : html`<bdi>≈ ${format.shortDuration(seconds, tag)}</bdi>`;

/** The network and the usual time of an offer. */
function wayOf(offer: OpenOffer, locale: Locale): Part {
  const [network, time] = [networkOf(offer), timeOf(offer, locale)];
  return network === null || time === null ? (network ?? time) : html`${network} · ${time}`;
}

/**
 * Another coin instead of the one that was chosen, behind a line that opens. The page behind it shows its price.
 * Without scripts, the line leads to a page that does not reload, because reloading would close the list.
 */
export function changeForm({ root, slug, query, others, changing }: InvoicePage, { words }: Locale): Part {
  if (others.length === 0) return null;
  const rows = others.map((asset) => {
    const network = format.plainNetwork(asset) === format.plainName(asset) ? null : format.networkOf(asset);
    const below = network === null ? null : html` <bdi class="quiet">${network}</bdi>`;
    return html`<li><button name="change" value="${asset.symbol}" class="offer"><b>${format.plainName(asset)}</b>${below}</button></li>\n`;
  });
  const link = askLink({ root, slug, query }, 'change');
  const opening = changing
    ? html`<details class="change" open>`
    : html`<p class="change still"><a href="${link}">${words.changeCoin}</a></p>
<details class="change live">`;
  return html`${opening}<summary>${words.changeCoin}</summary>
<form method="post" action="${root}${slug}${query}">
<p class="quiet">${words.changeHint}</p>
<ul class="offers">
${rows}</ul>
</form>
</details>
`;
}

/** The address of the page that shows something else without scripts. */
export const askLink = ({ root, slug, query }: Pick<InvoicePage, 'root' | 'slug' | 'query'>, what: string): string =>
  `${root}${slug}${query === '' ? '?' : `${query}&`}${what}=1`;

function shutRow(offer: Offer, locale: Locale): Html {
  const { asset, withheld } = offer;
  const why = withheld === null ? null : locale.words[WITHHELD[withheld]];
  return html`<li class="offer shut" data-crypto="${asset.symbol}">${coin(asset.symbol)}<span class="names"><span><b>${format.plainName(asset)}</b> ${networkOf(offer)}</span> <span>${why}</span></span></li>\n`;
}

function begin(open: readonly OpenOffer[], fixed: boolean, heading: string, { words }: Locale): Html {
  if (!fixed) return html`<p class="quiet">${words.chooseHint}</p>`;
  return html`<p class="quiet">${words.fixedHint}</p>
<button type="submit" name="crypto" value="${open[0]!.asset.symbol}" class="main">${heading}</button>`;
}
