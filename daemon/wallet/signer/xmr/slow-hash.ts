/**
 * CryptoNight (`cn_slow_hash`, its first variant), as the key derivation of the files of Monero's offline signing
 * (`crypto::generate_chacha_key`). CryptoNote Standard 008.
 *
 * Nothing here protects money: the files never leave the process. Monero's library accepts no others.
 */
import { blake256 } from '@noble/hashes/blake1.js';
import { keccakP } from '@noble/hashes/sha3.js';
import { groestl256, jh256, skein256 } from './final-hashes.ts';
import { SBOX } from './sbox.ts';

const SCRATCHPAD_BYTES = 2 ** 21;
const ROUNDS = 2 ** 19;
const STATE_BYTES = 200;
const KECCAK_RATE_BYTES = 136;
const TEXT_AT = 64;
const TEXT_WORDS = 32;
const AES_ROUNDS = 10;

/** SubBytes and MixColumns of one byte, for each of the four places in a little-endian column. */
const TABLES: readonly Uint32Array[] = (() => {
  const tables = [0, 1, 2, 3].map(() => new Uint32Array(256));
  for (let i = 0; i < 256; i++) {
    const s = SBOX[i] as number;
    const s2 = (s << 1) ^ (s & 0x80 ? 0x11b : 0);
    const column = (s2 | (s << 8) | (s << 16) | ((s2 ^ s) << 24)) >>> 0;
    for (const [place, table] of tables.entries()) {
      const bits = 8 * place;
      table[i] = bits === 0 ? column : ((column << bits) | (column >>> (32 - bits))) >>> 0;
    }
  }
  return tables;
})();
const [T0, T1, T2, T3] = TABLES as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

/** One round of AES on 16 bytes of `data` at word `at`, with the round key at `keyAt`; the result goes to `out`. */
function aesRound(data: Uint32Array, at: number, key: Uint32Array, keyAt: number, out: Uint32Array, to: number): void {
  const a = data[at] as number;
  const b = data[at + 1] as number;
  const c = data[at + 2] as number;
  const d = data[at + 3] as number;
  const mix = (w: number, x: number, y: number, z: number): number =>
    (T0[w & 0xff] as number) ^
    (T1[(x >>> 8) & 0xff] as number) ^
    (T2[(y >>> 16) & 0xff] as number) ^
    (T3[z >>> 24] as number);
  out[to] = mix(a, b, c, d) ^ (key[keyAt] as number);
  out[to + 1] = mix(b, c, d, a) ^ (key[keyAt + 1] as number);
  out[to + 2] = mix(c, d, a, b) ^ (key[keyAt + 2] as number);
  out[to + 3] = mix(d, a, b, c) ^ (key[keyAt + 3] as number);
}

/** The first ten round keys of AES-256 from 32 bytes. */
function roundKeys(key: Uint32Array): Uint32Array {
  const words = new Uint32Array(4 * AES_ROUNDS);
  words.set(key);
  const substituted = (word: number): number =>
    (SBOX[word & 0xff] as number) |
    ((SBOX[(word >>> 8) & 0xff] as number) << 8) |
    ((SBOX[(word >>> 16) & 0xff] as number) << 16) |
    ((SBOX[word >>> 24] as number) << 24);
  let constant = 1;
  for (let i = 8; i < words.length; i++) {
    let word = words[i - 1] as number;
    if (i % 8 === 0) {
      word = substituted((word >>> 8) | (word << 24)) ^ constant;
      constant <<= 1;
    } else if (i % 8 === 4) word = substituted(word);
    words[i] = (words[i - 8] as number) ^ word;
  }
  return words;
}

/** All ten rounds on each of the eight blocks of `text`. */
function encryptText(text: Uint32Array, keys: Uint32Array): void {
  for (let block = 0; block < TEXT_WORDS; block += 4) {
    for (let round = 0; round < AES_ROUNDS; round++) aesRound(text, block, keys, 4 * round, text, block);
  }
}

/** The product of two unsigned 64-bit numbers, as words of 32 bits from the lowest. */
function multiply(a0: number, a1: number, b0: number, b1: number, out: Uint32Array): void {
  const a = [a0 & 0xffff, a0 >>> 16, a1 & 0xffff, a1 >>> 16] as const;
  const b = [b0 & 0xffff, b0 >>> 16, b1 & 0xffff, b1 >>> 16] as const;
  let carry = 0;
  let low = 0;
  for (let place = 0; place < 8; place++) {
    let sum = carry;
    for (let i = Math.max(0, place - 3); i <= Math.min(3, place); i++)
      sum += (a[i] as number) * (b[place - i] as number);
    const digit = sum % 0x10000;
    carry = (sum - digit) / 0x10000;
    if (place % 2 === 0) low = digit;
    else out[place >> 1] = (low | (digit << 16)) >>> 0;
  }
}

function keccakState(data: Uint8Array): Uint32Array {
  if (data.length >= KECCAK_RATE_BYTES) throw new Error('assertion failed: one block');
  const state = new Uint8Array(STATE_BYTES);
  state.set(data);
  state[data.length] = 0x01;
  state[KECCAK_RATE_BYTES - 1] = (state[KECCAK_RATE_BYTES - 1] as number) | 0x80;
  const words = new Uint32Array(state.buffer);
  keccakP(words);
  return words;
}

/** The 32 bytes of CryptoNight of up to 135 bytes. Takes about half a second. */
export function slowHash(data: Uint8Array): Uint8Array {
  const state = keccakState(data);
  const pad = new Uint32Array(SCRATCHPAD_BYTES / 4);
  const text = state.slice(TEXT_AT / 4, TEXT_AT / 4 + TEXT_WORDS);
  const keys = roundKeys(state.subarray(0, 8));
  for (let at = 0; at < pad.length; at += TEXT_WORDS) {
    encryptText(text, keys);
    pad.set(text, at);
  }
  walk(pad, state);
  const lastKeys = roundKeys(state.subarray(8, 16));
  const last = state.slice(TEXT_AT / 4, TEXT_AT / 4 + TEXT_WORDS);
  for (let at = 0; at < pad.length; at += TEXT_WORDS) {
    for (let i = 0; i < TEXT_WORDS; i++) last[i] = (last[i] as number) ^ (pad[at + i] as number);
    encryptText(last, lastKeys);
  }
  pad.fill(0);
  state.set(last, TEXT_AT / 4);
  keccakP(state);
  const bytes = new Uint8Array(state.buffer);
  const finals = [blake256, groestl256, jh256, skein256] as const;
  return (finals[(bytes[0] as number) & 3] as (data: Uint8Array) => Uint8Array)(bytes);
}

/** The loop that reads and writes the scratchpad at addresses that follow from its content. */
function walk(pad: Uint32Array, state: Uint32Array): void {
  const a = new Uint32Array(4);
  const b = new Uint32Array(4);
  const c = new Uint32Array(4);
  const product = new Uint32Array(4);
  for (let i = 0; i < 4; i++) {
    a[i] = (state[i] as number) ^ (state[i + 8] as number);
    b[i] = (state[i + 4] as number) ^ (state[i + 12] as number);
  }
  const wordAt = (low: number): number => (low & (SCRATCHPAD_BYTES - 16)) >>> 2;
  for (let round = 0; round < ROUNDS; round++) {
    const first = wordAt(a[0] as number);
    aesRound(pad, first, a, 0, c, 0);
    for (let i = 0; i < 4; i++) {
      pad[first + i] = (b[i] as number) ^ (c[i] as number);
      b[i] = c[i] as number;
    }
    const second = wordAt(c[0] as number);
    multiply(c[0] as number, c[1] as number, pad[second] as number, pad[second + 1] as number, product);
    add64(a, 0, product[2] as number, product[3] as number);
    add64(a, 2, product[0] as number, product[1] as number);
    for (let i = 0; i < 4; i++) {
      const before = pad[second + i] as number;
      pad[second + i] = a[i] as number;
      a[i] = (a[i] as number) ^ before;
    }
  }
}

function add64(words: Uint32Array, at: number, low: number, high: number): void {
  const sum = (words[at] as number) + low;
  words[at] = sum;
  words[at + 1] = (words[at + 1] as number) + high + (sum > 0xffffffff ? 1 : 0);
}
