/**
 * The drill of a backup, in a separate process: it opens the wallet with the operator's passphrase, which reaches it
 * sealed to its own key, and checks the backup. So the daemon gets neither passphrase nor keys, and its event loop stays
 * free. It prints its key, reads one sealed passphrase, prints the report, and ends.
 *
 * Invariant: no line of output carries a secret. A wrong passphrase counts as one at the wallet's lock.
 */
import { join } from 'node:path';
import { z } from 'zod';
import type { DrillReport } from '../../domain/drill.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { storeFacts } from '../../store/snapshot.ts';
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

export type DrillLine =
  | { seal_key: string }
  | { opened: true }
  | { report: DrillReport }
  /** `name` and `message` of an error; `wait`: seconds. */
  | { refused: { name: string; code?: string; message: string; wait?: number } };

const tell = (line: DrillLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const isWrong = (error: unknown): boolean => error instanceof Rejected && error.code === 'vault.passphrase';

async function drill(passphrase: string): Promise<void> {
  const words = await attempt(vault, Date.now, () => openByVault(vault, passphrase), isWrong);
  tell({ opened: true });
  try {
    const live = storeFacts(join(dataDir, DATABASE));
    const { manifest, addresses, watch_only, problems, newer } = await verifyBackup(file, words, live);
    const { made_at, facts } = manifest;
    const { invoices = 0, credits = 0 } = facts.counts;
    tell({ report: { made_at, invoices, deposits: credits, addresses, watch_only, problems, newer } });
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
  if (error instanceof Rejected) tell({ refused: { name, code: error.code, message } });
  else if (error instanceof Unavailable) tell({ refused: { name, message, wait: error.retryAfterSeconds } });
  // the message of an unexpected error may quote a secret
  else tell({ refused: { name: 'Error', message: String(code ?? name) } });
}
process.exit(0);
