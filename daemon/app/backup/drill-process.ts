/**
 * The drill of a backup as a process of its own: it opens the wallet with the operator's passphrase, which reaches it
 * sealed to its own key, and checks the backup. So the daemon gets neither passphrase nor keys, and its event loop stays
 * free. It prints its key, reads one sealed passphrase, prints the report, and ends.
 *
 * Invariant: no line of output carries a secret. A wrong passphrase counts as one at the wallet's lock.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { openByVault } from '../../wallet/backup-key.ts';
import { attempt } from '../../wallet/signer/attempts.ts';
import { readLines } from '../../wallet/signer/lines.ts';
import { SEAL_DRILL } from '../../wallet/signer/port.ts';
import { sealPair, unseal } from '../../wallet/signer/unseal.ts';
import { SealedShape } from '../../wallet/signer/wire.ts';
import { DATABASE } from './container.ts';
import { VAULT_FOLDER } from './make.ts';
import { verifyBackup } from './verify.ts';

const LINE_BYTES_MAX = 200_000;
const Job = z.strictObject({ dataDir: z.string(), file: z.string() });

const { dataDir, file } = Job.parse(JSON.parse(process.argv[2] ?? ''));
const vault = join(dataDir, VAULT_FOLDER);
const pair = sealPair();

const tell = (line: unknown): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const isWrong = (error: unknown): boolean => error instanceof Rejected && error.code === 'vault.passphrase';

async function drill(passphrase: string): Promise<void> {
  const words = await attempt(vault, Date.now, () => openByVault(vault, passphrase), isWrong);
  tell({ opened: true });
  try {
    const { manifest, addresses, problems, newer } = await verifyBackup(file, words, join(dataDir, DATABASE));
    const { made_at, facts } = manifest;
    const { invoices = 0, credits = 0 } = facts.counts;
    tell({ report: { made_at, invoices, deposits: credits, addresses, problems, newer } });
  } finally {
    words.close();
  }
}

tell({ seal_key: pair.publicKey });
try {
  for await (const line of readLines(process.stdin, LINE_BYTES_MAX)) {
    await drill(unseal(pair, SEAL_DRILL, SealedShape.parse(JSON.parse(line))));
    break;
  }
} catch (error) {
  const { name, code, message } = error as Error & { code?: unknown };
  const wait = error instanceof Unavailable ? { wait: error.retryAfterSeconds } : {};
  // the message of an unexpected error may quote a secret
  if (error instanceof Rejected || error instanceof Unavailable) tell({ refused: { name, code, message, ...wait } });
  else tell({ refused: { name: 'Error', message: String(code ?? name) } });
}
process.exit(0);
