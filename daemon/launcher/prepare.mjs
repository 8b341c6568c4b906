/**
 * Runs before `npm start` and `npm test`: installs the libraries and builds, if either is missing or stale. Writes only
 * to stderr, because stdout is for the program. Valid on Node 18.
 */
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.mjs';
import { withLock } from './lock.mjs';
import { npm, pinnedNode, runningNodeSuffices, runToEnd } from './runtime.mjs';

const PROGRESS_MS = 30_000;
/** The lock file has the hash of each version: a fix of yesterday can be installed where npm is set to wait (`min-release-age`). */
const INSTALL = ['ci', '--ignore-scripts', '--include=dev', '--min-release-age=0'];
const GROUPS = ['dependencies', 'devDependencies', 'optionalDependencies'];

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const modules = join(root, 'node_modules');
/** npm writes this file last. */
const installedLock = join(modules, '.package-lock.json');

const npmNode = join(root, 'daemon', 'launcher', 'npm-node.cjs');

const say = (text) => process.stderr.write(`${text}\n`);
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/**
 * Whether node_modules agrees with package-lock.json, by npm's record of its last installation, and the lock file with
 * package.json. Packages for other platforms may be absent, but not this platform's Node.
 */
function isInstalled() {
  try {
    const wanted = readJson(join(root, 'package-lock.json')).packages;
    const manifest = readJson(join(root, 'package.json'));
    const present = readJson(installedLock).packages;
    const same = GROUPS.every((group) => sameVersions(manifest[group] ?? {}, wanted[''][group] ?? {}));
    return same && (pinnedNode() !== null || runningNodeSuffices()) && hasAll(wanted, present);
  } catch {
    return false;
  }
}

const sameVersions = (a, b) =>
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((name) => a[name] === b[name]);

function hasAll(wanted, present) {
  const agree = Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    const found = present[path];
    if (!found) return path === '' || optional === true;
    return found.version === version && found.integrity === integrity;
  });
  return agree && Object.keys(present).every((path) => path in wanted);
}

async function install(started) {
  if (process.platform === 'win32' && process.execPath.startsWith(modules + sep)) {
    // Windows cannot delete a running program, and this one runs from node_modules
    throw new Error(`the libraries have changed. Run \`npm ${INSTALL.join(' ')}\`, then this command again`);
  }
  say('Installing libraries (about 30 s) …');
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const timer = setInterval(() => say(`Still installing (${seconds()} s) …`), PROGRESS_MS);
  // without this file, an interrupted installation is recognised
  rmSync(installedLock, { force: true });
  // npm obeys it before the lock file, and a killed `npm pack` leaves an old one
  rmSync(join(root, 'npm-shrinkwrap.json'), { force: true });
  const { command, first, shell } = npm();
  const args = [...first, ...INSTALL, '--loglevel=error'];
  const env = {
    ...process.env,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${JSON.stringify(npmNode)}`,
  };
  try {
    const code = await runToEnd(command, args, { cwd: root, shell, env, stdio: ['ignore', 'ignore', 2] }, started);
    if (code !== 0) throw new Error(`the installation failed (npm ended with ${code}); see its messages above`);
  } finally {
    clearInterval(timer);
  }
  say(`Installed in ${seconds()} s.`);
}

async function prepare(started) {
  // checked again now that this process holds the lock
  if (!isInstalled()) await install(started);
  if (isBuilt()) return;
  say('Building …');
  await build(started);
}

if (!isInstalled() || !isBuilt()) {
  withLock(root, prepare).catch((error) => {
    say(`countinghouse: ${error.message}`);
    process.exitCode = 1;
  });
}
