/** Skein-512-256 (a finalist of SHA-3): a hash of 256 bits from Threefish with blocks of 512 bits. */
import { bytesOf, MASK_64, wordsOf } from './words.ts';

const ROUNDS = 72;
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
const PERMUTATION = [2, 1, 4, 7, 6, 5, 0, 3];
const KEY_PARITY = 0x1bd11bdaa9fc1a22n;
const CONFIGURATION = 4n;
const MESSAGE = 48n;
const OUTPUT = 63n;
/** "SHA3", version 1; 256 bits. */
const SCHEMA = [0x133414853n, 256n, 0n, 0n];
const BLOCK_BYTES = 64;

function threefish(key: readonly bigint[], tweak: readonly [bigint, bigint], block: readonly bigint[]): bigint[] {
  const keys = [...key, key.reduce((sum, word) => sum ^ word, KEY_PARITY)];
  const tweaks = [...tweak, tweak[0] ^ tweak[1]];
  const withKey = (state: readonly bigint[], no: number): bigint[] =>
    state.map((word, at) => {
      const extra = at === 5 ? tweaks[no % 3]! : at === 6 ? tweaks[(no + 1) % 3]! : at === 7 ? BigInt(no) : 0n;
      return (word + keys[(no + at) % 9]! + extra) & MASK_64;
    });
  let state = [...block];
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 4 === 0) state = withKey(state, round / 4);
    const mixed: bigint[] = [];
    for (const [pair, by] of ROTATIONS[round % 8]!.entries()) {
      const [left, right] = [state[2 * pair]!, state[2 * pair + 1]!];
      const sum = (left + right) & MASK_64;
      const turned = ((right << BigInt(by)) | (right >> BigInt(64 - by))) & MASK_64;
      mixed.push(sum, turned ^ sum);
    }
    state = PERMUTATION.map((from) => mixed[from]!);
  }
  return withKey(state, ROUNDS / 4);
}

/** Unique block iteration: the chaining value after a message of one type. */
function iterated(chain: readonly bigint[], message: Uint8Array, type: bigint): bigint[] {
  let value = [...chain];
  const blocks = Math.max(1, Math.ceil(message.length / BLOCK_BYTES));
  for (let no = 0; no < blocks; no++) {
    const block = new Uint8Array(BLOCK_BYTES);
    block.set(message.subarray(no * BLOCK_BYTES, (no + 1) * BLOCK_BYTES));
    const isLast = no === blocks - 1;
    const position = BigInt(isLast ? message.length : (no + 1) * BLOCK_BYTES);
    const flags = (type << 56n) | (no === 0 ? 1n << 62n : 0n) | (isLast ? 1n << 63n : 0n);
    const words = wordsOf(block);
    value = threefish(value, [position, flags], words).map((word, at) => word ^ words[at]!);
  }
  return value;
}

export function skein256(message: Uint8Array): Uint8Array {
  const zero = new Array<bigint>(8).fill(0n);
  const begin = iterated(zero, bytesOf(SCHEMA), CONFIGURATION);
  const chain = iterated(begin, message, MESSAGE);
  return bytesOf(iterated(chain, new Uint8Array(8), OUTPUT)).subarray(0, 32);
}
