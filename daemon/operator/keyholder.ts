/**
 * Who carries out what needs the wallet's passphrase: `local-keyholder.ts` on the machine of the wallet, and this one
 * for a client that has only the operator API, such as a browser.
 *
 * Invariant: a passphrase leaves this module only sealed to the signer's process. Intents are sealed with it, so that
 * the daemon, which passes the box on, can neither read nor replace them.
 */
import type { Call, Result } from '../contract/operator.ts';
import type { Network } from '../domain/assets.ts';
import { assert, Rejected, Unavailable } from '../domain/errors.ts';
import {
  type Authorization,
  type CustodyTask,
  type Macs,
  SEAL_AUTHORIZE,
  SEAL_CHANGE,
  SEAL_CUSTODY,
  SEAL_DRILL,
  SEAL_UNLOCK,
  SEAL_WORDS,
} from '../wallet/signer/port.ts';
import { replyBox, seal } from '../wallet/signer/seal.ts';
import type { DerivedAccounts } from './open-business.ts';

export type Wallet = Result<'wallet.status'>['wallet'];

const RETRY_SECONDS = 60;

/** `changed`: what is known of the change of a passphrase which the keychain did not take over. */
export const keychainBehind = (error: Error, changed = 'The passphrase is changed'): Unavailable =>
  new Unavailable(`${changed}; the keychain still has the old one: ${error.message}`, RETRY_SECONDS);

/** The MAC of the grant or approval at `at`, in the order of what was asked. The signer makes one for each. */
export function macAt(macs: readonly string[], at: number): string {
  const mac = macs[at];
  assert(mac !== undefined && mac !== '', `the signer made ${macs.length} MACs, and none for what was asked at ${at}`);
  return mac;
}

/** Every function throws `vault.passphrase` for a wrong passphrase, as `Rejected` or as `OperatorError`. */
export type Keyholder = {
  authorize(passphrase: string, wanted: Authorization): Promise<Macs>;
  unlock(passphrase: string): Promise<Wallet>;
  lock(): Promise<Wallet>;
  changePassphrase(old: string, fresh: string): Promise<Wallet>;
};

/**
 * Makes and shows a wallet where the client cannot reach the vault's folder. Throws like `Keyholder`, and `vault.*`,
 * `mnemonic.*`.
 */
export type Custody = {
  /** New words, which the operator has still to prove; or null for those of `words`, which are imported. */
  create(passphrase: string, words: string | null): Promise<string[] | null>;
  words(passphrase: string): Promise<string[]>;
  /** The 25 words of a Monero account. Takes some seconds. */
  moneroWords(passphrase: string, network: Network, accountNo: number): Promise<string[]>;
  /** Makes Monero's 25 words the key of an account to come. An open wallet has it once it is opened again. */
  importMonero(passphrase: string, network: Network, accountNo: number, words: string): Promise<void>;
  /** Takes the import of an account back that was not made. */
  dropMonero(passphrase: string, network: Network, accountNo: number): Promise<void>;
  /** To be called when the operator has proved to have the words. */
  prove(passphrase: string): Promise<void>;
  /** Begins the drill of the backup at a path of the service's machine, and does not wait for its end. */
  drill(passphrase: string, file: string): Promise<void>;
  /** The public keys of an account on every chain. */
  accounts(passphrase: string, network: Network, accountNo: number): Promise<DerivedAccounts>;
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

/**
 * Words are sealed to a key of this process, so that the daemon, which carries them, cannot read them. The same limit
 * holds as for passphrases: see `sealedKeyholder`.
 */
export function sealedCustody(call: Call): Custody {
  const ask = async (task: CustodyTask) => {
    const { seal_key } = await call('wallet.sealKey', {});
    return call('wallet.custody', { sealed: await seal(seal_key, SEAL_CUSTODY, JSON.stringify(task)) });
  };
  return custodyBy(ask, async (passphrase, file) => {
    const { seal_key } = await call('backup.drill', { file });
    await call('backup.drillOpen', { sealed: await seal(seal_key, SEAL_DRILL, passphrase) });
  });
}

/** `asked`: carries a task out beside the wallet's folder. */
export function custodyBy(
  asked: (task: CustodyTask) => Promise<Result<'wallet.custody'>>,
  drill: Custody['drill'],
): Custody {
  const wordsBy = async (task: (reply: string) => CustodyTask): Promise<string[] | null> => {
    const box = await replyBox();
    const { words } = await asked(task(box.key));
    return words === undefined ? null : (await box.open(SEAL_WORDS, words)).split(' ');
  };
  return {
    create: (passphrase, words) => wordsBy((reply) => ({ do: 'create', passphrase, words, reply })),
    words: async (passphrase) => (await wordsBy((reply) => ({ do: 'words', passphrase, reply }))) ?? [],
    moneroWords: async (passphrase, network, accountNo) =>
      (await wordsBy((reply) => ({ do: 'moneroWords', passphrase, network, accountNo, reply }))) ?? [],
    importMonero: async (passphrase, network, accountNo, words) => {
      await asked({ do: 'importMonero', passphrase, network, accountNo, words });
    },
    dropMonero: async (passphrase, network, accountNo) => {
      await asked({ do: 'dropMonero', passphrase, network, accountNo });
    },
    prove: async (passphrase) => {
      await asked({ do: 'prove', passphrase });
    },
    drill,
    accounts: async (passphrase, network, accountNo) => {
      const { accounts, used = true } = await asked({ do: 'accounts', passphrase, network, accountNo });
      if (accounts === undefined) throw new Rejected('seal', 'The service gave no account');
      return { accounts, used };
    },
  };
}

/** The sealed texts. */
export const authorizing = (passphrase: string, wanted: Authorization): string =>
  JSON.stringify({ passphrase, ...wanted });
export const passphrases = (old: string, fresh: string): string => JSON.stringify({ old, new: fresh });
