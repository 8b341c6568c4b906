/**
 * The rules for a package's files: the service and a runtime for one platform, and nothing that only developers need. Paths
 * are relative to the resources folder; files in the archive begin with `app.asar/`.
 */

import { isUnused } from '../../daemon/launcher/unused.mjs';

const UNPACKED = 'app.asar.unpacked';
const MODULES = `${UNPACKED}/node_modules`;

/** The files without which an installed program does not work. `platform`, `arch`: as Node names them. */
export function neededFiles(platform, arch) {
  return [
    platform === 'win32' ? 'runtime/node.exe' : 'runtime/node',
    ...['main/main.js', 'main/preload.cjs', 'renderer/index.html', 'runtime.json'].map(
      (path) => `app.asar/dist/${path}`,
    ),
    ...['package.json', 'dist/daemon/cli.js', 'dist/renderer/index.html', 'resources/icons/tray.png'].map(
      (path) => `${UNPACKED}/${path}`,
    ),
    `${MODULES}/monero-ts/dist/monero.js`,
    `${MODULES}/better-sqlite3/prebuilds/${platform}-${arch}.node`,
    `${MODULES}/tiny-secp256k1/lib/secp256k1.wasm`,
  ];
}

/** The service gives out the SDK with its types (a shop's program is compiled with them). */
const GIVEN_OUT = `${UNPACKED}/dist/daemon/web/sdk/`;

const FORBIDDEN = [
  ['never read', { test: (path) => path.startsWith(`/${MODULES}/`) && isUnused(path.slice(MODULES.length + 2)) }],
  ['source', /^(?!.*\/node_modules\/).*\.(?:[cm]?tsx?|map|flow|tsbuildinfo|c|cc|cpp|h|gypi?|rs)$/],
  ['test', /^(?!.*\/node_modules\/).*(?:\/(?:tests?|__tests__|coverage|\.github)\/|[.-](?:test|spec)\.[cm]?js$)/],
  ['secret', /\.(?:pem|key|p12|pfx|age|sqlite|db|log)$|\/(?:\.env|\.npmrc|operator\.json)/],
  ['runtime of a platform', /\/node_modules\/node-(?:bin-)?(?:darwin|linux|win)-/],
];

/** A compiled library names its platform in the file or in the package's folder. */
const isForeign = (path, platform, arch) =>
  path.endsWith('.node') && !(path.includes(platform) && path.includes(arch) && !path.includes('musl'));

/**
 * Says what is wrong with a package of `paths`; empty if nothing is. `tools`: names of packages that only developers need.
 * `unused`: names of packages that nothing loads.
 */
export function contentErrors(paths, { platform, arch, tools, unused }) {
  const present = new Set(paths);
  const missing = neededFiles(platform, arch).filter((path) => !present.has(path));
  if (!paths.some((path) => path.startsWith(`${MODULES}/@napi-rs/keyring-`) && path.endsWith('.node')))
    missing.push('the keychain library');
  const packages = [...tools.map((name) => [name, 'tool']), ...unused.map((name) => [name, 'unused package'])];
  const strange = paths.flatMap((path) => {
    const kinds = [
      ...FORBIDDEN.filter(([, pattern]) => !path.startsWith(GIVEN_OUT) && pattern.test(`/${path}`)).map(
        ([kind]) => kind,
      ),
      ...packages.filter(([name]) => path.startsWith(`${MODULES}/${name}/`)).map(([, kind]) => kind),
      ...(isForeign(path, platform, arch) ? ['library of another platform'] : []),
    ];
    return kinds.map((kind) => `${path} is packed: ${kind}`);
  });
  return [...missing.map((path) => `${path} is missing`), ...strange];
}
