/**
 * A backup as a file in the age format (age-encryption.org/v1), for one X25519 recipient, written and read as a stream.
 * The program `age` opens it with the identity that `countinghouse backup identity` prints.
 *
 * Beside the recipient's, the header has a stanza `countinghouse-backup FINGERPRINT TIME BYTES`, which age passes over:
 * whose words open the file, when it was made, and how long its content is. Anybody can read it; the key proves it.
 * Files of earlier releases (`former-sealed-file.ts`) still open.
 */
import type { KeyObject } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { bech32 } from '@scure/base';
import { Decrypter, Encrypter, type Identity, Stanza } from 'age-encryption';
import { Rejected } from '../domain/errors.ts';
import { rawPrivateKey } from './backup-key.ts';
import { ByteReader, damaged } from './byte-reader.ts';
import { formerHeader, hasWholeFrames, openFormer } from './former-sealed-file.ts';

const AGE = 'age-encryption.org/v1\n';
const STANZA = /^-> countinghouse-backup ([0-9a-f]{8}) (\S+) (\d{1,16})$/m;
const HEADER_END = /^--- .*\n/m;
const HEADER_BYTES_MAX = 4_096;
/** The payload begins with a nonce; then come chunks, each with a tag. */
const NONCE_BYTES = 16;
const CHUNK_BYTES = 65_536;
const TAG_BYTES = 16;

/** `fingerprint`: of the wallet whose words open it. `made_at`: ISO 8601. */
export type SealedHeader = { fingerprint: string; made_at: string };

/**
 * `end`: the length of the header in bytes. `size`: the expected length of the whole file in bytes; null for a file of
 * an earlier release.
 */
type Parsed = SealedHeader & { end: number; size: number | null };

/** Opens sealed files: all of a wallet by its secret, one by its own key. */
type WalletSecret = { fingerprint: string; privateKey: KeyObject };
export type Opener = WalletSecret | { fileKey: Uint8Array };

/** The identity that opens the backups of a wallet with the program `age`. It is a secret. */
export const ageIdentity = (privateKey: KeyObject): string =>
  bech32.encodeFromBytes('AGE-SECRET-KEY-', rawPrivateKey(privateKey)).toUpperCase();

/**
 * The file with this content of `bytes` bytes, for the holder of `recipient` (32 raw bytes) with that fingerprint.
 * `reopen` decrypts the same file without the recipient's secret, by the key of the file itself. Its content throws
 * `Rejected('backup.damaged')`.
 */
export async function seal(
  source: AsyncIterable<Uint8Array>,
  bytes: number,
  recipient: Uint8Array,
  fingerprint: string,
  madeAt: number,
): Promise<{ sealed: Readable; reopen(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> }> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(bech32.encodeFromBytes('age', recipient));
  const args = ['countinghouse-backup', fingerprint, new Date(madeAt).toISOString(), `${bytes}`];
  let fileKey: Uint8Array | null = null;
  encrypter.addRecipient({
    wrapFileKey(key) {
      fileKey = Uint8Array.from(key);
      return [new Stanza(args, new Uint8Array(0))];
    },
  });
  const sealed = Readable.fromWeb((await encrypter.encrypt(webStream(source))) as ReadableStream<Uint8Array>);
  return { sealed, reopen: (written) => decrypted(written, { unwrapFileKey: () => fileKey }) };
}

type WebStream = Parameters<Encrypter['encrypt']>[0] & globalThis.ReadableStream<Uint8Array>;
const webStream = (source: AsyncIterable<Uint8Array>): WebStream =>
  Readable.toWeb(Readable.from(source)) as ReadableStream<Uint8Array> as WebStream;

/** Throws `Rejected('backup.format')`. */
function parse(head: Buffer): Parsed {
  const text = head.toString('latin1');
  const [, fingerprint, made_at, bytes] = STANZA.exec(text) ?? [];
  const last = HEADER_END.exec(text);
  if (text.startsWith(AGE) && fingerprint && made_at && last) {
    const end = last.index + last[0].length;
    const chunks = Math.max(1, Math.ceil(Number(bytes) / CHUNK_BYTES));
    return { fingerprint, made_at, end, size: end + NONCE_BYTES + Number(bytes) + chunks * TAG_BYTES };
  }
  const end = text.indexOf('\n') + 1;
  const former = formerHeader(head.subarray(0, end));
  if (!former) throw new Rejected('backup.format', 'This file is no backup that this release can read');
  return { fingerprint: former.fingerprint, made_at: former.made_at, end, size: null };
}

/** The header of a sealed file, which needs no key. Throws `Rejected('backup.format')`. */
export async function sealedHeader(source: AsyncIterable<Uint8Array>): Promise<SealedHeader> {
  return parse(await new ByteReader(source).take(HEADER_BYTES_MAX));
}

/**
 * Reads the header of a sealed file, and checks of the file what needs no key. Throws `Rejected`:
 * `backup.format`, `backup.damaged`.
 */
export async function inspectSealed(path: string): Promise<SealedHeader> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(HEADER_BYTES_MAX), 0, HEADER_BYTES_MAX, 0);
    const header = parse(buffer.subarray(0, bytesRead));
    const isWhole = header.size === null ? hasWholeFrames(file, header.end) : (await file.stat()).size === header.size;
    if (!(await isWhole)) throw damaged();
    return header;
  } finally {
    await file.close();
  }
}

/**
 * Decrypts a sealed file. Each part is yielded only after it was authenticated. Throws `Rejected`: `backup.format`,
 * `backup.words` (sealed to another wallet), `backup.damaged`.
 */
export async function* openSealed(source: AsyncIterable<Uint8Array>, by: Opener): AsyncGenerator<Uint8Array> {
  const reader = new ByteReader(source);
  const head = await reader.take(HEADER_BYTES_MAX);
  const header = parse(head);
  if ('fileKey' in by) {
    reader.back(head);
    yield* decrypted(reader.rest(), { unwrapFileKey: () => by.fileKey });
    return;
  }
  needOf(header, by);
  if (header.size === null) {
    reader.back(head.subarray(header.end));
    yield* openFormer(reader, head.subarray(0, header.end), by.privateKey);
    return;
  }
  reader.back(head);
  yield* decrypted(reader.rest(), ageIdentity(by.privateKey));
}

/** Throws `Rejected('backup.words')` for a file of another wallet. */
function needOf(header: SealedHeader, secret: WalletSecret): void {
  if (header.fingerprint === secret.fingerprint) return;
  throw new Rejected('backup.words', `This backup is of another wallet (${header.fingerprint}): give its words`);
}

/**
 * The key of one sealed file, which opens no other. Throws `Rejected`: `backup.format` (of an earlier release, too),
 * `backup.words`, `backup.damaged`.
 */
export async function fileKeyOf(source: AsyncIterable<Uint8Array>, secret: WalletSecret): Promise<Uint8Array> {
  const head = await new ByteReader(source).take(HEADER_BYTES_MAX);
  const header = parse(head);
  needOf(header, secret);
  if (header.size === null) {
    throw new Rejected('backup.format', 'A backup of that release has no key of its own: make a new one');
  }
  const decrypter = new Decrypter();
  decrypter.addIdentity(ageIdentity(secret.privateKey));
  return decrypter.decryptHeader(head.subarray(0, header.end)).catch(() => {
    throw damaged();
  });
}

/** Throws `Rejected('backup.damaged')`. */
async function* decrypted(source: AsyncIterable<Uint8Array>, identity: string | Identity): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    const content = await decrypter.decrypt(webStream(source));
    yield* content as ReadableStream<Uint8Array>;
  } catch (error) {
    // a read error of the disk does not mean that the file is damaged
    throw (error as NodeJS.ErrnoException).syscall === undefined ? damaged() : error;
  }
}
