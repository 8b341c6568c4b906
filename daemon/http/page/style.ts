/** The page's style sheet, served under a name that holds its hash, so that browsers may keep it for ever. */
import { createHash } from 'node:crypto';

/** Colours have a contrast of at least 4.5 on their grounds, in light and dark. Phone first; nothing is below 16 px. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f3f5f7; --card: #fff; --ink: #17212b; --quiet: #55636f; --line: #d9dfe5; --field: #f6f8fa;
  --main: #0b5cad; --main-ink: #fff; --good: #12703c; --warn: #8a4b00; --bad: #a3201c;
  --warn-ground: #fff5e5; --warn-line: #f0cf9b; --shadow: 0 1px 2px #0f1c2810, 0 8px 28px #0f1c2814;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1419; --card: #182028; --ink: #e8edf2; --quiet: #a3b1bd; --line: #33404c; --field: #10171e;
    --main: #7db8f5; --main-ink: #0a1a2a; --good: #6fd39a; --warn: #f3bd6c; --bad: #ff9d96;
    --warn-ground: #2b2212; --warn-line: #5e4a22; --shadow: none;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; padding: 0 1rem 2rem; background: var(--ground); color: var(--ink); --tone: var(--main);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: anywhere;
}
body.good { --tone: var(--good); }
body.warn { --tone: var(--warn); }
body.bad { --tone: var(--bad); }
.card, .foot { max-width: 30rem; margin: 1.25rem auto 0; }
.card {
  padding: 1.5rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem;
  box-shadow: var(--shadow);
}
h1, h2, h3, p, ol, ul, figure, fieldset { margin: 0; padding: 0; }
h2 { font-size: 1.25rem; line-height: 1.3; }
h3 { font-size: 1rem; font-weight: 600; margin-top: 1.5rem; }
p { margin-top: .5rem; }
a { color: var(--main); }
.quiet { color: var(--quiet); }
.mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.pick { -webkit-user-select: all; user-select: all; }
.banner {
  margin: 0 -1rem; padding: .6rem 1rem; text-align: center; font-weight: 600; color: var(--warn);
  background: var(--warn-ground); border-bottom: 1px solid var(--warn-line);
}
.head { padding-bottom: 1.25rem; margin-bottom: 1.25rem; border-bottom: 1px solid var(--line); text-align: center; }
.head p { margin: 0; }
.payee bdi { color: var(--ink); font-weight: 600; }
.payee { color: var(--quiet); }
.total { font-size: 2.25rem; line-height: 1.25; font-weight: 700; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
.steps { display: flex; gap: .5rem; list-style: none; margin-bottom: 1.25rem; color: var(--quiet); }
.steps li { flex: 1; padding-top: .4rem; border-top: .25rem solid var(--line); }
.steps .past { border-color: var(--tone); }
.steps .now { border-color: var(--tone); color: var(--ink); font-weight: 600; }
.good .steps li { border-color: var(--good); }
.status { display: flex; gap: .6rem; align-items: baseline; color: var(--tone); }
.status::before { content: ""; flex: none; width: .7rem; height: .7rem; border-radius: 50%; background: var(--tone); }
.count { font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
progress { display: block; width: 100%; height: .6rem; margin: .6rem 0 .75rem; accent-color: var(--main); }
.check { display: block; width: 4.5rem; margin: 1.5rem auto .75rem; fill: none; stroke: var(--good); stroke-width: 3; stroke-linecap: round; stroke-linejoin: round; }
.good .status { justify-content: center; font-size: 1.5rem; }
.good .status::before { content: none; }
.good .status ~ p { text-align: center; }
.note, .warning {
  margin-top: 1rem; padding: .75rem 1rem; border: 1px solid var(--warn-line); border-radius: .6rem;
  background: var(--warn-ground);
}
.send figure { margin-top: 1.25rem; text-align: center; }
.qr { display: block; width: 15rem; max-width: 100%; height: auto; margin: 0 auto .35rem; border: 1px solid var(--line); border-radius: .75rem; }
.amount { display: flex; flex-wrap: wrap; gap: 0 .5rem; align-items: baseline; margin-top: .1rem; font-size: 1.6rem; font-weight: 600; line-height: 1.3; }
.address {
  margin-top: .5rem; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--field);
  font-size: 1.05rem; line-height: 1.7; overflow-wrap: normal;
}
.address span { margin-right: .5em; white-space: nowrap; }
.address span:nth-of-type(-n+2), .address span:nth-last-of-type(-n+2) { font-weight: 700; color: var(--main); }
.quote { margin-top: 1rem; }
.main {
  display: block; width: 100%; margin-top: 1.25rem; padding: .8rem 1rem; border: 1px solid var(--main);
  border-radius: .6rem; background: var(--main); color: var(--main-ink); font: inherit; font-weight: 600;
  text-align: center; text-decoration: none; cursor: pointer;
}
.main:hover { filter: brightness(1.08); }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
fieldset { border: 0; min-width: 0; }
legend { padding: 0; margin-bottom: .75rem; }
.offer {
  display: grid; grid-template-columns: auto 1fr; gap: .1rem .75rem; align-items: start; padding: .8rem 1rem;
  margin-top: .6rem; border: 1px solid var(--line); border-radius: .75rem; cursor: pointer;
}
.offer:hover { border-color: var(--main); }
.offer:has(input:checked) { border-color: var(--main); box-shadow: 0 0 0 1px var(--main); }
.offer:focus-within { outline: 3px solid var(--main); outline-offset: 2px; }
.offer input { width: 1.25rem; height: 1.25rem; margin: .15rem 0 0; accent-color: var(--main); }
.offer input:focus-visible { outline: none; }
.offer .line { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .75rem; grid-column: 2; font-variant-numeric: tabular-nums; }
div.offer { grid-template-columns: 0 1fr; gap: .1rem 0; cursor: auto; }
div.offer:hover { border-color: var(--line); }
.shut { cursor: not-allowed; background: var(--field); color: var(--quiet); }
.shut:hover { border-color: var(--line); }
.details ul { list-style: none; }
.details li { padding: .6rem 0; border-top: 1px solid var(--line); }
.details summary { padding: .5rem 0; color: var(--quiet); cursor: pointer; }
.txid { display: block; overflow-wrap: anywhere; }
.sandbox { border-style: dashed; box-shadow: none; }
.buttons { display: flex; flex-wrap: wrap; gap: .6rem; margin-top: .75rem; }
.buttons button {
  flex: 1 1 8rem; padding: .65rem .8rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--field);
  color: var(--ink); font: inherit; cursor: pointer;
}
.buttons button:hover { border-color: var(--main); }
.foot { text-align: center; }
.foot p { margin-top: .25rem; }
.problem { margin-top: 15vh; text-align: center; }
@media (min-width: 40rem) {
  .card { padding: 2rem; }
  .card, .foot { margin-top: 2rem; }
}
@media (prefers-reduced-motion: no-preference) {
  .calm .status::before { animation: breathe 2.4s ease-in-out infinite; }
  @keyframes breathe { 50% { opacity: .35; } }
}
`;

const HASH_CHARACTERS = 16;
const hash = createHash('sha256').update(STYLE).digest('hex').slice(0, HASH_CHARACTERS);

/** Where it lies, below the payment pages. */
export const STYLE_PATH = `assets/page.${hash}.css`;
