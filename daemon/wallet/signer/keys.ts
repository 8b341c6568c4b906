/**
 * The private keys of an account's addresses (BIP-32 CKDpriv). They are derived for a signature and wiped after it.
 *
 * Hardened steps need no public key, whose computing takes longest. So these are not made by the library of `accounts.ts`, which
 * computes one at each step.
 *
 * Invariant: a key exists only while `use` runs.
 */
import { createHmac } from 'node:crypto';
import { pointFromScalar, privateAdd } from 'tiny-secp256k1';
import type { ChainId, Network } from '../../domain/assets.ts';
import type { Branch } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { accountPath } from '../accounts.ts';

const INDEX_MAX = 2 ** 31 - 1;
/** The key of BIP-32's first HMAC. */
const MASTER = 'Bitcoin seed';
const KEY_BYTES = 32;

export type KeyPair = { privateKey: Uint8Array; publicKey: Uint8Array };
/** A private key that has children. */
type SecretNode = { privateKey: Uint8Array; chainCode: Uint8Array };

export interface AccountKeys {
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
  const nodes: SecretNode[] = [];
  const keep = (node: SecretNode): SecretNode => {
    nodes.push(node);
    return node;
  };
  try {
    let account = keep(nodeOf(createHmac('sha512', MASTER).update(seed).digest(), null));
    for (const index of accountPath(chain, network, accountNo)) account = keep(hardenedChild(account, index));
    const accountPublic = publicKeyOf(account.privateKey);
    const branches = ([0, 1] as const).map((branch) => {
      const node = keep(child(account, accountPublic, branch));
      return { ...node, publicKey: publicKeyOf(node.privateKey) };
    });
    const withKey = <R>(branch: Branch, index: number, take: (pair: KeyPair) => R): R => {
      const parent = branches[branch]!;
      const { privateKey } = child(parent, parent.publicKey, index);
      try {
        return take({ privateKey, publicKey: publicKeyOf(privateKey) });
      } finally {
        privateKey.fill(0);
      }
    };
    return use({ withKey, publicKey: (branch, index) => withKey(branch, index, ({ publicKey }) => publicKey) });
  } finally {
    for (const { privateKey } of nodes) privateKey.fill(0);
  }
}

/** The child at a hardened index. */
function hardenedChild(parent: SecretNode, index: number): SecretNode {
  const data = Buffer.alloc(1 + KEY_BYTES + 4);
  data.set(parent.privateKey, 1);
  data.writeUInt32BE(index, 1 + KEY_BYTES);
  const digest = createHmac('sha512', parent.chainCode).update(data).digest();
  data.fill(0);
  return nodeOf(digest, parent);
}

/** The child at an index that is not hardened. `publicKey`: the parent's. */
function child(parent: SecretNode, publicKey: Uint8Array, index: number): SecretNode {
  assert(Number.isInteger(index) && index >= 0 && index <= INDEX_MAX, 'a child has an index from 0 to 2^31 - 1');
  const data = Buffer.alloc(1 + KEY_BYTES + 4);
  data.set(publicKey, 0);
  data.writeUInt32BE(index, 1 + KEY_BYTES);
  return nodeOf(createHmac('sha512', parent.chainCode).update(data).digest(), parent);
}

/** The node of a digest, which is wiped. `parent`: null for the master. Throws on one that BIP-32 declares invalid (probability 2^-127). */
function nodeOf(digest: Buffer, parent: SecretNode | null): SecretNode {
  const tweak = digest.subarray(0, KEY_BYTES);
  const privateKey = parent ? privateAdd(parent.privateKey, tweak) : Uint8Array.from(tweak);
  const chainCode = Uint8Array.from(digest.subarray(KEY_BYTES));
  digest.fill(0);
  assert(privateKey, 'a derived key is valid (BIP-32)');
  return { privateKey, chainCode };
}

function publicKeyOf(privateKey: Uint8Array): Uint8Array {
  const publicKey = pointFromScalar(privateKey, true);
  assert(publicKey, 'a private key has a public key');
  return publicKey;
}
