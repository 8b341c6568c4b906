/**
 * The operator's keys, derived from the vault for one use: they make the MACs of approvals, limits and revocations.
 * Only the signer checks a MAC.
 */
import { join } from 'node:path';
import { Rejected } from '../domain/errors.ts';
import { isEvm } from '../domain/evm.ts';
import { addressAt } from '../monero/address.ts';
import { accountKey, type ImportedMonero } from './accounts.ts';
import { seedOf } from './mnemonic.ts';
import { approvalKey, grantMac, intentMac, revocationMac } from './signer/approval.ts';
import { ownScript } from './signer/destination.ts';
import { addressOf } from './signer/evm-address.ts';
import { VAULT_FILE } from './signer/files.ts';
import { epochOf, newEpoch } from './signer/journal.ts';
import { withAccountKeys } from './signer/keys.ts';
import type { Authorization, Macs } from './signer/port.ts';
import { openVault } from './vault.ts';

type Keys = { seed: Buffer; imported: readonly ImportedMonero[]; approval: Buffer; epoch: string | null };

/** Calls a function with the keys, and wipes them afterwards. Throws `Rejected` `vault.*`. */
async function withKeys<T>(folder: string, passphrase: string, use: (keys: Keys) => T): Promise<T> {
  const secret = await openVault(join(folder, VAULT_FILE), passphrase);
  const seed = await seedOf(secret.mnemonic, secret.passphrase);
  const approval = approvalKey(seed);
  try {
    return use({ seed, imported: secret.monero, approval, epoch: await epochOf(folder) });
  } finally {
    seed.fill(0);
    approval.fill(0);
  }
}

/**
 * The operator's MACs, made from the vault of this folder. Throws `Rejected`: `vault.missing`, `vault.corrupted`,
 * `vault.passphrase`, and `review.differs` if the change is not ours.
 */
export function authorized(folder: string, passphrase: string, wanted: Authorization): Promise<Macs> {
  const { approvals, change, grants } = wanted;
  return withKeys(folder, passphrase, ({ seed, imported, approval, epoch }) => {
    if (change && ownDestination(seed, imported, change) !== change.to) {
      throw new Rejected(
        'review.differs',
        'Nothing was approved. The change of the transaction does not come back to this wallet',
      );
    }
    return {
      approvals: approvals.map(({ purpose, intent, until }) => intentMac(approval, epoch, purpose, intent, until)),
      grants: grants.map((grant) => grantMac(approval, epoch, grant)),
    };
  });
}

type Change = NonNullable<Authorization['change']>;

/** The script of our own key on branch 1, or its address on a chain of accounts or of Monero; hex. */
function ownDestination(
  seed: Buffer,
  imported: readonly ImportedMonero[],
  { chain, network, accountNo, index }: Change,
): string {
  if (chain === 'XMR') {
    const { script } = addressAt(accountKey(seed, chain, network, accountNo, imported), 1, index, network);
    return Buffer.from(script).toString('hex');
  }
  return withAccountKeys(seed, chain, network, accountNo, (keys) => {
    const key = keys.publicKey(1, index);
    return isEvm(chain) ? addressOf(key) : ownScript(key, chain);
  });
}

/** The MAC that ends all earlier approvals and limits, and the new epoch. Throws `Rejected` `vault.*`. */
export function revocation(folder: string, passphrase: string): Promise<{ next: string; mac: string }> {
  return withKeys(folder, passphrase, ({ approval, epoch }) => {
    const next = newEpoch();
    return { next, mac: revocationMac(approval, epoch, next) };
  });
}
