/** QR codes as inline SVG: no image to load, sharp at any size, and black on white in dark mode too. */
import { LRUCache } from 'lru-cache';
import qrcode from 'qrcode';
import { Html, html } from './html.ts';

/** ISO/IEC 18004: the quiet zone is four modules wide. */
const QUIET_MODULES = 4;
const CACHED_MAX = 500;

/** A payer's page is read anew every few seconds, always with the same code. */
const cache = new LRUCache<string, string>({ max: CACHED_MAX });

/** One path of a rectangle for every run of dark modules in a row. */
function draw(text: string): { path: string; size: number } {
  const { modules } = qrcode.create(text, { errorCorrectionLevel: 'M' });
  let path = '';
  for (let y = 0; y < modules.size; y++) {
    for (let x = 0; x < modules.size; x++) {
      if (!modules.get(y, x)) continue;
      const start = x;
      while (x < modules.size && modules.get(y, x)) x++;
      path += `M${start + QUIET_MODULES} ${y + QUIET_MODULES}h${x - start}v1h-${x - start}z`;
    }
  }
  return { path, size: modules.size + 2 * QUIET_MODULES };
}

/** The QR code of a text, error correction M. `label` is for who cannot see it. */
export function qrSvg(text: string, label: string, kind: 'plain' | 'full' = 'plain'): Html {
  let picture = cache.get(text);
  if (picture === undefined) {
    const { path, size } = draw(text);
    picture =
      html`viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}"/>`
        .markup;
    cache.set(text, picture);
  }
  return html`<svg class="qr ${kind}" role="img" aria-label="${label}" ${new Html(picture)}</svg>`;
}
