/** Carries out what needs the passphrase of a wallet at home: in this process, or sealed to the process that signs with it. */
import { join } from 'node:path';
import type { Call } from '../contract/operator.ts';
import { Rejected } from '../domain/errors.ts';
import { type Keyholder, macAt } from '../operator/keyholder.ts';
import { localKeyholder, withSignerService } from '../operator/local-keyholder.ts';
import { authorized } from '../wallet/operator-keys.ts';
import { SIGNER_AWAY } from '../wallet/signer/channel.ts';
import { OPERATOR_SOCKET } from '../wallet/signer/files.ts';
import type { Authorization, Macs } from '../wallet/signer/port.ts';
import { isStopped, stoppedText } from './alarm.ts';
import { walletFolderIn } from './place.ts';

/** Where the process listens that signs with the wallet of a server's folder. */
export const signingSocket = (folder: string): string => join(walletFolderIn(folder), OPERATOR_SOCKET);

/**
 * Of the wallet in a server's folder. `server`: its name here. Besides, all throw `Rejected`: `signer.foreign_address` while signing is
 * stopped, and `signer.locked` while no process signs.
 */
export function homeKeyholder(server: string, folder: string, call: Call): Keyholder {
  const wallet = walletFolderIn(folder);
  const place = { dataDir: folder, folder: wallet, socket: signingSocket(folder) };
  const { unlock, lock, changePassphrase } = localKeyholder(place, call);
  const served = <A extends unknown[], R>(use: (...given: A) => Promise<R>) => {
    return (...given: A): Promise<R> =>
      use(...given).catch((error: unknown) => Promise.reject(notServed(error, server)));
  };
  // here and in no other process; the wallet needs not be served for it
  return {
    authorize: async (passphrase, wanted) => {
      if (await isStopped(folder)) throw new Rejected('signer.foreign_address', stoppedText(server));
      return authorized(wallet, passphrase, wanted);
    },
    unlock: served(unlock),
    lock: served(lock),
    changePassphrase: served(changePassphrase),
  };
}

/**
 * Grants limits to the process that signs before the server is told, which could withhold a reduction until the wallet is unlocked. Throws
 * `Rejected('signer.locked')`, and `Unavailable` if no process signs.
 */
export async function grantHere(folder: string, grants: Authorization['grants'], macs: Macs['grants']): Promise<void> {
  if (grants.length === 0) return;
  const place = { dataDir: folder, folder: walletFolderIn(folder) };
  try {
    await withSignerService(place, signingSocket(folder), async (signer) => {
      for (const [at, grant] of grants.entries()) await signer.grantPolicy(grant, macAt(macs, at));
    });
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== 'signer.locked') throw error;
    throw new Rejected('signer.locked', STILL_GRANTED);
  }
}

const STILL_GRANTED =
  'The wallet is locked, and still has the limits that it was granted: unlock it, and set them again. Nothing was changed';

/** A wallet at home is open only in the process that signs. */
export function notServed(error: unknown, server: string): unknown {
  if ((error as Error).message !== SIGNER_AWAY) return error;
  const text = `nobody signs with this wallet now: run countinghouse --server ${server} signer run`;
  return new Rejected('signer.locked', text);
}
