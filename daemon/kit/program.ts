/**
 * The program's own files. From the sources it runs file by file; built, all its code is in one folder, `dist/daemon`:
 * an entry for each process and thread, and what they share.
 */
import { dirname, join } from 'node:path';
import { ENTRIES } from './entries.ts';

const isBuilt = import.meta.filename.endsWith('.js');

/** The folder of the program's code, and in it `web/`, the code for browsers. */
export const CODE_FOLDER = isBuilt ? import.meta.dirname : dirname(import.meta.dirname);

/** The folder of the package: `package.json` is in it. */
export const PACKAGE_FOLDER = isBuilt ? join(CODE_FOLDER, '..', '..') : dirname(CODE_FOLDER);

/** The folder of what the build makes. */
export const BUILT_FOLDER = join(PACKAGE_FOLDER, 'dist');

/** The file that a process or a thread starts with: built code starts built code, and sources start sources. */
export const entryFile = (name: keyof typeof ENTRIES): string =>
  join(CODE_FOLDER, isBuilt ? `${name}.js` : `${ENTRIES[name]}.ts`);
