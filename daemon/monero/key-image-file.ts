/**
 * The file of a wallet's command `export_key_images` (`wallet2::export_key_images`): a magic, a nonce, an encrypted list, and a signature.
 * The list has the number of its first output, the account's two public keys, and the signed key images. It is encrypted by ChaCha20
 * with a key from the private view key, so that any part of it can be decrypted by itself.
 *
 * The signature at the end is not needed: each key image has its own.
 */
import { chacha20orig } from '@noble/ciphers/chacha.js';
import { SIGNED_IMAGE_BYTES } from './key-image.ts';

const MAGIC = 'Monero key image export';
/** Behind the magic. Earlier versions were signed and encrypted in other ways. */
const VERSION = 3;
export const NONCE_BYTES = 8;
const SIGNATURE_BYTES = 64;
/** The number of the first output, and the public spend key and view key. */
const NUMBER_BYTES = 4;
const KEY_BYTES = 32;
export const HEAD_BYTES = NUMBER_BYTES + 2 * KEY_BYTES;
const CIPHER_BLOCK_BYTES = 64;

/** An encrypted part of the list. `nonce`: of the file. `at`: its first byte in the list. */
export type SealedPart = { nonce: Uint8Array; at: number; bytes: Uint8Array };

/** `other`: no such file, or of another version. `damaged`: with a part of an entry. */
export type FileFault = 'other' | 'damaged';

/** The parts of a file, of so many entries each at the most; the first one begins with the head. */
export function partsOfFile(file: Uint8Array, entriesMax: number): SealedPart[] | FileFault {
  const begin = MAGIC.length + 1;
  if (new TextDecoder('latin1').decode(file.subarray(0, MAGIC.length)) !== MAGIC || file[MAGIC.length] !== VERSION)
    return 'other';
  const nonce = file.subarray(begin, begin + NONCE_BYTES);
  const list = file.subarray(begin + NONCE_BYTES, Math.max(begin + NONCE_BYTES, file.length - SIGNATURE_BYTES));
  if (list.length < HEAD_BYTES || (list.length - HEAD_BYTES) % SIGNED_IMAGE_BYTES !== 0) return 'damaged';
  const parts: SealedPart[] = [];
  for (let at = 0; at < list.length; ) {
    const end = at + (at === 0 ? HEAD_BYTES : 0) + entriesMax * SIGNED_IMAGE_BYTES;
    parts.push({ nonce, at, bytes: list.subarray(at, end) });
    at = end;
  }
  return parts;
}

/** Decrypts a part with the key that `slowHash` makes of the private view key. */
export function openPart({ nonce, at, bytes }: SealedPart, key: Uint8Array): Uint8Array {
  const skipped = at % CIPHER_BLOCK_BYTES;
  const whole = new Uint8Array(skipped + bytes.length);
  whole.set(bytes, skipped);
  return chacha20orig(key, nonce, whole, undefined, (at - skipped) / CIPHER_BLOCK_BYTES).subarray(skipped);
}

/** The public keys in the head of a list, 64 bytes. */
export const keysInHead = (list: Uint8Array): Uint8Array => list.subarray(NUMBER_BYTES, HEAD_BYTES);
