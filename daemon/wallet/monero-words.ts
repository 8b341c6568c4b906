/**
 * Monero's own words, 25 of them, for the private spend key of an account: shown to its owner, who can open them in any wallet of
 * Monero; and imported, in place of the key that follows from the BIP-39 words.
 *
 * Invariant: imported keys are in the vault alone. The BIP-39 words do not give them, so a restore needs the vault, which is in
 * each backup.
 */
import { join } from 'node:path';
import type { Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { scalarBytes } from '../monero/curve.ts';
import { moneroSecretOf } from './accounts.ts';
import { seedOf } from './mnemonic.ts';
import { VAULT_FILE } from './signer/files.ts';
import { moneroWordsOf, spendKeyOf } from './signer/xmr/library.ts';
import { IMPORTED_MAX, openVault, setImported } from './vault.ts';

/** The words of an account, imported or not. Throws `Rejected` `vault.*`. */
export async function moneroWordsIn(
  folder: string,
  passphrase: string,
  network: Network,
  accountNo: number,
): Promise<string> {
  const secret = await openVault(join(folder, VAULT_FILE), passphrase);
  const seed = await seedOf(secret.mnemonic, secret.passphrase);
  const { spend } = moneroSecretOf(seed, network, accountNo, secret.monero);
  seed.fill(0);
  return moneroWordsOf(Buffer.from(scalarBytes(spend)).toString('hex'));
}

/**
 * Makes the key of 25 words that of an account which does not exist yet. Throws `Rejected`: `vault.*`, `mnemonic.*`,
 * `vault.exists` if the account has one, or the words are another account's.
 */
export async function importMoneroWords(
  folder: string,
  passphrase: string,
  { network, accountNo, words }: { network: Network; accountNo: number; words: string },
): Promise<void> {
  const spendKey = await spendKeyOf(words);
  await setImported(join(folder, VAULT_FILE), passphrase, (known) => {
    const isTaken = known.some(
      (one) => (one.network === network && one.accountNo === accountNo) || one.spendKey === spendKey,
    );
    if (isTaken || known.length >= IMPORTED_MAX) {
      throw new Rejected('vault.exists', 'This wallet has these words of Monero already, or cannot take more');
    }
    return [...known, { network, accountNo, spendKey }];
  });
}

/** Takes the import of an account back that was not made. Throws `Rejected` `vault.*`. */
export async function dropMoneroWords(
  folder: string,
  passphrase: string,
  network: Network,
  accountNo: number,
): Promise<void> {
  await setImported(join(folder, VAULT_FILE), passphrase, (known) =>
    known.filter((one) => one.network !== network || one.accountNo !== accountNo),
  );
}
