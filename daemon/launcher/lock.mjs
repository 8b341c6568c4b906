/**
 * Lets one bootstrap at a time work in a clone. The lock is a folder with the pids of its holders: the bootstrap and
 * its child, which may outlive it. A lock without a living holder is taken over. Valid on Node 18.
 */
import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;
const WAIT_MAX_MS = 30 * 60_000;
/** The longest time between making the folder and writing the pid into it. */
const UNSIGNED_MAX_MS = 10_000;

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

const make = (folder) => {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST' || error.code === 'ENOENT') return false;
    throw error;
  }
};

const ageMs = (path) => {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
};

/**
 * The pid of the living holder; `null` if the lock is free to take over, `0` if its holder has not written its pid yet.
 */
function holder(lock) {
  try {
    return (
      readFileSync(join(lock, 'pids'), 'utf8')
        .split(' ')
        .map(Number)
        .find((pid) => pid > 0 && isAlive(pid)) ?? null
    );
  } catch {
    return ageMs(lock) > UNSIGNED_MAX_MS ? null : 0;
  }
}

/** Writes a temporary file and renames it, so that nobody reads a part. */
function sign(lock, pids) {
  const aside = join(lock, `pids.${process.pid}`);
  writeFileSync(aside, pids.join(' '));
  renameSync(aside, join(lock, 'pids'));
}

/** Takes over the lock of a dead holder. Of two processes that try, the one that makes the inner folder first wins. */
function takeOver(lock) {
  const deciding = join(lock, 'takeover');
  if (!make(deciding)) {
    if (ageMs(deciding) > UNSIGNED_MAX_MS) rmSync(deciding, { recursive: true, force: true });
    return false;
  }
  const won = holder(lock) === null;
  if (won) sign(lock, [process.pid]);
  rmdirSync(deciding);
  return won;
}

/**
 * Runs `work` with the lock of the clone at `root`. `work` gets a function that records a child's pid. Throws if a
 * living process holds the lock for longer than WAIT_MAX_MS.
 */
export async function withLock(root, work) {
  const lock = join(root, '.prepare-lock');
  const deadline = Date.now() + WAIT_MAX_MS;
  let told = false;
  for (;;) {
    if (make(lock)) {
      sign(lock, [process.pid]);
      break;
    }
    const pid = holder(lock);
    if (pid === null && takeOver(lock)) break;
    if (pid && !told) process.stderr.write(`Waiting for process ${pid}, which prepares this folder …\n`);
    told ||= Boolean(pid);
    if (Date.now() > deadline) throw new Error(`process ${pid} holds ${lock}; end it, or delete that folder`);
    await sleep(POLL_MS);
  }
  try {
    return await work((childPid) => sign(lock, [process.pid, childPid]));
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}
