/** Checks a backup before it gets its name: its database is sound, and the file gives every byte back. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Rejected } from '../../domain/errors.ts';
import { isDamage } from '../../store/disk-errors.ts';
import { copyProblems } from '../../store/snapshot.ts';
import { type Sink, unpack } from './container.ts';

/** SHA-256 of each file, by its name in the backup. */
export type Digests = ReadonlyMap<string, string>;

const unsound = (problem: string): Rejected =>
  new Rejected(
    'backup.unsound',
    `The database is not sound (${problem}). No backup of it is kept, and no earlier one is deleted`,
  );

/** Throws `Rejected('backup.unsound')`. Reads the whole database: not for the event loop. */
export function needSound(database: string): void {
  const [problem] = copyProblems(database);
  if (problem !== undefined) throw unsound(problem);
}

/** Does what reads a database. Throws `Rejected('backup.unsound')` where its file is damaged. */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) throw unsound((error as Error).message);
    throw error;
  }
}

export async function digestsOf(files: readonly { name: string; path: string }[]): Promise<Digests> {
  const digests = new Map<string, string>();
  for (const { name, path } of files) {
    const digest = createHash('sha256');
    for await (const part of createReadStream(path)) digest.update(part as Buffer);
    digests.set(name, digest.digest('hex'));
  }
  return digests;
}

/** Compares the content of a written backup with the files that went into it. Throws `Rejected('backup.damaged')`. */
export async function needWhole(content: AsyncIterable<Uint8Array>, made: Digests): Promise<void> {
  const found = new Map<string, string>();
  const names = await unpack(content, async (name) => hashing((digest) => found.set(name, digest)));
  const isWhole = names.length === made.size && names.every((name) => found.get(name) === made.get(name));
  if (isWhole) return;
  throw new Rejected(
    'backup.damaged',
    'The written backup does not give back what went into it: its disk, or the memory of this machine, has a fault',
  );
}

function hashing(told: (digest: string) => void): Sink {
  const digest = createHash('sha256');
  return {
    write: async (bytes) => void digest.update(bytes),
    end: async () => told(digest.digest('hex')),
  };
}
