/**
 * The content of a backup: a tar archive (ustar of POSIX 1003.1-1988, sizes from 8 GiB on as in GNU tar), compressed
 * with zstd. The manifest comes first. Release 0.1.0 wrote a line of JSON before each file instead.
 *
 * Invariant: only names that a backup may contain are accepted, so that nothing is written outside the folder.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';
import { ByteReader } from '../../wallet/byte-reader.ts';

export const MANIFEST = 'manifest.json';
export const DATABASE = 'countinghouse.db';
export const CONFIG = 'countinghouse.toml';
/** Folders whose files are included, one level deep. */
export const FOLDERS = ['vault', 'signer'] as const;

const NAME = new RegExp(
  `^(?:${[MANIFEST, DATABASE, CONFIG].join('|')}|(?:${FOLDERS.join('|')})/[a-z0-9][a-z0-9._-]*)$`,
);
const FILES_MAX = 200;
const NEWLINE = 10;
const OPENING_BRACE = 123;

const BLOCK_BYTES = 512;
/** Position and length of the fields in a file's header block. */
const FIELD = { name: [0, 100], mode: [100, 8], size: [124, 12], sum: [148, 8], magic: [257, 6] } as const;
const MAGIC = 'ustar\0';
const OCTAL_SIZE_MAX = 8 ** 11 - 1;

/** `sha256`: only in release 0.1.0. */
type Entry = { name: string; size: number; sha256?: string };
const FormerEntry = z.strictObject({ name: z.string(), size: z.int().min(0), sha256: z.string() });

/** Whether a backup includes a file with this name (relative, with slashes). */
export const belongsIn = (name: string): boolean => NAME.test(name);

const padding = (size: number): number => -size & (BLOCK_BYTES - 1);

/** Of a header block, with the checksum field counted as blanks. */
const sumOf = (block: Buffer): number =>
  block.reduce((sum, byte, at) => sum + (at >= FIELD.sum[0] && at < FIELD.sum[0] + FIELD.sum[1] ? 32 : byte), 0);

function headerBlock({ name, size }: Entry): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const put = ([at, bytes]: readonly [number, number], text: string) => block.write(text, at, bytes, 'latin1');
  put(FIELD.name, name);
  put(FIELD.mode, '0000600\0');
  if (size <= OCTAL_SIZE_MAX) put(FIELD.size, size.toString(8).padStart(11, '0'));
  else {
    block[FIELD.size[0]] = 0x80;
    block.writeBigUInt64BE(BigInt(size), FIELD.size[0] + 4);
  }
  put([156, 1], '0');
  put(FIELD.magic, MAGIC);
  put([263, 2], '00');
  put(FIELD.sum, `${sumOf(block).toString(8).padStart(6, '0')}\0 `);
  return block;
}

/** Throws `Rejected('backup.damaged')`. */
function parseBlock(block: Buffer): Entry {
  const text = ([at, bytes]: readonly [number, number]): string =>
    block.toString('latin1', at, at + bytes).replace(/\0[\s\S]*$/, '');
  const [at] = FIELD.size;
  const size = block[at] === 0x80 ? Number(block.readBigUInt64BE(at + 4)) : Number.parseInt(text(FIELD.size), 8);
  const isOurs = block.length === BLOCK_BYTES && text(FIELD.magic) === 'ustar' && Number.isSafeInteger(size);
  if (!isOurs || Number.parseInt(text(FIELD.sum), 8) !== sumOf(block)) throw damaged();
  return { name: text(FIELD.name), size };
}

async function* packed(files: readonly { name: string; path: string }[]): AsyncGenerator<Buffer> {
  for (const { name, path } of files) {
    const { size } = await stat(path);
    yield headerBlock({ name, size });
    let sent = 0;
    for await (const chunk of createReadStream(path)) {
      yield chunk as Buffer;
      sent += (chunk as Buffer).length;
    }
    if (sent !== size) throw new Error(`assertion failed: ${name} changed while it was packed`);
    yield Buffer.alloc(padding(size));
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

/** The compressed content with these files. */
export function pack(files: readonly { name: string; path: string }[]): AsyncIterable<Buffer> {
  return Readable.from(packed(files)).pipe(createZstdCompress());
}

const damaged = (): Rejected => new Rejected('backup.damaged', 'The content of this backup is damaged');

export type Sink = { write(bytes: Uint8Array): Promise<void>; end(): Promise<void> };

/** Writes files into a folder, which is created. */
export function inFolder(folder: string): (name: string) => Promise<Sink> {
  return async (name) => {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const handle = await open(path, 'wx', 0o600);
    return {
      write: (bytes) => handle.writeFile(bytes),
      end: async () => {
        await handle.sync().finally(() => handle.close());
      },
    };
  };
}

/** Writes the files of a content to the sinks of `place`; returns their names. Throws `Rejected('backup.damaged')`. */
export async function unpack(
  content: AsyncIterable<Uint8Array>,
  place: (name: string) => Promise<Sink>,
): Promise<string[]> {
  const plain = Readable.from(content);
  const stream = createZstdDecompress();
  plain.on('error', (error) => stream.destroy(error));
  const reader = new ByteReader(plain.pipe(stream));
  const names: string[] = [];
  for (let entry = await nextEntry(reader); entry !== null; entry = await nextEntry(reader)) {
    const { name, size } = entry;
    if (names.length >= FILES_MAX || !belongsIn(name) || names.includes(name)) throw damaged();
    names.push(name);
    await giveFile(reader, await place(name), entry);
    if (entry.sha256 === undefined && (await reader.take(padding(size))).length < padding(size)) throw damaged();
  }
  return names;
}

/** The next entry; null at the end. */
async function nextEntry(reader: ByteReader): Promise<Entry | null> {
  const block = await reader.take(BLOCK_BYTES);
  if (block.length === 0) return null;
  if (block[0] === OPENING_BRACE) return formerEntry(reader, block);
  if (block.some((byte) => byte !== 0)) return parseBlock(block);
  // the end is two blocks of zeros; the decompression must end, too
  for await (const rest of reader.rest()) if (rest.some((byte) => byte !== 0)) throw damaged();
  return null;
}

function formerEntry(reader: ByteReader, block: Buffer): Entry {
  const end = block.indexOf(NEWLINE);
  try {
    const entry = FormerEntry.parse(JSON.parse(block.toString('utf8', 0, end)));
    reader.back(block.subarray(end + 1));
    return entry;
  } catch {
    throw damaged();
  }
}

async function giveFile(reader: ByteReader, sink: Sink, { size, sha256 }: Entry): Promise<void> {
  const digest = createHash('sha256');
  let missing = size;
  try {
    for await (const part of reader.next(size)) {
      digest.update(part);
      await sink.write(part);
      missing -= part.length;
    }
  } finally {
    await sink.end();
  }
  if (missing > 0 || (sha256 !== undefined && digest.digest('hex') !== sha256)) throw damaged();
}
