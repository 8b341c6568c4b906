/**
 * Who carries out what needs the wallet's passphrase: `local-keyholder.ts` on the machine of the wallet, and this one
 * for a client that has only the operator API, such as a browser.
 *
 * Invariant: a passphrase leaves this module only sealed to the signer's process. Intents are sealed with it, so that
 * the daemon, which passes the box on, can neither read nor replace them.
 */
import type { Call, Result } from '../contract/operator.ts';
import { type Authorization, type Macs, SEAL_AUTHORIZE, SEAL_CHANGE, SEAL_UNLOCK } from '../wallet/signer/port.ts';
import { seal } from '../wallet/signer/seal.ts';

export type Wallet = Result<'wallet.status'>['wallet'];

/** Every function throws `vault.passphrase` for a wrong passphrase, as `Rejected` or as `OperatorError`. */
export type Keyholder = {
  authorize(passphrase: string, wanted: Authorization): Promise<Macs>;
  unlock(passphrase: string): Promise<Wallet>;
  lock(): Promise<Wallet>;
  changePassphrase(old: string, fresh: string): Promise<Wallet>;
};

/**
 * Seals to the key that the daemon names. A compromised daemon could name its own key and read the passphrase; but it
 * could also alter the code that runs here.
 */
export function sealedKeyholder(call: Call): Keyholder {
  const sealed = async (purpose: string, text: string) =>
    seal((await call('wallet.sealKey', {})).seal_key, purpose, text);
  return {
    authorize: async (passphrase, wanted) =>
      (await call('wallet.authorize', { sealed: await sealed(SEAL_AUTHORIZE, authorizing(passphrase, wanted)) })).macs,
    unlock: async (passphrase) =>
      (await call('wallet.unlock', { sealed: await sealed(SEAL_UNLOCK, passphrase) })).wallet,
    lock: async () => (await call('wallet.lock', {})).wallet,
    changePassphrase: async (old, fresh) =>
      (await call('wallet.passphrase', { sealed: await sealed(SEAL_CHANGE, passphrases(old, fresh)) })).wallet,
  };
}

/** The sealed texts. */
export const authorizing = (passphrase: string, wanted: Authorization): string =>
  JSON.stringify({ passphrase, ...wanted });
export const passphrases = (old: string, fresh: string): string => JSON.stringify({ old, new: fresh });
