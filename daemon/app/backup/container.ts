/**
 * The content of a backup: files one after the other, each behind a line of JSON with its name and size, compressed
 * (zstd). The manifest comes first.
 *
 * Invariant: a name is one of those that a backup may hold, so that nothing can be written beside the folder.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';

export const MANIFEST = 'manifest.json';
export const DATABASE = 'countinghouse.db';
export const CONFIG = 'countinghouse.toml';
/** Folders whose files are taken along, one level deep. */
export const FOLDERS = ['vault', 'signer'] as const;

const NAME = new RegExp(
  `^(?:${[MANIFEST, DATABASE, CONFIG].join('|')}|(?:${FOLDERS.join('|')})/[a-z0-9][a-z0-9._-]*)$`,
);
const FILES_MAX = 200;
const LINE_BYTES_MAX = 1_024;
const NEWLINE = 10;

const Entry = z.strictObject({ name: z.string().regex(NAME), size: z.int().min(0), sha256: z.string() });
type Entry = z.infer<typeof Entry>;

/** Whether a backup takes a file of this name (relative, with slashes) along. */
export const belongsIn = (name: string): boolean => NAME.test(name);

async function digestOf(file: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(file)) digest.update(chunk as Buffer);
  return digest.digest('hex');
}

async function* packed(files: readonly { name: string; path: string }[]): AsyncGenerator<Buffer> {
  for (const { name, path } of files) {
    const entry: Entry = { name, size: (await stat(path)).size, sha256: await digestOf(path) };
    yield Buffer.from(`${JSON.stringify(entry)}\n`);
    let sent = 0;
    for await (const chunk of createReadStream(path)) {
      yield chunk as Buffer;
      sent += (chunk as Buffer).length;
    }
    if (sent !== entry.size) throw new Error(`assertion failed: ${name} changed while it was packed`);
  }
}

/** The content that holds these files, compressed. */
export function pack(files: readonly { name: string; path: string }[]): AsyncIterable<Buffer> {
  return Readable.from(packed(files)).pipe(createZstdCompress());
}

const damaged = (): Rejected => new Rejected('backup.damaged', 'The content of this backup is damaged');

/** Where the bytes of one file go. */
export type Sink = { write(bytes: Uint8Array): Promise<void>; end(): Promise<void> };

/** Files of their names in a folder (created). */
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

/** Gives the files that a content holds to the sinks that `place` makes. Returns their names. Throws `Rejected('backup.damaged')`. */
export async function unpack(
  content: AsyncIterable<Uint8Array>,
  place: (name: string) => Promise<Sink>,
): Promise<string[]> {
  const plain = Readable.from(content);
  const stream = createZstdDecompress();
  plain.on('error', (error) => stream.destroy(error));
  const chunks = plain.pipe(stream)[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const names: string[] = [];
  let held: Buffer = Buffer.alloc(0);
  const more = async (): Promise<boolean> => {
    const { value, done } = await chunks.next();
    if (!done) held = held.length === 0 ? value : Buffer.concat([held, value]);
    return !done;
  };
  for (;;) {
    while (!held.includes(NEWLINE) && held.length < LINE_BYTES_MAX && (await more()));
    if (held.length === 0) return names;
    const entry = parseEntry(held);
    held = held.subarray(held.indexOf(NEWLINE) + 1);
    if (names.length >= FILES_MAX || names.includes(entry.name)) throw damaged();
    names.push(entry.name);
    held = await writeEntry(await place(entry.name), entry, held, async () => {
      held = Buffer.alloc(0);
      if (!(await more())) throw damaged();
      return held;
    });
  }
}

function parseEntry(held: Buffer): Entry {
  try {
    return Entry.parse(JSON.parse(held.subarray(0, held.indexOf(NEWLINE)).toString()));
  } catch {
    throw damaged();
  }
}

/** Gives one file to its sink from what is held and what follows, and returns what is left over. */
async function writeEntry(sink: Sink, entry: Entry, first: Buffer, next: () => Promise<Buffer>): Promise<Buffer> {
  const digest = createHash('sha256');
  let [held, missing] = [first, entry.size];
  try {
    for (;;) {
      const part = held.subarray(0, missing);
      digest.update(part);
      await sink.write(part);
      missing -= part.length;
      held = held.subarray(part.length);
      if (missing === 0) break;
      held = await next();
    }
  } finally {
    await sink.end();
  }
  if (digest.digest('hex') !== entry.sha256) throw damaged();
  return held;
}
