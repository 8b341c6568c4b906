/** Grøstl-256, JH-256 and Skein-512-256 as CryptoNight ends with them: the last proposals of the SHA-3 competition. */
import { SBOX } from './sbox.ts';

const HASH_BYTES = 32;
const BLOCK_BYTES = 64;

// Grøstl-256: a state of eight columns of eight bytes.

const COLUMNS = 8;
const GROESTL_ROUNDS = 10;
const MIX = [2, 2, 3, 4, 5, 3, 5, 7] as const;
const SHIFTS_P = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const SHIFTS_Q = [1, 3, 5, 7, 0, 2, 4, 6] as const;

/** A byte of GF(2^8) times a number below 8. */
function times(byte: number, factor: number): number {
  const double = (value: number): number => ((value << 1) ^ (value & 0x80 ? 0x11b : 0)) & 0xff;
  const two = double(byte);
  return (factor & 1 ? byte : 0) ^ (factor & 2 ? two : 0) ^ (factor & 4 ? double(two) : 0);
}

/** The permutations P and Q, in the order of bytes: column by column. */
function permuted(state: Uint8Array, isQ: boolean): Uint8Array {
  let bytes = state;
  const shifts = isQ ? SHIFTS_Q : SHIFTS_P;
  for (let round = 0; round < GROESTL_ROUNDS; round++) {
    const before = Uint8Array.from(bytes, (byte, at) => {
      const [column, row] = [at >> 3, at & 7];
      const constant = (column << 4) ^ round;
      if (!isQ) return (SBOX[byte ^ (row === 0 ? constant : 0)] as number) ?? 0;
      return SBOX[byte ^ 0xff ^ (row === 7 ? constant : 0)] as number;
    });
    bytes = Uint8Array.from(before, (_, at) => {
      const [column, row] = [at >> 3, at & 7];
      let mixed = 0;
      for (let k = 0; k < COLUMNS; k++) {
        const from = (column + (shifts[k] as number)) % COLUMNS;
        mixed ^= times(before[8 * from + k] as number, MIX[(k - row + COLUMNS) % COLUMNS] as number);
      }
      return mixed;
    });
  }
  return bytes;
}

const xor = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((byte, i) => byte ^ (b[i] as number));

/** The message with a bit 1, zeros, and `count` at its end, in blocks. */
function padded(data: Uint8Array, lengthBytes: number, count: (blocks: number) => bigint): Uint8Array[] {
  const blocks = Math.ceil((data.length + 1 + lengthBytes) / BLOCK_BYTES);
  const whole = new Uint8Array(blocks * BLOCK_BYTES);
  whole.set(data);
  whole[data.length] = 0x80;
  new DataView(whole.buffer).setBigUint64(whole.length - 8, count(blocks));
  return Array.from({ length: blocks }, (_, i) => whole.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES));
}

export function groestl256(data: Uint8Array): Uint8Array {
  let state: Uint8Array = new Uint8Array(BLOCK_BYTES);
  state[BLOCK_BYTES - 2] = 1;
  for (const block of padded(data, 8, BigInt)) {
    state = xor(xor(permuted(xor(state, block), false), permuted(block, true)), state);
  }
  return xor(permuted(state, false), state).subarray(BLOCK_BYTES - HASH_BYTES);
}

// JH-256: a state of 256 elements of four bits.

const JH_ROUNDS = 42;
const JH_BYTES = 128;
const JH_BOXES = [
  [9, 0, 4, 11, 13, 12, 3, 15, 1, 10, 2, 6, 7, 5, 8, 14],
  [3, 12, 6, 13, 5, 7, 1, 9, 15, 2, 0, 4, 11, 10, 14, 8],
] as const;
/** The fraction of the square root of two, 64 elements. */
const JH_CONSTANT = '6a09e667f3bcc908b2fb1366ea957d3e3adec17512775099da2f590b0667322a';

/** One round on 2^d elements: boxes chosen by the bits of `constant`, a linear map of pairs, and a permutation. */
function jhRound(elements: readonly number[], boxOf: (at: number) => 0 | 1): number[] {
  const mixed = elements.map((element, at) => JH_BOXES[boxOf(at)][element] as number);
  const doubled = (x: number): number => ((x << 1) ^ (x >> 3) ^ ((x >> 2) & 2)) & 15;
  for (let i = 0; i < mixed.length; i += 2) {
    const right = (mixed[i + 1] as number) ^ doubled(mixed[i] as number);
    mixed[i + 1] = right;
    mixed[i] = (mixed[i] as number) ^ doubled(right);
  }
  for (let i = 0; i < mixed.length; i += 4) {
    [mixed[i + 2], mixed[i + 3]] = [mixed[i + 3] as number, mixed[i + 2] as number];
  }
  const half = mixed.length / 2;
  const next = mixed.map((_, i) => mixed[i < half ? 2 * i : 2 * (i - half) + 1] as number);
  for (let i = half; i < next.length; i += 2) {
    [next[i], next[i + 1]] = [next[i + 1] as number, next[i] as number];
  }
  return next;
}

const bitOf = (bytes: Uint8Array, at: number): number => ((bytes[at >> 3] as number) >> (7 - (at & 7))) & 1;

function jhPermuted(state: Uint8Array): Uint8Array {
  let elements: number[] = [];
  for (let i = 0; i < 256; i++) {
    const bits = [0, 256, 512, 768].map((from) => bitOf(state, from + i)) as [number, number, number, number];
    const element = (bits[0] << 3) | (bits[1] << 2) | (bits[2] << 1) | bits[3];
    elements[i < 128 ? 2 * i : 2 * (i - 128) + 1] = element;
  }
  let constant = Array.from(JH_CONSTANT, (digit) => Number.parseInt(digit, 16));
  for (let round = 0; round < JH_ROUNDS; round++) {
    const bits = constant;
    elements = jhRound(elements, (at) => (((bits[at >> 2] as number) >> (3 - (at & 3))) & 1 ? 1 : 0));
    constant = jhRound(constant, () => 0);
  }
  const out = new Uint8Array(JH_BYTES);
  for (let i = 0; i < 256; i++) {
    const element = elements[i < 128 ? 2 * i : 2 * (i - 128) + 1] as number;
    for (let bit = 0; bit < 4; bit++) {
      const at = 256 * bit + i;
      out[at >> 3] = (out[at >> 3] as number) | (((element >> (3 - bit)) & 1) << (7 - (at & 7)));
    }
  }
  return out;
}

function jhBlock(state: Uint8Array, block: Uint8Array): Uint8Array {
  const mixed = Uint8Array.from(state);
  for (const [i, byte] of block.entries()) mixed[i] = (mixed[i] as number) ^ byte;
  const out = jhPermuted(mixed);
  for (const [i, byte] of block.entries()) out[BLOCK_BYTES + i] = (out[BLOCK_BYTES + i] as number) ^ byte;
  return out;
}

export function jh256(data: Uint8Array): Uint8Array {
  let state: Uint8Array = new Uint8Array(JH_BYTES);
  state[0] = 1;
  state = jhBlock(state, new Uint8Array(BLOCK_BYTES));
  // the length has a block of its own, except after a whole block
  const isWhole = data.length % BLOCK_BYTES === 0;
  for (const block of padded(data, isWhole ? 8 : BLOCK_BYTES, () => BigInt(8 * data.length))) {
    state = jhBlock(state, block);
  }
  return state.subarray(JH_BYTES - HASH_BYTES);
}

// Skein-512-256: UBI chaining of Threefish-512 (The Skein Hash Function Family 1.3).

const WORDS = 8;
const SKEIN_ROUNDS = 72;
const MASK = (1n << 64n) - 1n;
const ROTATIONS = [
  [46, 36, 19, 37],
  [33, 27, 14, 42],
  [17, 49, 36, 39],
  [44, 9, 54, 56],
  [39, 30, 34, 24],
  [13, 50, 10, 17],
  [25, 29, 39, 43],
  [8, 35, 56, 22],
] as const;
const PERMUTATION = [2, 1, 4, 7, 6, 5, 0, 3] as const;
const KEY_PARITY = 0x1bd11bdaa9fc1a22n;
const FIRST = 1n << 62n;
const FINAL = 1n << 63n;
const TYPE_CONFIG = 4n << 56n;
const TYPE_MESSAGE = 48n << 56n;
const TYPE_OUTPUT = 63n << 56n;
/** "SHA3", version 1, and the length of the hash in bits. */
const SKEIN_CONFIG = '5348413301000000' + '0001000000000000';

type Tweak = readonly [bigint, bigint];

function threefish(key: readonly bigint[], [t0, t1]: Tweak, plain: readonly bigint[]): bigint[] {
  const keys = [...key, key.reduce((sum, word) => sum ^ word, KEY_PARITY)];
  const tweaks = [t0, t1, t0 ^ t1];
  let words = [...plain];
  const inject = (s: number): void => {
    words = words.map((word, i) => {
      let add = keys[(s + i) % (WORDS + 1)] as bigint;
      if (i === 5) add += tweaks[s % 3] as bigint;
      if (i === 6) add += tweaks[(s + 1) % 3] as bigint;
      if (i === 7) add += BigInt(s);
      return (word + add) & MASK;
    });
  };
  for (let round = 0; round < SKEIN_ROUNDS; round++) {
    if (round % 4 === 0) inject(round / 4);
    const mixed = [...words];
    for (const [pair, bits] of (ROTATIONS[round % 8] as readonly number[]).entries()) {
      const sum = ((words[2 * pair] as bigint) + (words[2 * pair + 1] as bigint)) & MASK;
      const right = words[2 * pair + 1] as bigint;
      mixed[2 * pair] = sum;
      mixed[2 * pair + 1] = (((right << BigInt(bits)) | (right >> BigInt(64 - bits))) & MASK) ^ sum;
    }
    words = PERMUTATION.map((from) => mixed[from] as bigint);
  }
  inject(SKEIN_ROUNDS / 4);
  return words;
}

function ubi(chain: readonly bigint[], data: Uint8Array, type: bigint): bigint[] {
  let state = [...chain];
  const blocks = Math.max(1, Math.ceil(data.length / BLOCK_BYTES));
  for (let i = 0; i < blocks; i++) {
    const block = new Uint8Array(BLOCK_BYTES);
    block.set(data.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES));
    const view = new DataView(block.buffer);
    const words = Array.from({ length: WORDS }, (_, at) => view.getBigUint64(8 * at, true));
    const done = BigInt(Math.min(data.length, (i + 1) * BLOCK_BYTES));
    const flags = (i === 0 ? FIRST : 0n) | (i === blocks - 1 ? FINAL : 0n);
    state = threefish(state, [done, type | flags], words).map((word, at) => word ^ (words[at] as bigint));
  }
  return state;
}

export function skein256(data: Uint8Array): Uint8Array {
  const config = new Uint8Array(HASH_BYTES);
  config.set(Buffer.from(SKEIN_CONFIG, 'hex'));
  const start = ubi(new Array(WORDS).fill(0n), config, TYPE_CONFIG);
  const words = ubi(ubi(start, data, TYPE_MESSAGE), new Uint8Array(8), TYPE_OUTPUT);
  const out = new DataView(new ArrayBuffer(BLOCK_BYTES));
  for (const [at, word] of words.entries()) out.setBigUint64(8 * at, word, true);
  return new Uint8Array(out.buffer, 0, HASH_BYTES);
}
