/**
 * Starts the processes of the wallet.
 *
 * The signer runs under Node's permission model: no network, no other programs, no addons, no workers, no debugger. It
 * can read the program's own files, and read and write the wallet's folder. Its environment is empty, and it evaluates
 * no text as code. Limit of the model: a process of the same user may read its memory (ptrace) if the system allows it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CODE_FOLDER, entryFile } from '../../kit/program.ts';
import { SIGNER_HEAP_MB_MAX } from './files.ts';

/** A semi-space of the young generation, which has three. It would grow to 16 MB each while a library is loaded, and stay. */
const YOUNG_MB_MAX = 2;

/** The program's code, its packages, and the `package.json` that marks them as modules. */
function programPaths(): string[] {
  const paths = [CODE_FOLDER];
  for (let folder = CODE_FOLDER; dirname(folder) !== folder; folder = dirname(folder)) {
    paths.push(join(folder, 'node_modules'), join(folder, 'package.json'));
  }
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

/** The flags of the permission model, with the paths that may be read and written. */
export function fence(folder: string): string[] {
  return [
    '--permission',
    ...programPaths().map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-read=${folder}`,
    `--allow-fs-write=${folder}`,
    '--no-addons',
    // Node 26.10's permission model does not cover these: a database could be opened and written anywhere
    '--no-experimental-sqlite',
    '--no-experimental-ffi',
    '--no-experimental-webstorage',
    '--no-experimental-websocket',
    '--disable-sigusr1',
    '--disallow-code-generation-from-strings',
    '--disable-warning=ExperimentalWarning',
    '--expose-gc',
    `--max-old-space-size=${SIGNER_HEAP_MB_MAX}`,
    `--max-semi-space-size=${YOUNG_MB_MAX}`,
  ];
}

/** Starts the signer on a wallet's folder, which must exist. */
export function spawnSigner(folder: string, autoLockMs: number): ChildProcess {
  const real = realpathSync(folder);
  return spawn(process.execPath, [...fence(real), entryFile('signer'), JSON.stringify({ folder: real, autoLockMs })], {
    cwd: real,
    env: emptyEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  });
}

/**
 * Starts the helper that reads a passphrase from the operator's source and returns it sealed. It needs the environment
 * of the daemon's user: the session's bus and the credentials' folder.
 */
export function spawnHelper(job: unknown): ChildProcess {
  return spawn(process.execPath, ['--disable-sigusr1', entryFile('passphrase-helper'), JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
}

/** Windows does not start a program without SystemRoot. */
function emptyEnvironment(): NodeJS.ProcessEnv {
  const { SystemRoot } = process.env;
  return process.platform === 'win32' && SystemRoot ? { SystemRoot } : {};
}
