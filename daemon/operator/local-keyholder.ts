/**
 * Carries out what needs the passphrase on the machine of the wallet: MACs are made in this process from the vault's
 * folder. With a separate signer service, everything is sealed to its socket, and nothing passes through the daemon.
 */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Call } from '../contract/operator.ts';
import { Rejected, Unavailable } from '../domain/errors.ts';
import { authorized, revocation } from '../wallet/operator-keys.ts';
import { SIGNER_AWAY } from '../wallet/signer/channel.ts';
import { SignerClient } from '../wallet/signer/client.ts';
import { OPERATOR_SOCKET } from '../wallet/signer/files.ts';
import { SEAL_AUTHORIZE, SEAL_CHANGE, SEAL_UNLOCK, type Signer } from '../wallet/signer/port.ts';
import { seal } from '../wallet/signer/seal.ts';
import { authorizing, type Keyholder, passphrases, sealedKeyholder, type Wallet } from './keyholder.ts';

const RETRY_SECONDS = 5;

export type WalletLocation = {
  dataDir: string;
  /** The wallet's folder. */
  folder: string;
  /** The socket of a separate signer service, by the operator's own configuration; null: the daemon runs the signer. */
  socket: string | null;
};

export function localKeyholder(place: WalletLocation, call: Call): Keyholder {
  const { socket, folder } = place;
  // scrypt in this process, which ends or belongs to the operator: the passphrase never reaches the daemon
  if (socket === null) {
    return { ...sealedKeyholder(call), authorize: (passphrase, wanted) => authorized(folder, passphrase, wanted) };
  }
  const asked = <T>(use: (signer: Signer) => Promise<T>): Promise<T> => withSignerService(place, socket, use);
  /** The wallet has done it, whether or not the daemon answers. */
  const after = async (done: string): Promise<Wallet> => {
    try {
      return (await call('wallet.status', {})).wallet;
    } catch (error) {
      throw new Unavailable(`${done}. The service does not answer: ${(error as Error).message}`, RETRY_SECONDS);
    }
  };
  return {
    authorize: (passphrase, wanted) =>
      asked(async (signer) =>
        signer.authorize(await seal(await signer.sealKey(), SEAL_AUTHORIZE, authorizing(passphrase, wanted))),
      ),
    unlock: async (passphrase) => {
      await asked(async (signer) => signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, passphrase)));
      return after('The wallet is unlocked');
    },
    lock: async () => {
      // the daemon could withhold it from the wallet
      await asked((signer) => signer.lock());
      return after('The wallet is locked');
    },
    changePassphrase: async (old, fresh) => {
      await asked(async (signer) =>
        signer.changePassphrase(await seal(await signer.sealKey(), SEAL_CHANGE, passphrases(old, fresh))),
      );
      return after('The passphrase is changed');
    },
  };
}

/** Opens the wallet, and ends every approval and limit that it was given so far. */
export async function revokeApprovals(place: WalletLocation, call: Call, passphrase: string): Promise<void> {
  const { socket, folder } = place;
  if (socket === null) {
    await sealedKeyholder(call).unlock(passphrase);
    // made once it is open: a journal that begins then begins an epoch, too
    await call('wallet.revoke', await revocation(folder, passphrase));
    return;
  }
  await withSignerService(place, socket, async (signer) => {
    await signer.unlock(await seal(await signer.sealKey(), SEAL_UNLOCK, passphrase));
    const { next, mac } = await revocation(folder, passphrase);
    await signer.revokeApprovals(next, mac);
  });
}

/**
 * Connects to the separate signer service for data that only it may read: by the socket in its folder, which the daemon cannot
 * reach, else by the one that it shares with the daemon. Throws `Rejected('signer.service')` if another user could have
 * replaced the socket.
 */
export async function withSignerService<T>(
  { dataDir, folder }: Pick<WalletLocation, 'dataDir' | 'folder'>,
  shared: string,
  use: (signer: Signer) => Promise<T>,
): Promise<T> {
  const found = (path: string) => stat(path).catch(() => null);
  const own = join(folder, OPERATOR_SOCKET);
  // a signer of an earlier release has the shared one alone
  const socket = (await found(own))?.isSocket() ? own : shared;
  const [place, data] = await Promise.all([found(dirname(socket)), found(dataDir)]);
  // systemd removes the folder of a service that ended
  if (!place) throw new Unavailable(SIGNER_AWAY, RETRY_SECONDS);
  if ((place.mode & 0o022) !== 0 || isDaemons(place, data)) {
    const why = `${dirname(socket)} can be written by others than the signer: no passphrase is sent there`;
    throw new Rejected('signer.service', why);
  }
  const signer = new SignerClient({
    folder,
    remote: socket,
    autoLockMinutes: 0,
    source: () => ({ kind: 'prompt' }),
    sandbox: { sign: () => Promise.reject(new Error('the sandbox signs by itself')) },
    log: () => {},
  });
  try {
    return await use(signer);
  } finally {
    await signer.close();
  }
}

const isDaemons = (place: Stats, data: Stats | null): boolean =>
  data !== null && place.uid === data.uid && place.uid !== process.geteuid?.();
