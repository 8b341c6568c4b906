/** The program's version, in a separate module: a command that shows it needs no service. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of the package. */
export function version(): string {
  for (const up of ['../..', '../../..', '..']) {
    try {
      const text = readFileSync(join(import.meta.dirname, up, 'package.json'), 'utf8');
      return (JSON.parse(text) as { version: string }).version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return 'unknown';
}
