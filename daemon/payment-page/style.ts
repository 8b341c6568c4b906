/**
 * The pages' style sheets, served under names with their hashes, so that browsers may cache it for ever. All sides are
 * logical (inline, block), for right-to-left languages.
 */
import { createHash } from 'node:crypto';
import { browserFile } from '../http/assets/asset.ts';
import { LINKS } from './style-links.ts';
import { PAY_STYLE } from './style-pay.ts';

/** Colours have a contrast of at least 4.5 on their grounds, in light and dark. Phone first; nothing is below 15 px. */
const BASE = `
/* a card is on the ground: in the dark it is the raised colour, and its fields are the page's */
:root { --card: var(--page); --field: var(--raised); }
@media (prefers-color-scheme: dark) {
  :root { --card: var(--raised); --field: var(--page); }
}
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; padding: 0 max(1rem, env(safe-area-inset-right)) 2rem max(1rem, env(safe-area-inset-left));
  background: var(--ground); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.5 var(--sans);
}
h1, h2, h3, p, ol, ul, dl, dd, figure, fieldset { margin: 0; padding: 0; }
h2 { font-size: 1.25rem; line-height: 1.3; }
h3 { font-size: .95rem; font-weight: 600; color: var(--quiet); }
a { color: var(--main); text-underline-offset: .15em; }
bdi { unicode-bidi: isolate; }
button, select, input { font: inherit; color: inherit; }
[hidden] { display: none !important; }
.quiet { color: var(--quiet); }
.mono { font-family: var(--mono); }
.pick { -webkit-user-select: all; user-select: all; }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.clip { display: -webkit-inline-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; line-clamp: 3; overflow: hidden; vertical-align: bottom; max-inline-size: 100%; }
.live { display: none; }
.js .live { display: revert; }
.js .still { display: none; }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; border-radius: .25rem; }
[tabindex="-1"]:focus { outline: none; }

.banner, .offline { margin: 0 -1rem; padding: .5rem 1rem; text-align: center; font-weight: 600; }
.banner { color: var(--warn); background: var(--warn-ground); border-block-end: 1px solid var(--warn-line); }
.offline { position: sticky; inset-block-start: 0; z-index: 1; color: var(--card); background: var(--ink); }

.view { --tone: var(--main); max-inline-size: 30rem; margin: 0 auto; }
.view.good { --tone: var(--good); } .view.warn { --tone: var(--warn); } .view.bad { --tone: var(--bad); }
.summary { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; padding: 1rem .25rem; }
.logo { flex: none; display: block; block-size: 2.5rem; inline-size: auto; max-inline-size: 7rem; object-fit: contain; }
.payee { flex: 1 1 6rem; min-inline-size: 0; line-height: 1.3; }
.payee .quiet { display: block; font-size: .9375rem; }
.payee bdi { font-weight: 600; }
.total { font-size: clamp(1.375rem, 6.5vw, 1.75rem); line-height: 1.2; font-weight: 600; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.about { margin-block-start: 1.25rem; padding-inline: .25rem; font-size: .95rem; }
.about dl { margin-block-end: .5rem; border-block-start: 1px solid var(--line); }
.return { margin-block-start: .5rem; }
.arrow { display: inline-block; margin-inline-end: .4em; }
.arrow::before { content: "←"; }
[dir=rtl] .arrow::before { content: "→"; }
.card { position: relative; overflow: hidden; padding: 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem; box-shadow: var(--shadow); }
.foot { max-inline-size: 30rem; margin: 1.5rem auto 0; text-align: center; font-size: .95rem; }
.languages { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; justify-content: center; margin-block-start: .5rem; }
.languages select { min-block-size: 2.25rem; padding: .2rem .5rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--card); }

.main, .second, .plain-button {
  cursor: pointer; border-radius: .75rem; text-align: center; text-decoration: none; font-weight: 600;
}
.main, .second { display: block; inline-size: 100%; padding: .8rem 1rem; margin-block-start: 1rem; }
.js .second { display: block; }
.main { border: 1px solid var(--fill); background: var(--fill); color: var(--fill-ink); }
.second { border: 1px solid var(--edge); background: none; color: var(--main); }
.second.live { display: none; }
.js .second.live { display: block; }
.plain-button { min-block-size: 2.25rem; padding: .2rem .8rem; border: 1px solid var(--edge); background: none; color: var(--main); font-weight: 500; border-radius: .5rem; }
.main:hover, .second:hover, .plain-button:hover, .copy:hover { filter: brightness(.94); }
.main:active, .second:active { transform: translateY(1px); }

.status { display: flex; gap: .6rem; align-items: baseline; color: var(--tone); }
.status::before { content: ""; flex: none; inline-size: .7rem; block-size: .7rem; border-radius: 50%; background: var(--tone); }
.choose .status { color: inherit; }
.choose .status::before, .good .status::before, .bad .status::before { content: none; }
.good .status, .bad .status { justify-content: center; text-align: center; font-size: 1.5rem; }
.head .status { font-size: 1.0625rem; }
.tick { display: block; inline-size: 5rem; margin: 1rem auto .75rem; fill: var(--good-ground); stroke: var(--good); stroke-width: 3; stroke-linecap: round; stroke-linejoin: round; }
.tick path { fill: none; }
.bad .tick { fill: var(--bad-ground); stroke: var(--bad); }
.note { margin-block-start: 1rem; padding: .75rem 1rem; border: 1px solid var(--warn-line); border-radius: .75rem; background: var(--warn-ground); }

.problem { max-inline-size: 30rem; margin: 12vh auto 0; padding: 2rem 1.5rem; text-align: center; }
.problem h1 { font-size: 1.5rem; line-height: 1.3; margin-block-end: .5rem; }

.sandbox { margin-block-start: 1.25rem; padding: 1rem 1.25rem; border: 2px dashed var(--warn-line); border-radius: 1rem; }
.sandbox h2 { font-size: 1rem; }
.sandbox p { color: var(--quiet); }
.buttons { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(9.5rem, 100%), 1fr)); gap: .5rem; margin-block-start: .75rem; }
.buttons button { min-block-size: 2.75rem; padding: .4rem .6rem; border: 1px solid var(--edge); border-radius: .6rem; background: var(--card); cursor: pointer; }
.buttons button:hover { border-color: var(--main); color: var(--main); }

@media (max-width: 22.5rem) {
  body { padding-inline: .5rem; }
  .banner, .offline { margin-inline: -.5rem; }
}
@media (max-width: 30rem) {
  .card { padding: 1rem; }
}
@media (min-width: 62rem) {
  .view, .foot { max-inline-size: 68rem; }
  .view { display: grid; grid-template: auto auto 1fr / 17rem minmax(0, 1fr); gap: 0 2.5rem; padding-block-start: 3rem; align-items: start; }
  .summary { padding-block: .5rem 0; row-gap: .75rem; }
  .payee { flex-basis: calc(100% - 8rem); }
  .total { flex-basis: 100%; font-size: 2.5rem; }
  .card { grid-area: 1 / 2 / 4; padding: 2rem; }
  .sandbox { grid-column: 2; }
  .foot { padding-inline-start: 19.5rem; }
  .problem { max-inline-size: 34rem; }
}
@media (prefers-reduced-motion: no-preference) {
  .calm .status::before { animation: breathe 2.4s ease-in-out infinite; }
  .good .tick path { stroke-dasharray: 1; animation: draw .5s .15s ease-out backwards; }
  .good .tick circle { animation: pop .35s ease-out; transform-origin: center; }
  .ring .left { transition: stroke-dasharray .5s; }
  @keyframes breathe { 50% { opacity: .35; } }
  @keyframes draw { from { stroke-dashoffset: 1; } }
  @keyframes pop { from { transform: scale(.6); opacity: 0; } }
}
@media (forced-colors: active) {
  .main, .copy, .box, .card, .note { border: 1px solid; }
  .ring .left, .tick { stroke: CanvasText; }
  .bar rect { fill: CanvasText; }
}
@media print {
  :root { --ground: #fff; --card: #fff; --ink: #000; --quiet: #333; --line: #999; --shadow: none; }
  body { color: #000; background: #fff; font-size: 11pt; padding: 0; }
  .banner { border: 1px solid #999; margin: 0; }
  .bar, .sandbox, .foot, .main, .second, .copy, .going, .return, .offline, .switch { display: none !important; }
  .view { display: block; max-inline-size: none; padding: 0; }
  .summary { text-align: start; }
  .card { border: 0; padding: 0; }
  .tick, .logo { margin: 0; }
  .tick { inline-size: 2.5rem; }
  .good .status { justify-content: start; }
}
`;

/** Without comments, indentation, and needless spaces. */
const compact = (sheet: string): string =>
  sheet
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s*([{}])\s*/g, '$1')
    .replace(/([;:,])\s+/g, '$1')
    .replaceAll(';}', '}')
    .trim();

const HASH_CHARACTERS = 16;
const hashOf = (sheet: string): string => createHash('sha256').update(sheet).digest('hex').slice(0, HASH_CHARACTERS);

const sheet = `${browserFile('static/tokens.css')}${BASE}${PAY_STYLE}`;
const used = new Set([...`${sheet}${LINKS}`.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name));

/** The sheet of every page, without the tokens that only the console uses. */
export const STYLE = compact(sheet).replace(/(--[\w-]+):[^;}]*;?/g, (token, name) => (used.has(name) ? token : ''));

/** The pages of payment links and of refunds load it beside `STYLE`. */
export const LINK_STYLE = compact(LINKS);

/** Their paths below the payment pages. */
export const STYLE_PATH = `assets/page.${hashOf(STYLE)}.css`;
export const LINK_STYLE_PATH = `assets/links.${hashOf(LINK_STYLE)}.css`;
