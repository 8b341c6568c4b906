/** The names of the files in the wallet's folder, without what it takes to read them. All of them belong into a backup. */
export const VAULT_FILE = 'wallet.json';
export const JOURNAL_FILE = 'signer-journal.jsonl';
/** A journal that is full takes no more signatures; a backup takes one of this size. */
export const JOURNAL_BYTES_MAX = 512 * 1_048_576;
export const HEAD_FILE = 'signer-journal.head';
export const ATTEMPTS_FILE = 'signer-attempts.json';
