/** The configuration of a machine that a backup is restored on: its operator wrote it before. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeBackup } from '../../../daemon/app/backup/make.ts';
import { restoreBackup } from '../../../daemon/app/backup/restore.ts';
import { Store } from '../../../daemon/store/store.ts';
import { openByVault } from '../../../daemon/wallet/backup-key.ts';
import { cheapWallet } from '../../support/wallet.ts';

const CONFIG = 'countinghouse.toml';
const OF_BACKUP = 'countinghouse.toml.of-backup';
const OLD = '[http]\nport = 1\n';
const OWN = '[http]\nport = 2\n';

let root: string;
let into: string;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'countinghouse-config-'));
  into = join(root, 'new');
  mkdirSync(into);
  const first = join(root, 'first');
  mkdirSync(first);
  await cheapWallet(join(first, 'vault'), { words: `${'abandon '.repeat(11)}about`, passphrase: 'of the test' });
  writeFileSync(join(first, CONFIG), OLD);
  const store = await Store.open(first);
  await makeBackup({ dataDir: first, file: join(root, 'a.backup'), release: 'test', now: Date.now() });
  await store.close();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Whether the configuration that was there stays. */
async function restore(): Promise<boolean> {
  const opened = await openByVault(join(root, 'first', 'vault'), 'of the test');
  try {
    return (await restoreBackup(join(root, 'a.backup'), opened, into, Date.now(), 60)).keptConfig;
  } finally {
    opened.close();
  }
}
const configs = () =>
  Object.fromEntries(
    readdirSync(into)
      .filter((name) => name.startsWith(CONFIG))
      .map((name) => [name, readFileSync(join(into, name), 'utf8')]),
  );

it('comes out of the backup where there is none', async () => {
  await restore();
  expect(configs()).toEqual({ [CONFIG]: OLD });
});

it('stays where there is one, and that of the backup is put beside it', async () => {
  writeFileSync(join(into, CONFIG), OWN);
  expect(await restore()).toBe(true);
  expect(configs()).toEqual({ [CONFIG]: OWN, [OF_BACKUP]: OLD });
});

it('is alone where an earlier restore had put another one beside it', async () => {
  writeFileSync(join(into, CONFIG), OLD);
  writeFileSync(join(into, OF_BACKUP), OWN);
  expect(await restore()).toBe(false);
  expect(configs()).toEqual({ [CONFIG]: OLD });
});

it('is the one of the backup alone after an attempt that was killed once it was there', async () => {
  await restore();
  const work = join(into, 'work-of-restore-abcdef.moving');
  mkdirSync(work);
  renameSync(join(into, 'countinghouse.db'), join(work, 'countinghouse.db'));
  await restore();
  expect(configs()).toEqual({ [CONFIG]: OLD });
});
