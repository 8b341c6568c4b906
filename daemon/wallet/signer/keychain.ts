/**
 * The operating system's keychain (macOS Keychain, Windows Credential Manager, Secret Service). It needs an addon, so
 * only short-lived processes load it, never the daemon or the signer.
 */
import { Unavailable } from '../../domain/errors.ts';

const SERVICE = 'Countinghouse';
const RETRY_SECONDS = 60;

/** The library's other store on Linux is the kernel's keyring, which a restart of the machine empties. */
const OPTIONS = { linux: { store: 'secret-service' } } as const;

/** The library has no codes: these are its words for a keychain whose question nobody answered, or could be asked. */
const IS_LOCKED = /prompt was dismissed|object locked|prompt completed/;
const IS_MISSING = /DBus|D-Bus|AccessDenied|no result found|No DBus session/;

function inWords(error: unknown): string {
  const message = (error as Error).message.split('\n')[0]!;
  if (IS_LOCKED.test(message)) return 'The keychain is locked: unlock it where you are logged in, then try again';
  if (process.platform === 'linux' && IS_MISSING.test(message)) {
    return 'There is no keychain here: it belongs to a desktop on which you are logged in (Secret Service over D-Bus)';
  }
  return `The keychain does not answer: ${message}`;
}

/** The keychain entry of a wallet, by its fingerprint. Throws `Unavailable` if the keychain is locked or there is none. */
async function entry<T>(
  fingerprint: string,
  use: (entry: import('@napi-rs/keyring').AsyncEntry) => Promise<T>,
): Promise<T> {
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    return await use(new AsyncEntry(SERVICE, `wallet ${fingerprint}`, OPTIONS));
  } catch (error) {
    throw new Unavailable(inWords(error), RETRY_SECONDS);
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
