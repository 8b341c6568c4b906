/** The payment page as HTML. Its script replaces the view by a new one; without scripts the browser reloads. */
import { createHash } from 'node:crypto';
import { type Accent, accentOn } from '../domain/accent.ts';
import {
  contactOf,
  entry,
  orderEntries,
  renderCanceled,
  renderConfirmations,
  renderDetails,
  renderPaid,
  renderWithheld,
  siteOf,
} from './after.ts';
import { changeForm, renderChoice } from './choose.ts';
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { CROSS, TICK, TIME_BAR } from './icons.ts';
import { LANGUAGES } from './languages/index.ts';
import { fill, type Locale, rich } from './locale.ts';
import { deadlineOf, type InvoicePage, type PageModel, type ProblemPage, refreshSeconds, type State } from './model.ts';
import { renderPay } from './pay.ts';
import { sandboxPanel } from './sandbox.ts';
import { SCRIPT_PATH, SDK_PATH } from './script.ts';
import { LINK_STYLE_PATH, STYLE_PATH } from './style.ts';

const REDIRECT_SECONDS = 5;
const VERSION_CHARACTERS = 16;

/** The whole document. `nonce`: required by the answer's policy for scripts and styles. */
export function renderPage(model: PageModel, locale: Locale, nonce: string): string {
  return (model.page === 'invoice' ? renderInvoice(model, locale, nonce) : renderProblem(model, locale, nonce)).markup;
}

type Frame = { title: string; root: string; nonce: string; head: Part; attributes: Part; body: Html };

export function frame({ title, root, nonce, head, attributes, body }: Frame, { language, direction }: Locale): Html {
  return html`<!doctype html>
<html lang="${language}" dir="${direction}">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}${STYLE_PATH}" nonce="${nonce}">
${head}</head>
<body${attributes}>
${body}
</body>
</html>
`;
}

/** Without scripts, the browser reloads the page or returns to the shop by itself. */
function refreshOf(model: InvoicePage): Part {
  const { state, backUrl } = model;
  if (state.is === 'paid' && state.redirect && backUrl !== null) {
    return html`<noscript><meta http-equiv="refresh" content="${REDIRECT_SECONDS};url=${backUrl}"></noscript>\n`;
  }
  const seconds = refreshSeconds(model);
  return seconds === null ? null : html`<noscript><meta http-equiv="refresh" content="${seconds}"></noscript>\n`;
}

function renderInvoice(model: InvoicePage, locale: Locale, nonce: string): Html {
  const { root, slug, query } = model;
  const { words } = locale;
  const head = html`${styleOf(model, nonce)}${refreshOf(model)}<link rel="modulepreload" href="${root}${SDK_PATH}" nonce="${nonce}">
<script type="module" src="${root}${SCRIPT_PATH}" nonce="${nonce}"></script>
`;
  const { view, version } = renderView(model, locale);
  const attributes = html` data-status="${root}${slug}/status${query}" data-events="${root}${slug}/events" data-version="${version}" data-now="${model.now}" data-build="${SCRIPT_PATH}" data-offline="${words.offline}" data-online="${words.online}" data-copied="${words.copied}" data-copy-failed="${words.copyFailed}"`;
  const again = refreshSeconds(model) === null ? null : html`<p class="quiet still">${words.refreshes}</p>\n`;
  const body = html`${banner(model, locale)}<p id="offline" class="offline" role="status" hidden></p>
${view}
<footer class="foot">
${again}${languageForm({ root, path: slug }, locale)}</footer>
<div id="say" class="unseen" role="status"></div>`;
  return frame({ title: titleOf(model, locale), root, nonce, head, attributes, body }, locale);
}

/** The head of the pages of payment links and of refunds. */
export function linkHead(page: Pick<InvoicePage, 'business' | 'root'>, nonce: string): Html {
  return html`<link rel="stylesheet" href="${page.root}${LINK_STYLE_PATH}" nonce="${nonce}">
${styleOf(page, nonce)}`;
}

/** The style rules for an accent colour, light and dark. */
export function accentStyle(accent: string): string {
  const { light, dark } = accentOn(accent);
  const rule = ({ fill, ink, text }: Accent): string => `:root{--fill:${fill};--fill-ink:${ink};--main:${text}}`;
  return `${rule(light)}@media (prefers-color-scheme:dark){${rule(dark)}}`;
}

function styleOf({ business: { accent } }: Pick<InvoicePage, 'business'>, nonce: string): Part {
  return accent === null ? null : html`<style nonce="${nonce}">${accentStyle(accent)}</style>\n`;
}

export function logoOf({ root, business: { logo } }: Pick<InvoicePage, 'root' | 'business'>): Part {
  return logo === null ? null : html`<img class="logo" src="${root}logo/${logo}" alt="" height="40">\n`;
}

function titleOf(model: InvoicePage, { tag }: Locale): string {
  const title = `${format.price(model.amount, model.currency, tag)} – ${clip(model.business.name)}`;
  return model.state.is === 'paid' ? `✓ ${title}` : title;
}

const TITLE_CHARACTERS_MAX = 60;
export const clip = (text: string): string => {
  const characters = [...text];
  return characters.length > TITLE_CHARACTERS_MAX ? `${characters.slice(0, TITLE_CHARACTERS_MAX).join('')}…` : text;
};

/** The changing part of the page, and a hash of it. */
export function renderView(model: InvoicePage, locale: Locale): { view: Html; version: string } {
  const { state, backUrl } = model;
  const deadline = deadlineOf(model);
  const ends =
    'quoteEndsAt' in state && deadline !== null
      ? html` data-quoted="${state.quotedAt}" data-ends="${deadline.at}"`
      : null;
  const leaves = state.is === 'paid' && state.redirect && backUrl !== null;
  const redirect = leaves ? html` data-redirect="${backUrl}" data-seconds="${REDIRECT_SECONDS}"` : null;
  const view = html`<div id="view" class="view ${TONES[state.is]}" data-state="${state.is}" data-flags="${flagsOf(model)}" data-title="${titleOf(model, locale)}" data-say="${sayOf(model, locale)}"${ends}${redirect}>
${summary(model, locale)}<main class="card">
${content(model, locale)}</main>
${about(model, locale)}${credits(model)}${model.sandbox ? sandboxPanel(model, locale) : null}</div>`;
  const version = createHash('sha256').update(view.markup).digest('hex').slice(0, VERSION_CHARACTERS);
  return { view, version };
}

const TONES: Readonly<Record<State['is'], string>> = {
  choose: 'calm',
  waiting: 'calm',
  partial: 'warn',
  detected: 'calm',
  withheld: 'warn',
  paid: 'good',
  canceled: 'bad',
};

function flagsOf({ state, payableUntil, behind }: InvoicePage): string {
  const funds = state.is === 'choose' ? null : state.funds;
  const flags = { overdue: payableUntil !== null, behind, late: funds?.late, overpaid: funds?.overpaid };
  return Object.entries(flags)
    .filter(([, set]) => set)
    .map(([name]) => name)
    .join(' ');
}

/** The announcement for screen readers, made when it differs from the last one. */
function sayOf(model: InvoicePage, { words, tag }: Locale): string {
  const { state } = model;
  if (state.is === 'choose') return words.chooseHeading;
  const told: string[] = [words[state.is]];
  if (state.is === 'waiting') {
    told.push(`${words.sendExactly}: ${format.crypto(state.remaining, state.funds.asset, tag)}`);
  } else if (state.is === 'partial') {
    const values = {
      received: format.received(state.funds, tag),
      amount: format.crypto(state.remaining, state.funds.asset, tag),
    };
    told.push(fill(words.partialHint, values));
  }
  if (state.funds?.overpaid) {
    told.push(fill(words.overpaid, { received: format.received(state.funds, tag) }));
  }
  return told.join('. ').replaceAll('!.', '!');
}

/** Says that the money is not real. */
export function banner({ network }: Pick<InvoicePage, 'network'>, { words }: Locale): Part {
  if (network === 'mainnet') return null;
  return html`<aside class="banner" data-part="banner">${network === 'sandbox' ? words.sandboxBanner : words.testBanner}</aside>\n`;
}

function summary(model: InvoicePage, { words, tag }: Locale): Html {
  const { business, amount, currency } = model;
  return html`<header class="summary">
${logoOf(model)}<p class="payee"><span class="quiet">${words.payTo}</span> <bdi class="clip">${business.name}</bdi></p>
<h1 class="total"><bdi>${format.price(amount, currency, tag)}</bdi></h1>
</header>
`;
}

/** The order, the due date and the support contact. The receipt has these itself; a canceled invoice, its own way back. */
function about(model: InvoicePage, locale: Locale): Part {
  const { words, tag } = locale;
  const { state, backUrl } = model;
  if (state.is === 'paid') return null;
  const open = state.is !== 'canceled';
  const deadline = deadlineOf(model);
  const due =
    deadline?.is === 'due'
      ? html`<p class="quiet">${rich(words.dueBy, { time: format.timeHtml(deadline.at, tag) })}</p>\n`
      : null;
  const back =
    backUrl === null || state.is === 'canceled'
      ? null
      : html`<p class="return"><a href="${backUrl}" rel="noreferrer" target="_top"><span class="arrow" aria-hidden="true"></span>${words.back}</a></p>\n`;
  return html`<aside class="about" aria-label="${words.invoice}">
<dl>
${orderEntries(model, locale)}${entry(words.website, siteOf(model))}${entry(words.contact, contactOf(model))}</dl>
${due}${open ? html`<p class="quiet">${words.noAccount}</p>\n` : null}${back}</aside>
`;
}

/** The price sources in their own words, which are English. */
function credits({ credits }: InvoicePage): Part {
  if (credits.length === 0) return null;
  const links = credits.map(
    ({ text, url }, n) => html`${n > 0 ? ' · ' : null}<a href="${url}" target="_blank">${text}</a>`,
  );
  return html`<p class="about quiet" lang="en" dir="ltr">${links}</p>\n`;
}

function content(model: InvoicePage, locale: Locale): Html {
  const { state } = model;
  if (state.is === 'choose') return renderChoice(model, state, locale);
  return html`${statusLine(state, locale)}
${notices(model, locale)}${body(model, state, locale)}`;
}

function body(model: InvoicePage, state: Exclude<State, { is: 'choose' }>, locale: Locale): Html {
  switch (state.is) {
    case 'waiting':
    case 'partial':
      return html`${renderPay(model, state, locale)}${changeForm(model, locale)}${renderDetails(state.funds, locale)}`;
    case 'detected':
      return renderConfirmations(state.funds, locale);
    case 'withheld':
      return html`${renderWithheld(state.why, locale)}${changeForm(model, locale)}${renderDetails(state.funds, locale)}`;
    case 'paid':
      return renderPaid(model, state, locale);
    case 'canceled':
      return renderCanceled(model, state, locale);
  }
}

/** The state and, while a price is valid, the remaining time. */
function statusLine(state: Exclude<State, { is: 'choose' }>, { words }: Locale): Html {
  const sign = state.is === 'paid' ? TICK : state.is === 'canceled' ? CROSS : null;
  const status = html`<h2 class="status" tabindex="-1">${words[state.is]}</h2>`;
  if (!('quoteEndsAt' in state)) return html`${sign}${status}`;
  return html`<div class="head">${TIME_BAR}${status}<b class="left-text live" role="timer" aria-labelledby="holds"></b></div>`;
}

/** Notices beside the state, the most urgent first. */
function notices(model: InvoicePage, { words, tag }: Locale): Html[] {
  const { state, payableUntil, behind, notice } = model;
  if (state.is === 'choose') return [];
  const notes: Html[] = [];
  const add = (name: string, text: Html | string): void => {
    notes.push(html`<p class="note" data-note="${name}">${text}</p>\n`);
  };
  if (notice !== null) notes.push(html`<div class="note" role="alert">${words[notice]}</div>\n`);
  const { funds } = state;
  const waits = state.is === 'waiting' || state.is === 'partial';
  if (payableUntil !== null && waits) {
    const until = html`<span id="holds">${rich(words.overdue, { time: format.timeHtml(payableUntil, tag) })}</span>`;
    add('overdue', deadlineOf(model)?.is === 'payable' ? until : words.overdueSoon);
  }
  if (behind && funds && state.is !== 'withheld') {
    add('behind', rich(words.behind, { network: format.networkOf(funds.asset) }));
  }
  if (funds?.overpaid) {
    add('overpaid', rich(words.overpaid, { received: format.receivedHtml(funds, tag) }));
  }
  if (funds?.late && state.is !== 'canceled') add('late', words.late);
  return notes;
}

/** A form, so that it works without scripts. It leads to the same page in another language. */
export function languageForm({ root, path }: { root: string; path: string }, { words, language }: Locale): Html {
  const option = (entry: (typeof LANGUAGES)[number]): Html =>
    entry.language === language
      ? html`<option value="${entry.language}" lang="${entry.language}" selected>${entry.name}</option>`
      : html`<option value="${entry.language}" lang="${entry.language}">${entry.name}</option>`;
  return html`<form method="get" action="${root}${path}" class="languages">
<label for="lang">${words.language}</label> <select id="lang" name="lang" autocomplete="off">${LANGUAGES.map(option)}</select>
<button class="plain-button still">${words.changeLanguage}</button>
</form>
`;
}

function renderProblem({ root, query, problem, slug }: ProblemPage, locale: Locale, nonce: string): Html {
  const { words } = locale;
  const title = words[problem];
  const back =
    slug === null ? null : html`<p><a class="main" href="${root}${slug}${query}">${words.toInvoice}</a></p>\n`;
  const body = html`<main class="card problem">
<h1>${title}</h1>
<p>${words[`${problem}Text`]}</p>
${back}</main>`;
  return frame({ title, root, nonce, head: null, attributes: null, body }, locale);
}
