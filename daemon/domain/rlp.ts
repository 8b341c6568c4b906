/** RLP, the serialization of Ethereum (Yellow Paper, appendix B): byte strings and lists of them. */
import { Rejected } from './errors.ts';

export type Rlp = Uint8Array | readonly Rlp[];

const STRING = 0x80;
const LIST = 0xc0;
/** Longer payloads have their length behind the prefix. */
const SHORT_BYTES_MAX = 55;
const DEPTH_MAX = 4;

/** A whole number as RLP has it: big-endian without leading zeros, 0 as no bytes. */
export function numberBytes(value: bigint): Uint8Array {
  const digits = value === 0n ? '' : value.toString(16);
  const pairs = digits.padStart(digits.length + (digits.length % 2), '0').match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => parseInt(pair, 16));
}

export function encodeRlp(item: Rlp): Uint8Array {
  if (!(item instanceof Uint8Array)) {
    const payload = joined(item.map(encodeRlp));
    return joined([prefix(LIST, payload.length), payload]);
  }
  const [first] = item;
  if (item.length === 1 && first !== undefined && first < STRING) return item;
  return joined([prefix(STRING, item.length), item]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function prefix(base: number, length: number): Uint8Array {
  if (length <= SHORT_BYTES_MAX) return Uint8Array.of(base + length);
  const size = numberBytes(BigInt(length));
  return Uint8Array.of(base + SHORT_BYTES_MAX + size.length, ...size);
}

const malformed = (): Rejected => new Rejected('spend.malformed', 'The bytes are not RLP');

/** The item that these bytes encode, in its only valid form. Throws `Rejected('spend.malformed')`. */
export function decodeRlp(bytes: Uint8Array): Rlp {
  const { item, end } = read(bytes, 0, bytes.length, 0);
  if (end !== bytes.length) throw malformed();
  return item;
}

function read(bytes: Uint8Array, at: number, limit: number, depth: number): { item: Rlp; end: number } {
  const first = bytes[at];
  if (first === undefined || depth > DEPTH_MAX) throw malformed();
  if (first < STRING) return { item: bytes.slice(at, at + 1), end: at + 1 };
  const isList = first >= LIST;
  const short = first - (isList ? LIST : STRING);
  const lengthBytes = Math.max(0, short - SHORT_BYTES_MAX);
  const from = at + 1 + lengthBytes;
  const length = lengthBytes === 0 ? short : lengthAt(bytes, at + 1, lengthBytes);
  const end = from + length;
  if (end > limit) throw malformed();
  if (!isList) {
    const content = bytes.slice(from, end);
    // a single small byte stands for itself
    if (content.length === 1 && content[0]! < STRING) throw malformed();
    return { item: content, end };
  }
  const items: Rlp[] = [];
  for (let next = from; next < end; ) {
    const found = read(bytes, next, end, depth + 1);
    items.push(found.item);
    next = found.end;
  }
  return { item: items, end };
}

/** A length in its shortest form, which is longer than what fits into the prefix. */
function lengthAt(bytes: Uint8Array, at: number, count: number): number {
  const digits = bytes.slice(at, at + count);
  const length = digits.reduce((sum, digit) => sum * 256 + digit, 0);
  if (digits[0] === 0 || length <= SHORT_BYTES_MAX) throw malformed();
  return length;
}
