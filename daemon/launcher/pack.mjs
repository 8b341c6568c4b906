/**
 * Runs around `npm pack`. Before it: installs, builds, lists what the package holds (`sbom.mjs`), writes who
 * makes it (`release.mjs`), and copies the lock file to
 * npm-shrinkwrap.json, which npm packs and obeys, so that the package installs the tested versions. With `--done`: removes
 * that copy. Valid on Node 18.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeMaker } from './release.mjs';
import { writeSbom } from './sbom.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const packedLock = join(root, 'npm-shrinkwrap.json');

if (process.argv.includes('--done')) rmSync(packedLock, { force: true });
else {
  const { status } = spawnSync(process.execPath, [join(root, 'daemon', 'launcher', 'prepare.mjs')], {
    stdio: ['ignore', 2, 2],
  });
  if (status === 0) {
    writeSbom(root);
    writeMaker(root);
    copyFileSync(join(root, 'package-lock.json'), packedLock);
  }
  process.exitCode = status ?? 1;
}
