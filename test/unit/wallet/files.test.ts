/** Files that are written once, by however many writers. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exists, writeOnce } from '../../../daemon/wallet/files.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'files-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('a file that is written once', () => {
  it('has one of the contents that were written at once, and every other writer is told', async () => {
    // A winner sweeps away what others have not linked yet: without care that was an error in one round of ten.
    for (let round = 0; round < 60; round++) {
      const file = join(folder, `race-${round}`);
      const won = await Promise.all([0, 1, 2, 3, 4, 5].map((n) => writeOnce(file, `contents ${n}`)));
      expect(won.filter(Boolean).length).toBe(1);
      expect(await readFile(file, 'utf8')).toBe(`contents ${won.indexOf(true)}`);
    }
    expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('is not there when its folder is not', async () => {
    const file = join(folder, 'missing', 'file');
    await expect(writeOnce(file, '')).rejects.toThrow('ENOENT');
    expect(await exists(file)).toBe(false);
  });
});
