/**
 * A file that only the holder of an X25519 key can read, written and read as a stream.
 *
 * One line of JSON says what it is and carries the sender's ephemeral key; then come frames: four bytes of length, and
 * AES-256-GCM under a key from X25519 and HKDF-SHA-256 (RFC 5869), with the header as associated data. A frame's nonce is
 * its number and whether it is the last (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár), so that
 * frames cannot be left out, reordered or cut off unnoticed.
 */
import {
  createCipheriv,
  createDecipheriv,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { Rejected } from '../domain/errors.ts';
import { publicKeyOf, rawPublicKey } from './backup-key.ts';

export const SEALED_FORMAT = 'countinghouse-backup';

const PURPOSE = 'countinghouse backup file 1';
const FRAME_BYTES = 1_048_576;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;
const KEY_BYTES = 32;
const HEADER_BYTES_MAX = 4_096;
const NEWLINE = 10;

const Header = z.strictObject({
  format: z.literal(SEALED_FORMAT),
  version: z.literal(1),
  /** Of the wallet whose words open it. */
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  /** When it was made, ISO 8601. */
  made_at: z.string(),
  /** The ephemeral X25519 public key, base64. */
  key: z.string(),
});
export type SealedHeader = z.infer<typeof Header>;

function keyOf(privateKey: KeyObject, ephemeral: Uint8Array, recipient: Uint8Array, peer: Uint8Array): Buffer {
  const shared = diffieHellman({ privateKey, publicKey: publicKeyOf(peer) });
  return Buffer.from(hkdfSync('sha256', shared, Buffer.concat([ephemeral, recipient]), PURPOSE, KEY_BYTES));
}

function nonceOf(frame: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(frame), 3);
  nonce[11] = last ? 1 : 0;
  return nonce;
}

/** Cuts a stream into pieces of FRAME_BYTES, and says which is the last; there is always one, if only an empty one. */
async function* pieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<{ bytes: Buffer; last: boolean }> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    waiting.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    length += chunk.length;
    if (length <= FRAME_BYTES) continue;
    const all = Buffer.concat(waiting);
    let from = 0;
    // what is left over may be the last piece, so it is never empty here
    for (; all.length - from > FRAME_BYTES; from += FRAME_BYTES) {
      yield { bytes: all.subarray(from, from + FRAME_BYTES), last: false };
    }
    waiting = [all.subarray(from)];
    length = all.length - from;
  }
  yield { bytes: Buffer.concat(waiting), last: true };
}

/** The bytes of a sealed file with this content, for the holder of `recipient` (32 raw bytes) with that fingerprint. */
export async function* seal(
  source: AsyncIterable<Uint8Array>,
  recipient: Uint8Array,
  fingerprint: string,
  madeAt: number,
): AsyncGenerator<Buffer> {
  const pair = generateKeyPairSync('x25519');
  const ephemeral = rawPublicKey(pair.publicKey);
  const made_at = new Date(madeAt).toISOString();
  const header: SealedHeader = {
    format: SEALED_FORMAT,
    version: 1,
    fingerprint,
    made_at,
    key: ephemeral.toString('base64'),
  };
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  const key = keyOf(pair.privateKey, ephemeral, recipient, recipient);
  yield line;
  let frame = 0;
  for await (const { bytes, last } of pieces(source)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(frame++, last));
    cipher.setAAD(line);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(bytes.length + TAG_BYTES);
    yield Buffer.concat([length, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }
  key.fill(0);
}

/** Takes exact numbers of bytes from a stream. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Fewer than `count` only at the end. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [this.#held];
    let length = this.#held.length;
    while (length < count) {
      const { value, done } = await this.#chunks.next();
      if (done) break;
      parts.push(Buffer.from(value));
      length += value.length;
    }
    const all = Buffer.concat(parts);
    this.#held = all.subarray(count);
    return all.subarray(0, count);
  }

  async line(): Promise<Buffer | null> {
    const head = await this.take(HEADER_BYTES_MAX);
    const end = head.indexOf(NEWLINE);
    if (end < 0) return null;
    this.#held = Buffer.concat([head.subarray(end + 1), this.#held]);
    return head.subarray(0, end + 1);
  }
}

const damaged = (): Rejected =>
  new Rejected('backup.damaged', 'This backup is damaged or was cut off: take another copy of it');

function parseHeader(line: Buffer | null): SealedHeader {
  try {
    return Header.parse(JSON.parse(String(line)));
  } catch {
    throw new Rejected('backup.format', 'This file is no backup that this release can read');
  }
}

/** What a sealed file says of itself without a key. Throws `Rejected('backup.format')`. */
export async function sealedHeader(source: AsyncIterable<Uint8Array>): Promise<SealedHeader> {
  return parseHeader(await new ByteReader(source).line());
}

/**
 * What a sealed file says of itself, if all of its frames are there as far as that is to be seen without the key. Throws
 * `Rejected`: `backup.format`, `backup.damaged`.
 */
export async function inspectSealed(path: string): Promise<SealedHeader> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const { bytesRead, buffer } = await file.read(Buffer.alloc(HEADER_BYTES_MAX), 0, HEADER_BYTES_MAX, 0);
    const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE);
    const header = parseHeader(end < 0 ? null : buffer.subarray(0, end + 1));
    let at = end + 1;
    do {
      const { bytesRead: got } = await file.read(buffer, 0, LENGTH_BYTES, at);
      const length = got === LENGTH_BYTES ? buffer.readUInt32BE() : 0;
      if (length < TAG_BYTES || length > FRAME_BYTES + TAG_BYTES) throw damaged();
      at += LENGTH_BYTES + length;
    } while (at < size);
    if (at > size) throw damaged();
    return header;
  } finally {
    await file.close();
  }
}

/**
 * The content of a sealed file, each frame only once it proved genuine. Throws `Rejected`: `backup.format`,
 * `backup.words` (sealed to another wallet), `backup.damaged`.
 */
export async function* openSealed(
  source: AsyncIterable<Uint8Array>,
  secret: { fingerprint: string; privateKey: KeyObject },
): AsyncGenerator<Buffer> {
  const reader = new ByteReader(source);
  const line = await reader.line();
  const header = parseHeader(line);
  if (header.fingerprint !== secret.fingerprint) {
    throw new Rejected('backup.words', `This backup is of another wallet (${header.fingerprint}): give its words`);
  }
  const ephemeral = Buffer.from(header.key, 'base64');
  if (ephemeral.length !== KEY_BYTES) throw damaged();
  const key = keyOf(secret.privateKey, ephemeral, rawPublicKey(secret.privateKey), ephemeral);
  let ahead = await reader.take(LENGTH_BYTES);
  for (let frame = 0; ; frame++) {
    if (ahead.length < LENGTH_BYTES) throw damaged();
    const length = ahead.readUInt32BE();
    if (length < TAG_BYTES || length > FRAME_BYTES + TAG_BYTES) throw damaged();
    const bytes = await reader.take(length);
    if (bytes.length < length) throw damaged();
    ahead = await reader.take(LENGTH_BYTES);
    const last = ahead.length === 0;
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(frame, last));
    decipher.setAAD(line as Buffer);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const content = decipher.update(bytes.subarray(0, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      throw damaged();
    }
    yield content;
    if (last) return;
  }
}
