/** Copies a data directory as an operator's program does while a service runs on it. */
import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Without the socket of a running service, and without files that are gone when their turn comes. */
export async function copied(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copied(source, target);
    else if (entry.isFile()) await cp(source, target).catch(unlessGone);
  }
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
