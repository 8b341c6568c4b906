/** The part of the page that says how to pay: amount, code, address, network, and how long the price holds. */
import { fiatFor, formatUnits } from '../../domain/money.ts';
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { CLOCK, coin } from './icons.ts';
import { fill, type Locale, plural, rich } from './locale.ts';
import type { InvoicePage, State } from './model.ts';
import { qrSvg } from './qr.ts';

export type Open = Extract<State, { is: 'waiting' | 'partial' }>;

export function renderPay(model: InvoicePage, state: Open, locale: Locale): Html {
  const { words } = locale;
  const { funds, remaining } = state;
  const { asset } = funds;
  const partial = state.is === 'partial';
  const hint = rich(words.partialHint, {
    received: format.cryptoHtml(funds.received, asset),
    amount: format.cryptoHtml(remaining, asset),
  });
  return html`${partial ? html`<p class="more">${hint}</p>\n` : null}<section class="send" aria-labelledby="how">
<div class="what">
<h3 id="how">${partial ? words.sendMore : words.sendExactly}</h3>
<p class="amount"><span dir="ltr"><span class="mono pick" data-part="amount">${formatUnits(remaining, asset)}</span> <span class="ticker">${format.tickerOf(asset)}</span></span>${copyButton(formatUnits(remaining, asset), words.copyAmount, locale)}</p>
<p class="quiet">${worth(model, state, locale)}</p>
</div>
${scan(state, locale)}<div class="where">
<h3>${words.toAddress}</h3>
<div class="box"><p class="address mono pick" dir="ltr" translate="no" data-part="address">${groups(state.way.address)}</p>${copyButton(state.way.address, words.copyAddress, locale)}</div>
${network(state, locale)}</div>
<div class="quote">
${price(state, locale)}<p class="quiet">${neededText(state, locale)}${words.feesHint}</p>
</div>
</section>
`;
}

/** The button does nothing without the page's script, which shows it. */
function copyButton(text: string, label: string, { words }: Locale): Html {
  return html`<button type="button" class="copy" data-copy="${text}" aria-label="${label}"><span class="idle">${words.copy}</span><span class="done" aria-hidden="true">✓ ${words.copied}</span></button>`;
}

/** What is to be sent in fiat, and at which rate. */
function worth({ amount, currency }: InvoicePage, state: Open, { tag }: Locale): Html {
  const { asset } = state.funds;
  const rest = fiatFor(state.remaining, asset, state.rate);
  const whole = state.is === 'waiting' || rest > amount;
  const fiat = whole ? format.price(amount, currency, tag) : format.fiat(rest, currency, tag);
  const rate = format.fiat(state.rate, currency, tag);
  return html`<bdi dir="ltr">= ${fiat}</bdi> · <bdi dir="ltr">1 ${format.tickerOf(asset)} = ${rate}</bdi>`;
}

/** The code, a link for wallets on this device, and for account chains the code that not every wallet reads. */
function scan({ funds: { asset }, way, remaining }: Open, locale: Locale): Html {
  const { words } = locale;
  const label = fill(words.qrLabel, { amount: format.crypto(remaining, asset), name: asset.name });
  const plain = qrSvg(way.uri ?? way.address, label, 'plain');
  if (way.uri !== null) {
    return html`<div class="scan">
<figure>${plain}<figcaption class="quiet">${words.scan}</figcaption></figure>
<p><a class="main" href="${way.uri}">${words.openWallet}</a></p>
</div>
`;
  }
  const figure = html`<figure>${plain}${way.ethereumUri === null ? null : qrSvg(way.ethereumUri, label, 'full')}<figcaption class="quiet">${words.scan}<span class="plain">. ${words.qrAddressOnly}</span></figcaption></figure>\n`;
  if (way.ethereumUri === null) return html`<div class="scan">\n${figure}</div>\n`;
  return html`<div class="scan">
${figure}<div class="switch">
<label><input type="checkbox" class="full-switch"> ${words.qrSwitch}</label>
<p class="full quiet">${words.qrSwitchHint}</p>
<p class="full"><a class="main" href="${way.ethereumUri}">${words.openWallet}</a></p>
</div>
</div>
`;
}

/** Where it has to be sent, in words, since the address alone does not tell. */
function network({ funds: { asset }, way }: Open, { words }: Locale): Html {
  const contract: Part =
    way.contract === null
      ? null
      : html`<p class="contract"><span class="quiet">${words.contract}</span> <span class="mono" dir="ltr" translate="no">${way.contract}</span></p>\n`;
  const name = format.plainName(asset);
  const text = format.networkOf(asset) === name ? words.onlyCoin : words.onlyNetwork;
  const warning = rich(text, { name, ticker: format.tickerOf(asset), network: format.networkOf(asset) });
  return html`<div class="net">${coin(asset.symbol)}<div>
<p><span class="quiet">${words.network}</span> <strong data-part="network"><bdi>${format.networkOf(asset)}</bdi></strong></p>
${contract}<p>${warning}</p>
</div></div>
`;
}

/** A clock where the page's script runs it, an hour elsewhere. */
function price({ quoteEndsAt }: Open, { words, tag }: Locale): Html {
  const until = rich(words.priceUntil, { time: format.timeHtml(quoteEndsAt, tag) });
  const left = rich(words.priceFor, { time: html`<b class="left-text" role="timer"></b>` });
  return html`<p class="holds">${CLOCK}<span><span class="live">${left}</span><span class="still">${until}</span> <span class="quiet">${words.newPriceHint}</span></span></p>\n`;
}

/** How many confirmations the payment will need, and how long they take, where that is known. */
function neededText({ funds }: Open, locale: Locale): Part {
  if (funds.expectedSeconds === null) return null;
  const time = format.duration(funds.expectedSeconds, locale.tag);
  return html`${rich(plural(locale.words.needed, funds.required, locale), { count: funds.required, time })} `;
}

/** The address in groups for the eye: the gaps are drawn, so that copying gives the address as it is. */
function groups(address: string): Html[] {
  return format.inGroups(address).map((group) => html`<span>${group}</span><wbr>`);
}
