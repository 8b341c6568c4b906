/**
 * Seals a short secret so that only the holder of an X25519 key can read it: an ephemeral key pair, HKDF-SHA-256 and
 * AES-256-GCM. WebCrypto has all three. Passphrases cross the daemon in this form.
 *
 * Invariant: a box that was sealed for one purpose, or to one key, does not open for another. The length of a box does
 * not reveal the length of the secret.
 */
import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { Rejected } from '../../domain/errors.ts';
import type { Sealed } from './port.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Two passphrases of 1,000 characters, four bytes each, fit with room to spare. */
const PADDED_BYTES = 16_384;

/** `publicKey` is in hex. */
export type SealPair = { privateKey: KeyObject; publicKey: string };

/** A new key pair, for one start of the signer or for one sealing. */
export function sealPair(): SealPair {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  const { x } = publicKey.export({ format: 'jwk' });
  return { privateKey, publicKey: Buffer.from(x ?? '', 'base64url').toString('hex') };
}

/** Seals a text to a public key (hex) for a purpose. Throws `Rejected('seal')` for an invalid key or a long text. */
export function seal(sealKey: string, purpose: string, text: string): Sealed {
  const plain = Buffer.alloc(PADDED_BYTES, ' ');
  const json = Buffer.from(JSON.stringify(text));
  if (json.length > PADDED_BYTES) throw new Rejected('seal', 'The text is too long to be sealed');
  json.copy(plain);
  json.fill(0);
  const own = sealPair();
  const ephemeral = Buffer.from(own.publicKey, 'hex');
  const key = sharedKey(own.privateKey, Buffer.from(sealKey, 'hex'), ephemeral, Buffer.from(sealKey, 'hex'), purpose);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const box = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  key.fill(0);
  plain.fill(0);
  return { key: ephemeral.toString('base64'), nonce: nonce.toString('base64'), box: box.toString('base64') };
}

/** Opens a text that was sealed to this pair for this purpose. Throws `Rejected('seal')` if it was not. */
export function unseal(pair: SealPair, purpose: string, { key: ephemeral, nonce, box }: Sealed): string {
  const bytes = Buffer.from(box, 'base64');
  const epk = Buffer.from(ephemeral, 'base64');
  if (bytes.length !== PADDED_BYTES + TAG_BYTES) throw notOurs();
  let plain: Buffer | undefined;
  const key = sharedKey(pair.privateKey, epk, epk, Buffer.from(pair.publicKey, 'hex'), purpose);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64'), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    plain = decipher.update(bytes.subarray(0, -TAG_BYTES));
    decipher.final();
    return JSON.parse(plain.toString()) as string;
  } catch {
    throw notOurs();
  } finally {
    key.fill(0);
    plain?.fill(0);
  }
}

const notOurs = (): Rejected => new Rejected('seal', 'This was sealed for another start of the wallet: ask again');

/** Depends on both public keys and the purpose. Throws `Rejected('seal')` for an invalid point (RFC 7748). */
function sharedKey(own: KeyObject, other: Buffer, ephemeral: Buffer, recipient: Buffer, purpose: string): Buffer {
  let secret: Buffer;
  try {
    if (other.length !== KEY_BYTES) throw notOurs();
    const jwk = { kty: 'OKP', crv: 'X25519', x: other.toString('base64url') };
    secret = diffieHellman({ privateKey: own, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) });
  } catch {
    throw notOurs();
  }
  const info = `countinghouse seal v1 ${purpose}`;
  const key = Buffer.from(hkdfSync('sha256', secret, Buffer.concat([ephemeral, recipient]), info, KEY_BYTES));
  secret.fill(0);
  return key;
}
