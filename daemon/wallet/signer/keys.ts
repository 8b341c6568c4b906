/**
 * The private keys of an account's addresses (BIP-32 CKDpriv). They are derived for a signature and wiped after it.
 *
 * Invariant: a key exists only while `use` runs.
 */
import { createHmac } from 'node:crypto';
import { pointFromScalar, privateAdd } from 'tiny-secp256k1';
import type { ChainId, Network } from '../../domain/assets.ts';
import type { Branch } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { type SecretNode, withSecretAccount } from '../accounts.ts';

const INDEX_MAX = 2 ** 31 - 1;

export type KeyPair = { privateKey: Uint8Array; publicKey: Uint8Array };

export interface AccountKeys {
  /** The compressed public key at branch/index. */
  publicKey(branch: Branch, index: number): Uint8Array;
  /** Lends the key pair at branch/index. */
  withKey<T>(branch: Branch, index: number, use: (pair: KeyPair) => T): T;
}

/** Lends the keys of an account. The caller wipes the seed. */
export function withAccountKeys<T>(
  seed: Uint8Array,
  chain: Exclude<ChainId, 'XMR'>,
  network: Network,
  accountNo: number,
  use: (keys: AccountKeys) => T,
): T {
  return withSecretAccount(seed, chain, network, accountNo, (account) => {
    const branches: [SecretNode, SecretNode] = [childOf(account, 0), childOf(account, 1)];
    const withKey = <R>(branch: Branch, index: number, take: (pair: KeyPair) => R): R => {
      const child = childOf(branches[branch], index);
      try {
        return take(child);
      } finally {
        child.privateKey.fill(0);
      }
    };
    try {
      return use({ withKey, publicKey: (branch, index) => withKey(branch, index, ({ publicKey }) => publicKey) });
    } finally {
      for (const branch of branches) branch.privateKey.fill(0);
    }
  });
}

/** BIP-32 CKDpriv, not hardened. Throws on a child that BIP-32 declares invalid (probability 2^-127). */
function childOf(parent: SecretNode, index: number): SecretNode {
  assert(Number.isInteger(index) && index >= 0 && index <= INDEX_MAX, 'a child has an index from 0 to 2^31 - 1');
  const data = Buffer.alloc(37);
  data.set(parent.publicKey, 0);
  data.writeUInt32BE(index, 33);
  const digest = createHmac('sha512', parent.chainCode).update(data).digest();
  const privateKey = privateAdd(parent.privateKey, digest.subarray(0, 32));
  const publicKey = privateKey && pointFromScalar(privateKey, true);
  const chainCode = Buffer.from(digest.subarray(32));
  digest.fill(0);
  assert(privateKey && publicKey, `child ${index} is invalid (BIP-32)`);
  return { privateKey, publicKey, chainCode };
}
