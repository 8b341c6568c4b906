/** The program's version, in a separate module: a command that shows it needs no service. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_FOLDER } from '../kit/program.ts';

export function version(): string {
  try {
    return (JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return 'unknown';
  }
}
