/** electron-builder's hook after it has laid out a package, before an installer is made of it: ends it where a file is wrong. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getRawHeader } from '@electron/asar';
import { unusedPackages } from './config.mjs';
import { contentErrors } from './contents.mjs';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..');
const ERRORS_SHOWN_MAX = 20;

/** Of electron-builder's numbers. */
const ARCHS = ['ia32', 'x64', 'armv7l', 'arm64'];

/** The files that are inside an archive, without those that are beside it. */
function filesInside({ files = {} }, folder) {
  return Object.entries(files).flatMap(([name, entry]) => {
    if (entry.files) return filesInside(entry, `${folder}/${name}`);
    return entry.unpacked ? [] : [`${folder}/${name}`];
  });
}

/** Every file below a resources folder. */
export function packedFiles(resources) {
  const beside = readdirSync(resources, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(resources, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
  return [...beside, ...filesInside(getRawHeader(join(resources, 'app.asar')).header, 'app.asar')];
}

/** Throws an error that names the files. */
export default function checkContents({ appOutDir, arch, electronPlatformName, packager }) {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const paths = packedFiles(packager.getResourcesDir(appOutDir));
  const errors = contentErrors(paths, {
    platform: electronPlatformName,
    arch: ARCHS[arch],
    tools: Object.keys(devDependencies),
    unused: unusedPackages(root),
  });
  if (errors.length === 0) return;
  const more = errors.length > ERRORS_SHOWN_MAX ? [`and ${errors.length - ERRORS_SHOWN_MAX} more`] : [];
  throw new Error(`This package is not made:\n${[...errors.slice(0, ERRORS_SHOWN_MAX), ...more].join('\n')}`);
}
