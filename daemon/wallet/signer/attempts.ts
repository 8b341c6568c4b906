/**
 * Slows down the guessing of passphrases. After a few wrong ones each further try has to wait, and the wait doubles
 * each time.
 *
 * Invariant: a try is written to the disk before it is made, so that a restart does not reset the count; and it begins after
 * the one before it has ended, so that many at once are no more than one after the other. This protects the operator API.
 * Only scrypt slows down an attacker who has the vault's file.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Unavailable } from '../../domain/errors.ts';
import { replaceFile } from '../files.ts';
import { ATTEMPTS_FILE } from './files.ts';

const FREE_TRIES = 3;
const WAIT_SECONDS_MAX = 900;
const DOUBLINGS_MAX = 20;

const Attempts = z.object({ wrong: z.int().min(0), at: z.number() });
type Attempts = z.infer<typeof Attempts>;

async function readAttempts(folder: string, file: string): Promise<Attempts> {
  try {
    return Attempts.parse(JSON.parse(await readFile(join(folder, file), 'utf8')));
  } catch {
    return { wrong: 0, at: 0 };
  }
}

/** Seconds until the next try, rounded up; 0: at once. A clock that was set back does not extend the wait. */
function waitSeconds({ wrong, at }: Attempts, now: number): number {
  if (wrong < FREE_TRIES) return 0;
  const wait = Math.min(2 ** Math.min(wrong - FREE_TRIES, DOUBLINGS_MAX), WAIT_SECONDS_MAX);
  return Math.max(0, Math.ceil((Math.min(at, now) + wait * 1_000 - now) / 1_000));
}

export async function retryAfterSeconds(folder: string, now: number): Promise<number> {
  return waitSeconds(await readAttempts(folder, ATTEMPTS_FILE), now);
}

/** By file: the end of the last try that this process began, without what it gave, which may be words. */
const ends = new Map<string, Promise<void>>();

/**
 * Makes a try if none is blocked now. `isWrong` tells a wrong passphrase from other failures. `file`: where the tries of this peer
 * are counted. Throws `Unavailable`.
 */
export function attempt<T>(
  folder: string,
  now: () => number,
  make: () => Promise<T>,
  isWrong: (error: unknown) => boolean,
  file = ATTEMPTS_FILE,
): Promise<T> {
  const path = join(folder, file);
  const tried = (ends.get(path) ?? Promise.resolve()).then(() => makeTry({ folder, file }, now, make, isWrong));
  ends.set(
    path,
    tried.then(
      () => {},
      () => {},
    ),
  );
  return tried;
}

async function makeTry<T>(
  { folder, file }: { folder: string; file: string },
  now: () => number,
  make: () => Promise<T>,
  isWrong: (error: unknown) => boolean,
): Promise<T> {
  const before = await readAttempts(folder, file);
  const wait = waitSeconds(before, now());
  if (wait > 0) throw new Unavailable(`Too many wrong passphrases: try again in ${wait} s`, wait);
  const path = join(folder, file);
  await replaceFile(path, JSON.stringify({ wrong: before.wrong + 1, at: now() }));
  try {
    const made = await make();
    await rm(path, { force: true });
    return made;
  } catch (error) {
    // other failures are not counted as guesses; the wait begins when the result is known
    const after = isWrong(error) ? { wrong: before.wrong + 1, at: now() } : before;
    await replaceFile(path, JSON.stringify(after));
    throw error;
  }
}
