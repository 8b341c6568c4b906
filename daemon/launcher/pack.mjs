/**
 * Runs around `npm pack`. Before it: installs, builds, and copies the lock file to npm-shrinkwrap.json, which npm packs
 * and obeys, so that the package installs the tested versions. With `--done`: removes that copy. Valid on Node 18.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const packedLock = join(root, 'npm-shrinkwrap.json');

if (process.argv.includes('--done')) rmSync(packedLock, { force: true });
else {
  const { status } = spawnSync(process.execPath, [join(root, 'daemon', 'launcher', 'prepare.mjs')], {
    stdio: ['ignore', 2, 2],
  });
  if (status === 0) copyFileSync(join(root, 'package-lock.json'), packedLock);
  process.exitCode = status ?? 1;
}
