/**
 * The functions of WebCrypto that the channel needs, for a till's page over HTTP: browsers give WebCrypto to pages over HTTPS alone.
 * Keys are objects that the browser's storage can copy; unlike WebCrypto's own, a script can read them.
 */
import { gcm } from '@noble/ciphers/aes.js';
import { p256 } from '@noble/curves/nist.js';
import { hkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { Subtle } from '../daemon/contract/console-channel.ts';

type Bytes = Uint8Array<ArrayBuffer>;
type Key = { bytes: Bytes };

const SECRET_BYTES = 32;

const bytesOf = (key: unknown): Bytes => (key as Key).bytes;
const copied = (data: unknown): Bytes => new Uint8Array(data as ArrayBuffer | Bytes);
const keyOf = (bytes: Uint8Array): CryptoKey => ({ bytes: copied(bytes) }) as unknown as CryptoKey;
type Gcm = { iv: Bytes; additionalData: Bytes };

export const ownCrypto = {
  async generateKey() {
    const secret = p256.utils.randomSecretKey();
    return { privateKey: keyOf(secret), publicKey: keyOf(p256.getPublicKey(secret, false)) };
  },
  exportKey: async (_format: string, key: CryptoKey) => bytesOf(key).slice().buffer,
  async importKey(_format: string, data: Bytes, algorithm: string | { name: string }) {
    const name = typeof algorithm === 'string' ? algorithm : algorithm.name;
    // throws for bytes that are no point of the curve
    if (name === 'ECDH') p256.Point.fromBytes(data).assertValidity();
    return keyOf(data);
  },
  /** The x coordinate of the shared point, as WebCrypto has it. */
  deriveBits: async ({ public: other }: { public: CryptoKey }, own: CryptoKey) =>
    copied(p256.getSharedSecret(bytesOf(own), bytesOf(other), true).slice(1)).buffer,
  sign: async (_algorithm: unknown, key: CryptoKey, data: Bytes) => copied(hmac(sha256, bytesOf(key), data)).buffer,
  deriveKey: async ({ salt, info }: { salt: Bytes; info: Bytes }, material: CryptoKey) =>
    keyOf(hkdf(sha256, bytesOf(material), salt, info, SECRET_BYTES)),
  encrypt: async ({ iv, additionalData }: Gcm, key: CryptoKey, plain: Bytes) =>
    copied(gcm(bytesOf(key), iv, additionalData).encrypt(plain)).buffer,
  decrypt: async ({ iv, additionalData }: Gcm, key: CryptoKey, box: Bytes) =>
    copied(gcm(bytesOf(key), iv, additionalData).decrypt(box)).buffer,
} as unknown as Subtle;
