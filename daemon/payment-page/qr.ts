/** QR codes as inline SVG: sharp at any size, and black on white in dark mode too. */
import { LRUCache } from 'lru-cache';
import qrcode from 'qrcode';
import type { AssetId } from '../domain/assets.ts';
import { Html, html } from './html.ts';
import { coinMark } from './icons.ts';

/** ISO/IEC 18004: the quiet zone is four modules wide. */
const QUIET_MODULES = 4;
const CACHED_MAX = 500;

/** A payer's page is requested every few seconds, always with the same code. */
const cache = new LRUCache<string, string>({ max: CACHED_MAX });

/**
 * The part of the symbol's width that the coin's mark covers, with its white rim: about one in thirty modules. Error
 * correction M restores one in seven.
 */
const MARK_SHARE = 0.16;
const MARK_RIM = 1.2;
const MARK_SIZE = 32;

/** One path with a rectangle for each horizontal run of dark modules. */
function draw(text: string): { path: string; symbol: number } {
  const { modules } = qrcode.create(text, { errorCorrectionLevel: 'M' });
  let path = '';
  for (let y = 0; y < modules.size; y++) {
    for (let x = 0; x < modules.size; x++) {
      if (!modules.get(y, x)) continue;
      const start = x;
      while (x < modules.size && modules.get(y, x)) x++;
      path += `M${start} ${y}h${x - start}v1h-${x - start}z`;
    }
  }
  return { path, symbol: modules.size };
}

/** The mark on a white disc in the middle of the code. `symbol`: the modules of a side. */
function markOf(asset: AssetId, symbol: number): Html {
  const radius = (symbol * MARK_SHARE) / 2;
  const at = symbol / 2;
  return html`<circle cx="${at}" cy="${at}" r="${round(radius * MARK_RIM)}" fill="#fff"/><g shape-rendering="auto" transform="translate(${round(at - radius)} ${round(at - radius)}) scale(${round((2 * radius) / MARK_SIZE)})">${coinMark(asset)}</g>`;
}

const round = (length: number): number => Math.round(length * 1_000) / 1_000;

/** The QR code of a text, error correction M, with the coin's mark in its middle. `label`: the text for screen readers. */
export function qrSvg(text: string, label: string, asset: AssetId, kind: 'plain' | 'full' = 'plain'): Html {
  const key = `${asset} ${text}`;
  let picture = cache.get(key);
  if (picture === undefined) {
    const { path, symbol } = draw(text);
    const side = symbol + 2 * QUIET_MODULES;
    picture =
      html`viewBox="-${QUIET_MODULES} -${QUIET_MODULES} ${side} ${side}" shape-rendering="crispEdges"><rect x="-${QUIET_MODULES}" y="-${QUIET_MODULES}" width="${side}" height="${side}" fill="#fff"/><path d="${path}"/>${markOf(asset, symbol)}`
        .markup;
    cache.set(key, picture);
  }
  return html`<svg class="qr ${kind}" role="img" aria-label="${label}" ${new Html(picture)}</svg>`;
}
