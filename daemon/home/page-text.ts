/** The addresses that a payment page tells a payer: in its text, in the buttons that copy, in the links to wallets, and in QR codes. */
import qrcode from 'qrcode';
import { ASSETS } from '../domain/assets.ts';

/** The schemes that open no wallet. */
const PLAIN_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:', 'tel:', 'data:']);
/** Stands for the page's own address. */
const PAGE_URL = 'https://page.invalid/';
/** From the end of a tag to the next mark that could begin one, or ends a value in which the `>` stands: no attribute is there. */
const NO_TAG = />[^<"']*/g;
const HREF = /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
const COPY = /\bdata-copy\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
const ADDRESS_PART = 'data-part="address"';
const CODE_PART = '<svg class="qr';
/** Of each kind. A payment page has two at most. */
const FOUND_MAX = 20;
/** ISO/IEC 18004: version 40 has 177 modules; a quiet zone of 4 around it. */
const SYMBOL_SIDE_MAX = 177 + 2 * 4;

export type PageText = {
  /** The addresses in the text; none: the page shows none now. */
  addresses: string[];
  /** The texts that its buttons copy. */
  copied: string[];
  links: string[];
  /** The dark modules of each QR code, as "x,y" from the first dark one; null: it is drawn in a way that is not known. */
  codes: (ReadonlySet<string> | null)[];
  /** It has more of one kind than any payment page; the others are left out. */
  isCrowded: boolean;
};

/**
 * The parts of a page's HTML. Free texts, such as the order's description, are not looked at: strangers may write them.
 * The work grows with the length of the page alone, whatever it holds.
 */
export function readPage(html: string): PageText {
  const addresses = few(parts(html, ADDRESS_PART, '</p>').map(shownIn));
  const tags = html.replace(NO_TAG, '>');
  const copied = few(values(tags, COPY));
  const links = few(values(tags, HREF).filter(opensWallet));
  const codes = parts(html, CODE_PART, '</svg>');
  return {
    addresses: addresses.slice(0, FOUND_MAX),
    copied: copied.slice(0, FOUND_MAX),
    links: links.slice(0, FOUND_MAX),
    codes: codes.slice(0, FOUND_MAX).map(modulesOf),
    isCrowded: [addresses, copied, links, codes].some(({ length }) => length > FOUND_MAX),
  };
}

/** The text between each mark and its end, or the next mark where there is no end. */
function parts(html: string, mark: string, end: string): string[] {
  const [, ...after] = html.split(mark, FOUND_MAX + 2);
  return after.map((part) => (part.includes(end) ? part.slice(0, part.indexOf(end)) : part));
}

/** The text of an element, from within its first tag on. */
const shownIn = (part: string): string => plain(part.slice(part.indexOf('>') + 1).replace(/<[^<>]*>/g, '')).trim();

const values = (html: string, pattern: RegExp): string[] =>
  [...html.matchAll(pattern)].map(([, double, single, bare]) => plain(double ?? single ?? bare ?? '').trim());

/** Whether a browser finds another scheme in a link than those of the web, mail, telephones and data. */
const opensWallet = (link: string): boolean => !PLAIN_SCHEMES.has(URL.parse(link, PAGE_URL)?.protocol ?? 'https:');

const few = (texts: readonly string[]): string[] => [...new Set(texts)];

/** An amount of payment pages' links and buttons. */
const AMOUNT = /^\d{1,30}(?:\.\d{1,30})?$/;
/** The links that payment pages have, and no other parameter: a wallet may pay another one than the address. */
const LINKS = [
  /^(?:bitcoin|litecoin):([0-9a-z]{1,120})\?amount=[\d.]{1,60}$/i,
  /^((?:bitcoincash|bchtest|bchreg):[0-9a-z]{1,120})\?amount=[\d.]{1,60}$/i,
  /^monero:([0-9a-z]{1,120})\?tx_amount=[\d.]{1,60}$/i,
  /^ethereum:(0x[0-9a-f]{40})@\d{1,20}\?value=\d{1,60}$/i,
];
/** EIP-681 of a token. Some wallets take the contract for the recipient. */
const TOKEN_LINK = /^ethereum:(0x[0-9a-f]{40})@\d{1,20}\/transfer\?address=(0x[0-9a-f]{40})&uint256=\d{1,60}$/i;
const CONTRACTS: ReadonlySet<string> = new Set(ASSETS.flatMap(({ contract }) => contract?.toLowerCase() ?? []));

export const isAmount = (text: string): boolean => AMOUNT.test(text);

/**
 * The address that a link to a wallet pays, with the chain's own prefix if it has one. Null: it is none of the links
 * that payment pages have, so a wallet may pay somebody else.
 */
export function addressIn(link: string): string | null {
  for (const form of LINKS) {
    const address = form.exec(link)?.[1];
    if (address !== undefined) return address;
  }
  const [, contract = '', address] = TOKEN_LINK.exec(link) ?? [];
  return address !== undefined && CONTRACTS.has(contract.toLowerCase()) ? address : null;
}

/** ISO/IEC 18004: version 40 with correction M holds 2,331 bytes. A link of a payment page is far shorter. */
const CODE_CHARS_MAX = 500;

/** Whether a QR code is the one of a text, with the error correction of payment pages. */
export function isCodeOf(code: ReadonlySet<string>, text: string): boolean {
  // none holds as much
  if (text.length > CODE_CHARS_MAX) return false;
  const { modules } = qrcode.create(text, { errorCorrectionLevel: 'M' });
  const dark: [number, number][] = [];
  for (let y = 0; y < modules.size; y++) {
    for (let x = 0; x < modules.size; x++) if (modules.get(y, x)) dark.push([x, y]);
  }
  const expected = fromFirst(dark);
  return expected.size === code.size && [...expected].every((one) => code.has(one));
}

const CODE_POINT_MAX = 0x10ffff;
const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&colon;': ':',
  '&period;': '.',
  '&plus;': '+',
  '&Tab;': '\t',
  '&NewLine;': '\n',
};
const plain = (markup: string): string =>
  markup
    .replace(/&#(?:x0*([0-9a-f]{1,6})|0*(\d{1,7}));?/gi, (one, hex?: string, decimal?: string) => {
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= CODE_POINT_MAX ? String.fromCodePoint(code) : one;
    })
    .replace(/&[A-Za-z]{2,7};/g, (one) => ENTITIES[one] ?? one);

/** The page draws each horizontal run of dark modules as a rectangle. `svg`: from within its tag on. */
function modulesOf(svg: string): ReadonlySet<string> | null {
  const [, path] = /<path d="([^"]*)"/.exec(svg) ?? [];
  if (path === undefined || !/^(?:M\d{1,3} \d{1,3}h\d{1,3}v1h-\d{1,3}z)+$/.test(path)) return null;
  const dark: [number, number][] = [];
  for (const [, x, y, run] of path.matchAll(/M(\d+) (\d+)h(\d+)/g)) {
    if (Number(x) + Number(run) > SYMBOL_SIDE_MAX || Number(y) > SYMBOL_SIDE_MAX) return null;
    if (dark.length + Number(run) > SYMBOL_SIDE_MAX ** 2) return null;
    for (let i = 0; i < Number(run); i++) dark.push([Number(x) + i, Number(y)]);
  }
  return fromFirst(dark);
}

function fromFirst(dark: readonly [number, number][]): Set<string> {
  const left = Math.min(...dark.map(([x]) => x));
  const top = Math.min(...dark.map(([, y]) => y));
  return new Set(dark.map(([x, y]) => `${x - left},${y - top}`));
}
