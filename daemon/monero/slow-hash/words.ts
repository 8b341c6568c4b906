/** Words of 64 bits in bytes, little-endian. */

export const MASK_64 = (1n << 64n) - 1n;

/** The 64-bit words of bytes, whose number is a multiple of 8. */
export function wordsOf(bytes: Uint8Array): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 8 }, (_, at) => view.getBigUint64(8 * at, true));
}

export function bytesOf(words: readonly bigint[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * words.length));
  words.forEach((word, at) => {
    view.setBigUint64(8 * at, word, true);
  });
  return new Uint8Array(view.buffer);
}

/** A message with a 1 bit behind it, zeros, and a number in the last 4 bytes (big-endian): as many blocks of 64 bytes as are named. */
export function padded(message: Uint8Array, blocks: number, last: number): Uint8Array {
  const all = new Uint8Array(64 * blocks);
  all.set(message);
  all[message.length] = 0x80;
  new DataView(all.buffer).setUint32(all.length - 4, last);
  return all;
}
