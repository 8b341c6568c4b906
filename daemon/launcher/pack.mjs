/**
 * Around `npm pack`: before it, everything is installed and built, and the lock file is put where npm packs and obeys it
 * (npm-shrinkwrap.json), so that the package installs the versions that were tested; with `--done` that copy is taken
 * away again. Valid on Node 18.
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
