/**
 * The public keys of the accounts that a server receives money with, as this computer derived them from its own words.
 *
 * Invariant: nothing in the file comes from the server. It spends nothing; Monero's view key shows what was received.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AccountKeySchema } from '../contract/operator-shapes.ts';
import { CHAINS, type ChainId, type Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import { isMissing, replaceFile } from '../wallet/files.ts';

const FILE = 'accounts.json';

const Stored = z.record(z.string(), z.partialRecord(z.enum(CHAINS), AccountKeySchema));

/** By network and number of the account. */
export type Accounts = z.infer<typeof Stored>;

const nameOf = (network: Network, accountNo: number): string => `${network}/${accountNo}`;

/** Those of a server's folder; none if nothing was derived yet. Throws `Rejected('signer.server')` for a damaged file. */
export async function readAccounts(folder: string): Promise<Accounts> {
  try {
    return Stored.parse(JSON.parse(await readFile(join(folder, FILE), 'utf8')));
  } catch (error) {
    if (isMissing(error)) return {};
    throw new Rejected('signer.server', `${join(folder, FILE)} is damaged: remove it, and run \`signer audit\``);
  }
}

export const accountIn = (accounts: Accounts, network: Network, accountNo: number, chain: ChainId): AccountKey | null =>
  accounts[nameOf(network, accountNo)]?.[chain] ?? null;

/** Keeps the keys of an account, before a server gets them. */
export async function keepAccount(
  folder: string,
  network: Network,
  accountNo: number,
  keys: Partial<Record<ChainId, AccountKey>>,
): Promise<void> {
  const accounts = { ...(await readAccounts(folder)), [nameOf(network, accountNo)]: keys };
  await replaceFile(join(folder, FILE), `${JSON.stringify(accounts, null, 2)}\n`);
}
