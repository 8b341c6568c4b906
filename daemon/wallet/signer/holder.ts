/**
 * Makes one process the only one that writes to a wallet's folder: a file there names it. The operating system does not release
 * such a file, so the file of a process that ended is taken over. The permission model allows the signer no other lock.
 *
 * A process number may belong to another process by now, or mean nothing on this machine. Then the file tells by itself: its
 * holder writes to it every second, and one that does not change during the whole wait belongs to nobody.
 */
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Unavailable } from '../../domain/errors.ts';
import { hasCode, isMissing } from '../files.ts';
import { HOLDER_FILE } from './files.ts';

/** Twice as long as any holder pauses between two signs of life, and more. */
const WAIT_MS = 10_000;
const STEP_MS = 50;
const RETRY_SECONDS = 5;
const NAME_BYTES = 8;

/** `inode`: of the file itself, since a copy of the folder has the file, too. `name`: of this holding. */
const Holder = z.object({
  pid: z.int().min(1),
  host: z.string(),
  inode: z.string(),
  name: z.string(),
  beats: z.int().min(0),
});
type Holder = z.infer<typeof Holder>;

export type Hold = {
  /** A sign of life, to be given every second while it is held for longer than a moment. */
  beat(): Promise<void>;
  /** Whether no other process has taken it over. */
  isOurs(): Promise<boolean>;
  release(): Promise<void>;
};

type Lock = { file: FileHandle; holder: Holder; path: string; count: number };

/** The folders that this process holds, by their place on the disk. It may hold one several times. */
const held = new Map<string, Promise<Lock>>();

/** Throws `Unavailable` if another process holds the folder for longer than the wait. */
export async function holdFolder(folder: string, waitMs = WAIT_MS): Promise<Hold> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const place = `${dev}:${ino}`;
  const taking = held.get(place) ?? take(join(folder, HOLDER_FILE), waitMs);
  held.set(place, taking);
  const mine = await taking.catch((error: unknown) => {
    held.delete(place);
    throw error;
  });
  mine.count += 1;
  return {
    async beat() {
      mine.holder.beats += 1;
      await mine.file.write(JSON.stringify(mine.holder), 0);
    },
    isOurs: () => isOurs(mine),
    async release() {
      mine.count -= 1;
      if (mine.count > 0) return;
      held.delete(place);
      if (await isOurs(mine)) await rm(mine.path, { force: true });
      await mine.file.close();
    },
  };
}

async function isOurs({ path, holder }: Lock): Promise<boolean> {
  return (await found(path)).holder?.name === holder.name;
}

async function take(path: string, waitMs: number): Promise<Lock> {
  const until = performance.now() + waitMs;
  let first: string | null = null;
  for (;;) {
    const made = await create(path);
    if (made) return made;
    const { text, holder } = await found(path);
    first ??= text;
    const isOver = performance.now() >= until;
    if (holder ? isGone(holder) || (isOver && text === first) : isOver) await rm(path, { force: true });
    else if (isOver) {
      throw new Unavailable(
        `Another process (${holder?.pid}) works on the wallet: end it, or try again`,
        RETRY_SECONDS,
      );
    } else await sleep(STEP_MS);
  }
}

/** Null if the file is there. Leaves none that the disk took without its text: the next one would wait for it. */
async function create(path: string): Promise<Lock | null> {
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    if (hasCode(error, 'EEXIST')) return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const { ino } = await file.stat({ bigint: true });
    const name = randomBytes(NAME_BYTES).toString('hex');
    const holder = { pid: process.pid, host: hostname(), inode: String(ino), name, beats: 0 };
    await file.write(JSON.stringify(holder), 0);
    return { file, holder, path, count: 0 };
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
}

/** `holder`: null if the file is gone, is being written, or is another user's. */
async function found(path: string): Promise<{ text: string; holder: Holder | null }> {
  try {
    const [text, { ino }] = [await readFile(path, 'utf8'), await stat(path, { bigint: true })];
    const { data } = z.preprocess((raw) => parsed(String(raw)), Holder).safeParse(text);
    return { text, holder: data ? { ...data, pid: data.inode === String(ino) ? data.pid : 0 } : null };
  } catch (error) {
    if (isMissing(error) || hasCode(error, 'EACCES')) return { text: '', holder: null };
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether the process has certainly ended, so that nobody has to wait. Of this process, `held` knows. */
function isGone({ pid, host }: Holder): boolean {
  if (pid === 0 || pid === process.pid) return true;
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return hasCode(error, 'ESRCH');
  }
}
