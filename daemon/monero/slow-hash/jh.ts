/** JH-256 (a finalist of SHA-3), in elements of four bits as its specification has it. */
import { padded } from './words.ts';

const ROUNDS = 42;
const SBOXES = [
  [9, 0, 4, 11, 13, 12, 3, 15, 1, 10, 2, 6, 7, 5, 8, 14],
  [3, 12, 6, 13, 5, 7, 1, 9, 15, 2, 0, 4, 11, 10, 14, 8],
] as const;
/** The digits of the fraction of the square root of 2. */
const FIRST_CONSTANT = '6a09e667f3bcc908b2fb1366ea957d3e3adec17512775099da2f590b0667322a';

type Elements = number[];

const twice = (element: number): number => ((element << 1) ^ (element >> 3) ^ ((element >> 2) & 2)) & 0xf;

/** One round on elements, with a bit for each that chooses its S-box. */
function rounded(elements: Elements, choice: (at: number) => number): Elements {
  const mixed = elements.map((element, at) => SBOXES[choice(at) as 0 | 1][element]!);
  for (let at = 0; at < mixed.length; at += 2) {
    mixed[at + 1]! ^= twice(mixed[at]!);
    mixed[at]! ^= twice(mixed[at + 1]!);
  }
  for (let at = 2; at < mixed.length; at += 4) swap(mixed, at);
  const half = mixed.length / 2;
  const sorted = [...mixed.filter((_, at) => at % 2 === 0), ...mixed.filter((_, at) => at % 2 === 1)];
  for (let at = half; at < sorted.length; at += 2) swap(sorted, at);
  return sorted;
}

function swap(elements: Elements, at: number): void {
  [elements[at], elements[at + 1]] = [elements[at + 1]!, elements[at]!];
}

const bitOf = (bytes: Uint8Array, bit: number): number => (bytes[bit >> 3]! >> (7 - (bit & 7))) & 1;

/** The bijection of 128 bytes. */
function mixedState(state: Uint8Array): Uint8Array {
  const grouped = Array.from({ length: 256 }, (_, at) =>
    [0, 256, 512, 768].reduce((element, from) => (element << 1) | bitOf(state, from + at), 0),
  );
  let elements: Elements = grouped.map((_, at) => grouped[(at >> 1) + (at % 2) * 128]!);
  let constant: Elements = Array.from(FIRST_CONSTANT, (digit) => Number.parseInt(digit, 16));
  for (let round = 0; round < ROUNDS; round++) {
    const bits = constant;
    elements = rounded(elements, (at) => (bits[at >> 2]! >> (3 - (at & 3))) & 1);
    constant = rounded(constant, () => 0);
  }
  const out = new Uint8Array(128);
  elements.forEach((element, at) => {
    const place = (at >> 1) + (at % 2) * 128;
    for (let bit = 0; bit < 4; bit++) {
      const to = 256 * bit + place;
      out[to >> 3]! |= ((element >> (3 - bit)) & 1) << (7 - (to & 7));
    }
  });
  return out;
}

function compressed(state: Uint8Array, block: Uint8Array): Uint8Array {
  const mixed = mixedState(state.map((byte, at) => byte ^ (block[at] ?? 0)));
  return mixed.map((byte, at) => byte ^ (block[at - 64] ?? 0));
}

export function jh256(message: Uint8Array): Uint8Array {
  const begin = new Uint8Array(128);
  begin[0] = 1;
  let state = compressed(begin, new Uint8Array(64));
  // the length is in a block that has nothing of the message
  const all = padded(message, Math.ceil(message.length / 64) + 1, 8 * message.length);
  for (let at = 0; at < all.length; at += 64) state = compressed(state, all.subarray(at, at + 64));
  return state.subarray(96);
}
