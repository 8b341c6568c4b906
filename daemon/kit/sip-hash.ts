/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of short messages, made for names that nobody without the key may
 * guess. Its 64-bit words are pairs of 32 bits, because a BigInt costs more than the hash.
 */

/** A key of 16 bytes as four words, the least significant first. */
export type SipKey = readonly [number, number, number, number];

const KEY = /^[0-9a-f]{32}$/;
const HALVES = 2;
const ROUNDS = 2;
const LAST_ROUNDS = 4;

/** The key that 32 hexadecimal digits write. */
export function sipKey(hex: string): SipKey {
  if (!KEY.test(hex)) throw new Error('assertion failed: a key of SipHash has 32 hexadecimal digits');
  const bytes = Buffer.from(hex, 'hex');
  return [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12)];
}

/** Of each of the four words of the state: its lower and its upper half. */
const state = new Int32Array(4 * HALVES);

/** Adds word `from` to word `to`. */
function add(to: number, from: number): void {
  const low = (state[to]! >>> 0) + (state[from]! >>> 0);
  state[to] = low;
  state[to + 1] = state[to + 1]! + state[from + 1]! + (low > 0xffff_ffff ? 1 : 0);
}

/** Rotates a word left by fewer than 32 bits, and combines it with another one. */
function turn(word: number, bits: number, other: number): void {
  const low = state[word]!;
  const high = state[word + 1]!;
  state[word] = ((low << bits) | (high >>> (32 - bits))) ^ state[other]!;
  state[word + 1] = ((high << bits) | (low >>> (32 - bits))) ^ state[other + 1]!;
}

function swap(word: number): void {
  const low = state[word]!;
  state[word] = state[word + 1]!;
  state[word + 1] = low;
}

const [V0, V1, V2, V3] = [0, 2, 4, 6] as const;

function mix(rounds: number): void {
  for (let round = 0; round < rounds; round++) {
    add(V0, V1);
    turn(V1, 13, V0);
    swap(V0);
    add(V2, V3);
    turn(V3, 16, V2);
    add(V0, V3);
    turn(V3, 21, V0);
    add(V2, V1);
    turn(V1, 17, V2);
    swap(V2);
  }
}

function absorb(low: number, high: number): void {
  state[V3] = state[V3]! ^ low;
  state[V3 + 1] = state[V3 + 1]! ^ high;
  mix(ROUNDS);
  state[V0] = state[V0]! ^ low;
  state[V0 + 1] = state[V0 + 1]! ^ high;
}

/**
 * The hash of a message of at most 15 bytes that is given as its padded words, each as its lower and its upper half: the last
 * one ends with the length. The result has the upper 21 and the lower 32 bits of the last 53: a whole number that is exact.
 */
export function sipHash53(key: SipKey, words: readonly number[]): number {
  const [k0, k1, k2, k3] = key;
  state.set([k0 ^ 0x70736575, k1 ^ 0x736f6d65, k2 ^ 0x6e646f6d, k3 ^ 0x646f7261]);
  state.set([k0 ^ 0x6e657261, k1 ^ 0x6c796765, k2 ^ 0x79746573, k3 ^ 0x74656462], V2);
  for (let at = 0; at < words.length; at += HALVES) absorb(words[at]!, words[at + 1]!);
  state[V2] = state[V2]! ^ 0xff;
  mix(LAST_ROUNDS);
  const low = (state[V0]! ^ state[V1]! ^ state[V2]! ^ state[V3]!) >>> 0;
  const high = state[1]! ^ state[3]! ^ state[5]! ^ state[7]!;
  return (high & 0x1f_ffff) * 2 ** 32 + low;
}
