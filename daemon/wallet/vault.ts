/**
 * The vault: one file that holds the words, encrypted with AES-256-GCM under a key that scrypt makes from a passphrase
 * (or, for the sandbox's throw-away wallet, under a random key given directly).
 *
 * The file is JSON: `header` says how to open it and is authenticated with the contents, `box` is ciphertext and tag,
 * `checksum` tells damage from a wrong passphrase before either is tried.
 *
 * Invariant: a vault exists wholly or not at all, and is overwritten only by the same words under another passphrase, or with other
 * imported keys.
 * The passphrase and the words are in no error.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes, scrypt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { NETWORKS } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import type { ImportedMonero } from './accounts.ts';
import { isMissing, replaceFile, writeOnce } from './files.ts';

type VaultSecret = {
  /** The words in their normal form (`parseWords`). */
  mnemonic: string;
  /** The BIP-39 passphrase; empty: none. */
  passphrase: string;
};

/** `monero`: keys of Monero accounts that do not follow from the words. */
type WholeSecret = VaultSecret & { monero: readonly ImportedMonero[] };

/** A passphrase (for scrypt), or a random key of 32 bytes that is used directly. */
type VaultLock = string | Uint8Array;

const KEY_BYTES = 32;
const SALT_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PASSPHRASE_CHARS_MIN = 8;
const PASSPHRASE_CHARS_MAX = 1_000;
const FILE_BYTES_MAX = 16_384;

/** The contents are padded to this length, so that it does not reveal the number of words. */
const CONTENTS_BYTES_MIN = 512;

/** Imported keys of one wallet: as many as fit into the file. */
export const IMPORTED_MAX = 50;

/** How much a guess costs; each file names its own. */
export type ScryptCost = { N: number; r: number; p: number };
/** Each guess costs an attacker 0.3 s and 128 MiB. */
const SCRYPT: ScryptCost = { N: 2 ** 17, r: 8, p: 1 };

/** The memory that a file may request before its contents are authenticated. */
const SCRYPT_MEMORY_BYTES_MAX = 2 ** 30;
const SCRYPT_PASSES_MAX = 4;

const powerOfTwo = z
  .int()
  .min(2)
  .refine((n) => Number.isInteger(Math.log2(n)));
const base64 = z.string().refine((text) => Buffer.from(text, 'base64').toString('base64') === text);

const Scrypt = z
  .strictObject({
    name: z.literal('scrypt'),
    N: powerOfTwo,
    r: z.int().min(1),
    p: z.int().min(1).max(SCRYPT_PASSES_MAX),
    salt: base64,
  })
  .refine(({ N, r }) => 128 * N * r <= SCRYPT_MEMORY_BYTES_MAX);

const Header = z.strictObject({
  format: z.literal('countinghouse-vault'),
  /** 2: with imported keys, which an earlier release would not sign with. */
  version: z.union([z.literal(1), z.literal(2)]),
  fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
  /** `none`: a separate file holds the key. */
  kdf: z.union([Scrypt, z.strictObject({ name: z.literal('none') })]),
  cipher: z.strictObject({
    name: z.literal('aes-256-gcm'),
    nonce: base64.refine((text) => Buffer.from(text, 'base64').length === NONCE_BYTES),
  }),
});
type Header = z.infer<typeof Header>;

const VaultFile = z.strictObject({ header: Header, box: base64, checksum: z.string() });
type VaultFile = z.infer<typeof VaultFile>;

const Contents = z.strictObject({
  mnemonic: z.string(),
  passphrase: z.string(),
  monero: z
    .array(
      z.strictObject({
        network: z.enum(NETWORKS),
        accountNo: z.int().min(0),
        spendKey: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .max(IMPORTED_MAX)
    .default([]),
});

/**
 * Writes a new vault (mode 0600) and returns when it is on the disk. `fingerprint` is stored in clear. Throws
 * `Rejected`: `vault.weak_passphrase` (under 8 or over 1,000 characters), `vault.exists`. Only tests set `cost`.
 */
export async function createVault(
  file: string,
  secret: VaultSecret,
  lock: VaultLock,
  fingerprint: string,
  cost: ScryptCost = SCRYPT,
): Promise<void> {
  if (!(await writeOnce(file, await sealedVault({ ...secret, monero: [] }, lock, fingerprint, cost)))) {
    throw new Rejected('vault.exists', 'There is a wallet already');
  }
}

/**
 * Encrypts the vault again, with a fresh salt, under another passphrase. After a crash, one of the two passphrases
 * opens it. The old file's bytes may remain on the disk and in backups, where the old passphrase still opens them.
 * Throws `Rejected` like `openVault` for `old`, and `vault.weak_passphrase` for `fresh`.
 */
export async function changeVaultLock(file: string, old: VaultLock, fresh: string): Promise<void> {
  needStrong(fresh);
  const secret = await openVault(file, old);
  await replaceFile(file, await sealedVault(secret, fresh, await vaultFingerprint(file), SCRYPT));
}

/** Replaces the imported keys. Throws `Rejected` like `openVault`. */
export async function setImported(
  file: string,
  lock: VaultLock,
  change: (known: readonly ImportedMonero[]) => readonly ImportedMonero[],
): Promise<void> {
  const secret = await openVault(file, lock);
  const { fingerprint, kdf } = (await readVault(file)).header;
  const cost = kdf.name === 'scrypt' ? kdf : SCRYPT;
  const monero = change(secret.monero);
  await replaceFile(file, await sealedVault({ ...secret, monero }, lock, fingerprint, cost));
}

function needStrong(passphrase: string): void {
  if (passphrase.length >= PASSPHRASE_CHARS_MIN && passphrase.length <= PASSPHRASE_CHARS_MAX) return;
  throw new Rejected('vault.weak_passphrase', 'The passphrase must have at least 8 characters', 'passphrase');
}

async function sealedVault(
  { monero, ...words }: WholeSecret,
  lock: VaultLock,
  fingerprint: string,
  cost: ScryptCost,
): Promise<string> {
  if (typeof lock === 'string') needStrong(lock);
  const header: Header = {
    format: 'countinghouse-vault',
    version: monero.length > 0 ? 2 : 1,
    fingerprint,
    kdf:
      typeof lock === 'string'
        ? { name: 'scrypt', N: cost.N, r: cost.r, p: cost.p, salt: randomBytes(SALT_BYTES).toString('base64') }
        : { name: 'none' },
    cipher: { name: 'aes-256-gcm', nonce: randomBytes(NONCE_BYTES).toString('base64') },
  };
  const key = await keyOf(header, lock);
  const contents = Buffer.from(
    JSON.stringify(monero.length > 0 ? { ...words, monero } : words).padEnd(CONTENTS_BYTES_MIN),
  );
  const cipher = createCipheriv('aes-256-gcm', key, Buffer.from(header.cipher.nonce, 'base64'));
  cipher.setAAD(Buffer.from(JSON.stringify(header)));
  const box = Buffer.concat([cipher.update(contents), cipher.final(), cipher.getAuthTag()]).toString('base64');
  key.fill(0);
  contents.fill(0);
  return `${JSON.stringify({ header, box, checksum: checksumOf({ header, box }) }, null, 2)}\n`;
}

/**
 * The secret of a vault. Throws `Rejected`: `vault.missing`, `vault.corrupted` (damaged, or of an unknown version),
 * `vault.passphrase` (wrong, or the file was forged).
 */
export async function openVault(file: string, lock: VaultLock): Promise<WholeSecret> {
  const { header, box } = await readVault(file);
  const key = await keyOf(header, lock);
  const bytes = Buffer.from(box, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(header.cipher.nonce, 'base64'));
  decipher.setAAD(Buffer.from(JSON.stringify(header)));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const contents = decipher.update(bytes.subarray(0, -TAG_BYTES));
  try {
    decipher.final();
    return Contents.parse(JSON.parse(contents.toString()));
  } catch {
    throw new Rejected('vault.passphrase', 'The passphrase does not open this wallet', 'passphrase');
  } finally {
    key.fill(0);
    contents.fill(0);
  }
}

/** The fingerprint in a vault's header, which needs no passphrase. Throws `Rejected` like `openVault`. */
export async function vaultFingerprint(file: string): Promise<string> {
  return (await readVault(file)).header.fingerprint;
}

async function readVault(file: string): Promise<VaultFile> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) throw new Rejected('vault.missing', 'There is no wallet yet');
    throw error;
  }
  const vault = text.length <= FILE_BYTES_MAX ? parseVault(text) : null;
  if (!vault || vault.checksum !== checksumOf(vault)) {
    throw new Rejected('vault.corrupted', 'The wallet file is damaged: restore it from a backup or from the words');
  }
  return vault;
}

function parseVault(text: string): VaultFile | null {
  try {
    const vault = VaultFile.parse(JSON.parse(text));
    return Buffer.from(vault.box, 'base64').length > TAG_BYTES ? vault : null;
  } catch {
    return null;
  }
}

function checksumOf({ header, box }: { header: Header; box: string }): string {
  return hash('sha256', JSON.stringify({ header, box }));
}

const deriveKey = promisify<string, Buffer, number, ScryptCost & { maxmem: number }, Buffer>(scrypt);

/** Off the event loop. A passphrase is normalised to Unicode's NFKC, so that all keyboards type the same one. */
async function keyOf({ kdf }: Header, lock: VaultLock): Promise<Buffer> {
  if (kdf.name === 'none') {
    if (typeof lock === 'string' || lock.length !== KEY_BYTES) {
      throw new Rejected('vault.passphrase', 'This wallet opens with a key file', 'passphrase');
    }
    return Buffer.from(lock);
  }
  if (typeof lock !== 'string' || lock.length > PASSPHRASE_CHARS_MAX) {
    throw new Rejected('vault.passphrase', 'The passphrase does not open this wallet', 'passphrase');
  }
  const { N, r, p } = kdf;
  const options = { N, r, p, maxmem: 2 * SCRYPT_MEMORY_BYTES_MAX };
  return deriveKey(lock.normalize('NFKC'), Buffer.from(kdf.salt, 'base64'), KEY_BYTES, options);
}
