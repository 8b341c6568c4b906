/** The payment page as HTML: pure functions of the model. No script; what changes is read anew by the browser. */
import { renderChoice } from './choose.ts';
import * as format from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { type InvoicePage, type PageModel, type ProblemPage, refreshSeconds, type State } from './model.ts';
import { renderDetails, renderPay } from './pay.ts';
import { STYLE_PATH } from './style.ts';
import { ENGLISH, type Texts } from './texts.ts';

const REDIRECT_SECONDS = 5;

/** The whole document. */
export function renderPage(model: PageModel, texts: Texts = ENGLISH): string {
  return (model.page === 'invoice' ? renderInvoice(model, texts) : renderProblem(model, texts)).markup;
}

type Frame = { title: string; root: string; refresh: Part; tone: string; body: Html };

/** What every page is set in. */
function frame({ title, root, refresh, tone, body }: Frame, texts: Texts): Html {
  return html`<!doctype html>
<html lang="${texts.locale.slice(0, 2)}" dir="${texts.direction}">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no">
${refresh}<link rel="stylesheet" href="${root}${STYLE_PATH}">
</head>
<body class="${tone}">
${body}
</body>
</html>
`;
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

function refreshOf(model: InvoicePage): Part {
  const { state, backUrl } = model;
  if (state.is === 'paid' && state.redirect && backUrl !== null) {
    return html`<meta http-equiv="refresh" content="${REDIRECT_SECONDS};url=${backUrl}">\n`;
  }
  const seconds = refreshSeconds(model);
  return seconds === null ? null : html`<meta http-equiv="refresh" content="${seconds}">\n`;
}

function renderInvoice(model: InvoicePage, texts: Texts): Html {
  const amount = format.fiat(model.amount, model.currency, texts.locale);
  const body = html`${banner(model, texts)}<main class="card">
<header class="head">
<p class="payee">${texts.payTo} <bdi>${model.business}</bdi></p>
<h1 class="total">${amount}</h1>
${due(model, texts)}</header>
${content(model, texts)}
</main>
${sandbox(model, texts)}<footer class="foot">
${model.backUrl === null || model.state.is === 'paid' ? null : html`<p><a href="${model.backUrl}" rel="noreferrer">${texts.back}</a></p>\n`}<p class="quiet">${texts.invoice} <span class="mono">${model.slug}</span></p>
${refreshSeconds(model) === null ? null : html`<p class="quiet">${texts.refreshes}</p>\n`}</footer>`;
  const title = texts.title(amount, model.business);
  return frame({ title, root: model.root, refresh: refreshOf(model), tone: TONES[model.state.is], body }, texts);
}

function banner({ network }: InvoicePage, texts: Texts): Part {
  if (network === 'mainnet') return null;
  return html`<p class="banner">${network === 'sandbox' ? texts.sandboxBanner : texts.testBanner}</p>\n`;
}

function due({ dueAt, state }: InvoicePage, texts: Texts): Part {
  if (state.is === 'paid' || state.is === 'canceled') return null;
  const text = format.instant(dueAt, texts.locale);
  return html`<p class="quiet">${texts.dueBy} <time datetime="${format.isoOf(dueAt)}">${text}</time></p>\n`;
}

function content(model: InvoicePage, texts: Texts): Html {
  if (model.state.is === 'choose') return renderChoice(model, model.state, texts);
  return html`${statusLine(model.state, texts)}
${notices(model, texts)}${renderPay(model, texts)}${renderDetails(model.state.funds, texts)}`;
}

const STEP_OF: Partial<Record<State['is'], number>> = { waiting: 0, partial: 0, detected: 1, paid: 3 };

const CHECK = html`<svg class="check" viewBox="0 0 48 48" aria-hidden="true"><circle cx="24" cy="24" r="22"/><path d="M14 25l7 7 13-15"/></svg>\n`;

function statusLine(state: Exclude<State, { is: 'choose' }>, texts: Texts): Html {
  const at = STEP_OF[state.is];
  const names = [texts.steps.pay, texts.steps.found, texts.steps.done];
  const step = (name: string, i: number): Html =>
    i === at
      ? html`<li class="now" aria-current="step">${name}</li>`
      : html`<li class="${i < (at ?? 0) ? 'past' : 'ahead'}">${name}</li>`;
  const steps = html`<ol class="steps" aria-label="${texts.steps.label}">${names.map(step)}</ol>\n`;
  const check = state.is === 'paid' ? CHECK : null;
  return html`${at === undefined ? null : steps}${check}<h2 class="status" role="status">${texts.status[state.is]}</h2>`;
}

/** What the payer should know besides the state, the most pressing first. */
function notices({ state, payableUntil, behind }: InvoicePage, texts: Texts): Html[] {
  const notes: Html[] = [];
  const add = (title: string | null, text: string): void => {
    notes.push(
      html`<div class="note">${title === null ? null : html`<strong>${title}</strong> `}<span>${text}</span></div>\n`,
    );
  };
  if (state.is === 'choose') return notes;
  const { funds } = state;
  const waits = state.is === 'waiting' || state.is === 'partial';
  if (payableUntil !== null && waits) {
    add(texts.overdue, texts.overdueHint(format.instant(payableUntil, texts.locale)));
  }
  if (behind && funds && state.is !== 'withheld') add(null, texts.behind(funds.asset.networkName));
  if (funds?.overpaid) add(texts.overpaid, texts.overpaidHint(format.crypto(funds.received, funds.asset)));
  if (funds?.late && state.is !== 'canceled') add(null, texts.late);
  return notes;
}

/** The sandbox's buttons: one form, the button pressed says what. */
function sandbox({ sandbox: controls, root, slug }: InvoicePage, texts: Texts): Part {
  if (!controls) return null;
  const names = controls.canPay ? (['exact', 'half', 'double', 'mine'] as const) : (['mine'] as const);
  const buttons = names.map(
    (name) => html`<button type="submit" name="do" value="${name}">${texts.sandbox[name]}</button>\n`,
  );
  return html`<section class="card sandbox">
<h2>${texts.sandboxHeading}</h2>
<p class="quiet">${texts.sandboxHint}</p>
<form method="post" action="${root}${slug}/sandbox" class="buttons">
${buttons}</form>
</section>
`;
}

function renderProblem({ root, problem, slug }: ProblemPage, texts: Texts): Html {
  const { title, text } = texts.problems[problem];
  const back = slug === null ? null : html`<p><a href="${root}${slug}">${texts.toInvoice}</a></p>\n`;
  const body = html`<main class="card problem">
<h1>${title}</h1>
<p>${text}</p>
${back}</main>`;
  return frame({ title, root, refresh: null, tone: 'bad', body }, texts);
}
