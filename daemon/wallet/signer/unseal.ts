/** Opens what `seal` sealed (seal.ts has the format). Only the signer's process does this. */
import {
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { assert } from '../../domain/errors.ts';
import type { Sealed } from './port.ts';
import { BLOCK_BYTES, BLOCKS_MAX, infoOf, notOurs } from './seal.ts';

const KEY_BYTES = 32;
const TAG_BYTES = 16;

/** `publicKey` is in hex. */
type SealPair = { privateKey: KeyObject; publicKey: string };

/** A new key pair, for one start of the signer. */
export function sealPair(): SealPair {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  const { x } = publicKey.export({ format: 'jwk' });
  assert(x, 'a key of X25519 has a public part');
  return { privateKey, publicKey: Buffer.from(x, 'base64url').toString('hex') };
}

/** Opens a text that was sealed to this pair for this purpose. Throws `Rejected('seal')` if it was not. */
export function unseal(pair: SealPair, purpose: string, sealed: Sealed): string {
  const box = Buffer.from(sealed.box, 'base64');
  const blocks = (box.length - TAG_BYTES) / BLOCK_BYTES;
  if (!Number.isInteger(blocks) || blocks < 1 || blocks > BLOCKS_MAX) throw notOurs();
  let plain: Buffer | undefined;
  const key = sharedKey(pair, Buffer.from(sealed.key, 'base64'), purpose);
  try {
    const nonce = Buffer.from(sealed.nonce, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(box.subarray(-TAG_BYTES));
    plain = decipher.update(box.subarray(0, -TAG_BYTES));
    decipher.final();
    return JSON.parse(plain.toString()) as string;
  } catch {
    throw notOurs();
  } finally {
    key.fill(0);
    plain?.fill(0);
  }
}

/** The same key as the sender's. Throws `Rejected('seal')` for an invalid point (RFC 7748). */
function sharedKey({ privateKey, publicKey }: SealPair, ephemeral: Buffer, purpose: string): Buffer {
  let secret: Buffer;
  try {
    if (ephemeral.length !== KEY_BYTES) throw notOurs();
    const jwk = { kty: 'OKP', crv: 'X25519', x: ephemeral.toString('base64url') };
    secret = diffieHellman({ privateKey, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) });
  } catch {
    throw notOurs();
  }
  const salt = Buffer.concat([ephemeral, Buffer.from(publicKey, 'hex')]);
  const key = Buffer.from(hkdfSync('sha256', secret, salt, infoOf(purpose), KEY_BYTES));
  secret.fill(0);
  return key;
}
