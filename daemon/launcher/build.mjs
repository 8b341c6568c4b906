/**
 * The build: bundles the program and the console into dist/, compiles the code for browsers, and copies static files. The new
 * tree is written aside and renamed into place, so that dist/ is always complete. Its stamp is a hash of the sources. It does not
 * check the program's types: `npm run check` does. Valid on Node 18.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { remedyFor, runToEnd, usableNodes } from './runtime.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const dist = join(root, 'dist');
const fresh = join(root, '.prepare-dist');
const old = join(root, '.prepare-old');
const STAMP = '.stamp';
const STATIC = join('daemon', 'web', 'static');
/** Published unchanged. */
const SDK_TYPES = join('daemon', 'web', 'sdk', 'types.ts');
/** The code for browsers, each file for itself: the compiler's project, and its folder below dist/. */
const WEB = join('daemon', 'web');

const COMPILER = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const BUNDLER = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
/** Each step's name, and what Node runs for it. */
const STEPS = [
  ['the code for browsers', [COMPILER, '-p', WEB, '--outDir', join(fresh, WEB), '--noEmitOnError']],
  ['the console', bundler(join('renderer', 'vite.config.ts'), 'renderer')],
  ['the program', bundler(join('daemon', 'launcher', 'bundle.config.mjs'), 'daemon')],
];

function bundler(config, folder) {
  return [BUNDLER, 'build', '--config', config, '--outDir', join(fresh, folder)];
}

/** A hash of the names and contents of all files that the build reads. */
function sourcesHash() {
  const hash = createHash('sha256');
  const add = (name) => {
    const content = readFileSync(join(root, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  };
  const walk = (folder) => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory()) walk(name);
      else add(name);
    }
  };
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json']) add(name);
  walk('daemon');
  walk('renderer');
  return hash.digest('hex');
}

/** Whether dist/ was made from the current sources. */
export function isBuilt() {
  try {
    return readFileSync(join(dist, STAMP), 'utf8') === sourcesHash();
  } catch {
    return false;
  }
}

/**
 * Builds dist/; throws with the reason if it cannot. The caller holds the lock. `started` is called with each child's
 * pid.
 */
export async function build(started) {
  const [node] = usableNodes();
  if (!node || !existsSync(COMPILER)) throw new Error('the libraries are not installed: run `npm start` or `npm ci`');
  // before anything is read: a file saved meanwhile makes this build stale
  const stamp = sourcesHash();
  rmSync(fresh, { recursive: true, force: true });
  for (const [what, args] of STEPS) {
    // both write to stderr, because stdout is for the program that starts afterwards
    const code = await runToEnd(node, args, { cwd: root, stdio: ['ignore', 2, 2] }, started);
    if (code === 0) continue;
    rmSync(fresh, { recursive: true, force: true });
    throw new Error(remedyFor(code) || `${what} could not be built (exit code ${code}); see the messages above`);
  }
  cpSync(join(root, SDK_TYPES), join(fresh, SDK_TYPES));
  if (existsSync(join(root, STATIC))) cpSync(join(root, STATIC), join(fresh, STATIC), { recursive: true });
  writeFileSync(join(fresh, STAMP), stamp);
  rmSync(old, { recursive: true, force: true });
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
  rmSync(old, { recursive: true, force: true });
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  withLock(root, build).catch((error) => {
    process.stderr.write(`countinghouse: ${error.message}\n`);
    process.exitCode = 1;
  });
}
