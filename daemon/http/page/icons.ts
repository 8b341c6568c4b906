/** Small pictures that only accompany words: a coin's colour and sign, a tick, a clock. */
import type { AssetId } from '../../domain/assets.ts';
import { type Html, html } from './html.ts';

const COINS: Readonly<Record<AssetId, readonly [colour: string, sign: string]>> = {
  BTC: ['#f7931a', '₿'],
  BCH: ['#0ac18e', '₿'],
  LTC: ['#345d9d', 'Ł'],
  XMR: ['#f26822', 'ɱ'],
  ETH: ['#627eea', 'Ξ'],
  BNB: ['#d59f00', 'B'],
  USDT_ERC20: ['#26a17b', '₮'],
  USDT_BEP20: ['#26a17b', '₮'],
  XAUT: ['#b08d1e', 'Au'],
  PAXG: ['#c4a33a', 'Au'],
};

export function coin(asset: AssetId): Html {
  const [colour, sign] = COINS[asset];
  const size = sign.length > 1 ? 15 : 20;
  return html`<svg class="coin" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="16" fill="${colour}"/><text x="16" y="17" font-size="${size}" font-weight="700" text-anchor="middle" dominant-baseline="central" fill="#fff">${sign}</text></svg>`;
}

export const TICK = html`<svg class="tick" viewBox="0 0 56 56" aria-hidden="true"><circle cx="28" cy="28" r="26"/><path d="M17 29l8 8 15-17" pathLength="1"/></svg>`;

export const CROSS = html`<svg class="tick" viewBox="0 0 56 56" aria-hidden="true"><circle cx="28" cy="28" r="26"/><path d="M20 20l16 16M36 20l-16 16"/></svg>`;

/** What is left of the quote, as a ring: full as the page comes, moved on by its script. */
export const CLOCK = html`<svg class="clock" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="8"/><circle class="left" cx="10" cy="10" r="8" pathLength="100" stroke-dasharray="100 100"/></svg>`;

/** So many of so many confirmations, as a ring of as many pieces. */
export function ring(have: number, need: number): Html {
  const total = Math.max(need, 1);
  const done = Math.min(have, total);
  return html`<svg class="ring" viewBox="0 0 120 120" aria-hidden="true"><circle cx="60" cy="60" r="52"/><circle class="left" cx="60" cy="60" r="52" pathLength="${total}" stroke-dasharray="${done} ${total}"/><text x="60" y="60" text-anchor="middle" dominant-baseline="central">${have}<tspan class="of">/${need}</tspan></text></svg>`;
}
