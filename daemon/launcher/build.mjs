/**
 * The build: TypeScript to dist/, static files beside it. The new tree is made aside and renamed into place, so that
 * dist/ is always whole; its stamp names the sources that it was made from. Valid on Node 18.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { runToEnd, usableNodes } from './runtime.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const dist = join(root, 'dist');
/** Beside dist/, not inside it or node_modules/: the paths in source maps are relative to where the compiler writes. */
const fresh = join(root, '.prepare-dist');
const old = join(root, '.prepare-old');
const STAMP = '.stamp';
const STATIC = join('daemon', 'web', 'static');
/** Published as they stand. */
const SDK_TYPES = join('daemon', 'web', 'sdk', 'types.ts');
/** What the compiler is run on, and where below dist/ its output goes: the program, and the browsers' code. */
const PROJECTS = [
  ['daemon', '.'],
  [join('daemon', 'web'), join('daemon', 'web')],
];

/** A hash over the names and contents of everything that the build reads. */
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
  return hash.digest('hex');
}

/** Whether dist/ was made from the sources as they are now. */
export function isBuilt() {
  try {
    return readFileSync(join(dist, STAMP), 'utf8') === sourcesHash();
  } catch {
    return false;
  }
}

/** Builds dist/; throws with the reason when it cannot. The caller holds the lock. `started` is told each child's pid. */
export async function build(started) {
  const [node] = usableNodes();
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!node || !existsSync(compiler)) throw new Error('the libraries are not installed: run `npm start` or `npm ci`');
  // Taken before the compiler reads: a file saved meanwhile makes this build stale, never wrongly fresh.
  const stamp = sourcesHash();
  rmSync(fresh, { recursive: true, force: true });
  for (const [project, to] of PROJECTS) {
    const args = [compiler, '-p', join(project, 'tsconfig.json'), '--outDir', join(fresh, to), '--noEmitOnError'];
    // The compiler's messages go to stderr: stdout belongs to the program that starts afterwards.
    const code = await runToEnd(node, args, { cwd: root, stdio: ['ignore', 2, 2] }, started);
    if (code !== 0) {
      rmSync(fresh, { recursive: true, force: true });
      throw new Error(`the build failed (the compiler ended with ${code}); see its messages above`);
    }
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
