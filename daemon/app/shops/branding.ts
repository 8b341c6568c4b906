/**
 * The appearance of a business for payers: name, colour, logo, contact, favourite coins.
 *
 * Invariant: a logo is a picture that browsers never execute. Its first bytes determine which of three formats it is,
 * and it is served only as that format. SVG is not accepted, because it can contain scripts.
 */
import { createHash } from 'node:crypto';
import { findAsset } from '../../domain/assets.ts';
import { FIAT } from '../../domain/currencies.ts';
import { Rejected } from '../../domain/errors.ts';
import { deleteLogo, insertLogo, logoById, setBrand } from '../../store/queries/branding.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Business } from './directory.ts';

const LOGO_BYTES_MAX = 32_768;
const LOGO_PIXELS_MAX = 2_048;
const NAME_CHARACTERS_MAX = 100;
const CONTACT_CHARACTERS_MAX = 200;
const COLOUR = /^#[0-9a-f]{6}$/;
const ID_CHARACTERS = 32;

type Picture = { type: 'image/png' | 'image/jpeg' | 'image/webp'; width: number; height: number };

const ascii = (bytes: Buffer, from: number, to: number): string => bytes.toString('latin1', from, to);

/** The size of a JPEG, from its first start-of-frame segment (ITU-T T.81, B.2.2). */
function jpegSize(bytes: Buffer): [width: number, height: number] | null {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1]!;
    const frame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (frame) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
  }
  return null;
}

/** The size of a WebP, from its first chunk (RFC 9649): lossy, lossless or extended. */
function webpSize(bytes: Buffer): [width: number, height: number] | null {
  if (bytes.length < 30) return null;
  switch (ascii(bytes, 12, 16)) {
    case 'VP8 ':
      return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    case 'VP8X':
      return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
    default:
      return null;
  }
}

/** The picture format of these bytes; null for anything but PNG, JPEG and WebP. */
export function pictureOf(content: Uint8Array): Picture | null {
  const bytes = Buffer.from(content);
  const as = (type: Picture['type'], size: [number, number] | null): Picture | null =>
    size && size[0] > 0 && size[1] > 0 ? { type, width: size[0], height: size[1] } : null;
  // PNG: its signature, then always the header chunk (ISO/IEC 15948, 5.2 and 11.2.2)
  if (bytes.length >= 24 && ascii(bytes, 0, 8) === '\x89PNG\r\n\x1a\n' && ascii(bytes, 12, 16) === 'IHDR') {
    return as('image/png', [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]);
  }
  if (bytes.length >= 4 && ascii(bytes, 0, 3) === '\xff\xd8\xff') return as('image/jpeg', jpegSize(bytes));
  if (ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP') return as('image/webp', webpSize(bytes));
  return null;
}

function checkLogo(bytes: Uint8Array): Picture {
  if (bytes.length > LOGO_BYTES_MAX) {
    throw new Rejected(
      'brand.logo',
      `A logo has at most ${LOGO_BYTES_MAX} bytes; this one has ${bytes.length}`,
      'logo',
    );
  }
  const picture = pictureOf(bytes);
  if (!picture) throw new Rejected('brand.logo', 'A logo is a PNG, JPEG or WebP picture', 'logo');
  if (picture.width > LOGO_PIXELS_MAX || picture.height > LOGO_PIXELS_MAX) {
    throw new Rejected('brand.logo', `A logo is at most ${LOGO_PIXELS_MAX} pixels wide and high`, 'logo');
  }
  return picture;
}

function checkName(name: string): string {
  const trimmed = name.trim();
  if (trimmed.length > 0 && trimmed.length <= NAME_CHARACTERS_MAX) return trimmed;
  throw new Rejected('brand.name', `A name has 1 to ${NAME_CHARACTERS_MAX} characters`, 'name');
}

function checkContact(contact: string): string {
  const trimmed = contact.trim();
  if (trimmed.length > 0 && trimmed.length <= CONTACT_CHARACTERS_MAX) return trimmed;
  throw new Rejected('brand.contact', `A contact has 1 to ${CONTACT_CHARACTERS_MAX} characters`, 'contact');
}

function checkFavourite(symbol: string): string {
  if (findAsset(symbol)) return symbol;
  throw new Rejected('brand.favourites', `${symbol} is no cryptocurrency of this service`, 'favourites');
}

function checkCurrency(currency: string): string {
  if (Object.hasOwn(FIAT, currency)) return currency;
  throw new Rejected('brand.currency', `${currency} is no currency that invoices can have`, 'currency');
}

function checkColour(accent: string): string {
  const colour = accent.toLowerCase();
  if (COLOUR.test(colour)) return colour;
  throw new Rejected('brand.accent', `${accent} is no colour: write it like #1f6feb`, 'accent');
}

/** Undefined: unchanged; null: back to the default. */
type BrandChange = {
  name?: string | null | undefined;
  /** "#rrggbb" */
  accent?: string | null | undefined;
  logo?: Uint8Array | null | undefined;
  /** Free text: an e-mail address, a telephone number. */
  contact?: string | null | undefined;
  /** Symbols, in their order. */
  favourites?: readonly string[] | null | undefined;
  /** An ISO 4217 code. */
  currency?: string | null | undefined;
};

/** Throws `Rejected`. */
export function changeBrand(app: App, business: Business, change: BrandChange, tx: Tx): void {
  const { brand } = business;
  let logoId = brand.logo;
  if (change.logo !== undefined) logoId = change.logo && keepLogo(change.logo, tx);
  tx.run(setBrand, {
    business_id: business.id,
    display_name: change.name === undefined ? brand.name : change.name && checkName(change.name),
    accent: change.accent === undefined ? brand.accent : change.accent && checkColour(change.accent),
    logo_id: logoId,
    contact: change.contact === undefined ? brand.contact : change.contact && checkContact(change.contact),
    currency: change.currency === undefined ? brand.currency : change.currency && checkCurrency(change.currency),
    favourites: (change.favourites === undefined ? brand.favourites : (change.favourites ?? [])).map(checkFavourite),
  });
  const others = app.directory.businesses().filter(({ id }) => id !== business.id);
  if (brand.logo && brand.logo !== logoId && !others.some((other) => other.brand.logo === brand.logo)) {
    tx.run(deleteLogo, { id: brand.logo });
  }
  tx.afterCommit(() => app.directory.load(app.store));
}

/** Stores the picture under a hash of its bytes. */
function keepLogo(bytes: Uint8Array, tx: Tx): string {
  const { type } = checkLogo(bytes);
  const id = createHash('sha256').update(bytes).digest('hex').slice(0, ID_CHARACTERS);
  tx.run(insertLogo, { id, type, bytes });
  return id;
}

export function findLogo(app: App, id: string): { type: string; bytes: Uint8Array } | undefined {
  return app.store.get(logoById, { id });
}
