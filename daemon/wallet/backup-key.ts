/**
 * The key to which backups are encrypted: an X25519 pair (RFC 7748) made from the wallet's seed. The public key is
 * stored beside the vault, so that a backup can be made while the wallet is locked. The private key is derived from the
 * words, so that the words and one file restore everything.
 *
 * Invariant: the private key is never written.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ChainId, Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import { accountKey, type ImportedMonero, masterFingerprint } from './accounts.ts';
import { exists, writeOnce } from './files.ts';
import { parseWords, seedOf } from './mnemonic.ts';
import { journalKey } from './signer/approval.ts';
import { openVault, vaultFingerprint } from './vault.ts';

/** Named by the wallet, so that the remains of an interrupted creation are not mistaken for another wallet's key. */
const keyFile = (fingerprint: string): string => `backup-key-${fingerprint}.json`;

const KEY_FILE = /^backup-key-[0-9a-f]{8}\.json$/;

const VAULT_FILE = 'wallet.json';
const PURPOSE = 'countinghouse backup key 1';
const KEY_BYTES = 32;
/** RFC 8410: the bytes before the 32 bytes of an X25519 key in DER. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b656e032100', 'hex');

const KeyFile = z.strictObject({
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  /** 32 bytes in base64. */
  public_key: z.string().refine((text) => Buffer.from(text, 'base64').length === KEY_BYTES),
});

export type BackupKey = { fingerprint: string; publicKey: Uint8Array };
/** `journalKey`: of the signer's journal, which a restore writes. */
export type BackupSecret = { fingerprint: string; privateKey: KeyObject; journalKey: Buffer };

/** The raw 32 bytes of an X25519 public key, from either key of the pair. */
export function rawPublicKey(key: KeyObject): Buffer {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
}

/** The raw 32 bytes of an X25519 private key. */
export const rawPrivateKey = (key: KeyObject): Buffer =>
  key.export({ format: 'der', type: 'pkcs8' }).subarray(-KEY_BYTES);

/** An X25519 public key from its raw 32 bytes. */
export function publicKeyOf(raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
}

export function backupSecretOf(seed: Uint8Array): BackupSecret {
  const raw = Buffer.from(hkdfSync('sha256', seed, new Uint8Array(0), PURPOSE, KEY_BYTES));
  const der = Buffer.concat([PKCS8_PREFIX, raw]);
  try {
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    return { fingerprint: masterFingerprint(seed), privateKey, journalKey: journalKey(seed) };
  } finally {
    raw.fill(0);
    der.fill(0);
  }
}

/** Opens a wallet's backups, and derives its public account keys. */
export type OpenedBackup = {
  secret: BackupSecret;
  account(chain: ChainId, network: Network, account: number): AccountKey;
  /** An account as a computer at home has kept it, of another wallet too; null: it has none. Absent elsewhere. */
  kept?(chain: ChainId, network: Network, account: number): AccountKey | null;
  /** Wipes the seed. */
  close(): void;
};

function opened(seed: Buffer, imported: readonly ImportedMonero[] = []): OpenedBackup {
  const secret = backupSecretOf(seed);
  return {
    secret,
    account: (chain, network, account) => accountKey(seed, chain, network, account, imported),
    close() {
      seed.fill(0);
      secret.journalKey.fill(0);
    },
  };
}

/** Opens with the wallet's words, which do not give imported keys of Monero. Throws `Rejected` `mnemonic.*`. */
export async function openByWords(words: string, mnemonicPassphrase = ''): Promise<OpenedBackup> {
  return opened(Buffer.from(await seedOf(await parseWords(words), mnemonicPassphrase)));
}

/** Opens with the passphrase of the wallet in this folder. Throws `Rejected` `vault.*`. */
export async function openByVault(folder: string, passphrase: string): Promise<OpenedBackup> {
  const { mnemonic, passphrase: mnemonicPassphrase, monero } = await openVault(join(folder, VAULT_FILE), passphrase);
  return opened(Buffer.from(await seedOf(mnemonic, mnemonicPassphrase)), monero);
}

/** Writes the public key beside the vault. */
export async function writeBackupKey(folder: string, seed: Uint8Array): Promise<void> {
  const { fingerprint, privateKey } = backupSecretOf(seed);
  const contents = { fingerprint, public_key: rawPublicKey(privateKey).toString('base64') };
  await writeOnce(join(folder, keyFile(fingerprint)), `${JSON.stringify(contents)}\n`);
}

/** The fingerprint of the wallet here or, with a separate signer, of the one whose public key is here. */
async function nameOfKey(folder: string): Promise<string | null> {
  if (await exists(join(folder, VAULT_FILE))) return keyFile(await vaultFingerprint(join(folder, VAULT_FILE)));
  const names = (await readdir(folder).catch(() => [])).filter((name) => KEY_FILE.test(name));
  return names.length === 1 ? (names[0] ?? null) : null;
}

/** The public key. Throws `Rejected('backup.no_wallet')` without a wallet, and `vault.corrupted`. */
export async function readBackupKey(folder: string): Promise<BackupKey> {
  const name = await nameOfKey(folder);
  if (name === null) {
    const message = 'There is no wallet yet whose words could open a backup: add a business on a real network first';
    throw new Rejected('backup.no_wallet', message);
  }
  try {
    const { fingerprint, public_key } = KeyFile.parse(JSON.parse(await readFile(join(folder, name), 'utf8')));
    return { fingerprint, publicKey: Buffer.from(public_key, 'base64') };
  } catch {
    throw new Rejected('vault.corrupted', `${name} beside the wallet is lost or damaged: restore it from a backup`);
  }
}
