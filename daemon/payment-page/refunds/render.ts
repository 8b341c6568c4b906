/** The page of a refund link as HTML: the payer types an address, compares it, confirms it, and sees how far the refund is. */
import type { RefundLinkState } from '../../app/refunds/links.ts';
import type { Asset, Network } from '../../domain/assets.ts';
import { inGroups } from '../../domain/policy.ts';
import * as format from '../format.ts';
import { type Html, html, type Part } from '../html.ts';
import { fill, type Locale, rich } from '../locale.ts';
import type { InvoicePage } from '../model.ts';
import { banner, clip, frame, languageForm, linkHead, logoOf } from '../render.ts';

const REFRESH_SECONDS = 60;
/** Longer than any address. */
const ADDRESS_CHARACTERS_MAX = 120;

export type RefundPage = {
  root: string;
  query: string;
  slug: string;
  business: InvoicePage['business'];
  network: Network;
  asset: Asset;
  /** Smallest units; null: unknown. */
  units: bigint | null;
  /** The whole deposit is sent back, and the fee is taken from it. */
  isWhole: boolean;
  state: RefundLinkState;
  endsAt: number;
  order: string | null;
  /** That was typed: to be compared, or wrong; and once it was given. */
  address: string | null;
  /** Why what was typed cannot be taken: no address of the coin and network, or one of ours. */
  fault: 'invalid' | 'ours' | null;
  givenAt: number | null;
  txid: string | null;
};

/** Waiting for the shop or the network, the page looks for news. */
const CHANGES: ReadonlySet<RefundLinkState> = new Set(['given', 'approved', 'sent']);

export function renderRefund(page: RefundPage, locale: Locale, nonce: string): string {
  const { root, slug, business, asset, units, order } = page;
  const { words, tag } = locale;
  const total = units === null ? null : html`<h1 class="total">${format.cryptoHtml(units, asset, tag)}</h1>\n`;
  const about = order === null ? null : html`<p>${words.order}: <bdi>${order}</bdi></p>\n`;
  const until =
    page.state === 'waits'
      ? html`<p>${rich(words.refundUntil, { time: format.timeHtml(page.endsAt, tag) })}</p>\n`
      : null;
  const contact = business.contact === null ? null : html`<p>${words.contact}: <bdi>${business.contact}</bdi></p>\n`;
  const body = html`${banner(page, locale)}<div class="view calm">
<header class="summary">
${logoOf(page)}<p class="payee"><span class="quiet">${words.refundFrom}</span> <bdi class="clip">${business.name}</bdi></p>
${total}</header>
<main class="card">
${content(page, locale)}</main>
<aside class="about quiet">
<p>${page.isWhole ? words.refundYouPay : words.refundShopPays}</p>
${about}${until}${contact}</aside>
</div>
<footer class="foot">
${languageForm({ root, path: `r/${slug}` }, locale)}</footer>`;
  const refresh = CHANGES.has(page.state) ? html`<meta http-equiv="refresh" content="${REFRESH_SECONDS}">\n` : null;
  const head = html`${linkHead(page, nonce)}${refresh}`;
  const title = `${words.refundFrom} ${clip(business.name)}`;
  return frame({ title, root, nonce, head, attributes: null, body }, locale).markup;
}

function content(page: RefundPage, locale: Locale): Html {
  const { words } = locale;
  if (page.state === 'over') return told(words.refundOver, words.refundOverText);
  if (page.state === 'refused') return told(words.refundRefused, words.refundRefusedText);
  if (page.state !== 'waits') return progress(page, locale);
  return page.address !== null && page.fault === null ? compare(page, page.address, locale) : enter(page, locale);
}

const told = (title: string, text: string): Html => html`<h2>${title}</h2>
<p class="quiet">${text}</p>
`;

const named = ({ asset }: RefundPage): { name: string; network: string } => ({
  name: format.plainName(asset),
  network: format.networkOf(asset),
});

function enter(page: RefundPage, locale: Locale): Html {
  const { words } = locale;
  const names = named(page);
  const alone = names.name === names.network;
  const said = page.fault === 'ours' ? words.refundOurs : fill(words.refundInvalid, names);
  const wrong = page.fault === null ? null : html`<div class="note" role="alert">${said}</div>\n`;
  const only = alone ? null : html`<p><b>${fill(words.refundOnly, names)}</b></p>\n`;
  return html`${wrong}<h2>${words.refundWhere}</h2>
<p class="quiet">${fill(words.refundHow, names)}</p>
${only}<form method="post" action="${page.root}r/${page.slug}${page.query}" class="order">
<p class="field"><label for="address">${fill(words.refundAddress, names)}</label>
<textarea id="address" name="address" class="typed mono" rows="3" dir="ltr" translate="no" spellcheck="false" autocapitalize="off" autocomplete="off" maxlength="${ADDRESS_CHARACTERS_MAX}" required>${page.address ?? ''}</textarea></p>
<button type="submit" class="main">${words.refundCheck}</button>
</form>
${exchange(page, locale)}`;
}

const exchange = (page: RefundPage, { words }: Locale): Html => html`<div class="net">
<p><b>${words.refundNotSame}</b></p>
<p>${fill(words.refundExchange, named(page))}</p>
</div>
`;

/** The address in numbered cells. The payer compares it with the wallet before it is taken. */
function compare(page: RefundPage, address: string, locale: Locale): Html {
  const { words } = locale;
  const cells = inGroups(address).map(
    (group, at) => html`<li><small>${at + 1}</small> <b class="mono">${group}</b></li>`,
  );
  const action = `${page.root}r/${page.slug}${page.query}`;
  return html`<h2>${words.refundCompare}</h2>
<ol class="cells" dir="ltr" translate="no">${cells}</ol>
<form method="post" action="${action}">
<input type="hidden" name="address" value="${address}">
<button type="submit" name="mine" value="yes" class="main">${words.refundMine}</button>
</form>
<p class="quiet final">${words.refundFinal}</p>
<p><a class="second" href="${action}">${words.refundOther}</a></p>
${exchange(page, locale)}`;
}

const ENDS = 2;

function short(address: string): string {
  const groups = inGroups(address);
  return groups.length <= 2 * ENDS
    ? groups.join(' ')
    : [...groups.slice(0, ENDS), '…', ...groups.slice(-ENDS)].join(' ');
}

/** Each step is named by what has happened. */
function progress(page: RefundPage, { words, tag }: Locale): Html {
  const reached = { waits: 0, given: 1, approved: 2, sent: 3, done: 4, refused: 0, over: 0 }[page.state];
  const steps: [string, Part][] = [
    [
      words.refundStepAddress,
      page.address === null ? null : html`<span class="mono" dir="ltr" translate="no">${short(page.address)}</span>`,
    ],
    [words.refundStepApprove, null],
    [
      words.refundStepWay,
      page.txid === null ? null : html`<span class="mono" dir="ltr" translate="no">${page.txid}</span>`,
    ],
    [words.refundStepDone, null],
  ];
  const step = ([title, note]: [string, Part], at: number): Html => {
    const kind = at < reached ? 'past' : at === reached ? 'now' : 'later';
    const current = kind === 'now' ? html` aria-current="step"` : null;
    return html`<li class="${kind}"${current}><b>${title}</b>${note === null ? null : html`<br>${note}`}</li>\n`;
  };
  const given = page.givenAt === null ? null : html`<p class="quiet">${format.timeHtml(page.givenAt, tag)}</p>\n`;
  return html`<h2>${rich(words.refundGiven, { shop: page.business.name })}</h2>
<p class="quiet">${words.refundKeep}</p>
<ol class="steps">
${steps.map(step)}</ol>
${given}`;
}
