/** The passphrase of the wallet in this system's keychain: for the service of this computer, or for a server that it signs for. */
import type { Result } from '../contract/operator.ts';
import { Unavailable } from '../domain/errors.ts';
import { isRemembered, mayBeRemembered } from '../home/place.ts';
import { keychainBehind } from '../operator/keyholder.ts';
import type { WalletEntry } from '../wallet/signer/keychain.ts';
import { EXIT, Failure } from './io.ts';
import type { Session } from './session.ts';

type Wallet = Result<'wallet.status'>['wallet'];

/** Null: the service of this computer is meant. */
const placeOf = ({ server, dataDir }: Session) => (server === null ? null : { server, folder: dataDir });

function entryOf({ fingerprint }: Wallet): WalletEntry {
  if (fingerprint === null) throw new Failure('there is no wallet yet', EXIT.failed, 'vault.missing');
  return { fingerprint, server: null };
}

/** Opens the wallet of a server, and has the keychain open it from now on. The server is not asked. */
export async function rememberForServer(session: Session, server: string, passphrase: string): Promise<void> {
  const { remember } = await import('../home/keychain.ts');
  await remember({ server, folder: session.dataDir }, passphrase);
  session.note('The passphrase is in the keychain, and `signer run` opens the wallet with it.');
  session.print({ server, remembered: true }, () => '');
}

/** Puts the passphrase into the keychain; takes it out again if the service cannot use it. */
export async function remember(
  session: Session,
  wallet: Wallet,
  passphrase: string,
): Promise<Result<'wallet.keychain'>> {
  const { forgetKeychain, writeKeychain } = await import('../wallet/signer/keychain.ts');
  const entry = entryOf(wallet);
  await writeKeychain(entry, passphrase);
  try {
    const opened = await session.call('wallet.keychain', { on: true });
    session.note('The passphrase is in the keychain, and the service opens the wallet with it.');
    return opened;
  } catch (error) {
    await forgetKeychain(entry);
    throw error;
  }
}

/** Changes the passphrase by `change`, and in the keychain, where it has the old one. */
export async function changing(session: Session, fresh: string, change: () => Promise<Wallet>): Promise<Wallet> {
  const place = placeOf(session);
  if (place === null) {
    const wallet = await change();
    if (wallet.unlock === 'keychain') {
      const { writeKeychain } = await import('../wallet/signer/keychain.ts');
      await writeKeychain(entryOf(wallet), fresh).catch((error) => Promise.reject(keychainBehind(error)));
    }
    return wallet;
  }
  const changed = await change().catch((error: unknown) => {
    // it may be changed all the same: the server is asked for its state after it
    if (error instanceof Unavailable) return error;
    throw error;
  });
  if (isRemembered(place.folder)) {
    const { remember } = await import('../home/keychain.ts');
    await remember(place, fresh).catch((error: Error) => {
      if (!(changed instanceof Unavailable)) throw keychainBehind(error);
      // refused: it is not known to be changed
      throw error instanceof Unavailable ? keychainBehind(error, changed.message) : changed;
    });
  } else if (mayBeRemembered(place.folder)) {
    // its question is open, or nobody answered it: a late answer finds nothing to keep
    const { forget } = await import('../home/keychain.ts');
    await forget(place).catch((error: Error) => {
      throw changed instanceof Unavailable ? keychainBehind(error, changed.message) : keychainBehind(error);
    });
  }
  if (changed instanceof Unavailable) throw changed;
  return changed;
}

/** Takes the passphrase out, and locks the wallet. */
export async function forget(session: Session): Promise<void> {
  const place = placeOf(session);
  const forgotten = place === null ? await forgetOwn(session) : await forgetForServer(place);
  session.print({ forgotten }, () => (forgotten ? 'The keychain has forgotten it.\n' : 'The keychain had none.\n'));
}

async function forgetOwn(session: Session): Promise<boolean> {
  const { wallet } = await session.call('wallet.keychain', { on: false });
  const { forgetKeychain } = await import('../wallet/signer/keychain.ts');
  return wallet.fingerprint !== null && (await forgetKeychain(entryOf(wallet)));
}

async function forgetForServer(place: { server: string; folder: string }): Promise<boolean> {
  const { forget, lock } = await import('../home/keychain.ts');
  const forgotten = await forget(place);
  await lock(place);
  return forgotten;
}

/** With the way in which the wallet is opened here, where the word of a server counts for nothing. */
export function asOpenedHere({ server, dataDir }: Session, wallet: Wallet): Wallet {
  if (server === null) return wallet;
  return { ...wallet, unlock: isRemembered(dataDir) ? 'keychain' : 'prompt', separate: false };
}
