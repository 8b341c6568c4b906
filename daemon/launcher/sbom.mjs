/**
 * Writes the list of everything that a package holds, in the form of CycloneDX 1.5, from the lock file. (`npm sbom
 * --omit=dev` leaves out what a developers' package needs, too.) Valid on Node 18, built-in modules only.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where the list is in a package, from its root. */
export const SBOM_FILE = 'dist/sbom.cdx.json';

/** The place in the lock file of the package that the one at `from` gets by a name; undefined where it is not installed. */
function placeOf(packages, from, name) {
  for (let folder = from; ; folder = folder.includes('node_modules/') ? dirname(folder) : '') {
    const place = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[place]) return place;
    if (folder === '' || folder === '.') return undefined;
  }
}

/** The places of all packages that the root needs, directly or through others, without those for developers. */
function neededPlaces(packages) {
  const needed = new Set(['']);
  for (const place of needed) {
    const { dependencies, optionalDependencies, peerDependencies } = packages[place];
    for (const name of Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies })) {
      const found = placeOf(packages, place, name);
      if (found) needed.add(found);
    }
  }
  needed.delete('');
  return [...needed].sort();
}

function component(place, { name = place.split('node_modules/').at(-1), version, license, integrity }) {
  const hash = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
  return {
    'bom-ref': `${place}@${version}`,
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(license ? { licenses: [{ expression: license }] } : {}),
    hashes: [{ alg: 'SHA-512', content: hash }],
  };
}

/** Writes the list of the packages that are installed without the developers' ones. The same lock file gives the same list. */
export function writeSbom(root) {
  const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const { name, version, license } = read('package.json');
  const { packages } = read('package-lock.json');
  const purl = `pkg:npm/${name}@${version}`;
  const own = { 'bom-ref': purl, type: 'application', name, version, purl, licenses: [{ license: { id: license } }] };
  const list = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: own },
    components: neededPlaces(packages).map((place) => component(place, packages[place])),
  };
  writeFileSync(join(root, SBOM_FILE), `${JSON.stringify(list, null, 1)}\n`);
}
