/** The style sheet for the pages of payment links and of refunds, beside that of every page. */
export const LINKS = `
.link h1 { font-size: 1.5rem; line-height: 1.25; }
.said { margin-block-start: .25rem; white-space: pre-line; }
.order { margin-block-start: 1.25rem; }
.order > .quiet { margin-block-start: .75rem; text-align: center; }
.items { list-style: none; border-block-start: 1px solid var(--line); }
.items li { display: flex; gap: .75rem; align-items: center; justify-content: space-between; padding-block: .75rem; border-block-end: 1px solid var(--line); }
.items label { flex: 1 1 auto; min-inline-size: 0; }
.items label .quiet { display: block; }
.card > .note:first-child { margin-block: 0 1rem; }
.items input { inline-size: 5.5rem; text-align: center; }
.order input:not([type=radio]), .typed { min-block-size: 3rem; padding: .4rem .75rem; border: 1px solid var(--edge); border-radius: .75rem; background: var(--field); font-size: 1.125rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin-block-end: 1rem; border: 0; }
.tile { position: relative; flex: 1 0 auto; min-inline-size: 5.5rem; cursor: pointer; }
.tile input { position: absolute; inset: 0; inline-size: 100%; block-size: 100%; margin: 0; opacity: 0; cursor: pointer; }
.tile span { display: block; padding: 1.1rem .5rem; border: 1px solid var(--edge); border-radius: .75rem; text-align: center; font-size: 1.25rem; font-weight: 600; white-space: nowrap; }
.tile :checked + span { border: 2px solid var(--main); padding: calc(1.1rem - 1px) .5rem; color: var(--main); }
.tile :focus-visible + span { outline: 3px solid var(--main); outline-offset: 2px; }
.field label { display: block; margin-block-end: .35rem; font-weight: 600; }
.with-unit { display: flex; gap: .75rem; align-items: center; }
.cells { display: grid; grid-template-columns: repeat(4, 1fr); margin-block: .75rem 0; border: 1px solid var(--edge); border-radius: .75rem; overflow: hidden; list-style: none; text-align: center; }
.cells li { padding: .4rem .2rem; border: 1px solid var(--line); margin: -1px 0 0 -1px; }
.cells small { display: block; color: var(--quiet); font-size: .9375rem; }
.cells b { font-size: 1.125rem; overflow-wrap: anywhere; }
.final { margin-block-start: .75rem; text-align: center; }
.card .net { margin-block-start: 1.25rem; }
.steps { margin-block: 1rem; list-style: none; }
.steps li { position: relative; padding-block: .4rem; padding-inline-start: 2.25rem; overflow-wrap: anywhere; }
.steps li::before { content: ""; position: absolute; inset-inline-start: .2rem; inset-block-start: .6rem; inline-size: 1rem; block-size: 1rem; border: 2px dashed var(--edge); border-radius: 50%; }
.steps .past::before { border: 2px solid var(--good); background: var(--good); }
.steps .now::before { border: 4px double var(--main); }
.steps .later { color: var(--quiet); }
.with-unit .quiet { flex: none; }
.with-unit input, .typed { flex: 1 1 auto; inline-size: 100%; min-inline-size: 0; }
`;
