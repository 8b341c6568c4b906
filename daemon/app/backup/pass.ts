/** Makes the pass of a backup, on the computer that has the words: the machine that is restored with it never gets them. */
import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenedBackup } from '../../wallet/backup-key.ts';
import { hashOf, passText } from '../../wallet/backup-pass.ts';
import { fileKeyOf } from '../../wallet/sealed-file.ts';
import { VAULT_FILE } from '../../wallet/signer/files.ts';
import { needNoWallet, there, unpackBackup, VAULT } from './restore.ts';
import { type BackupReport, NOWHERE, verifyBackup } from './verify.ts';

/** `pass`: null for a backup with problems. */
type Passed = { report: BackupReport; pass: string | null };

/**
 * Compares a backup with the words, and makes its pass. Throws `Rejected` as `verifyBackup`, and `backup.pass` for a backup with a wallet
 * in it.
 */
export async function passOf(file: string, words: OpenedBackup): Promise<Passed> {
  await there(file);
  // read several times: on a disk that the server lends, it could be another file each time
  const folder = await mkdtemp(join(tmpdir(), 'countinghouse-pass-'));
  try {
    const copy = join(folder, 'backup');
    await copyFile(file, copy);
    const report = await verifyBackup(copy, words, null);
    const names = await unpackBackup(copy, words.secret, async () => NOWHERE);
    needNoWallet(names.includes(`${VAULT}/${VAULT_FILE}`));
    if (report.problems.length > 0) return { report, pass: null };
    const fileKey = await fileKeyOf(createReadStream(copy), words.secret);
    return { report, pass: passText({ fileKey, hash: await hashOf(copy) }) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
