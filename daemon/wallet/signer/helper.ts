/**
 * Reads the wallet's passphrase from the keychain, a file or a systemd credential, and prints it sealed to the signer's
 * key. It is a separate process, so that the passphrase is never in the daemon's memory, and the keychain's addon never
 * in the signer's. It ends after its answer. An error goes to stderr as one line without the secret.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readKeychain } from './keychain.ts';
import { SEAL_UNLOCK } from './port.ts';
import { seal } from './seal.ts';

/** The credential's name in the unit: `LoadCredentialEncrypted=countinghouse-passphrase:…`. */
const CREDENTIAL = 'countinghouse-passphrase';
const SECRET_BYTES_MAX = 4_096;

const Job = z.discriminatedUnion('source', [
  z.strictObject({
    source: z.literal('keychain'),
    sealKey: z.string(),
    fingerprint: z.string(),
    server: z.string().nullable(),
  }),
  z.strictObject({ source: z.literal('file'), sealKey: z.string(), path: z.string() }),
  z.strictObject({ source: z.literal('systemd'), sealKey: z.string() }),
]);
type Job = z.infer<typeof Job>;

async function passphraseOf(job: Job): Promise<string> {
  if (job.source === 'keychain') {
    const found = await readKeychain(job);
    if (found === null) throw new Error("the keychain holds no passphrase of this wallet: 'wallet unlock --remember'");
    return found;
  }
  if (job.source === 'file') return secretFile(job.path);
  const folder = process.env.CREDENTIALS_DIRECTORY;
  if (!folder) throw new Error('the service was started without a systemd credential');
  return secretFile(join(folder, CREDENTIAL));
}

/** Reads a secret from a file. The line end that an editor adds is removed. */
async function secretFile(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (bytes.length > SECRET_BYTES_MAX) throw new Error(`${path} is too large`);
  return bytes.toString('utf8').replace(/\r?\n$/, '');
}

try {
  const job = Job.parse(JSON.parse(process.argv[2] ?? ''));
  process.stdout.write(JSON.stringify(await seal(job.sealKey, SEAL_UNLOCK, await passphraseOf(job))));
} catch (error) {
  const { message, code } = error as NodeJS.ErrnoException;
  process.stderr.write(`${code === undefined ? '' : `${code}: `}${message.split('\n')[0]}\n`);
  process.exitCode = 1;
}
