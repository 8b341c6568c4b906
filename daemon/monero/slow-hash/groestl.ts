/** Grøstl-256 (a finalist of SHA-3), byte by byte as its specification has it. */
import { SBOX, times } from './aes.ts';
import { padded } from './words.ts';

const ROUNDS = 10;
const SHIFTS_P = [0, 1, 2, 3, 4, 5, 6, 7];
const SHIFTS_Q = [1, 3, 5, 7, 0, 2, 4, 6];
const MIX = [2, 2, 3, 4, 5, 3, 5, 7];
const PRODUCTS = [0, 1, 2, 3, 4, 5, 6, 7].map((by) => Uint8Array.from({ length: 256 }, (_, byte) => times(byte, by)));

/** 64 bytes; byte `8 * column + row`. */
function permuted(input: Uint8Array, isQ: boolean): Uint8Array {
  let state = input;
  const shifts = isQ ? SHIFTS_Q : SHIFTS_P;
  for (let round = 0; round < ROUNDS; round++) {
    const keyed = state.map((byte, at) => {
      const [column, row] = [at >> 3, at & 7];
      if (isQ) return byte ^ 0xff ^ (row === 7 ? (column << 4) ^ round : 0);
      return row === 0 ? byte ^ (column << 4) ^ round : byte;
    });
    const shifted = keyed.map((_, at) => SBOX[keyed[8 * (((at >> 3) + shifts[at & 7]!) & 7) + (at & 7)]!]!);
    state = shifted.map((_, at) =>
      MIX.reduce((sum, by, i) => sum ^ PRODUCTS[by]![shifted[(at & ~7) + (((at & 7) + i) & 7)]!]!, 0),
    );
  }
  return state;
}

const xored = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((byte, at) => byte ^ b[at]!);

export function groestl256(message: Uint8Array): Uint8Array {
  // its length counts blocks, in 8 bytes
  const count = Math.ceil((message.length + 1 + 8) / 64);
  const blocks = padded(message, count, count);
  let chain: Uint8Array = new Uint8Array(64);
  chain[62] = 1;
  for (let at = 0; at < blocks.length; at += 64) {
    const block = blocks.subarray(at, at + 64);
    chain = xored(xored(permuted(xored(chain, block), false), permuted(block, true)), chain);
  }
  return xored(permuted(chain, false), chain).subarray(32);
}
