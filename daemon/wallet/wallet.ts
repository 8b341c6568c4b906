/**
 * The interface of the merchant's wallet. Its results are public account keys; words and seeds stay inside, except that
 * new words are returned once, to the operator's own process.
 *
 * Invariant: words are returned only after their vault is on the disk. A derivation takes the passphrase each time and
 * keeps nothing. scrypt takes 0.3 s and 170 MB, so these functions are for short-lived processes, not for the daemon.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChainId, Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import { accountKey, masterFingerprint } from './accounts.ts';
import { writeBackupKey } from './backup-key.ts';
import { exists, writeOnce } from './files.ts';
import { createWords, parseWords, seedOf } from './mnemonic.ts';
import { journalKey } from './signer/approval.ts';
import { JOURNAL_FILE, UNPROVED_FILE, VAULT_FILE } from './signer/files.ts';
import { createVault, openVault, type ScryptCost, vaultFingerprint } from './vault.ts';

export { VAULT_FILE };

export type NewWallet = {
  /** The words of an existing wallet; absent: new words. */
  words?: string;
  /** BIP-39's passphrase, a part of the seed. Unlike `passphrase` it is needed for a restore. Default: none. */
  mnemonicPassphrase?: string;
  /** The passphrase of the vault on this machine. */
  passphrase: string;
  /** The cost of a guess at it; only tests set it. */
  cost?: ScryptCost;
};

/**
 * Makes the wallet of this folder, and the folder if it is missing. `words` are returned only if they are new; a file
 * marks them until `wordsWereProved`, so that an interrupted attempt continues. Throws
 * `Rejected`: `vault.exists`, `vault.weak_passphrase`, `signer.journal` if another wallet's journal is there, and
 * `mnemonic.*` for bad words.
 */
export async function createWallet(
  folder: string,
  wallet: NewWallet,
): Promise<{ words?: string[]; fingerprint: string }> {
  const mnemonic = wallet.words === undefined ? await createWords() : await parseWords(wallet.words);
  const passphrase = wallet.mnemonicPassphrase ?? '';
  const seed = await seedOf(mnemonic, passphrase);
  const fingerprint = masterFingerprint(seed);
  const key = journalKey(seed);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeBackupKey(folder, seed);
  seed.fill(0);
  const isFresh = wallet.words === undefined;
  const begin = async () =>
    (await import('./signer/journal.ts')).revokeIn(folder, key, fingerprint, Date.now(), isFresh);
  try {
    // approvals must not be valid in two journals of the same words; an existing journal must be this wallet's
    const goesOn = !(await hasWallet(folder)) && (await exists(join(folder, JOURNAL_FILE)));
    if (goesOn) await begin();
    // before the wallet: after a crash in between there is a mark without a wallet, which is harmless
    if (isFresh) await writeOnce(join(folder, UNPROVED_FILE), '');
    else if (!(await hasWallet(folder))) await wordsWereProved(folder);
    await createVault(join(folder, VAULT_FILE), { mnemonic, passphrase }, wallet.passphrase, fingerprint, wallet.cost);
    // after a crash in between, the signer begins the wallet's journal
    if (!goesOn) await begin();
  } finally {
    key.fill(0);
  }
  return wallet.words === undefined ? { words: mnemonic.split(' '), fingerprint } : { fingerprint };
}

/** Whether this folder's words were made with its wallet, so that nobody used them before. */
export const areWordsNew = async (folder: string): Promise<boolean> =>
  (await import('./signer/journal.ts')).isFreshIn(folder);

/**
 * The public keys of account number `account` (0 to 2^31 - 1) on these chains. Throws `Rejected`: `vault.missing`,
 * `vault.corrupted`, `vault.passphrase`, and `wallet.sandbox`, because the sandbox has its own wallet.
 */
export async function deriveAccounts<Chain extends ChainId>(
  folder: string,
  passphrase: string,
  network: Network,
  account: number,
  chains: readonly Chain[],
): Promise<Record<Chain, AccountKey>> {
  if (network === 'sandbox') throw new Rejected('wallet.sandbox', 'The sandbox has a wallet of its own');
  const secret = await openVault(join(folder, VAULT_FILE), passphrase);
  const seed = await seedOf(secret.mnemonic, secret.passphrase);
  try {
    const keys = chains.map((chain) => [chain, accountKey(seed, chain, network, account, secret.monero)] as const);
    return Object.fromEntries(keys) as Record<Chain, AccountKey>;
  } finally {
    seed.fill(0);
  }
}

/** The words in their order. Throws `Rejected` `vault.*`. */
export async function wordsOf(folder: string, passphrase: string): Promise<string[]> {
  return (await openVault(join(folder, VAULT_FILE), passphrase)).mnemonic.split(' ');
}

/** Whether the operator has still to prove to have the words of a new wallet. */
export const areWordsUnproved = async (folder: string): Promise<boolean> =>
  (await hasWallet(folder)) && exists(join(folder, UNPROVED_FILE));

export const wordsWereProved = (folder: string): Promise<void> => rm(join(folder, UNPROVED_FILE), { force: true });

export function hasWallet(folder: string): Promise<boolean> {
  return exists(join(folder, VAULT_FILE));
}

/** BIP-32's fingerprint of the wallet's master key, 8 hex digits; needs no passphrase. Throws `Rejected` `vault.*`. */
export function walletFingerprint(folder: string): Promise<string> {
  return vaultFingerprint(join(folder, VAULT_FILE));
}
