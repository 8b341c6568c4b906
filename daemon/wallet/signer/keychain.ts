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

/** `server`: that the wallet signs for, by its name on this computer; null: the service of this computer. */
export type WalletEntry = { fingerprint: string; server: string | null };

/** The keychain entry of a wallet. Throws `Unavailable` if the keychain is locked or there is none. */
async function entry<T>(
  { fingerprint, server }: WalletEntry,
  use: (entry: import('@napi-rs/keyring').AsyncEntry) => Promise<T>,
): Promise<T> {
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    const name = server === null ? `wallet ${fingerprint}` : `wallet ${fingerprint} of ${server}`;
    return await use(new AsyncEntry(SERVICE, name, OPTIONS));
  } catch (error) {
    throw new Unavailable(inWords(error), RETRY_SECONDS);
  }
}

/** The passphrase of a wallet, or null when the keychain has none. */
export async function readKeychain(wallet: WalletEntry): Promise<string | null> {
  return (await entry(wallet, (one) => one.getPassword())) ?? null;
}

export async function writeKeychain(wallet: WalletEntry, passphrase: string): Promise<void> {
  await entry(wallet, (one) => one.setPassword(passphrase));
}

/** Removes the passphrase of a wallet. Returns whether there was one. */
export async function forgetKeychain(wallet: WalletEntry): Promise<boolean> {
  return entry(wallet, (one) => one.deleteCredential());
}
