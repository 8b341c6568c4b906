/**
 * Installs what tests use from npm and the product does not: nodes (bcoin, bcash, anvil) and generators of API clients, each in a
 * folder with a lock file of its own. Nothing is compiled. Without a network it fails, and the tests that need them are
 * skipped by name. Valid on Node 18. Speaks on stderr only.
 */
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from '../daemon/launcher/lock.mjs';
import { npm, runToEnd } from '../daemon/launcher/runtime.mjs';

const FOLDERS = ['nodes', 'clients'];
const TIMEOUT_MS = 180_000;
/** Without a network it is soon over. */
const RETRIES = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=2000'];
const INSTALL = ['ci', '--ignore-scripts', '--loglevel=error', ...RETRIES];

const here = dirname(fileURLToPath(import.meta.url));
/** npm writes it last. */
const installedLock = (folder) => join(here, folder, 'node_modules', '.package-lock.json');

const packagesOf = (path) => {
  const { packages } = JSON.parse(readFileSync(path, 'utf8'));
  const named = Object.entries(packages).filter(([name]) => name !== '');
  return JSON.stringify(named.map(([name, { integrity }]) => [name, integrity]).sort());
};

function isInstalled(folder) {
  try {
    return packagesOf(join(here, folder, 'package-lock.json')) === packagesOf(installedLock(folder));
  } catch {
    return false;
  }
}

async function install(folder, started) {
  // Asked again, now that nobody else is at work here.
  if (isInstalled(folder)) return;
  process.stderr.write(`Installing test/${folder} (about 10 s) …\n`);
  rmSync(installedLock(folder), { force: true });
  const { command, first, shell } = npm();
  const options = { cwd: join(here, folder), shell, stdio: ['ignore', 'ignore', 2] };
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

/** Installs what is missing of these folders. Resolves also when that fails: the tests that need it say so. */
export async function installForTests(folders = FOLDERS) {
  for (const folder of folders.filter((one) => !isInstalled(one))) {
    await withLock(join(here, folder), (started) => install(folder, started)).catch((error) => {
      process.stderr.write(`test/${folder} could not be installed: ${error.message}\n`);
    });
  }
}
