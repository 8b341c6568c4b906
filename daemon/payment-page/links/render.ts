/** The page of a payment link as HTML: a form that works without scripts. */
import * as format from '../format.ts';
import { type Html, html, type Part } from '../html.ts';
import { fill, type Locale, rich } from '../locale.ts';
import { banner, clip, frame, languageForm, linkHead, logoOf } from '../render.ts';
import type { LinkPage } from './model.ts';

/** From so few left on, a buyer is told how many. */
const FEW = 20;

export function renderLink(page: LinkPage, locale: Locale, nonce: string): string {
  const { root, slug, business, name, about } = page;
  const body = html`${banner(page, locale)}<div class="view calm">
<header class="summary">
${logoOf(page)}<p class="payee"><span class="quiet">${locale.words.payTo}</span> <bdi class="clip">${business.name}</bdi></p>
</header>
<main class="card link">
<h1><bdi>${name}</bdi></h1>
${about === null ? null : html`<p class="quiet said"><bdi>${about}</bdi></p>\n`}${content(page, locale)}</main>
</div>
<footer class="foot">
${languageForm({ root, path: `l/${slug}` }, locale)}</footer>`;
  const title = `${clip(name)} – ${clip(business.name)}`;
  return frame({ title, root, nonce, head: linkHead(page, nonce), attributes: null, body }, locale).markup;
}

function content(page: LinkPage, locale: Locale): Html {
  const { words, tag } = locale;
  if (page.state === 'ended') return html`<p class="note"><b>${words.linkEnded}</b> ${words.linkEndedText}</p>\n`;
  if (page.state === 'sold_out') return html`<p class="note"><b>${words.soldOutHeading}</b></p>\n`;
  const until =
    page.endsAt === null
      ? null
      : html`<p class="quiet">${rich(words.linkUntil, { time: format.timeHtml(page.endsAt, tag) })}</p>\n`;
  return html`${faultOf(page, locale)}<form method="post" action="${page.root}l/${page.slug}${page.query}" class="order">
${fields(page, locale)}<button type="submit" class="main">${payWords(page, locale)}</button>
<p class="quiet">${words.nextCoin}</p>
${until}</form>
`;
}

const WORDS = { needItem: 'needItem', tooMuch: 'tooMuch', soldOut: 'soldOut', notNow: 'unavailableText' } as const;

function faultOf({ fault, least, currency }: LinkPage, { words, tag }: Locale): Part {
  if (fault === null) return null;
  const amount = format.price(least, currency, tag);
  const text = fault === 'needAmount' ? fill(words.needAmount, { amount }) : words[WORDS[fault]];
  return html`<div class="note" role="alert">${text}</div>\n`;
}

/** A fixed amount is known before the order is made. */
function payWords({ kind, items, currency }: LinkPage, { words, tag }: Locale): string {
  const [only] = items;
  if (kind !== 'fixed' || !only) return words.toPayment;
  return fill(words.payAmount, { amount: format.price(only.price, currency, tag) });
}

function fields(page: LinkPage, locale: Locale): Html {
  if (page.kind === 'open') return amountFields(page, locale);
  if (page.kind === 'items')
    return html`<ul class="items">\n${page.items.map((item) => itemRow(page, item, locale))}</ul>\n`;
  const { items, currency } = page;
  const [only] = items;
  return html`<p class="total"><bdi>${format.price(only?.price ?? 0n, currency, locale.tag)}</bdi></p>
${only ? leftNote(only, locale) : null}`;
}

function leftNote({ left }: LinkPage['items'][number], { words }: Locale): Part {
  return left === null || left > FEW ? null : html`<p class="quiet">${rich(words.left, { count: left })}</p>\n`;
}

function itemRow({ currency, filled }: LinkPage, item: LinkPage['items'][number], locale: Locale): Html {
  const { words, tag } = locale;
  const { id, name, price, left, most } = item;
  const few = left === null || left > FEW ? null : html` · ${rich(words.left, { count: left })}`;
  const below =
    left === 0 ? html`${words.soldOutHeading}` : html`<bdi>${format.price(price, currency, tag)}</bdi>${few}`;
  const field =
    left === 0
      ? null
      : html`<input type="number" inputmode="numeric" id="q${id}" name="q${id}" min="0" max="${most}" step="1" value="${filled.quantities.get(id) ?? '0'}" aria-label="${words.quantity}: ${name}">`;
  return html`<li><label for="q${id}"><b><bdi>${name}</bdi></b> <span class="quiet">${below}</span></label>${field}</li>\n`;
}

function amountFields({ suggested, least, currency, decimals, filled }: LinkPage, { words, tag }: Locale): Html {
  const least0 = format.price(least, currency, tag);
  const choice = ({ text, amount }: LinkPage['suggested'][number], at: number): Html => {
    const isChosen = filled.suggested === text || (filled.suggested === '' && filled.amount === '' && at === 0);
    return html`<label class="tile"><input type="radio" name="suggested" value="${text}"${isChosen ? html` checked` : null}><span><bdi>${format.price(amount, currency, tag)}</bdi></span></label>\n`;
  };
  const tiles =
    suggested.length === 0
      ? null
      : html`<fieldset class="tiles"><legend class="unseen">${words.chooseAmount}</legend>
${suggested.map(choice)}</fieldset>
`;
  const label = suggested.length === 0 ? words.amount : words.otherAmount;
  return html`${tiles}<p class="field"><label for="amount">${label}</label>
<span class="with-unit"><input id="amount" name="amount" inputmode="${decimals === 0 ? 'numeric' : 'decimal'}" autocomplete="off" maxlength="16" value="${filled.amount}" placeholder="${fill(words.fromAmount, { amount: least0 })}"> <span class="quiet">${currency}</span></span></p>
`;
}
