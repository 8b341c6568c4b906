/**
 * The files beside the archive, which Electron does not check: the service and the libraries that Node loads. On macOS and Windows
 * Electron refuses an archive whose header was changed (fuse enableEmbeddedAsarIntegrityValidation), and the header has the SHA-256
 * of each file, also of those beside it. So a file that another program replaced, added or removed is noticed before it runs.
 */
import { createHash } from 'node:crypto';
import type * as Fs from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const ARCHIVE = 'app.asar';
/** A header of 4,000 files has 1 MB. */
const HEADER_BYTES_MAX = 67_108_864;
const PARALLEL = 4;
/** The console's pages lie in the archive for the shell, and beside it for the service. */
const COPIED = 'dist/renderer/';
/** Of Chromium's pickle: three sizes, and the length of the text (github.com/electron/asar, "Format"). */
const PREFIX_BYTES = 16;
/** codesign signs these anew, after the archive is made; the seal of the bundle covers them instead. */
const SIGNED_BY_MACOS = /\.(?:node|dylib)$/;

type Files = Pick<typeof Fs, 'createReadStream'> & { promises: Pick<typeof Fs.promises, 'open' | 'readdir'> };

type Entry = { files?: { [name: string]: Entry }; unpacked?: boolean; integrity?: { hash: string } };
const Entry: z.ZodType<Entry> = z.lazy(() =>
  z.object({
    files: z.record(z.string(), Entry).optional(),
    unpacked: z.boolean().optional(),
    integrity: z.object({ hash: z.string() }).optional(),
  }),
);

/** SHA-256 of the Node that is packed, by platform and architecture ("win32-x64"): `dist/runtime.json` in the archive. */
export const Runtimes = z.record(z.string(), z.string());

type Place = {
  /** The package's folder of resources. */
  resources: string;
  platform: NodeJS.Platform;
  arch: string;
  runtimes: z.infer<typeof Runtimes>;
  /** Those that see the archive as a file: Electron's `original-fs`. */
  files: Files;
};

/** The paths, relative to the resources, of files that are not as they were packed; empty if all are. */
export async function changedFiles({ resources, platform, arch, runtimes, files }: Place): Promise<string[]> {
  const listed = listedIn(await headerOf(join(resources, ARCHIVE), files));
  const folder = `${ARCHIVE}.unpacked`;
  const found = await namesBelow(join(resources, folder), files);
  const absent = [...listed].filter(([name, { beside }]) => beside && !found.has(name)).map(([name]) => name);
  const isSigned = (name: string): boolean => platform === 'darwin' && SIGNED_BY_MACOS.test(name);
  const wanted = [...found].map(([name, isFile]): [path: string, hash: string | null] => [
    `${folder}/${name}`,
    isFile ? (listed.get(name)?.hash ?? null) : null,
  ]);
  const runtime = platform === 'win32' ? 'runtime/node.exe' : 'runtime/node';
  if (platform !== 'darwin') wanted.push([runtime, runtimes[`${platform}-${arch}`] ?? null]);
  const changed: string[] = absent.map((name) => `${folder}/${name}`);
  const left = wanted.filter(([path, hash]) => hash === null || !isSigned(path));
  const check = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [path, hash] = next;
      if (hash === null || (await hashOf(join(resources, path), files)) !== hash) changed.push(path);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, check));
  return changed.sort();
}

/** Throws where the archive has no header. */
async function headerOf(archive: string, files: Files): Promise<Entry> {
  const file = await files.promises.open(archive, 'r');
  try {
    const prefix = Buffer.alloc(PREFIX_BYTES);
    await file.read(prefix, 0, PREFIX_BYTES, 0);
    const length = prefix.readUInt32LE(PREFIX_BYTES - 4);
    if (length > HEADER_BYTES_MAX) throw new Error(`${archive} has no header`);
    const text = Buffer.alloc(length);
    await file.read(text, 0, length, PREFIX_BYTES);
    return Entry.parse(JSON.parse(text.toString('utf8')));
  } finally {
    await file.close();
  }
}

/** By path in the archive. `beside`: it must lie beside it. */
type Listed = Map<string, { hash: string | null; beside: boolean }>;

function listedIn(header: Entry): Listed {
  const listed: Listed = new Map();
  const walk = (entry: Entry, path: string): void => {
    for (const [name, one] of Object.entries(entry.files ?? {})) {
      const below = path === '' ? name : `${path}/${name}`;
      if (one.files) walk(one, below);
      else {
        const beside = one.unpacked === true || below.startsWith(COPIED);
        listed.set(below, { hash: one.integrity?.hash ?? null, beside });
      }
    }
  };
  walk(header, '');
  return listed;
}

/** All that is in a folder and is no folder, by path: whether it is a file, and no link or other thing. */
async function namesBelow(folder: string, files: Files): Promise<Map<string, boolean>> {
  const found = new Map<string, boolean>();
  const walk = async (path: string): Promise<void> => {
    for (const entry of await files.promises.readdir(join(folder, path), { withFileTypes: true })) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) await walk(below);
      else found.set(below, entry.isFile());
    }
  };
  await walk('');
  return found;
}

/** Empty where there is no such file. */
async function hashOf(path: string, files: Files): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const piece of files.createReadStream(path)) hash.update(piece as Buffer);
  } catch {
    return '';
  }
  return hash.digest('hex');
}
