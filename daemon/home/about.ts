/** This computer, as it tells a server. Nothing of it can spend. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { About } from '../contract/signing-machine.ts';
import { hasWallet, walletFingerprint } from '../wallet/wallet.ts';

/** `folder`: of the wallet for that server. Throws `Rejected('vault.corrupted')`. */
export async function aboutOf(folder: string, release: string): Promise<About> {
  if (!(await hasWallet(folder))) return { release, fingerprint: null, backupKey: null };
  const fingerprint = await walletFingerprint(folder);
  const file = join(folder, `backup-key-${fingerprint}.json`);
  const backupKey = await readFile(file, 'utf8').catch(() => null);
  return { release, fingerprint, backupKey };
}
