/** Random identifiers. Random bytes are drawn in pages, because a draw has the same cost at any size. */
import { hash, randomFillSync } from 'node:crypto';

const PAGE_BYTES = 8_192;
const page = Buffer.alloc(PAGE_BYTES);
let used = PAGE_BYTES;

/** The next `count` random bytes; valid until the next call. */
function draw(count: number): Buffer {
  if (used + count > PAGE_BYTES) {
    randomFillSync(page);
    used = 0;
  }
  used += count;
  return page.subarray(used - count, used);
}

export const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const UNBIASED_BELOW = 256 - (256 % ALPHABET.length);

/** `length` random characters of [A-Za-z0-9]: 5.95 bits each. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of draw(length)) {
      if (byte < UNBIASED_BELOW && text.length < length) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}

const SLUG_CHARACTERS = 12;

/** A refund link's public name: 71 random bits. */
export function newSlug(): string {
  return randomText(SLUG_CHARACTERS);
}

/** The stored hash of a key. It need not be slow, because a key of 128 random bits or more cannot be guessed. */
export function keyHash(key: string): Buffer {
  return Buffer.from(keyName(key), 'base64');
}

/** The same in base64, by which a key is found in memory. */
export function keyName(key: string): string {
  return hash('sha256', key, 'base64');
}
