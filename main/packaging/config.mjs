/** electron-builder's configuration: electron-builder.yml, and what no process of the program reads left out. */
import { createHash, createPublicKey } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { dump, load } from 'js-yaml';
import { binaryOf, PACKAGES } from '../../daemon/launcher/runtime.mjs';
import { neverLoadedPackages } from '../../daemon/launcher/slim.mjs';
import { leavingOut } from '../../daemon/launcher/unused.mjs';

/** Relative to node_modules, such as `ajv` or `form-data/node_modules/mime-db`. */
export const unusedPackages = (root) =>
  neverLoadedPackages(root).map((folder) => relative(join(root, 'node_modules'), folder).replaceAll(sep, '/'));

/**
 * Writes `dist/runtime.json`: the SHA-256 of each installed runtime, by platform and architecture. It is packed inside the archive,
 * and the runtimes beside it (main/unpacked.ts).
 */
export function writeRuntimes(root) {
  const hashes = Object.entries(PACKAGES).flatMap(([name, folder]) => {
    const program = join(root, 'node_modules', folder, binaryOf(name.split('-')[0]));
    return existsSync(program) ? [[name, createHash('sha256').update(readFileSync(program)).digest('hex')]] : [];
  });
  writeFileSync(
    join(root, 'dist', 'runtime.json'),
    `${JSON.stringify(Object.fromEntries(hashes))}
`,
  );
}

/**
 * COUNTINGHOUSE_UPDATES: the https address where packages look for updates; COUNTINGHOUSE_UPDATE_KEY: the file of the Ed25519
 * private key (PEM) that signs them. Both or none; without them a package looks for no updates.
 */
export function packageConfig(root, { COUNTINGHOUSE_UPDATES: url, COUNTINGHOUSE_UPDATE_KEY: key } = process.env) {
  const config = load(readFileSync(join(root, 'electron-builder.yml'), 'utf8'));
  const unused = unusedPackages(root).map((name) => `!node_modules/${name}/**`);
  const whole = { ...config, files: [...config.files, ...leavingOut(), ...unused], publish: null };
  if (!url && !key) return whole;
  if (!key || !url?.startsWith('https://')) {
    throw new Error('Updates need an https address in COUNTINGHOUSE_UPDATES and a key in COUNTINGHOUSE_UPDATE_KEY');
  }
  const open = createPublicKey(readFileSync(key, 'utf8'));
  if (open.asymmetricKeyType !== 'ed25519') throw new Error(`${key} is no key of Ed25519`);
  return { ...whole, publish: { provider: 'generic', url } };
}

/** Signs the releases that electron-builder described in a folder (`latest*.yml`). `key`: the file of the private key. */
export async function signReleases(folder, key) {
  const { SIGNATURE_FIELD, signatureOf } = await import('../signature.ts');
  for (const name of readdirSync(folder).filter((one) => /^latest.*\.yml$/.test(one))) {
    const release = load(readFileSync(join(folder, name), 'utf8'));
    const signature = signatureOf(release, readFileSync(key, 'utf8'));
    writeFileSync(join(folder, name), dump({ ...release, [SIGNATURE_FIELD]: signature }, { lineWidth: -1 }));
  }
}
