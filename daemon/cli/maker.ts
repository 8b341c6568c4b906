/**
 * Who made this package: the file `dist/release.json`, which `launcher/pack.mjs` writes where the maker has a key. A clone has
 * none.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Maker } from '../app/operator/releases.ts';
import { releaseKey } from '../kit/release-signature.ts';

const File = z.object({ key: z.string(), feed: z.url({ protocol: /^https$/ }).nullable() });

/** Looked for from `dist/daemon/cli`, and from the sources. Null without such a file. Throws where it is damaged. */
export function makerOfPackage(): Maker {
  for (const up of ['../..', '../../dist']) {
    try {
      const { key, feed } = File.parse(JSON.parse(readFileSync(join(import.meta.dirname, up, 'release.json'), 'utf8')));
      return { key: releaseKey(key), feed };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return null;
}
