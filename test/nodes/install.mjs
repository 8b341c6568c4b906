/**
 * Installs the nodes that come from npm (bcoin, bcash) beside the tests, when they are missing or stale: they are no
 * part of the product and of its lock file. Nothing is compiled. Without a network it fails, and the tests that need
 * them are skipped by name. Valid on Node 18. Speaks on stderr only.
 */
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from '../../daemon/launcher/lock.mjs';
import { npm, runToEnd } from '../../daemon/launcher/runtime.mjs';

const TIMEOUT_MS = 180_000;
/** Without a network it is soon over. */
const RETRIES = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=2000'];
const INSTALL = ['ci', '--ignore-scripts', '--loglevel=error', ...RETRIES];

const here = dirname(fileURLToPath(import.meta.url));
/** npm writes it last. */
const installedLock = join(here, 'node_modules', '.package-lock.json');

const packagesOf = (path) => {
  const { packages } = JSON.parse(readFileSync(path, 'utf8'));
  const named = Object.entries(packages).filter(([name]) => name !== '');
  return JSON.stringify(named.map(([name, { integrity }]) => [name, integrity]).sort());
};

function isInstalled() {
  try {
    return packagesOf(join(here, 'package-lock.json')) === packagesOf(installedLock);
  } catch {
    return false;
  }
}

async function install(started) {
  // Asked again, now that nobody else is at work here.
  if (isInstalled()) return;
  process.stderr.write('Installing the nodes that tests use (about 10 s) …\n');
  rmSync(installedLock, { force: true });
  const { command, first, shell } = npm();
  const options = { cwd: here, shell, stdio: ['ignore', 'ignore', 2] };
  let timer;
  try {
    const code = await runToEnd(command, [...first, ...INSTALL], options, (pid) => {
      started(pid);
      timer = setTimeout(() => process.kill(pid), TIMEOUT_MS);
    });
    if (code !== 0) throw new Error(`npm ended with ${code}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Installs what is missing. Resolves also when that fails: the tests that need it say so. */
export async function installNodes() {
  if (isInstalled()) return;
  await withLock(here, install).catch((error) => {
    process.stderr.write(`The nodes that tests use could not be installed: ${error.message}\n`);
  });
}
