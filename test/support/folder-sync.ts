/** A disk that syncs files, and no folders. */
import { open } from 'node:fs/promises';
import { vi } from 'vitest';

/** `folder`: any one. Until `vi.restoreAllMocks`. */
export async function failFolderSync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.close();
  const proto = Object.getPrototypeOf(handle) as typeof handle;
  const { sync } = proto;
  vi.spyOn(proto, 'sync').mockImplementation(async function (this: typeof handle) {
    if ((await this.stat()).isDirectory()) throw Object.assign(new Error('no sync'), { code: 'EIO', syscall: 'fsync' });
    return sync.call(this);
  });
}
