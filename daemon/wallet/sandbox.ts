/**
 * The sandbox's wallet: random words that never held money, in a vault under a random key in the same folder, so that
 * the sandbox starts without a passphrase and without a slow key derivation.
 *
 * Invariant: once created it stays the same wallet; after a crash its creation is completed.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChainId } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { assert, Rejected } from '../domain/errors.ts';
import type { SignedSpend, UtxoPlan } from '../domain/spend.ts';
import { accountKey, masterFingerprint } from './accounts.ts';
import { exists, isMissing, writeOnce } from './files.ts';
import { createWords, seedOf } from './mnemonic.ts';
import { createVault, openVault } from './vault.ts';

export const SANDBOX_VAULT_FILE = 'sandbox-wallet.json';
export const SANDBOX_KEY_FILE = 'sandbox-wallet.key';

const KEY_BYTES = 32;

export type SandboxWallet = {
  /** The public key of an account (0 to 2^31 - 1) of a chain on the sandbox. */
  account(chain: ChainId, account: number): AccountKey;
  /** Signs a plan of BTC, LTC or BCH like the signer, without an approval, because its coins are worthless. */
  sign(plan: UtxoPlan): Promise<SignedSpend>;
};

/** Opens the sandbox's wallet, or creates it. Throws `Rejected('vault.corrupted')` if a file is lost or damaged. */
export async function ensureSandboxWallet(folder: string): Promise<SandboxWallet> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, SANDBOX_VAULT_FILE);
  if (!(await exists(file))) await createSandboxVault(folder, file);
  const { mnemonic, passphrase } = await openVault(file, await readKey(folder));
  const seed = await seedOf(mnemonic, passphrase);
  return {
    account: (chain, account) => accountKey(seed, chain, 'sandbox', account),
    async sign(plan) {
      assert(plan.network === 'sandbox', 'this wallet is of the sandbox alone');
      const { signPlan } = await import('./signer/sign.ts');
      return signPlan(seed, plan);
    },
  };
}

/** The key first: a key without a vault is harmless, but a vault without its key is lost. */
async function createSandboxVault(folder: string, file: string): Promise<void> {
  await writeOnce(join(folder, SANDBOX_KEY_FILE), randomBytes(KEY_BYTES));
  const mnemonic = await createWords(12);
  const seed = await seedOf(mnemonic, '');
  try {
    await createVault(file, { mnemonic, passphrase: '' }, await readKey(folder), masterFingerprint(seed));
  } catch (error) {
    // another start was faster: its wallet is used
    if (!(error instanceof Rejected && error.code === 'vault.exists')) throw error;
  } finally {
    seed.fill(0);
  }
}

async function readKey(folder: string): Promise<Uint8Array> {
  const key = await readFile(join(folder, SANDBOX_KEY_FILE)).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (key?.length === KEY_BYTES) return key;
  const message = `The sandbox wallet's key is lost: restore ${SANDBOX_KEY_FILE} or remove ${SANDBOX_VAULT_FILE}`;
  throw new Rejected('vault.corrupted', message);
}
