/**
 * The encryption of the files of Monero's offline signing (`wallet2::encrypt_with_view_secret_key`): ChaCha20 under a
 * key derived from the private view key, and a signature by that key.
 */
import { createCipheriv, randomBytes } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { Rejected } from '../../../domain/errors.ts';
import { hashToScalar, Point, scalarBytes, scalarOf } from '../../../monero/curve.ts';
import { slowHash } from '../../../monero/slow-hash/slow-hash.ts';

const NONCE_BYTES = 8;
const SIGNATURE_BYTES = 64;

export type ColdKey = { view: Uint8Array; key: Uint8Array };

let last: ColdKey | null = null;

/** The key of an account's files. Takes about half a second, unless that account signed last, too. Nothing is kept that the service has not. */
export function coldKey(view: Uint8Array): ColdKey {
  if (last && Buffer.from(view).equals(last.view)) return last;
  const steps = slowHash(view);
  let step = steps.next();
  while (!step.done) step = steps.next();
  last = { view: Uint8Array.from(view), key: step.value };
  return last;
}

/** ChaCha20 as its author defined it: a counter of 8 bytes from 0, and a nonce of 8 bytes. */
function chacha(data: Uint8Array, key: Uint8Array, nonce: Uint8Array): Buffer {
  const cipher = createCipheriv('chacha20', key, Buffer.concat([Buffer.alloc(NONCE_BYTES), nonce]));
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

/** Schnorr's signature of a hash (`crypto::generate_signature`). */
function signature(hash: Uint8Array, secretKey: Uint8Array): Uint8Array {
  const secret = scalarOf(secretKey);
  const nonce = scalarOf(randomBytes(32));
  const publicKey = Point.BASE.multiply(secret).toBytes();
  const challenge = hashToScalar(hash, publicKey, Point.BASE.multiply(nonce).toBytes());
  const answer = Point.Fn.sub(nonce, Point.Fn.mul(challenge, secret));
  return Buffer.concat([scalarBytes(challenge), scalarBytes(answer)]);
}

/** `magic`: the words at the file's beginning, which name its content. Returns hex. */
export function sealColdFile(magic: string, plain: Uint8Array, { view, key }: ColdKey): string {
  const nonce = randomBytes(NONCE_BYTES);
  const body = Buffer.concat([nonce, chacha(plain, key, nonce)]);
  return Buffer.concat([Buffer.from(magic), body, signature(keccak_256(body), view)]).toString('hex');
}

/** The content of a file of the library in this process. Throws `Rejected('signer.unsupported')` on another kind of file. */
export function openColdFile(magic: string, hex: string, { key }: ColdKey): Buffer {
  const bytes = Buffer.from(hex, 'hex');
  const start = Buffer.byteLength(magic);
  if (bytes.subarray(0, start).toString() !== magic) {
    throw new Rejected('signer.unsupported', 'The library for Monero does not write the file that it should');
  }
  const body = bytes.subarray(start, -SIGNATURE_BYTES);
  return chacha(body.subarray(NONCE_BYTES), key, body.subarray(0, NONCE_BYTES));
}
