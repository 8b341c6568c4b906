/** The style sheet for choosing, paying, waiting and the receipt. */

export const PAY_STYLE = `
.coin { flex: none; inline-size: 2rem; block-size: 2rem; }
.offers { list-style: none; display: grid; gap: .5rem; align-items: start; margin-block-start: .75rem; }
.offers > li { display: grid; }
.offer {
  display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .25rem .45rem; align-items: center; inline-size: 100%;
  min-block-size: 4.25rem; padding: .5rem; border: 1px solid var(--line); border-radius: .75rem; background: none; text-align: start;
}
button.offer, summary.offer { cursor: pointer; }
button.offer:hover, summary.offer:hover { border-color: var(--main); background: var(--field); }
.offer:focus-visible { border-radius: .75rem; }
.names { display: grid; line-height: 1.4; font-variant-numeric: tabular-nums; }
.line { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .25rem; }
.figure { margin-inline-start: auto; white-space: nowrap; }
.offer .quiet { font-size: .9375rem; }
.networks summary { list-style: none; }
.networks summary::-webkit-details-marker { display: none; }
.networks summary .quiet span::after { content: " ▾"; content: " ▾" / ""; color: var(--main); }
.networks[open] summary .quiet span::after { content: " ▴"; content: " ▴" / ""; }
.networks .offers { margin: .5rem 0 .25rem; margin-inline-start: 1rem; padding-inline-start: .75rem; border-inline-start: 2px solid var(--line); }
.networks .offers .offer { grid-template-columns: minmax(0, 1fr); min-block-size: 3rem; }
.shut { min-block-size: 0; background: var(--field); color: var(--quiet); }
.shut .names { font-size: .9375rem; }
.shut .coin { filter: grayscale(1); opacity: .6; }
.choose > .quiet { margin-block-start: 1rem; }

.head { display: flex; gap: 0 .75rem; align-items: baseline; justify-content: space-between; }
.bar { position: absolute; inset: 0 0 auto; inline-size: 100%; block-size: 4px; background: var(--line); }
.bar rect { fill: var(--main); }
[dir=rtl] .bar { transform: scaleX(-1); }
.left-text { flex: none; font-variant-numeric: tabular-nums; font-weight: 600; }
.soon .left-text { color: var(--warn); }
.soon .bar rect { fill: var(--warn); }
.more { margin-block-start: .75rem; }
.send { display: grid; gap: 1.25rem; margin-block-start: 1rem; }
.amount { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; justify-content: space-between; font-size: clamp(1.3rem, 6.2vw, 1.75rem); font-weight: 600; line-height: 1.3; letter-spacing: -.01em; }
.chip { display: inline-flex; gap: .5rem; align-items: center; max-inline-size: 100%; margin-block: .35rem .5rem; padding-block: .25rem; padding-inline: .3rem .8rem; border: 1px solid var(--line); border-radius: 1.25rem; background: var(--field); font-weight: 600; line-height: 1.3; }
.chip .coin { inline-size: 1.5rem; block-size: 1.5rem; }
.copy {
  position: relative; flex: none; min-inline-size: 5rem; min-block-size: 2.75rem; padding: .3rem .8rem; visibility: hidden;
  border: 1px solid var(--edge); border-radius: .5rem; background: var(--card); color: var(--main); cursor: pointer;
  font-size: .95rem; font-weight: 600; letter-spacing: 0;
}
.js .copy { visibility: visible; }
@media (scripting: none) { .copy { display: none; } }
.copy .done { display: none; color: var(--good); }
.copied .done { display: inline; }
.copied .idle { display: none; }
.copied { border-color: var(--good); background: var(--good-ground); }
.scan figure { text-align: center; }
.scan figcaption { display: grid; font-size: .95rem; }
.scan figcaption b { font-weight: 600; }
.qr { display: block; inline-size: 16rem; max-inline-size: 100%; block-size: auto; margin: 0 auto .5rem; border: 1px solid var(--line); border-radius: .75rem; }
.full { display: none; }
.send.stale { display: none; }
.send:has(.full-switch:checked) .full { display: block; }
.send:has(.full-switch:checked) .plain { display: none; }
.switch { margin-block-start: .5rem; font-size: .95rem; }
.switch label { display: flex; gap: .6rem; align-items: center; justify-content: center; min-block-size: 2.75rem; cursor: pointer; }
.switch input { flex: none; inline-size: 1.25rem; block-size: 1.25rem; margin: 0; accent-color: var(--main); }
.box { display: grid; gap: .6rem; margin-block: .4rem .5rem; padding: .75rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--field); }
.address { font-size: 1.05rem; line-height: 1.7; overflow-wrap: normal; font-variant-ligatures: none; }
.mono span { margin-inline-end: .5em; white-space: nowrap; }
.mono .comma { margin: 0; font-size: 0; }
.comma::before { content: ","; content: "," / ""; font-size: clamp(1.3rem, 6.2vw, 1.75rem); }
.where { font-size: .95rem; }
.net { padding: .75rem; border: 1px solid var(--warn-line); border-radius: .75rem; background: var(--warn-ground); }
.net bdi { white-space: nowrap; }
.net p + p { margin-block-start: .3rem; }
.contract .mono { display: block; font-size: .9375rem; }
.quote { font-size: .95rem; }
.quote p + p { margin-block-start: .5rem; }

.change { margin-block-start: 1.25rem; padding-block-start: .5rem; border-block-start: 1px solid var(--line); }
.change summary { padding-block: .65rem; color: var(--main); font-weight: 600; cursor: pointer; }
.change .offers { align-items: stretch; grid-template-columns: repeat(auto-fill, minmax(min(13rem, 100%), 1fr)); }
.change .offer { grid-template-columns: 1fr; gap: 0; min-block-size: 3rem; }

.wait { display: grid; justify-items: center; gap: .35rem; margin-block: 1.5rem; text-align: center; }
.ring { inline-size: 9rem; block-size: 9rem; margin-block-end: .5rem; fill: none; stroke-width: 9; }
.ring circle { stroke: var(--line); }
.ring .left { stroke: var(--tone); transform: rotate(-90deg); transform-origin: center; }
.ring text { fill: var(--ink); font-size: 2.4rem; font-weight: 600; stroke: none; font-variant-numeric: tabular-nums; direction: ltr; }
.ring .of { font-size: 1.3rem; font-weight: 500; fill: var(--quiet); }
.wait p, .going { text-wrap: balance; }
.count { font-size: 1.15rem; font-weight: 600; }

.details { margin-block-start: 1.25rem; padding-block-start: 1rem; border-block-start: 1px solid var(--line); }
.details ul { list-style: none; }
.details li { padding-block: .5rem; }
.details summary { padding-block: .65rem; color: var(--quiet); cursor: pointer; }
.txid { display: block; font-size: .9375rem; }
.going { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: center; margin-block-start: .75rem; text-align: center; }
/* who keeps or prints a receipt gets every word of it */
.receipt .clip { display: inline; -webkit-line-clamp: none; line-clamp: none; overflow: visible; }
.receipt { margin-block-start: 1.5rem; padding-block-start: 1.25rem; border-block-start: 1px solid var(--line); }
.mail { margin-block-start: 1.25rem; }
.mail label { font-weight: 600; }
.mail input { inline-size: 100%; min-block-size: 2.75rem; padding: .4rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--field); }
.mail .second { display: block; margin-block: .5rem; }
@media print { .mail { display: none; } }
dl > div { display: grid; grid-template-columns: fit-content(45%) minmax(0, 1fr); gap: .75rem; padding-block: .45rem; border-block-end: 1px solid var(--line); }
dt { color: var(--quiet); overflow-wrap: break-word; }
dd { text-align: end; }
dl .mono { font-size: .9375rem; }

@media (min-width: 62rem) {
  .choose .offers { grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); }
  .choose .offers .offers { grid-template-columns: 1fr; }
  .send { grid-template-columns: 20rem minmax(0, 1fr); grid-template-rows: auto auto 1fr; gap: 1.25rem 2rem; }
  .qr { inline-size: 20rem; }
  .scan { grid-column: 1; grid-row: 1 / span 3; }
  .what { grid-column: 2; grid-row: 1; }
  .where { grid-column: 2; grid-row: 2; }
  .quote { grid-column: 2; grid-row: 3; }
}
@media (min-width: 62rem) and (pointer: fine) {
  .open .main { background: none; color: var(--main); border-color: var(--edge); }
}
`;
