/**
 * Reads the sealed files of releases before the age format (`sealed-file.ts`). New ones are not written.
 *
 * The first line is JSON: it names the format and has the sender's ephemeral key. Frames follow: four bytes of length,
 * and AES-256-GCM under a key from X25519 and HKDF-SHA-256 (RFC 5869), with the header as associated data. A frame's
 * nonce is its number and whether it is the last (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár),
 * so that frames cannot be left out, reordered or cut off unnoticed.
 */
import { createDecipheriv, diffieHellman, hkdfSync, type KeyObject } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { publicKeyOf, rawPublicKey } from './backup-key.ts';
import { type ByteReader, damaged } from './byte-reader.ts';

const PURPOSE = 'countinghouse backup file 1';
const FRAME_BYTES = 1_048_576;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;
const KEY_BYTES = 32;

const Header = z.strictObject({
  format: z.literal('countinghouse-backup'),
  version: z.literal(1),
  /** The fingerprint of the wallet whose words open it. */
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  /** ISO 8601. */
  made_at: z.string(),
  /** The ephemeral X25519 public key, base64. */
  key: z.string(),
});
type Header = z.infer<typeof Header>;

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

/** The first line of a file of this format; null for any other line. */
export function formerHeader(line: Uint8Array): Header | null {
  try {
    return Header.parse(JSON.parse(String(line)));
  } catch {
    return null;
  }
}

/** Whether a file has whole frames from `start`, the end of its header, to its end. */
export async function hasWholeFrames(file: FileHandle, start: number): Promise<boolean> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(LENGTH_BYTES);
  let at = start;
  do {
    const { bytesRead } = await file.read(buffer, 0, LENGTH_BYTES, at);
    const length = bytesRead === LENGTH_BYTES ? buffer.readUInt32BE() : 0;
    if (length < TAG_BYTES || length > FRAME_BYTES + TAG_BYTES) return false;
    at += LENGTH_BYTES + length;
  } while (at < size);
  return at === size;
}

/** Decrypts the content behind a header line, each frame once authenticated. Throws `Rejected('backup.damaged')`. */
export async function* openFormer(reader: ByteReader, line: Uint8Array, privateKey: KeyObject): AsyncGenerator<Buffer> {
  const ephemeral = Buffer.from(formerHeader(line)?.key ?? '', 'base64');
  if (ephemeral.length !== KEY_BYTES) throw damaged();
  const key = keyOf(privateKey, ephemeral, rawPublicKey(privateKey), ephemeral);
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
    decipher.setAAD(line);
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
