/** The rules of payment links: names, amounts, and what an order comes to. */
import { assert } from './errors.ts';

/** `open`: the payer chooses the amount. */
export const LINK_KINDS = ['fixed', 'open', 'items'] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

export const LINK_ITEMS_MAX = 100;
export const LINK_SUGGESTED_MAX = 6;
export const LINK_NAME_CHARS_MAX = 80;
export const LINK_ABOUT_CHARS_MAX = 500;
export const LINK_STOCK_MAX = 1_000_000;
/** Of one item in one sale. */
export const LINK_QUANTITY_MAX = 999;
/** The amount of an invoice is at most this, in 1e-8 of its currency. */
const AMOUNT_MAX = 1_000_000_000n * 100_000_000n;

/** A link's public name. */
export const LINK_SLUG = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;

/** Control characters, and those that change the direction of what follows and so can disguise a text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
export const DISGUISING = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

export type Line = { price: bigint; quantity: number };

/** The sum of lines, 1e-8; null: more than an invoice may be. */
export function totalOf(lines: readonly Line[]): bigint | null {
  const total = lines.reduce((sum, { price, quantity }) => sum + price * BigInt(quantity), 0n);
  return total > AMOUNT_MAX ? null : total;
}

/** How many of an item are left; null: any number. Never below 0, also if more were sold than there were. */
export function leftOf({ stock, taken }: { stock: number | null; taken: number }): number | null {
  if (stock === null) return null;
  assert(taken >= 0, 'no sale gives back more than it took');
  return Math.max(0, stock - taken);
}

/** A public name for a link: the Latin letters and digits of its name, or nothing if it has none. */
export function slugFor(name: string): string {
  const latin = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = latin.replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  return words.slice(0, 32).replace(/-+$/, '');
}
