/** Who made this package: `dist/release.json`, which `launcher/pack.mjs` writes with a key. A clone has none. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Maker } from '../app/operator/releases.ts';
import { BUILT_FOLDER } from '../kit/program.ts';
import { releaseKey } from '../kit/release-signature.ts';

const File = z.object({ key: z.string(), feed: z.url({ protocol: /^https$/ }).nullable() });

/** Null without such a file. Throws where it is damaged. */
export function makerOfPackage(): Maker {
  try {
    const { key, feed } = File.parse(JSON.parse(readFileSync(join(BUILT_FOLDER, 'release.json'), 'utf8')));
    return { key: releaseKey(key), feed };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}
