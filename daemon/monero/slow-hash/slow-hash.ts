/**
 * Monero's slow hash (CryptoNight, `cn_slow_hash` of variant 0), from which its wallets derive the key of a file. It
 * takes 2 MB and about a second, in steps between which a caller may do other work.
 */
import { blake256 } from '@noble/hashes/blake1.js';
import { keccakP } from '@noble/hashes/sha3.js';
import { assert } from '../../domain/errors.ts';
import { round, roundKeys } from './aes.ts';
import { groestl256 } from './groestl.ts';
import { jh256 } from './jh.ts';
import { skein256 } from './skein.ts';

const STATE_WORDS = 50;
const KECCAK_RATE = 136;
const PAD_WORDS = 2 ** 19;
const LINES = PAD_WORDS / 4;
const ITERATIONS = 2 ** 19;
/** The 128 bytes of the state that fill the pad, in words. */
const TEXT = { from: 16, to: 48 };
const TEXT_WORDS = TEXT.to - TEXT.from;
const ROUNDS = 10;
/** Work between two steps: about a millisecond. */
const ITERATIONS_PER_STEP = 1_024;
const TEXTS_PER_STEP = 64;

const FINAL = [blake256, groestl256, jh256, skein256] as const;

/** The hash of at most 135 bytes. Each `null` is a step. */
export function* slowHash(data: Uint8Array): Generator<null, Uint8Array, undefined> {
  assert(data.length < KECCAK_RATE, 'the slow hash takes one block');
  const state = new Uint32Array(STATE_WORDS);
  const bytes = new Uint8Array(state.buffer);
  bytes.set(data);
  bytes[data.length]! ^= 1;
  bytes[KECCAK_RATE - 1]! ^= 0x80;
  keccakP(state);
  const pad = yield* filled(state);
  yield* walk(pad, state);
  yield* folded(pad, state);
  keccakP(state);
  return FINAL[(bytes[0]! & 3) as 0 | 1 | 2 | 3](bytes);
}

/** Ten rounds on each line of a text. */
function encrypt(text: Uint32Array, keys: Uint32Array): void {
  for (let at = 0; at < TEXT_WORDS; at += 4) for (let no = 0; no < ROUNDS; no++) round(text, at, keys, 4 * no);
}

function* filled(state: Uint32Array): Generator<null, Uint32Array, undefined> {
  const pad = new Uint32Array(PAD_WORDS);
  const keys = roundKeys(state.subarray(0, 8));
  const text = state.slice(TEXT.from, TEXT.to);
  for (let at = 0; at < PAD_WORDS; at += TEXT_WORDS) {
    encrypt(text, keys);
    pad.set(text, at);
    if (at % (TEXT_WORDS * TEXTS_PER_STEP) === 0) yield null;
  }
  return pad;
}

/** The dependent reads and writes all over the pad. */
function* walk(pad: Uint32Array, state: Uint32Array): Generator<null, void, undefined> {
  const a = Uint32Array.from({ length: 4 }, (_, at) => state[at]! ^ state[8 + at]!);
  const b = Uint32Array.from({ length: 4 }, (_, at) => state[4 + at]! ^ state[12 + at]!);
  const [a64, c] = [new BigUint64Array(a.buffer), new Uint32Array(4)];
  const c64 = new BigUint64Array(c.buffer);
  const pad64 = new BigUint64Array(pad.buffer);
  for (let i = 0; i < ITERATIONS; i++) {
    const first = 4 * ((a[0]! >>> 4) % LINES);
    for (let at = 0; at < 4; at++) c[at] = pad[first + at]!;
    round(c, 0, a, 0);
    for (let at = 0; at < 4; at++) {
      pad[first + at] = b[at]! ^ c[at]!;
      b[at] = c[at]!;
    }
    const second = 2 * ((c[0]! >>> 4) % LINES);
    const [low, high] = [pad64[second]!, pad64[second + 1]!];
    const product = c64[0]! * low;
    a64[0] = a64[0]! + (product >> 64n);
    a64[1] = a64[1]! + product;
    pad64[second] = a64[0]!;
    pad64[second + 1] = a64[1]!;
    a64[0] = a64[0]! ^ low;
    a64[1] = a64[1]! ^ high;
    if (i % ITERATIONS_PER_STEP === 0) yield null;
  }
}

function* folded(pad: Uint32Array, state: Uint32Array): Generator<null, void, undefined> {
  const keys = roundKeys(state.subarray(8, 16));
  const text = state.subarray(TEXT.from, TEXT.to);
  for (let at = 0; at < PAD_WORDS; at += TEXT_WORDS) {
    for (let word = 0; word < TEXT_WORDS; word++) text[word]! ^= pad[at + word]!;
    encrypt(text, keys);
    if (at % (TEXT_WORDS * TEXTS_PER_STEP) === 0) yield null;
  }
}
