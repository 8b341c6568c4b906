/**
 * Seals a short secret so that only the holder of an X25519 key can read it: an ephemeral key pair, HKDF-SHA-256 and
 * AES-256-GCM. Passphrases cross the daemon in this form. It uses WebCrypto alone, so that a browser runs the same code.
 *
 * Invariant: a box that was sealed for one purpose, or to one key, does not open for another. The length of a box does
 * not reveal the length of a passphrase. The key of a `ReplyBox` lives in one page or process and is never written.
 */
import { base64, hex } from '@scure/base';
import { Rejected } from '../../domain/errors.ts';
import type { Sealed } from './port.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
/** A text is padded to whole blocks. Two passphrases of 1,000 characters, four bytes each, fit into one. */
export const BLOCK_BYTES = 16_384;
export const BLOCKS_MAX = 4;

type Bytes = Uint8Array<ArrayBuffer>;
type Pair = { publicKey: CryptoKey; privateKey: CryptoKey };

/** The context of the key: it differs for each purpose. */
export const infoOf = (purpose: string): string => `countinghouse seal v1 ${purpose}`;

/** Seals a text to a public key (hex) for a purpose. Throws `Rejected('seal')` for an invalid key or a long text. */
export async function seal(sealKey: string, purpose: string, text: string): Promise<Sealed> {
  const json = new TextEncoder().encode(JSON.stringify(text));
  const blocks = Math.ceil(json.length / BLOCK_BYTES);
  if (blocks > BLOCKS_MAX) throw new Rejected('seal', 'The text is too long to be sealed');
  const plain = new Uint8Array(blocks * BLOCK_BYTES).fill(0x20);
  plain.set(json);
  json.fill(0);
  const recipient = bytesOfKey(sealKey);
  const { privateKey, publicKey: ephemeral } = await newPair();
  const key = await sharedKey(privateKey, recipient, { ephemeral, recipient }, purpose);
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const box = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, plain);
  plain.fill(0);
  return { key: base64.encode(ephemeral), nonce: base64.encode(iv), box: base64.encode(new Uint8Array(box)) };
}

function bytesOfKey(sealKey: string): Bytes {
  const isKey = /^[0-9a-f]+$/.test(sealKey) && sealKey.length === 2 * KEY_BYTES;
  if (!isKey) throw notOurs();
  return new Uint8Array(hex.decode(sealKey));
}

/**
 * Depends on both public keys and the purpose. `ephemeral`: the sender's public key. Throws `Rejected('seal')` for an
 * invalid point (RFC 7748).
 */
async function sharedKey(
  own: CryptoKey,
  other: Bytes,
  { ephemeral, recipient }: { ephemeral: Bytes; recipient: Bytes },
  purpose: string,
): Promise<CryptoKey> {
  const { subtle } = crypto;
  let secret: Bytes;
  try {
    const publicKey = await subtle.importKey('raw', other, { name: 'X25519' }, false, []);
    secret = new Uint8Array(await subtle.deriveBits({ name: 'X25519', public: publicKey }, own, 8 * KEY_BYTES));
  } catch {
    throw notOurs();
  }
  const material = await subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey']);
  secret.fill(0);
  const salt = new Uint8Array([...ephemeral, ...recipient]);
  const info = new TextEncoder().encode(infoOf(purpose));
  const derived = { name: 'HKDF', hash: 'SHA-256', salt, info };
  const uses = ['encrypt', 'decrypt'] as const;
  return subtle.deriveKey(derived, material, { name: 'AES-GCM', length: 8 * KEY_BYTES }, false, [...uses]);
}

async function newPair(): Promise<{ privateKey: CryptoKey; publicKey: Bytes }> {
  const { privateKey, publicKey } = (await crypto.subtle.generateKey('X25519', false, ['deriveBits'])) as Pair;
  return { privateKey, publicKey: new Uint8Array(await crypto.subtle.exportKey('raw', publicKey)) };
}

/** The way back for one answer: `key` (hex) is sent with the question; only `open` can read what is sealed to it. */
type ReplyBox = { key: string; open(purpose: string, sealed: Sealed): Promise<string> };

/** `open` throws `Rejected('seal')` if the text was not sealed to this box for this purpose. */
export async function replyBox(): Promise<ReplyBox> {
  const own = await newPair();
  return {
    key: hex.encode(own.publicKey),
    open: async (purpose, sealed) => {
      try {
        const ephemeral = new Uint8Array(base64.decode(sealed.key));
        const key = await sharedKey(own.privateKey, ephemeral, { ephemeral, recipient: own.publicKey }, purpose);
        const iv = new Uint8Array(base64.decode(sealed.nonce));
        const box = new Uint8Array(base64.decode(sealed.box));
        const plain = new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, box));
        const text: unknown = JSON.parse(new TextDecoder().decode(plain));
        plain.fill(0);
        return String(text);
      } catch {
        throw notOurs();
      }
    },
  };
}

export const notOurs = (): Rejected =>
  new Rejected('seal', 'This was sealed for another start of the wallet: ask again');
