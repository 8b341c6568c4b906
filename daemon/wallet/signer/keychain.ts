/**
 * The operating system's keychain (macOS Keychain, Windows Credential Manager, Secret Service). It needs an addon, so
 * only short-lived processes load it, never the daemon or the signer.
 */
import { Unavailable } from '../../domain/errors.ts';

const SERVICE = 'Countinghouse';
const RETRY_SECONDS = 60;

/** The keychain entry of a wallet, by its fingerprint. Throws `Unavailable` if there is no keychain. */
async function entry<T>(
  fingerprint: string,
  use: (entry: import('@napi-rs/keyring').AsyncEntry) => Promise<T>,
): Promise<T> {
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    return await use(new AsyncEntry(SERVICE, `wallet ${fingerprint}`));
  } catch (error) {
    throw new Unavailable(`The keychain does not answer: ${(error as Error).message.split('\n')[0]}`, RETRY_SECONDS);
  }
}

/** The passphrase of a wallet, or null when the keychain has none. */
export async function readKeychain(fingerprint: string): Promise<string | null> {
  return (await entry(fingerprint, (one) => one.getPassword())) ?? null;
}

export async function writeKeychain(fingerprint: string, passphrase: string): Promise<void> {
  await entry(fingerprint, (one) => one.setPassword(passphrase));
}

/** Removes the passphrase of a wallet. Returns whether there was one. */
export async function forgetKeychain(fingerprint: string): Promise<boolean> {
  return entry(fingerprint, (one) => one.deleteCredential());
}
