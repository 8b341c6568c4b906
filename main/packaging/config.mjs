/** electron-builder's configuration: electron-builder.yml, and the packages that no process of the program loads left out. */
import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { load } from 'js-yaml';
import { neverLoadedPackages } from '../../daemon/launcher/slim.mjs';

/** Relative to node_modules, such as `ajv` or `form-data/node_modules/mime-db`. */
export const unusedPackages = (root) =>
  neverLoadedPackages(root).map((folder) => relative(join(root, 'node_modules'), folder).replaceAll(sep, '/'));

export function packageConfig(root) {
  const config = load(readFileSync(join(root, 'electron-builder.yml'), 'utf8'));
  const unused = unusedPackages(root).map((name) => `!node_modules/${name}/**`);
  return { ...config, files: [...config.files, ...unused] };
}
