/** The part of the style sheet for choosing, paying, waiting and the receipt. */

export const PAY_STYLE = `
.coin { flex: none; inline-size: 2rem; block-size: 2rem; font-family: system-ui, sans-serif; }
fieldset { border: 0; min-inline-size: 0; }
legend { padding: 0; margin-block-end: .75rem; }
.offer {
  display: grid; grid-template-columns: auto auto minmax(0, 1fr); gap: .65rem; align-items: center;
  padding: .7rem .75rem; margin-block-start: .5rem; border: 1px solid var(--line); border-radius: .9rem; cursor: pointer;
}
.names { line-height: 1.4; font-variant-numeric: tabular-nums; }
.names .line { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .75rem; }
.names .quiet { font-size: .9375rem; }
.offer:hover { border-color: var(--main); }
.offer:has(input:checked) { border-color: var(--main); box-shadow: 0 0 0 1px var(--main); background: var(--field); }
.offer:focus-within { outline: 3px solid var(--main); outline-offset: 2px; }
.offer input { inline-size: 1.25rem; block-size: 1.25rem; margin: 0; accent-color: var(--main); }
.offer input:focus-visible { outline: none; }
div.offer { grid-template-columns: auto minmax(0, 1fr); cursor: auto; }
div.offer:hover { border-color: var(--line); }
.shut, .shut:hover { cursor: not-allowed; background: var(--field); border-color: var(--line); color: var(--quiet); }
.shut .coin { filter: grayscale(1); opacity: .6; }
.choose > .quiet { margin-block-start: 1rem; }

.more { margin-block-start: .75rem; }
.send { display: grid; gap: 1.25rem; margin-block-start: 1.25rem; }
.amount { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; justify-content: space-between; font-size: clamp(1.3rem, 6.2vw, 1.75rem); font-weight: 650; line-height: 1.3; letter-spacing: -.01em; }
.copy {
  position: relative; flex: none; min-inline-size: 5rem; min-block-size: 2.5rem; padding: .3rem .8rem; visibility: hidden;
  border: 1px solid var(--edge); border-radius: .6rem; background: var(--card); color: var(--main); cursor: pointer;
  font-size: .95rem; font-weight: 600; letter-spacing: 0;
}
.js .copy { visibility: visible; }
@media (scripting: none) { .copy { display: none; } }
.copy .done { display: none; color: var(--good); }
.copied .done { display: inline; }
.copied .idle { display: none; }
.copied { border-color: var(--good); background: var(--good-ground); }
.scan figure { text-align: center; }
.scan figcaption { font-size: .95rem; }
.qr { display: block; inline-size: 15rem; max-inline-size: 100%; block-size: auto; margin: 0 auto .5rem; border: 1px solid var(--line); border-radius: 1rem; }
.full { display: none; }
.send:has(.full-switch:checked) .full { display: block; }
.send:has(.full-switch:checked) .plain { display: none; }
.switch { margin-block-start: .5rem; font-size: .95rem; }
.switch label { display: flex; gap: .6rem; align-items: center; justify-content: center; min-block-size: 2.5rem; cursor: pointer; }
.switch input { inline-size: 1.25rem; block-size: 1.25rem; margin: 0; accent-color: var(--main); }
.box { display: grid; gap: .6rem; margin-block-start: .4rem; padding: .8rem .9rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--field); }
.box .copy { justify-self: stretch; }
.address { font-size: 1.05rem; line-height: 1.7; overflow-wrap: normal; }
.address span { margin-inline-end: .5em; white-space: nowrap; }
.address span:nth-of-type(-n+2), .address span:nth-last-of-type(-n+2) { font-weight: 700; color: var(--main); }
.net { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .75rem; margin-block-start: .75rem; padding: .8rem .9rem; border: 1px solid var(--warn-line); border-radius: .9rem; background: var(--warn-ground); font-size: .95rem; }
.net p + p { margin-block-start: .3rem; }
.contract .mono { display: block; font-size: .9375rem; }
.holds { display: flex; gap: .75rem; align-items: start; }
.clock { display: none; flex: none; inline-size: 1.5rem; block-size: 1.5rem; transform: rotate(-90deg); fill: none; stroke-width: 3; }
.js .clock { display: block; }
.clock circle { stroke: var(--line); }
.clock .left { stroke: var(--main); }
.soon .clock .left { stroke: var(--warn); }
.left-text { font-variant-numeric: tabular-nums; display: inline-block; min-inline-size: 3.2em; }
.soon .left-text { color: var(--warn); }
.quote { font-size: .95rem; }
.quote p + p { margin-block-start: .6rem; }

.wait { display: grid; justify-items: center; gap: .35rem; margin-block: 1.5rem; text-align: center; }
.ring { inline-size: 9rem; block-size: 9rem; margin-block-end: .5rem; fill: none; stroke-width: 9; }
.ring circle { stroke: var(--line); }
.ring .left { stroke: var(--tone); transform: rotate(-90deg); transform-origin: center; }
.ring text { fill: var(--ink); font-size: 2.4rem; font-weight: 700; stroke: none; font-variant-numeric: tabular-nums; direction: ltr; }
.ring .of { font-size: 1.3rem; font-weight: 500; fill: var(--quiet); }
.wait p, .scan figcaption, .going { text-wrap: balance; }
.count { font-size: 1.15rem; font-weight: 600; }

.details { margin-block-start: 1.25rem; padding-block-start: 1rem; border-block-start: 1px solid var(--line); }
.details ul { list-style: none; }
.details li { padding-block: .5rem; }
.details summary { padding-block: .4rem; color: var(--quiet); cursor: pointer; }
.txid { display: block; font-size: .9375rem; }
.going { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: center; margin-block-start: .75rem; text-align: center; }
.receipt { margin-block-start: 1.5rem; padding-block-start: 1.25rem; border-block-start: 1px dashed var(--edge); }
.receipt dl { margin-block-start: .5rem; }
.receipt dl > div { display: grid; grid-template-columns: minmax(6.5rem, 30%) minmax(0, 1fr); gap: .75rem; padding-block: .45rem; border-block-end: 1px solid var(--line); }
.receipt dt { color: var(--quiet); }
.receipt dd { text-align: end; }
.receipt .mono { font-size: .9375rem; }

@media (min-width: 62rem) {
  .send { grid-template-columns: 15rem minmax(0, 1fr); grid-template-rows: auto auto 1fr; gap: 1.25rem 2rem; }
  .scan { grid-column: 1; grid-row: 1 / span 3; }
  .what { grid-column: 2; grid-row: 1; }
  .where { grid-column: 2; grid-row: 2; }
  .quote { grid-column: 2; grid-row: 3; }
}
`;
