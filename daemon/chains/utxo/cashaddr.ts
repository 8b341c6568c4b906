/**
 * CashAddr, the address format of Bitcoin Cash: a prefix, a colon, and base-32 characters that hold a version byte, a
 * hash and a 40-bit checksum over all of it (specification: bitcoincash.org, "cashaddr").
 *
 * Invariant: `decode` accepts exactly what `encode` writes, in lower case or wholly in upper case. A mixture of cases, a
 * wrong length, non-zero padding and a checksum made for another prefix are refused.
 */
import { assert } from '../../domain/errors.ts';

const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]));

/** ASCII alone: there are other signs whose lower case is an ASCII letter, such as the Kelvin sign. */
const ONE_CASE = /^(?:[0-9a-z:]+|[0-9A-Z:]+)$/;

/** Hash lengths in bytes, by the size bits of the version byte. */
const HASH_BYTES = [20, 24, 28, 32, 40, 48, 56, 64];

const CHECKSUM_WORDS = 8;

/** The 40-bit generators as two halves of 20 bits: bit operations on numbers are ten times as fast as on bigints. */
const GENERATORS = [
  [0x98f2b, 0xc8e61],
  [0x79b76, 0xd99e2],
  [0xf33e5, 0xfb3c4],
  [0xae2ea, 0xbe2a8],
  [0x1e4f4, 0x3e470],
] as const;

/** `type` as in the version byte: 0 P2PKH, 1 P2SH, 2 and 3 the same for wallets that know CashTokens. */
export type CashAddress = { type: number; hash: Uint8Array };

/** The 40-bit checksum of 5-bit words, as 5-bit words: all zero when the last eight are a right checksum. */
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

/** Regroups bits from words of `from` bits to words of `to`. Null when what is left over cannot be padding. */
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

/** The address, with its prefix, of a hash of a length that CashAddr knows. */
export function encodeCashAddress(prefix: string, { type, hash }: CashAddress): string {
  const size = HASH_BYTES.indexOf(hash.length);
  assert(size >= 0 && type >= 0 && type < 16, 'CashAddr knows this type and length');
  const payload = regroup([(type << 3) | size, ...hash], 8, 5, true) ?? [];
  const checksum = polymod([...prefixWords(prefix), ...payload, ...new Array<number>(CHECKSUM_WORDS).fill(0)]);
  return `${prefix}:${[...payload, ...checksum].map((word) => ALPHABET[word]).join('')}`;
}

/** What an address under this prefix says, or null. The text may leave the prefix out, but has no other. */
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
  // The version byte's highest bit is reserved.
  if (version === undefined || version > 127 || hash.length !== HASH_BYTES[version & 7]) return null;
  return { type: version >> 3, hash: Uint8Array.from(hash) };
}
