/** The addresses that a payment page tells a payer: in its text, in the buttons that copy, in the links to wallets, and in QR codes. */
import qrcode from 'qrcode';

/** Schemes of links that open a wallet: BIP-21 and its like, Monero's, EIP-681. */
const WALLET_LINK = /^(?:bitcoin|litecoin|monero|ethereum|bitcoincash|bchtest|bchreg):/i;
const FOUND_MAX = 50;
/** ISO/IEC 18004: version 40 has 177 modules; a quiet zone of 4 around it. */
const SYMBOL_SIDE_MAX = 177 + 2 * 4;

export type PageText = {
  /** The address in the text; null: the page shows none now. */
  address: string | null;
  /** The texts that its buttons copy. */
  copied: string[];
  links: string[];
  /** The dark modules of each QR code, as "x,y" from the first dark one; null: it is drawn in a way that is not known. */
  codes: (ReadonlySet<string> | null)[];
};

/** The parts of a page's HTML. Free texts, such as the order's description, are not looked at: strangers may write them. */
export function readPage(html: string): PageText {
  const [, part] = /data-part="address"[^>]*>([\s\S]*?)<\/p>/.exec(html) ?? [];
  const values = (pattern: RegExp) => [...html.matchAll(pattern)].slice(0, FOUND_MAX).map(([, text]) => plain(text!));
  return {
    address: part === undefined ? null : plain(part.replace(/<[^>]*>/g, '')).trim(),
    copied: values(/\bdata-copy="([^"]*)"/g),
    links: values(/\bhref="([^"]*)"/g).filter((link) => WALLET_LINK.test(link)),
    codes: [...html.matchAll(/<svg class="qr[^>]*>([\s\S]*?)<\/svg>/g)]
      .slice(0, FOUND_MAX)
      .map(([, svg]) => modulesOf(svg!)),
  };
}

/** The address in a link to a wallet, with the chain's own prefix if it has one; null: there is none. */
export function addressIn(link: string): string | null {
  const [, scheme = '', rest = ''] = /^([a-z]+):([^?]*)/i.exec(link) ?? [];
  const [, token] = /[?&]address=([^&]*)/.exec(link) ?? [];
  if (token !== undefined) return token;
  const bare = rest.replace(/@.*$/, '');
  if (bare === '') return null;
  return /^b(?:itcoincash|chtest|chreg)$/i.test(scheme) ? `${scheme}:${bare}` : bare;
}

/** Whether a QR code is the one of a text, with the error correction of payment pages. */
export function isCodeOf(code: ReadonlySet<string>, text: string): boolean {
  const { modules } = qrcode.create(text, { errorCorrectionLevel: 'M' });
  const dark: [number, number][] = [];
  for (let y = 0; y < modules.size; y++) {
    for (let x = 0; x < modules.size; x++) if (modules.get(y, x)) dark.push([x, y]);
  }
  const expected = fromFirst(dark);
  return expected.size === code.size && [...expected].every((one) => code.has(one));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#96;': '`',
};
const plain = (markup: string): string =>
  markup.replace(/&(?:amp|lt|gt|quot|#39|#96);/g, (one) => ENTITIES[one] ?? one);

/** The page draws each horizontal run of dark modules as a rectangle. */
function modulesOf(svg: string): ReadonlySet<string> | null {
  const [, path] = /<path d="([^"]*)"/.exec(svg) ?? [];
  if (path === undefined || !/^(?:M\d+ \d+h\d+v1h-\d+z)+$/.test(path)) return null;
  const dark: [number, number][] = [];
  for (const [, x, y, run] of path.matchAll(/M(\d+) (\d+)h(\d+)/g)) {
    if (Number(x) + Number(run) > SYMBOL_SIDE_MAX || Number(y) > SYMBOL_SIDE_MAX) return null;
    for (let i = 0; i < Number(run); i++) dark.push([Number(x) + i, Number(y)]);
  }
  return fromFirst(dark);
}

function fromFirst(dark: readonly [number, number][]): Set<string> {
  const left = Math.min(...dark.map(([x]) => x));
  const top = Math.min(...dark.map(([, y]) => y));
  return new Set(dark.map(([x, y]) => `${x - left},${y - top}`));
}
