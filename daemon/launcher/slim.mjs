/**
 * Deletes files that a server never reads from an installed package: those of unused.mjs, and packages that only the unused part of
 * monero-ts needs. Runs after `npm install --global`, not in a clone, where the compiler needs some of them. Valid on Node 18,
 * built-in modules only.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isForeign, isUnused, PARTLY_USED, STAYS } from './unused.mjs';

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const MB = 1_000_000;

function sizeOf(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found?.size ?? 0;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** The files and folders below `modules` that nothing reads, with whole folders as one. */
function unusedFiles(modules, folder = modules) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    const place = relative(modules, path).replaceAll(sep, '/');
    // npm's own, not a package's
    if (folder === modules && entry.name.startsWith('.')) return [];
    if (isUnused(place) || isForeign(place, process.platform, process.arch)) return [path];
    return entry.isDirectory() ? unusedFiles(modules, path) : [];
  });
}

/** The folder that Node loads a package from when a file in `from` asks for it; undefined if none below `root`. */
function folderOf(root, name, from) {
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return found;
  }
  return undefined;
}

/** The folders of all packages that the one in `start` needs directly or through others, without `except`. */
function neededBy(root, start, except) {
  const needed = new Set([start]);
  for (const folder of needed) {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const names = ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((group) =>
      Object.keys(manifest[group] ?? {}),
    );
    for (const name of names) {
      const found = name === except ? undefined : folderOf(root, name, folder);
      if (found) needed.add(found);
    }
  }
  return needed;
}

/** The folders of packages that only the partly used one needs, its own among them. */
function onlyForPartlyUsed(root) {
  const partly = folderOf(root, PARTLY_USED.name, root);
  if (!partly) return [];
  const others = neededBy(root, root, PARTLY_USED.name);
  return [...neededBy(root, partly)].filter((folder) => !others.has(folder));
}

/** The folders of packages of which nothing is ever loaded: only the partly used one needs them, for its unused files. */
export const neverLoadedPackages = (root) =>
  onlyForPartlyUsed(root).filter((folder) => folder !== folderOf(root, PARTLY_USED.name, root));

/** The files and folders of such packages. Manifests and licences stay. */
function neverLoaded(root) {
  const unusedIn = (folder) => {
    const entries = readdirSync(folder, { withFileTypes: true });
    const unused = entries.flatMap((entry) => {
      const path = join(folder, entry.name);
      // a package below this one is judged for itself
      if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : unusedIn(path);
      return STAYS.test(entry.name) ? [] : [path];
    });
    const isWhole = unused.length === entries.length && unused.every((path) => dirname(path) === folder);
    return isWhole ? [folder] : unused;
  };
  return neverLoadedPackages(root).flatMap(unusedIn);
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
  return remove(neverLoaded(root)) + remove(unusedFiles(modules));
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  const freed = slim(PACKAGE);
  if (freed > 0)
    process.stderr.write(`countinghouse: ${Math.round(freed / MB)} MB were freed that a server never reads\n`);
}
