/** A data directory that cannot be used is told in a sentence, with what to do. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../daemon/log.ts';
import { startDaemon } from '../../../daemon/main.ts';
import { Store } from '../../../daemon/store/store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countinghouse-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const start = (dataDir: string) => startDaemon({ dataDir, log: createLog({ level: 'silent', format: 'json' }) });

describe('a data directory', () => {
  it.each<[string, () => string, RegExp]>([
    ['is a file', () => 'file', /it is a file \(EEXIST\)/],
    ['lies below a file', () => join('file', 'below'), /it lies below a file \(ENOTDIR\)/],
    ['is a link that leads around', () => 'loop', /links lead around in a circle \(ELOOP\)|\(EEXIST\)/],
    ['has a name that is too long', () => 'x'.repeat(300), /its name is too long \(ENAMETOOLONG\)/],
  ])('that %s is refused, by the service and by the store', async (_, path, told) => {
    writeFileSync(join(folder, 'file'), '');
    symlinkSync(join(folder, 'loop'), join(folder, 'loop'));
    const dataDir = join(folder, path());
    for (const open of [start, (folder: string) => Store.open(folder)]) {
      const error = await open(dataDir).then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ code: 'data_dir', message: expect.stringMatching(told) });
      expect((error as Error).message).toContain('--data-dir');
    }
  });

  // not even the administrator may write there
  it.runIf(process.platform === 'linux')('that may not be written is refused', async () => {
    await expect(start('/sys/countinghouse')).rejects.toMatchObject({
      code: 'data_dir',
      message: expect.stringMatching(/\((EPERM|EACCES|EROFS)\)/),
    });
  });

  it('whose database is none is refused with what to do', async () => {
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'countinghouse.db'), 'a letter'.repeat(1_000));
    await expect(start(dataDir)).rejects.toMatchObject({
      code: 'store.disk',
      message: expect.stringContaining('restore a backup'),
    });
  });

  it('whose lock is none is refused as such', async () => {
    const dataDir = join(folder, 'data');
    mkdirSync(join(dataDir, 'lock'), { recursive: true });
    await expect(start(dataDir)).rejects.toMatchObject({ code: 'store.disk' });
  });
});
