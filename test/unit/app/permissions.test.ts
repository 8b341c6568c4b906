/** What is told of a data directory that others may read. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { permissionFault } from '../../../daemon/app/operator/permissions.ts';

it.skipIf(process.platform === 'win32')(
  'the command against it can be pasted, whatever the folder is called',
  async () => {
    const place = mkdtempSync(join(tmpdir(), 'countinghouse-permissions-'));
    const folder = join(place, "Application Support & O'Neil");
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    execFileSync('sh', ['-c', (await permissionFault(folder))?.command ?? 'exit 1']);
    expect(await permissionFault(folder)).toBeNull();
    rmSync(place, { recursive: true });
  },
);
