/** The owners and modes of the data directory. Needs no running service. */
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Message, message } from '../../domain/messages.ts';
import { shellWord } from '../../kit/shell.ts';

const OTHERS_READ = 0o077;

/** Why others may read the data, or the service may not, with the command that mends it; null if all is in order. */
export async function permissionFault(dataDir: string): Promise<{ text: Message; command: string } | null> {
  if (process.platform === 'win32') return null;
  const paths = [
    dataDir,
    join(dataDir, 'countinghouse.toml'),
    join(dataDir, 'countinghouse.db'),
    join(dataDir, 'vault'),
  ];
  const open: string[] = [];
  for (const path of paths) {
    const found = await stat(path).catch(() => null);
    if (found && (found.mode & OTHERS_READ) !== 0) open.push(path);
    // if the folder is closed to others, its content is too
    else if (path === dataDir) break;
  }
  if (open.length > 0) {
    const command = `chmod -R go= ${shellWord(dataDir)}`;
    return { text: message('doctor.permissions_open', { files: open.join(', ') }), command };
  }
  const owner = await stat(dataDir).catch(() => null);
  if (owner === null) return null;
  const { uid, gid } = owner;
  const database = await foreignFiles(dataDir, uid, (name) => name.startsWith('countinghouse.db'));
  const foreign = [...database, ...(await foreignFiles(join(dataDir, 'vault'), uid))];
  if (foreign.length === 0) return null;
  return {
    text: message('doctor.permissions_foreign', { files: foreign.join(', ') }),
    command: `chown -R ${uid}:${gid} ${shellWord(dataDir)}`,
  };
}

/** The files of a folder that belong to another user than `uid`. */
async function foreignFiles(folder: string, uid: number, matches = (_name: string) => true): Promise<string[]> {
  const names = (await readdir(folder).catch(() => [])).filter(matches);
  const paths = names.map((name) => join(folder, name));
  const owners = await Promise.all(paths.map((path) => lstat(path).catch(() => null)));
  return paths.filter((_, n) => owners[n] !== null && owners[n]?.uid !== uid);
}
