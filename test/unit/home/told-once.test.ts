/** A foreign address is told by one notification: of the command, or of the program that runs it. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lookTold } from '../../../daemon/cli/audit.ts';
import { Session } from '../../../daemon/cli/session.ts';
import type { Foreign } from '../../../daemon/contract/signing-machine.ts';
import { until } from '../../support/daemon.ts';
import { fakeIo } from '../cli-kit.ts';

const foreign: Foreign = {
  at: '2030-01-01T00:00:00Z',
  where: 'page',
  invoice: 'slug1',
  network: 'regtest',
  chain: 'LTC',
  account_no: 0,
  index: 3,
  shown: 'rltc1theirs',
  own: 'rltc1ours',
};

it.skipIf(process.platform === 'win32')('is told by a notification, unless another program shows it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'told-'));
  try {
    const program = join(folder, 'notify-send');
    const told = join(folder, 'told');
    await writeFile(program, `#!/bin/sh\necho "$2" >> "${told}"\n`);
    await chmod(program, 0o700);
    const { io, ran } = fakeIo({ COUNTINGHOUSE_DATA_DIR: folder, PATH: folder });
    const session = new Session(io, { server: 'shop' });
    const look = { checked: 1, pages: 1, more: false, held: false, found: [foreign], notes: [] };
    lookTold(session, false)(look);
    expect(ran.err).toContain('shop SHOWS AN ADDRESS THAT IS NOT YOURS');
    lookTold(session)(look);
    const text = () => readFile(told, 'utf8').catch(() => '');
    await until('a notification is shown', async () => (await text()) !== '');
    expect(await text()).toBe('Countinghouse: a foreign address\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
