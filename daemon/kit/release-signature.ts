/**
 * The signatures of the maker of a release, by Ed25519 (RFC 8032): of the list of its packages' hashes, and of the notices of releases. The
 * bytes of each begin differently, so that no signature holds for the other. `launcher/release.mjs` signs.
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { createReadStream } from 'node:fs';

const HASHES_MAX = 1_000;
/** Of `sha256sum`: the hash, two characters, the name of a file without a folder. */
const LINE = /^([0-9a-f]{64}) [ *]([\w.+@-]{1,200})$/;
const NOTICES_PREFIX = 'countinghouse releases\n';

/** A public key of Ed25519 in PEM. Throws an error that says what it is instead. */
export function releaseKey(pem: string): KeyObject {
  // of a private key node would make the public one: whoever gives one here has confused the two
  if (/PRIVATE KEY/.test(pem)) throw new Error('it is a private key: give the public one');
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw new Error('it is no public key in PEM');
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it is a key of ${key.asymmetricKeyType}, not of Ed25519`);
  return key;
}

/** The SHA-256 of a key, by which people compare it: 64 hexadecimal digits. */
export const fingerprintOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');

/** `signature`: in base64. */
export const areHashesSigned = (list: Uint8Array, signature: string, key: KeyObject): boolean =>
  verify(null, list, key, Buffer.from(signature, 'base64'));

export const areNoticesSigned = (text: string, signature: string, key: KeyObject): boolean =>
  verify(null, Buffer.from(NOTICES_PREFIX + text), key, Buffer.from(signature, 'base64'));

/** The SHA-256 of each file in a list as `sha256sum` makes it; null if it has another form or names a file twice. */
export function readHashes(list: string): Map<string, string> | null {
  const lines = list.replace(/\n$/, '').split('\n');
  const hashes = new Map<string, string>();
  for (const line of lines) {
    const [, hash, name] = LINE.exec(line) ?? [];
    if (hash === undefined || name === undefined || hashes.has(name) || hashes.size === HASHES_MAX) return null;
    hashes.set(name, hash);
  }
  return hashes;
}

/** The SHA-256 of a file, read piece by piece. */
export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}
