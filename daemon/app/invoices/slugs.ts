/**
 * An invoice's public name leads to its number without an index, which would be half of what a new invoice writes.
 *
 * A slug is the number and 36 random bits, permuted by a key of this database. So it is as unguessable as a random one, and two
 * neighbours have nothing in common. It is stored in the row too, and names the row only if the two are equal: when a number is given
 * again, after a restore or in a copy of the data directory, the random half is another one, and the earlier slug names nothing.
 *
 * The invoices of releases before have random slugs, in an index of their own.
 */
import { present } from '../../domain/errors.ts';
import { type SipKey, sipHash53, sipKey } from '../../kit/sip-hash.ts';
import { type InvoiceRow, invoiceById, invoiceByRandomSlug } from '../../store/queries/invoices.ts';
import { newestInvoiceId } from '../../store/queries/operator.ts';
import { settingOf } from '../../store/queries/settings.ts';
import type { Reader } from '../../store/store.ts';
import { ALPHABET, randomText } from '../ids.ts';

const SLUG = /^[A-Za-z0-9]{12}$/;
const SIDE_CHARACTERS = 6;
const SIDE = ALPHABET.length ** SIDE_CHARACTERS;
/** No attack is known on a Feistel network of six rounds with fewer than 2^36 names. */
const ROUNDS = 8;
const WORD = 2 ** 32;
/** The length of the hashed message in its last byte: eight bytes of a half, and seven for the round. */
const MESSAGE_LENGTH = 15 << 24;
const KEY_SETTING = 'slug_key';

type Pair = readonly [left: number, right: number];

/** A Feistel network over pairs of numbers below `side`: a keyed permutation of these pairs. */
export class Permutation {
  readonly #key: SipKey;
  readonly #side: number;

  constructor(key: SipKey, side: number) {
    this.#key = key;
    this.#side = side;
  }

  forward([first, second]: Pair): Pair {
    let [left, right] = [first, second];
    for (let round = 0; round < ROUNDS; round++) {
      const mixed = (left + this.#mask(round, right)) % this.#side;
      left = right;
      right = mixed;
    }
    return [left, right];
  }

  back([first, second]: Pair): Pair {
    let [left, right] = [first, second];
    for (let round = ROUNDS - 1; round >= 0; round--) {
      const mixed = (right - this.#mask(round, left) + this.#side) % this.#side;
      right = left;
      left = mixed;
    }
    return [left, right];
  }

  /** Below the side; the least numbers come more often by less than one part in 100,000. */
  #mask(round: number, half: number): number {
    return sipHash53(this.#key, [half % WORD, Math.floor(half / WORD), round, MESSAGE_LENGTH]) % this.#side;
  }
}

function textOf(half: number): string {
  let text = '';
  for (let left = half, at = 0; at < SIDE_CHARACTERS; at++, left = Math.floor(left / ALPHABET.length)) {
    text = ALPHABET[left % ALPHABET.length] + text;
  }
  return text;
}

function numberOf(text: string): number {
  let number = 0;
  for (const character of text) number = number * ALPHABET.length + ALPHABET.indexOf(character);
  return number;
}

export class Slugs {
  /** 32 hexadecimal digits. */
  readonly key: string;
  readonly #permutation: Permutation;

  constructor(key: string) {
    this.key = key;
    this.#permutation = new Permutation(sipKey(key), SIDE);
  }

  /** The slug of an invoice's number, with six random characters. */
  of(id: number, random: string): string {
    const [left, right] = this.#permutation.forward([id, numberOf(random)]);
    return textOf(left) + textOf(right);
  }

  /** The number that a slug would name. */
  idOf(slug: string): number {
    const sides: Pair = [numberOf(slug.slice(0, SIDE_CHARACTERS)), numberOf(slug.slice(SIDE_CHARACTERS))];
    return this.#permutation.back(sides)[0];
  }
}

let latest = new Slugs('0'.repeat(32));

function slugsOf(reader: Reader): Slugs {
  const { value: key } = present(reader.get(settingOf, { key: KEY_SETTING }), 'key of the slugs');
  if (latest.key !== key) latest = new Slugs(key);
  return latest;
}

/** The invoice with a slug, even a deleted one. */
export function invoiceNamed(reader: Reader, slug: string): InvoiceRow | undefined {
  if (!SLUG.test(slug)) return undefined;
  const namedBy = (slugs: Slugs): InvoiceRow | undefined => {
    const row = reader.get(invoiceById, { id: slugs.idOf(slug) });
    return row?.slug === slug ? row : undefined;
  };
  // a row that has the slug is the one, whatever the key that led to it: the key of this database is read only if there is none
  return namedBy(latest) ?? namedBy(slugsOf(reader)) ?? reader.get(invoiceByRandomSlug, { slug });
}

export function nextInvoice(reader: Reader): { id: number; slug: string } {
  const id = (reader.get(newestInvoiceId, {})?.id ?? 0) + 1;
  const slugs = slugsOf(reader);
  for (;;) {
    const slug = slugs.of(id, randomText(SIDE_CHARACTERS));
    if (reader.get(invoiceByRandomSlug, { slug }) === undefined) return { id, slug };
  }
}
