/** The parts of AES (FIPS 197) that Monero's slow hash takes: the substitution, single rounds, and the key schedule of 256 bits. */

/** The product of two elements of the field of 256. */
export function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 0, shifted = a; bit < 8; bit++) {
    if ((b >> bit) & 1) product ^= shifted;
    shifted = (shifted << 1) ^ (shifted & 0x80 ? 0x11b : 0);
  }
  return product;
}

const rotated = (byte: number, by: number): number => ((byte << by) | (byte >> (8 - by))) & 0xff;

/** The S-box: the inverse, and an affine map. */
export const SBOX: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  let inverse = 0;
  for (let other = 1; byte !== 0 && inverse === 0; other++) if (times(byte, other) === 1) inverse = other;
  return [1, 2, 3, 4].reduce((sum, by) => sum ^ rotated(inverse, by), inverse ^ 0x63);
});

/** Substitution and mixing of one byte of a column, in each of its four rows; words are little-endian. */
const TABLES = [0, 8, 16, 24].map((by) =>
  Uint32Array.from(SBOX, (byte) => {
    const word = times(byte, 2) | (byte << 8) | (byte << 16) | (times(byte, 3) << 24);
    return (word << by) | (word >>> (32 - by));
  }),
);
const [ROW_0, ROW_1, ROW_2, ROW_3] = TABLES as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

/** One round on four words of `state` from `at` on, with a round key of four words from `from` on. */
export function round(state: Uint32Array, at: number, key: Uint32Array, from: number): void {
  const [a, b, c, d] = [state[at]!, state[at + 1]!, state[at + 2]!, state[at + 3]!];
  const mixed = (w: number, x: number, y: number, z: number): number =>
    ROW_0[w & 0xff]! ^ ROW_1[(x >>> 8) & 0xff]! ^ ROW_2[(y >>> 16) & 0xff]! ^ ROW_3[z >>> 24]!;
  state[at] = mixed(a, b, c, d) ^ key[from]!;
  state[at + 1] = mixed(b, c, d, a) ^ key[from + 1]!;
  state[at + 2] = mixed(c, d, a, b) ^ key[from + 2]!;
  state[at + 3] = mixed(d, a, b, c) ^ key[from + 3]!;
}

/** The first ten round keys of a key of 8 words. */
export function roundKeys(key: Uint32Array): Uint32Array {
  const words = new Uint32Array(40);
  words.set(key);
  const substituted = (word: number): number =>
    SBOX[word & 0xff]! |
    (SBOX[(word >>> 8) & 0xff]! << 8) |
    (SBOX[(word >>> 16) & 0xff]! << 16) |
    (SBOX[word >>> 24]! << 24);
  for (let at = 8, constant = 1; at < words.length; at++) {
    let word = words[at - 1]!;
    if (at % 8 === 0) {
      word = substituted((word >>> 8) | (word << 24)) ^ constant;
      constant = times(constant, 2);
    } else if (at % 8 === 4) word = substituted(word);
    words[at] = words[at - 8]! ^ word;
  }
  return words;
}
