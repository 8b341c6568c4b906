/**
 * The passphrase of a server's wallet in this computer's keychain, which opens the wallet when the process that signs begins.
 *
 * Invariant: the passphrase passes between the keychain and processes of this computer alone. The server is not asked, and not told.
 */
import { readFile, rename, rm } from 'node:fs/promises';
import { Rejected, Unavailable } from '../domain/errors.ts';
import { withSignerService } from '../operator/local-keyholder.ts';
import { isMissing, replaceFile, syncFolder } from '../wallet/files.ts';
import { SIGNER_AWAY } from '../wallet/signer/channel.ts';
import { forgetKeychain, writeKeychain } from '../wallet/signer/keychain.ts';
import { SEAL_UNLOCK, type Signer } from '../wallet/signer/port.ts';
import { seal } from '../wallet/signer/seal.ts';
import { notServed, signingSocket } from './keyholder.ts';
import { begunFileIn, keychainFileIn, walletFolderIn } from './place.ts';

/** By name here, and its folder. */
type Place = { server: string; folder: string };

const asked = <T>({ folder }: Place, use: (signer: Signer) => Promise<T>): Promise<T> =>
  withSignerService({ dataDir: folder, folder: walletFolderIn(folder) }, signingSocket(folder), use);

/**
 * Opens the wallet, and has the keychain open it from now on. Throws `Rejected`: `vault.missing`, `vault.passphrase`,
 * `signer.locked` while no process signs; `Unavailable` without a keychain.
 */
export async function remember(place: Place, passphrase: string): Promise<void> {
  const { server, folder } = place;
  const work = async (signer: Signer): Promise<void> => {
    const open = async () => signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, passphrase));
    const { fingerprint } = await open();
    if (fingerprint === null) throw new Rejected('vault.missing', 'There is no wallet yet');
    const before = await keptIn(folder);
    if (before !== null && before !== fingerprint) await forget(place);
    // first: an entry that no file names would never be taken out. A question that nobody answers may end this process meanwhile
    await replaceFile(begunFileIn(folder), `${fingerprint}\n`);
    try {
      await writeKeychain({ fingerprint, server }, passphrase);
    } catch (error) {
      if (before === null) await rm(begunFileIn(folder), { force: true });
      throw error;
    }
    await keep(place, fingerprint);
    // an open wallet would go on to lock itself after its minutes without a use
    await signer.lock();
    await open().catch((error: unknown) => takeOutOld(place, error));
  };
  await asked(place, work).catch((error: unknown) => Promise.reject(notServed(error, server)));
}

/** Has a file name the entry for good. Throws `Unavailable` if it was forgotten while the question was open: then it is taken out again. */
async function keep({ server, folder }: Place, fingerprint: string): Promise<void> {
  try {
    await rename(begunFileIn(folder), keychainFileIn(folder));
  } catch (error) {
    if (!isMissing(error)) throw error;
    // another question was answered meanwhile
    if ((await keptIn(folder)) === fingerprint) return;
    await forgetKeychain({ fingerprint, server });
    throw new Unavailable('The passphrase was forgotten meanwhile, so it is not in the keychain', 1);
  }
  await syncFolder(folder);
}

/** Takes out a passphrase that was changed while the keychain's question was open. Throws. */
async function takeOutOld(place: Place, error: unknown): Promise<never> {
  if (!(error instanceof Rejected) || error.code !== 'vault.passphrase') throw error;
  await forget(place);
  throw new Unavailable('The passphrase was changed meanwhile, so it is not in the keychain', 1);
}

/** Takes the passphrase out. Returns whether it was there. Throws `Unavailable` if the keychain is locked or there is none: then it stays. */
export async function forget({ server, folder }: Place): Promise<boolean> {
  const fingerprint = await keptIn(folder);
  const forgotten = fingerprint !== null && (await forgetKeychain({ fingerprint, server }));
  for (const file of [keychainFileIn(folder), begunFileIn(folder)]) await rm(file, { force: true });
  return forgotten;
}

/** Locks the wallet, if a process has it. */
export async function lock(place: Place): Promise<void> {
  await asked(place, (signer) => signer.lock()).catch((error: Error) => {
    if (error.message !== SIGNER_AWAY) throw error;
  });
}

async function keptIn(folder: string): Promise<string | null> {
  const text = await readFile(keychainFileIn(folder), 'utf8').catch(() =>
    readFile(begunFileIn(folder), 'utf8').catch(() => ''),
  );
  return /^[0-9a-f]{8}\n$/.exec(text)?.[0].trim() ?? null;
}
