/**
 * CashAddr, the address format of Bitcoin Cash: a prefix, a colon, and base-32 characters with a version byte, a hash
 * and a 40-bit checksum (specification: bitcoincash.org, "cashaddr").
 *
 * Invariant: `decode` accepts exactly what `encode` writes, in lower case or in upper case. Mixed case, a wrong length,
 * non-zero padding and a checksum for another prefix are refused.
 */
import { assert } from '../../domain/errors.ts';

const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]));

/** ASCII only: some other characters, such as the Kelvin sign, have an ASCII letter as lower case. */
const ONE_CASE = /^(?:[0-9a-z:]+|[0-9A-Z:]+)$/;

/** Hash lengths in bytes, by the size bits of the version byte. */
const HASH_BYTES = [20, 24, 28, 32, 40, 48, 56, 64];

const CHECKSUM_WORDS = 8;

/** The 40-bit generators as two halves of 20 bits: bit operations on numbers are ten times faster than on bigints. */
const GENERATORS = [
  [0x98f2b, 0xc8e61],
  [0x79b76, 0xd99e2],
  [0xf33e5, 0xfb3c4],
  [0xae2ea, 0xbe2a8],
  [0x1e4f4, 0x3e470],
] as const;

/** `type` as in the version byte: 0 P2PKH, 1 P2SH, 2 and 3 the same for wallets that know CashTokens. */
type CashAddress = { type: number; hash: Uint8Array };

/** The 40-bit checksum of 5-bit words, as 5-bit words: all zero if the last eight are the right checksum. */
function polymod(words: Iterable<number>): number[] {
  let high = 0;
  let low = 1;
  for (const word of words) {
    const top = high >> 15;
    high = ((high & 0x7fff) << 5) | (low >> 15);
    low = ((low & 0x7fff) << 5) ^ word;
    for (let bit = 0; bit < GENERATORS.length; bit++) {
      if (((top >> bit) & 1) === 0) continue;
      high ^= GENERATORS[bit]![0];
      low ^= GENERATORS[bit]![1];
    }
  }
  low ^= 1;
  return [high, low].flatMap((half) => [half >> 15, (half >> 10) & 31, (half >> 5) & 31, half & 31]);
}

/** The lower five bits of each character of the prefix, and a zero for the colon. */
const prefixWords = (prefix: string): number[] => [...Buffer.from(prefix, 'ascii').map((code) => code & 31), 0];

/** Regroups words of `from` bits into words of `to` bits. Null if the rest is no valid padding. */
function regroup(input: Iterable<number>, from: number, to: number, pad: boolean): number[] | null {
  const output: number[] = [];
  let buffer = 0;
  let bits = 0;
  for (const word of input) {
    buffer = ((buffer << from) | word) & 0xfff;
    for (bits += from; bits >= to; bits -= to) output.push((buffer >> (bits - to)) & ((1 << to) - 1));
  }
  const rest = buffer & ((1 << bits) - 1);
  if (pad) {
    if (bits > 0) output.push(rest << (to - bits));
    return output;
  }
  return bits >= from || rest !== 0 ? null : output;
}

/** The address, with prefix, of a hash with a length that CashAddr allows. */
export function encodeCashAddress(prefix: string, { type, hash }: CashAddress): string {
  const size = HASH_BYTES.indexOf(hash.length);
  assert(size >= 0 && type >= 0 && type < 16, 'CashAddr knows this type and length');
  const payload = regroup([(type << 3) | size, ...hash], 8, 5, true) ?? [];
  const checksum = polymod([...prefixWords(prefix), ...payload, ...new Array<number>(CHECKSUM_WORDS).fill(0)]);
  return `${prefix}:${[...payload, ...checksum].map((word) => ALPHABET[word]).join('')}`;
}

/** Decodes an address with this prefix, which the text may omit; null if it is none. */
export function decodeCashAddress(prefix: string, text: string): CashAddress | null {
  if (!ONE_CASE.test(text)) return null;
  const lower = text.toLowerCase();
  const body = lower.startsWith(`${prefix}:`) ? lower.slice(prefix.length + 1) : lower;
  const words: number[] = [];
  for (const character of body) {
    const value = VALUES.get(character);
    if (value === undefined) return null;
    words.push(value);
  }
  if (words.length <= CHECKSUM_WORDS || polymod([...prefixWords(prefix), ...words]).some((word) => word !== 0)) {
    return null;
  }
  const [version, ...hash] = regroup(words.slice(0, -CHECKSUM_WORDS), 5, 8, false) ?? [];
  // the version byte's highest bit is reserved
  if (version === undefined || version > 127 || hash.length !== HASH_BYTES[version & 7]) return null;
  return { type: version >> 3, hash: Uint8Array.from(hash) };
}
