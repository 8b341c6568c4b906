/** The part of the page that shows how to pay: amount, network, address, QR code, and how long the price is valid. */
import { fiatFor, formatUnits } from '../domain/money.ts';
import { inGroups } from '../domain/policy.ts';
import { askLink } from './choose.ts';
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { coin } from './icons.ts';
import { fill, type Locale, plural, rich } from './locale.ts';
import { deadlineOf, type InvoicePage, type State } from './model.ts';
import { qrSvg } from './qr.ts';

type Open = Extract<State, { is: 'waiting' | 'partial' }>;

export function renderPay(model: InvoicePage, state: Open, locale: Locale): Html {
  const { words } = locale;
  const { funds, remaining, way } = state;
  const { asset } = funds;
  const partial = state.is === 'partial';
  const hint = rich(words.partialHint, {
    received: format.receivedHtml(funds, locale.tag),
    amount: format.cryptoHtml(remaining, asset, locale.tag),
  });
  return html`${partial ? html`<p class="more">${hint}</p>\n` : null}<section class="send" aria-labelledby="how">
<div class="what">
<h3 id="how">${partial ? words.sendMore : words.sendExactly}</h3>
<p class="amount"><span dir="ltr"><span class="mono pick" data-part="amount">${format.copiedHtml(remaining, asset, locale.tag)}</span> <span class="ticker">${format.tickerOf(asset)}</span></span>${copyButton(formatUnits(remaining, asset), words.copyAmount, locale)}</p>
<p class="chip" data-part="network">${coin(asset.symbol)}<span>${rich(words.onNetwork, { network: format.networkOf(asset) })}</span></p>
<p class="quiet">${worth(model, state, locale)}</p>
${way.uri === null ? null : html`<p class="open"><a class="main" href="${way.uri}">${words.openWallet}</a></p>\n`}</div>
<div class="where">
<h3>${words.toAddress}</h3>
<div class="box"><p class="address mono pick" dir="ltr" translate="no" data-part="address">${groups(way.address)}</p>${copyButton(way.address, words.copyAddress, locale)}</div>
${only(state, locale)}</div>
${scan(state, locale)}<div class="quote quiet">
${price(model, locale)}<p>${neededText(state, locale)}${words.feesHint}</p>
</div>
</section>
${watch(model, locale)}`;
}

/** Without scripts the page looks for the payment once it is asked to, since reloading would lose what is selected. */
function watch(model: InvoicePage, { words }: Locale): Html {
  if (!model.watching)
    return html`<p class="still"><a class="second" href="${askLink(model, 'watch')}">${words.lookNow}</a></p>\n`;
  const { root, slug, query } = model;
  return html`<p class="still"><a class="second" href="${root}${slug}${query}">${words.lookStop}</a></p>\n`;
}

/** Needs the page's script, which makes it visible. */
function copyButton(text: string, label: string, { words }: Locale): Html {
  return html`<button type="button" class="copy" data-copy="${text}" aria-label="${label}"><span class="idle">${words.copy}</span><span class="done" aria-hidden="true">✓ ${words.copied}</span></button>`;
}

function worth({ amount, currency }: InvoicePage, state: Open, { tag }: Locale): Html {
  const { asset } = state.funds;
  const rest = fiatFor(state.remaining, asset, state.rate);
  const whole = state.is === 'waiting' || rest > amount;
  const fiat = whole ? format.price(amount, currency, tag) : format.fiat(rest, currency, tag);
  return html`<bdi dir="ltr">=\u00a0${fiat}</bdi> · ${format.rateHtml(state.rate, asset, currency, tag)}`;
}

/** The QR code; on account chains also, behind a switch, one that not every wallet can read. */
function scan({ funds: { asset }, way, remaining }: Open, locale: Locale): Html {
  const { words } = locale;
  const label = fill(words.qrLabel, {
    amount: format.crypto(remaining, asset, locale.tag),
    name: format.plainName(asset),
  });
  const plain = qrSvg(way.uri ?? way.address, label, asset.symbol, 'plain');
  const full = way.ethereumUri === null ? null : qrSvg(way.ethereumUri, label, asset.symbol, 'full');
  const holds =
    way.uri === null
      ? html`<span class="plain">${words.qrAddressOnly}</span>${full ? html`<span class="full">${words.qrIncluded}</span>` : null}`
      : words.qrIncluded;
  const other = html`<div class="switch">
<label><input type="checkbox" class="full-switch"> ${words.qrSwitch}</label>
<p class="full quiet">${words.qrSwitchHint}</p>
<p class="full"><a class="main" href="${way.ethereumUri ?? ''}">${words.openWallet}</a></p>
</div>
`;
  return html`<div class="scan">
<figure>${plain}${full}<figcaption><b>${words.scan}</b> <span class="quiet">${holds}</span></figcaption></figure>
${full ? other : null}</div>
`;
}

/** The only accepted coin and network; prominent if the address alone does not tell. */
function only({ funds: { asset }, way }: Open, { words }: Locale): Html {
  const name = format.plainName(asset);
  const network = format.networkOf(asset);
  const alone = network === name;
  const warning = rich(alone ? words.onlyCoin : words.onlyNetwork, { name, network, ticker: format.tickerOf(asset) });
  if (alone) return html`<p class="quiet">${warning}</p>\n`;
  const contract: Part =
    way.contract === null
      ? null
      : html`<p class="contract"><span class="quiet">${words.contract}</span> <span class="mono" dir="ltr" translate="no">${groups(way.contract)}</span></p>\n`;
  return html`<div class="net">
<p>${warning}</p>
${contract}</div>
`;
}

/** Until when the price is valid, unless the time to pay ends before. The page's script counts down. */
function price(model: InvoicePage, { words, tag }: Locale): Part {
  const deadline = deadlineOf(model);
  if (deadline?.is !== 'price') return null;
  const until = rich(words.priceUntil, { time: format.timeHtml(deadline.at, tag) });
  return html`<p><span id="holds">${until}</span> ${words.newPriceHint}</p>\n`;
}

/** The confirmations that the payment will need with their usual time, if known. */
function neededText({ funds }: Open, locale: Locale): Part {
  if (funds.expectedSeconds === null) return null;
  const time = format.duration(funds.expectedSeconds, locale.tag);
  return html`${rich(plural(locale.words.needed, funds.required, locale), { count: funds.required, time })} `;
}

/** The address in visible groups. The gaps are drawn, so that a copy has none. */
function groups(address: string): Html[] {
  return inGroups(address).map((group, n) => html`${n > 0 ? html`<wbr>` : null}<span>${group}</span>`);
}
