/** The files of sessions and of the signing machine: what was answered survives a power cut. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { writePrivately } from '../../../daemon/http/private-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countinghouse-private-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

it('syncs the file, and then the folder that names it', async () => {
  const handle = await open(folder, 'r');
  await handle.close();
  const synced: string[] = [];
  vi.spyOn(Object.getPrototypeOf(handle), 'sync').mockImplementation(async function (this: unknown) {
    const isFolder = (await (this as FileHandle).stat()).isDirectory();
    synced.push(isFolder ? `folder of ${readdirSync(folder)}` : 'file');
  });
  const file = join(folder, 'console.json');
  writeFileSync(file, 'former');
  await writePrivately(file, 'new');
  expect(synced).toEqual(['file', 'folder of console.json']);
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('says that the disk does not take it, and leaves the former text', async () => {
  await expect(writePrivately(join(folder, 'gone', 'console.json'), 'new')).rejects.toMatchObject({
    name: 'Unavailable',
    message: 'The disk does not take it (ENOENT)',
  });
});
