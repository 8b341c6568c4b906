/** Decorative pictures drawn as paths, because a font may lack a coin's sign. */
import type { AssetId } from '../domain/assets.ts';
import { type Html, html } from './html.ts';

/** A coin's sign in white on its colour, in a square of 32. `line` is stroked, `shape` is filled. */
type Mark = { colour: string; line?: string; shape?: string; turn?: number };

const LETTER_B =
  'M12.2 9.2h5.4a3.3 3.3 0 0 1 0 6.6h-4 5a3.5 3.5 0 0 1 0 7h-6.4M13.8 9.2v13.6M15.2 6.4v2.8M18.4 6.4v2.8M15.2 22.8v2.8M18.4 22.8v2.8';
const LETTER_T: Omit<Mark, 'colour'> = {
  shape: 'M9 8h14v3.8h-5.1v13h-3.8v-13H9z',
  line: 'M14.1 14.2c-4 .2-7 1-7 2s4 2 8.9 2 8.9-.9 8.9-2-3-1.8-7-2',
};

const MARKS: Readonly<Record<AssetId, Mark>> = {
  BTC: { colour: '#c87d1e', line: LETTER_B, turn: 13 },
  BCH: { colour: '#4f9447', line: LETTER_B, turn: -15 },
  LTC: { colour: '#2f5597', line: 'M16.6 7.6l-3.8 15.4h8.6M10.6 18.4l8.4-3.6' },
  XMR: { colour: '#4a5561', line: 'M6.8 20.6h4.2v-9.6l5 5.4 5-5.4v9.6h4.2' },
  ETH: { colour: '#627eea', shape: 'M16 5l6.8 11.3L16 20.4l-6.8-4.1zM9.2 18.2L16 27l6.8-8.8-6.8 4.1z' },
  BNB: {
    colour: '#b8860b',
    shape:
      'M16 13.3l2.7 2.7-2.7 2.7-2.7-2.7zM9 13.3l2.7 2.7L9 18.7 6.3 16zM23 13.3l2.7 2.7-2.7 2.7-2.7-2.7zM16 6.3l6 6-2.3 2.3-3.7-3.7-3.7 3.7-2.3-2.3zM16 25.7l6-6-2.3-2.3-3.7 3.7-3.7-3.7-2.3 2.3z',
  },
  USDT_ERC20: { colour: '#2b8696', ...LETTER_T },
  USDT_BEP20: { colour: '#2b8696', ...LETTER_T },
  XAUT: { colour: '#9a7b1a', shape: 'M11.5 11.5h9l3.5 9.5H8z' },
  PAXG: { colour: '#b08d1e', shape: 'M13.2 9.5h5.6l1.8 5.5h-9.2zM8 17h5.6l1.8 5.5H6.2zM18.4 17H24l1.8 5.5h-9.2z' },
};

/** The mark without its frame, for use inside another picture. */
export function coinMark(asset: AssetId): Html {
  const { colour, line, shape, turn } = MARKS[asset];
  const drawn = html`${shape ? html`<path fill="#fff" d="${shape}"/>` : null}${line ? html`<path fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round" d="${line}"/>` : null}`;
  return html`<circle cx="16" cy="16" r="16" fill="${colour}"/>${turn ? html`<g transform="rotate(${turn} 16 16)">${drawn}</g>` : drawn}`;
}

export const coin = (asset: AssetId): Html =>
  html`<svg class="coin" viewBox="0 0 32 32" aria-hidden="true">${coinMark(asset)}</svg>`;

export const TICK = html`<svg class="tick" viewBox="0 0 56 56" aria-hidden="true"><circle cx="28" cy="28" r="26"/><path d="M17 29l8 8 15-17" pathLength="1"/></svg>`;

export const CROSS = html`<svg class="tick" viewBox="0 0 56 56" aria-hidden="true"><circle cx="28" cy="28" r="26"/><path d="M20 20l16 16M36 20l-16 16"/></svg>`;

/** The remaining time of a price: full when the page loads, moved by its script. */
export const TIME_BAR = html`<svg class="bar live" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect class="left" width="100" height="1"/></svg>`;

/** Confirmations as a ring with one piece for each. */
export function ring(have: number, need: number): Html {
  const total = Math.max(need, 1);
  const done = Math.min(have, total);
  return html`<svg class="ring" viewBox="0 0 120 120" aria-hidden="true"><circle cx="60" cy="60" r="52"/><circle class="left" cx="60" cy="60" r="52" pathLength="${total}" stroke-dasharray="${done} ${total}"/><text x="60" y="60" text-anchor="middle" dominant-baseline="central">${have}<tspan class="of">/${need}</tspan></text></svg>`;
}
