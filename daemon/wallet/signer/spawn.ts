/**
 * How the processes of the wallet are started.
 *
 * The signer gets Node's permission model: no network, no other programs, no addons, no workers, no debugger; it reads the
 * program's own files and reads and writes the wallet's folder. Its environment is empty and no text becomes code in it.
 * What the model cannot deny: a process of the same user may look into another's memory (ptrace) where the system lets it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HEAP_MB_MAX = 1_024;

/** Built code runs what was built, sources run sources. */
const isBuilt = import.meta.filename.endsWith('.js');
const SIGNER = fileURLToPath(new URL(isBuilt ? './process.js' : './process.ts', import.meta.url));
const HELPER = fileURLToPath(new URL(isBuilt ? './helper.js' : './helper.ts', import.meta.url));

/** What the program consists of: its code, the packages beside or above it, and the file that says they are modules. */
function programPaths(): string[] {
  const code = join(import.meta.dirname, '..', '..');
  const paths = [code];
  for (let folder = code; dirname(folder) !== folder; folder = dirname(folder)) {
    paths.push(join(folder, 'node_modules'), join(folder, 'package.json'));
  }
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

/** The flags that fence a process in, with what it may read and write. */
export function fence(folder: string): string[] {
  return [
    '--permission',
    ...programPaths().map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-read=${folder}`,
    `--allow-fs-write=${folder}`,
    '--no-addons',
    // the permission model of Node 26.10 does not reach these: a database could be opened, and written, anywhere
    ...['--no-experimental-sqlite', '--no-experimental-ffi', '--no-experimental-webstorage'],
    '--no-experimental-websocket',
    '--disable-sigusr1',
    '--disallow-code-generation-from-strings',
    '--disable-warning=ExperimentalWarning',
    '--expose-gc',
    `--max-old-space-size=${HEAP_MB_MAX}`,
  ];
}

/** Starts the signer on a wallet's folder, which must exist. */
export function spawnSigner(folder: string, autoLockMs: number): ChildProcess {
  const real = realpathSync(folder);
  return spawn(process.execPath, [...fence(real), SIGNER, JSON.stringify({ folder: real, autoLockMs })], {
    cwd: real,
    env: emptyEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  });
}

/**
 * Starts the helper that reads a passphrase from where the operator put it, and gives it sealed. It needs what the
 * daemon's user has: the session's bus, the credentials' folder.
 */
export function spawnHelper(job: unknown): ChildProcess {
  return spawn(process.execPath, ['--disable-sigusr1', HELPER, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
}

/** Windows does not start a program without knowing where it is itself. */
function emptyEnvironment(): NodeJS.ProcessEnv {
  const { SystemRoot } = process.env;
  return process.platform === 'win32' && SystemRoot ? { SystemRoot } : {};
}
