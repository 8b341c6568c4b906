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
import { deriveAccounts } from '../wallet/wallet.ts';
import { alone } from './alone.ts';
import { walletFolderIn } from './place.ts';

const FILE = 'accounts.json';
/** Businesses whose keys are derived at once: each takes a second or so, and a server names as many as it likes. */
const DERIVED_MAX = 100;

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
export const keepAccount = (
  folder: string,
  network: Network,
  accountNo: number,
  keys: Partial<Record<ChainId, AccountKey>>,
): Promise<void> =>
  alone(folder, async () => {
    const accounts = { ...(await readAccounts(folder)), [nameOf(network, accountNo)]: keys };
    await replaceFile(join(folder, FILE), `${JSON.stringify(accounts, null, 2)}\n`);
  });

/** A business of a server, as it lists it. */
export type OnServer = { network: Network; account_no: number; watch_only: readonly ChainId[] };

/** The businesses whose public keys this computer has not kept, as of a wallet that was imported. The sandbox's are the server's. */
export async function missingOf<B extends OnServer>(folder: string, businesses: readonly B[]): Promise<B[]> {
  const kept = await readAccounts(folder);
  const missing = businesses.filter(
    ({ network, account_no }) =>
      network !== 'sandbox' && !CHAINS.some((chain) => accountIn(kept, network, account_no, chain)),
  );
  return missing.slice(0, DERIVED_MAX);
}

/** Derives the public keys of these businesses from the wallet in a server's folder, and keeps them. Throws `Rejected` `vault.*`. */
export async function keepMissing(folder: string, passphrase: string, missing: readonly OnServer[]): Promise<void> {
  for (const { network, account_no: no, watch_only } of missing) {
    // the keys of a watch-only account are not this wallet's: without them its addresses are foreign
    const chains = CHAINS.filter((chain) => !watch_only.includes(chain));
    await keepAccount(
      folder,
      network,
      no,
      await deriveAccounts(walletFolderIn(folder), passphrase, network, no, chains),
    );
  }
}

/** Keeps the keys of all businesses that a server has already, as when a computer takes the place of a lost one. */
export async function keepOthers(
  folder: string,
  businesses: readonly OnServer[],
  derive: (network: Network, accountNo: number) => Promise<Partial<Record<ChainId, AccountKey>>>,
): Promise<void> {
  const kept = await readAccounts(folder);
  const real = businesses.filter(({ network }) => network !== 'sandbox');
  for (const { network, account_no, watch_only } of real.slice(0, DERIVED_MAX)) {
    const own = await derive(network, account_no);
    // a watch-only account is not this wallet's: its key is the one that was kept when it was added
    const keyOf = (chain: ChainId) =>
      watch_only.includes(chain) ? accountIn(kept, network, account_no, chain) : own[chain];
    const keys = CHAINS.map((chain) => [chain, keyOf(chain)] as const).filter(([, key]) => key);
    await keepAccount(folder, network, account_no, Object.fromEntries(keys));
  }
}
